"""The reference: pages of what a person uses by name, and of the command line, written into docs/api before a build.

A page a package. What stands on it is what the package offers: the names of its `__init__.pyi` or `__all__`, or those
that PAGES lists. Nothing is imported but the command line: signatures and docstrings are read from the source. A name
is told in full on the page of the package that it belongs to, under the shortest name that a person can use, and by
a line wherever else it is offered.
"""

import ast
import re
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from inspect import cleandoc

from docutils import nodes
from extensions.docstrings import (
    ROOT,
    Links,
    Writer,
    columns,
    docstring_of,
    find,
    module_tree,
    parse,
)
from extensions.references import to_cite
from sphinx.util.docutils import SphinxDirective

FOLDER = ROOT / "docs" / "api"

# page: a title, and what is on it: a package with a list of its own, or a module and some of its names (all public
# ones where none are named), or a heading.
PAGES = {
    "pushlab": ("What `import pushlab` offers", ["pushlab"]),
    "envs": (
        "Worlds and their environments",
        [
            "pushlab.envs.world: World",
            "pushlab.envs.shell: Env",
            "pushlab.envs.batch: VectorEnv",
            "# Simulators",
            "pushlab.envs.ode.world: ODE",
            "pushlab.envs.ode.models: Model Variable Intervention load_model",
            "# Users of the recommender",
            "pushlab.envs.rec.models: BaseUserModel UserModel NoDrift Satiation",
            "# People of the credit score",
            "pushlab.envs.credit.rules: CreditConfig",
            "pushlab.envs.credit.rules: promise_table",
        ],
    ),
    "agents": (
        "Agents",
        [
            "pushlab.agents",
            "# Memories of the room",
            "pushlab.agents.memory: Episodic Semantic",
            "# Days of arriving notifications",
            "pushlab.logs.arrival_days: run_day judge_days judge",
            "# Treatment of a patient with HIV",
            "pushlab.agents.treatment: make_world make_agent learn_in_rounds treat "
            "examine basin discounted near_unhealthy",
        ],
    ),
    "metrics.push": ("Metrics of notifications", ["pushlab.metrics.push"]),
    "metrics.rec": ("Metrics of the recommender", ["pushlab.metrics.rec"]),
    "metrics.estimate": ("How sure one may be", ["pushlab.metrics.estimate"]),
    "metrics.offpolicy": (
        "Off-policy estimators",
        ["pushlab.metrics.offpolicy"],
    ),
    "metrics.lifelong": (
        "Metrics of lifelong learning",
        [
            "pushlab.metrics.lifelong",
            "# The metrics",
            "pushlab.metrics.lifelong.metrics",
        ],
    ),
    "plots": ("Pictures", ["pushlab.plots"]),
    "widgets": (
        "Pictures that can be played with",
        ["pushlab.plots.widgets"],
    ),
    "datasets": (
        "Data sets",
        [
            "pushlab.datasets.reading: load_user load_users list_users",
            "pushlab.datasets.periods",
            "pushlab.datasets.schema: Schema Feature Features",
            "# Facts about the room",
            "pushlab.datasets.commonsense: read_facts write_facts usual_places all_places "
            "strongest fetch_facts",
            "# Borrowers",
            "pushlab.datasets.borrowers: Borrowers read_borrowers make_borrowers "
            "draw_people",
        ],
    ),
    "users": (
        "Users, and who answers for them",
        [
            "pushlab.users.judges: judge_for fit_judge panel_of judge_report cutoff",
            "pushlab.users.simulated",
            "pushlab.users.candidates",
            "pushlab.users.days: Days days_of ResponseTimes",
            "pushlab.users.synthesis: make_user",
        ],
    ),
    "challenges": (
        "The challenges",
        [
            "pushlab.challenges.challenge: Challenge",
            "pushlab.challenges.scorecard: Scorecard leaderboard",
            "pushlab.challenges.submissions: score_file score_folder save_scores hand_in",
            "pushlab.challenges.replays: score_log",
            "# The leaderboard of lifetimes",
            "pushlab.challenges.board: "
            "submission read_board add_to_board board_of rank kept_and_forgotten",
        ],
    ),
    "lifetimes": (
        "Lifetimes",
        [
            "pushlab.lifetimes.live: run_syllabus run_syllabi run_experts",
            "pushlab.lifetimes.syllabi: Syllabus "
            "read_syllabus shipped_syllabi write_syllabus cl ant_a ant_b",
            "pushlab.lifetimes.experts: Experts",
            "pushlab.lifetimes.reporting: save_report",
        ],
    ),
    "logs": (
        "Logs",
        [
            "pushlab.logs.rollout: rollout by_episode readable",
            "pushlab.logs.collect: collect true_value",
            "pushlab.logs.folders: read_log write_log find_logs lifetime_log "
            "with_regimes",
        ],
    ),
    "causal": ("From logs to causes", ["pushlab.causal"]),
    "studies": (
        "Studies",
        [
            "pushlab.experiments.sweep: sweep",
            "pushlab.experiments.cells: run_cells CellsFailed",
            "pushlab.experiments.command: warm",
            "# The benchmark",
            "pushlab.experiments.bench.command: run_bench",
            "pushlab.experiments.bench.tasks: Task read_tasks task_table read_reference",
            "pushlab.experiments.bench.report: write_report",
            "pushlab.experiments.bench.agents: Outside",
        ],
    ),
    "clients": ("Tools of other people", ["pushlab.clients"]),
    "classroom": ("A class and its server", ["pushlab_classroom"]),
}
INDEX = """# Reference

What a person uses by name, a page a package; and [the commands of the terminal](commands.md). Worlds have pages of
their own: [Environments](../environments/index.md).

"""


@dataclass
class Entry:
    """Something that a page tells: the name a person uses, where it stands ("module:name"), and its page."""

    public: str
    place: str
    page: str


@cache
def exports(package):
    """{name: place} of what a package offers by `__init__.pyi` or `__all__`, or else of a module's public names."""
    tree, stub = stub_tree(package) or module_tree(package)[1], stub_tree(package)
    listed = next(
        (
            ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign)
            and getattr(node.targets[0], "id", "") == "__all__"
            and isinstance(node.value, ast.List)
        ),
        None,
    )
    found = {}
    if stub or listed:
        for local, (module, name) in imports(package).items():
            if (listed is None or local in listed) and not _is_module(
                f"{module}.{name}"
            ):
                found[local] = home_of(module, name)
        for name in listed or ():
            found.setdefault(name, f"{package}:{name}")
        return found
    return {
        node.name: f"{package}:{node.name}"
        for node in tree.body
        if isinstance(node, (ast.ClassDef, ast.FunctionDef))
        and not node.name.startswith("_")
        and ast.get_docstring(node)
    }


@cache
def stub_tree(package):
    """The syntax tree of the `__init__.pyi` that says what a package offers, or None."""
    stub = module_tree(package)[0].with_suffix(".pyi")
    return ast.parse(stub.read_text("utf-8")) if stub.is_file() else None


@cache
def home_of(module, name):
    """Where a name is defined that a module has, be it imported there: "module:name"."""
    known = imports(module)
    if name not in known or any(
        name in _defined(node) for node in module_tree(module)[1].body
    ):
        return f"{module}:{name}"
    return home_of(*known[name])


def _defined(node):
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
        return [node.name]
    targets = (
        node.targets
        if isinstance(node, ast.Assign)
        else [getattr(node, "target", None)]
    )
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _is_module(dotted):
    path = ROOT.joinpath(*dotted.split("."))
    return path.with_suffix(".py").is_file() or path.is_dir()


@cache
def imports(package):
    """{local name: (module, name)} of what a module, or the list of what a package offers, imports from this project."""
    tree = stub_tree(package) or module_tree(package)[1]
    here = (
        package
        if module_tree(package)[0].name == "__init__.py"
        else package.rpartition(".")[0]
    )
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            home = here.rsplit(".", node.level - 1)[0] if node.level > 1 else here
            module = (
                (f"{home}.{node.module}" if node.module else home)
                if node.level
                else node.module
            )
            if module.split(".")[0] in ("pushlab", "pushlab_classroom"):
                found |= {
                    one.asname or one.name: (module, one.name) for one in node.names
                }
    return found


@cache
def pages():
    """{page: list of its headings (str) and Entries}."""
    shortest = {}
    for package in (
        "pushlab",
        *(
            item
            for _, items in PAGES.values()
            for item in items
            if ":" not in item and item[0] != "#"
        ),
    ):
        for name, place in exports(package).items():
            public = f"{package}.{name}"
            if place not in shortest or public.count(".") < shortest[place].count("."):
                shortest[place] = public
    made, homes = {}, {}
    for page, (_, items) in PAGES.items():
        made[page] = []
        for item in items:
            if item[0] == "#":
                made[page].append(item[2:])
                continue
            module, _, names = item.partition(": ")
            places = {name: f"{module}:{name}" for name in names.split()} or exports(
                module
            )
            for place in places.values():
                made[page].append(
                    Entry(shortest.get(place, place.replace(":", ".")), place, page)
                )
                if page != "pushlab":
                    homes.setdefault(place, page)
    for entries in made.values():
        for entry in entries:
            if isinstance(entry, Entry):
                entry.page = homes.get(entry.place, entry.page)
    return made


@cache
def entries():
    """{place: Entry} of all that is told."""
    return {
        entry.place: entry
        for listed in pages().values()
        for entry in listed
        if isinstance(entry, Entry)
    }


@cache
def objects():
    """{any name by which something told can be called: the name it is told under}, methods and attributes too."""
    found = {}
    for place, entry in entries().items():
        for name in {entry.public, place.replace(":", ".")}:
            found[name] = entry.public
            node = node_of(place)
            if isinstance(node, ast.ClassDef):
                found |= {
                    f"{name}.{method.name}": f"{entry.public}.{method.name}"
                    for method in methods_of(node)
                }
    for package in (
        "pushlab",
        *(item for _, items in PAGES.values() for item in items if item[0] != "#"),
    ):
        module = package.partition(":")[0]
        for name, place in exports(module).items():
            if place in entries():
                found.setdefault(f"{module}.{name}", entries()[place].public)
    return found


def node_of(place):
    """The syntax tree's node of a place; of a constant its assignment."""
    try:
        return find(place)
    except LookupError:
        module, _, name = place.partition(":")
        for node in module_tree(module)[1].body:
            if name in _defined(node):
                return node
        raise


def methods_of(node):
    """The public functions of a class that have a docstring."""
    return [
        one
        for one in node.body
        if isinstance(one, ast.FunctionDef)
        and not one.name.startswith("_")
        and ast.get_docstring(one)
    ]


def _is_a(node, *decorators):
    return any(
        ast.unparse(one).split("(")[0].split(".")[-1] in decorators
        for one in node.decorator_list
    )


class _FullNames(ast.NodeTransformer):
    """Names in a signature as the names under which the reference tells them, so that they become links."""

    def __init__(self, module):
        self.module, self.known, self.told = module, imports(module), objects()

    def visit_Name(self, node):
        module, name = home_of(*self.known.get(node.id, (self.module, node.id))).split(
            ":"
        )
        return ast.parse(self.told.get(f"{module}.{name}", node.id), mode="eval").body

    def visit_Constant(self, node):
        return node


def _ancestors(place):
    """(module, syntax tree's node) of a class and of all in this project that it inherits from, itself first."""
    module, node = place.partition(":")[0], node_of(place)
    yield module, node
    for base in node.bases:
        name = getattr(
            base.value if isinstance(base, ast.Subscript) else base, "id", ""
        )
        home = home_of(*imports(module).get(name, (module, name)))
        if any(
            name in _defined(one) for one in module_tree(home.partition(":")[0])[1].body
        ):
            yield from _ancestors(home)


def _constructor(place):
    """(module, what makes a class): its `__init__`, or a class whose fields are the arguments, or None."""
    for module, node in _ancestors(place):
        for one in node.body:
            if getattr(one, "name", "") == "__init__":
                return module, one
        if any(isinstance(one, ast.AnnAssign) for one in node.body) and (
            _is_a(node, "dataclass")
            or any("NamedTuple" in ast.unparse(base) for base in node.bases)
        ):
            return module, node
    return place.partition(":")[0], None


def signature(place):
    """The signature of a function or a class as the source has it, from the first bracket on; "" where it has none."""
    node, module = node_of(place), place.partition(":")[0]
    if isinstance(node, ast.ClassDef):
        module, node = _constructor(place)
        if node is None:
            return ""
        if isinstance(node, ast.ClassDef):
            fields = [
                one
                for one in node.body
                if isinstance(one, ast.AnnAssign) and not _not_given(one)
            ]
            return "(" + ", ".join(_field(one, module) for one in fields) + ")"
        returns, skip = None, 1
    else:
        inside = "." in place.partition(":")[2] and not _is_a(node, "staticmethod")
        returns, skip = node.returns, int(inside)
    arguments = deepcopy(node.args)
    for listed in (arguments.posonlyargs, arguments.args):
        if skip and listed:
            listed, skip = listed.pop(0), 0
    for one in (
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        arguments.vararg,
        arguments.kwarg,
    ):
        if one is not None and one.annotation is not None:
            one.annotation = _type(one.annotation, module)
    return f"({ast.unparse(arguments)})" + (
        f" -> {ast.unparse(_type(returns, module))}" if returns else ""
    )


def _type(annotation, module):
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        annotation = ast.parse(annotation.value, mode="eval").body
    return _FullNames(module).visit(deepcopy(annotation))


def _field(node, module):
    default = f" = {ast.unparse(node.value)}" if node.value else ""
    if node.value and "field(" in ast.unparse(node.value):
        default = " = ..."
    return f"{node.target.id}: {ast.unparse(_type(node.annotation, module))}{default}"


def _not_given(node):
    return "init=False" in ast.unparse(node) or "ClassVar" in ast.unparse(
        node.annotation
    )


def own_names(place):
    """What is an argument, a field or an attribute of what stands at a place: words that lead nowhere else."""
    node = node_of(place)
    makes = _constructor(place)[1] if isinstance(node, ast.ClassDef) else node
    inits = [makes] if isinstance(makes, ast.FunctionDef) else []
    names = [
        one.arg
        for init in inits
        for one in (
            *init.args.posonlyargs,
            *init.args.args,
            *init.args.kwonlyargs,
            init.args.vararg,
            init.args.kwarg,
        )
        if one is not None
    ]
    return [name for name in names if name not in ("self", "cls")] + [
        one.target.id
        for one in getattr(node, "body", ())
        if isinstance(one, ast.AnnAssign)
    ]


# ---------------------------------------------------------------- pages


def page_text(page):
    """The Markdown of a page."""
    title, _ = PAGES[page]
    listed = pages()[page]
    dotted = _package(page)
    lines = [f"# {title}", ""]
    if _is_module(dotted) or dotted == "pushlab":
        lines += ["```{docstring} " + dotted, "```", ""]
    lines += [
        "```{offered}",
        *(entry.place for entry in listed if isinstance(entry, Entry)),
        "```",
        "",
    ]
    for entry in listed:
        if isinstance(entry, str):
            lines += [f"## {entry}", ""]
        elif entry.page == page:
            lines += _object_text(entry)
    return "\n".join([*lines, *to_cite(page, "What is on this page")])


def _object_text(entry):
    node = node_of(entry.place)
    fence, kind = "`````", "class" if isinstance(node, ast.ClassDef) else "function"
    if not isinstance(node, (ast.ClassDef, ast.FunctionDef)):
        return _constant_text(entry, node)
    real = entry.place.replace(":", ".")
    lines = [f"{fence}{{py:{kind}}} {entry.public}{signature(entry.place)}"]
    lines += [f":canonical: {real}"] * (real != entry.public)
    lines += ["", *_doc_text(entry.place)]
    for method in methods_of(node) if kind == "class" else ():
        place, options, kind_of = f"{entry.place}.{method.name}", [], "method"
        if _is_a(method, "property", "cached_property"):
            kind_of, told = (
                "property",
                method.returns
                and ast.unparse(_type(method.returns, place.partition(":")[0])),
            )
            options, shown = [f":type: {told}"] * bool(told), ""
        else:
            options = (
                [":classmethod:"] * _is_a(method, "classmethod")
                + [":staticmethod:"] * _is_a(method, "staticmethod")
                + [":abstractmethod:"] * _is_a(method, "abstractmethod")
            )
            shown = signature(place)
        lines += [
            f"````{{py:{kind_of}}} {method.name}{shown}",
            *options,
            "",
            *_doc_text(place),
            "````",
            "",
        ]
    return [*lines, fence, ""]


def _doc_text(place):
    return [
        f"```{{docstring}} {place}",
        f":own: {' '.join(own_names(place))}",
        "```",
        "",
    ]


def _constant_text(entry, node):
    value = ast.unparse(node.value)
    lines = [f"`````{{py:data}} {entry.public}"] + (
        [f":value: {value}"] if len(value) < 100 else []
    )
    return [*lines, "", "`````", ""]


def index_text():
    """The Markdown of the reference's first page."""
    lines = [INDEX]
    for page, (title, _) in PAGES.items():
        lines.append(
            f"- [{title}]({page}.md)"
            + ("" if page == "pushlab" else f": `{_package(page)}`")
        )
    return "\n".join(
        [*lines, "", "```{toctree}", ":hidden:", "", *PAGES, "commands", "```", ""]
    )


def _package(page):
    """The package that a page is about."""
    others = {
        "pushlab": "pushlab",
        "widgets": "pushlab.plots.widgets",
        "classroom": "pushlab_classroom",
    }
    return others.get(page, f"pushlab.{page}")


def write(path, text):
    """Writes a file if its text is another one, so that a build reads again only what has changed."""
    if not path.is_file() or path.read_text("utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def write_pages(app=None):
    """Writes all pages of the reference, and takes away those of an earlier build that are none any more."""
    texts = {
        "index": index_text(),
        "commands": commands_text(),
        **{page: page_text(page) for page in PAGES},
    }
    for name, text in texts.items():
        write(FOLDER / f"{name}.md", text)
    for path in FOLDER.glob("*.md"):
        if path.stem not in texts:
            path.unlink()


class Offered(SphinxDirective):
    """A table of what a page offers: each name, a link to where it is told, and the first line of its docstring."""

    has_content = True

    def run(self):
        """The nodes."""
        told = entries()
        listed = [told[place] for place in self.content if place in told]
        group = nodes.tgroup(
            "", nodes.colspec(colwidth=1), nodes.colspec(colwidth=3), cols=2
        )
        body = nodes.tbody()
        for entry in listed:
            writer = Writer(Links(entry.place, self.env.docname))
            name = entry.public.rpartition(".")[2]
            link = writer.link.refer("py", "obj", entry.public, nodes.literal("", name))
            parts = parse(summary(entry.place))[:1]
            body += nodes.row(
                "",
                nodes.entry("", nodes.paragraph("", "", link)),
                nodes.entry("", *writer.nodes(parts)),
            )
        group += body
        return [nodes.table("", group, classes=["pushlab-offered"])] if listed else []


def summary(place):
    """The first paragraph of a docstring; of a constant the comment beside or above it."""
    node = node_of(place)
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
        return docstring_of(place).split("\n\n")[0]
    lines = module_tree(place.partition(":")[0])[0].read_text("utf-8").split("\n")
    beside = re.search(r"#\s*(.*)", lines[node.end_lineno - 1])
    start = end = node.lineno - 1
    while start and lines[start - 1].startswith("# "):
        start -= 1
    return (
        beside[1] if beside else " ".join(line[2:].strip() for line in lines[start:end])
    )


# ---------------------------------------------------------------- the command line


@cache
def commands():
    """{words of a command, such as "data check": click's command}, groups among them."""
    import typer

    from pushlab.__main__ import app

    found = {}

    def walk(words, command):
        found[words] = command
        for name, one in sorted(getattr(command, "commands", {}).items()):
            walk(f"{words} {name}", one)

    walk("pushlab", typer.main.get_command(app))
    return found


def commands_text():
    """The Markdown of the page of the command line."""
    lines = ["# Commands", "", "```{docstring} pushlab.__main__", "```", ""]
    for words in commands():
        lines += [
            f"{'##' if words.count(' ') < 2 else '###'} {words}",
            "",
            f"```{{command}} {words}",
            "```",
            "",
        ]
    return "\n".join(lines)


class CommandDirective(SphinxDirective):
    """What a command says of itself: its usage, what it does, its arguments and options."""

    required_arguments, final_argument_whitespace = 1, True

    def run(self):
        """The nodes."""
        words = self.arguments[0]
        command = commands()[words]
        context = command.make_context(words, [], resilient_parsing=True)
        usage = " ".join(command.get_usage(context).split()).removeprefix("Usage: ")
        writer = Writer(Links("pushlab.__main__", self.env.docname))
        made = [
            nodes.literal_block(usage, usage, language="text"),
            *writer.nodes(parse(cleandoc(command.help or "").replace("\b", ""))),
        ]
        records = filter(None, (one.get_help_record(context) for one in command.params))
        return made + columns(
            [
                ([nodes.literal("", name)], [writer.paragraph(told)])
                for name, told in records
            ]
        )


def source_of(domain, info):
    """Where the source of an object stands on the web; for sphinx.ext.linkcode."""
    if domain != "py" or not info.get("fullname"):
        return None
    name = ".".join(filter(None, (info.get("module"), info["fullname"])))
    for place, entry in entries().items():
        if name == entry.public or name.startswith(entry.public + "."):
            node = node_of(place + name[len(entry.public) :])
            path = module_tree(place.partition(":")[0])[0].relative_to(ROOT).as_posix()
            return (
                f"{Links.repository}/blob/HEAD/{path}#L{node.lineno}-L{node.end_lineno}"
            )
    return None


def begin(app, config):
    """Says where names lead, before anything is read."""
    Links.objects, Links.repository = objects(), config.repository
    config.linkcode_resolve = source_of


def without_its_source(app, page, template, context, doctree):
    """A page that a build writes is no file of the repository: it has no button that leads to one.

    `header_buttons` is sphinx-book-theme's own: under another name the buttons would be back, which
    test_no_button_leads_to_a_source_that_is_not_in_the_repository sees.
    """
    if page.startswith(("docs/api/", "docs/environments/")):
        for group in context.get("header_buttons", []):
            if "buttons" in group:
                group["buttons"] = [
                    one
                    for one in group["buttons"]
                    if f"/{page}.md" not in one.get("url", "")
                ]


def setup(app):
    """Announces directives; the pages are written before a build."""
    app.setup_extension("extensions.docstrings")
    app.setup_extension("sphinx.ext.linkcode")
    app.add_directive("offered", Offered)
    app.add_directive("command", CommandDirective)
    app.connect("config-inited", begin)
    app.connect("builder-inited", write_pages)
    app.connect("html-page-context", without_its_source, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
