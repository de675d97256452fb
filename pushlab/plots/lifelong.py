"""Pictures of a lifetime: tests with intervals, learning curves in their blocks, metrics where they are read from.

They take a report of `pushlab.metrics.lifelong.lifelong_report`, or a list of them, one a lifetime of one syllabus.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from matplotlib.patheffects import withStroke

from pushlab.ground.arguments import has_rows, one_of
from pushlab.metrics.estimate import half_width
from pushlab.metrics.lifelong import Report
from pushlab.metrics.lifelong.curves import saturation
from pushlab.metrics.lifelong.log import read_params
from pushlab.plots.style import (
    BAND,
    BOUND_DASH,
    INK,
    LEAD,
    LINE,
    PAPER,
    SMALL,
    SURFACE,
    TEXT,
    TICK,
    TRACK,
    blend,
    chart,
    deep,
    fit,
    house_style,
    label_line_ends,
    name_axes,
    plain,
    round_limits,
    series_styles,
    sheet,
    short,
    short_number,
    spoken,
    text_width,
    tick_name,
)

Reports = Report | Sequence[Report]  # several: lifetimes of one syllabus


def _as_list(reports: Reports) -> list[Report]:
    """Return one report, or several, as a list; raise TypeError for anything else."""
    reports = [reports] if isinstance(reports, Report) else list(reports)
    if not reports or not all(isinstance(report, Report) for report in reports):
        raise TypeError("expected a report of lifelong_report(log), or a list of them")
    return reports


def _drawn_curves(report):
    """Return the log with three more columns: name, and on the scale of the metrics raw and smoothed values.

    Returns:
        The log with `name` (see `_regime_names`), `thin` (raw) and `thick` (smoothed, clamped, normalised).
    """
    curves = report.curves.reset_index(drop=True)
    names = curves["regime"].map(_regime_names(report))
    scales = {task: _scale_of(report, task) for task in curves["task"].unique()}
    slope = curves["task"].map(lambda task: scales[task][0])
    shift = curves["task"].map(lambda task: scales[task][1])
    thin = slope * curves["raw"] + shift
    return curves.assign(name=names, thin=thin, thick=curves["normalized"])


def _scale_of(report, task):
    """Return the slope and shift that bring values of a task to the scale of the metrics."""
    kind = report.settings.normalization
    if kind == "none":
        return 1.0, 0.0
    scales = report.scales.values() if kind == "run" else [report.scales[task]]
    low = min(ends[0] for ends in scales)
    high = max(ends[1] for ends in scales)
    slope = 100 / (high - low) if high > low else 1.0
    offset = 1 if report.settings.reference else 0  # the release adds 1
    return slope, offset - low * slope


def evaluation_table(reports: Reports) -> pd.DataFrame:
    """Return the mean and 95 % interval of each task in each test block.

    Args:
        reports: One report, for intervals over the episodes of each test, or several of one syllabus, for intervals
            over the lifetimes.

    Returns:
        A table block, name, mean, low, high, count, over. `name` is the task or, for variants of one task, the
        parameters that differ. `over` is "episodes" or "lifetimes", which `count` counts. `low` and `high` are NaN if
        the count is 1.
    """
    reports = _as_list(reports)
    parts = []
    for report in reports:
        curves = _drawn_curves(report)
        tests = curves.loc[curves["block_type"] == "test", ["block", "name", "thick"]]
        if len(reports) > 1:
            by_test = tests.groupby(["block", "name"], sort=False, as_index=False)
            tests = by_test.mean()
        parts.append(tests)
    by_test = pd.concat(parts).groupby(["block", "name"], sort=False)["thick"]
    table = by_test.agg(["mean", "std", "count"]).reset_index()
    half = half_width(table.pop("std"), table["count"])
    table.insert(3, "low", table["mean"] - half)
    table.insert(4, "high", table["mean"] + half)
    table["over"] = "lifetimes" if len(reports) > 1 else "episodes"
    places = table["name"].map(_name_order(reports[0]).index)
    return table.iloc[np.lexsort((places, table["block"]))].reset_index(drop=True)


def _named_regimes(report):
    """Return `report.regimes` with the column `name`, see `_regime_names`."""
    return report.regimes.assign(
        name=report.regimes["regime"].map(_regime_names(report))
    )


def _name_order(report):
    """Return the names of the tasks in the order in which they are learned; those only tested come last."""
    regimes = _named_regimes(report)
    return list(
        regimes.sort_values("block_type", ascending=False, kind="stable")[
            "name"
        ].unique()
    )


def _regime_names(report):
    """Return {regime: name}: its task or, if a task is learned in variants, the parameters that differ.

    >>> from types import SimpleNamespace
    >>> regimes = pd.DataFrame({"regime": [0, 1], "block_type": "train", "task": "shelf", "variant": ["s 0", "s 1"],
    ...                         "params": ['{"noise": 0, "n": 4}', '{"noise": 1, "n": 4}']})
    >>> _regime_names(SimpleNamespace(regimes=regimes))
    {0: 'noise 0', 1: 'noise 1'}
    """
    regimes = report.regimes
    names = regimes["task"].map(plain)
    is_alone = names.nunique() == 1
    for task, rows in regimes.groupby("task", sort=False):
        if (rows["variant"] == task).all():
            continue
        words = _variant_words(rows["params"])
        if len(set(words)) < rows["variant"].nunique():
            words = [plain(variant) for variant in rows["variant"]]
        names[rows.index] = (
            words if is_alone else [f"{plain(task)}, {word}" for word in words]
        )
    return dict(zip(regimes["regime"], names))


def _variant_words(params):
    """The first parameter in which each variant is unusual, and how many more there are: "noise 1 +2"."""
    known = pd.json_normalize([read_params(text) for text in params])
    known = known.map(_value_words, na_action="ignore")
    known = known.loc[:, known.nunique(dropna=False) > 1]
    usual = {key: known[key].mode(dropna=False)[0] for key in known}
    words = []
    for row in known.to_dict("records"):
        given = {key: value for key, value in row.items() if isinstance(value, str)}
        unusual = {key: value for key, value in given.items() if value != usual[key]}
        parts = [
            f"{spoken(key.split('.')[-1])} {value}"
            for key, value in (unusual or given).items()
        ]
        more = f" +{len(parts) - 1}" if len(parts) > 1 else ""
        words.append("".join(parts[:1]) + more)
    return words


def _value_words(value):
    return tick_name(value) if isinstance(value, int | float) else plain(value)


DOTS = (0, (1, 2))
LIFETIME = "Learning and tests of a lifetime"
TESTS_AND_CURVES = "grey columns: tests, 95 % intervals   ·   curves: raw and smoothed"
HOLLOW: dict[str, Any] = {"mfc": PAPER, "mew": 1.8, "clip_on": False}
HEADLINES = (
    "mean_evaluation_performance",
    "performance_maintenance_mrlep",
    "recovery_time",
    "time_to_saturation",
    "forward_transfer_contrast",
    "backward_transfer_contrast",
    "relative_performance",
    "sample_efficiency",
)
VERSUS = (
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
    task: str | None = None,
    title: str = LIFETIME,
    lead: str = TESTS_AND_CURVES,
) -> Figure:
    """Draw a lifetime: learning curves in their blocks, raw and smoothed, and tests with intervals in grey columns.

    Args:
        reports: One report, or several: then the tests show their mean, and the curves are those of the first.
        marks: Metrics to draw on the curve they are read from, by the beginnings of their names: see MARKS. A metric
            that the log does not allow is left out.
        task: The task that the marks are about. None chooses the one with most to see.
    """
    reports = _as_list(reports)
    ax = chart(title, lead, size=(9, 4.3))
    _draw_lifetime(ax, reports, marks, task)
    return ax.figure


def metric_on_curve(
    reports: Reports,
    metric: str,
    task: str | None = None,
    title: str = "",
    lead: str = TESTS_AND_CURVES,
) -> Figure:
    """Draw one metric where it is read from; a metric with no place on a curve leaves the lifetime unmarked.

    Args:
        reports: One report, or a list of them, one a lifetime.
        metric: The name of a metric in the report, including one's own.
        task: The task to show it on. None chooses one.
    """
    reports = _as_list(reports)
    one_of("metric", metric, [*reports[0].lifetime.index, *dict(reports[0].missing)])
    title = title or f"{spoken(metric).capitalize()} of a lifetime"
    if metric in VERSUS and reports[0].experts:
        return against_expert(reports[0], task, (metric,), title, lead)
    return lifetime_curve(reports, (metric,), task, title, lead)


@house_style()
def report_sheet(
    report: Report,
    before: Report | None = None,
    metrics: Sequence[str] | None = None,
    title: str = LIFETIME,
    lead: str = TESTS_AND_CURVES,
) -> Figure:
    """Draw a lifetime and its metrics: the curves above, a card for each metric below.

    Args:
        before: A report to compare with. The card of a number that has changed says what it was.
        metrics: Names of the metrics to show. None takes eight that have a value, those of HEADLINES first.
    """
    (report,) = _as_list(report)
    names = shown_metrics(report, metrics)
    rows = -(-len(names) // 4)
    height = 3.9 + 0.66 * rows
    figure = sheet(9, height, title, lead)
    grid = figure.add_gridspec(2, height_ratios=(3, 0.66 * rows))
    above = figure.add_subplot(grid[0])
    _draw_lifetime(above, [report], ("saturation", "forgetting"), None)
    below = figure.add_subplot(grid[1].subgridspec(1, 1)[0])
    below.set(xlim=(0, 4), ylim=(rows, 0))
    below.set_axis_off()
    for place, name in enumerate(names):
        value = short_number(report.lifetime.get(name, np.nan))
        was = short_number(before.lifetime.get(name, np.nan)) if before else value
        _draw_card(below, place % 4, place // 4, name, value, was)
    return figure


@house_style()
def evaluation_blocks(
    reports: Reports,
    title: str = "Tests of a lifetime",
    lead: str = "means and 95 % intervals",
) -> Figure:
    """Draw the tests alone: how each task is mastered after each block of learning, with 95 % intervals."""
    reports = _as_list(reports)
    table = evaluation_table(reports)
    has_rows(table)
    ax = chart(
        title,
        lead,
        _height_words(reports[0]),
        "learned before the test",
        (6.4, 4),
    )
    styles = series_styles(_name_order(reports[0]))
    blocks = list(table["block"].unique())
    table["x"] = table["block"].map(blocks.index) + 0.4 * _aside(table)
    for name, line in table.groupby("name", sort=False):
        look = styles[name]
        _draw_tests(ax, line["x"], line, look, share=0.75, lw=2, ls=look[1])
    round_limits(ax.yaxis, *_span(table[["mean", "low", "high"]]))
    every = -(-len(blocks) // 6)
    words = _learned_before(reports[0], blocks)
    ax.set_xticks(range(len(blocks))[::every], words[::every])
    ax.set_xlim(-0.5, len(blocks) - 0.5)
    _name_lines(ax, table, "mean", styles, ", tested")
    return ax.figure


@house_style()
def against_expert(
    report: Report,
    task: str | None = None,
    metrics: Sequence[str] = ("relative_performance", "sample_efficiency"),
    title: str = "",
    lead: str = "dashed: the expert, who learned nothing else",
) -> Figure:
    """Draw how a task was learned in the lifetime, beside the expert who learned it alone.

    What lies between the curves is tinted, and marks show when and where each saturates.

    Args:
        report: A report of `lifelong_report(log, experts=...)`.
        task: None takes the first task that has an expert.
        metrics: Those of VERSUS to write above the curves.
    """
    curves = _drawn_curves(report).query("block_type != 'test'")
    known = [name for name in curves["task"].unique() if report.experts.get(name)]
    if not known:
        raise ValueError(
            "no expert of a task that was learned: use lifelong_report(log, experts=...)"
        )
    task = known[0] if task is None else one_of("task", task, known)
    slope, shift = _scale_of(report, task)  # from the measure to the curves
    own = curves[curves["task"] == task].reset_index(drop=True)
    thick = (own["thick"] - shift) / slope
    experts = pd.DataFrame(report.experts[task])
    expert = (experts.mean(skipna=False).dropna() - shift) / slope

    look = series_styles(report.curves["task"])[task]
    ax = chart(
        title or f"{task} in the lifetime, and learned alone",
        lead,
        spoken(report.measure),
        "experiences",
        (6.4, 4.2),
    )
    _draw_raw(ax, own.index, own["raw"], look[0])
    ax.plot(thick, color=look[0], lw=2.4, ls=look[1])
    ax.plot(expert, color=INK, lw=1.8, ls=BOUND_DASH)
    for start in own.index[own["regime"].diff() > 0]:
        ax.axvline(start, color=INK, lw=0.8, ls=(0, (1, 3)), alpha=0.5, zorder=1)
    noise = np.nanpercentile(own["raw"], (2, 98))
    round_limits(ax.yaxis, *_span(thick, expert, noise))
    round_limits(ax.xaxis, 0, max(len(own), len(expert)))
    both = range(min(len(own), len(expert)))
    ax.fill_between(both, thick[both], expert[both], color=look[0], alpha=BAND)
    share = report.settings.saturation_share
    _draw_peak(ax, thick, share, 0.12, look[0], "o")
    _draw_peak(ax, expert, share, 0.26, INK, "s")
    values = [(name, short_number(report.tasks.at[task, name])) for name in metrics]
    words = "   ·   ".join(f"{spoken(name)} {value}" for name, value in values)
    ax.set_title(words, loc="center", size=TICK, weight="bold", pad=8)
    end = ax.get_xlim()[1]
    own_end = (end, thick.dropna().iloc[-1], short(task, 16), look[0])
    label_line_ends(ax, [own_end, (end, expert.iloc[-1], "expert", INK)])
    return ax.figure


@house_style()
def smoothed_curves(
    reports: Reports,
    title: str = "Experiences, raw and smoothed",
    lead: str = "grey: raw   ·   a mark where each curve is highest",
) -> Figure:
    """Draw the first stretch of learning raw and as each report smoothed it, with a mark where each is highest.

    Args:
        reports: Reports of one log under different settings.
    """
    reports = _as_list(reports)
    regimes = reports[0].regimes
    regime = regimes["regime"][regimes["block_type"].ne("test").idxmax()]
    curves = [report.curves[report.curves["regime"] == regime] for report in reports]
    raw = curves[0]["raw"].to_numpy(float)
    measure = spoken(reports[0].measure)
    ax = chart(title, lead, measure, "experiences", (6.4, 4))
    _draw_raw(ax, range(len(raw)), raw, TEXT)
    styles = series_styles(range(len(reports)))
    labels = []
    for number, (report, curve) in enumerate(zip(reports, curves)):
        colour, dash, marker = styles[number]
        line = curve["smoothed"].reset_index(drop=True).dropna()
        peak = line.idxmax()
        ax.plot(line, color=colour, ls=dash)
        ax.plot(peak, line[peak], marker, mec=colour, zorder=8, **HOLLOW)
        words = _smoothing_words(report.settings)
        labels.append((len(raw), line.iloc[-1], words, colour))
    round_limits(ax.yaxis, *_span(raw))
    ax.set_xlim(0, len(raw))
    label_line_ends(ax, labels)
    return ax.figure


# ---------------------------------------------------------------- the lifetime


class LifetimeAxes(NamedTuple):
    """A lifetime on axes, with the numbers that marks of metrics need.

    Attributes:
        learned: Regimes of learning, with their name and the x at which they begin and end.
        tests: Tests with regime, name, mean and x; x_before and before are x and mean of the test before.
    """

    ax: Axes
    reports: list[Report]
    learned: pd.DataFrame
    tests: pd.DataFrame


def _draw_lifetime(ax, reports, marks, task):
    """Draw columns, curves, tests and names, then the marks."""
    report = reports[0]
    curves = _drawn_curves(report)
    styles = series_styles(_name_order(report))
    blocks = _place_blocks(curves)
    trained = curves[curves["block_type"] != "test"]
    within = trained.groupby("block").cumcount()
    trained = trained.assign(x=trained["block"].map(blocks["start"]) + within)
    tests = _place_tests(evaluation_table(reports), blocks)
    ends = trained.groupby("regime")["x"].agg(begin="min", end="max")
    regimes = _named_regimes(report)
    learned = regimes.merge(ends + [0, 1], on="regime")

    name_axes(ax, _height_words(report), "experiences")
    for (name, _), rows in trained.groupby(["name", "regime"], sort=False):
        colour, dash, _ = styles[name]
        some = rows.iloc[:: -(-len(rows) // 600)]
        _draw_raw(ax, some["x"], some["thin"], colour)
        ax.plot(some["x"], some["thick"], color=colour, lw=2.4, ls=dash)
    for name, line in tests.groupby("name", sort=False):
        _draw_tests(ax, line["x"], line, styles[name], share=0.55, lw=1, ls=DOTS)
    round_limits(ax.yaxis, *_heights(tests, trained))
    _draw_blocks(ax, blocks)
    _name_blocks(ax, learned, styles)
    if len(tests):
        _name_lines(ax, tests, "mean", styles, ", tested")
    else:
        _name_lines(ax, trained, "thick", styles)

    regimes = regimes[["regime", "task", "block", "name"]]
    tests = regimes.merge(tests, on=["block", "name"])
    if task is not None:
        one_of("task", task, report.tasks.index)
        learned = learned[learned["task"] == task]
        tests = tests[tests["task"] == task]
    life = LifetimeAxes(ax, reports, learned, tests)
    for metric in marks:
        for beginning, draw in MARKS.items():
            if metric.startswith(beginning):
                draw(life, metric)


def _place_blocks(curves):
    """A table by block: block_type, start, width, learned. Learning is to scale, a block of tests is a column."""
    by_block = curves.groupby("block", sort=False)
    blocks = by_block.agg(block_type=("block_type", "first"), count=("task", "size"))
    is_test = blocks["block_type"] == "test"
    learned = blocks["count"].mask(is_test, 0)
    share = min(0.053 * is_test.sum(), 0.36)  # of the width, for all columns
    column = learned.sum() * share / (1 - share) / max(1, is_test.sum())
    width = learned.mask(is_test, column or 1.0).astype(float)
    start = width.cumsum() - width
    return blocks.assign(start=start, width=width, learned=learned.cumsum())


def _place_tests(tests, blocks):
    """The tests with x, where each is drawn, and x and mean of the test before."""
    middle = blocks["start"] + blocks["width"] / 2
    aside = _aside(tests) * tests["block"].map(blocks["width"])
    tests = tests.assign(x=tests["block"].map(middle) + aside)
    tests[["x_before", "before"]] = tests.groupby("name")[["x", "mean"]].shift()
    return tests


def _aside(tests):
    """How far from the middle of its column each test is drawn, so that tasks don't hide each other."""
    names = list(tests["name"].unique())
    room = min(0.6, 0.28 * (len(names) - 1))
    offsets = np.linspace(-room / 2, room / 2, len(names)) if len(names) > 1 else [0]
    return tests["name"].map(dict(zip(names, offsets)))


def _heights(tests, trained):
    """The lowest and highest value to show; raw curves may go beyond the rest by 40 %, so that it isn't flat."""
    low, high = _span(tests[["mean", "low", "high"]], trained["thick"])
    if len(trained):
        reach = 0.4 * (high - low)
        noise = np.nanpercentile(trained["thin"], (1, 99))
        low, high = _span((low, high), np.clip(noise, low - reach, high + reach))
    return low, high


def _span(*values):
    """The lowest and highest of all values; from 0 unless all are far above it."""
    known = np.concatenate([np.ravel(some) for some in values])
    low, high = np.nanmin(known), np.nanmax(known)
    return (0.0 if 0 < low < 0.6 * high else low), high


def _draw_blocks(ax, blocks):
    """Draw the columns of the tests, and ticks that count what was learned."""
    is_test = blocks["block_type"] == "test"
    for block in blocks[is_test].itertuples():
        ax.axvspan(block.start, block.start + block.width, color=TRACK, zorder=0)
    stop = blocks["start"] + blocks["width"]
    ax.set_xlim(0, stop.iloc[-1])
    places = list(blocks["start"][~is_test][:1])
    counts = [0] * len(places)
    for place, count in zip(stop[~is_test], blocks["learned"][~is_test]):
        if place - places[-1] > 0.08 * stop.iloc[-1]:
            places.append(place)
            counts.append(count)
    ax.set_xticks(places, [f"{count:,}" for count in counts])


def _name_blocks(ax, learned, styles):
    """Write above each block of learning what is learned in it, if there is room."""
    unit = 650 / ax.get_xlim()[1]  # hundredths of an inch, roughly
    words = []
    for block in learned.itertuples():
        width = (block.end - block.begin) * unit
        name = f"learn {block.name}"
        if text_width(name, LEAD, "bold") > width:
            name = fit(block.name, width, LEAD, "bold")
        words.append(name if len(name) > 4 or name == block.name else "")
    ax.set_xticks((learned["begin"] + learned["end"]) / 2, words, minor=True)
    ax.tick_params("x", which="minor", labeltop=True, labelbottom=False)
    for tick, name in zip(ax.xaxis.get_minor_ticks(), learned["name"]):
        tick.label2.set(color=deep(styles[name][0]), size=LEAD, weight="bold")


def _draw_raw(ax, x, y, colour):
    """Draw a curve as lived, thin and pale. Without antialiasing a PNG is half as large."""
    ax.plot(x, y, color=colour, lw=0.7, alpha=0.27, ls="-", antialiased=False)


def _draw_tests(ax, x, line, look, share, **style):
    """Draw the tests of a task: hollow marks with intervals, on a line of a share of its colour."""
    colour, _, marker = look
    ax.errorbar(
        x,
        line["mean"],
        (line["mean"] - line["low"], line["high"] - line["mean"]),
        color=blend(colour, share),
        ecolor=colour,
        elinewidth=1.8,
        marker=marker,
        mec=colour,
        ms=max(4, min(7, 60 / len(line))),
        zorder=7,
        **HOLLOW,
        **style,
    )


def _name_lines(ax, table, column, styles, ending=""):
    """Write the names of the first ten lines at their ends."""
    end = ax.get_xlim()[1]
    labels = []
    for name, line in list(table.groupby("name", sort=False))[:10]:
        known = line[column].dropna()
        if len(known):
            words = short(name, 18) + ending
            labels.append((end, known.iloc[-1], words, styles[name][0]))
    label_line_ends(ax, labels)


def _height_words(report):
    """The measure, and how it was normalised."""
    ranges = {"task": ", 0 to 100 is the range of each task", "none": ""}
    ranges["run"] = ", 0 to 100 is the range of the lifetime"
    return spoken(report.measure) + ranges[report.settings.normalization]


# ---------------------------------------------------------------- metrics on their curve


def _mark_saturation(life, metric):
    """A dashed line at the saturation value, and an arrow as long as it took."""
    for row in life.learned.dropna(subset="saturation").head(1).itertuples():
        level = row.saturation
        time = row.time_to_saturation
        _guide(life.ax, (row.begin, row.end), (level, level), BOUND_DASH)
        words = f"saturation value {short_number(level)}"
        _write(life.ax, words, (row.begin, level), (4, 9), "left")
        words = f"time to saturation {time:,.0f}"
        _draw_time(life.ax, row.begin, row.begin + time, level, words)


def _mark_recovery(life, metric):
    """An arrow from the beginning of a block to where its task is as good as it was left: the slowest recovery."""
    rows = life.learned.dropna(subset="recovery_time").sort_values("recovery_time")
    for row in rows.tail(1).itertuples():
        own = life.learned[life.learned["task"] == row.task]
        before = own[own["end"] <= row.begin].iloc[-1]
        level = before["terminal"]
        lived = row.end - row.begin
        time = min(row.recovery_time, lived)
        words = f"recovery time {time:,.0f}"
        if not row.recovered:
            words = f"not recovered in {lived:,.0f}"
        _guide(life.ax, (before["end"], row.begin + time), (level, level))
        _draw_time(life.ax, row.begin, row.begin + time, level, words)


def _mark_maintenance(life, metric):
    """An arrow down to the test that lost most, from the level at which its task was last learned."""
    column = "maintenance_mrtlp" if metric.endswith("mrtlp") else "maintenance_mrlep"
    regimes = pd.concat([report.regimes for report in life.reports])
    changes = regimes.groupby("regime")[column].mean()
    tests = life.tests.assign(change=life.tests["regime"].map(changes))
    tests = tests.dropna(subset="change")
    for test in tests.nsmallest(1, "change").itertuples():
        own = life.learned[life.learned["name"] == test.name]
        since = own.loc[own["end"] <= test.x, "end"].max()
        change = short_number(abs(test.change))
        words = f"forgetting {change}" if test.change < 0 else f"maintenance +{change}"
        _draw_change(life.ax, since, test.mean - test.change, test.x, test.mean, words)


def _mark_transfer(life, metric):
    """An arrow from one test of a task to the next: of all pairs of tasks, the largest change."""
    pairs = pd.concat([report.pairs for report in life.reports])
    values = pairs[pairs["metric"] == metric].groupby("regime")["value"].mean()
    tests = life.tests.assign(value=life.tests["regime"].map(values))
    tests = tests.dropna(subset=["value", "before"])
    tests["size"] = (tests["mean"] - tests["before"]).abs()
    for test in tests.nlargest(1, "size").itertuples():
        name = spoken(metric.removesuffix("_ratio"))
        words = f"{name} {short_number(test.value)}"
        _draw_change(life.ax, test.x_before, test.before, test.x, test.mean, words)


MARKS = {  # by the beginnings of metrics' names
    "saturation": _mark_saturation,
    "time_to_saturation": _mark_saturation,
    "recovery_time": _mark_recovery,
    "performance_recovery": _mark_recovery,
    "performance_maintenance": _mark_maintenance,
    "forgetting": _mark_maintenance,
    "forward_transfer": _mark_transfer,
    "backward_transfer": _mark_transfer,
}


def _draw_time(ax, begin, end, level, words, share=0.13, colour=INK):
    """Draw an arrow along the x axis, at a share of the axes' height, with a guide up to the level reached."""
    low, high = ax.get_ylim()
    y = low + share * (high - low)
    _guide(ax, (end, end), (y, level), colour=colour)
    _arrow(ax, (begin, y), (end, y), colour)
    right = max(end, begin + 0.23 * ax.get_xlim()[1])
    _write(ax, words, (right, y), (-2, -10), "right", colour)


def _draw_change(ax, since, level, x, value, words):
    """Draw an arrow from an earlier level, which a dotted line carries on, to the mark of a test."""
    beside = x - 0.006 * ax.get_xlim()[1]
    _guide(ax, (since, beside), (level, level))
    _arrow(ax, (beside, level), (beside, value))
    beyond = 9 if value > level else -9
    _write(ax, words, (beside, value), (-2, beyond), "right")


def _arrow(ax, start, stop, colour=INK):
    """Draw an arrow with two heads."""
    style = {"arrowstyle": "<|-|>", "color": colour, "lw": 1.4, "mutation_scale": 9}
    style |= {"shrinkA": 0, "shrinkB": 0}
    ax.annotate("", stop, start, arrowprops=style, zorder=9)


def _guide(ax, xs, ys, dash=DOTS, colour=INK):
    """Draw a thin line with a halo, which can be followed across a raw curve."""
    halo = withStroke(linewidth=2.4, foreground=PAPER)
    ax.plot(xs, ys, color=colour, lw=1.2, ls=dash, zorder=8, path_effects=[halo])


def _write(ax, words, at, offset, align, colour=INK):
    """Write words in bold at an offset (points) from a place."""
    ax.annotate(
        words,
        at,
        offset,
        textcoords="offset points",
        ha=align,
        va="center",
        size=TICK,
        weight="bold",
        color=deep(colour),
        zorder=10,
        path_effects=[withStroke(linewidth=3.5, foreground=PAPER)],
    )


# ---------------------------------------------------------------- parts of the other pictures


def shown_metrics(report: Report, metrics: Sequence[str] | None = None) -> list[str]:
    """Return the names of the metrics to show: eight that have a value by default, those of HEADLINES first."""
    known = list(report.lifetime.index)
    return list(metrics or sorted(known, key=[*HEADLINES, *known].index)[:8])


def _smoothing_words(settings):
    """Return how curves were smoothed: "flat, window 20"."""
    if settings.smoothing == "none":
        return "not smoothed"
    window = "of a fifth" if settings.window is None else f"{settings.window:g}"
    return f"{settings.smoothing}, window {window}"


def _draw_card(ax, x, y, name, value, was):
    """Draw a card with a metric's name and value and, if it has changed, what it was."""
    corners = {"boxstyle": "round,pad=0,rounding_size=0.04", "mutation_aspect": 3.2}
    card = (x + 0.02, y + 0.06), 0.96, 0.88
    ax.add_patch(FancyBboxPatch(*card, fc=SURFACE, ec=LINE, lw=1, **corners))
    words = fit(spoken(name).removeprefix("performance "), 185, SMALL)
    ax.text(x + 0.08, y + 0.3, words, size=SMALL, color=TEXT, va="center")
    ax.text(x + 0.08, y + 0.67, value, size=15, weight="bold", va="center")
    if was != value:
        look = {"size": TICK, "color": TEXT, "va": "center", "ha": "right"}
        ax.text(x + 0.92, y + 0.67, f"was {was}", **look)


def _learned_before(report, blocks):
    """For each block of tests, what was learned since the one before."""
    learned = _named_regimes(report).query("block_type != 'test'")
    words = []
    for before, block in zip([-np.inf, *blocks], blocks):
        names = learned.loc[learned["block"].between(before, block), "name"]
        words.append(short(", ".join(names.unique()) or "start", 14))
    return words


def _draw_peak(ax, curve, share, height, colour, marker):
    """Draw where a curve saturates, and an arrow as long as that took."""
    level, time = saturation(curve, share)
    ax.plot(time, level, marker, mec=colour, zorder=8, **HOLLOW)
    words = f"{short_number(level)} after {time:,.0f}"
    _draw_time(ax, 0, time, level, words, height, colour)
