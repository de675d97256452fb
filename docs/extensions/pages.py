"""What pages of Markdown need: formulas, and links to files of the repository.

Formulas become MathML, which a browser lays out without a script, in STIX Two Math, cut down.
"""

from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

from docutils import nodes
from math_core import LatexError, LatexToMathML
from pygments.lexers.special import TextLexer
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

TRANSLATOR = LatexToMathML()
# Latin, Greek, accents, letter-like signs, arrows, operators, brackets, alphabets.
LETTERS = (
    "20-7E,A0-FF,2B0-36F,370-3FF,2000-206F,20D0-20FF,2100-214F,2190-22FF,2308-230B,"
    "23DC-23E1,25A0-25FF,27E6-27EF,27F5-27FF,2A00-2A0F,2A7D-2A7E,1D400-1D7FF"
)


def write_formula(translator, node, display):
    """Write a formula into a page; a wrong one is a warning."""
    latex = node.astext()
    try:
        made = TRANSLATOR.convert_with_local_state(latex, displaystyle=display)
    except LatexError as error:
        logging.getLogger(__name__).warning("wrong formula: %s", error, location=node)
        made = translator.encode(latex)
    translator.body.append(f'<div class="formula">{made}</div>\n' if display else made)
    raise nodes.SkipNode


def write_font(app, failed):
    """Write the font with the letters and signs of formulas."""
    from fontTools import subset

    font = files("ziamath") / "fonts" / "STIXTwoMath-Regular.ttf"
    path = Path(app.outdir, "_static", "STIXTwoMath.woff")
    options = ["--flavor=woff", f"--unicodes={LETTERS}", "--layout-features=ssty,rtla"]
    options += ["--no-hinting", "--no-recalc-timestamp", f"--output-file={path}"]
    subset.main([str(font), *options])


class LinksToFiles(SphinxTransform):
    """Lead links to files that are no pages to the repository on the web."""

    default_priority = 210

    def apply(self):
        for kind in (addnodes.download_reference, addnodes.pending_xref):
            for link in list(self.document.findall(kind)):
                if link.get("reftype") == "myst":
                    self.lead(link)

    def lead(self, link):
        """Change a link that myst-parser made; "reftargetid" is its own name of an anchor."""
        page = link["reftarget"] if link.get("refdomain") == "doc" else None
        anchor = link.get("reftargetid") or ""
        if page in self.env.found_docs:
            # JupyterLab writes The-class-challenge, the book the-class-challenge.
            link["reftargetid"] = anchor.lower() or None
            return
        target, _, inside = (f"/{page}.md" if page else link["reftarget"]).partition(
            "#"
        )
        name, path = self.env.relfn2path(target, self.env.docname)
        if target and Path(path).exists():
            kind = "tree" if Path(path).is_dir() else "blob"
            address = (
                f"{self.config.repository}/{kind}/HEAD/{quote(Path(name).as_posix())}"
            )
            address += f"#{anchor or inside}" if anchor or inside else ""
            words = [child.deepcopy() for child in link.children]
            link.replace_self(nodes.reference("", "", *words, refuri=address))


def setup(app):
    inline = (lambda translator, node: write_formula(translator, node, False), None)
    block = (lambda translator, node: write_formula(translator, node, True), None)
    app.add_html_math_renderer("mathml", inline, block)
    app.add_config_value("repository", "", "env", str)
    app.add_transform(LinksToFiles)
    app.add_lexer("csv", TextLexer)  # GitHub knows this language, Pygments does not
    app.connect("build-finished", write_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
