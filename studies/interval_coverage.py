"""How often the intervals of `pushlab.metrics.estimate` contain the truth when runs are few, by simulated studies.

    python studies/interval_coverage.py --out data/studies/coverage.csv --workers 2

writes coverage.csv, one row per method, distribution, number of runs and number of tasks.

A study draws its runs from a known distribution and checks whether the interval contains the true value. For a test it
checks that no difference is found if there is none, and for power whether this number of runs finds a difference.
Tasks differ in centre and spread, as those of a benchmark do.
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
DAYS = 20  # that all runs of a grid share
SAMPLES = 5  # whose intervals hold together
SHIFT = 0.5  # how much better ours are, in spreads
SHARE = 0.2  # a true share
POWER = 0.8
TAIL = 0.1  # share of runs above the threshold of a profile
LEVELS = (np.arange(100_000) + 0.5) / 100_000  # quantiles that stand for a distribution


class Source:
    """The source of runs: a distribution with mean 0 and variance 1, and its random generator."""

    def __init__(self, kind: str, runs: int, tasks: int = 1):
        self.distribution = DISTRIBUTIONS[kind]
        self.runs = runs
        self.tasks = tasks
        self.rng = np.random.default_rng([runs, tasks, *kind.encode()])
        self.centre = np.linspace(0.6, 0.2, tasks)
        self.spread = np.linspace(0.3, 0.1, tasks)

    def quantiles(self, levels: float | np.ndarray) -> np.ndarray:
        raw = self.distribution.ppf(levels) - self.distribution.mean()
        return raw / self.distribution.std()

    def draw(self, *shape: int) -> np.ndarray:
        """Draw independent values, by default one per run."""
        return self.quantiles(self.rng.random(shape or self.runs))

    def scores(self, shift: float = 0.0) -> np.ndarray:
        """Draw scores (runs, tasks), higher by `shift` times their spread."""
        return self.centre + self.spread * (shift + self.draw(self.runs, self.tasks))

    def grid(self, rows: float = 1.0, others: float = 1.0) -> np.ndarray:
        """Draw a grid (runs, days) with these spreads of rows, and of columns and the rest."""
        of_rows = self.draw(self.runs, 1)
        of_days = self.draw(1, DAYS)
        return rows * of_rows + others * (of_days + self.draw(self.runs, DAYS))


# ---------------------------------------------------------------- intervals of one study


def one_mean(source, true):
    return estimate.mean_interval(source.draw())


def one_pair(source, true):
    return estimate.paired_interval(source.draw(), source.draw())


def five_means(source, true):
    return np.transpose(estimate.simultaneous(source.draw(SAMPLES, source.runs)))


def crossed(source, true):
    return estimate.crossed_interval(source.grid())


def crossed_rows(source, true):
    return estimate.crossed_interval(source.grid(3.0, 0.3))


def pigeonhole(source, true):
    return pigeonhole_interval(source.grid())


def pigeonhole_interval(
    grid: np.ndarray, level: float = 0.95, resamples: int = 1000, seed: int = 0
) -> estimate.Interval:
    """Compute the mean of a crossed grid (rows, columns) and its interval by the pigeonhole bootstrap.

    Rows and columns are drawn anew, each with replacement; the mean is that of the grid where they meet. If rows and
    columns are all alike, so that only the rest varies, it counts the rest about three times.

    Source:
        Owen (2007), The pigeonhole bootstrap, Annals of Applied Statistics 1(2), 386-411.
    """
    rng = np.random.default_rng(seed)

    def drawn(count, *is_new):
        """Return the means of `count` grids whose rows, columns or both are drawn anew."""
        means = []
        for _ in range(count):
            picks = [
                rng.integers(size, size=size) if new else np.arange(size)
                for new, size in zip(is_new, grid.shape)
            ]
            means.append(grid[np.ix_(*picks)].mean())
        return np.array(means)

    alone = [drawn(200, True, False), drawn(200, False, True)]
    draws = drawn(resamples, True, True)
    ends = estimate.expanded_percentiles(grid.mean(), draws, alone, grid.shape, level)
    return estimate.Interval(*map(float, ends))


def median_time(source, true):
    """Return the interval of the median time if three runs in ten never reach the goal."""
    times = np.exp(source.draw())
    watched = float(np.exp(source.quantiles(0.7)))
    return estimate.median_time(np.where(times > watched, np.inf, times), watched)


def share(source, true):
    return estimate.share_interval(source.rng.binomial(source.runs, true), source.runs)


def silent(paired, source, true):
    """Return whether the test finds nothing."""
    samples = source.draw(), source.draw()
    return estimate.permutation_test(*samples, paired, resamples=999).p_value > 0.05


def found(source, true):
    """Return whether the difference is found."""
    return estimate.mean_interval(true + source.draw()).low > 0


def score_interval(statistic, source, true):
    return estimate.stratified_interval(source.scores(), statistic)


def improvement(shift, source, true):
    statistic = estimate.probability_of_improvement
    return estimate.stratified_interval(
        source.scores(shift), statistic, source.scores()
    )


def profile(source, true):
    """Return the interval of the share of scores above a threshold that TAIL of all exceed on every task."""
    distance = (source.scores() - source.centre) / source.spread
    above = distance - source.quantiles(1 - TAIL)
    return estimate.stratified_interval(above, share_above)


def share_above(scores):
    return (scores > 0).mean(axis=(-2, -1))


def shared_luck(source, true):
    """Return the interval of the mean of scores of which half the variance is the same on all tasks of a run."""
    luck = source.draw(source.runs, 1) + source.draw(source.runs, source.tasks)
    scores = source.centre + source.spread * (luck / 2**0.5)
    return estimate.stratified_interval(scores, mean)


def mean(scores):
    return scores.mean(axis=(-2, -1))


# ---------------------------------------------------------------- true values


def zero(source):
    return 0.0


def true_median(source):
    return np.exp(source.quantiles(0.5))


def true_share(source):
    return SHARE


def true_tail(source):
    return TAIL


def true_mean(source):
    return source.centre.mean()


def true_difference(source):
    """Return the difference that this number of runs finds with probability POWER."""

    def lack(difference):
        return estimate.power(difference, 1.0, source.runs) - POWER

    return brentq(lack, 0.1, 5)


def true_score(statistic, source):
    return statistic(source.centre + source.spread * source.quantiles(LEVELS)[:, None])


def true_improvement(shift, source):
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
# {name: (interval, or whether the promise is kept; the true value)}
METHODS: dict[str, tuple[Callable, Callable]] = {
    "mean_interval": (one_mean, zero),
    "paired_interval": (one_pair, zero),
    "simultaneous": (five_means, zero),
    "crossed_interval": (crossed, zero),
    "crossed_interval, rows differ most": (crossed_rows, zero),
    "crossed_bootstrap": (pigeonhole, zero),
    "median_time": (median_time, true_median),
    "share_interval": (share, true_share),
    "permutation_test, paired": (partial(silent, True), zero),
    "permutation_test, unpaired": (partial(silent, False), zero),
    "power": (found, true_difference),
    "probability_of_improvement": (
        partial(improvement, SHIFT),
        partial(true_improvement, SHIFT),
    ),
    "performance_profile": (profile, true_tail),
    "mean, runs share their luck": (shared_luck, true_mean),
}
for name, statistic in STATISTICS.items():
    METHODS[name] = (partial(score_interval, statistic), partial(true_score, statistic))
for name, shift in IMPROVEMENTS.items():
    METHODS[name] = (partial(improvement, shift), partial(true_improvement, shift))


def kept(
    method: str, kind: str, runs: int, tasks: int = 1, studies: int = STUDIES
) -> float:
    """Return the share of studies in which a method keeps its promise."""
    interval_of, true_of = METHODS[method]
    source = Source(kind, runs, tasks)
    true = true_of(source)
    count = 0
    for _ in range(studies):
        outcome = interval_of(source, true)
        if np.ndim(outcome):
            outcome = np.all((outcome[1] <= true) & (true <= outcome[2]))
        count += bool(outcome)
    return count / studies


def run_one(method: str, kind: str, runs: int, tasks: int, studies: int) -> list[dict]:
    """Return a row of the table."""
    promised = POWER if method == "power" else 0.95
    share_kept = kept(method, kind, runs, tasks, studies)
    return [{"promised": promised, "studies": studies, "kept": share_kept}]


def rows_of(method: str) -> list[tuple]:
    """Return the settings to simulate for a method: (method, distribution, runs, tasks)."""
    if method == "mean, runs share their luck":
        return [(method, "normal", runs, TASKS) for runs in RUNS]
    of_scores = method in (*STATISTICS, "probability_of_improvement")
    of_tasks = of_scores or method in (*IMPROVEMENTS, "performance_profile")
    kinds = [*DISTRIBUTIONS]
    if method in ("share_interval", "performance_profile") or "improvement, " in method:
        kinds = ["normal"]
    rows = [
        (method, kind, runs, tasks)
        for tasks, kind, runs in product((1, TASKS) if of_tasks else (1,), kinds, RUNS)
    ]
    if of_scores:
        few = product((1, 3), (2, 3, 4))
        rows += [(method, "normal", runs, tasks) for tasks, runs in few]
    if method == "crossed_interval":
        few = product(("normal", "two humps"), (2, 4))
        rows += [(method, kind, runs, 1) for kind, runs in few]
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
            grid.append(Cell(dict(zip(names, row)), run_one, (*row, studies)))
    table = run_cells(grid, workers=workers, name="interval_coverage")["results"]
    table.to_csv(out, index=False, lineterminator="\n")


if __name__ == "__main__":
    typer.run(main)
