"""The report of a benchmark: a page in HTML, which needs no other file.

Each number states the tasks that it covers. Two agents are compared over the tasks that both were scored on. A failed
run counts as the lowest known score of its task, or as random play if that is lower, so no agent gains by failing. (The
AutoML benchmark fills failed runs with a constant predictor's scores: Gijsbers et al. 2024, Journal of Machine Learning
Research 25(101). Some learners here do worse than that.)

The intervals of a column hold together: Bonferroni's correction computes each of k at 1 - 0.05 / k. Only they decide
whether a score is surely above random play.
"""

import platform
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import pandas as pd

from pushlab.experiments.bench.tasks import read_reference, task_table
from pushlab.metrics import estimate
from pushlab.plots.scores import format_score
from pushlab.utils.files import read_text, write_text

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
TEMPLATE = Path(__file__).with_name("report.html")


def write_report(
    folder: Path | str,
    tables: Mapping[str, pd.DataFrame],
    agent: str,
    version: str,
) -> Path:
    """Write report.html to a folder; return its path.

    Args:
        folder: Folder, created if it doesn't exist.
        tables: Tables that `run_bench` returned.
        agent: Label of the agent. If pushlab ships scores of the agents in `tables`, they aren't used.
        version: Version of the benchmark.
    """
    from jinja2 import Environment

    tasks = task_table(version)
    reference = read_reference(version)
    scores = tables["scores"]
    failed = tables["failed"]
    unfit = tables["unfit"].assign(seed="all")
    lowest = pd.concat([scores, reference]).groupby("task")["normalised"].min()
    runs = _fill_failed(scores, failed, tasks, lowest.clip(upper=0.0))
    missing = pd.concat([unfit, failed]).query("agent == @agent")
    page = {
        "agent": agent,
        "version": version,
        "n_tasks": len(tasks),
        "missing": missing[["task", "seed", "reason"]].values.tolist(),
        "versions": _versions(),
    }
    if agent in runs["agent"].values:
        is_shipped = ~reference["agent"].isin(runs["agent"])
        page |= _results(pd.concat([runs, reference[is_shipped]]), tasks, agent)
    template = Environment(autoescape=True, trim_blocks=True).from_string(
        read_text(TEMPLATE)
    )
    return write_text(Path(folder) / "report.html", template.render(page))


def _fill_failed(scores, failed, tasks, lowest):
    """Return all runs: agent, task, seed, normalised, failed.

    Failed runs get the normalised score of their task in `lowest`.
    """
    runs = pd.concat([scores, failed]).merge(tasks, left_on="task", right_on="name")
    has_failed = runs["normalised"].isna()
    fill = runs["task"].map(lowest)
    runs["normalised"] = runs["normalised"].mask(has_failed, fill)
    return runs[["agent", "task", "seed", "normalised"]].assign(failed=has_failed)


def _results(runs, tasks, agent):
    """Return the page's entries on the agent's scores."""
    from pushlab import plots

    own = runs[runs["agent"] == agent]
    level = _level_of_each(own["task"].nunique())
    means = plots.task_means(own, level=level)
    rows = []
    for mean in means.merge(tasks, left_on="task", right_on="name").itertuples():
        score = mean.random + mean.mean * (mean.best - mean.random)
        verdict = ""
        if mean.low > 0:
            verdict = "surely above"
        elif mean.high < 0:
            verdict = "surely below"
        rows.append(
            {
                "name": mean.task,
                "score": format_score(score, mean.random, mean.best),
                "normalised": _format((mean.mean, mean.low, mean.high)),
                "verdict": verdict,
                "runs": mean.runs,
                "failed": mean.failed,
            }
        )
    pictures = [plots.task_scores(runs, tasks, agent, level=level)]
    if tasks["abilities"].map(len).all():
        abilities = plots.ability_table(runs, tasks, agent)
        pictures.append(plots.ability_scores(abilities, agent))
    return {
        "tasks": rows,
        "pictures": [
            (figure.get_label(), b64encode(plots.png(figure, 2)).decode())
            for figure in pictures
        ],
        **_comparisons(runs, agent),
    }


def _comparisons(runs, agent):
    """Return the agent's mean and gap, and one row per other agent, those with most tasks first."""
    matrices = {}
    for _, rows in runs.groupby("agent", sort=False):
        matrices |= estimate.score_matrices(rows, "normalised")
    own = matrices.pop(agent)
    pairs = {}
    for name, other in matrices.items():
        tasks = own.columns.intersection(other.columns)
        if len(tasks):
            pairs[name] = (own[tasks], other[tasks])
    level = _level_of_each(len(pairs) or 1)
    rows = []
    for name, pair in pairs.items():
        means = [
            _interval(level, estimate.interquartile_mean, scores) for scores in pair
        ]
        better = _interval(level, estimate.probability_of_improvement, *pair)
        rows.append((name, pair[0].shape[1], *means, better))
    return {
        "mean": _interval(0.95, estimate.interquartile_mean, own),
        "gap": _interval(0.95, estimate.optimality_gap, own),
        "others": sorted(rows, key=lambda row: -row[1]),
    }


def _level_of_each(count):
    """Return the coverage of each of `count` intervals that hold together with 95 %."""
    return 1 - 0.05 / count


def _versions():
    """Return the versions of Python and of the installed packages that affect scores."""
    versions = [f"python {platform.python_version()}"]
    for name in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions.append(f"{name} {metadata.version(name)}")
    return ", ".join(versions)


def _interval(level, statistic, *scores):
    """Return a statistic of score matrices as text, with its interval if there are several runs."""
    if min(map(len, scores)) == 1:
        return format_score(statistic(*scores))
    interval = estimate.stratified_interval(
        scores[0], statistic, *scores[1:], level=level
    )
    return _format(interval)


def _format(interval):
    """Return a value and its interval as text."""
    value, *ends = [format_score(x) for x in interval if pd.notna(x)]
    return f"{value} [{', '.join(ends)}]" if ends else value
