"""The report of a benchmark: a page in Markdown, with pictures.

Every number says which tasks it is over. Two agents are compared over the tasks that both did. A failed run counts as
the lowest known score of its task, or as random play if that is lower, so that no agent gains by doing less. (The AutoML
benchmark fills failed runs with a constant predictor's scores: Gijsbers et al. 2024, Journal of Machine Learning
Research 25(101). Some learners here do worse than that.)
"""

import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pushlab import __version__
from pushlab.experiments.bench.tasks import VERSION
from pushlab.ground.arguments import demand, has_columns, one_of
from pushlab.ground.files import write_bytes, write_text
from pushlab.metrics import estimate
from pushlab.plots.benchmark import HIGHEST, LOWEST, score_words

PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn", "numba", "gymnasium", "torch")
PACKAGES += ("stable_baselines3", "sb3_contrib")
AGAINST_COLUMNS = ["agent", "tasks", "ours", "theirs", "better"]
MOST_BESIDE = 4  # other agents in the picture of profiles
UNFIT = pd.DataFrame(columns=["task", "reason"])
FAILED = pd.DataFrame(columns=["task", "seed", "reason"])


def write_report(
    folder: Path | str,
    scores: pd.DataFrame,
    tasks: pd.DataFrame,
    reference: pd.DataFrame | None = None,
    version: str = VERSION,
    unfit: pd.DataFrame = UNFIT,
    failed: pd.DataFrame = FAILED,
    agent: str | None = None,
    command: str = "",
) -> Path:
    """Write report.md and its pictures to a folder; return the path of report.md.

    Args:
        folder: Folder, created if it doesn't exist.
        scores: Scores of one agent, a row per run: agent, task, seed, score, normalised.
        tasks: Tasks: name, abilities (a list, or words separated by blanks), random, best.
        reference: Scores of other agents; one with the agent's own name is labelled "name (reference)".
        version: Version of the benchmark.
        unfit: Tasks that don't fit the agent: task, reason.
        failed: Failed runs: task, seed, reason.
        agent: Name of the agent, needed if it has no score.
        command: Command that computed the scores.

    Raises ValueError for a table without these columns, or with an unknown task.
    """
    from pushlab import plots

    numbers = report(scores, tasks, reference, unfit, failed, agent)
    folder = Path(folder)
    for name, picture in _pictures(numbers, tasks).items():
        write_bytes(folder / f"{name}.png", plots.png(picture))
    return write_text(folder / "report.md", _page(numbers, tasks, version, command))


# ---------------------------------------------------------------- numbers


def report(
    scores: pd.DataFrame,
    tasks: pd.DataFrame,
    reference: pd.DataFrame | None = None,
    unfit: pd.DataFrame = UNFIT,
    failed: pd.DataFrame = FAILED,
    agent: str | None = None,
) -> dict[str, Any]:
    """Return the report's numbers, for the arguments of `write_report`: the agent's name, and these tables.

    runs       all runs that count: agent, task, seed, score, normalised, failed
    missing    runs and tasks that were not done: task, seed, reason

    With at least one run of the agent also:

    summary    a dict, not a table: interquartile mean and optimality gap of the normalised scores, with intervals
    against    agent, tasks (done by both); intervals of both interquartile means over these tasks (ours, theirs) and of
               the probability that a run of the agent is better
    profiles   `pushlab.metrics.estimate.profile_table` of the agent and the best others that did all of its tasks
    abilities  `pushlab.plots.ability_table`
    by_task    agent, task; mean, low, high in the task's unit and normalised; runs, failed
    """
    from pushlab import plots

    has_columns(tasks, "name", "abilities", "random", "best", what="the table of tasks")
    columns = ("agent", "task", "seed", "score", "normalised")
    has_columns(scores, *columns, what="the table of scores")
    names = scores["agent"].unique() if agent is None else [agent]
    demand(len(names) == 1, f"a report is about one agent; got {', '.join(names)}")
    agent = names[0]
    others = scores[:0] if reference is None else reference
    lowest = pd.concat([scores, others]).groupby("task")["normalised"].min()
    lowest = lowest.clip(upper=0.0)
    own = count_failed(scores, tasks, agent, lowest, failed)
    parts = [own]
    for name, rows in others.groupby("agent", sort=False):
        label = f"{name} (reference)" if name == agent else name
        parts.append(count_failed(rows, tasks, label, lowest))
    runs = pd.concat(parts, ignore_index=True)
    missing = _missing(own, tasks, unfit, failed)
    numbers = {"agent": agent, "runs": runs, "missing": missing}
    if len(own):
        numbers |= _statistics(runs, agent)
        numbers["abilities"] = plots.ability_table(runs, tasks, agent)
        numbers["by_task"] = plots.task_means(runs, "score").merge(
            plots.task_means(runs),
            on=["agent", "task", "runs", "failed"],
            suffixes=("", "_normalised"),
        )
    return numbers


def count_failed(
    scores: pd.DataFrame,
    tasks: pd.DataFrame,
    agent: str,
    lowest: Mapping[str, float],
    failed: pd.DataFrame = FAILED,
) -> pd.DataFrame:
    """Return all runs of an agent's tasks: task, seed, score, normalised, agent, failed.

    The tasks are those with a finished or failed run, the seeds those of all runs. A run without a score has the
    normalised score that `lowest` holds for its task, or 0.
    """
    scores = scores[np.isfinite(scores["normalised"].astype(float))]
    tried = {*scores["task"], *failed["task"]}
    for name in tried:
        one_of("task", name, tasks["name"])
    names = [name for name in tasks["name"] if name in tried]
    seeds = sorted({*scores["seed"], *failed["seed"]})
    every = pd.MultiIndex.from_product([names, seeds], names=["task", "seed"])
    scores = scores.set_index(["task", "seed"])[["score", "normalised"]]
    runs = scores.reindex(every).reset_index()
    is_lost = runs["score"].isna()
    worst = runs["task"].map(lowest).fillna(0.0)
    scale = tasks.set_index("name")
    random = runs["task"].map(scale["random"])
    best = runs["task"].map(scale["best"])
    runs["score"] = runs["score"].fillna(random + worst * (best - random))
    runs["normalised"] = runs["normalised"].fillna(worst)
    return runs.assign(agent=agent, failed=is_lost)


def _statistics(runs, agent):
    """Return the entries `summary`, `against` and `profiles` of a report."""
    grids = {}
    for name, rows in runs.groupby("agent", sort=False):
        grids |= estimate.score_matrices(rows, "normalised")
    ours = grids.pop(agent)
    middle = estimate.interquartile_mean
    against = []
    beside = {}
    for name, theirs in grids.items():
        both = ours.columns.intersection(theirs.columns)
        if len(both):
            pair = (ours[both], theirs[both])
            better = _interval(estimate.probability_of_improvement, *pair)
            intervals = (*(_interval(middle, grid) for grid in pair), better)
            against.append((name, len(both), *intervals))
        if len(both) == len(ours.columns) and len(theirs) > 1:
            beside[name] = theirs[both]
    against.sort(key=lambda row: -row[1])
    profiles = None
    if len(ours) > 1:
        highest = sorted(beside, key=lambda name: -middle(beside[name]))
        drawn = {agent: ours} | {name: beside[name] for name in highest[:MOST_BESIDE]}
        thresholds = np.linspace(LOWEST, HIGHEST, 36)
        profiles = estimate.profile_table(drawn, thresholds)
    return {
        "summary": {
            "interquartile mean": _interval(middle, ours),
            "optimality gap": _interval(estimate.optimality_gap, ours),
        },
        "against": pd.DataFrame(against, columns=AGAINST_COLUMNS),
        "profiles": profiles,
    }


def _interval(statistic, *grids):
    """Return a statistic and its interval, whose ends are NaN if there is one run only."""
    if min(map(len, grids)) > 1:
        return estimate.stratified_interval(grids[0], statistic, *grids[1:])
    return estimate.Interval(statistic(*grids), np.nan, np.nan)


def _missing(own, tasks, unfit, failed):
    """Return a table of tasks and runs that were not done, with reasons."""
    lost = own[own["failed"]].assign(reason="there is no score")
    known = {*own["task"], *unfit["task"]}
    untried = [name for name in tasks["name"] if name not in known]
    untried = pd.DataFrame({"task": untried, "reason": "it was not run"})
    parts = [unfit.assign(seed="all"), failed, lost, untried.assign(seed="all")]
    missing = pd.concat([part[list(FAILED)] for part in parts])
    return missing.drop_duplicates(["task", "seed"], ignore_index=True)


def packages() -> dict[str, str]:
    """Return the versions of Python, pushlab and the installed packages that scores depend on."""
    found = {"python": platform.python_version(), "pushlab": __version__}
    for name in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


# ---------------------------------------------------------------- the page


def _pictures(numbers, tasks):
    from pushlab import plots

    if "summary" not in numbers:
        return {}
    agent = numbers["agent"]
    pictures = {
        "overview": plots.task_scores(numbers["runs"], tasks, agent),
        "abilities": plots.ability_radar(numbers["abilities"], agent),
    }
    profiles = numbers["profiles"]
    if profiles is not None:
        pictures["profiles"] = plots.performance_profiles(profiles, unit="normalised")
    return pictures


QUICK_NOTE = """
This is the quick version, with less training and fewer runs. Its scores don't compare with those of the full one.
"""
OVERVIEW = """
A normalised score is 0 for random play and 1 for the best known score of a task. The interquartile mean is over the
middle half of all runs. The optimality gap is how far runs fall short of 1; less is better. Intervals are at 95 % and
describe new runs of the same tasks: Student's for the mean of a task, the stratified bootstrap for everything else.

## All tasks

![Normalised scores by task](overview.png)

A dot is a run, a cross one that failed and counts as the lowest known, a grey tick the mean of another agent. An arrow
at the edge stands for a mean beyond it.
"""
PROFILES = """
## How many runs reach a score

![Shares of runs above a score](profiles.png)

The height of a line is the share of runs, of all tasks together, that score more than the number below. A line above
another is better there. The picture compares the agent with at most four others that did all of its tasks.
"""
ABILITIES = """
## By ability

![Interquartile means by ability](abilities.png)

Read each spoke by itself: the dot is the interquartile mean over the tasks that require this ability, from random play
(inner ring) to the best known (outer ring). The area depends on the order of the spokes and means nothing. Grey: other
agents that did all of these tasks.
"""
AGAINST = """
## Beside other agents

Each row is over the tasks that both agents did, so rows don't compare with each other. With fewer than five runs per
task the intervals are too narrow, especially those of the probability.
"""


def _page(numbers, tasks, version, command):
    parts = [f"# {_cell(numbers['agent'])}, {version}"]
    if version.endswith("-quick"):
        parts.append(QUICK_NOTE)
    if "summary" in numbers:
        parts += _results(numbers, tasks)
    else:
        parts.append(f"None of the {len(tasks)} tasks was done.")
    missing = numbers["missing"]
    if len(missing):
        parts += ["## What was not done", _table(missing, missing.to_numpy())]
    versions = ", ".join(f"{name} {number}" for name, number in packages().items())
    parts += ["## Made with", versions]
    if command:
        parts.append(f"    {command}")
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _results(numbers, tasks):
    """Return the sections about an agent with at least one run."""
    agent = numbers["agent"]
    middle, gap = map(_words, numbers["summary"].values())
    means = numbers["by_task"]
    means = tasks.merge(means[means["agent"] == agent], left_on="name", right_on="task")
    rows = []
    for row in means.itertuples():
        scale = (row.random, row.best)
        score = _words((row.mean, row.low, row.high), *scale)
        normalised = (row.mean_normalised, row.low_normalised, row.high_normalised)
        ends = [score_words(end, *scale) for end in scale]
        rows.append((row.task, score, _words(normalised), *ends, row.runs, row.failed))
    header = ("task", "score", "normalised", "random", "best known", "runs", "failed")
    parts = [
        f"Interquartile mean {middle} and optimality gap {gap}, over {len(means)} of {len(tasks)} tasks.",
        OVERVIEW,
        _table(header, rows),
    ]
    if numbers["profiles"] is not None:
        parts.append(PROFILES)
    rows = []
    for row in numbers["abilities"].itertuples():
        if row.agent == agent:
            value = _words((row.value, row.low, row.high))
            rows.append((row.ability, value, f"{row.tasks} of {row.of}"))
    parts += [ABILITIES, _table(("ability", "interquartile mean", "tasks"), rows)]
    if len(numbers["against"]):
        rows = []
        for name, count, *intervals in numbers["against"].itertuples(index=False):
            rows.append((name, count, *map(_words, intervals)))
        header = ("other agent", "tasks of both", "interquartile mean")
        header += ("the other's", "probability that a run is better than the other's")
        parts += [AGAINST, _table(header, rows)]
    return parts


def _words(interval, *scale):
    """Return a value and its interval as text, with the digits that a scale from random to best needs."""
    if pd.isna(interval[0]):
        return "not done"
    value, low, high = (score_words(number, *scale) for number in interval)
    return f"{value} [{low}, {high}]" if pd.notna(interval[1]) else value


def _table(header: Iterable, rows: Iterable[Sequence]) -> str:
    """Return a table in Markdown.

    >>> print(_table(["task", "score"], [("a|b", 1)]))
    | task | score |
    | --- | --- |
    | a\\|b | 1 |
    """
    header = list(header)
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(value):
    """Return a value as text that Markdown shows as it is."""
    return re.sub(r"([|<`])", r"\\\1", " ".join(str(value).split()))
