"""How well and how fast a lifetime learns: levels reached, and how long that takes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pushlab.metrics.estimate import median_time
from pushlab.metrics.lifelong.curves import known_mean
from pushlab.metrics.lifelong.lifetime import Lifetime, Missing
from pushlab.metrics.lifelong.registry import metric
from pushlab.metrics.lifelong.rows import TEST, TRAIN

MOST_RETURNS = (
    2000  # recovery times of one task between all pairs of which slopes are taken
)


def slope_between(times: Sequence[float] | np.ndarray) -> float:
    """Theil–Sen slope of equally spaced values: the median of the slopes between all pairs of them.

    Of very many values (above MOST_RETURNS) as many are taken, evenly spread: pairs grow with the square.

    Source  Theil (1950), A rank-invariant method of linear and polynomial regression analysis; Sen (1968).

    >>> slope_between([6, 4, 2, 30])            # slopes -2, -2, 8, -2, 13, 28
    3.0
    """
    times = np.asarray(times, float)
    at = np.arange(len(times))
    if len(at) > MOST_RETURNS:
        at = np.unique(np.linspace(0, len(at) - 1, MOST_RETURNS).astype(int))
    first, second = np.triu_indices(len(at), 1)
    return float(
        np.median((times[at[second]] - times[at[first]]) / (at[second] - at[first]))
    )


@metric("saturation", unit="points", better="higher")
def saturation_value(life: Lifetime) -> pd.Series:
    """The highest level that training maintains: the maximum of the rolling mean, over the task's training blocks.

    The rolling mean spans s = 0.1 of the block (`Settings.saturation_share`). Several numbers of one episode count as
    their mean.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("saturation", ("train", "a", [0, 1, 5, 6, 1, 6, 5, 4]), saturation_share=0.25)      # 5 and 6
    5.5

    Source  L2Metrics v0.1, Metrics Overview, 1. Per task the mean over its training blocks.
    """
    return life.mean_by_task("saturation", _training(life))


@metric("time_to_saturation", unit="episodes", better="lower")
def time_to_saturation(life: Lifetime) -> pd.Series:
    """How many episodes of a block go by before the saturation value is first maintained.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("time_to_saturation", ("train", "a", [0, 1, 5, 6, 1, 6, 5, 4]), saturation_share=0.25)
    2.0

    Source  L2Metrics v0.1, Metrics Overview, 2. Per task the mean over its training blocks.
    """
    return life.mean_by_task("time_to_saturation", _training(life))


@metric("normalized_integral", unit="points", better="higher")
def normalized_integral(life: Lifetime) -> pd.Series:
    """The area under the learning curve of a task, all its training together, divided by its length in episodes.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("normalized_integral", ("train", "a", [0, 4]), ("train", "a", [4, 4, 4, 8]))        # 24 / 6
    4.0

    Source  L2Metrics v0.1, Metrics Overview, 3, which says that only training compares with training.
    """
    _training(life)
    return pd.Series(
        {task: known_mean(life.learning(task)) for task in life.tasks}, dtype=float
    )


@metric("time_to_learn", unit="episodes", better="lower")
def time_to_learn(life: Lifetime) -> pd.Series:
    """How many episodes of a task, all its training blocks in a row, go by before it saturates for good.

    Unlike `time_to_saturation` it counts on from block to block, so that tasks compare.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("time_to_learn", ("train", "a", [0, 0, 5]), ("train", "a", [5, 9, 9]))
    4.0

    Source  L2Metrics v0.1, Metrics Overview, 8, is left blank there; filled by the time in the sample efficiency of
            New et al. (2022), Lifelong Learning Metrics, arXiv 2201.08278.
    """
    _training(life)
    return pd.Series(
        {task: life.saturation(life.learning(task)).time for task in life.tasks},
        dtype=float,
    )


@metric("mean_training_performance", unit="points", better="higher")
def mean_training_performance(life: Lifetime) -> pd.Series:
    """The mean of the training blocks' means.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("mean_training_performance", ("train", "a", [0, 4]), ("train", "a", [4, 4, 4, 8]))  # 2 and 5
    3.5

    Source  New et al. (2022), Lifelong Learning Metrics, arXiv 2201.08278; `avg_train_perf` of l2metrics 3.1.
    """
    return life.mean_by_task("mean", _used(life, TRAIN, "training"))


@metric("mean_evaluation_performance", unit="points", better="higher")
def mean_evaluation_performance(life: Lifetime) -> pd.Series:
    """The mean of the tests' means: how well the lifetime does on all that it is asked, at all times.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("mean_evaluation_performance", ("test", "a", [0, 40]), ("test", "a", [60]), ("test", "a", [70]))
    50.0

    Source  New et al. (2022), Lifelong Learning Metrics, arXiv 2201.08278; `avg_eval_perf` of l2metrics 3.1.
    """
    return life.mean_by_task("mean", evaluations(life))


@metric("recovery_time", unit="episodes", better="lower")
def recovery_time(life: Lifetime) -> pd.Series:
    """How many episodes a task that is trained again takes to be as good as it was at the end of the time before.

    0 is at once. Per task the median over its returns, for which it counts that some may not come back within their
    block (see `pushlab.metrics.estimate.median_time`); inf where half of them do not, and the report says how long they
    had. In between there were other tasks, or other parameters of the same one. Training explores, and so do these
    curves: agents that explore differently differ in this, whatever they forget.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("recovery_time", ("train", "a", [0, 8]), ("train", "b", [1]), ("train", "a", [2, 5, 8, 9]))
    2.0

    Source  L2Metrics v0.1, Metrics Overview, 4 (some versions leave it blank); filled after New et al. (2022),
            Lifelong Learning Metrics, arXiv 2201.08278: the level is the terminal performance, the mean of the last
            tenth of a block.
    """
    times, found = recovery_times(life), {}
    for task, own in times.groupby(life.regimes.loc[times.index, "task"]):
        back = median_time(own, life.regimes.loc[own.index, "count"])
        found[task] = back.median
        if np.isinf(back.median):
            life.gap(
                f"{task} was not back within its block of training: the median is {back.watched:g} or more"
            )
    return pd.Series(found, dtype=float).reindex(life.tasks)


@metric("performance_recovery", unit="episodes per return", better="higher")
def performance_recovery(life: Lifetime) -> pd.Series:
    """Whether recovering gets faster: minus the slope of the recovery times, Theil–Sen.

    Above 0 it needs fewer episodes every time. A task that was once not back within its block has no slope.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("performance_recovery", ("train", "a", [9]), ("train", "a", [0, 0, 0, 9]), ("train", "a", [0, 9]))
    2.0

    Source  New et al. (2022), Lifelong Learning Metrics, arXiv 2201.08278; Baker et al. (2023), A domain-agnostic
            approach for characterization of lifelong learning systems, Neural Networks 160, 274-296.
    """
    times = recovery_times(life)
    grouped = times.groupby(life.regimes.loc[times.index, "task"])
    grouped = {task: own for task, own in grouped if len(own) > 1}
    if not grouped:
        raise Missing(
            "no task is trained three times or more, so that there are no two recovery times to compare"
        )
    found = {
        task: 0.0 - slope_between(own)
        for task, own in grouped.items()
        if np.isfinite(own).all()
    }
    for task in [task for task in grouped if task not in found]:
        life.gap(
            f"{task} was once not back within its block of training: there is no slope of its recovery times"
        )
    return pd.Series(found, dtype=float).reindex(life.tasks)


def evaluations(life: Lifetime) -> pd.DataFrame:
    """Rows of `life.regimes` that are tests; raises Missing if there are none."""
    return _used(life, TEST, "test")


def _used(life, kind, word):
    rows = life.regimes[(life.regimes["block_type"] == kind) & life.regimes["used"]]
    if not len(rows):
        raise Missing(f"the log has no {word} block")
    return rows


def _training(life):
    rows = life.training()
    if not len(rows):
        raise Missing("the log has no training block")
    return rows


def recovery_times(life: Lifetime) -> pd.Series:
    """`life.recovery_times`; raises Missing if there are none."""
    _training(life)
    if not len(life.recovery_times):
        raise Missing("no task is trained a second time")
    return life.recovery_times
