"""Who asks their system for less motion gets moving pictures standing still, as their first picture."""

import re
from pathlib import Path

from PIL import Image

MOVING = re.compile(r'<img [^>]*?src="([^"]+)\.gif"[^>]*>')


def offer(app, pagename, template, context, doctree):
    """Put beside every moving picture of a page the one that stands."""
    if "body" in context:
        context["body"] = MOVING.sub(
            r'<picture><source media="(prefers-reduced-motion: reduce)" '
            r'srcset="\1-still.png">\g<0></picture>',
            context["body"],
        )


def save(app, error):
    """Save the first picture of each moving one, beside it."""
    for path in Path(app.outdir, "_images").glob("*.gif") if error is None else ():
        with Image.open(path) as film:
            film.convert("RGB").save(
                path.with_name(f"{path.stem}-still.png"), optimize=True
            )


def setup(app):
    """Pages are changed as they are written."""
    app.connect("html-page-context", offer)
    app.connect("build-finished", save)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
