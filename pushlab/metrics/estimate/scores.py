"""Statistics of the scores of a few runs on many tasks, with intervals of any statistic by the bootstrap.

A score says how well one run did on one task, best on a scale that all tasks share (0 for chance, 1 for the best
known). Scores are arrays with the axes (runs, tasks); more axes may lead, such as the draws of a bootstrap.

Plain percentiles of a bootstrap are too narrow for few runs: they account neither for n values spreading less about
their own mean than about the true one, nor for how badly n values estimate their spread. Both are known for means
(n - 1 in place of n, Student's t in place of the normal), and the percentiles are moved outwards by as much: expanded
percentiles.

Source:
    Agarwal, Schwarzer, Castro, Courville & Bellemare (2021), Deep reinforcement learning at the edge of the statistical
    precipice, NeurIPS 34, section 4; Hesterberg (2015), What teachers should know about the bootstrap, The American
    Statistician 69(4), 371-386, section 5.3; Satterthwaite (1946), An approximate distribution of estimates of variance
    components, Biometrics Bulletin 2(6), 110-114, for degrees of freedom of several sources.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pushlab.ground import arguments
from pushlab.metrics.estimate.intervals import Interval, finite_matrix, plain, power

BATCH = 200  # draws at a time: enough to estimate one task's share of the spread within a tenth
ROUNDING = (
    64 * np.finfo(float).eps
)  # of a mean difference, in units of the largest value


def _scores(scores, runs=1) -> np.ndarray:
    return finite_matrix("scores", scores, ("run", "task"), runs)


# ---------------------------------------------------------------- statistics


def interquartile_mean(scores: ArrayLike) -> Any:
    """Mean of the middle half of all scores, runs and tasks together: a float, or an array (…).

    A quarter (rounded down) is left out at either end. An outlier counts as little as in a median, and yet half of the
    scores count.

    Args:
        scores: Array (…, runs, tasks).

    >>> interquartile_mean([[0.0, 0.4], [0.6, 9.0]])             # 0.4 and 0.6 are the middle half
    0.5
    """
    from scipy.stats import trim_mean

    matrix = _scores(scores)
    every = matrix.reshape(*matrix.shape[:-2], -1)
    return plain(trim_mean(every, 0.25, axis=-1))


def optimality_gap(scores: ArrayLike) -> Any:
    """Mean distance of scores below 1, 0 for scores above: a float, or an array (…). Less is better.

    Scores beyond 1 do not make up for others below it.

    Args:
        scores: Array (…, runs, tasks).

    >>> optimality_gap([[0.5, 1.0], [0.0, 7.0]])
    0.375
    """
    return plain(np.maximum(1 - _scores(scores), 0).mean(axis=(-2, -1)))


def performance_profile(scores: ArrayLike, thresholds: ArrayLike) -> np.ndarray:
    """Share of runs above each threshold, averaged over tasks: an array (…, thresholds) that falls from 1 to 0.

    Args:
        scores: Array (…, runs, tasks).
        thresholds: Array (thresholds,).

    >>> performance_profile([[0.0, 1.0], [0.4, 2.0]], [-1.0, 0.3, 1.0]).tolist()
    [1.0, 0.75, 0.25]
    """
    matrix = _scores(scores)
    at = arguments.numbers("thresholds", thresholds)
    return (matrix[..., None] > at).mean(axis=(-3, -2))


def probability_of_improvement(ours: ArrayLike, theirs: ArrayLike) -> Any:
    """Chance that a run of ours beats one of theirs on a task, ties counting half, averaged over tasks.

    It says how often, not by how much: 1/2 if neither is better. A float, or an array (…).

    Args:
        ours, theirs: Arrays (…, runs, tasks) of the same tasks; numbers of runs may differ.

    Source:
        Agarwal et al. (2021), after Mann & Whitney (1947), Annals of Mathematical Statistics 18(1), 50-60.

    >>> probability_of_improvement([[1.0], [3.0]], [[0.0], [2.0]])          # three of four pairs
    0.75
    """
    ours = _scores(ours)
    theirs = _scores(theirs)
    _same_tasks(ours, theirs)
    wins = np.sign(ours[..., :, None, :] - theirs[..., None, :, :])
    return plain((1 + wins.mean(axis=(-3, -2, -1))) / 2)


# Limits of statistics, to which intervals are clipped.
BOUNDS: dict[Callable, tuple[float, float]] = {
    optimality_gap: (0.0, np.inf),
    probability_of_improvement: (0.0, 1.0),
}


def _same_tasks(*matrices):
    shapes = [matrix.shape for matrix in matrices]
    arguments.demand(
        len({shape[-1] for shape in shapes}) == 1,
        f"both agents have scores on the same tasks; got the shapes {' and '.join(map(str, shapes))}",
    )


# ---------------------------------------------------------------- the bootstrap


def stratified_interval(
    scores: ArrayLike,
    statistic: Callable,
    theirs: ArrayLike | None = None,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """Compute any statistic of scores and its interval by the stratified bootstrap.

    Runs are drawn anew within each task, with replacement; the tasks stay: the interval ranges over new runs of the
    same tasks. The ends are expanded percentiles (see above): their tails are those of the normal distribution beyond
    sqrt(n / (n - 1)) t, with the degrees of freedom of all tasks together, each weighing as much as it moves the
    statistic.

    Runs of different tasks are taken to be independent. If one run is one agent on all tasks, or shares its luck over
    them otherwise, the interval is far too narrow: if half of the variance is such luck, that of a mean over 8 tasks
    holds the truth in 66 to 67 % of 1,000 simulated studies. Then treat the runs' means over tasks as one task,
    `scores.mean(axis=1)[:, None]`.

    How often it held the truth, of 1,000 simulated studies each (`python studies/interval_coverage.py`):

    - 8 tasks with 5, 10 or 20 runs: 94 to 97 % (mean, interquartile mean, optimality gap, probability of improvement;
      normal values, two humps, heavy tails), of lognormal values too but for their mean (90 to 93 %).
    - One task with 5, 10 or 20 runs: 92 to 98 %; of lognormal values 82, 86 and 88 % (mean), 87, 92 and 94 % (gap),
      90, 93 and 95 % (improvement).
    - Two, three or four runs of one task or three, normal values: 94 to 98 % (mean, interquartile mean, gap). For ends
      that no draw reaches, as of so few runs or at a high `level`, Student's t takes the place of percentiles. The
      improvement on one task with two runs: 64 %, with three 87 %.
    - Near its ends the improvement on one task fails: a true 0.92 is held in 60, 84 and 93 % with 5, 10 and 20 runs, a
      true 0.98 in 24, 55 and 83 %; of 8 tasks 0.92 in 96 to 97 %, 0.98 in 90, 95 and 95 %. If on each task all runs of
      one agent are above all of the other nothing varies, and the interval is a point, which is no certainty.

    Args:
        scores: Array (runs, tasks), at least two runs.
        statistic: Function of scores (…, runs, tasks) that returns an array (…), or more axes behind these, such as
            `interquartile_mean`.
        theirs: Scores of another agent, (runs, tasks), of the same tasks: the statistic is one of both, such as
            `probability_of_improvement`.
        level: Coverage, between 0 and 1.
        resamples: Draws, at least 200.
        seed: Of the draws.

    Source:
        Agarwal et al. (2021), section 4 (there with plain percentiles); for the ends see the module.

    >>> print(stratified_interval([[0.1, 0.5], [0.2, 0.7], [0.3, 0.6]], interquartile_mean))
    0.4 [0.3, 0.5]
    """
    arguments.share("level", level)
    resamples = arguments.whole("resamples", resamples, BATCH)
    samples = [scores] if theirs is None else [scores, theirs]
    matrices = [_scores(sample, 2) for sample in samples]
    _same_tasks(*matrices)
    rng = arguments.generator(seed)
    value = np.asarray(statistic(*matrices), float)

    def values(source=None):
        """Return the statistic of BATCH draws, of all tasks or of those of one matrix and task alone."""
        drawn = []
        for which, matrix in enumerate(matrices):
            picks = rng.integers(len(matrix), size=(BATCH, *matrix.shape))
            if source is not None:
                is_fixed = np.arange(matrix.shape[1]) != source[1]
                is_fixed |= which != source[0]
                picks[..., is_fixed] = np.arange(len(matrix))[:, None]
            drawn.append(np.take_along_axis(matrix[None], picks, axis=1))
        found = np.asarray(statistic(*drawn))
        arguments.demand(
            found.shape == (BATCH, *value.shape),
            f"a statistic of {BATCH} draws (…, runs, tasks) is an array {(BATCH, *value.shape)}; got "
            f"{found.shape}. Take means over axis=(-2, -1), for example",
        )
        return found

    found = np.concatenate([values() for _ in range(-(-resamples // BATCH))])
    alone = []
    counts = []
    for which, matrix in enumerate(matrices):
        for task in range(matrix.shape[1]):
            alone.append(values((which, task)))
            counts.append(len(matrix))
    interval = expanded_percentiles(value, found, alone, counts, level)
    low, high = np.clip(interval[1:], *BOUNDS.get(statistic, (-np.inf, np.inf)))
    return Interval(*map(plain, (value, low, high)))


def expanded_percentiles(
    value: Any, drawn: np.ndarray, alone: Sequence, counts: Sequence[int], level: float
) -> Interval:
    """Return the expanded percentiles of draws, an Interval of arrays. See the module.

    Args:
        value: The statistic, an array (…).
        drawn: The statistic of each draw, (draws, …).
        alone: Draws of the statistic while one source alone is drawn anew, (sources, draws, …).
        counts: The number of values of each source.
        level: Coverage.
    """
    from scipy.stats import norm, t

    # Squares of very large or small values are no numbers.
    scale = abs(drawn - value).max(axis=0)
    scale = np.where(scale > 0, scale, 1)
    spreads = np.var((np.array(alone) - value) / scale, axis=1)
    sizes = np.array(counts).reshape(-1, *[1] * np.ndim(value))
    total = spreads.sum(axis=0)
    share = spreads / np.where(total > 0, total, 1)
    freedom = 1 / np.maximum((share**2 / (sizes - 1)).sum(axis=0), 1e-12)
    wider = np.sqrt((share * sizes / (sizes - 1)).sum(axis=0))
    far = wider * t.ppf((1 + level) / 2, freedom)
    tails = norm.sf(far)
    columns = drawn.reshape(len(drawn), -1).T
    ends = [
        np.quantile(column, (tail, 1 - tail))
        for tail, column in zip(tails.ravel(), columns)
    ]
    low, high = np.reshape(np.transpose(ends), (2, *np.shape(value)))
    # The draws say nothing about a tail of less than one draw: there the end is at least Student's.
    half = far * scale * ((drawn - value) / scale).std(axis=0)
    half = np.where(tails * len(drawn) < 1, half, 0)
    return Interval(
        value, np.minimum(low, value - half), np.maximum(high, value + half)
    )


# ---------------------------------------------------------------- a test


class Permutation(NamedTuple):
    """The result of a permutation test.

    Attributes:
        difference: The mean difference.
        p_value: Two-sided.
        permutations: Number of permutations counted: all, or those drawn.
    """

    difference: float
    p_value: float
    permutations: int


def permutation_test(
    ours: ArrayLike, theirs: ArrayLike, paired: bool = True, resamples: int = 9999
) -> Permutation:
    """Test that two agents do not differ, by permuting their runs.

    Paired by seed, the sign of each difference could have been the other one; unpaired, each run could have been the
    other agent's. No distribution is assumed, and if there is no difference at all, p is below 0.05 in at most 5 % of
    all cases, whatever the number of runs. Of n pairs the least possible p is 2 / 2^n: five pairs never come below
    0.0625, six can come to 0.031; of twice five unpaired runs it is 2 / 252. Means that differ by no more than rounding
    are equal.

    Args:
        ours, theirs: Arrays (runs,), or (runs, tasks): the mean over tasks of each run changes its sign, or sides, so
            nothing is assumed about what a run's tasks share, a seed or an agent that was trained once. If every task
            of every run is independent of all others, pass ours.ravel() and theirs.ravel(): then each is a pair of its
            own, and the least p is smaller.
        paired: Whether runs are paired by seed.
        resamples: The number of permutations to draw if there are more; otherwise all are counted.

    Source:
        Fisher (1935), The design of experiments, section 21, by scipy.stats.permutation_test.

    >>> permutation_test([3.0, 4.0, 6.0, 5.0, 7.0, 9.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    Permutation(difference=2.167, p_value=0.03125, permutations=64)
    """
    from scipy.stats import permutation_test as permute

    one, other = (
        _scores(np.atleast_2d(np.transpose(values)).T, 2) for values in (ours, theirs)
    )
    _same_tasks(one, other)
    if paired:
        sides = [(one - other).mean(axis=1)]
    else:
        middle = (one.mean() + other.mean()) / 2
        sides = [(side - middle).mean(axis=1) for side in (one, other)]

    def gap(*sides, axis=-1):
        means = [side.mean(axis=axis) for side in sides]
        return means[0] - sum(means[1:])

    seen = gap(*sides)
    rounding = ROUNDING * max(abs(one).max(), abs(other).max())

    def statistic(*sides, axis):
        found = gap(*sides, axis=axis)
        return np.where(abs(found - seen) <= rounding, seen, found)

    found = permute(
        sides,
        statistic,
        vectorized=True,
        n_resamples=resamples,
        permutation_type="samples" if paired else "independent",
        random_state=np.random.default_rng(0),
    )
    return Permutation(float(seen), float(found.pvalue), len(found.null_distribution))


# ---------------------------------------------------------------- tables for pictures


def score_matrices(
    table: pd.DataFrame, value: str = "score", task: str = "task"
) -> dict[str, pd.DataFrame]:
    """Return the scores of each agent, {agent: DataFrame (runs, tasks)}, in order of appearance.

    Args:
        table: DataFrame, one row per run: agent, seed, task and the score.
        value, task: Columns of the score and of the task.

    Raises:
        ValueError: If a row is there twice, a score is missing, or agents differ in their tasks: a statistic of some
            tasks does not compare with one of others.
    """
    names = ["agent", "seed", task]
    arguments.has_rows(table, *names, value, what="the table of scores")
    wide = table.pivot(index=["agent", "seed"], columns=task, values=value)
    wide = wide[table[task].unique()]
    if wide.isna().any(axis=None):
        values = wide.isna().stack().idxmax()
        where = ", ".join(f"{name} {value}" for name, value in zip(names, values))
        raise ValueError(
            f"there is no {value} of {where}: every agent needs every run of every task. Leave out "
            "tasks or runs that some lack"
        )
    return {agent: wide.loc[agent] for agent in table["agent"].unique()}


def score_table(
    scores: Mapping[str, ArrayLike],
    statistics: Mapping[str, Callable] | None = None,
    against: str | None = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """Compute statistics of each agent with their stratified bootstrap intervals, one row per statistic and agent.

    Args:
        scores: {agent: array (runs, tasks)}, normalised if tasks differ in their scales: 0 for chance, say, 1 for the
            best known.
        statistics: {name: function of scores}; None is the interquartile mean and the optimality gap, or, against
            another, the probability of improvement. The gap is to a score of 1, and means nothing for raw returns: it
            is left out if every score of every agent is beyond 1.
        against: An agent that all others are compared with: statistics are functions of theirs and its scores.
        level: Coverage, between 0 and 1.

    Returns:
        A DataFrame statistic, agent, value, low, high, runs, tasks, level.

    >>> score_table({"a": [[0.5, 1.0], [0.0, 7.0]]})[["statistic", "value"]].values.tolist()
    [['interquartile mean', 0.75], ['optimality gap', 0.375]]
    >>> score_table({"a": [[1.0], [3.0]], "b": [[0.0], [2.0]]}, against="b")[["statistic", "agent", "value"]].values
    array([['probability of improvement over b', 'a', 0.75]], dtype=object)
    >>> score_table({"a": [[146.0, 190.0], [166.0, 180.0]]})["statistic"].tolist()
    ['interquartile mean']
    """
    _validate(scores)
    theirs = None
    if against is not None:
        theirs = scores[arguments.one_of("against", against, scores)]
    if statistics is None and theirs is not None:
        name = f"probability of improvement over {against}"
        statistics = {name: probability_of_improvement}
    elif statistics is None:
        statistics = {"interquartile mean": interquartile_mean}
        if min(np.min(values) for values in scores.values()) <= 1:
            statistics["optimality gap"] = optimality_gap
    rows = []
    for name, function in statistics.items():
        for agent, values in scores.items():
            if agent != against:
                interval = stratified_interval(values, function, theirs, level)
                rows.append((name, agent, *interval, *np.shape(values), level))
    columns = ["statistic", "agent", "value", "low", "high", "runs", "tasks", "level"]
    return pd.DataFrame(rows, columns=columns)


def _validate(scores):
    """Raise ValueError unless scores are of agents by name."""
    arguments.demand(
        isinstance(scores, Mapping) and scores,
        f"scores are {{agent: array (runs, tasks)}}; got {arguments.in_short(scores)}",
    )


def profile_table(
    scores: Mapping[str, ArrayLike],
    thresholds: ArrayLike | None = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """Compute the performance profile of each agent with its band, one row per agent and threshold.

    Towards both ends of a profile the band is too narrow for few runs: if on each task all runs are above a threshold,
    or none is, it has no width at all. Of one task a true share of 0.1 is held in 40, 68 and 90 % of 1,000 simulated
    studies with 5, 10 and 20 runs, of eight tasks with that share each in 95 to 98 %.

    Args:
        scores: {agent: array (runs, tasks)}.
        thresholds: Array; None takes 101 from the lowest score to the highest of all agents, at least from 0 to 1.
        level: Coverage of each threshold's share by itself.

    Returns:
        A DataFrame agent, threshold, share, low, high, runs, tasks, level.
    """
    _validate(scores)
    if thresholds is None:
        every = np.concatenate([np.ravel(values) for values in scores.values()])
        thresholds = np.linspace(min(0.0, every.min()), max(1.0, every.max()), 101)
    thresholds = np.asarray(thresholds, float)
    parts = []
    for agent, values in scores.items():
        share, low, high = stratified_interval(
            values, lambda some: performance_profile(some, thresholds), level=level
        )
        runs, tasks = np.shape(values)
        columns = {
            "agent": agent,
            "threshold": thresholds,
            "share": share,
            "low": np.clip(low, 0, 1),
            "high": np.clip(high, 0, 1),
            "runs": runs,
            "tasks": tasks,
            "level": level,
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def power_table(
    differences: Sequence[float], spread: float, runs: Sequence[int] = range(2, 51)
) -> pd.DataFrame:
    """Return the `power` of runs paired by seed, a DataFrame difference, runs, power.

    >>> power_table([0.5, 1.0], 1.0, [5, 10]).round(2)["power"].tolist()
    [0.14, 0.29, 0.4, 0.8]
    """
    grid = pd.MultiIndex.from_product([differences, runs], names=["difference", "runs"])
    table = grid.to_frame(index=False)
    return table.assign(power=power(table["difference"], spread, table["runs"]))
