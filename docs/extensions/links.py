"""Links that lead on GitHub lead somewhere in the book, too.

A link to a file of the repository that is no page of the book (a check, a table, a licence) goes to the file in the
repository on the web. A link to a file that is not there stays what Sphinx makes of it: a warning, so an error.
"""

from pathlib import Path
from urllib.parse import quote

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx import addnodes
from sphinx.transforms import SphinxTransform


def file_address(repository, path, folder=False):
    """Address on the web of a file, or a folder, of the repository at its newest state."""
    return f"{repository}/{'tree' if folder else 'blob'}/HEAD/{quote(path)}"


class LinksToFiles(SphinxTransform):
    """Send links to what is no page to the repository; write anchors of notebooks as the book does.

    `reftype` "myst" and `reftargetid` are myst-parser's own. Under other names in a release, links to files would be
    warnings of the build and anchors would lead nowhere, which test_links_to_files_of_the_repository_name_files_that_
    there_are and test_every_link_inside_leads_somewhere see.
    """

    default_priority = 210

    def apply(self):
        """Look at every link of the page."""
        for kind in (addnodes.download_reference, addnodes.pending_xref):
            for link in list(self.document.findall(kind)):
                if link.get("reftype") == "myst":
                    self.lead(link)

    def lead(self, link):
        """Change one link in place, if it needs to be."""
        page = link["reftarget"] if link.get("refdomain") == "doc" else None
        if page in self.env.found_docs:
            # JupyterLab's anchor of "The class challenge" is The-class-challenge, the book's the-class-challenge.
            if link.get("reftargetid"):
                link["reftargetid"] = link["reftargetid"].lower()
            return
        target, _, anchor = (
            link["reftarget"] if page is None else f"/{page}.md"
        ).partition("#")
        name, path = self.env.relfn2path(target, self.env.docname)
        if target and Path(path).exists():
            address = file_address(
                self.config.repository, Path(name).as_posix(), Path(path).is_dir()
            )
            anchor = link.get("reftargetid") or anchor
            words = [child.deepcopy() for child in link.children]
            link.replace_self(
                nodes.reference(
                    "", "", *words, refuri=f"{address}#{anchor}" if anchor else address
                )
            )


def setup(app):
    """Register the transform, where the repository is, and a language that GitHub knows and Pygments not."""
    app.add_config_value("repository", "", "env", str)
    app.add_transform(LinksToFiles)
    app.add_lexer("csv", TextLexer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
