"""The lifelong metrics, and their registry for reports, tables and the command line.

- learning: levels, and the time to reach them
- maintenance: tests compared with an earlier level of the task
- transfer: effects of learning one task on another
- experts: a lifetime compared with agents that learned one task only

Each docstring has the source and a small example. Reports list the metrics in this order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pandas as pd

from pushlab.metrics.lifelong.curves import finite_mean
from pushlab.metrics.lifelong.lifetime import Lifetime, Missing
from pushlab.metrics.lifelong.log import TEST, TRAIN
from pushlab.metrics.lifelong.settings import SYLLABUS_TYPES, Settings
from pushlab.utils.arguments import require, validate_choice, validate_choices

# All metrics by name, in the order in which reports list them.
METRICS: dict[str, Metric] = {}
PAIR_COLUMNS = ["learned", "tested", "block", "regime", "value"]


# ---------------------------------------------------------------- the registry


@dataclass(frozen=True)
class Metric:
    """A registered metric.

    Attributes:
        name: Its name in reports, tables and on the command line.
        function: Function of a Lifetime that returns a number, a Series by task, or a DataFrame of pairs with the
            columns learned, tested and value (and block).
        syllabus: The syllabus types for which it is computed.
        unit: Unit of its values: "points" on the scale of the settings, "episodes", "ratio", …
        better: "higher", "lower", or None.
        required_settings: {setting: values}. Reports with another value of that setting leave the metric out.
    """

    name: str
    function: Callable
    syllabus: tuple[str, ...] = SYLLABUS_TYPES
    unit: str = ""
    better: str | None = None
    required_settings: Mapping | None = None

    @property
    def description(self) -> str:
        """First paragraph of the function's docstring."""
        text = (self.function.__doc__ or "").strip()
        return text.split("\n\n")[0].replace("\n", " ")


def metric(
    name: str,
    syllabus: str | Iterable[str] = SYLLABUS_TYPES,
    unit: str = "",
    better: str | None = None,
    required_settings: Mapping | None = None,
) -> Callable[[Callable], Callable]:
    """Return a decorator that registers a function of a Lifetime as a metric.

    Reports, tables and the command line include all registered metrics. The function returns a number, a Series by task
    (reports use the mean over tasks, or the median), or a DataFrame of pairs of tasks. If the metric can't be computed,
    it raises `Missing` with the reason.

    Args:
        name, syllabus, unit, better, required_settings: See Metric. A metric with the same name is replaced, so a cell
            can run twice.

    >>> @metric("best_test", unit="points", better="higher")
    ... def best_test(life):
    ...     '''The best test of all.'''
    ...     return life.regimes.loc[life.regimes["block_type"] == "test", "mean"].max()
    >>> METRICS["best_test"].description, "best_test" in metrics_for("CL")
    ('The best test of all.', True)
    >>> unregister("best_test")
    """
    is_name = isinstance(name, str) and name
    require(is_name, f'@metric needs a name, as in @metric("my_metric"); got {name!r}')
    if not isinstance(syllabus, str):
        syllabus = tuple(syllabus)
    syllabus = validate_choices("syllabus", syllabus, SYLLABUS_TYPES)

    def register(function):
        METRICS[name] = Metric(
            name, function, syllabus, unit, better, required_settings
        )
        return function

    return register


def unregister(name: str) -> None:
    """Remove a metric from the registry."""
    METRICS.pop(name, None)


def metrics_for(
    syllabus_type: str | None = None, settings: Settings | None = None
) -> dict[str, Metric]:
    """Return {name: Metric} of the metrics for a syllabus type (None: any) and settings (None: the defaults)."""
    validate_choice("syllabus_type", syllabus_type, (None, *SYLLABUS_TYPES))
    settings = settings or Settings()
    metrics = {}
    for name, candidate in METRICS.items():
        required = candidate.required_settings or {}
        has_settings = all(getattr(settings, key) in required[key] for key in required)
        if has_settings and syllabus_type in (None, *candidate.syllabus):
            metrics[name] = candidate
    return metrics


# ---------------------------------------------------------------- learning


@metric("saturation", unit="points", better="higher")
def saturation_value(life: Lifetime) -> pd.Series:
    """Highest level that training maintains: the maximum of a block's rolling mean, averaged over the task's blocks.

    The rolling mean spans s = 0.1 of the block (`Settings.saturation_share`). If an
    episode has several values, their mean is used.

    >>> from pushlab.metrics.lifelong import metric_value
    >>> metric_value("saturation", ("train", "a", [0, 1, 5, 6, 1, 6, 5, 4]), saturation_share=0.25)      # 5 and 6
    5.5

    Source:
        L2Metrics v0.1, Metrics Overview, 1. The value of a task is the mean over its training blocks.
    """
    return life.mean_by_task("saturation", _training(life))


@metric("time_to_saturation", unit="episodes", better="lower")
def time_to_saturation(life: Lifetime) -> pd.Series:
    """Number of episodes of a block before the saturation value is first maintained.

    >>> from pushlab.metrics.lifelong import metric_value
    >>> metric_value("time_to_saturation", ("train", "a", [0, 1, 5, 6, 1, 6, 5, 4]), saturation_share=0.25)
    2.0

    Source:
        L2Metrics v0.1, Metrics Overview, 2. The value of a task is the mean over its training blocks.
    """
    return life.mean_by_task("time_to_saturation", _training(life))


@metric("normalized_integral", unit="points", better="higher")
def normalized_integral(life: Lifetime) -> pd.Series:
    """Area under the learning curve of a task, over all its training, divided by its length in episodes.

    >>> from pushlab.metrics.lifelong import metric_value
    >>> metric_value("normalized_integral", ("train", "a", [0, 4]), ("train", "a", [4, 4, 4, 8]))        # 24 / 6
    4.0

    Source:
        L2Metrics v0.1, Metrics Overview, 3, which compares training only with training.
    """
    _training(life)
    means = {task: finite_mean(life.training_curve(task)) for task in life.tasks}
    return pd.Series(means, dtype=float)


@metric("time_to_learn", unit="episodes", better="lower")
def time_to_learn(life: Lifetime) -> pd.Series:
    """Number of episodes of a task, over all its training blocks, before the saturation value is first maintained.

    Unlike `time_to_saturation`, it counts across blocks, so that tasks can be compared.

    >>> from pushlab.metrics.lifelong import metric_value
    >>> metric_value("time_to_learn", ("train", "a", [0, 0, 5]), ("train", "a", [5, 9, 9]))
    4.0

    Source:
        L2Metrics v0.1, Metrics Overview, 8, which leaves it blank; defined here by the time in the sample efficiency of
        New et al. (2022), Lifelong Learning Metrics, arXiv 2201.08278.
    """
    _training(life)
    times = {}
    for task in life.tasks:
        saturation = life.saturation(life.training_curve(task))
        times[task] = saturation.time
    return pd.Series(times, dtype=float)


@metric("mean_training_performance", unit="points", better="higher")
def mean_training_performance(life: Lifetime) -> pd.Series:
    """Mean of the training blocks' means.

    >>> from pushlab.metrics.lifelong import metric_value
    >>> metric_value("mean_training_performance", ("train", "a", [0, 4]), ("train", "a", [4, 4, 4, 8]))  # 2 and 5
    3.5

    Source:
        New et al. (2022), Lifelong Learning Metrics, arXiv 2201.08278; `avg_train_perf` of l2metrics 3.1.
    """
    is_train = life.regimes["block_type"] == TRAIN
    return life.mean_by_task("mean", life.regimes[is_train])


@metric("mean_evaluation_performance", unit="points", better="higher")
def mean_evaluation_performance(life: Lifetime) -> pd.Series:
    """Mean of the tests' means: the performance on all tasks at all times.

    >>> from pushlab.metrics.lifelong import metric_value
    >>> metric_value("mean_evaluation_performance", ("test", "a", [0, 40]), ("test", "a", [60]), ("test", "a", [70]))
    50.0

    Source:
        New et al. (2022), Lifelong Learning Metrics, arXiv 2201.08278; `avg_eval_perf` of l2metrics 3.1.
    """
    return life.mean_by_task("mean", life.tests())


@metric("recovery_time", unit="episodes", better="lower")
def recovery_time(life: Lifetime) -> pd.Series:
    """Number of episodes until a task that is trained again is as good as at the end of its previous training.

    0 means that it recovers at once. Between the two trainings, other tasks were learned, or the same task with other
    parameters. The value of a task is the median over its repeated trainings, which accounts for those that don't
    recover within their block (see `pushlab.metrics.estimate.median_time`). It is inf if half of them don't, and the
    report has the length of their blocks. Training curves include exploration: agents that explore differently have
    different recovery times, even if they forget as much.

    >>> from pushlab.metrics.lifelong import metric_value
    >>> metric_value("recovery_time", ("train", "a", [0, 8]), ("train", "b", [1]), ("train", "a", [2, 5, 8, 9]))
    2.0

    Source:
        L2Metrics v0.1, Metrics Overview, 4 (some versions leave it blank); defined after New et al. (2022), Lifelong
        Learning Metrics, arXiv 2201.08278: the level is the terminal performance, the mean of the last tenth of a
        block.
    """
    times = {}
    for task, own in recovery_times(life):
        times[task] = life.aggregate_recovery(task, own)
    return pd.Series(times, dtype=float).reindex(life.tasks)


@metric("performance_recovery", unit="episodes per return", better="higher")
def performance_recovery(life: Lifetime) -> pd.Series:
    """Theil–Sen slope of a task's recovery times, with the opposite sign: above 0 if recovery gets faster.

    A task that did not recover within one of its blocks has no slope.

    >>> from pushlab.metrics.lifelong import metric_value
    >>> metric_value("performance_recovery", ("train", "a", [9]), ("train", "a", [0, 0, 0, 9]), ("train", "a", [0, 9]))
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
            "no task is trained three times or more, so there are no two recovery times to compare"
        )
    slopes = {}
    for task, own in times.items():
        if np.isfinite(own).all():
            slopes[task] = 0.0 - theilslopes(own)[0]
        else:
            life.add_gap(
                f"{task} did not recover within one of its training blocks, so its recovery times have no slope"
            )
    return pd.Series(slopes, dtype=float).reindex(life.tasks)


def recovery_times(life: Lifetime) -> Iterable[tuple[str, pd.Series]]:
    """Return (task, recovery times) of the tasks that are trained again. Raises Missing if there are none."""
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


# ---------------------------------------------------------------- maintenance


@metric(
    "performance_maintenance_mrlep",
    unit="points",
    better="higher",
    required_settings={"maintenance": ("mrlep", "both")},
)
def performance_maintenance_mrlep(life: Lifetime) -> pd.Series:
    """Difference of a task's later tests from the first test after its last training: below 0 if it was forgotten.

    MRLEP is the most recent learning evaluation performance.

    >>> from pushlab.metrics.lifelong import metric_value
    >>> metric_value("performance_maintenance_mrlep", ("train", "a", [90]), ("test", "a", [80]), ("train", "b", [90]),
    ...         ("test", "a", [60]), ("train", "b", [90]), ("test", "a", [40]))         # -20 and -40
    -30.0

    Source:
        New et al. (2022), Lifelong Learning Metrics, arXiv 2201.08278; Baker et al. (2023), A domain-agnostic approach
        for characterization of lifelong learning systems, Neural Networks 160, 274-296.
    """
    return _mean_maintenance(life, "maintenance_mrlep")


@metric(
    "performance_maintenance_mrtlp",
    unit="points",
    better="higher",
    required_settings={"maintenance": ("mrtlp", "both")},
)
def performance_maintenance_mrtlp(life: Lifetime) -> pd.Series:
    """Difference of a task's later tests from the end of its last training: below 0 if it was forgotten.

    MRTLP is the most recent terminal learning performance, the mean of the last tenth of a training block. The first
    test after a training doesn't count, since nothing else has been learned yet.

    >>> from pushlab.metrics.lifelong import metric_value
    >>> metric_value("performance_maintenance_mrtlp", ("train", "a", [90]), ("test", "a", [80]), ("train", "b", [90]),
    ...         ("test", "a", [60]), ("train", "b", [90]), ("test", "a", [40]))         # -30 and -50
    -40.0

    Source:
        New et al. (2022), Lifelong Learning Metrics, arXiv 2201.08278; Baker et al. (2023), A domain-agnostic approach
        for characterization of lifelong learning systems, Neural Networks 160, 274-296.
    """
    return _mean_maintenance(life, "maintenance_mrtlp")


@metric("maintenance_saturation", unit="points", better="higher")
def maintenance_saturation(life: Lifetime) -> pd.Series:
    """Saturation value of a task's tests minus the saturation value of the last training before each test.

    >>> from pushlab.metrics.lifelong import metric_value
    >>> metric_value("maintenance_saturation", ("train", "a", [10, 90]), ("test", "a", [90]), ("test", "a", [50]))
    -20.0

    Source:
        L2Metrics v0.1, Metrics Overview, 5: the metrics of training, computed on the test sets, and the difference.
        There, the difference is from the first training, and a loss is above 0. Here, it is from the most recent
        training, and a loss is below 0.
    """
    return _test_minus_training(life, "saturation")


@metric("maintenance_time", unit="episodes", better="lower")
def maintenance_time(life: Lifetime) -> pd.Series:
    """Time to saturation of a task's tests minus the time to saturation of the last training before each test.

    Nothing is learned in a test, so a test without randomness saturates at once.

    >>> from pushlab.metrics.lifelong import metric_value
    >>> metric_value("maintenance_time", ("train", "a", [10, 20, 90]), ("test", "a", [90, 90]), ("test", "a", [50, 60]))
    -1.5

    Source:
        L2Metrics v0.1, Metrics Overview, 5, see `maintenance_saturation`.
    """
    return _test_minus_training(life, "time_to_saturation")


@metric("maintenance_integral", unit="points", better="higher")
def maintenance_integral(life: Lifetime) -> pd.Series:
    """Mean of a task's tests minus the mean of the last training before each test.

    >>> from pushlab.metrics.lifelong import metric_value
    >>> metric_value("maintenance_integral", ("train", "a", [30, 90]), ("test", "a", [80]), ("test", "a", [50]))
    5.0

    Source:
        L2Metrics v0.1, Metrics Overview, 5, see `maintenance_saturation`; the integral divided by its length.
    """
    return _test_minus_training(life, "mean")


def maintenance_table(life: Lifetime) -> pd.DataFrame:
    """Return the differences of tests from the levels after their task's last training, by row of `life.regimes`.

    The columns are maintenance_mrlep and maintenance_mrtlp. The first test after a training is itself one of the
    levels, so it has no row. A test before the first level has none either.
    """
    terminal = life.regimes["terminal"].to_numpy()
    differences = {}
    for variant in life.variants:
        training = life.variant_rows(variant, TRAIN)
        tests = life.variant_rows(variant, TEST)
        positions = np.searchsorted(tests, training)
        first_tests = tests[positions[positions < len(tests)]]
        for test in np.setdiff1d(tests, first_tests):
            earlier_tests = first_tests[first_tests < test]
            if len(earlier_tests):
                last_training = training[training < test][-1]
                levels = terminal[[earlier_tests[-1], last_training]]
                differences[test] = terminal[test] - levels
    table = pd.DataFrame.from_dict(
        differences,
        "index",
        columns=["maintenance_mrlep", "maintenance_mrtlp"],
        dtype=float,
    )
    return table.sort_index()


def _mean_maintenance(life, column):
    life.tests()
    table = maintenance_table(life)
    if not len(table):
        raise Missing("no task is tested again after something else was learned")
    tasks = life.regimes[["task"]]
    return life.mean_by_task(column, tasks.join(table))


def _test_minus_training(life, column):
    life.tests()
    values = life.regimes[column].to_numpy(float)
    differences = {}
    for variant in life.variants:
        training = life.variant_rows(variant, TRAIN)
        for test in life.variant_rows(variant, TEST):
            earlier = training[training < test]
            if len(earlier):
                differences[test] = values[test] - values[earlier[-1]]
    if not differences:
        raise Missing("no task is tested after its training")
    tasks = life.regimes[["task"]]
    table = tasks.assign(value=pd.Series(differences, dtype=float))
    return life.mean_by_task("value", table)


# ---------------------------------------------------------------- transfer


def ratio(before: float, after: float) -> float | None:
    """Return after / before; None if before is 0.

    >>> ratio(20.0, 50.0), ratio(0.0, 50.0)
    (2.5, None)
    """
    return after / before if before else None


def contrast(before: float, after: float) -> float | None:
    """Return (after - before) / (after + before), from -1 (all lost) to 1 (from nothing); None if the sum is 0.

    >>> contrast(20.0, 60.0), contrast(60.0, 20.0)
    (0.5, -0.5)
    """
    total = after + before
    return (after - before) / total if total else None


RATIO = {"transfer": ("ratio", "both")}
CONTRAST = {"transfer": ("contrast", "both")}


@metric("forward_transfer_ratio", "ANT_B", "ratio", "higher", RATIO)
def forward_transfer_ratio(life: Lifetime) -> pd.DataFrame:
    """Ratio of a task's tests after and before another task is learned, if the tested task was not learned yet.

    Ratios are computed from measured values, not from normalised ones: see `for_ratios` of Lifetime. Their zero is 0,
    or the task's lowest value if that is below 0, or the lower end of `data_range`. If the earlier test is at this
    zero, there is no ratio. The lifetime's value uses the first ratio of each pair of tasks, so that all pairs have the
    same weight.

    >>> from pushlab.metrics.lifelong import metric_value
    >>> metric_value("forward_transfer_ratio", ("test", {"a": [10], "b": [20]}), ("train", "a", [50]),
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
    """Forward transfer as a contrast: (after - before) / (after + before), between -1 and 1.

    >>> from pushlab.metrics.lifelong import metric_value
    >>> metric_value("forward_transfer_contrast", ("test", {"a": [10], "b": [20]}), ("train", "a", [50]),
    ...         ("test", {"a": [50], "b": [30]}), ("train", "b", [60]))
    0.2

    Source:
        New et al. (2022); Baker et al. (2023), see `forward_transfer_ratio`.
    """
    return transfer(life, forward=True, change=contrast)


@metric("backward_transfer_ratio", "ANT_B", "ratio", "higher", RATIO)
def backward_transfer_ratio(life: Lifetime) -> pd.DataFrame:
    """Ratio of a learned task's tests after and before another task is learned.

    >>> from pushlab.metrics.lifelong import metric_value
    >>> metric_value("backward_transfer_ratio", ("train", "a", [50]), ("test", "a", [40]), ("train", "b", [60]),
    ...         ("test", "a", [30]))
    0.75

    Source:
        New et al. (2022); Baker et al. (2023), see `forward_transfer_ratio`.
    """
    return transfer(life, forward=False, change=ratio)


@metric("backward_transfer_contrast", "ANT_B", "share", "higher", CONTRAST)
def backward_transfer_contrast(life: Lifetime) -> pd.DataFrame:
    """Backward transfer as a contrast: (after - before) / (after + before), between -1 and 1.

    >>> from pushlab.metrics.lifelong import metric_value
    >>> metric_value("backward_transfer_contrast", ("train", "a", [50]), ("test", "a", [60]), ("train", "b", [60]),
    ...         ("test", "a", [20]))
    -0.5

    Source:
        New et al. (2022); Baker et al. (2023), see `forward_transfer_ratio`.
    """
    return transfer(life, forward=False, change=contrast)


@metric("forward_transfer_expert", "ANT_B", "ratio", "higher")
def forward_transfer_expert(life: Lifetime) -> pd.Series:
    """Level of a task after others were learned and before its own training, as a multiple of its expert's saturation.

    >>> from pushlab.metrics.lifelong import metric_value
    >>> metric_value("forward_transfer_expert", ("train", "a", [50]), ("test", "b", [30]), ("train", "b", [60]),
    ...         experts={"b": [[10, 60]]})
    0.5

    Source:
        L2Metrics v0.1, Metrics Overview, 6: the transfer matrices, above their diagonal, which use the experts' values.
    """
    tests = life.tests()
    regimes = life.regimes
    training = regimes[regimes["block_type"] == TRAIN]
    ratios = {}
    _validate_experts(life)
    for task in life.expert_runs:
        is_own = training["task"] == task
        first_other = training.index[~is_own].min()  # NaN if there is none
        first_own = training.index[is_own].min()
        rows = tests.index[tests["task"] == task]
        rows = rows[(rows > first_other) & ~(rows >= first_own)]
        experts = life.expert_curves(task, for_ratios=True)
        expert_level = np.mean([life.saturation(*expert).value for expert in experts])
        if len(rows) and expert_level:
            curves = [life.curve(row, "for_ratios") for row in rows]
            levels = [life.saturation(curve).value for curve in curves]
            ratios[task] = np.mean(levels) / expert_level
    if not ratios:
        raise Missing(
            "no task with an expert is tested after another is learned and before its own training"
        )
    return pd.Series(ratios, dtype=float).reindex(life.tasks)


def transfer(
    life: Lifetime,
    forward: bool,
    change: Callable,
) -> pd.DataFrame:
    """Return a DataFrame of changes in tests while another task was trained: learned, tested, block, regime, value.

    Each row is a pair of consecutive tests of `tested`, with training of `learned` between them, and no training of
    `tested` itself, which would be learning instead of transfer. If two tasks are learned between the same tests, each
    has a row.

    Args:
        life: The lifetime.
        forward: True for tests of a task that was not learned yet, False for a learned task.
        change: Function of the tests' terminal performances before and after; None if it is undefined.
    """
    rows = []
    is_undefined = False
    pairs = life.transfer_pairs(pairs_of_tests(life, forward))
    for learned, tested, before, after in pairs:
        value = change(life.transfer_level(before), life.transfer_level(after))
        if value is None:
            is_undefined = True
        elif np.isfinite(value):
            block = life.regimes["block"].iat[after]
            rows.append((learned, tested, block, after, value))
    if not rows:
        raise Missing(_no_transfer_reason(forward, is_undefined))
    table = pd.DataFrame(rows, columns=PAIR_COLUMNS)
    table = table.sort_values("regime", kind="stable", ignore_index=True)
    numbers = life.regimes["regime"].to_numpy()
    return table.assign(regime=numbers[table["regime"]])


def _no_transfer_reason(forward, is_undefined):
    if is_undefined:
        return "all earlier tests are at 0, so their change is undefined"
    if forward:
        return "no task is tested before and after another is learned, and before its own training"
    return "no learned task is tested before and after another is learned"


def pairs_of_tests(
    life: Lifetime, forward: bool
) -> Iterator[tuple[str, str, int, int]]:
    """Yield (learned, tested, before, after) of consecutive tests with training of another variant between them.

    `before` and `after` are rows of `regimes`, tests of the variant `tested`.

    Raises:
        Missing: There are no tests, or only one task.
    """
    life.tests()
    if len(life.variants) < 2:
        raise Missing("there is only one task")
    trained = {name: life.variant_rows(name, TRAIN) for name in life.variants}
    for learned, tested in permutations(life.variants, 2):
        tests = life.variant_rows(tested, TEST)
        training = trained[learned]
        first_own = trained[tested][:1]
        if len(first_own):
            training = training[(training < first_own) == forward]
        elif not forward:
            continue
        n_before = np.searchsorted(training, tests)
        for number in np.flatnonzero(np.diff(n_before)):
            yield learned, tested, tests[number], tests[number + 1]


# ---------------------------------------------------------------- experts


@metric("relative_saturation", unit="ratio", better="higher")
def relative_saturation(life: Lifetime) -> pd.Series:
    """Saturation value of all training of a task, as a multiple of the expert's.

    >>> from pushlab.metrics.lifelong import metric_value
    >>> metric_value("relative_saturation", ("train", "a", [0, 2, 4]), experts={"a": [[0, 4, 8]]})
    0.5
    >>> metric_value("relative_saturation", ("train", "a", [0, 2, 4]), experts={"a": 8})   # only its value is known
    0.5

    Source:
        L2Metrics v0.1, Metrics Overview, 6.
    """
    return _mean_over_experts(life, "relative_saturation")


@metric("relative_time", unit="ratio", better="lower")
def relative_time(life: Lifetime) -> pd.Series:
    """Number of episodes until all training of a task saturates, as a multiple of the expert's.

    The episode in which saturation begins counts, so the number is at least 1.

    >>> from pushlab.metrics.lifelong import metric_value
    >>> metric_value("relative_time", ("train", "a", [0, 2, 4, 8]), experts={"a": [[0, 8, 8, 8]]})    # 4 and 2 episodes
    2.0

    Source:
        L2Metrics v0.1, Metrics Overview, 6.
    """
    return _mean_over_experts(life, "relative_time")


@metric("relative_integral", unit="ratio", better="higher")
def relative_integral(life: Lifetime) -> pd.Series:
    """Mean of all training of a task, as a multiple of the expert's.

    >>> from pushlab.metrics.lifelong import metric_value
    >>> metric_value("relative_integral", ("train", "a", [2, 4]), ("train", "a", [6]), experts={"a": [[0, 4, 8, 4]]})
    1.0

    Source:
        L2Metrics v0.1, Metrics Overview, 6, with the integral divided by its length.
    """
    return _mean_over_experts(life, "relative_integral")


@metric("relative_performance", unit="ratio", better="higher")
def relative_performance(life: Lifetime) -> pd.Series:
    """Mean of all training of a task, as a multiple of the expert's mean over as many episodes.

    >>> from pushlab.metrics.lifelong import metric_value
    >>> experts = {"a": [[0, 4, 4, 99]]}
    >>> metric_value("relative_performance", ("train", "a", [2, 4]), ("train", "a", [6]), experts=experts)
    1.5

    Source:
        New et al. (2022), Lifelong Learning Metrics, arXiv 2201.08278; Baker et al. (2023), A domain-agnostic approach
        for characterization of lifelong learning systems, Neural Networks 160, 274-296.
    """
    return _mean_over_experts(life, "relative_performance")


@metric("sample_efficiency", unit="ratio", better="higher")
def sample_efficiency(life: Lifetime) -> pd.Series:
    """Product of the level and the speed of a task's saturation, both as multiples of the expert's.

    The value is 0 if the curve does not rise as assumed: if it saturates below a fifth of the expert's value, or its
    fitted line falls by more than that. (l2metrics 3.1.0 uses every falling line, so that noise about a constant level
    can count. It doesn't count the episode in which saturation begins, so that saturation at once has no value.)

    >>> from pushlab.metrics.lifelong import metric_value
    >>> metric_value("sample_efficiency", ("train", "a", [0, 2, 4, 4]), experts={"a": [[0, 4, 6, 8]]})    # 4/8 and 4/3
    0.667

    Source:
        New et al. (2022), Lifelong Learning Metrics, arXiv 2201.08278; Baker et al. (2023), A domain-agnostic approach
        for characterization of lifelong learning systems, Neural Networks 160, 274-296.
    """
    return _mean_over_experts(life, "sample_efficiency")


def _validate_experts(life):
    if not life.expert_runs:
        raise Missing("there is no single-task expert of any task")


def _mean_over_experts(life, column):
    _validate_experts(life)
    table = life.expert_table
    if table[column].isna().all():
        raise Missing("no expert of a learned task has a value of this metric")
    for task in life.tasks:
        if task not in life.expert_runs and len(life.training(task)):
            life.add_gap(f"{task} has no single-task expert")
    return life.mean_by_task(column, table)
