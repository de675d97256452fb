"""Statistics of the scores of a few runs on many tasks.

A score says how well one run did on one task, best on a scale that all tasks share (0 for chance, 1 for the best
known). Scores are arrays with the axes (runs, tasks); more axes may lead, such as the draws of a bootstrap.

Source  Agarwal, Schwarzer, Castro, Courville & Bellemare (2021), Deep reinforcement learning at the edge of the
        statistical precipice, NeurIPS 34, section 4
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pushlab.ground import arguments
from pushlab.metrics.estimate.bootstrap import finite_scores


def interquartile_mean(scores: ArrayLike) -> Any:
    """Mean of the middle half of all scores, runs and tasks together: a float, or an array (…).

    A quarter (rounded down) is left out at either end. An outlier counts as little as in a median, and yet half of the
    scores count.

    scores  array (…, runs, tasks)

    >>> interquartile_mean([[0.0, 0.4], [0.6, 9.0]])             # 0.4 and 0.6 are the middle half
    0.5
    """
    matrix = finite_scores(scores)
    every = matrix.reshape(*matrix.shape[:-2], -1)
    low, high = every.shape[-1] // 4, every.shape[-1] - every.shape[-1] // 4
    return _plain(
        np.partition(every, (low, high - 1), axis=-1)[..., low:high].mean(axis=-1)
    )


def optimality_gap(scores: ArrayLike, target: float = 1.0) -> Any:
    """By how much scores fall short of the target on average, 0 where they do not: a float, or an array (…).

    Less is better. What is beyond the target does not make up for what is short of it.

    scores  array (…, runs, tasks)

    >>> optimality_gap([[0.5, 1.0], [0.0, 7.0]])
    0.375
    """
    arguments.number("target", target)
    return _plain(np.maximum(target - finite_scores(scores), 0).mean(axis=(-2, -1)))


def performance_profile(
    scores: ArrayLike, thresholds: ArrayLike, by: str = "runs"
) -> np.ndarray:
    """Share of runs above each threshold, averaged over tasks: an array (…, thresholds) that falls from 1 to 0.

    scores  array (…, runs, tasks)
    by      "runs" (of all tasks together, the paper's score distribution), or "tasks": share of the tasks whose mean
            over runs is above, which hides the spread of runs and is biased for few of them

    >>> performance_profile([[0.0, 1.0], [0.4, 2.0]], [-1.0, 0.3, 1.0]).tolist()
    [1.0, 0.75, 0.25]
    >>> performance_profile([[0.0, 1.0], [0.4, 2.0]], [-1.0, 0.3, 1.0], by="tasks").tolist()
    [1.0, 0.5, 0.5]
    """
    matrix, at = finite_scores(scores), np.asarray(thresholds, float)
    arguments.demand(
        not np.isnan(at).any(), "thresholds are numbers; one of them is nan"
    )
    if arguments.one_of("by", by, ("runs", "tasks")) == "tasks":
        matrix = matrix.mean(axis=-2, keepdims=True)
    rows = np.sort(matrix.reshape(-1, matrix.shape[-2] * matrix.shape[-1]), axis=-1)
    above = [1 - np.searchsorted(row, at, side="right") / len(row) for row in rows]
    return np.reshape(above, (*matrix.shape[:-2], *at.shape))


def probability_of_improvement(ours: ArrayLike, theirs: ArrayLike) -> Any:
    """Chance that a run of ours beats one of theirs on a task, ties counting half, averaged over tasks.

    It says how often, not by how much: 1/2 where neither is better. A float, or an array (…).

    ours, theirs  arrays (…, runs, tasks) of the same tasks; numbers of runs may differ

    Source  Agarwal et al. (2021), after Mann & Whitney (1947), Annals of Mathematical Statistics 18(1), 50-60

    >>> probability_of_improvement([[1.0], [3.0]], [[0.0], [2.0]])          # three of four pairs
    0.75
    """
    one, other = finite_scores(ours), finite_scores(theirs, name="their scores")
    arguments.demand(
        one.shape[-1] == other.shape[-1],
        "both agents have scores on the same tasks; ours are of "
        f"{one.shape[-1]}, theirs of {other.shape[-1]}",
    )
    wins = np.sign(one[..., :, None, :] - other[..., None, :, :])
    return _plain((1 + wins.mean(axis=(-3, -2, -1))) / 2)


# What an interval cannot leave, for `stratified_interval`.
vars(optimality_gap)["bounds"] = (0.0, np.inf)
vars(probability_of_improvement)["bounds"] = (0.0, 1.0)


def _plain(value):
    return float(value) if np.ndim(value) == 0 else value
