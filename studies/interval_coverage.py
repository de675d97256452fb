"""Measure the coverage of the intervals of `pushlab.metrics.estimate` with few runs, by simulated studies.

    python studies/interval_coverage.py --out data/studies/coverage.csv --workers 2

writes coverage.csv, one row per method, distribution, number of runs and number of tasks.

A study draws its runs from a known distribution and checks whether the interval contains the true value. For a test, it
checks that no difference is found if there is none. For power, it checks whether the runs detect a difference. Tasks
differ in centre and spread, as in a benchmark.
"""

from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from scipy import stats
from scipy.optimize import brentq

from pushlab.experiments.cells import Cell, run_cells
from pushlab.metrics import estimate

DISTRIBUTIONS = {
    "normal": stats.norm,
    "skewed": stats.lognorm(1.0),
    "two humps": stats.beta(0.3, 0.3),
    "heavy tails": stats.t(3),
}
RUNS = (5, 10, 20)
TASKS = 8
STUDIES = 1000
DAYS = 20  # shared by all runs of a grid
SAMPLES = 5  # with simultaneous intervals
SHIFT = 0.5  # difference of two agents, in spreads
SHARE = 0.2  # a true share
POWER = 0.8
TAIL = 0.1  # share of runs above the threshold of a profile
LEVELS = (
    np.arange(100_000) + 0.5
) / 100_000  # of the quantiles that approximate a distribution


class Source:
    """A distribution of runs with mean 0 and variance 1, and its random generator."""

    def __init__(self, kind: str, runs: int, tasks: int = 1):
        self.distribution = DISTRIBUTIONS[kind]
        self.runs = runs
        self.tasks = tasks
        self.rng = np.random.default_rng([runs, tasks, *kind.encode()])
        self.centre = np.linspace(0.6, 0.2, tasks)
        self.spread = np.linspace(0.3, 0.1, tasks)

    def quantiles(self, levels: float | np.ndarray) -> np.ndarray:
        """Return the quantiles at these levels."""
        raw = self.distribution.ppf(levels) - self.distribution.mean()
        return raw / self.distribution.std()

    def draw(self, *shape: int) -> np.ndarray:
        """Draw independent values, by default one per run."""
        return self.quantiles(self.rng.random(shape or self.runs))

    def scores(self, shift: float = 0.0) -> np.ndarray:
        """Draw scores (runs, tasks), increased by `shift` times their spread."""
        values = self.draw(self.runs, self.tasks)
        return self.centre + self.spread * (shift + values)

    def grid(self, row_spread: float = 1.0, other_spread: float = 1.0) -> np.ndarray:
        """Draw a grid (runs, days) as the sum of row effects, day effects and residuals with these spreads."""
        row_effects = self.draw(self.runs, 1)
        day_effects = self.draw(1, DAYS)
        residuals = self.draw(self.runs, DAYS)
        return row_spread * row_effects + other_spread * (day_effects + residuals)


# ---------------------------------------------------------------- intervals of one study


def mean_interval(source, true):
    """Return the interval of a mean."""
    return estimate.mean_interval(source.draw())


def paired_interval(source, true):
    """Return the interval of the mean difference of two equal samples."""
    return estimate.paired_interval(source.draw(), source.draw())


def simultaneous_intervals(source, true):
    """Return simultaneous intervals of the means of SAMPLES samples."""
    samples = source.draw(SAMPLES, source.runs)
    return np.transpose(estimate.simultaneous_intervals(samples))


def crossed_interval(source, true):
    """Return the interval of the mean of a crossed grid."""
    return estimate.crossed_interval(source.grid())


def crossed_interval_of_rows(source, true):
    """Return the interval of the mean of a crossed grid in which rows vary most."""
    return estimate.crossed_interval(source.grid(3.0, 0.3))


def crossed_bootstrap(source, true):
    """Return the pigeonhole interval of the mean of a crossed grid."""
    return pigeonhole_interval(source.grid())


def pigeonhole_interval(
    grid: np.ndarray, level: float = 0.95, resamples: int = 1000, seed: int = 0
) -> estimate.Interval:
    """Compute the mean of a crossed grid (rows, columns) and its interval by the pigeonhole bootstrap.

    It resamples rows and columns with replacement and computes the mean of the resulting grid. If only the residuals
    vary, it overestimates their variance about three times.

    Source:
        Owen (2007), The pigeonhole bootstrap, Annals of Applied Statistics 1(2), 386-411.
    """
    rng = np.random.default_rng(seed)

    def resampled_means(count, *is_resampled):
        """Return the means of `count` grids with resampled rows, columns or both."""
        means = []
        for _ in range(count):
            indices = []
            for size, resample in zip(grid.shape, is_resampled):
                index = rng.integers(size, size=size) if resample else np.arange(size)
                indices.append(index)
            means.append(grid[np.ix_(*indices)].mean())
        return np.array(means)

    single = [resampled_means(200, True, False), resampled_means(200, False, True)]
    means = resampled_means(resamples, True, True)
    ends = estimate.expanded_percentiles(grid.mean(), means, single, grid.shape, level)
    return estimate.Interval(*map(float, ends))


def median_time(source, true):
    """Return the interval of the median time if three in ten runs do not reach the goal in time."""
    times = np.exp(source.draw())
    limit = float(np.exp(source.quantiles(0.7)))
    times = np.where(times > limit, np.inf, times)
    return estimate.median_time(times, limit)


def proportion_interval(source, true):
    """Return the interval of a share."""
    successes = source.rng.binomial(source.runs, true)
    return estimate.proportion_interval(successes, source.runs)


def is_not_significant(source, true):
    """Return whether the permutation test finds no difference."""
    test = estimate.permutation_test(source.draw(), source.draw(), resamples=999)
    return test.p_value > 0.05


def is_detected(source, true):
    """Return whether the interval excludes a difference of 0."""
    return estimate.mean_interval(true + source.draw()).low > 0


def score_interval(statistic, source, true):
    """Return the interval of a statistic of the scores."""
    return estimate.stratified_interval(source.scores(), statistic)


def improvement_interval(shift, source, true):
    """Return the interval of the probability that the shifted agent is better."""
    statistic = estimate.probability_of_improvement
    return estimate.stratified_interval(
        source.scores(shift), statistic, source.scores()
    )


def profile_interval(source, true):
    """Return the interval of the share of scores above a threshold with a true share of TAIL on every task."""
    distance = (source.scores() - source.centre) / source.spread
    above = distance - source.quantiles(1 - TAIL)
    return estimate.stratified_interval(above, positive_share)


def positive_share(scores):
    """Return the share of positive scores."""
    return (scores > 0).mean(axis=(-2, -1))


def correlated_mean_interval(shared_seeds, source, true):
    """Return the interval of the mean score if all tasks of a run share half of the variance."""
    noise = source.draw(source.runs, 1) + source.draw(source.runs, source.tasks)
    scores = source.centre + source.spread * (noise / 2**0.5)
    return estimate.stratified_interval(scores, mean, shared_seeds=shared_seeds)


def mean(scores):
    """Return the mean over runs and tasks."""
    return scores.mean(axis=(-2, -1))


# ---------------------------------------------------------------- true values


def zero(source):
    """Return 0, the true mean."""
    return 0.0


def true_median(source):
    """Return the true median time."""
    return np.exp(source.quantiles(0.5))


def true_share(source):
    """Return the true share."""
    return SHARE


def true_tail(source):
    """Return the true share of runs above the threshold."""
    return TAIL


def true_mean(source):
    """Return the true mean score."""
    return source.centre.mean()


def true_difference(source):
    """Return the difference that this number of runs detects with probability POWER."""

    def excess_power(difference):
        return estimate.power(difference, 1.0, source.runs) - POWER

    return brentq(excess_power, 0.1, 5)


def true_score(statistic, source):
    """Return the true value of a statistic of the scores."""
    values = source.quantiles(LEVELS)[:, None]
    return statistic(source.centre + source.spread * values)


def true_improvement(shift, source):
    """Return the true probability that the shifted agent is better."""
    values = source.quantiles(LEVELS)
    return np.searchsorted(values, values + shift).mean() / len(values)


IMPROVEMENTS = {
    "probability_of_improvement": SHIFT,
    "probability_of_improvement, 0.92": 1.987,
    "probability_of_improvement, 0.98": 2.904,
}
STATISTICS = {
    "mean": mean,
    "interquartile_mean": estimate.interquartile_mean,
    "optimality_gap": estimate.optimality_gap,
}
# {name: (function that returns an interval, or whether a study succeeds; function that returns the true value)}
METHODS: dict[str, tuple[Callable, Callable]] = {
    "mean_interval": (mean_interval, zero),
    "paired_interval": (paired_interval, zero),
    "simultaneous": (simultaneous_intervals, zero),
    "crossed_interval": (crossed_interval, zero),
    "crossed_interval, rows differ most": (crossed_interval_of_rows, zero),
    "crossed_bootstrap": (crossed_bootstrap, zero),
    "median_time": (median_time, true_median),
    "share_interval": (proportion_interval, true_share),
    "permutation_test": (is_not_significant, zero),
    "power": (is_detected, true_difference),
    "probability_of_improvement": (
        partial(improvement_interval, SHIFT),
        partial(true_improvement, SHIFT),
    ),
    "performance_profile": (profile_interval, true_tail),
}
CORRELATED = {
    "mean, runs share their luck": False,
    "mean, runs share their luck, shared_seeds": True,
}
for name, shared_seeds in CORRELATED.items():
    METHODS[name] = (partial(correlated_mean_interval, shared_seeds), true_mean)
for name, statistic in STATISTICS.items():
    METHODS[name] = (partial(score_interval, statistic), partial(true_score, statistic))
for name, shift in IMPROVEMENTS.items():
    METHODS[name] = (
        partial(improvement_interval, shift),
        partial(true_improvement, shift),
    )


def coverage(
    method: str, kind: str, runs: int, tasks: int = 1, studies: int = STUDIES
) -> float:
    """Return the share of studies in which the interval contains the truth, or the study succeeds."""
    run_study, true_value = METHODS[method]
    source = Source(kind, runs, tasks)
    true = true_value(source)
    count = 0
    for _ in range(studies):
        result = run_study(source, true)
        if np.ndim(result):
            result = np.all((result[1] <= true) & (true <= result[2]))
        count += bool(result)
    return count / studies


def run_one(method: str, kind: str, runs: int, tasks: int, studies: int) -> list[dict]:
    """Return a row of the table."""
    return [
        {
            "promised": POWER if method == "power" else 0.95,
            "studies": studies,
            "kept": coverage(method, kind, runs, tasks, studies),
        }
    ]


def rows_of(method: str) -> list[tuple]:
    """Return the settings to simulate for a method: (method, distribution, runs, tasks)."""
    if method in CORRELATED:
        return [(method, "normal", runs, TASKS) for runs in RUNS]
    is_main_score = method in (*STATISTICS, "probability_of_improvement")
    kinds = [*DISTRIBUTIONS]
    if method in ("share_interval", "performance_profile") or "improvement, " in method:
        kinds = ["normal"]
    task_counts = (1,)
    if is_main_score or method in (*IMPROVEMENTS, "performance_profile"):
        task_counts = (1, TASKS)
    settings = product(task_counts, kinds, RUNS)
    rows = [(method, kind, runs, tasks) for tasks, kind, runs in settings]
    if is_main_score:
        settings = product((1, 3), (2, 3, 4))
        rows += [(method, "normal", runs, tasks) for tasks, runs in settings]
    if method == "crossed_interval":
        settings = product(("normal", "two humps"), (2, 4))
        rows += [(method, kind, runs, 1) for kind, runs in settings]
    return rows


def main(
    out: Annotated[Path, typer.Option(help="CSV file.")],
    studies: Annotated[int, typer.Option(help="Studies of each row.")] = STUDIES,
    workers: Annotated[int, typer.Option(help="Processes.")] = 1,
) -> None:
    """Run the study and write its table."""
    names = ("method", "distribution", "runs", "tasks")
    grid = []
    for method in METHODS:
        for row in rows_of(method):
            labels = dict(zip(names, row))
            grid.append(Cell(labels, run_one, (*row, studies)))
    table = run_cells(grid, workers=workers, name="interval_coverage")["results"]
    table.to_csv(out, index=False, lineterminator="\n")


if __name__ == "__main__":
    typer.run(main)
