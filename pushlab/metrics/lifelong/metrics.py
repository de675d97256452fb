"""The lifelong metrics, and the registry that reports, tables and the command line read them from.

- `learning`: levels reached, and how long that takes
- `maintenance`: tests compared with what the task once could
- `transfer`: effects of learning one task on another
- `experts`: a lifetime compared with agents that learned one task only

Each says where it comes from and shows a case that can be worked out by hand. Reports list them in
this order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pandas as pd

from pushlab.ground.arguments import demand, one_of, some_of
from pushlab.metrics.lifelong.curves import known_mean
from pushlab.metrics.lifelong.lifetime import Lifetime, Missing
from pushlab.metrics.lifelong.log import TEST, TRAIN
from pushlab.metrics.lifelong.settings import Settings

# Structures of a syllabus: continual learning, and two ways of adapting to new tasks.
SYLLABUS_TYPES = ("CL", "ANT_A", "ANT_B")
# All metrics by name, in the order in which reports list them.
METRICS: dict[str, Metric] = {}
PAIR_COLUMNS = ["learned", "tested", "block", "regime", "value"]


# ---------------------------------------------------------------- the registry


@dataclass(frozen=True)
class Metric:
    """A registered metric.

    Attributes:
        name: Its name in reports, tables and on the command line.
        function: Function of a Lifetime; returns a number, a Series by task, or a DataFrame of pairs with the columns
            learned, tested and value (and block).
        syllabus: The syllabus types that it is computed for.
        unit: Unit of its values: "points" on the scale of the settings, "episodes", "ratio", …
        better: "higher", "lower", or None.
        chosen: {setting: values}; reports with another value of that setting leave the metric out.
    """

    name: str
    function: Callable
    syllabus: tuple[str, ...] = SYLLABUS_TYPES
    unit: str = ""
    better: str | None = None
    chosen: Mapping | None = None

    @property
    def about(self) -> str:
        """The first sentence of the function's docstring."""
        return (self.function.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")


def metric(
    name: str,
    syllabus: str | Iterable[str] = SYLLABUS_TYPES,
    unit: str = "",
    better: str | None = None,
    chosen: Mapping | None = None,
) -> Callable[[Callable], Callable]:
    """Decorator that registers a function of a Lifetime as a metric of every report, table and the command line.

    The function returns a number, a Series by task (reports then take the mean over tasks, or the median), or a
    DataFrame of pairs of tasks. If it lacks something it raises `Missing` with the reason.

    Args:
        name, syllabus, unit, better, chosen: See Metric. A name that is taken is replaced, so a cell can run twice.

    >>> @metric("best_test", unit="points", better="higher")
    ... def best_test(life):
    ...     '''The best test of all.'''
    ...     return life.regimes.loc[life.regimes["block_type"] == "test", "mean"].max()
    >>> METRICS["best_test"].about, "best_test" in metrics_for("CL")
    ('The best test of all.', True)
    >>> unregister("best_test")
    """
    is_name = isinstance(name, str) and name
    demand(is_name, f'a name is expected, as in @metric("my_metric"); got {name!r}')
    if not isinstance(syllabus, str):
        syllabus = tuple(syllabus)
    syllabus = some_of("syllabus", syllabus, SYLLABUS_TYPES)

    def register(function):
        METRICS[name] = Metric(name, function, syllabus, unit, better, chosen)
        return function

    return register


def unregister(name: str) -> None:
    """Remove a metric from the registry."""
    METRICS.pop(name, None)


def metrics_for(
    syllabus_type: str | None = None, settings: Settings | None = None
) -> dict[str, Metric]:
    """Return {name: Metric} of the metrics for a syllabus type (None: any) and settings (None: the usual)."""
    one_of("syllabus_type", syllabus_type, (None, *SYLLABUS_TYPES))
    settings = settings or Settings()
    found = {}
    for name, candidate in METRICS.items():
        choices = candidate.chosen or {}
        is_chosen = all(getattr(settings, key) in choices[key] for key in choices)
        if is_chosen and syllabus_type in (None, *candidate.syllabus):
            found[name] = candidate
    return found


# ---------------------------------------------------------------- learning


@metric("saturation", unit="points", better="higher")
def saturation_value(life: Lifetime) -> pd.Series:
    """The highest level that training maintains: the maximum of the rolling mean, over the task's training blocks.

    The rolling mean spans s = 0.1 of the block (`Settings.saturation_share`). Several numbers of one episode count as
    their mean.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("saturation", ("train", "a", [0, 1, 5, 6, 1, 6, 5, 4]), saturation_share=0.25)      # 5 and 6
    5.5

    Source:
        L2Metrics v0.1, Metrics Overview, 1. Per task the mean over its training blocks.
    """
    return life.mean_by_task("saturation", _training(life))


@metric("time_to_saturation", unit="episodes", better="lower")
def time_to_saturation(life: Lifetime) -> pd.Series:
    """The number of episodes of a block before the saturation value is first maintained.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("time_to_saturation", ("train", "a", [0, 1, 5, 6, 1, 6, 5, 4]), saturation_share=0.25)
    2.0

    Source:
        L2Metrics v0.1, Metrics Overview, 2. Per task the mean over its training blocks.
    """
    return life.mean_by_task("time_to_saturation", _training(life))


@metric("normalized_integral", unit="points", better="higher")
def normalized_integral(life: Lifetime) -> pd.Series:
    """The area under the learning curve of a task, all its training together, divided by its length in episodes.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("normalized_integral", ("train", "a", [0, 4]), ("train", "a", [4, 4, 4, 8]))        # 24 / 6
    4.0

    Source:
        L2Metrics v0.1, Metrics Overview, 3, which says that only training compares with training.
    """
    _training(life)
    return _by_task(life, lambda task: known_mean(life.learning(task)))


@metric("time_to_learn", unit="episodes", better="lower")
def time_to_learn(life: Lifetime) -> pd.Series:
    """The number of episodes of a task, all its training blocks in a row, before it saturates for good.

    Unlike `time_to_saturation` it counts on from block to block, so that tasks compare.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("time_to_learn", ("train", "a", [0, 0, 5]), ("train", "a", [5, 9, 9]))
    4.0

    Source:
        L2Metrics v0.1, Metrics Overview, 8, is left blank there; filled by the time in the sample efficiency of New et
        al. (2022), Lifelong Learning Metrics, arXiv 2201.08278.
    """
    _training(life)
    return _by_task(life, lambda task: life.saturation(life.learning(task)).time)


@metric("mean_training_performance", unit="points", better="higher")
def mean_training_performance(life: Lifetime) -> pd.Series:
    """The mean of the training blocks' means.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("mean_training_performance", ("train", "a", [0, 4]), ("train", "a", [4, 4, 4, 8]))  # 2 and 5
    3.5

    Source:
        New et al. (2022), Lifelong Learning Metrics, arXiv 2201.08278; `avg_train_perf` of l2metrics 3.1.
    """
    is_trained = life.regimes["block_type"] == TRAIN
    return life.mean_by_task("mean", life.regimes[is_trained])


@metric("mean_evaluation_performance", unit="points", better="higher")
def mean_evaluation_performance(life: Lifetime) -> pd.Series:
    """The mean of the tests' means: the performance on all tasks at all times.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("mean_evaluation_performance", ("test", "a", [0, 40]), ("test", "a", [60]), ("test", "a", [70]))
    50.0

    Source:
        New et al. (2022), Lifelong Learning Metrics, arXiv 2201.08278; `avg_eval_perf` of l2metrics 3.1.
    """
    return life.mean_by_task("mean", life.tests())


@metric("recovery_time", unit="episodes", better="lower")
def recovery_time(life: Lifetime) -> pd.Series:
    """The number of episodes a task that is trained again takes to be as good as at the end of the time before.

    0 is at once. Per task it is the median over its returns, which accounts for those that don't come back within
    their block (see `pushlab.metrics.estimate.median_time`). It is inf if half of them don't, and the report says how
    long they had. In between there were other tasks, or other parameters of the same one. Training explores, and so do
    these curves: agents that explore differently differ in this, whatever they forget.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("recovery_time", ("train", "a", [0, 8]), ("train", "b", [1]), ("train", "a", [2, 5, 8, 9]))
    2.0

    Source:
        L2Metrics v0.1, Metrics Overview, 4 (some versions leave it blank); filled after New et al. (2022), Lifelong
        Learning Metrics, arXiv 2201.08278: the level is the terminal performance, the mean of the last tenth of a
        block.
    """
    times = {
        task: life.typical_recovery(task, own) for task, own in recovery_times(life)
    }
    return pd.Series(times, dtype=float).reindex(life.tasks)


@metric("performance_recovery", unit="episodes per return", better="higher")
def performance_recovery(life: Lifetime) -> pd.Series:
    """Whether recovering gets faster: minus the Theil–Sen slope of the recovery times.

    Above 0 it needs fewer episodes every time. A task that was once not back within its block has no slope.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("performance_recovery", ("train", "a", [9]), ("train", "a", [0, 0, 0, 9]), ("train", "a", [0, 9]))
    2.0

    Source:
        New et al. (2022), Lifelong Learning Metrics, arXiv 2201.08278; Baker et al. (2023), A domain-agnostic approach
        for characterization of lifelong learning systems, Neural Networks 160, 274-296. The slope, by
        scipy.stats.theilslopes: Theil (1950), A rank-invariant method of linear and polynomial regression analysis;
        Sen (1968).
    """
    from scipy.stats import theilslopes

    times = {task: own for task, own in recovery_times(life) if len(own) > 1}
    if not times:
        raise Missing(
            "no task is trained three times or more, so that there are no two recovery times to compare"
        )
    slopes = {}
    for task, own in times.items():
        if np.isfinite(own).all():
            slopes[task] = 0.0 - theilslopes(own)[0]
        else:
            life.gap(
                f"{task} was once not back within its block of training: there is no slope of its recovery times"
            )
    return pd.Series(slopes, dtype=float).reindex(life.tasks)


def recovery_times(life: Lifetime) -> Iterable[tuple[str, pd.Series]]:
    """Return (task, its recovery times) of the tasks that are trained again. Raises Missing if there are none."""
    _training(life)
    times = life.recovery_times
    if not len(times):
        raise Missing("no task is trained a second time")
    return times.groupby(life.regimes.loc[times.index, "task"])


def _training(life):
    rows = life.training()
    if not len(rows):
        raise Missing("the log has no training block")
    return rows


def _by_task(life, function):
    return pd.Series({task: function(task) for task in life.tasks}, dtype=float)


# ---------------------------------------------------------------- maintenance


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

    Source:
        New et al. (2022), Lifelong Learning Metrics, arXiv 2201.08278; Baker et al. (2023), A domain-agnostic approach
        for characterization of lifelong learning systems, Neural Networks 160, 274-296.
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
    test after it doesn't count: nothing else was learned yet.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("performance_maintenance_mrtlp", ("train", "a", [90]), ("test", "a", [80]), ("train", "b", [90]),
    ...         ("test", "a", [60]), ("train", "b", [90]), ("test", "a", [40]))         # -30 and -50
    -40.0

    Source:
        New et al. (2022), Lifelong Learning Metrics, arXiv 2201.08278; Baker et al. (2023), A domain-agnostic approach
        for characterization of lifelong learning systems, Neural Networks 160, 274-296.
    """
    return _mean_difference(life, "maintenance_mrtlp")


@metric("maintenance_saturation", unit="points", better="higher")
def maintenance_saturation(life: Lifetime) -> pd.Series:
    """How the saturation value of a task's tests differs from that of its last training, all tests after it.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("maintenance_saturation", ("train", "a", [10, 90]), ("test", "a", [90]), ("test", "a", [50]))
    -20.0

    Source:
        L2Metrics v0.1, Metrics Overview, 5: every metric of training, computed on the test sets, and the difference.
        There the first training is meant and a loss counts above 0; here the most recent, and below.
    """
    return _test_less_training(life, "saturation")


@metric("maintenance_time", unit="episodes", better="lower")
def maintenance_time(life: Lifetime) -> pd.Series:
    """How the time to saturation of a task's tests differs from that of its last training.

    A test doesn't learn, so one without chance saturates at once.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("maintenance_time", ("train", "a", [10, 20, 90]), ("test", "a", [90, 90]), ("test", "a", [50, 60]))
    -1.5

    Source:
        L2Metrics v0.1, Metrics Overview, 5, see `maintenance_saturation`.
    """
    return _test_less_training(life, "time_to_saturation")


@metric("maintenance_integral", unit="points", better="higher")
def maintenance_integral(life: Lifetime) -> pd.Series:
    """How the mean of a task's tests differs from the mean of its last training.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("maintenance_integral", ("train", "a", [30, 90]), ("test", "a", [80]), ("test", "a", [50]))
    5.0

    Source:
        L2Metrics v0.1, Metrics Overview, 5, see `maintenance_saturation`; the integral divided by its length.
    """
    return _test_less_training(life, "mean")


def maintenance_table(life: Lifetime) -> pd.DataFrame:
    """Return how tests differ from the level when the task was last learned, by rows of `life.regimes`.

    Columns maintenance_mrlep, maintenance_mrtlp. The first test after a training is the level itself, so it has no row,
    nor do tests before it.
    """
    terminal = life.regimes["terminal"].to_numpy()
    found = {}
    for variant in life.variants:
        training = life.of_variant(variant, TRAIN)
        tests = life.of_variant(variant, TEST)
        after = np.searchsorted(tests, training)
        first_tests = tests[after[after < len(tests)]]
        for test in np.setdiff1d(tests, first_tests):
            earlier = first_tests[first_tests < test]
            if len(earlier):
                learned = training[training < test][-1]
                found[test] = terminal[test] - terminal[[earlier[-1], learned]]
    columns = ["maintenance_mrlep", "maintenance_mrtlp"]
    table = pd.DataFrame.from_dict(found, "index", columns=columns, dtype=float)
    return table.sort_index()


def _mean_difference(life, column):
    life.tests()
    table = maintenance_table(life)
    if not len(table):
        raise Missing("no task is tested again after something else was learned")
    return life.mean_by_task(column, life.regimes[["task"]].join(table))


def _test_less_training(life, column):
    life.tests()
    values = life.regimes[column].to_numpy(float)
    found = {}
    for variant in life.variants:
        training = life.of_variant(variant, TRAIN)
        for test in life.of_variant(variant, TEST):
            earlier = training[training < test]
            if len(earlier):
                found[test] = values[test] - values[earlier[-1]]
    if not found:
        raise Missing("no task is tested after its training")
    difference = pd.Series(found, dtype=float)
    return life.mean_by_task("value", life.regimes[["task"]].assign(value=difference))


# ---------------------------------------------------------------- transfer


def ratio(before: float, after: float) -> float | None:
    """Return after in units of before; None if before is 0.

    >>> ratio(20.0, 50.0), ratio(0.0, 50.0)
    (2.5, None)
    """
    return after / before if before else None


def contrast(before: float, after: float) -> float | None:
    """Return the change as a share of both levels, from -1 (all lost) to 1 (from nothing); None if both are 0.

    >>> contrast(20.0, 60.0), contrast(60.0, 20.0)
    (0.5, -0.5)
    """
    return (after - before) / (after + before) if after + before else None


RATIO = {"transfer": ("ratio", "both")}
CONTRAST = {"transfer": ("contrast", "both")}


@metric("forward_transfer_ratio", "ANT_B", "ratio", "higher", RATIO)
def forward_transfer_ratio(life: Lifetime) -> pd.DataFrame:
    """How many times better a task is tested after another was learned than before, itself not learned yet.

    Ratios are those of measured values, not of normalised ones: see `for_ratios` of Lifetime. A test at 0 has no
    ratio. The lifetime's value is over the first of each pair of tasks, so that each pair weighs the same.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("forward_transfer_ratio", ("test", {"a": [10], "b": [20]}), ("train", "a", [50]),
    ...         ("test", {"a": [50], "b": [30]}), ("train", "b", [60]))
    1.5

    Source:
        New et al. (2022), Lifelong Learning Metrics, arXiv 2201.08278 (L2Metrics v0.1 leaves its "forward transfer"
        blank); Baker et al. (2023), A domain-agnostic approach for characterization of lifelong learning systems,
        Neural Networks 160, 274-296.
    """
    return transfer(life, forward=True, change=ratio)


@metric("forward_transfer_contrast", "ANT_B", "share", "higher", CONTRAST)
def forward_transfer_contrast(life: Lifetime) -> pd.DataFrame:
    """The same as a share: (after - before) / (after + before), between -1 and 1.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("forward_transfer_contrast", ("test", {"a": [10], "b": [20]}), ("train", "a", [50]),
    ...         ("test", {"a": [50], "b": [30]}), ("train", "b", [60]))
    0.2

    Source:
        New et al. (2022); Baker et al. (2023), see `forward_transfer_ratio`.
    """
    return transfer(life, forward=True, change=contrast)


@metric("backward_transfer_ratio", "ANT_B", "ratio", "higher", RATIO)
def backward_transfer_ratio(life: Lifetime) -> pd.DataFrame:
    """How many times better a task that was learned before is tested after another was learned than before.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("backward_transfer_ratio", ("train", "a", [50]), ("test", "a", [40]), ("train", "b", [60]),
    ...         ("test", "a", [30]))
    0.75

    Source:
        New et al. (2022); Baker et al. (2023), see `forward_transfer_ratio`.
    """
    return transfer(life, forward=False, change=ratio)


@metric("backward_transfer_contrast", "ANT_B", "share", "higher", CONTRAST)
def backward_transfer_contrast(life: Lifetime) -> pd.DataFrame:
    """The same as a share: (after - before) / (after + before), between -1 and 1.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("backward_transfer_contrast", ("train", "a", [50]), ("test", "a", [60]), ("train", "b", [60]),
    ...         ("test", "a", [20]))
    -0.5

    Source:
        New et al. (2022); Baker et al. (2023), see `forward_transfer_ratio`.
    """
    return transfer(life, forward=False, change=contrast)


@metric("forward_transfer_expert", "ANT_B", "ratio", "higher")
def forward_transfer_expert(life: Lifetime) -> pd.Series:
    """How good a task that was not learned yet is after others were, as a multiple of its expert's saturation value.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("forward_transfer_expert", ("train", "a", [50]), ("test", "b", [30]), ("train", "b", [60]),
    ...         experts={"b": [[10, 60]]})
    0.5

    Source:
        L2Metrics v0.1, Metrics Overview, 6: the transfer matrices that the experts' values are for, above their
        diagonal.
    """
    tests = life.tests()
    regimes = life.regimes
    training = regimes[regimes["block_type"] == TRAIN]
    found = {}
    _validate_experts(life)
    for task in life.runs:
        is_own = training["task"] == task
        first = training.index[~is_own].min()  # NaN if there is none
        own = training.index[is_own].min()
        rows = tests.index[tests["task"] == task]
        rows = rows[(rows > first) & ~(rows >= own)]
        experts = life.expert_curves(task, for_ratios=True)
        known = np.mean([life.saturation(*expert).value for expert in experts])
        if len(rows) and known:
            curves = [life.curve(row, "for_ratios") for row in rows]
            levels = [life.saturation(curve).value for curve in curves]
            found[task] = np.mean(levels) / known
    if not found:
        raise Missing(
            "no task that has an expert is tested after another is learned, itself not learned yet"
        )
    return pd.Series(found, dtype=float).reindex(life.tasks)


def transfer(life: Lifetime, forward: bool, change: Callable) -> pd.DataFrame:
    """Return changes of tests over the training of other tasks, a DataFrame learned, tested, block, regime, value.

    A row is a pair of consecutive tests with the training of `learned` between them, and none of `tested` itself:
    that would be learning, not transfer. Two tasks learned between the same tests get a row each.

    Args:
        life: The lifetime.
        forward: Tests of a task that was not learned yet; otherwise of one that was.
        change: Function of the tests' terminal performances before and after; None if it has no value.
    """
    rows = []
    is_undefined = False
    for learned, tested, before, after in life.transfer_pairs(
        pairs_of_tests(life, forward)
    ):
        value = change(life.transfer_level(before), life.transfer_level(after))
        if value is None:
            is_undefined = True
        elif np.isfinite(value):
            block = life.regimes["block"].iat[after]
            rows.append((learned, tested, block, after, value))
    if not rows:
        reason = "no task is tested, after it was learned, before and after another is learned"
        if forward:
            reason = "no task is tested before and after another is learned, itself not learned yet"
        if is_undefined:
            reason = "all tests before are at 0, of which nothing is a multiple"
        raise Missing(reason)
    table = pd.DataFrame(rows, columns=PAIR_COLUMNS)
    table = table.sort_values("regime", kind="stable", ignore_index=True)
    return table.assign(regime=life.regimes["regime"].to_numpy()[table["regime"]])


def pairs_of_tests(
    life: Lifetime, forward: bool
) -> Iterator[tuple[str, str, int, int]]:
    """Yield (learned, tested, before, after): consecutive tests of one, rows of `regimes`, the other trained between.

    Raises:
        Missing: If there are no tests, or only one task.
    """
    life.tests()
    if len(life.variants) < 2:
        raise Missing("there is only one task")
    trained = {name: life.of_variant(name, TRAIN) for name in life.variants}
    for learned, tested in permutations(life.variants, 2):
        tests = life.of_variant(tested, TEST)
        causes = trained[learned]
        first = trained[tested][:1]
        if len(first):
            causes = causes[(causes < first) == forward]
        elif not forward:
            continue
        between = np.flatnonzero(np.diff(np.searchsorted(causes, tests)))
        for at in between:
            yield learned, tested, tests[at], tests[at + 1]


# ---------------------------------------------------------------- experts


@metric("relative_saturation", unit="ratio", better="higher")
def relative_saturation(life: Lifetime) -> pd.Series:
    """The saturation value of all training of a task, as a multiple of the expert's.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("relative_saturation", ("train", "a", [0, 2, 4]), experts={"a": [[0, 4, 8]]})
    0.5
    >>> by_hand("relative_saturation", ("train", "a", [0, 2, 4]), experts={"a": 8})       # only its value is known
    0.5

    Source:
        L2Metrics v0.1, Metrics Overview, 6.
    """
    return _mean_over_experts(life, "relative_saturation")


@metric("relative_time", unit="ratio", better="lower")
def relative_time(life: Lifetime) -> pd.Series:
    """The episodes that all training of a task takes to saturate, as a multiple of those the expert takes.

    The episode in which saturation begins counts, so that at once is 1.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("relative_time", ("train", "a", [0, 2, 4, 8]), experts={"a": [[0, 8, 8, 8]]})       # 4 and 2 episodes
    2.0

    Source:
        L2Metrics v0.1, Metrics Overview, 6.
    """
    return _mean_over_experts(life, "relative_time")


@metric("relative_integral", unit="ratio", better="higher")
def relative_integral(life: Lifetime) -> pd.Series:
    """The mean of all training of a task, as a multiple of the expert's.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("relative_integral", ("train", "a", [2, 4]), ("train", "a", [6]), experts={"a": [[0, 4, 8, 4]]})
    1.0

    Source:
        L2Metrics v0.1, Metrics Overview, 6, of its integral divided by length.
    """
    return _mean_over_experts(life, "relative_integral")


@metric("relative_performance", unit="ratio", better="higher")
def relative_performance(life: Lifetime) -> pd.Series:
    """The reward while a task is learned, as a multiple of the expert's in as many episodes.

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("relative_performance", ("train", "a", [2, 4]), ("train", "a", [6]), experts={"a": [[0, 4, 4, 99]]})
    1.5

    Source:
        New et al. (2022), Lifelong Learning Metrics, arXiv 2201.08278; Baker et al. (2023), A domain-agnostic approach
        for characterization of lifelong learning systems, Neural Networks 160, 274-296.
    """
    return _mean_over_experts(life, "relative_performance")


@metric("sample_efficiency", unit="ratio", better="higher")
def sample_efficiency(life: Lifetime) -> pd.Series:
    """How high a task saturates and how soon, both as multiples of the expert, multiplied with each other.

    0 if the assumption of a rising curve fails: it saturates below a fifth of the expert's value, or its fitted line
    falls by more than that. (3.1.0 takes every falling line, so that noise about a steady level can be one, and
    doesn't count the episode in which saturation begins, so that "at once" has no value.)

    >>> from pushlab.metrics.lifelong import by_hand
    >>> by_hand("sample_efficiency", ("train", "a", [0, 2, 4, 4]), experts={"a": [[0, 4, 6, 8]]})    # 4/8 and 4/3
    0.667

    Source:
        New et al. (2022), Lifelong Learning Metrics, arXiv 2201.08278; Baker et al. (2023), A domain-agnostic approach
        for characterization of lifelong learning systems, Neural Networks 160, 274-296.
    """
    return _mean_over_experts(life, "sample_efficiency")


def _validate_experts(life):
    if not life.runs:
        raise Missing("there is no single-task expert of any task")


def _mean_over_experts(life, column):
    _validate_experts(life)
    table = life.expert_table
    if table[column].isna().all():
        raise Missing("no task that was learned has an expert with such a value")
    for task in life.tasks:
        if task not in life.runs and len(life.training(task)):
            life.gap(f"{task} has no single-task expert")
    return life.mean_by_task(column, table)
