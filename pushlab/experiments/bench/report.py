"""The report of a benchmark: a page to read, its numbers as JSON, its pictures as PNG.

Which tasks a number is over is part of the number. An agent is held against another over the tasks that both did and
no others, and a run that failed counts as the lowest known of its task, or as random play where that is lower, so that
nobody gains by doing less. (The AutoML benchmark fills failed runs with a constant predictor's scores: Gijsbers et al.
2024, Journal of Machine Learning Research 25(101); some learners here do worse than that.)
"""

import platform
import re
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pushlab import __version__
from pushlab.ground._old_files import write_together
from pushlab.ground.arguments import demand, has_columns, has_rows
from pushlab.ground.files import json_text
from pushlab.metrics import estimate
from pushlab.plots.benchmark import HIGHEST, LOWEST

PACKAGES = (
    "numpy",
    "scipy",
    "pandas",
    "scikit-learn",
    "numba",
    "gymnasium",
    "torch",
    "stable_baselines3",
    "sb3_contrib",
)
TABLES = "summary", "against", "profiles", "abilities", "by_task"
MOST_BESIDE = 4  # other agents in the picture of profiles
UNFIT, FAILED = (
    pd.DataFrame(columns=["task", "reason"]),
    pd.DataFrame(columns=["task", "seed", "reason"]),
)


def write_report(
    folder: Path | str,
    scores: pd.DataFrame,
    tasks: pd.DataFrame,
    reference: pd.DataFrame | None = None,
    version: str = "pushlab-bench-1",
    unfit: pd.DataFrame = UNFIT,
    failed: pd.DataFrame = FAILED,
    agent: str | None = None,
) -> Path:
    """Writes report.html, report.json and the PNGs into a folder, all or none of them; returns the page's path.

    folder     made where there is none; pictures that an earlier report left there, and this one lacks, go
    scores     of one agent, a row a run: agent, task, seed, score, normalised
    tasks      a row a task: name, system, abilities (list, or words with blanks between), unit, random, best, best_from
    reference  scores of other agents, of the same form; one of the agent's own name is called "name (reference)"
    version    of the benchmark; one that ends in "-quick" is said to be another table of scores
    unfit      tasks that do not fit the agent: task, reason
    failed     runs that failed: task, seed, reason; see `count_failed`
    agent      its name, where it may have no score at all

    Raises ValueError for tables that are not of this form, OSError where nothing can be written.
    """
    told = report(scores, tasks, reference, version, unfit, failed, agent)
    pictures, folder = report_pictures(told), Path(folder)
    page = _page(told, pictures)
    files = {f"{name}.png": data for name, data in pictures.items()}
    files |= {"report.json": json_text(told).encode(), "report.html": page.encode()}
    try:
        write_together({folder / name: data for name, data in files.items()})
        for left in {folder / "profiles.png", *folder.glob("task-*.png")} - {
            folder / name for name in files
        }:
            left.unlink(missing_ok=True)
    except OSError as error:
        raise OSError(
            f"the report could not be written to {folder}: {error}"
        ) from error
    return folder / "report.html"


# ---------------------------------------------------------------- numbers


def report(
    scores: pd.DataFrame,
    tasks: pd.DataFrame,
    reference: pd.DataFrame | None = None,
    version: str = "pushlab-bench-1",
    unfit: pd.DataFrame = UNFIT,
    failed: pd.DataFrame = FAILED,
    agent: str | None = None,
) -> dict[str, Any]:
    """All numbers of the report, as JSON holds them: tables are lists of rows, None is what is not known.

    version, agent, packages (name: version)
    summary    statistic, value, low, high, tasks, runs: of the agent's normalised scores
    against    agent, tasks (that both did); over those the interquartile mean of either with its interval (ours,
               theirs) and the probability that a run of ours beats one of theirs (better)
    profiles   see `pushlab.metrics.estimate.profile_table`: of the agent and of the others, at most four, the highest
               first, that did all of its tasks
    abilities  see `pushlab.plots.ability_table`
    by_task    agent, task; mean, low, high in the task's unit and normalised; runs, failed
    missing    task, seed, reason: what was not done
    tasks      as they were given; `runs` all that is counted: agent, task, seed, score, normalised, failed

    The arguments are those of `write_report`. Without a run of the agent the first five tables are empty.
    """
    from pushlab.plots import ability_table, task_means

    has_rows(
        tasks,
        "name",
        "system",
        "abilities",
        "unit",
        "random",
        "best",
        "best_from",
        what="the table of tasks",
    )
    demand(
        (tasks["best"] > tasks["random"]).all(),
        "the best score of a task is above its random one",
    )
    has_columns(
        scores,
        "agent",
        "task",
        "seed",
        "score",
        "normalised",
        what="the table of scores",
    )
    has_columns(unfit, *UNFIT, what="the table of what does not fit")
    has_columns(failed, *FAILED, what="the table of what failed")
    names = [agent] if agent is not None else list(scores["agent"].unique())
    demand(
        len(names) == 1,
        f"a report is of one agent; the table of scores has {len(names)}",
    )
    others = scores[:0] if reference is None else reference
    lowest = (
        pd.concat([scores, others]).groupby("task")["normalised"].min().clip(upper=0.0)
    )
    agent, parts = names[0], [count_failed(scores, tasks, names[0], lowest, failed)]
    for name, own in others.groupby("agent", sort=False):
        parts.append(
            count_failed(
                own, tasks, f"{name} (reference)" if name == agent else name, lowest
            )
        )
    runs, tables = pd.concat(parts, ignore_index=True), dict.fromkeys(TABLES)
    if len(parts[0]):
        by_task = task_means(runs, "score").merge(
            task_means(runs),
            on=["agent", "task", "runs", "failed"],
            suffixes=("", "_normalised"),
        )
        tables = {
            **_statistics(runs, agent),
            "abilities": ability_table(runs, tasks, agent),
            "by_task": by_task,
        }
    tables |= {
        "missing": _missing(parts[0], tasks, unfit, failed),
        "tasks": tasks,
        "runs": runs,
    }
    return {
        "version": version,
        "agent": agent,
        "packages": packages(),
        **{name: _rows(table) for name, table in tables.items()},
    }


def count_failed(
    scores: pd.DataFrame,
    tasks: pd.DataFrame,
    agent: str,
    lowest: Mapping[str, float],
    failed: pd.DataFrame = FAILED,
) -> pd.DataFrame:
    """All runs of one agent's tasks, a DataFrame: agent, task, seed, score, normalised, failed.

    A run that failed, or of which there is no score, has the normalised score that `lowest` gives its task, or 0. The
    agent's tasks are those of which a run finished or failed, its seeds those of all its runs.
    """
    scores = scores[np.isfinite(scores["normalised"].astype(float))]
    tried, seeds = (
        {*scores["task"], *failed["task"]},
        sorted({*scores["seed"], *failed["seed"]}),
    )
    if strange := tried - {*tasks["name"]}:
        raise ValueError(
            f"there is no task {min(strange)!r}; there are {', '.join(tasks['name'])}"
        )
    every = (
        tasks.loc[tasks["name"].isin(tried), ["name", "random", "best"]]
        .rename(columns={"name": "task"})
        .merge(pd.DataFrame({"seed": np.array(seeds, int)}), how="cross")
    )
    runs = every.merge(
        scores[["task", "seed", "score", "normalised"]], how="left", on=["task", "seed"]
    )
    lost, worst = (
        runs["score"].isna(),
        np.array([lowest.get(task, 0.0) for task in runs["task"]], float),
    )
    return pd.DataFrame(
        {
            "agent": agent,
            "task": runs["task"],
            "seed": runs["seed"],
            "score": runs["score"].where(
                ~lost, runs["random"] + worst * (runs["best"] - runs["random"])
            ),
            "normalised": runs["normalised"].where(~lost, worst),
            "failed": lost,
        }
    )


def _statistics(runs, agent):
    """The tables `summary`, `against` and `profiles`."""
    grids = {
        name: estimate.score_matrices(own, "normalised")[name]
        for name, own in runs.groupby("agent", sort=False)
    }
    ours, middle, rows = grids.pop(agent), estimate.interquartile_mean, []
    summary = [
        {
            "statistic": name,
            **_interval("value", statistic, ours),
            "tasks": ours.shape[1],
            "runs": len(ours),
        }
        for name, statistic in (
            ("interquartile mean", middle),
            ("optimality gap", estimate.optimality_gap),
        )
    ]
    for name, grid in grids.items():
        both = [task for task in ours if task in grid]
        if both:
            pair = ours[both], grid[both]
            rows.append(
                {
                    "agent": name,
                    "tasks": len(both),
                    **_interval("ours", middle, pair[0]),
                    **_interval("theirs", middle, pair[1]),
                    **_interval("better", estimate.probability_of_improvement, *pair),
                }
            )
    beside = sorted(
        (name for name, grid in grids.items() if {*ours} <= {*grid} and len(grid) > 1),
        key=lambda name: -middle(grids[name][ours.columns]),
    )[:MOST_BESIDE]
    drawn = {agent: ours, **{name: grids[name][ours.columns] for name in beside}}
    profiles = (
        estimate.profile_table(drawn, np.linspace(LOWEST, HIGHEST, 36))
        if len(ours) > 1
        else ()
    )
    rows.sort(key=lambda row: -row["tasks"])
    return {"summary": summary, "against": rows, "profiles": profiles}


def _interval(name, statistic, *grids):
    """Three columns: the statistic and its interval, which is unknown where there is one run only."""
    several = min(map(len, grids)) > 1
    ends = (
        estimate.stratified_interval(grids[0], statistic, *grids[1:])
        if several
        else (statistic(*grids), np.nan, np.nan)
    )
    return dict(zip((name, f"{name}_low", f"{name}_high"), ends))


def _missing(own, tasks, unfit, failed):
    """What was not done, with the reason: task, seed (None for all), reason."""
    known = {*zip(failed["task"], failed["seed"])}
    rows = [
        (row.task, None, row.reason)
        for row in unfit.drop_duplicates("task").itertuples()
    ]
    rows += [(row.task, row.seed, row.reason) for row in failed.itertuples()]
    rows += [
        (row.task, row.seed, "there is no score")
        for row in own[own["failed"]].itertuples()
        if (row.task, row.seed) not in known
    ]
    rows += [
        (name, None, "it was not run")
        for name in tasks["name"]
        if name not in {*own["task"], *unfit["task"]}
    ]
    return pd.DataFrame(rows, columns=["task", "seed", "reason"], dtype=object)


def packages() -> dict[str, str]:
    """Versions of Python and of the packages that scores come from, {name: version}; those that are installed."""
    found = {"python": platform.python_version(), "pushlab": __version__}
    for name in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _rows(table):
    """A table as JSON holds it."""
    table = pd.DataFrame(table).astype(object)
    return table.where(table.notna(), None).to_dict("records")


# ---------------------------------------------------------------- pictures and the page


def report_pictures(told: Mapping[str, Any]) -> dict[str, bytes]:
    """The pictures of a `report` as PNG: overview, profiles, abilities, and `task-` with the name of each task."""
    from pushlab import plots

    runs, tasks, agent = (
        pd.DataFrame(told["runs"]),
        pd.DataFrame(told["tasks"]),
        told["agent"],
    )
    if not told["summary"]:
        return {}
    spokes = pd.DataFrame(told["abilities"]).astype(
        {"value": float, "low": float, "high": float}
    )
    made = {
        "overview": plots.task_scores(runs, tasks, agent),
        "abilities": plots.ability_radar(spokes, agent),
    }
    if told["profiles"]:
        made["profiles"] = plots.performance_profiles(
            pd.DataFrame(told["profiles"]), unit="normalised"
        )
    for _, task in tasks[
        tasks["name"].isin(runs.loc[runs["agent"] == agent, "task"])
    ].iterrows():
        made[_picture_of(task["name"])] = plots.task_runs(runs, task, agent)
    return {name: plots.png(figure) for name, figure in made.items()}


def _picture_of(task):
    return "task-" + re.sub(r"[^\w.-]+", "-", task)


def _page(told, pictures):
    """The page: one file, in which every picture is, and every word is text and nothing else."""
    from jinja2 import Environment, StrictUndefined

    from pushlab.plots.benchmark import score_words
    from pushlab.plots.words import listed

    page = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    page.filters |= {
        "number": lambda value, *ends: (
            "unknown" if value is None else score_words(value, *ends)
        ),
        "words": lambda some: listed(some.split() if isinstance(some, str) else some),
        "picture": _picture_of,
    }
    template = (
        resources.files("pushlab.experiments.bench")
        .joinpath("report.html")
        .read_text(encoding="utf-8")
    )
    return page.from_string(template).render(
        **told,
        images={
            name: b64encode(data).decode("ascii") for name, data in pictures.items()
        },
    )
