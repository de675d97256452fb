"""Write formulas of Markdown pages as MathML, which needs no script, and resolve links to repository files."""

from pathlib import Path
from urllib.parse import quote

from docutils import nodes
from math_core import LatexError, LatexToMathML
from pygments.lexers.special import TextLexer
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

TRANSLATOR = LatexToMathML()


def write_formula(translator, node, display):
    """Write a formula into a page, and warn about an invalid one."""
    latex = node.astext()
    try:
        mathml = TRANSLATOR.convert_with_local_state(latex, displaystyle=display)
    except LatexError as error:
        logger = logging.getLogger(__name__)
        logger.warning("invalid formula: %s", error, location=node)
        mathml = translator.encode(latex)
    if display:
        mathml = f'<div class="formula">{mathml}</div>\n'
    translator.body.append(mathml)
    raise nodes.SkipNode


class LinksToFiles(SphinxTransform):
    """Point links to files that are not pages to the repository on the web."""

    default_priority = 210

    def apply(self):
        for kind in (addnodes.download_reference, addnodes.pending_xref):
            for link in list(self.document.findall(kind)):
                if link.get("reftype") == "myst":
                    self.resolve(link)

    def resolve(self, link):
        """Update a link by myst-parser, which stores the anchor as "reftargetid"."""
        page = link["reftarget"] if link.get("refdomain") == "doc" else None
        anchor = link.get("reftargetid") or ""
        if page in self.env.found_docs:
            # JupyterLab writes The-class-challenge, the book the-class-challenge.
            link["reftargetid"] = anchor.lower() or None
            return
        address = f"/{page}.md" if page else link["reftarget"]
        target, _, fragment = address.partition("#")
        name, path = self.env.relfn2path(target, self.env.docname)
        if target and Path(path).exists():
            kind = "tree" if Path(path).is_dir() else "blob"
            quoted = quote(Path(name).as_posix())
            uri = f"{self.config.repository}/{kind}/HEAD/{quoted}"
            anchor = anchor or fragment
            if anchor:
                uri += f"#{anchor}"
            link.replace_self(nodes.reference("", "", *link.children, refuri=uri))


def setup(app):
    """Register the formulas and links of Markdown pages with Sphinx."""
    inline = (lambda translator, node: write_formula(translator, node, False), None)
    block = (lambda translator, node: write_formula(translator, node, True), None)
    app.add_html_math_renderer("mathml", inline, block)
    app.add_config_value("repository", "", "env", str)
    app.add_transform(LinksToFiles)
    app.add_lexer("csv", TextLexer)  # known to GitHub, but not to Pygments
    return {"parallel_read_safe": True, "parallel_write_safe": True}
