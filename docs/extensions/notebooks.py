"""Saved notebooks as pages: what JupyterLab keeps in metadata, and what only a kernel can move.

The files stay as they are; `prepare` changes what Sphinx reads of them. Solutions need nothing: they are folded by
<details>, on the page as in JupyterLab.
"""

import html
import re
from urllib.parse import quote

import nbformat
from docutils import nodes
from sphinx.transforms import SphinxTransform

# The texts that widgets leave behind (see pushlab.plots.widgets), and what a reader is told instead.
WIDGETS = {
    "player": "A film to play",
    "explore": "A picture to change with sliders",
    "you are the agent": "Your turn to act",
}
WIDGET = re.compile(rf"({'|'.join(WIDGETS)}): (.+)", re.DOTALL)


def binder_address(path):
    """Where a notebook of this path opens in Binder, as the badge at its top says."""
    return f"https://mybinder.org/v2/gh/pushlab/pushlab/HEAD?labpath={quote(path, safe='')}"


def prepare(notebook, path):
    """Change a notebook (nbformat's, in place) into what the page of the file at `path` shows."""
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        fold(cell)
        for output in cell.outputs:
            data = output.get("data", {})
            if set(data) == {"text/plain"} and (
                left := WIDGET.fullmatch(data["text/plain"])
            ):
                data["text/html"] = standing(left[1], left[2], path)
            elif "text/html" in data:
                data["text/html"] = re.sub(
                    r"<style scoped>.*?</style>\s*",
                    "",
                    data["text/html"],
                    flags=re.DOTALL,
                )
            if "image/png" in data:
                alt = output.metadata.get("image/png", {}).get("alt", "")
                cell.metadata.setdefault("mystnb", {})["image"] = {"alt": alt}


def fold(cell):
    """Fold what JupyterLab hides, by myst-nb's tags."""
    hidden = cell.metadata.get("jupyter", {})
    tags = [
        tag
        for name, tag in (
            ("source_hidden", "hide-input"),
            ("outputs_hidden", "hide-output"),
        )
        if hidden.get(name)
    ]
    if tags:
        cell.metadata["tags"] = [*cell.metadata.get("tags", []), *tags]
        cell.metadata["mystnb"] = {
            "code_prompt_show": "Show the answer"
            if tags == ["hide-output"]
            else "Show",
            "code_prompt_hide": "Hide",
        }


def standing(kind, state, path):
    """What stands on the page in place of a widget."""
    return (
        f'<p class="moves"><strong>{WIDGETS[kind]}</strong> ({html.escape(state)}). It moves in JupyterLab: '
        f'<a href="{html.escape(binder_address(path))}">open this notebook in Binder</a>, or on a machine of '
        "yours.</p>"
    )


def read(app, docname, source):
    """Sphinx is about to read a page: prepare it if it is a notebook."""
    path = app.env.doc2path(docname, base=False)
    if str(path).endswith(".ipynb"):
        notebook = nbformat.reads(source[0], as_version=4)
        prepare(notebook, str(path).replace("\\", "/"))
        source[0] = nbformat.writes(notebook)


class Captions(SphinxTransform):
    """The paragraph in italics after a cell's outputs says how to read them: a caption.

    `nb_element` is myst-nb's own. Under another name in a release no paragraph would be a caption, which
    test_what_is_said_below_an_output_is_its_caption sees.
    """

    default_priority = 800

    def apply(self):
        """Mark the captions of a notebook."""
        for cell in self.document.findall(nodes.container):
            after = cell.next_node(descend=False, siblings=True)
            if (
                cell.get("nb_element") == "cell_code"
                and isinstance(after, nodes.paragraph)
                and isinstance(after[0], nodes.emphasis)
                and len(after[0].astext()) > 40
            ):
                after["classes"].append("caption-of-cell")


def setup(app):
    """Register the hook and the transform."""
    app.connect("source-read", read)
    app.add_transform(Captions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
