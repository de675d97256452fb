"""Pages of all environments, written into docs/environments before a build, from what they are and say themselves.

`pushlab.envs.TABLE` lists them; their spaces are asked of `gym.make`, their pictures are what `render` draws, and what
they mean is the docstring of the world. Added here is only what no world says: a policy for the picture and what that
shows (POLICIES and SHOWN; by chance for a world in neither), which agents suit (AGENTS), and where a page takes parts
over from another one (AS_IN). What to cite is in docs/references.bib.

    python -m extensions.environments           in docs: writes them, a minute at most
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from functools import cache
from importlib.metadata import version

from extensions.api import exports, home_of, write
from extensions.docstrings import ROOT, docstring_of, parse, sections_of, words_of
from extensions.references import to_cite

FOLDER = ROOT / "docs" / "environments"
MADE = FOLDER / ".made"  # what the pages were made from
PARTS = (
    "Observation",
    "Action",
    "Reward",
    "Start",
    "End",
    "Info",
)  # what every page says


def interrupted(agents, env):
    """Forty days of both drugs and twenty without, in turn."""
    return lambda observation, info: 3 if info["time"] % 60 < 40 else 0


BY_CHANCE = (lambda agents, env: agents.RandomAgent(), 40)

# name: the policy of its picture (made of pushlab.agents and the environment), and its steps
POLICIES = {
    "evalumap1-v0": (
        lambda agents, env: agents.MostOpened(env.unwrapped.world.user.history),
        60,
    ),
    "evalumap2-v0": (lambda agents, env: agents.MostOpened(), 60),
    "RoomEnv-v0": (lambda agents, env: agents.BothAgent(16), 40),
    "RECEnv-v0": (lambda agents, env: agents.GreedyItem(), 9),
    "ODE-HIV-v0": (interrupted, 120),
    "ODE-HIV-Goal-v0": (interrupted, 60),
    "ODE-LotkaVolterra-v1": (
        lambda agents, env: lambda observation: int(observation[1] <= 15),
        160,
    ),
    "ODE-Opioid-v0": (lambda agents, env: agents.Constant(3), 18),
    "ODE-Zika-v0": (lambda agents, env: agents.Constant(3), 40),
    "ODE-World3-v1": (lambda agents, env: agents.Constant(0), 150),
    "Credit-v0": (lambda agents, env: agents.Constant(1), 4),
    "push-v0": (lambda agents, env: agents.DoNotDisturb(), 60),
}

# name: what the picture shows, for all, also for who cannot see it
SHOWN = {
    "evalumap1-v0": "A phone with the notification just sent and whether it was opened; beside it the context it was sent in, the "
    "reward so far against the best possible, and the last twenty answers. The agent sends what was opened most "
    "at such a time of day.",
    "evalumap2-v0": "A phone with the notification just sent and whether it was opened; beside it the context it was sent in, and "
    "the reward of an agent that began without a history.",
    "Remote-v0": "What evalumap2-v0 shows of a user one knows: a phone, what was sent, what the user did. A server tells its "
    "players neither who the user is nor what would have been best.",
    "RoomEnv-v0": "The places of the room with whose things lie there, the one placement that the agent sees lit up, the "
    "question it was asked, its answer, and the next question; beside it how the last twenty answers went.",
    "RECEnv-v0": "A map with five items as dots and the user's preference as an arrow in a circle. It has turned to jazz, which "
    "was liked best and shown nine times; beside it the rewards and how far it turned.",
    "ODE-HIV-v0": "A patient over 120 days, forty days of both drugs and twenty without in turn: cells, free virus and immune "
    "response over time, the drugs as lanes, the path of virus against immune response, and tinted green where "
    "treatment should lead: the virus comes back each time, and the immune response stays far below.",
    "ODE-HIV-Goal-v0": "The patient over 300 days with the goal tinted green, treated for forty days and left alone for twenty in "
    "turn: the virus falls through the goal and comes back, and the immune response never nears it.",
    "ODE-LotkaVolterra-v1": "Rabbits and foxes over time, and as a path of one number against the other. Foxes were held back once, at "
    "their first peak, which is marked in a lane; from then on both rise and fall only a little.",
    "ODE-Opioid-v0": "People who misuse opioids, have a disorder or use illicit ones, and deaths a year, from 2002 to 2020 with "
    "both interventions every year; dotted the deaths had nothing been done.",
    "ODE-Zika-v0": "People and mosquitoes over 40 days of treatment and spray, infected ones and others; dotted how many people "
    "would have symptoms had nothing been done.",
    "ODE-World3-v1": "Population, resources, food, industry and pollution (dotted) from 1900 to 2050 where a fifth less is used and "
    "polluted than in the book, which two lanes show.",
    "Credit-v0": "Scores of those who paid back and of those who fell behind, grey as they were and in colour after people "
    "answered a score trained on the past: fewer are refused in both groups. Beside it the loss promised and paid "
    "each round, and how far each feature moved.",
    "push-v0": "A phone, what waits in its cache, and the day so far as a line of arrivals with what became of each; the "
    "agent puts off whatever comes in quiet hours.",
}

AGENTS = {
    "evalumap1-v0": "ReplayHistory RandomCandidate MostOpened OfflineModel",
    "evalumap2-v0": "RandomCandidate MostOpened EpsilonGreedy LinUCB ThompsonSampling",
    "push-v0": "ShowAll DismissAll DoNotDisturb QTable LinearArrivalQ SmallSteps Replaying Elastic Restarting Told "
    "Recognising",
    "Remote-v0": "MostOpened EpsilonGreedy LinUCB ThompsonSampling DoNotDisturb LinearArrivalQ",
    "RECEnv-v0": "GreedyItem SoftmaxItem LinUCBItem LinearQ Planner",
    "RoomEnv-v0": "EpisodicAgent SemanticAgent BothAgent GivenAgent LearnedAgent",
    "ODE-HIV-v0": "Constant BangBang FittedQIteration",
    "ODE-HIV-Goal-v0": "Constant",
}
SIMULATORS = (
    "Constant BangBang FittedQIteration"  # of every ODE-… that is not in AGENTS
)
EVERYWHERE = "RandomAgent"

# parts that a docstring leaves to another world's
AS_IN = {
    "evalumap2-v0": ["evalumap1-v0"],
    "ODE-HIV-Goal-v0": ["ODE-HIV-v0"],
    "Remote-v0": ["evalumap2-v0", "evalumap1-v0", "push-v0"],
}


def names():
    """{name without version: [(id, place of the world, what an agent does), newest version first]}, Remote last."""
    from pushlab.envs import REMOTE, TABLE

    found = {}
    for name, place, about in (*TABLE, REMOTE):
        place = home_of(*place.split(":"))
        found.setdefault(name.removeprefix("pushlab/").rpartition("-v")[0], []).append(
            (name, place, about)
        )
    return {
        base: sorted(rows, key=lambda row: -int(row[0].rpartition("-v")[2]))
        for base, rows in found.items()
    }


def page_of():
    """{name with version: docname of the page it is on}."""
    return {
        name.removeprefix("pushlab/"): f"docs/environments/{_page(base, rows)}"
        for base, rows in names().items()
        for name, *_ in rows
    }


def _page(base, rows):
    return base if len(rows) > 1 else rows[0][0].removeprefix("pushlab/")


# ---------------------------------------------------------------- spaces in words


def in_words(space):
    """A space in a line of Markdown."""
    kind = type(space).__name__
    if kind == "Discrete":
        return f"`Discrete({space.n})`"
    if kind == "MultiDiscrete":
        low, high = space.nvec.min(), space.nvec.max()
        sizes = f"{low}" if low == high else f"{low} to {high}"
        return f"`MultiDiscrete`, {len(space.nvec)} components of {sizes} values, {space.dtype}"
    if kind == "Box":
        low, high = space.low.min(), space.high.max()
        same = (space.low == low).all() and (space.high == high).all()
        bounds = f"from {low:g} to {high:g}" if same else "each with bounds of its own"
        return f"`Box`, shape `{space.shape}`, {bounds}, {space.dtype}"
    if kind == "Text":
        least, most = space.min_length, space.max_length
        return (
            f"`Text` of {least if least == most else f'{least} to {most}'} characters"
        )
    if kind == "Tuple":
        return "`Tuple` of (" + "; ".join(map(in_words, space.spaces)) + ")"
    if kind == "Dict":
        return "`Dict` of " + "; ".join(
            f'`"{key}"`: {in_words(one)}' for key, one in space.spaces.items()
        )
    return f"`{space}`"


def components(space, called):
    """Rows of Markdown, one a component of a space whose components have names: its name and what it can be."""
    kind = type(space).__name__
    if kind == "Dict" and isinstance(called, dict):
        return [
            row
            for key, one in space.spaces.items()
            for row in components(
                one, [f"{key}.{name}" for name in called.get(key, ())]
            )
        ]
    if (
        not called
        or kind not in ("Box", "MultiDiscrete")
        or space.shape != (len(called),)
    ):
        return []
    if kind == "MultiDiscrete":
        return [
            f"| `{name}` | 0 to {most - 1} |" for name, most in zip(called, space.nvec)
        ]
    return [
        f"| `{name}` | {low:.4g} to {high:.4g} |"
        for name, low, high in zip(called, space.low, space.high)
    ]


def folded(summary, head, rows):
    """A table that opens where one asks for it."""
    return [
        "<details>",
        f"<summary>{summary}</summary>",
        "",
        f"| {head} |",
        "|---|---|",
        *rows,
        "",
        "</details>",
        "",
    ]


# ---------------------------------------------------------------- pictures


def draw(env, name):
    """Runs the policy of a picture and returns what `render` then shows, as a PNG."""
    import io

    from matplotlib import image

    from pushlab import agents
    from pushlab.logs.rollout import rollout

    policy, steps = POLICIES.get(name, BY_CHANCE)
    rollout(env, policy(agents, env), seed=7, steps=steps, progress=False)
    out = io.BytesIO()
    image.imsave(out, env.render(), metadata={"Software": None})
    return out.getvalue()


def shown(page, rows):
    """What the picture of a page shows, in words: from SHOWN, or else from the table of ids."""
    return SHOWN.get(page) or (
        f"What an agent that acts by chance has come to after {BY_CHANCE[1]} steps at most. It "
        f"ought to {rows[0][2]}."
    )


# ---------------------------------------------------------------- pages


@cache
def in_notebooks():
    """{name of a world: [(path of a notebook, its title)]}, by the ids in its cells."""
    found = {}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells)
        title = re.search(r"^# (.*?)\s*(?:\[!\[.*)?$", text, re.MULTILINE)[1]
        for name in page_of():
            if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text):
                found.setdefault(name, []).append((path.name, title))
    return found


def part(place, which):
    """The lines that put a part of a docstring on a page."""
    return [f"```{{docstring}} {place}", f":part: {which}", "```", ""]


def page_text(base, rows, env):
    """The Markdown of a page: of the newest version, and of what differs in older ones."""
    name, place, _ = rows[0]
    short, docstring = name.removeprefix("pushlab/"), docstring_of(place)
    _, sections, after, examples = sections_of(parse(docstring))
    remote = base == "Remote"
    making = ', url="https://…", token="…", game="evalumap2"' if remote else ""
    lines = [
        f"# {short}",
        "",
        *part(place, "before"),
        "```python",
        "import gymnasium as gym",
        "import pushlab",
        "",
        f'env = gym.make("{name}"{making})',
        "```",
        "",
    ]
    picture = "evalumap2-v0" if remote else _page(base, rows)
    alt = shown(_page(base, rows), rows)
    lines += [
        f"```{{figure}} pictures/{picture}.png",
        f":alt: {alt}",
        "",
        alt,
        "```",
        "",
    ]
    lines += glance(name, place, env, remote)
    told = {name for section in sections for name in section.split(", ")}
    lines += (
        [
            line
            for section in PARTS
            if section not in told
            for line in taken_over(short, section)
        ]
        if remote
        else []
    )
    for section in sections:
        lines += [f"## {section}", "", *part(place, section)]
        if section == "Observation":
            called = getattr(env.unwrapped.world, "observation_names", None)
            rows_of = components(env.observation_space, called)
            lines += (
                folded(
                    "Each component, as <code>env.observation_space</code> has it",
                    "component | values",
                    rows_of,
                )
                if rows_of
                else []
            )
        if section == "Arguments" and "`ODE`" in words_of(sections[section]):
            lines += [
                "### Arguments of every simulator",
                "",
                *part("pushlab.envs.ode.world:ODE", "Arguments"),
                "### Attributes of every simulator",
                "",
                *part("pushlab.envs.ode.world:ODE", "Attributes"),
            ]
    if remote:
        lines += [
            "## Arguments",
            "",
            "```{docstring} pushlab_classroom.remote:RemoteEnv",
            "```",
            "",
        ]
    else:
        lines += [
            line
            for section in PARTS
            if section not in told
            for line in taken_over(short, section)
        ]
    lines += ["## Remarks", "", *part(place, "after")] if after else []
    lines += ["## Example", "", *part(place, "example")] if examples else []
    if len(rows) > 1:
        lines += [
            "## Versions",
            "",
            f"`{short}` is the newest; older ones stay, so that results can be had again.",
            "",
        ]
        for older, older_place, _ in rows[1:]:
            lines += [
                f"### {older.removeprefix('pushlab/')}",
                "",
                f"```{{docstring}} {older_place}",
                "```",
                "",
            ]
    lines += [
        "## Agents",
        "",
        "Those of `pushlab.agents` that suit, and `RandomAgent` for comparison:",
        "",
        "```{offered}",
        *agents_of(short),
        "```",
        "",
    ]
    used = in_notebooks().get(short, [])
    lines += (
        [
            "## Notebooks",
            "",
            *(f"- [{title}](../../notebooks/{path})" for path, title in used),
            "",
        ]
        if used
        else []
    )
    return "\n".join([*lines, *to_cite(_page(base, rows), "This world here")])


def glance(name, place, env, remote):
    """What a person looks up first, in a table."""
    facts = []
    if remote:
        facts += [
            (
                "Observations, actions",
                "those of [evalumap2-v0](evalumap2-v0.md) or [push-v0](push-v0.md), as "
                "`game=` says",
            ),
            (
                "Steps in an episode",
                "as many as the server's users have contexts or days for",
            ),
        ]
    else:
        info = env.reset(seed=7)[1]
        facts += [
            ("Observation space", in_words(env.observation_space)),
            ("Action space", in_words(env.action_space)),
        ]
        facts += [
            (
                "Allowed actions",
                f'`info["{key}"]`, {value.dtype} `{value.shape}`; also `env.unwrapped.'
                "action_masks()`",
            )
            for key, value in info.items()
            if key == "action_mask"
        ]
        most = env.spec.max_episode_steps
        facts.append(
            (
                "Steps in an episode",
                f"{most:,} by default"
                if most
                else "no fixed number: until the horizon ends",
            )
        )
        height, width, _ = env.render().shape
        facts.append(
            ("Rendering", f"`rgb_array`, {height} × {width} pixels, and `human`")
        )
    facts.append(
        ("Many copies", f'`gym.make_vec("{name}", num_envs=…)` steps them together')
    )
    return [
        "```{list-table}",
        ":widths: auto",
        "",
        f"* - Id\n  - `{name}`",
        *(f"* - {what}\n  - {fact}" for what, fact in facts),
        "```",
        "",
    ]


def taken_over(short, section):
    """A part that a docstring leaves to another world's."""
    for other in AS_IN.get(short, ()):
        place = next(
            place
            for rows in names().values()
            for name, place, _ in rows
            if name == f"pushlab/{other}"
        )
        if section in sections_of(parse(docstring_of(place)))[1]:
            link = f"[{other}]({other}.md)"
            if short == "Remote-v0":
                return [
                    f"## {section}",
                    "",
                    f"As in {link}, or as in [push-v0](push-v0.md), as `game=` says.",
                    "",
                ]
            return [f"## {section}", "", f"As in {link}:", "", *part(place, section)]
    return []


def agents_of(short):
    """Places of the agents that suit an environment."""
    listed = (
        AGENTS.get(short, SIMULATORS if short.startswith("ODE-") else "")
        + " "
        + EVERYWHERE
    )
    return [exports("pushlab.agents")[name] for name in listed.split()]


def index_text(told):
    """The Markdown of the first page: all ids."""
    lines = [
        "# Environments",
        "",
        "Small worlds behind one interface, Gymnasium's: `gym.make(id)` gives one copy, "
        "`gym.make_vec(id, num_envs=…)` as many as you like, stepped together. `import pushlab` registers the "
        'ids; `gym.make("pushlab:pushlab/push-v0")` needs no import.',
        "",
        "`````{container} pushlab-gallery",
    ]
    for base, rows in names().items():
        if base != "Remote":
            page, short = _page(base, rows), rows[0][0].removeprefix("pushlab/")
            lines += [
                f"````{{figure}} pictures/{page}.png",
                f":alt: {shown(page, rows)}",
                "",
                f"[{short}]({page}.md)",
                "````",
            ]
    lines += [
        "`````",
        "",
        "| id | what an agent does | observation | action |",
        "|---|---|---|---|",
    ]
    for base, rows in names().items():
        page, (seen, done) = _page(base, rows), told[base]
        ids = ", ".join(f"`{name.removeprefix('pushlab/')}`" for name, *_ in rows[1:])
        older = f"; before: {ids}" if ids else ""
        lines.append(
            f"| [{rows[0][0].removeprefix('pushlab/')}]({page}.md){older} | {rows[0][2]} | {seen} | {done} |"
        )
    lines += [
        "",
        "All ids begin with `pushlab/`. A later version of an id is another world, and the older one stays.",
    ]
    pages = [_page(base, rows) for base, rows in names().items()]
    return "\n".join([*lines, "", "```{toctree}", ":hidden:", "", *pages, "```", ""])


def kind_of(space):
    """A space in a word or two, for the table of all."""
    kind = type(space).__name__
    if kind == "MultiDiscrete":
        return f"MultiDiscrete, {len(space.nvec)} codes"
    if kind == "Tuple":
        return "words: what is seen, and a question"
    return {
        "Discrete": f"Discrete({getattr(space, 'n', '')})",
        "Box": f"Box {space.shape}",
        "Text": "a word",
        "Dict": "Dict: " + ", ".join(getattr(space, "spaces", ())),
    }[kind]


def write_all():
    """Writes pages and pictures, and takes away what an earlier build left."""
    import gymnasium as gym

    import pushlab  # noqa: F401

    told, kept = {}, {"index.md"}
    for base, rows in names().items():
        page = _page(base, rows)
        if base == "Remote":
            env, told[base] = None, ("of the game", "of the game")
        else:
            env = gym.make(rows[0][0], render_mode="rgb_array")
            picture = FOLDER / "pictures" / f"{page}.png"
            picture.parent.mkdir(parents=True, exist_ok=True)
            png = draw(env, page)
            if not picture.is_file() or picture.read_bytes() != png:
                picture.write_bytes(png)
            told[base] = kind_of(env.observation_space), kind_of(env.action_space)
        write(FOLDER / f"{page}.md", page_text(base, rows, env))
        kept |= {f"{page}.md", f"{page}.png"}
    write(FOLDER / "index.md", index_text(told))
    for path in (*FOLDER.glob("*.md"), *FOLDER.glob("pictures/*.png")):
        if path.name not in kept:
            path.unlink()


def made_of():
    """A checksum of all that the pages come from."""
    with_what = [
        f"{name} {version(name)}" for name in ("gymnasium", "matplotlib", "numpy")
    ]
    digest = hashlib.sha256(" ".join(with_what).encode())
    for pattern in (
        "pushlab/**/*.py",
        "pushlab/**/*.pyi",
        "pushlab_classroom/*.py",
        "pushlab_classroom/*.pyi",
        "docs/extensions/*.py",
        "docs/references.bib",
        "notebooks/*.ipynb",
        "data/people/*",
        "data/push/**/*",
        "data/room/*",
        "data/schemas/*",
    ):
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file():
                digest.update(
                    path.relative_to(ROOT).as_posix().encode() + path.read_bytes()
                )
    return digest.hexdigest()


def write_pages(app=None):
    """Writes the pages in a process of its own, unless those there are come from the same files.

    Without compiled loops: some steps of each world cost less than loading what runs a million of them.
    """
    wanted = made_of()
    if not MADE.is_file() or MADE.read_text() != wanted:
        paths = os.pathsep.join(
            [str(ROOT), str(ROOT / "docs"), os.environ.get("PYTHONPATH", "")]
        )
        subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "extensions.environments"],
            check=True,
            cwd=ROOT,
            env={
                **os.environ,
                "PYTHONPATH": paths,
                "NUMBA_DISABLE_JIT": "1",
                "MPLBACKEND": "agg",
            },
        )
        MADE.write_text(wanted)


def begin(app, config):
    """Says where ids lead, before anything is read."""
    from extensions.docstrings import Links

    Links.worlds = page_of()


def setup(app):
    """Pages are written before a build."""
    app.setup_extension("extensions.api")
    app.connect("config-inited", begin)
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    write_all()
