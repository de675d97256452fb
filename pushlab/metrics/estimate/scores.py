"""Statistics of the scores of a few runs on many tasks, with bootstrap intervals of any statistic.

A score is the performance of one run on one task, best on a scale that all tasks share (0 for chance, 1 for the best
known). Scores are arrays with the axes (runs, tasks); more axes may precede, such as the draws of a bootstrap.

Plain percentiles of a bootstrap are too narrow for few runs, for two reasons: n values spread less about their own mean
than about the true mean, and their spread is itself an estimate. For means the corrections are known (n - 1 instead of
n, Student's t instead of the normal distribution). Expanded percentiles move outwards by the same amount.

Source:
    Agarwal, Schwarzer, Castro, Courville & Bellemare (2021), Deep reinforcement learning at the edge of the statistical
    precipice, NeurIPS 34, section 4; Hesterberg (2015), What teachers should know about the bootstrap, The American
    Statistician 69(4), 371-386, section 5.3; Satterthwaite (1946), An approximate distribution of estimates of variance
    components, Biometrics Bulletin 2(6), 110-114, for degrees of freedom of several sources.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pushlab.metrics.estimate.intervals import (
    Interval,
    finite_matrix,
    power,
    to_float,
)
from pushlab.utils.arguments import (
    make_rng,
    require,
    require_rows,
    short_repr,
    validate_array,
    validate_choice,
    validate_fraction,
    validate_integer,
)

BATCH = 200  # draws at a time: enough to estimate one task's share of the spread within a tenth
# Rounding error of a mean difference, in units of the largest value.
ROUNDING = 64 * np.finfo(float).eps


def _scores(scores, min_runs=1) -> np.ndarray:
    return finite_matrix("scores", scores, ("run", "task"), min_runs)


# ---------------------------------------------------------------- statistics


def interquartile_mean(scores: ArrayLike) -> Any:
    """Mean of the middle half of all scores, runs and tasks together: a float, or an array (…).

    A quarter (rounded down) is left out at either end. Outliers have as little effect as on a median, and still half of
    the scores count.

    Args:
        scores: Array (…, runs, tasks).

    >>> interquartile_mean([[0.0, 0.4], [0.6, 9.0]])             # 0.4 and 0.6 are the middle half
    0.5
    """
    from scipy.stats import trim_mean

    matrix = _scores(scores)
    flat = matrix.reshape(*matrix.shape[:-2], -1)
    return to_float(trim_mean(flat, 0.25, axis=-1))


def optimality_gap(scores: ArrayLike) -> Any:
    """Mean distance of scores from 1, 0 for scores above it: a float, or an array (…). Lower is better.

    Scores above 1 do not compensate for others below it.

    Args:
        scores: Array (…, runs, tasks).

    >>> optimality_gap([[0.5, 1.0], [0.0, 7.0]])
    0.375
    """
    gaps = np.maximum(1 - _scores(scores), 0)
    return to_float(gaps.mean(axis=(-2, -1)))


def performance_profile(scores: ArrayLike, thresholds: ArrayLike) -> np.ndarray:
    """Fraction of runs above each threshold, averaged over tasks: an array (…, thresholds) that falls from 1 to 0.

    Args:
        scores: Array (…, runs, tasks).
        thresholds: Array (thresholds,).

    >>> performance_profile([[0.0, 1.0], [0.4, 2.0]], [-1.0, 0.3, 1.0]).tolist()
    [1.0, 0.75, 0.25]
    """
    matrix = _scores(scores)
    thresholds = validate_array("thresholds", thresholds)
    is_above = matrix[..., None] > thresholds
    return is_above.mean(axis=(-3, -2))


def probability_of_improvement(scores: ArrayLike, baseline: ArrayLike) -> Any:
    """Probability that a run has a higher score than a run of the baseline, averaged over tasks; ties count half.

    It is 1/2 if neither is better, and does not measure by how much. A float, or an array (…).

    Args:
        scores, baseline: Arrays (…, runs, tasks) of the same tasks; numbers of runs may differ.

    Source:
        Agarwal et al. (2021), after Mann & Whitney (1947), Annals of Mathematical Statistics 18(1), 50-60.

    >>> probability_of_improvement([[1.0], [3.0]], [[0.0], [2.0]])          # three of four pairs
    0.75
    """
    scores = _scores(scores)
    baseline = _scores(baseline)
    _validate_tasks(scores, baseline)
    differences = scores[..., :, None, :] - baseline[..., None, :, :]
    wins = np.sign(differences).mean(axis=(-3, -2, -1))
    return to_float((1 + wins) / 2)


# Limits of statistics, to which intervals are clipped.
BOUNDS: dict[Callable, tuple[float, float]] = {
    optimality_gap: (0.0, np.inf),
    probability_of_improvement: (0.0, 1.0),
}


def _validate_tasks(*matrices):
    """Raise ValueError unless all matrices have as many tasks."""
    shapes = [matrix.shape for matrix in matrices]
    n_tasks = {shape[-1] for shape in shapes}
    require(
        len(n_tasks) == 1,
        f"both agents must have scores on the same tasks; got the shapes {' and '.join(map(str, shapes))}",
    )


# ---------------------------------------------------------------- the bootstrap


def stratified_interval(
    scores: ArrayLike,
    statistic: Callable,
    baseline: ArrayLike | None = None,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    shared_seeds: bool = False,
) -> Interval:
    """Compute any statistic of scores and its interval by the stratified bootstrap.

    Runs are resampled within each task, and tasks are fixed: the interval covers new runs of the same tasks. Its ends
    are expanded percentiles (see the module): their tails are those of the normal distribution beyond
    sqrt(n / (n - 1)) t. The degrees of freedom combine all tasks, each weighted by its effect on the statistic.

    Runs of different tasks are assumed to be independent. The interval is far too narrow if a run's tasks share their
    random numbers, or one trained agent: if half of the variance is shared, the coverage of a mean over 8 tasks is 66
    to 67 % in 1,000 simulated studies. With `shared_seeds` entire rows are resampled, and it is 92, 95 and 95 % for 5,
    10 and 20 runs.

    Coverage in 1,000 simulated studies each (`python studies/interval_coverage.py`):

    - 8 tasks with 5, 10 or 20 runs: 94 to 97 % (mean, interquartile mean, optimality gap, probability of improvement;
      normal values, two humps, heavy tails, lognormal values), except for the mean of lognormal values (90 to 93 %)
    - one task with 5, 10 or 20 runs: 92 to 98 %; for lognormal values 82, 86 and 88 % (mean), 87, 92 and 94 % (gap),
      90, 93 and 95 % (improvement)
    - one to three tasks with two, three or four runs, normal values: 94 to 98 % (mean, interquartile mean, gap).
      Student's t replaces percentiles that no draw reaches, as with so few runs or a high `level`. The improvement on
      one task has 64 % with two runs, 87 % with three
    - the improvement on one task fails near its ends: a true 0.92 has 60, 84 and 93 % with 5, 10 and 20 runs, a true
      0.98 has 24, 55 and 83 %. On 8 tasks 0.92 has 96 to 97 %, and 0.98 has 90, 95 and 95 %. If on each task all runs
      of one agent are above all runs of the other, the interval is a single point, which is not certainty

    Args:
        scores: Array (runs, tasks), at least two runs.
        statistic: Function of scores (…, runs, tasks) that returns an array (…), or more axes behind these, such as
            `interquartile_mean`.
        baseline: Scores (runs, tasks) of another agent on the same tasks, for a statistic of both agents, such as
            `probability_of_improvement`.
        level: Coverage, between 0 and 1.
        resamples: Number of draws, at least 200.
        seed: Seed of the draws.
        shared_seeds: Whether a row is one seed on all tasks, and of both agents. `pushlab.sweep` makes such runs.

    Source:
        Agarwal et al. (2021), section 4 (there with plain percentiles); for the ends see the module.

    >>> print(stratified_interval([[0.1, 0.5], [0.2, 0.7], [0.3, 0.6]], interquartile_mean))
    0.4 [0.3, 0.5]
    """
    validate_fraction("level", level)
    resamples = validate_integer("resamples", resamples, BATCH)
    samples = [scores] if baseline is None else [scores, baseline]
    matrices = [_scores(sample, 2) for sample in samples]
    _validate_tasks(*matrices)
    bounds = BOUNDS.get(statistic, (-np.inf, np.inf))
    if shared_seeds:
        statistic = _of_seeds(statistic, np.stack(matrices))
        matrices = [np.arange(len(matrices[0]))[:, None]]
    rng = make_rng(seed)
    value = np.asarray(statistic(*matrices), float)

    def draw(source=None):
        """Return the statistic of BATCH draws; a source (matrix, task) is resampled alone."""
        resampled = [
            _resample(matrix, rng, number, source)
            for number, matrix in enumerate(matrices)
        ]
        result = np.asarray(statistic(*resampled))
        shape = (BATCH, *value.shape)
        require(
            result.shape == shape,
            f"the statistic of {BATCH} draws (…, runs, tasks) must have the shape {shape}; got "
            f"{result.shape}. Use axis=(-2, -1) for means, for example",
        )
        return result

    n_batches = -(-resamples // BATCH)
    draws = np.concatenate([draw() for _ in range(n_batches)])
    source_draws = []
    counts = []
    for number, matrix in enumerate(matrices):
        runs, tasks = matrix.shape
        for task in range(tasks):
            source_draws.append(draw((number, task)))
            counts.append(runs)
    interval = expanded_percentiles(value, draws, source_draws, counts, level)
    low, high = np.clip(interval[1:], *bounds)
    return Interval(to_float(value), to_float(low), to_float(high))


def _of_seeds(statistic, grids):
    """Return a statistic of grids (agents, seeds, tasks) as a function of the seeds, an array (…, seeds, 1)."""

    def statistic_of_seeds(seeds):
        return statistic(*grids[:, seeds[..., 0]])

    return statistic_of_seeds


def _resample(matrix, rng, number, source):
    """Return BATCH resamples of a matrix, or of the task of `source` (matrix, task) alone."""
    runs, tasks = matrix.shape
    rows = rng.integers(runs, size=(BATCH, runs, tasks))
    if source is not None:
        is_fixed = np.full(tasks, True)
        if number == source[0]:
            is_fixed[source[1]] = False
        rows[..., is_fixed] = np.arange(runs)[:, None]
    return np.take_along_axis(matrix[None], rows, axis=1)


def expanded_percentiles(
    value: Any,
    draws: np.ndarray,
    source_draws: Sequence,
    counts: Sequence[int],
    level: float,
) -> Interval:
    """Return the expanded percentiles of draws, an Interval of arrays. See the module.

    Args:
        value: The statistic, an array (…).
        draws: The statistic of each draw, (draws, …).
        source_draws: The statistic of draws in which only one source is resampled, (sources, draws, …).
        counts: Number of values of each source.
        level: Coverage.
    """
    from scipy.stats import norm, t

    # The squares of very large or small values would overflow.
    scale = abs(draws - value).max(axis=0)
    scale = np.where(scale > 0, scale, 1)
    variances = np.var((np.array(source_draws) - value) / scale, axis=1)
    sizes = np.array(counts).reshape(-1, *[1] * np.ndim(value))
    total = variances.sum(axis=0)
    weights = variances / np.where(total > 0, total, 1)
    inverse_freedom = (weights**2 / (sizes - 1)).sum(axis=0)
    freedom = 1 / np.maximum(inverse_freedom, 1e-12)
    expansion = np.sqrt((weights * sizes / (sizes - 1)).sum(axis=0))
    quantiles = expansion * t.ppf((1 + level) / 2, freedom)
    tails = norm.sf(quantiles)
    columns = draws.reshape(len(draws), -1).T
    ends = [
        np.quantile(column, (tail, 1 - tail))
        for tail, column in zip(tails.ravel(), columns)
    ]
    low, high = np.reshape(np.transpose(ends), (2, *np.shape(value)))
    # A tail of less than one draw has no percentile; there the end is at least Student's.
    deviation = ((draws - value) / scale).std(axis=0)
    half = quantiles * scale * deviation
    half = np.where(tails * len(draws) < 1, half, 0)
    low = np.minimum(low, value - half)
    high = np.maximum(high, value + half)
    return Interval(value, low, high)


# ---------------------------------------------------------------- a test


class Permutation(NamedTuple):
    """Result of a permutation test.

    Attributes:
        difference: The mean difference.
        p_value: The two-sided p value.
        permutations: Number of permutations counted: all, or a sample.
    """

    difference: float
    p_value: float
    permutations: int


def permutation_test(
    values: ArrayLike, baseline: ArrayLike, resamples: int = 9999
) -> Permutation:
    """Test for a difference of two agents whose runs are paired by seed.

    If the agents do not differ, the sign of each pair's difference is random. The test assumes no distribution. Without
    a difference, p is below 0.05 in at most 5 % of all cases for any number of pairs. The smallest p of n pairs is
    2 / 2^n: five pairs never reach a p below 0.0625, six pairs reach 0.031. Means are equal if they differ by rounding
    errors only. For runs with seeds of their own there is scipy.stats.permutation_test.

    Args:
        values, baseline: Arrays (runs,), or (runs, tasks). The mean over tasks of each run is permuted, so that the
            tasks of a run may be dependent, as through a seed or an agent that was trained once. If all tasks of all
            runs are independent, pass values.ravel() and baseline.ravel(): each is a pair then, and the smallest p is
            lower.
        resamples: Number of permutations to draw if there are more; otherwise all are counted.

    Source:
        Fisher (1935), The design of experiments, section 21, by scipy.stats.permutation_test.

    >>> permutation_test([3.0, 4.0, 6.0, 5.0, 7.0, 9.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    Permutation(difference=2.167, p_value=0.03125, permutations=64)
    """
    from scipy.stats import permutation_test as scipy_permutation_test

    values = _runs_by_tasks(values)
    baseline = _runs_by_tasks(baseline)
    _validate_tasks(values, baseline)
    differences = (values - baseline).mean(axis=1)
    observed = differences.mean()
    rounding = ROUNDING * max(abs(values).max(), abs(baseline).max())

    def statistic(differences, axis):
        means = differences.mean(axis=axis)
        is_equal = abs(means - observed) <= rounding
        return np.where(is_equal, observed, means)

    test = scipy_permutation_test(
        [differences],
        statistic,
        vectorized=True,
        n_resamples=resamples,
        permutation_type="samples",
        random_state=np.random.default_rng(0),
    )
    return Permutation(float(observed), float(test.pvalue), len(test.null_distribution))


def _runs_by_tasks(values) -> np.ndarray:
    """Return values (runs,) or (runs, tasks) as a valid array (runs, tasks)."""
    columns = np.atleast_2d(np.transpose(values))
    return _scores(columns.T, 2)


# ---------------------------------------------------------------- tables for plots


def score_matrices(
    table: pd.DataFrame,
    value: str = "score",
    task: str = "task",
) -> dict[str, pd.DataFrame]:
    """Return the scores of each agent, {agent: DataFrame (runs, tasks)}, in order of appearance.

    Args:
        table: DataFrame, one row per run: agent, seed, task and the score.
        value, task: Columns of the score and of the task.

    Raises:
        ValueError: If a row is repeated, a score is missing, or agents differ in their tasks: statistics of different
            tasks can't be compared.
    """
    names = ["agent", "seed", task]
    require_rows(table, *names, value, table_name="the table of scores")
    matrix = table.pivot(index=["agent", "seed"], columns=task, values=value)
    matrix = matrix[table[task].unique()]
    is_missing = matrix.isna()
    if is_missing.any(axis=None):
        labels = is_missing.stack().idxmax()
        run = ", ".join(f"{name} {label}" for name, label in zip(names, labels))
        raise ValueError(
            f"there is no {value} of {run}. Every agent needs every run of every task; leave out "
            "tasks or runs that some agents lack"
        )
    return {agent: matrix.loc[agent] for agent in table["agent"].unique()}


def score_table(
    scores: Mapping[str, ArrayLike],
    statistics: Mapping[str, Callable] = {},
    against: str = "",
    shared_seeds: bool = False,
) -> pd.DataFrame:
    """Compute statistics of each agent with 95 % stratified bootstrap intervals, one row per statistic and agent.

    Args:
        scores: {agent: array (runs, tasks)}, normalised if tasks differ in their scales: for example 0 for chance and 1
            for the best known score.
        statistics: {name: function of scores}. The default is the interquartile mean and the optimality gap or, against
            another agent, the probability of improvement. The gap is the distance from a score of 1, which has no
            meaning for raw returns: it is left out if all scores of all agents are above 1.
        against: The agent with which all others are compared: statistics are functions of an agent's scores and of its
            scores.
        shared_seeds: See `stratified_interval`.

    Returns:
        A DataFrame of statistic, agent, value, low, high, runs, tasks.

    >>> score_table({"a": [[0.5, 1.0], [0.0, 7.0]]})[["statistic", "value"]].values.tolist()
    [['interquartile mean', 0.75], ['optimality gap', 0.375]]
    >>> score_table({"a": [[1.0], [3.0]], "b": [[0.0], [2.0]]}, against="b")[["statistic", "agent", "value"]].values
    array([['probability of improvement over b', 'a', 0.75]], dtype=object)
    >>> score_table({"a": [[146.0, 190.0], [166.0, 180.0]]})["statistic"].tolist()
    ['interquartile mean']
    """
    _validate(scores)
    baseline = None
    if against:
        validate_choice("against", against, scores)
        baseline = scores[against]
    statistics = statistics or _default_statistics(scores, against)
    rows = []
    for name, function in statistics.items():
        for agent, values in scores.items():
            if agent != against:
                interval = stratified_interval(
                    values, function, baseline, shared_seeds=shared_seeds
                )
                rows.append((name, agent, *interval, *np.shape(values)))
    columns = ["statistic", "agent", "value", "low", "high", "runs", "tasks"]
    return pd.DataFrame(rows, columns=columns)


def _default_statistics(scores, against):
    """Return {name: function} of the statistics that `score_table` computes by default."""
    if against:
        name = f"probability of improvement over {against}"
        return {name: probability_of_improvement}
    statistics = {"interquartile mean": interquartile_mean}
    lowest = min(np.min(values) for values in scores.values())
    if lowest <= 1:
        statistics["optimality gap"] = optimality_gap
    return statistics


def _validate(scores):
    """Raise ValueError unless scores are {agent: scores}."""
    require(
        isinstance(scores, Mapping) and scores,
        f"scores must be {{agent: array (runs, tasks)}}; got {short_repr(scores)}",
    )


def profile_table(
    scores: Mapping[str, ArrayLike],
    thresholds: ArrayLike | None = None,
    shared_seeds: bool = False,
) -> pd.DataFrame:
    """Compute the performance profile of each agent with its 95 % band, one row per agent and threshold.

    The coverage holds for each threshold by itself.

    Near both ends of a profile the band is too narrow for few runs. Its width is 0 if on each task all runs are above a
    threshold, or none is. A true fraction of 0.1 on one task has a coverage of 40, 68 and 90 % in 1,000 simulated
    studies with 5, 10 and 20 runs; on eight tasks with this fraction each, 95 to 98 %.

    Args:
        scores: {agent: array (runs, tasks)}.
        thresholds: Array; None takes 101 from the lowest score to the highest of all agents, at least from 0 to 1.
        shared_seeds: See `stratified_interval`.

    Returns:
        A DataFrame of agent, threshold, share, low, high, runs, tasks.
    """
    _validate(scores)
    if thresholds is None:
        flat = np.concatenate([np.ravel(values) for values in scores.values()])
        thresholds = np.linspace(min(0.0, flat.min()), max(1.0, flat.max()), 101)
    thresholds = np.asarray(thresholds, float)

    def profile(scores):
        return performance_profile(scores, thresholds)

    tables = []
    for agent, values in scores.items():
        fraction, low, high = stratified_interval(
            values, profile, shared_seeds=shared_seeds
        )
        runs, tasks = np.shape(values)
        columns = {
            "agent": agent,
            "threshold": thresholds,
            "share": fraction,
            "low": np.clip(low, 0, 1),
            "high": np.clip(high, 0, 1),
            "runs": runs,
            "tasks": tasks,
        }
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def power_table(
    differences: Sequence[float],
    spread: float,
    runs: Sequence[int] = range(2, 51),
) -> pd.DataFrame:
    """Return the `power` of runs paired by seed, a DataFrame of difference, runs, power.

    >>> power_table([0.5, 1.0], 1.0, [5, 10]).round(2)["power"].tolist()
    [0.14, 0.29, 0.4, 0.8]
    """
    grid = pd.MultiIndex.from_product([differences, runs], names=["difference", "runs"])
    table = grid.to_frame(index=False)
    return table.assign(power=power(table["difference"], spread, table["runs"]))
