"""Studies: commands that run for minutes and leave a small CSV below `data/studies` for the notebooks to draw."""
