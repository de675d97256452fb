"""What everything stands on: faults of data, files written whole, compiled loops, seeds, checks of arguments."""
