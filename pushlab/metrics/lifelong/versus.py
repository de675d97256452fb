"""A lifetime against single-task experts, who learned nothing else."""

from __future__ import annotations

import pandas as pd

from pushlab.metrics.lifelong.lifetime import Lifetime, Missing
from pushlab.metrics.lifelong.registry import metric


@metric("relative_saturation", unit="ratio", better="higher")
def relative_saturation(life: Lifetime) -> pd.Series:
    """The saturation value of all training of a task, as a multiple of the expert's.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("relative_saturation", ("train", "a", [0, 2, 4]), experts={"a": [[0, 4, 8]]})
    0.5
    >>> by_hand("relative_saturation", ("train", "a", [0, 2, 4]), experts={"a": 8})       # all that is known of it
    0.5

    Source  L2Metrics v0.1, Metrics Overview, 6.
    """
    return _mean_by_task(life, "relative_saturation")


@metric("relative_time", unit="ratio", better="lower")
def relative_time(life: Lifetime) -> pd.Series:
    """The episodes that all training of a task takes to saturate, as a multiple of those the expert takes.

    The episode in which saturation begins counts, so that at once is 1.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("relative_time", ("train", "a", [0, 2, 4, 8]), experts={"a": [[0, 8, 8, 8]]})       # 4 and 2 episodes
    2.0

    Source  L2Metrics v0.1, Metrics Overview, 6.
    """
    return _mean_by_task(life, "relative_time")


@metric("relative_integral", unit="ratio", better="higher")
def relative_integral(life: Lifetime) -> pd.Series:
    """The mean of all training of a task, as a multiple of the expert's.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("relative_integral", ("train", "a", [2, 4]), ("train", "a", [6]), experts={"a": [[0, 4, 8, 4]]})
    1.0

    Source  L2Metrics v0.1, Metrics Overview, 6, of its integral divided by length.
    """
    return _mean_by_task(life, "relative_integral")


@metric("relative_performance", unit="ratio", better="higher")
def relative_performance(life: Lifetime) -> pd.Series:
    """What is earned while a task is learned, as a multiple of what its expert earns in as many episodes.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("relative_performance", ("train", "a", [2, 4]), ("train", "a", [6]), experts={"a": [[0, 4, 4, 99]]})
    1.5

    Source  New et al. (2022), Lifelong Learning Metrics, arXiv 2201.08278; Baker et al. (2023), A domain-agnostic
            approach for characterization of lifelong learning systems, Neural Networks 160, 274-296.
    """
    return _mean_by_task(life, "relative_performance")


@metric("sample_efficiency", unit="ratio", better="higher")
def sample_efficiency(life: Lifetime) -> pd.Series:
    """How high a task saturates and how soon, both as multiples of the expert, multiplied with each other.

    0 where the assumption of a rising curve fails: it saturates below a fifth of the expert's value, or its fitted
    line falls by more than that. (3.1.0 takes every falling line, so that noise about a steady level may do it, and
    does not count the episode in which saturation begins, so that at once has no value.)

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("sample_efficiency", ("train", "a", [0, 2, 4, 4]), experts={"a": [[0, 4, 6, 8]]})    # 4/8 and 4/3
    0.667

    Source  New et al. (2022), Lifelong Learning Metrics, arXiv 2201.08278; Baker et al. (2023), A domain-agnostic
            approach for characterization of lifelong learning systems, Neural Networks 160, 274-296.
    """
    return _mean_by_task(life, "sample_efficiency")


def _mean_by_task(life, column):
    if not life.runs and not life.expert_saturations:
        raise Missing("there is no single-task expert of any task")
    table = life.expert_table
    if not table[column].notna().any():
        raise Missing(
            "no expert has a full log of a task that was learned"
            if not life.runs
            else "no task that was learned has an expert whose values can be divided by"
        )
    for task in life.tasks:
        if (
            len(life.training(task))
            and task not in life.runs
            and task not in life.expert_saturations
        ):
            life.gap(f"{task} has no single-task expert")
    return table.groupby("task")[column].mean().reindex(life.tasks)
