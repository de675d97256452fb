"""The report of a benchmark: a page in Markdown with two pictures.

Each number states the tasks that it covers. Two agents are compared over the tasks that both were scored on. A failed
run counts as the lowest known score of its task, or as random play if that is lower, so no agent gains by failing. (The
AutoML benchmark fills failed runs with a constant predictor's scores: Gijsbers et al. 2024, Journal of Machine Learning
Research 25(101). Some learners here do worse than that.)
"""

import platform
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import pandas as pd

from pushlab.experiments.bench.tasks import QUICK, read_reference, task_table
from pushlab.metrics import estimate
from pushlab.plots.scores import format_score
from pushlab.utils.files import write_bytes, write_text

PACKAGES = [
    "pushlab",
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "gymnasium",
    "torch",
    "stable_baselines3",
    "sb3_contrib",
]

QUICK_NOTE = """
This is the quick version, with less training and fewer runs. Don't compare its scores with those of the full version.
"""
OVERVIEW = """
A normalised score is 0 for random play and 1 for the best known score of a task. The interquartile mean is the mean of
the middle half of all runs. The optimality gap is the mean shortfall from 1; less is better. Intervals are 95 %
intervals for new runs of the same tasks: Student's t for the mean of a task, otherwise the stratified bootstrap.

## All tasks

![Normalised scores by task](overview.png)

Dot: a run. Cross: a failed run, which counts as the lowest known score. Grey tick: the mean of another agent. Scores
outside the axis are drawn at its end.
"""
ABILITIES = """
## By ability

![Interquartile means by ability](abilities.png)

Read each spoke by itself: the dot is the interquartile mean over the tasks that require this ability, from random play
(inner ring) to the best known score (outer ring). The area depends on the order of the spokes and means nothing. Grey:
other agents with scores on all of these tasks.
"""
COMPARISON = """
## Comparison with other agents

Each row covers the tasks that both agents were scored on, so rows don't compare with each other. With fewer than five
runs per task the intervals are too narrow, especially those of the probability of a better run.
"""


def write_report(
    folder: Path | str,
    tables: Mapping[str, pd.DataFrame],
    agent: str,
    version: str,
) -> Path:
    """Write report.md and its pictures to a folder; return the path of report.md.

    Args:
        folder: Folder, created if it doesn't exist.
        tables: Tables that `run_bench` returned.
        agent: Label of the agent. If pushlab ships scores of this agent, they aren't used.
        version: Version of the benchmark.
    """
    own = {name: table[table["agent"] == agent] for name, table in tables.items()}
    tasks = task_table(version)
    reference = read_reference(version)
    lowest = pd.concat([own["scores"], reference]).groupby("task")["normalised"].min()
    runs = _fill_failed(own["scores"], own["failed"], tasks, lowest.clip(upper=0.0))
    parts = [f"# {agent}, {version}"]
    if version == QUICK:
        parts.append(QUICK_NOTE)
    if len(runs):
        others = reference[reference["agent"] != agent]
        runs = pd.concat([runs, others.assign(failed=False)])
        parts += _results(Path(folder), runs, tasks, agent)
    else:
        parts.append(f"None of the {len(tasks)} tasks has a score.")
    missing = pd.concat([own["unfit"].assign(seed="all"), own["failed"]])
    if len(missing):
        header = ["task", "seed", "reason"]
        table = markdown_table(header, missing[header].to_numpy())
        parts += ["## Missing scores", table]
    parts += ["## Versions", _versions()]
    text = "\n\n".join(part.strip("\n") for part in parts)
    return write_text(Path(folder) / "report.md", text + "\n")


def _fill_failed(scores, failed, tasks, lowest):
    """Return all runs of an agent: agent, task, seed, score, normalised, failed.

    Failed runs get the normalised score of their task in `lowest`.
    """
    runs = pd.concat([scores, failed]).merge(tasks, left_on="task", right_on="name")
    has_failed = runs["normalised"].isna()
    fill = runs["task"].map(lowest)
    runs["normalised"] = runs["normalised"].mask(has_failed, fill)
    score = runs["random"] + fill * (runs["best"] - runs["random"])
    runs["score"] = runs["score"].mask(has_failed, score)
    columns = ["agent", "task", "seed", "score", "normalised"]
    return runs[columns].assign(failed=has_failed)


def _results(folder, runs, tasks, agent):
    """Write the pictures; return the sections on the agent's scores."""
    from pushlab import plots

    abilities = plots.ability_table(runs, tasks, agent)
    pictures = {
        "overview": plots.task_scores(runs, tasks, agent),
        "abilities": plots.ability_scores(abilities, agent),
    }
    for name, picture in pictures.items():
        write_bytes(folder / f"{name}.png", plots.png(picture))

    own = runs[runs["agent"] == agent]
    means = plots.task_means(own, "score").merge(plots.task_means(own), on="task")
    rows = []
    for mean in means.merge(tasks, left_on="task", right_on="name").itertuples():
        interval = (mean.mean_x, mean.low_x, mean.high_x)
        score = _format(interval, mean.random, mean.best)
        normalised = _format((mean.mean_y, mean.low_y, mean.high_y))
        rows.append((mean.task, score, normalised, mean.runs_x, mean.failed_x))
    header = ("task", "score", "normalised", "runs", "failed")
    summary, comparisons = _comparisons(runs, agent)
    columns = [
        "other agent",
        "tasks",
        "interquartile mean",
        "the other's",
        "probability of a better run",
    ]
    return [
        f"{summary}, over {len(means)} of {len(tasks)} tasks.",
        OVERVIEW,
        markdown_table(header, rows),
        ABILITIES,
        COMPARISON,
        markdown_table(columns, comparisons),
    ]


def _comparisons(runs, agent):
    """Return a sentence about the agent, and one row per other agent, those with most tasks first."""
    matrices = {}
    for _, rows in runs.groupby("agent", sort=False):
        matrices |= estimate.score_matrices(rows, "normalised")
    own = matrices.pop(agent)
    mean = _interval(estimate.interquartile_mean, own)
    gap = _interval(estimate.optimality_gap, own)
    summary = f"Interquartile mean {mean}, optimality gap {gap}"
    comparisons = []
    for name, other in matrices.items():
        tasks = own.columns.intersection(other.columns)
        if len(tasks):
            pair = (own[tasks], other[tasks])
            better = _interval(estimate.probability_of_improvement, *pair)
            means = [_interval(estimate.interquartile_mean, scores) for scores in pair]
            comparisons.append((name, len(tasks), *means, better))
    return summary, sorted(comparisons, key=lambda row: -row[1])


def _versions():
    """Return the versions of Python and of the installed packages that affect scores."""
    versions = [f"python {platform.python_version()}"]
    for name in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions.append(f"{name} {metadata.version(name)}")
    return ", ".join(versions)


def _interval(statistic, *scores):
    """Return a statistic of score matrices as text, with its interval if there are several runs."""
    if min(map(len, scores)) == 1:
        return format_score(statistic(*scores))
    return _format(estimate.stratified_interval(scores[0], statistic, *scores[1:]))


def _format(interval, *scale):
    """Return a value and its interval as text, with the digits that the scale (random, best) needs."""
    value, *ends = [format_score(x, *scale) for x in interval if pd.notna(x)]
    return f"{value} [{', '.join(ends)}]" if ends else value


def markdown_table(header: Sequence[str], rows: Iterable[Sequence]) -> str:
    r"""Return a table in Markdown.

    >>> print(markdown_table(["task", "score"], [("a|b", 1)]))
    | task | score |
    | --- | --- |
    | a\|b | 1 |
    """
    lines = [header, ["---"] * len(header), *rows]
    texts = [[str(cell).replace("|", "\\|") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in texts)
