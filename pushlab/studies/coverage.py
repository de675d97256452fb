"""How often the intervals of `pushlab.metrics.estimate` hold the truth when runs are few: many simulated studies each.

    python -m pushlab.studies.coverage --out data/studies/coverage.csv

A study draws its runs from a known distribution and asks whether the interval holds what is true of it; of a test,
whether it is silent where nothing differs; of power, whether so many runs find a difference. Tasks differ in centre and
spread, as those of a benchmark do.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from pushlab.experiments.cells import Cell, run_cells
from pushlab.ground.commands import run, say
from pushlab.metrics import estimate
from pushlab.studies import tables

KINDS, RUNS, TASKS, STUDIES = (
    ("normal", "skewed", "two humps", "heavy tails"),
    (5, 10, 20),
    (1, 8),
    1000,
)
FEW_RUNS, FEW_TASKS = (2, 3, 4), (1, 3)
DAYS, OTHERS = (
    20,
    5,
)  # days that all runs of a grid share; samples whose intervals hold together
SHIFT, SHARE, POWER = (
    0.5,
    0.2,
    0.8,
)  # how much better ours are, in spreads; a true share; what is to be found
FAR = {
    0.92: 1.987,
    0.98: 2.904,
}  # by how much better normal runs of ours are that win so often
TAIL = 0.1  # share of runs above the threshold of a profile
LEVELS = (
    np.arange(100_000) + 0.5
) / 100_000  # of the quantiles that stand for a distribution


class Source:
    """Where runs come from: a distribution with mean 0 and variance 1, and its own chance."""

    def __init__(self, kind: str, runs: int, tasks: int = 1):
        from scipy.stats import beta, lognorm, norm, t

        self.known = dict(zip(KINDS, (norm, lognorm(1.0), beta(0.3, 0.3), t(3))))[kind]
        self.runs, self.rng = runs, np.random.default_rng([runs, tasks, *kind.encode()])
        self.centre, self.spread = (
            np.linspace(0.6, 0.2, tasks),
            np.linspace(0.3, 0.1, tasks),
        )

    def quantiles(self, levels: float | np.ndarray) -> np.ndarray:
        return (self.known.ppf(levels) - self.known.mean()) / self.known.std()

    def draw(self, *shape: int) -> np.ndarray:
        """Independent values of a shape; of none, one a run."""
        return self.quantiles(self.rng.random(shape or self.runs))

    def scores(self, shift: float = 0.0) -> np.ndarray:
        """Scores (runs, tasks), higher by `shift` times their spread."""
        return self.centre + self.spread * (
            shift + self.draw(self.runs, len(self.centre))
        )

    def grid(self, rows: float = 1.0, others: float = 1.0) -> np.ndarray:
        """A grid (runs, days) in which rows, and columns and the rest, vary so much."""
        return rows * self.draw(self.runs, 1) + others * (
            self.draw(1, DAYS) + self.draw(self.runs, DAYS)
        )

    def times(self) -> tuple[np.ndarray, float]:
        """Times of which three in ten are not reached, and how long each was watched."""
        times, watched = np.exp(self.draw()), float(np.exp(self.quantiles(0.7)))
        return np.where(times > watched, np.inf, times), watched


def _difference(some):
    """The difference that so many runs find with a chance of POWER."""
    from scipy.optimize import brentq

    return brentq(
        lambda difference: estimate.power(difference, 1.0, some.runs) - POWER, 0.1, 5
    )


def _silent(some, paired):
    return (
        estimate.permutation_test(
            some.draw(), some.draw(), paired, resamples=999
        ).p_value
        > 0.05
    )


def _interval_of(statistic, some, true):
    return estimate.stratified_interval(some.scores(), statistic)


def _true_of(statistic, some):
    return statistic(some.centre + some.spread * some.quantiles(LEVELS)[:, None])


def _improvement(some, shift=SHIFT):
    values = some.quantiles(LEVELS)
    return np.searchsorted(values, values + shift).mean() / len(values)


def _improved(some, true, shift=SHIFT):
    return estimate.stratified_interval(
        some.scores(shift), estimate.probability_of_improvement, some.scores()
    )


def _lucky(some, true):
    """The mean of scores of which half the variance is a run's luck, the same on all its tasks."""
    shape = some.runs, len(some.centre)
    luck = (some.draw(some.runs, 1) + some.draw(*shape)) / 2**0.5
    return estimate.stratified_interval(
        some.centre + some.spread * luck, OF_SCORES["mean"]
    )


def _profile(some, true):
    """The share of scores above a threshold, which on every task TAIL of all are."""
    place = (some.scores() - some.centre) / some.spread - some.quantiles(1 - TAIL)
    return estimate.stratified_interval(
        place, lambda scores: (scores > 0).mean(axis=(-2, -1))
    )


# An interval, or whether the promise is kept, of a source and what is true of it.
METHODS: dict[str, Callable] = {
    "mean_interval": lambda some, true: estimate.mean_interval(some.draw()),
    "paired_interval": lambda some, true: estimate.paired_interval(
        some.draw(), some.draw()
    ),
    "simultaneous": lambda some, true: np.transpose(
        estimate.simultaneous(some.draw(OTHERS, some.runs))
    ),
    "crossed_interval": lambda some, true: estimate.crossed_interval(some.grid()),
    "crossed_interval, rows differ most": lambda some, true: estimate.crossed_interval(
        some.grid(3.0, 0.3)
    ),
    "crossed_bootstrap": lambda some, true: estimate.crossed_bootstrap(some.grid()),
    "median_time": lambda some, true: estimate.median_time(*some.times()),
    "share_interval": lambda some, true: estimate.share_interval(
        some.rng.binomial(some.runs, true), some.runs
    ),
    "permutation_test, paired": lambda some, true: _silent(some, True),
    "permutation_test, unpaired": lambda some, true: _silent(some, False),
    "power": lambda some, true: estimate.mean_interval(true + some.draw()).low > 0,
    "probability_of_improvement": _improved,
    "performance_profile": _profile,
    "mean, runs share their luck": _lucky,
}
TRUE: dict[str, Callable] = {
    "median_time": lambda some: np.exp(some.quantiles(0.5)),
    "share_interval": lambda some: SHARE,
    "power": _difference,
    "probability_of_improvement": _improvement,
    "performance_profile": lambda some: TAIL,
    "mean, runs share their luck": lambda some: some.centre.mean(),
}
OF_SCORES = {
    "mean": lambda scores: scores.mean(axis=(-2, -1)),
    "interquartile_mean": estimate.interquartile_mean,
    "optimality_gap": estimate.optimality_gap,
}
METHODS |= {
    name: partial(_interval_of, statistic) for name, statistic in OF_SCORES.items()
}
TRUE |= {name: partial(_true_of, statistic) for name, statistic in OF_SCORES.items()}
for chance, shift in FAR.items():
    METHODS[f"probability_of_improvement, {chance}"] = partial(_improved, shift=shift)
    TRUE[f"probability_of_improvement, {chance}"] = partial(_improvement, shift=shift)
TASKED = ("probability_of_improvement", *OF_SCORES)


def kept(
    method: str, kind: str, runs: int, tasks: int = 1, studies: int = STUDIES
) -> float:
    """The share of studies in which a method of METHODS keeps its promise."""
    source = Source(kind, runs, tasks)
    true = TRUE.get(method, lambda some: 0.0)(source)
    found = [METHODS[method](source, true) for _ in range(studies)]
    return float(
        np.mean(
            [
                one
                if np.ndim(one) == 0
                else np.all((one[1] <= true) & (true <= one[2]))
                for one in found
            ]
        )
    )


def run_cell(method: str, kind: str, runs: int, tasks: int, studies: int) -> list[dict]:
    """A row of the table, as a cell."""
    return [
        {
            "promised": POWER if method == "power" else 0.95,
            "studies": studies,
            "kept": kept(method, kind, runs, tasks, studies),
        }
    ]


def rows_of(method: str) -> list[tuple]:
    """What is simulated of a method: (method, distribution, runs, tasks)."""
    if method == "mean, runs share their luck":
        return [(method, "normal", runs, TASKS[-1]) for runs in RUNS]
    once = (
        method in ("share_interval", "performance_profile") or "improvement, " in method
    )  # alike, or normal only
    several = (
        method in TASKED or "improvement, " in method or method == "performance_profile"
    )
    rows = [
        (method, kind, runs, tasks)
        for tasks in (TASKS if several else TASKS[:1])
        for kind in (KINDS[:1] if once else KINDS)
        for runs in RUNS
    ]
    if method in TASKED:
        rows += [
            (method, "normal", runs, tasks) for tasks in FEW_TASKS for runs in FEW_RUNS
        ]
    if method == "crossed_interval":
        rows += [
            (method, kind, runs, 1)
            for kind in ("normal", "two humps")
            for runs in (2, 4)
        ]
    return rows


def main(
    out: tables.Out = Path("data/studies/coverage.csv"),
    jobs: tables.Jobs = 1,
    keep: tables.Keep = None,
    fresh: tables.Fresh = False,
    studies: Annotated[
        int, typer.Option(min=1, help="Simulated studies of each row.")
    ] = STUDIES,
) -> None:
    """How often each interval holds the truth with 5, 10 and 20 runs. Finished rows are kept and not run again."""
    rows = [row for method in METHODS for row in rows_of(method)]
    names = ("method", "distribution", "runs", "tasks")
    table = run_cells(
        [Cell(dict(zip(names, row)), run_cell, (*row, studies)) for row in rows],
        keep,
        jobs,
        fresh,
    )["results"]
    tables.write_tables(out, {"": table})
    say(
        table.pivot(
            index=["method", "tasks", "distribution"], columns="runs", values="kept"
        ).to_string()
    )


if __name__ == "__main__":
    run(typer.run, main)
