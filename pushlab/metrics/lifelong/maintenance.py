"""Whether a lifetime keeps what it learned: tests held against what the task once could."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pushlab.metrics.lifelong.learning import evaluations
from pushlab.metrics.lifelong.lifetime import Lifetime, Missing
from pushlab.metrics.lifelong.registry import metric
from pushlab.metrics.lifelong.rows import TEST, TRAIN


@metric(
    "performance_maintenance_mrlep",
    unit="points",
    better="higher",
    chosen={"maintenance": ("mrlep", "both")},
)
def performance_maintenance_mrlep(life: Lifetime) -> pd.Series:
    """How a task's later tests differ from the first one after it was last learned: below 0 it was forgotten.

    MRLEP is the most recent learning evaluation performance.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("performance_maintenance_mrlep", ("train", "a", [90]), ("test", "a", [80]), ("train", "b", [90]),
    ...         ("test", "a", [60]), ("train", "b", [90]), ("test", "a", [40]))         # -20 and -40
    -30.0

    Source  New et al. (2022), Lifelong Learning Metrics, arXiv 2201.08278; Baker et al. (2023), A domain-agnostic
            approach for characterization of lifelong learning systems, Neural Networks 160, 274-296.
    """
    return _mean_difference(life, "maintenance_mrlep")


@metric(
    "performance_maintenance_mrtlp",
    unit="points",
    better="higher",
    chosen={"maintenance": ("mrtlp", "both")},
)
def performance_maintenance_mrtlp(life: Lifetime) -> pd.Series:
    """How a task's later tests differ from the end of its last training: below 0 it was forgotten.

    MRTLP is the most recent terminal learning performance, the mean of the last tenth of a training block. The first
    test after it does not count: nothing else was learned yet.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("performance_maintenance_mrtlp", ("train", "a", [90]), ("test", "a", [80]), ("train", "b", [90]),
    ...         ("test", "a", [60]), ("train", "b", [90]), ("test", "a", [40]))         # -30 and -50
    -40.0

    Source  New et al. (2022), Lifelong Learning Metrics, arXiv 2201.08278; Baker et al. (2023), A domain-agnostic
            approach for characterization of lifelong learning systems, Neural Networks 160, 274-296.
    """
    return _mean_difference(life, "maintenance_mrtlp")


@metric("maintenance_saturation", unit="points", better="higher")
def maintenance_saturation(life: Lifetime) -> pd.Series:
    """How the saturation value of a task's tests differs from that of its last training, all tests after it.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("maintenance_saturation", ("train", "a", [10, 90]), ("test", "a", [90]), ("test", "a", [50]))
    -20.0

    Source  L2Metrics v0.1, Metrics Overview, 5: every metric of training, computed on the test sets, and the
            difference. There the first training is meant and a loss counts above 0; here the most recent, and below.
    """
    return _test_less_training(life, "saturation")


@metric("maintenance_time", unit="episodes", better="lower")
def maintenance_time(life: Lifetime) -> pd.Series:
    """How the time to saturation of a task's tests differs from that of its last training.

    A test does not learn, so that one without chance saturates at once.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("maintenance_time", ("train", "a", [10, 20, 90]), ("test", "a", [90, 90]), ("test", "a", [50, 60]))
    -1.5

    Source  L2Metrics v0.1, Metrics Overview, 5, see `maintenance_saturation`.
    """
    return _test_less_training(life, "time_to_saturation")


@metric("maintenance_integral", unit="points", better="higher")
def maintenance_integral(life: Lifetime) -> pd.Series:
    """How the mean of a task's tests differs from the mean of its last training.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("maintenance_integral", ("train", "a", [30, 90]), ("test", "a", [80]), ("test", "a", [50]))
    5.0

    Source  L2Metrics v0.1, Metrics Overview, 5, see `maintenance_saturation`; the integral divided by its length.
    """
    return _test_less_training(life, "mean")


def maintenance_table(life: Lifetime) -> pd.DataFrame:
    """Differences of tests from what the task could when it was last learned, a DataFrame with a row a test regime.

    Index rows of `life.regimes`; columns maintenance_mrlep, maintenance_mrtlp. The first test after a training is the
    reference itself, so that it has no row, nor do tests before it.
    """
    terminal, found = life.regimes["terminal"].to_numpy(), {}
    for variant in life.variants:
        training, tests = (
            life.of_variant(variant, TRAIN),
            life.of_variant(variant, TEST),
        )
        after = np.searchsorted(tests, training)
        references = tests[after[after < len(tests)]]
        for test in np.setdiff1d(tests, references):
            earlier = references[references < test]
            if len(earlier):
                learned = training[training < test][-1]
                found[test] = (
                    terminal[test] - terminal[earlier[-1]],
                    terminal[test] - terminal[learned],
                )
    columns = ["maintenance_mrlep", "maintenance_mrtlp"]
    return pd.DataFrame.from_dict(
        found, orient="index", columns=columns, dtype=float
    ).sort_index()


def _mean_difference(life, column):
    evaluations(life)
    table = maintenance_table(life)
    if not len(table):
        raise Missing("no task is tested again after something else was learned")
    return _mean_of_tests(life, table[column])


def _test_less_training(life, column):
    evaluations(life)
    values, found = life.regimes[column].to_numpy(float), {}
    for variant in life.variants:
        training = life.of_variant(variant, TRAIN)
        for test in life.of_variant(variant, TEST):
            if len(training) and training[0] < test:
                found[test] = values[test] - values[training[training < test][-1]]
    if not found:
        raise Missing("no task is tested after its training")
    return _mean_of_tests(life, pd.Series(found, dtype=float))


def _mean_of_tests(life, values):
    """The mean of some tests' values for each task, a Series; `values` is one by rows of `life.regimes`."""
    return (
        values.groupby(life.regimes.loc[values.index, "task"])
        .mean()
        .reindex(life.tasks)
    )
