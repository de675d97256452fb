"""Our docstrings as parts of a page. They are plain text in a form of their own, not reST:

    a first line; paragraphs, a blank line between them
    hanging columns     two blanks or more before the text, which goes on below its own first letter; three columns or
                        more are a table. What stands in a column may have columns of its own
    - a list            its text goes on below the first letter
    >>> doctests        up to the next blank line
    `names`             in backticks: code, and a link where the book has a place for the name

`parse` tells these parts, `to_nodes` makes docutils nodes of them. No word of a docstring is lost or added, which a
test holds for all of them. The directive `docstring` puts one, or a part of one, on a page:

    .. docstring:: pushlab.envs.push.world:Push
       :part: Reward
"""

import ast
import re
from dataclasses import dataclass, field
from functools import cache
from inspect import cleandoc
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[2]
GAP = re.compile(r"\s{2,}")
ROW = re.compile(r"\S.*?\s{2,}\S")
NUMBER = re.compile(r"[-−+±]?[\d.,]+( %)?")
IDENTIFIERS = re.compile(r"[a-zA-Z_][\w.]*\*?(, [a-zA-Z_][\w.]*\*?)*")
PLAIN_TERMS = {
    "returns",
    "more",
    "others",
}  # besides words with a capital, which are headings such as Source


@dataclass
class Text:
    """A paragraph."""

    text: str


@dataclass
class Code:
    """Doctests, as they stand."""

    text: str


@dataclass
class Bullets:
    """A list; each item is a list of parts."""

    items: list


@dataclass
class Table:
    """Columns. A row is a list of cells: words, and in the last one a list of parts; a row of one cell spans all."""

    rows: list = field(default_factory=list)
    header: list | None = None

    @property
    def width(self) -> int:
        """How many columns there are."""
        return max(len(row) for row in self.rows)


def parse(text):
    """The parts of a docstring, or of some lines of one: a list of Text, Code, Bullets and Table."""
    lines = cleandoc(text).split("\n") if isinstance(text, str) else text
    parts, at = [], 0
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            at += 1
        elif line[0] == " ":
            end = _while(lines, at, lambda one: one[:1] == " ")
            parts += parse(_dedent(lines[at:end]))
            at = end
        elif line.startswith(">>>"):
            end = at
            while end < len(lines) and lines[end].strip():
                end += 1
            code = "\n".join(lines[at:end])
            if parts and isinstance(parts[-1], Code):
                parts[-1].text += "\n\n" + code
            else:
                parts.append(Code(code))
            at = end
        elif line.startswith("- "):
            end = _while(lines, at, lambda one: one.startswith(("- ", "  ")))
            parts.append(
                Bullets(
                    [
                        parse([item[0][2:], *_dedent(item[1:])])
                        for item in _items(lines[at:end])
                    ]
                )
            )
            at = end
        elif ROW.match(line):
            at = _read_table(lines, at, parts)
        else:
            end = at + 1
            while (
                end < len(lines)
                and lines[end].strip()
                and lines[end][0] != " "
                and not ROW.match(lines[end])
                and not lines[end].startswith((">>>", "- "))
            ):
                end += 1
            parts.append(Text(" ".join(lines[at:end])))
            at = end
    return parts


def _while(lines, at, belongs):
    """The end of the lines that belong together; blank lines do where a line that belongs follows."""
    end = at
    for number in range(at, len(lines)):
        if lines[number].strip():
            if not belongs(lines[number]):
                break
            end = number + 1
    return end


def _dedent(lines):
    """Lines without the blanks that all of them begin with."""
    least = min(
        (len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0
    )
    return [line[least:] for line in lines]


def _items(lines):
    """The lines of each item of a list."""
    items = []
    for line in lines:
        if line.startswith("- "):
            items.append([])
        items[-1].append(line)
    return items


def _read_table(lines, at, parts):
    """Adds the table that begins at a line, and a sentence right below it; returns where they end."""
    column = min(match.end() for match in GAP.finditer(lines[at]))
    found = []  # rows as [first line, further lines]
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            after = next((one for one in lines[at:] if one.strip()), "")
            if len(after) - len(after.lstrip()) < min(column, 4):
                break
            found[-1].append(line)
        elif line[0] == " ":
            found[-1].append(line)
        elif line.startswith((">>>", "- ")):
            break
        elif ROW.match(line) or ROW.match(found[-1][0]):
            found.append([line])
        else:
            found[-1][0] += (
                " " + line
            )  # a sentence across the columns that takes more than a line
        at += 1
    rows = [GAP.split(row[0]) for row in found]
    wide = max(len(row) for row in rows) if sum(len(row) > 2 for row in rows) > 1 else 2
    table, below = Table(), []
    for number, (cells, row) in enumerate(zip(rows, found)):
        if len(cells) > wide:
            cells = [cells[0], row[0][len(cells[0]) :].lstrip()]
        if len(cells) == 1 and number == len(rows) - 1:
            below = parse([cells[0], *_dedent(row[1:])])
            continue
        table.rows.append([*cells[:-1], parse([cells[-1], *_dedent(row[1:])])])
    if wide > 2 and _is_header(rows):
        table.header = table.rows.pop(0)
    parts += [table, *below]
    return at


def _is_header(rows):
    """Whether the first row names the columns: it has words where all others have numbers."""
    full = [row for row in rows[1:] if len(row) == len(rows[0])]
    return bool(full) and any(
        not NUMBER.fullmatch(name) and all(NUMBER.fullmatch(row[at]) for row in full)
        for at, name in enumerate(rows[0])
    )


def words_of(parts):
    """All words of parts in their order, in one string."""
    found = []
    for part in parts:
        if isinstance(part, (Text, Code)):
            found.append(part.text)
        elif isinstance(part, Bullets):
            found += [words_of(item) for item in part.items]
        elif isinstance(part, Table):
            for row in ([part.header] if part.header else []) + part.rows:
                found += [
                    cell if isinstance(cell, str) else words_of(cell) for cell in row
                ]
    return " ".join(" ".join(found).split())


# ---------------------------------------------------------------- where docstrings are


@cache
def module_tree(module):
    """The file of a module and its syntax tree. Nothing is imported: the pages need no library that a page is about."""
    path = ROOT.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return path, ast.parse(path.read_text("utf-8"))


def find(place):
    """The syntax tree's node of "module:Class.method", or of "module"; LookupError if there is none."""
    module, _, name = place.partition(":")
    _, node = module_tree(module)
    for part in filter(None, name.split(".")):
        found = [one for one in node.body if getattr(one, "name", None) == part]
        if not found:
            raise LookupError(f"there is no {name} in {module}")
        node = found[-1]
    return node


def docstring_of(place):
    """The docstring of "module:Class.method", or of "module"; "" if it has none."""
    return ast.get_docstring(find(place)) or ""


def sections_of(parts):
    """What comes before a world's table of sections, {section: its parts} in their order, what comes after, doctests.

    A section begins with a capital, as Action does.
    """
    before, sections, after, examples = [], {}, [], []
    for part in parts:
        if isinstance(part, Code):
            examples.append(part)
        elif (
            isinstance(part, Table)
            and part.width == 2
            and all(row[0][0].isupper() for row in part.rows)
        ):
            for name, *cells in part.rows:
                sections.setdefault(name, []).extend(cells[0])
        else:
            (after if sections else before).append(part)
    return before, sections, after, examples


# ---------------------------------------------------------------- docutils nodes


class Writer:
    """Makes nodes. `link` is a function of a name in backticks, or an id of an environment, to a node or None.

    names   which terms of columns are code: parameters, for example
    """

    def __init__(self, link=lambda name, shown: None, names=()):
        self.link, self.names = link, set(names)

    def nodes(self, parts):
        """The nodes of some parts, a list."""
        return [made for part in parts for made in self._of(part)]

    def paragraph(self, text):
        """A paragraph whose quotes stay straight: many of them are code."""
        return nodes.paragraph("", "", *self.inline(text), support_smartquotes=False)

    def _of(self, part):
        if isinstance(part, Text):
            yield self.paragraph(part.text)
        elif isinstance(part, Code):
            yield nodes.literal_block(part.text, part.text, language="pycon")
        elif isinstance(part, Bullets):
            yield nodes.bullet_list(
                "", *(nodes.list_item("", *self.nodes(item)) for item in part.items)
            )
        elif part.width > 2 or part.header:
            yield self._table(part)
        else:
            yield from self._fields(part)

    def _fields(self, table):
        """Two columns are a list of fields; a sentence across both interrupts it."""
        pairs = []
        for row in table.rows:
            if len(row) == 1:
                yield from columns(pairs)
                yield from self.nodes(row[0])
                pairs = []
            else:
                pairs.append((self._term(row[0]), self.nodes(row[1])))
        yield from columns(pairs)

    def _table(self, table):
        wide = table.width
        group = nodes.tgroup(
            "", *(nodes.colspec(colwidth=1) for _ in range(wide)), cols=wide
        )
        if table.header:
            group += nodes.thead("", self._row(table.header, wide))
        group += nodes.tbody("", *(self._row(row, wide) for row in table.rows))
        return nodes.table("", group, classes=["pushlab-table"])

    def _row(self, row, wide):
        made = nodes.row()
        for at, cell in enumerate(row):
            inner = self.paragraph(cell) if isinstance(cell, str) else None
            if at == 0 and len(row) > 1:
                inner = nodes.paragraph("", "", *self._term(cell))
            entry = nodes.entry(
                "", *([inner] if inner is not None else self.nodes(cell))
            )
            if len(row) == 1:
                entry["morecols"] = wide - 1
            if NUMBER.fullmatch(entry.astext()):
                entry["classes"].append("pushlab-number")
            made += entry
        for _ in range(wide - len(row) if len(row) > 1 else 0):
            made += nodes.entry()
        return made

    def _term(self, term):
        """What stands before a column: code where it is the name of something in code."""
        every = term.split(", ")
        if (
            "`" in term
            or not IDENTIFIERS.fullmatch(term)
            or not (
                set(every) <= self.names
                or (term[0].islower() and term not in PLAIN_TERMS)
            )
        ):
            return self.inline(term)
        made = []
        for number, name in enumerate(every):
            made += [nodes.Text(", ")] * bool(number) + [nodes.literal("", name)]
        return made

    def inline(self, text):
        """Text with its names in backticks, ids of environments and addresses: a list of nodes."""
        made = []
        for number, piece in enumerate(re.split(r"`([^`]+)`", text)):
            if number % 2:
                made.append(
                    self.link(piece, nodes.literal("", piece))
                    or nodes.literal("", piece)
                )
                continue
            for place, plain in enumerate(
                re.split(
                    r"(https?://[\w./#?=&-]*[\w/]|\b(?:pushlab/)?[A-Za-z][\w-]*-v\d\b"
                    r"|\b(?:data|pushlab)/[\w./-]+\.(?:py|csv|json|md))",
                    piece,
                )
            ):
                if place % 2 and plain.startswith("http"):
                    made.append(nodes.reference("", plain, refuri=plain))
                elif place % 2:
                    made.append(
                        self.link(plain, nodes.Text(plain)) or nodes.Text(plain)
                    )
                elif plain:
                    made.append(nodes.Text(plain))
        return made


def columns(pairs):
    """A list of fields out of pairs of what stands before and after, each a list of nodes; none of no pairs.

    It stands in a container: Sphinx takes the fields right below an object for its own, and writes them otherwise.
    """
    fields = nodes.field_list(
        "",
        *(
            nodes.field(
                "", nodes.field_name("", "", *term), nodes.field_body("", *body)
            )
            for term, body in pairs
        ),
        classes=["pushlab-columns"],
    )
    return [nodes.container("", fields)] if pairs else []


def to_nodes(docstring, **how):
    """The docutils nodes of a docstring; arguments as of `Writer`."""
    return Writer(**how).nodes(parse(docstring))


class Links:
    """Where names lead: {name: documented object}, {id of an environment: docname}; files lead to the repository."""

    objects: dict = {}
    worlds: dict = {}
    repository = ""

    def __init__(self, place, docname, own=()):
        self.module, _, self.name = place.partition(":")
        self.docname, self.own = docname, set(own)

    def __call__(self, name, shown):
        """A node that leads from `shown` to where the name is explained, or None."""
        bare = name.removesuffix("()")
        if bare.removeprefix("pushlab/") in self.worlds:
            return self.refer(
                "std", "doc", "/" + self.worlds[bare.removeprefix("pushlab/")], shown
            )
        if re.fullmatch(r"(data|pushlab)/[\w./-]+", name) and (ROOT / name).is_file():
            target = name.removesuffix(".md")
            if target != name:
                return self.refer("std", "doc", "/" + target, shown)
            return nodes.reference(
                "", "", shown, refuri=f"{self.repository}/blob/HEAD/{name}"
            )
        if bare in self.own:
            return None
        head = self.name.split(".")[0]
        package = self.module.rpartition(".")[0]
        for full in (
            f"{self.module}.{head}.{bare}",
            f"{self.module}.{bare}",
            f"{package}.{bare}",
            bare,
            f"pushlab.{bare}",
        ):
            target = self.objects.get(full)
            if target and full != f"{self.module}.{self.name}":
                return self.refer("py", "obj", target, shown)
        return None

    def refer(self, domain, kind, target, shown):
        """A node that leads from `shown` to a page ("std", "doc") or an object ("py", "obj"), which must be there."""
        return addnodes.pending_xref(
            "",
            shown,
            refdomain=domain,
            reftype=kind,
            reftarget=target,
            refexplicit=True,
            refwarn=True,
            refdoc=self.docname,
        )


class DocstringDirective(SphinxDirective):
    """A docstring, or a part of one: `before` its sections, the section of a name, `after` them, or the `example`."""

    required_arguments = 1
    option_spec = {"part": directives.unchanged, "own": directives.unchanged}

    def run(self):
        """The nodes."""
        place, part = self.arguments[0], self.options.get("part")
        path, _ = module_tree(place.partition(":")[0])
        for source in (path, __file__):
            self.env.note_dependency(str(source))
        own = self.options.get("own", "").split()
        parts = parse(docstring_of(place))
        if part:
            before, sections, after, examples = sections_of(parts)
            parts = {"before": before, "after": after, "example": examples}.get(
                part
            ) or sections.get(part, [])
        return Writer(Links(place, self.env.docname, own), own).nodes(parts)


def setup(app):
    """Announces the directive."""
    app.add_directive("docstring", DocstringDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
