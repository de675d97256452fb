"""Build the reference: tables of names with docstrings, links to names and sources, and the page of commands.

A line of the directive `reference` names a module, to document its `__all__` or all its public classes and functions,
or some names of a module ("pushlab.agents.memory: EpisodicMemory SemanticMemory"). The option `summary` leaves only the
table, for names that another page documents.
"""

import inspect
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

from docutils import nodes
from docutils.parsers.rst import directives
from numpy.typing import ArrayLike
from sphinx.errors import PycodeError
from sphinx.ext.autosummary import Autosummary
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.nodes import make_refnode
from sphinx.util.typing import stringify_annotation

import pushlab

ROOT = Path(__file__).resolve().parents[2]
LINKED_KINDS = ("class", "data", "exception", "function", "module")
# A doctest, a table or code in backticks, or else a character with a meaning in reStructuredText.
SPECIAL = re.compile(
    r"(^ *(?:>>> |==).*?(?:\n *$|\Z)|`+[^`]+`+)|([*|]|(?<=\w)_\b)", re.M | re.S
)


def escape_markup(text):
    """Escape the stars, bars and underscores of a docstring."""
    return SPECIAL.sub(lambda match: match[1] or "\\" + match[2], text)


def objects_of(line):
    """Return {shortest path: object} for a line of the directive."""
    path, _, names = line.partition(": ")
    module = resolve_name(path)
    package = resolve_name(path.rpartition(".")[0] or path)
    objects = {}
    for name in names.split() or getattr(module, "__all__", vars(module)):
        obj = getattr(module, name)
        if not names and not (callable(obj) and inspect.getdoc(obj)):
            continue
        is_own = hasattr(module, "__all__") or (
            getattr(obj, "__module__", None) == path
            and not name.startswith("_")
            and getattr(package, name, None) is not obj
        )
        if names or is_own:
            is_top_level = getattr(pushlab, name, None) is obj
            objects[f"pushlab.{name}" if is_top_level else f"{path}.{name}"] = obj
    return objects


class Reference(Autosummary):
    """List names with the first paragraphs of their docstrings, then document each in full."""

    option_spec = {"summary": directives.flag}

    def run(self):
        rows = []
        blocks = []
        for line in filter(None, self.content):
            for path, obj in objects_of(line).items():
                name = path.rpartition(".")[2]
                summary = escape_markup(inspect.getdoc(obj)).partition("\n\n")[0]
                rows.append((name, None, summary.replace("\n", " "), path))
                kind = "class" if inspect.isclass(obj) else "function"
                blocks.append(f".. auto{kind}:: {path}\n")
        table = self.get_table(rows)
        if "summary" in self.options:
            return table
        return [*table, *self.parse_text_to_nodes("\n".join(blocks))]


def parameters_of(obj):
    """Return the names of an object's parameters."""
    try:
        return inspect.signature(obj).parameters
    except (TypeError, ValueError):
        return {}


def prepare_docstring(app, what, name, obj, options, lines):
    """Escape a docstring before napoleon reads it; its parameters become code without links."""
    parameters = parameters_of(obj)

    def mark(match):
        return f"`{match[0]}`" if match[1] in parameters else match[0]

    text = escape_markup("\n".join(lines))
    text = re.sub(r"(?<!`)`(\w+)`(?!`)", mark, text)
    lines[:] = text.split("\n")


def shorten_array_like(app, what, name, obj, options, signature, returns):
    """Write NumPy's ArrayLike in a signature instead of its long definition."""
    long = stringify_annotation(ArrayLike, "smart", short_literals=True)
    return tuple(
        text and text.replace(long, "ArrayLike") for text in (signature, returns)
    )


def skip_tuple_fields(app, what, name, obj, skipped, options):
    """Skip the fields of named tuples, whose docstrings are "Alias for field number 0"."""
    return True if type(obj).__name__ == "_tuplegetter" else None


@cache
def entries(app):
    """Return {last part of a name: {path: entry}}, by the documented path and by the path of the definition."""
    by_name = defaultdict(dict)
    for path, entry in app.env.domains.python_domain.objects.items():
        obj = inspect.unwrap(resolve_name(path))
        module = getattr(obj, "__module__", "")
        definition = f"{module}.{getattr(obj, '__qualname__', '')}"
        by_name[path.rpartition(".")[2]] |= {path: entry, definition: entry}
    return by_name


def resolve(app, env, node, content):
    """Link a name in backticks to an environment, a file, or the only documented name with this ending.

    Methods and attributes are linked only with their class: a word such as `list` is seldom `Experts.list`.
    """
    target = node["reftarget"]
    name = target.removesuffix("()").removeprefix("pushlab/")
    page = f"docs/environments/{name}"
    if node.get("refdomain") != "py":
        return None
    if page in env.found_docs:
        return make_refnode(app.builder, node["refdoc"], page, "", content)
    if "/" in name and (ROOT / target).is_file():
        uri = f"{app.config.repository}/blob/HEAD/{target}"
        return nodes.reference("", "", content, refuri=uri)
    places = set()
    for path, entry in entries(app)[name.rpartition(".")[2]].items():
        is_linked = "." in name or entry.objtype in LINKED_KINDS
        if is_linked and f".{path}".endswith(f".{name}"):
            places.add((entry.docname, entry.node_id))
    if len(places) != 1:
        return None
    return make_refnode(app.builder, node["refdoc"], *places.pop(), content)


def source_address(config, info):
    """Return the address of an object's source on the web, None if it has no source."""
    try:
        obj = resolve_name(f"{info['module']}:{info['fullname']}")
        function = getattr(obj, "fget", None) or getattr(obj, "func", obj)
        function = inspect.unwrap(function)
        module = ModuleAnalyzer.for_module(function.__module__)
        _, first, last = module.find_tags()[function.__qualname__]
    except (AttributeError, KeyError, PycodeError):
        return None
    path = Path(module.srcname).relative_to(ROOT).as_posix()
    return f"{config.repository}/blob/HEAD/{path}#L{first}-L{last}"


def write_commands(app):
    """Write the page of the commands with typer's own generator."""
    import typer
    from typer.cli import get_docs_for_click

    from pushlab import __main__ as main

    app.config.linkcode_resolve = lambda domain, info: source_address(app.config, info)
    command = typer.main.get_command(main.app)
    context = typer.Context(command, info_name="pushlab")
    text = get_docs_for_click(
        obj=command,
        ctx=context,
        name="pushlab",
        title="Commands",
    )
    text = re.sub(r"^(#+) `(.*)`$", r"\1 \2", text, flags=re.M)
    text = re.sub(r"\*\*Commands\*\*:\n\n(\* .*\n)+", "", text)
    # Options in sentences become code, so that two hyphens don't become a dash.
    text = re.sub(
        r"(`[^`]*`)|(--[a-z][\w-]*)", lambda match: match[1] or f"`{match[2]}`", text
    )
    text = text.replace("\n\n", f"\n\n{inspect.cleandoc(main.__doc__)}\n\n", 1)
    (ROOT / "docs" / "api" / "commands.md").write_text(text, "utf-8")


def setup(app):
    """Register the directive and the events of the reference with Sphinx."""
    app.add_directive("reference", Reference)
    app.connect("builder-inited", write_commands)
    app.connect("autodoc-process-docstring", prepare_docstring, priority=400)
    app.connect("autodoc-process-signature", shorten_array_like)
    app.connect("autodoc-skip-member", skip_tuple_fields)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
