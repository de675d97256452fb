"""Pages of Markdown: formulas as MathML, which needs no script, and links to files of the repository."""

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
    """Write a formula into a page; a wrong one is a warning."""
    latex = node.astext()
    try:
        made = TRANSLATOR.convert_with_local_state(latex, displaystyle=display)
    except LatexError as error:
        logging.getLogger(__name__).warning("wrong formula: %s", error, location=node)
        made = translator.encode(latex)
    translator.body.append(f'<div class="formula">{made}</div>\n' if display else made)
    raise nodes.SkipNode


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
            link.replace_self(nodes.reference("", "", *link.children, refuri=address))


def setup(app):
    inline = (lambda translator, node: write_formula(translator, node, False), None)
    block = (lambda translator, node: write_formula(translator, node, True), None)
    app.add_html_math_renderer("mathml", inline, block)
    app.add_config_value("repository", "", "env", str)
    app.add_transform(LinksToFiles)
    app.add_lexer("csv", TextLexer)  # GitHub knows this language, Pygments does not
    return {"parallel_read_safe": True, "parallel_write_safe": True}
