r"""Formulas as MathML, made when the book is built.

A browser lays MathML out by itself: no script runs, nothing is fetched, a screen reader reads it, colours follow the
page, and a formula that is wrong is a warning of the build. math-core (MIT) translates LaTeX to MathML; MathJax would
be two megabytes of script for the same pages, from a host of its own or from a package that nobody keeps. Not every
computer has a font for mathematics, so STIX Two Math (SIL Open Font License; ziamath ships it) comes along, cut down to
the letters and signs of formulas.

>>> to_mathml("n^2", display=False)
'<math><msup><mi>n</mi><mn>2</mn></msup></math>'
"""

from importlib.util import find_spec
from pathlib import Path

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.util import logging

LOG = logging.getLogger(__name__)
TRANSLATOR = LatexToMathML()
# Latin, Greek, punctuation, primes, accents, letter-like signs, arrows, operators, brackets, mathematical alphabets.
LETTERS = [
    "20-7E",
    "A0-FF",
    "2B0-36F",
    "370-3FF",
    "2000-206F",
    "20D0-20FF",
    "2100-214F",
    "2190-22FF",
    "2308-230B",
    "23DC-23E1",
    "25A0-25FF",
    "27E6-27EF",
    "27F5-27FF",
    "2A00-2A0F",
    "2A7D-2A7E",
    "1D400-1D7FF",
]


def to_mathml(latex, display):
    """The MathML of a formula: on a line of its own (`display`) or within one. ValueError says what is wrong."""
    try:
        return TRANSLATOR.convert_with_local_state(latex, displaystyle=display)
    except LatexError as wrong:
        raise ValueError(
            f"{latex!r}: {wrong.args[-1] if wrong.args else wrong}"
        ) from wrong


def write_font(path):
    """Write STIX Two Math with the letters and signs of formulas to `path`."""
    from fontTools import subset

    font = (
        Path(find_spec("ziamath").origin).parent / "fonts" / "STIXTwoMath-Regular.ttf"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    subset.main(
        [
            str(font),
            f"--output-file={path}",
            "--flavor=woff",
            f"--unicodes={','.join(LETTERS)}",
            "--layout-features=ssty,rtla",
            "--no-hinting",
            "--no-recalc-timestamp",
        ]
    )


def visit(translator, node, display):
    """Write a formula into the page."""
    try:
        formula = to_mathml(node.astext(), display)
    except ValueError as wrong:
        LOG.warning("a formula that is none: %s", wrong, location=node, type="formulas")
        formula = translator.encode(node.astext())
    translator.body.append(
        f'<div class="formula">{formula}</div>\n' if display else formula
    )
    raise nodes.SkipNode


def setup(app):
    """Register the way to write formulas, and the font beside the pages."""
    app.add_html_math_renderer(
        "mathml",
        (lambda translator, node: visit(translator, node, False), None),
        (lambda translator, node: visit(translator, node, True), None),
    )
    app.connect(
        "build-finished",
        lambda app, failed: (
            failed or write_font(Path(app.outdir, "_static", "STIXTwoMath.woff"))
        ),
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
