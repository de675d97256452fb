"""Pictures of a lifetime: tests with intervals, learning curves by block, and metrics marked on the curves.

They take a report of `pushlab.metrics.lifelong.lifelong_report`, or a list of reports of lifetimes with one syllabus.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from matplotlib.patheffects import withStroke

from pushlab.metrics.estimate import half_width
from pushlab.metrics.lifelong import Report
from pushlab.metrics.lifelong.curves import saturation
from pushlab.metrics.lifelong.log import read_params
from pushlab.plots.style import (
    BAND,
    BOUND_DASH,
    INK,
    LINE,
    PAPER,
    SMALL_SIZE,
    SURFACE,
    TEXT,
    TEXT_SIZE,
    TICK_SIZE,
    TRACK,
    blend,
    chart,
    darken,
    format_number,
    format_tick,
    house_style,
    label_axes,
    label_line_ends,
    one_line,
    readable_name,
    round_limits,
    series_styles,
    sheet,
    shorten,
    text_width,
    truncate_to_width,
)
from pushlab.utils.arguments import require_rows, validate_choice

Reports = Report | Sequence[Report]  # several: lifetimes of one syllabus


def _as_list(reports: Reports) -> list[Report]:
    """Return one or several reports as a list; raise TypeError for anything else."""
    reports = [reports] if isinstance(reports, Report) else list(reports)
    if not reports or not all(isinstance(report, Report) for report in reports):
        raise TypeError("expected a report of lifelong_report(log), or a list of them")
    return reports


def _curves(report):
    """Return the curves of a report with the columns `name`, `scaled_raw` and `scaled_smoothed`.

    Returns:
        The curves with `name` (see `_regime_names`) and values on the scale of the metrics. Only `scaled_smoothed` is
        clamped.
    """
    curves = report.curves.reset_index(drop=True)
    names = curves["regime"].map(_regime_names(report))
    scales = {task: _scale(report, task) for task in curves["task"].unique()}
    slope = curves["task"].map(lambda task: scales[task][0])
    offset = curves["task"].map(lambda task: scales[task][1])
    return curves.assign(
        name=names,
        scaled_raw=slope * curves["raw"] + offset,
        scaled_smoothed=curves["normalized"],
    )


def _scale(report, task):
    """Return the slope and offset that convert a task's values to the scale of the metrics."""
    kind = report.settings.normalization
    if kind == "none":
        return 1.0, 0.0
    ranges = report.scales.values() if kind == "run" else [report.scales[task]]
    low = min(ends[0] for ends in ranges)
    high = max(ends[1] for ends in ranges)
    slope = 100 / (high - low) if high > low else 1.0
    offset = 1 if report.settings.reference else 0  # the release adds 1
    return slope, offset - low * slope


def evaluation_table(reports: Reports) -> pd.DataFrame:
    """Compute the mean and 95 % interval of each task in each test block.

    Args:
        reports: One report, for intervals over the episodes of each test, or several with one syllabus, for intervals
            over the lifetimes.

    Returns:
        A table with the columns block, name, mean, low, high, count, over. `name` is the task or, for variants of one
        task, the parameters that differ. `count_unit` is "episodes" or "lifetimes", the unit of `count`. `low` and
        `high` are NaN if `count` is 1.
    """
    reports = _as_list(reports)
    parts = []
    for report in reports:
        curves = _curves(report)
        is_test = curves["block_type"] == "test"
        tests = curves.loc[is_test, ["block", "name", "scaled_smoothed"]]
        if len(reports) > 1:
            by_test = tests.groupby(["block", "name"], sort=False, as_index=False)
            tests = by_test.mean()
        parts.append(tests)
    by_test = pd.concat(parts).groupby(["block", "name"], sort=False)
    table = by_test["scaled_smoothed"].agg(["mean", "std", "count"]).reset_index()
    half = half_width(table.pop("std"), table["count"])
    table.insert(3, "low", table["mean"] - half)
    table.insert(4, "high", table["mean"] + half)
    table["count_unit"] = "lifetimes" if len(reports) > 1 else "episodes"
    order = table["name"].map(_task_names(reports[0]).index)
    return table.iloc[np.lexsort((order, table["block"]))].reset_index(drop=True)


def _named_regimes(report):
    """Return `report.regimes` with the column `name`, see `_regime_names`."""
    regimes = report.regimes
    return regimes.assign(name=regimes["regime"].map(_regime_names(report)))


def _task_names(report):
    """Return the names of the tasks in the order of learning; tasks that are only tested come last."""
    regimes = _named_regimes(report)
    regimes = regimes.sort_values("block_type", ascending=False, kind="stable")
    return list(regimes["name"].unique())


def _regime_names(report):
    """Return {regime: name}: its task or, if a task is learned in variants, the parameters that differ.

    >>> from types import SimpleNamespace
    >>> regimes = pd.DataFrame({"regime": [0, 1], "block_type": "train", "task": "shelf", "variant": ["s 0", "s 1"],
    ...                         "params": ['{"noise": 0, "n": 4}', '{"noise": 1, "n": 4}']})
    >>> _regime_names(SimpleNamespace(regimes=regimes))
    {0: 'noise 0', 1: 'noise 1'}
    """
    regimes = report.regimes
    names = regimes["task"].map(one_line)
    has_one_task = names.nunique() == 1
    for task, rows in regimes.groupby("task", sort=False):
        variants = rows["variant"]
        if (variants == task).all():
            continue
        labels = _variant_labels(rows["params"])
        if len(set(labels)) < variants.nunique():
            labels = [one_line(variant) for variant in variants]
        if not has_one_task:
            labels = [f"{one_line(task)}, {label}" for label in labels]
        names[rows.index] = labels
    return dict(zip(regimes["regime"], names))


def _variant_labels(params):
    """Return the first unusual parameter of each variant and the number of others, as in "noise 1 +2"."""
    table = pd.json_normalize([read_params(text) for text in params])
    table = table.map(_value_label, na_action="ignore")
    table = table.loc[:, table.nunique(dropna=False) > 1]
    usual = {key: table[key].mode(dropna=False)[0] for key in table}
    labels = []
    for row in table.to_dict("records"):
        present = {key: value for key, value in row.items() if isinstance(value, str)}
        unusual = {key: value for key, value in present.items() if value != usual[key]}
        parts = []
        for key, value in (unusual or present).items():
            name = key.split(".")[-1]
            parts.append(f"{readable_name(name)} {value}")
        more = f" +{len(parts) - 1}" if len(parts) > 1 else ""
        labels.append("".join(parts[:1]) + more)
    return labels


def _value_label(value):
    return format_tick(value) if isinstance(value, int | float) else one_line(value)


DOTS = (0, (1, 2))
LIFETIME = "Learning and tests of a lifetime"
TESTS_AND_CURVES = "grey columns: tests, 95 % intervals   ·   curves: raw and smoothed"
HOLLOW: dict[str, Any] = {"mfc": PAPER, "mew": 1.8, "clip_on": False}
DEFAULT_METRICS = (
    "mean_evaluation_performance",
    "performance_maintenance_mrlep",
    "recovery_time",
    "time_to_saturation",
    "forward_transfer_contrast",
    "backward_transfer_contrast",
    "relative_performance",
    "sample_efficiency",
)
EXPERT_METRICS = (
    "relative_performance",
    "relative_integral",
    "relative_saturation",
    "relative_time",
    "sample_efficiency",
)


# ---------------------------------------------------------------- pictures


@house_style()
def lifetime_curve(
    reports: Reports,
    marks: Sequence[str] = ("saturation", "forgetting"),
    task: str = "",
    title: str = LIFETIME,
    subtitle: str = TESTS_AND_CURVES,
) -> Figure:
    """Draw raw and smoothed learning curves in their blocks, and tests with intervals in grey columns.

    Args:
        reports: One report, or several. With several, the tests show means over the reports, and the curves are from
            the first.
        marks: Metrics to mark on the curves, by the beginnings of their names: the keys of MARKS. Metrics that cannot
            be computed from the log are ignored.
        task: The task whose metrics are marked. The default is a task for each mark.
    """
    reports = _as_list(reports)
    ax = chart(title, subtitle, size=(9, 4.3))
    _draw_lifetime(ax, reports, marks, task)
    return ax.figure


def metric_on_curve(
    reports: Reports,
    metric: str,
    task: str = "",
    title: str = "",
    subtitle: str = TESTS_AND_CURVES,
) -> Figure:
    """Draw a lifetime with one metric marked on its curve, if it has a mark.

    Args:
        reports: One report, or a list with one report per lifetime.
        metric: Name of a metric in the report; can be a custom metric.
        task: The task whose metric is marked.
    """
    reports = _as_list(reports)
    report = reports[0]
    validate_choice("metric", metric, [*report.lifetime.index, *dict(report.missing)])
    title = title or f"{readable_name(metric).capitalize()} of a lifetime"
    if metric in EXPERT_METRICS and report.experts:
        return against_expert(report, task, (metric,), title, subtitle)
    return lifetime_curve(reports, (metric,), task, title, subtitle)


@house_style()
def report_sheet(
    report: Report,
    before: Report | None = None,
    metrics: Sequence[str] = (),
    title: str = LIFETIME,
    subtitle: str = TESTS_AND_CURVES,
) -> Figure:
    """Draw the curves of a lifetime, with a card for each metric below.

    Args:
        before: A report to compare with. The card of a changed metric also shows its value in this report.
        metrics: Names of the metrics to show. The default is eight that have a value, DEFAULT_METRICS first.
    """
    (report,) = _as_list(report)
    names = select_metrics(report, metrics)
    rows = -(-len(names) // 4)
    cards_height = 0.66 * rows
    figure = sheet(9, 3.9 + cards_height, title, subtitle)
    grid = figure.add_gridspec(2, height_ratios=(3, cards_height))
    curves_ax = figure.add_subplot(grid[0])
    _draw_lifetime(curves_ax, [report], ("saturation", "forgetting"), "")
    cards_ax = figure.add_subplot(grid[1].subgridspec(1, 1)[0])
    cards_ax.set(xlim=(0, 4), ylim=(rows, 0))
    cards_ax.set_axis_off()
    for i, name in enumerate(names):
        value = format_number(report.lifetime.get(name, np.nan))
        previous = value
        if before:
            previous = format_number(before.lifetime.get(name, np.nan))
        _draw_card(cards_ax, i % 4, i // 4, name, value, previous)
    return figure


@house_style()
def evaluation_blocks(
    reports: Reports,
    title: str = "Tests of a lifetime",
    subtitle: str = "means and 95 % intervals",
) -> Figure:
    """Draw the mean result of each task in each test block, with its 95 % interval."""
    reports = _as_list(reports)
    report = reports[0]
    table = evaluation_table(reports)
    require_rows(table)
    ylabel = _measure_label(report)
    ax = chart(title, subtitle, ylabel, "learned before the test", (6.4, 4))
    styles = series_styles(_task_names(report))
    blocks = list(table["block"].unique())
    table["x"] = table["block"].map(blocks.index) + 0.4 * _x_offsets(table)
    for name, line in table.groupby("name", sort=False):
        style = styles[name]
        _draw_tests(
            ax,
            line["x"],
            line,
            style,
            share=0.75,
            lw=2,
            ls=style[1],
        )
    round_limits(ax.yaxis, *_span(table[["mean", "low", "high"]]))
    labels = _learned_before(report, blocks)
    step = -(-len(blocks) // 6)
    ax.set_xticks(range(len(blocks))[::step], labels[::step])
    ax.set_xlim(-0.5, len(blocks) - 0.5)
    _label_lines(ax, table, "mean", styles, ", tested")
    return ax.figure


@house_style()
def against_expert(
    report: Report,
    task: str = "",
    metrics: Sequence[str] = ("relative_performance", "sample_efficiency"),
    title: str = "",
    subtitle: str = "dashed: the expert, who learned nothing else",
) -> Figure:
    """Draw the learning curve of a task in the lifetime beside the expert's, who learned only this task.

    The area between the curves is tinted, and marks show when and at what value each curve saturates.

    Args:
        report: A report of `lifelong_report(log, experts=...)`.
        task: By default the first task that has an expert.
        metrics: The EXPERT_METRICS to write above the curves.
    """
    curves = _curves(report).query("block_type != 'test'")
    tasks = [name for name in curves["task"].unique() if report.experts.get(name)]
    if not tasks:
        raise ValueError(
            "no expert of a task that was learned: use lifelong_report(log, experts=...)"
        )
    task = validate_choice("task", task, tasks) if task else tasks[0]
    own = curves[curves["task"] == task].reset_index(drop=True)
    # The curves return from the scale of the metrics to that of the measure.
    slope, offset = _scale(report, task)
    smoothed = (own["scaled_smoothed"] - offset) / slope
    experts = pd.DataFrame(report.experts[task])
    expert = (experts.mean(skipna=False).dropna() - offset) / slope

    colour, dash, _ = series_styles(report.curves["task"])[task]
    title = title or f"{task} in the lifetime, and learned alone"
    ax = chart(
        title, subtitle, readable_name(report.measure), "experiences", (6.4, 4.2)
    )
    _draw_raw(ax, own.index, own["raw"], colour)
    ax.plot(
        smoothed,
        color=colour,
        lw=2.4,
        ls=dash,
    )
    ax.plot(
        expert,
        color=INK,
        lw=1.8,
        ls=BOUND_DASH,
    )
    for start in own.index[own["regime"].diff() > 0]:
        ax.axvline(
            start,
            color=INK,
            lw=0.8,
            ls=(0, (1, 3)),
            alpha=0.5,
            zorder=1,
        )
    noise = np.nanpercentile(own["raw"], (2, 98))
    low, high = _span(smoothed, expert, noise)
    round_limits(ax.yaxis, low, high + 0.05 * (high - low))  # below the text
    round_limits(ax.xaxis, 0, max(len(own), len(expert)))
    both = range(min(len(own), len(expert)))
    ax.fill_between(both, smoothed[both], expert[both], color=colour, alpha=BAND)
    share = report.settings.saturation_share
    _draw_saturation(ax, smoothed, share, 0.12, colour, "o")
    _draw_saturation(ax, expert, share, 0.26, INK, "s")
    texts = []
    for name in metrics:
        value = format_number(report.tasks.at[task, name])
        texts.append(f"{readable_name(name)} {value}")
    text = "   ·   ".join(texts)
    ax.set_title(
        text,
        loc="center",
        size=TICK_SIZE,
        weight="bold",
        pad=8,
    )
    end = ax.get_xlim()[1]
    own_end = (end, smoothed.dropna().iloc[-1], shorten(task, 16), colour)
    label_line_ends(ax, [own_end, (end, expert.iloc[-1], "expert", INK)])
    return ax.figure


@house_style()
def smoothed_curves(
    reports: Reports,
    title: str = "Experiences, raw and smoothed",
    subtitle: str = "grey: raw   ·   a mark where each curve is highest",
) -> Figure:
    """Draw the first learning block raw and as smoothed in each report, with a mark at each maximum.

    Args:
        reports: Reports of one log with different settings.
    """
    reports = _as_list(reports)
    regimes = reports[0].regimes
    first = regimes["block_type"].ne("test").idxmax()
    regime = regimes["regime"][first]
    curves = [report.curves[report.curves["regime"] == regime] for report in reports]
    raw = curves[0]["raw"].to_numpy(float)
    measure = readable_name(reports[0].measure)
    ax = chart(title, subtitle, measure, "experiences", (6.4, 4))
    _draw_raw(ax, range(len(raw)), raw, TEXT)
    styles = series_styles(range(len(reports)))
    labels = []
    for i, (report, curve) in enumerate(zip(reports, curves)):
        colour, dash, marker = styles[i]
        line = curve["smoothed"].reset_index(drop=True).dropna()
        peak = line.idxmax()
        ax.plot(line, color=colour, ls=dash)
        ax.plot(peak, line[peak], marker, mec=colour, zorder=8, **HOLLOW)
        label = _smoothing_label(report.settings)
        labels.append((len(raw), line.iloc[-1], label, colour))
    round_limits(ax.yaxis, *_span(raw))
    ax.set_xlim(0, len(raw))
    label_line_ends(ax, labels)
    return ax.figure


# ---------------------------------------------------------------- the lifetime


class LifetimeAxes(NamedTuple):
    """The axes of a lifetime, with the tables that its marks need.

    Attributes:
        learned: Regimes of learning, with their name and the x of their start (`begin`) and end.
        tests: Tests with regime, name, mean and x; `x_before` and `before` are x and mean of the task's previous test.
    """

    ax: Axes
    reports: list[Report]
    learned: pd.DataFrame
    tests: pd.DataFrame


def _draw_lifetime(ax, reports, marks, task):
    """Draw columns, curves, tests and labels, then the marks."""
    report = reports[0]
    curves = _curves(report)
    styles = series_styles(_task_names(report))
    blocks = _block_table(curves)
    trained = curves[curves["block_type"] != "test"]
    step = trained.groupby("block").cumcount()
    trained = trained.assign(x=trained["block"].map(blocks["start"]) + step)
    tests = _test_table(evaluation_table(reports), blocks)
    ends = trained.groupby("regime")["x"].agg(begin="min", end="max")
    regimes = _named_regimes(report)
    learned = regimes.merge(ends + [0, 1], on="regime")

    label_axes(ax, _measure_label(report), "experiences")
    for (name, _), rows in trained.groupby(["name", "regime"], sort=False):
        colour, dash, _ = styles[name]
        rows = rows.iloc[:: -(-len(rows) // 600)]
        x = rows["x"]
        _draw_raw(ax, x, rows["scaled_raw"], colour)
        ax.plot(
            x,
            rows["scaled_smoothed"],
            color=colour,
            lw=2.4,
            ls=dash,
        )
    for name, line in tests.groupby("name", sort=False):
        _draw_tests(
            ax,
            line["x"],
            line,
            styles[name],
            share=0.55,
            lw=1,
            ls=DOTS,
        )
    round_limits(ax.yaxis, *_y_limits(tests, trained), 6)
    _draw_test_columns(ax, blocks)
    _label_blocks(ax, learned, styles)
    if len(tests):
        _label_lines(ax, tests, "mean", styles, ", tested")
    else:
        _label_lines(ax, trained, "scaled_smoothed", styles)

    regimes = regimes[["regime", "task", "block", "name"]]
    tests = regimes.merge(tests, on=["block", "name"])
    if task:
        validate_choice("task", task, report.tasks.index)
        learned = learned[learned["task"] == task]
        tests = tests[tests["task"] == task]
    lifetime = LifetimeAxes(ax, reports, learned, tests)
    for metric in marks:
        for prefix, draw in MARKS.items():
            if metric.startswith(prefix):
                draw(lifetime, metric)


def _block_table(curves):
    """Return block_type, start, width and learned of each block.

    The width of a learning block is to scale; all test blocks have the same width.
    """
    by_block = curves.groupby("block", sort=False)
    blocks = by_block.agg(block_type=("block_type", "first"), count=("task", "size"))
    is_test = blocks["block_type"] == "test"
    test_count = is_test.sum()
    learned = blocks["count"].mask(is_test, 0)
    share = min(0.053 * test_count, 0.36)  # of the width, for all test columns
    column = learned.sum() * share / (1 - share) / max(1, test_count)
    width = learned.mask(is_test, column or 1.0).astype(float)
    start = width.cumsum() - width
    return blocks.assign(
        start=start,
        width=width,
        learned=learned.cumsum(),
    )


def _test_table(tests, blocks):
    """Return the tests with their x, and the x and mean of the task's previous test."""
    middle = blocks["start"] + blocks["width"] / 2
    offset = _x_offsets(tests) * tests["block"].map(blocks["width"])
    tests = tests.assign(x=tests["block"].map(middle) + offset)
    tests[["x_before", "before"]] = tests.groupby("name")[["x", "mean"]].shift()
    return tests


def _x_offsets(tests):
    """Return the distance of each test from the middle of its column, so that tasks don't hide each other."""
    names = list(tests["name"].unique())
    room = min(0.6, 0.28 * (len(names) - 1))
    offsets = np.linspace(-room / 2, room / 2, len(names))
    return tests["name"].map(dict(zip(names, offsets)))


def _y_limits(tests, trained):
    """Return the lowest and highest visible value; raw curves can extend the range by 40 % on each side."""
    low, high = _span(tests[["mean", "low", "high"]], trained["scaled_smoothed"])
    if len(trained):
        reach = 0.4 * (high - low)
        noise = np.nanpercentile(trained["scaled_raw"], (1, 99))
        noise = np.clip(noise, low - reach, high + reach)
        low, high = _span((low, high), noise)
    return low, high


def _span(*arrays):
    """Return the lowest and highest of all values; the lowest is 0 unless all are far above 0."""
    values = np.concatenate([np.ravel(array) for array in arrays])
    low = np.nanmin(values)
    high = np.nanmax(values)
    if 0 < low < 0.6 * high:
        low = 0.0
    return low, high


def _draw_test_columns(ax, blocks):
    """Draw the columns of the tests, and ticks with the number of experiences so far."""
    is_test = blocks["block_type"] == "test"
    end = blocks["start"] + blocks["width"]
    for block in blocks[is_test].itertuples():
        ax.axvspan(block.start, block.start + block.width, color=TRACK, zorder=0)
    ax.set_xlim(0, end.iloc[-1])
    min_gap = 0.08 * end.iloc[-1]
    trained = blocks[~is_test]
    ticks = list(trained["start"][:1])
    counts = [0] * len(ticks)
    for tick, count in zip(end[~is_test], trained["learned"]):
        if tick - ticks[-1] > min_gap:
            ticks.append(tick)
            counts.append(count)
    ax.set_xticks(ticks, [f"{count:,}" for count in counts])


def _label_blocks(ax, learned, styles):
    """Write the name of the task above each learning block, if there is room."""
    unit = 650 / ax.get_xlim()[1]  # hundredths of an inch, roughly
    labels = []
    for block in learned.itertuples():
        width = (block.end - block.begin) * unit
        label = f"learn {block.name}"
        if text_width(label, TEXT_SIZE, "bold") > width:
            label = truncate_to_width(block.name, width, TEXT_SIZE, "bold")
        labels.append(label if len(label) > 4 or label == block.name else "")
    middles = (learned["begin"] + learned["end"]) / 2
    ax.set_xticks(middles, labels, minor=True)
    ax.tick_params(
        "x",
        which="minor",
        labeltop=True,
        labelbottom=False,
    )
    for tick, name in zip(ax.xaxis.get_minor_ticks(), learned["name"]):
        colour = styles[name][0]
        tick.label2.set(
            color=darken(colour),
            size=TEXT_SIZE,
            weight="bold",
        )


def _draw_raw(ax, x, y, colour):
    """Draw a raw curve, thin and pale. Without antialiasing a PNG is half as large."""
    ax.plot(
        x,
        y,
        color=colour,
        lw=0.7,
        alpha=0.27,
        ls="-",
        antialiased=False,
    )


def _draw_tests(ax, x, line, style, share, **options):
    """Draw the tests of a task as hollow marks with intervals, on a line blended with this share of its colour."""
    colour, _, marker = style
    mean = line["mean"]
    ax.errorbar(
        x,
        mean,
        (mean - line["low"], line["high"] - mean),
        color=blend(colour, share),
        ecolor=colour,
        elinewidth=1.8,
        marker=marker,
        mec=colour,
        ms=max(4, min(7, 60 / len(line))),
        zorder=7,
        **HOLLOW,
        **options,
    )


def _label_lines(ax, table, column, styles, suffix=""):
    """Write the names of the first ten lines at their ends."""
    end = ax.get_xlim()[1]
    labels = []
    for name, line in list(table.groupby("name", sort=False))[:10]:
        values = line[column].dropna()
        if len(values):
            colour = styles[name][0]
            labels.append((end, values.iloc[-1], shorten(name, 18) + suffix, colour))
    label_line_ends(ax, labels)


def _measure_label(report):
    """Return the name of the measure and its normalization."""
    suffixes = {
        "none": "",
        "task": ", 0 to 100 is the range of each task",
        "run": ", 0 to 100 is the range of the lifetime",
    }
    return readable_name(report.measure) + suffixes[report.settings.normalization]


# ---------------------------------------------------------------- metrics on their curve


def _mark_saturation(lifetime, metric):
    """Draw a dashed line at the saturation value, and an arrow over the time to reach it."""
    ax = lifetime.ax
    for row in lifetime.learned.dropna(subset="saturation").head(1).itertuples():
        level = row.saturation
        time = row.time_to_saturation
        _draw_guide(ax, (row.begin, row.end), (level, level), BOUND_DASH)
        text = f"saturation value {format_number(level)}"
        _write(ax, text, (row.begin, level), (4, 9), "left")
        text = f"time to saturation {time:,.0f}"
        _draw_time(ax, row.begin, row.begin + time, level, text)


def _mark_recovery(lifetime, metric):
    """Draw an arrow over the slowest recovery of a task's previous level."""
    learned = lifetime.learned
    rows = learned.dropna(subset="recovery_time").sort_values("recovery_time")
    for row in rows.tail(1).itertuples():
        own = learned[learned["task"] == row.task]
        previous = own[own["end"] <= row.begin].iloc[-1]
        level = previous["terminal"]
        length = row.end - row.begin
        time = min(row.recovery_time, length)
        end = row.begin + time
        text = f"recovery time {time:,.0f}"
        if not row.recovered:
            text = f"not recovered in {length:,.0f}"
        _draw_guide(lifetime.ax, (previous["end"], end), (level, level))
        _draw_time(lifetime.ax, row.begin, end, level, text)


def _mark_maintenance(lifetime, metric):
    """Draw an arrow from the level at which a task was last learned to the test with the largest loss."""
    column = "maintenance_mrtlp" if metric.endswith("mrtlp") else "maintenance_mrlep"
    regimes = pd.concat([report.regimes for report in lifetime.reports])
    changes = regimes.groupby("regime")[column].mean()
    tests = lifetime.tests
    tests = tests.assign(change=tests["regime"].map(changes))
    tests = tests.dropna(subset="change")
    for test in tests.nsmallest(1, "change").itertuples():
        learned = lifetime.learned
        ends = learned.loc[learned["name"] == test.name, "end"]
        start = ends[ends <= test.x].max()
        change = format_number(abs(test.change))
        text = f"forgetting {change}" if test.change < 0 else f"maintenance +{change}"
        level = test.mean - test.change
        _draw_change(lifetime.ax, start, level, test.x, test.mean, text)


def _mark_transfer(lifetime, metric):
    """Draw an arrow between two consecutive tests of a task, for the pair of tasks with the largest change."""
    pairs = pd.concat([report.pairs for report in lifetime.reports])
    values = pairs[pairs["metric"] == metric].groupby("regime")["value"].mean()
    tests = lifetime.tests
    tests = tests.assign(value=tests["regime"].map(values))
    tests = tests.dropna(subset=["value", "before"])
    tests["size"] = (tests["mean"] - tests["before"]).abs()
    for test in tests.nlargest(1, "size").itertuples():
        change = f"{format_number(test.before)} to {format_number(test.mean)}"
        kind = metric.split("_")[-1]  # ratio or contrast
        text = f"{change}: {kind} {format_number(test.value)}"
        start = test.x_before
        _draw_change(lifetime.ax, start, test.before, test.x, test.mean, text)


MARKS = {  # {prefix of a metric's name: function that draws its mark}
    "saturation": _mark_saturation,
    "time_to_saturation": _mark_saturation,
    "recovery_time": _mark_recovery,
    "performance_recovery": _mark_recovery,
    "performance_maintenance": _mark_maintenance,
    "forgetting": _mark_maintenance,
    "forward_transfer": _mark_transfer,
    "backward_transfer": _mark_transfer,
}


def _draw_time(ax, begin, end, level, text, share=0.13, colour=INK):
    """Draw an arrow along x at a share of the axes' height, with a guide up to the level reached."""
    low, high = ax.get_ylim()
    y = low + share * (high - low)
    _draw_guide(ax, (end, end), (y, level), colour=colour)
    _draw_arrow(ax, (begin, y), (end, y), colour)
    right = max(end, begin + 0.23 * ax.get_xlim()[1])
    _write(ax, text, (right, y), (-2, -10), "right", colour)


def _draw_change(ax, start, level, x, value, text):
    """Draw an arrow to the mark of a test from an earlier level, shown by a dotted line since `start`."""
    x -= 0.006 * ax.get_xlim()[1]
    _draw_guide(ax, (start, x), (level, level))
    _draw_arrow(ax, (x, level), (x, value))
    offset = 9 if value > level else -9
    _write(ax, text, (x, value), (-2, offset), "right")


def _draw_arrow(ax, start, stop, colour=INK):
    """Draw an arrow with two heads."""
    style = {
        "arrowstyle": "<|-|>",
        "color": colour,
        "lw": 1.4,
        "mutation_scale": 9,
        "shrinkA": 0,
        "shrinkB": 0,
    }
    ax.annotate("", stop, start, arrowprops=style, zorder=9)


def _draw_guide(ax, xs, ys, dash=DOTS, colour=INK):
    """Draw a thin line with a halo, which stays visible on a raw curve."""
    halo = withStroke(linewidth=2.4, foreground=PAPER)
    ax.plot(
        xs,
        ys,
        color=colour,
        lw=1.2,
        ls=dash,
        zorder=8,
        path_effects=[halo],
    )


def _write(ax, text, position, offset, align, colour=INK):
    """Write a text in bold at an offset (points) from a position."""
    ax.annotate(
        text,
        position,
        offset,
        textcoords="offset points",
        ha=align,
        va="center",
        size=TICK_SIZE,
        weight="bold",
        color=darken(colour),
        zorder=10,
        path_effects=[withStroke(linewidth=3.5, foreground=PAPER)],
    )


# ---------------------------------------------------------------- parts of the other pictures


def select_metrics(report: Report, metrics: Sequence[str] = ()) -> list[str]:
    """Return the names of the metrics to show: by default eight that have a value, DEFAULT_METRICS first."""
    names = list(report.lifetime.index)
    order = [*DEFAULT_METRICS, *names]
    return list(metrics or sorted(names, key=order.index)[:8])


def _smoothing_label(settings):
    """Return the smoothing method and its window, as in "flat, window 20"."""
    if settings.smoothing == "none":
        return "not smoothed"
    window = "of a fifth" if settings.window is None else f"{settings.window:g}"
    return f"{settings.smoothing}, window {window}"


def _draw_card(ax, x, y, name, value, previous):
    """Draw a card with a metric's name and value, and the previous value if it differs."""
    card = FancyBboxPatch(
        (x + 0.02, y + 0.06),
        0.96,
        0.88,
        boxstyle="round,pad=0,rounding_size=0.04",
        mutation_aspect=3.2,
        fc=SURFACE,
        ec=LINE,
        lw=1,
    )
    ax.add_patch(card)
    title = truncate_to_width(
        readable_name(name).removeprefix("performance "), 185, SMALL_SIZE
    )
    ax.text(
        x + 0.08,
        y + 0.3,
        title,
        size=SMALL_SIZE,
        color=TEXT,
        va="center",
    )
    ax.text(
        x + 0.08,
        y + 0.67,
        value,
        size=15,
        weight="bold",
        va="center",
    )
    if previous != value:
        ax.text(
            x + 0.92,
            y + 0.67,
            f"was {previous}",
            size=TICK_SIZE,
            color=TEXT,
            va="center",
            ha="right",
        )


def _learned_before(report, blocks):
    """Return for each test block the names of the tasks learned since the previous one."""
    learned = _named_regimes(report).query("block_type != 'test'")
    labels = []
    for previous, block in zip([-np.inf, *blocks], blocks):
        is_between = learned["block"].between(previous, block)
        names = learned.loc[is_between, "name"].unique()
        labels.append(shorten(", ".join(names) or "start", 14))
    return labels


def _draw_saturation(ax, curve, share, height, colour, marker):
    """Draw a mark at the saturation of a curve, and an arrow over the time to reach it."""
    level, time = saturation(curve, share)
    ax.plot(time, level, marker, mec=colour, zorder=8, **HOLLOW)
    text = f"{format_number(level)} after {time:,.0f}"
    _draw_time(ax, 0, time, level, text, height, colour)
