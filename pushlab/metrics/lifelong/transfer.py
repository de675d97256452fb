"""What learning one task does for another: its tests before and after."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import permutations

import numpy as np
import pandas as pd

from pushlab.metrics.lifelong.curves import known_mean
from pushlab.metrics.lifelong.learning import evaluations
from pushlab.metrics.lifelong.lifetime import Lifetime, Missing
from pushlab.metrics.lifelong.registry import metric
from pushlab.metrics.lifelong.rows import TEST, TRAIN

PAIR_COLUMNS = ["learned", "tested", "block", "regime", "value"]


def ratio(before: float, after: float) -> float | None:
    """After in units of before; None where before is 0.

    >>> ratio(20.0, 50.0), ratio(0.0, 50.0)
    (2.5, None)
    """
    return after / before if before else None


def contrast(before: float, after: float) -> float | None:
    """The change as a share of both levels, from -1 (all lost) to 1 (from nothing); None where both are 0.

    >>> contrast(20.0, 60.0), contrast(60.0, 20.0)
    (0.5, -0.5)
    """
    return (after - before) / (after + before) if after + before else None


@metric(
    "forward_transfer_ratio",
    ("ANT_B",),
    "ratio",
    "higher",
    {"transfer": ("ratio", "both")},
)
def forward_transfer_ratio(life: Lifetime) -> pd.DataFrame:
    """How many times better a task is tested after another was learned than before, itself not learned yet.

    Ratios are taken of what was measured, not of what was normalised: see `for_ratios` of Lifetime. A test at 0 has no
    ratio. The lifetime's value is over the first of each pair of tasks, so that each pair weighs the same.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("forward_transfer_ratio", ("test", {"a": [10], "b": [20]}), ("train", "a", [50]),
    ...         ("test", {"a": [50], "b": [30]}), ("train", "b", [60]))
    1.5

    Source  New et al. (2022), Lifelong Learning Metrics, arXiv 2201.08278 (L2Metrics v0.1 leaves its "forward transfer"
            blank); Baker et al. (2023), A domain-agnostic approach for characterization of lifelong learning systems,
            Neural Networks 160, 274-296.
    """
    return transfer(life, forward=True, change=ratio)


@metric(
    "forward_transfer_contrast",
    ("ANT_B",),
    "share",
    "higher",
    {"transfer": ("contrast", "both")},
)
def forward_transfer_contrast(life: Lifetime) -> pd.DataFrame:
    """The same as a share: (after - before) / (after + before), between -1 and 1.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("forward_transfer_contrast", ("test", {"a": [10], "b": [20]}), ("train", "a", [50]),
    ...         ("test", {"a": [50], "b": [30]}), ("train", "b", [60]))
    0.2

    Source  New et al. (2022); Baker et al. (2023), see `forward_transfer_ratio`.
    """
    return transfer(life, forward=True, change=contrast)


@metric(
    "backward_transfer_ratio",
    ("ANT_B",),
    "ratio",
    "higher",
    {"transfer": ("ratio", "both")},
)
def backward_transfer_ratio(life: Lifetime) -> pd.DataFrame:
    """How many times better a task that was learned before is tested after another was learned than before.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("backward_transfer_ratio", ("train", "a", [50]), ("test", "a", [40]), ("train", "b", [60]),
    ...         ("test", "a", [30]))
    0.75

    Source  New et al. (2022); Baker et al. (2023), see `forward_transfer_ratio`.
    """
    return transfer(life, forward=False, change=ratio)


@metric(
    "backward_transfer_contrast",
    ("ANT_B",),
    "share",
    "higher",
    {"transfer": ("contrast", "both")},
)
def backward_transfer_contrast(life: Lifetime) -> pd.DataFrame:
    """The same as a share: (after - before) / (after + before), between -1 and 1.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("backward_transfer_contrast", ("train", "a", [50]), ("test", "a", [60]), ("train", "b", [60]),
    ...         ("test", "a", [20]))
    -0.5

    Source  New et al. (2022); Baker et al. (2023), see `forward_transfer_ratio`.
    """
    return transfer(life, forward=False, change=contrast)


@metric("forward_transfer_expert", ("ANT_B",), "ratio", "higher")
def forward_transfer_expert(life: Lifetime) -> pd.Series:
    """How good a task that was not learned yet is after others were, as a multiple of its expert's saturation value.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("forward_transfer_expert", ("train", "a", [50]), ("test", "b", [30]), ("train", "b", [60]),
    ...         experts={"b": [[10, 60]]})
    0.5

    Source  L2Metrics v0.1, Metrics Overview, 6: the transfer matrices that the experts' values are for, above their
            diagonal.
    """
    evaluations(life)
    if not life.runs and not life.expert_saturations:
        raise Missing("there is no single-task expert of any task")
    known = life.expert_saturations_for_ratios
    found = {}
    for task in life.tasks:
        rows, own = life.tests_before_learning(task), known.get(task)
        if len(rows) and own:
            found[task] = float(
                np.mean(
                    [
                        life.saturation(life.curve(row, "for_ratios")).value
                        for row in rows
                    ]
                )
                / own
            )
    if not found:
        raise Missing(
            "no task that has an expert is tested after another is learned, itself not learned yet"
        )
    return pd.Series(found, dtype=float).reindex(life.tasks)


def transfer(life: Lifetime, forward: bool, change: Callable) -> pd.DataFrame:
    """Changes of tests over the training of other tasks, a DataFrame learned, tested, block, regime, value.

    forward   tests of a task that was not learned yet; else of one that was
    change    function of the tests' terminal performances before and after; None where it has no value
    A row is a pair of consecutive tests with the training of `learned` between them, and none of `tested` itself:
    that would be learning, not transfer. Two tasks learned between the same tests get a row each.
    """
    own = {name: life.of_variant(name, TRAIN) for name in life.variants}
    pairs = [
        pair
        for pair in pairs_of_tests(life, forward)
        if not ((own[pair[1]] > pair[2]) & (own[pair[1]] < pair[3])).any()
    ]
    levels = np.array(
        [known_mean(life.curve(row, "for_ratios")) for row in range(len(life.regimes))]
    )
    return changes(life, pairs, levels, forward, change)


def pairs_of_tests(
    life: Lifetime, forward: bool
) -> Iterator[tuple[str, str, int, int]]:
    """Yields (learned, tested, before, after): consecutive tests of one, rows of `regimes`, the other trained between.

    Raises Missing if there are no tests, or only one task.
    """
    evaluations(life)
    if len(life.variants) < 2:
        raise Missing("there is only one task")
    trained = {name: life.of_variant(name, TRAIN) for name in life.variants}
    tests = {name: life.of_variant(name, TEST) for name in life.variants}
    for learned, tested in permutations(life.variants, 2):
        causes, first = trained[learned], trained[tested][:1]
        if forward:
            causes = causes[causes < first] if len(first) else causes
        else:
            causes = causes[causes > first] if len(first) else first
        between = np.diff(np.searchsorted(causes, tests[tested])) > 0
        for before, after in zip(
            tests[tested][:-1][between], tests[tested][1:][between]
        ):
            yield learned, tested, before, after


def changes(
    life: Lifetime,
    pairs: Iterable[tuple[str, str, int, int]],
    levels: np.ndarray,
    forward: bool,
    change: Callable,
) -> pd.DataFrame:
    """The table of `transfer` of some `pairs_of_tests`; `levels` has the terminal performance of every regime."""
    rows, undefined = [], False
    for learned, tested, before, after in pairs:
        value = change(levels[before], levels[after])
        undefined |= value is None
        if value is not None and np.isfinite(value):
            rows.append(
                (learned, tested, life.regimes["block"].iat[after], after, value)
            )
    if not rows:
        raise Missing(
            "all tests before are at 0, of which nothing is a multiple"
            if undefined
            else "no task is tested before and after another is learned, itself not learned yet"
            if forward
            else "no task is tested, after it was learned, before and after another is learned"
        )
    table = pd.DataFrame(rows, columns=PAIR_COLUMNS).sort_values(
        "regime", kind="stable", ignore_index=True
    )
    return table.assign(regime=life.regimes["regime"].to_numpy()[table["regime"]])
