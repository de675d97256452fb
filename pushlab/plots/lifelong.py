"""Pictures of a lifetime: tests with intervals, learning curves in their blocks, metrics where they are read from.

They take what `pushlab.metrics.lifelong.lifelong_report` returns, or a list of reports, one a lifetime of one syllabus.
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pushlab.metrics.lifelong import Report
from pushlab.plots.kit import end_labels
from pushlab.plots.lifeline import (
    Board,
    Lifeline,
    draw_hollow,
    draw_raw,
    set_heights,
    small_axes,
    widest,
)
from pushlab.plots.lifelong_curves import AREAS, PEAKS, against_expert
from pushlab.plots.lifelong_marks import draw_mark, find_marks
from pushlab.plots.lifelong_tables import (
    Reports,
    as_list,
    drawn_curves,
    evaluation_table,
    learned_regimes,
    name_order,
)
from pushlab.plots.lifelong_words import (
    interval_words,
    lifetime_lead,
    lifetime_title,
    metric_title,
    scale_words,
)
from pushlab.plots.palette import (
    INK,
    LEAD,
    LINE,
    SMALL,
    SURFACE,
    TEXT,
    TICK,
    deep,
    series_styles,
)
from pushlab.plots.sheet import MARGIN, Stage, fit, house_style, text_width
from pushlab.plots.words import short_number, spoken

WIDTH = 900
SHORTEST = 5  # letters of a name, the ellipsis included, below which it is left out
MOST_NAMED = 10  # tasks with a name at the end of their line
CARDS, CARD = 4, (207, 58)  # cards of metrics in a row, width and height of one
MOST_CARDS = 8
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

# Beginnings of metrics' names, and the marks that show them; the first that fits counts.
SHOWN_BY = {
    "saturation": ("saturation",),
    "time_to_saturation": ("saturation", "time_to_saturation"),
    "recovery_time": ("recovery_time",),
    "performance_recovery": ("recoveries",),
    "performance_maintenance_mrtlp": ("maintenance_mrtlp",),
    "performance_maintenance": ("forgetting",),
    "forward_transfer_contrast": ("forward_transfer_contrast",),
    "forward_transfer": ("forward_transfer",),
    "backward_transfer_contrast": ("backward_transfer_contrast",),
    "backward_transfer": ("backward_transfer",),
}


# ---------------------------------------------------------------- pictures


@house_style()
def lifetime_curve(
    reports: Reports,
    marks: Sequence[str] = ("saturation", "time_to_saturation", "forgetting"),
    task: str | None = None,
    title: str | None = None,
    lead: str | None = None,
    unit: str | None = None,
    figure: Figure | None = None,
) -> Axes:
    """A whole lifetime: learning curves in their blocks, raw and smoothed; grey columns for the tests, with intervals.

    reports   a report of `lifelong_report`, or a list of them: then the tests show their mean, and the curves are those
              of the first
    marks     metrics to draw on the curve they are read from, of `plots.MARKS`; those that the log does not allow are
              left out
    task      the task that the marks are about; None chooses where most is to be seen
    title     the sentence on top; None says what was forgotten
    lead      where the numbers come from; None says syllabus, intervals and curves
    unit      what the height means; None makes it from the measure and its normalisation
    returns   Axes on a sheet of 9 x 4.3 inches
    """
    return _draw_lifetime(
        Stage(WIDTH, 430, figure), 276, as_list(reports), marks, task, title, lead, unit
    )


@house_style()
def report_sheet(
    report: Report,
    before: Report | None = None,
    metrics: Sequence[str] | None = None,
    marks: Sequence[str] = ("saturation", "forgetting"),
    title: str | None = None,
    lead: str | None = None,
    unit: str | None = None,
    figure: Figure | None = None,
) -> Axes:
    """A lifetime and its metrics: the curves above, a card a metric below; what a change of settings does to both.

    report    a report of `lifelong_report`
    before    the report to compare with: where a number is another, its card says what it was
    metrics   names of the metrics to show; None takes eight that have a value, those of HEADLINES first
    returns   Axes on a sheet 9 inches wide
    """
    report = as_list(report)[0]
    names = shown_metrics(report, metrics)
    stage = Stage(WIDTH, 400 + -(-len(names) // CARDS) * (CARD[1] + 8), figure)
    ax = _draw_lifetime(stage, 242, [report], marks, None, title, lead, unit)
    for place, name in enumerate(names):
        row, column = divmod(place, CARDS)
        _draw_card(
            stage,
            MARGIN + column * (CARD[0] + 8),
            384 + row * (CARD[1] + 8),
            name,
            report.lifetime.get(name),
            None if before is None else before.lifetime.get(name),
        )
    return ax


@house_style()
def evaluation_blocks(
    reports: Reports,
    title: str | None = None,
    lead: str | None = None,
    unit: str | None = None,
    figure: Figure | None = None,
) -> Axes:
    """The tests alone: how each task is mastered after each block of learning, with 95 % intervals.

    returns   Axes on a sheet of 6.4 x 4 inches; `evaluation_table` holds the numbers that are drawn
    """
    reports = as_list(reports)
    table = evaluation_table(reports)
    if not len(table):
        raise ValueError(
            "the log has no test blocks: there is nothing to draw. lifetime_curve draws what was learned"
        )
    stage, styles = Stage(640, 400, figure), series_styles(name_order(reports[0]))
    shift = stage.heading(
        title or lifetime_title(reports, table),
        lead or f"tests, {interval_words(table)}",
    )
    stage.label(MARGIN, 82 + shift, unit or scale_words(reports[0]))
    blocks = list(table["block"].unique())
    labels = _end_names(table, "mean", styles, len(blocks) - 0.5, 120, ", tested")
    ax, place = small_axes(stage, shift, labels, below=76)
    room = min(0.12 * (table["name"].nunique() - 1), 0.5)
    for name, line, aside in _dodged(table, room):
        colour, dash, marker = styles[name]
        at = np.array([blocks.index(block) for block in line["block"]]) + aside
        ax.plot(at, line["mean"], color=colour, ls=dash, lw=2.0, alpha=0.75)
        _draw_tests(ax, at, line, colour, marker, 7.5)
    ax.set_xlim(-0.5, len(blocks) - 0.5)
    set_heights(ax, [table["mean"], table["low"], table["high"]])
    _name_tests(stage, ax, reports[0], blocks, place)
    end_labels(ax, labels)
    return ax


def metric_on_curve(
    reports: Reports,
    metric: str,
    task: str | None = None,
    title: str | None = None,
    lead: str | None = None,
    unit: str | None = None,
    figure: Figure | None = None,
) -> Axes:
    """One metric drawn where it is read from; a metric with no place on a curve leaves the lifetime unmarked.

    reports   a report of `lifelong_report`, or a list of them, one a lifetime
    metric    a name that stands in the report, one's own as well
    task      the task to show it on; None chooses one
    returns   Axes: of `against_expert` for what compares with an expert, else of `lifetime_curve`
    """
    reports = as_list(reports)
    _demand_metrics(reports[0], [metric])
    title = title or metric_title(reports, metric)
    if metric in AREAS + PEAKS and reports[0].experts:
        return against_expert(reports[0], task, (metric,), title, lead, unit, figure)
    marks = next(
        (
            marks
            for beginning, marks in SHOWN_BY.items()
            if metric.startswith(beginning)
        ),
        (),
    )
    return lifetime_curve(reports, marks, task, title, lead, unit, figure)


def _demand_metrics(report, names):
    for name in names:
        if name not in report.lifetime.index and name not in dict(report.missing):
            raise ValueError(
                f"the report has no metric {name!r}; it has {', '.join(report.lifetime.index)}"
            )


# ---------------------------------------------------------------- the lifetime


def _draw_lifetime(stage, room, reports, marks, task, title, lead, unit):
    """Heading, columns, curves, tests, names and marks, `room` high under one line of title and lead; returns Axes."""
    report, tests = reports[0], evaluation_table(reports)
    found = find_marks(reports, tests, marks, task)
    shift = stage.heading(
        title or lifetime_title(reports, tests), lead or lifetime_lead(reports, tests)
    )
    stage.label(MARGIN, 92 + shift, unit or scale_words(report))
    line, curves, styles = (
        Lifeline(report.curves),
        drawn_curves(report),
        series_styles(name_order(report)),
    )
    labels = _end_names(tests, "mean", styles, line.end, 120, ", tested") or _end_names(
        curves, "thick", styles, line.end, 150
    )  # where each task was left
    place = (
        56,
        112 + shift,
        WIDTH - 56 - MARGIN - max(widest(labels) + 12, 56),
        room - shift,
    )
    ax = stage.axes(*place)  # 56 at the right is half of the last tick at the least
    line.draw(ax)
    board = Board(stage, ax, place, line, tests)
    trained = curves[curves["block_type"] != "test"]
    heights = np.concatenate(
        [tests[["mean", "low", "high"]].to_numpy(float).ravel(), trained["thick"]]
    )
    set_heights(ax, [heights, _height_of_noise(trained["thin"], heights)])
    for _, rows in trained.groupby("regime", sort=False):
        _draw_regime(board, line.x[rows.index], rows, *styles[rows["name"].iloc[0]][:2])
    _draw_test_marks(board, tests, styles)
    _name_blocks(board, report, styles)
    end_labels(ax, labels)
    for mark in found:
        draw_mark(board, mark)
    return ax


def _end_names(lines, column, styles, x, room, ending=""):
    """`end_labels` of the lines: their names, at the last height that is known."""
    labels = []
    for name, line in list(lines.groupby("name", sort=False))[:MOST_NAMED]:
        known = line[column].dropna()
        if len(known):
            labels.append(
                (
                    x,
                    known.iloc[-1],
                    fit(name, room, TICK, "bold") + ending,
                    styles[name][0],
                    "bold",
                )
            )
    return labels


def _height_of_noise(thin, others):
    """How low and high a raw curve may reach: all but its outliers, and not so far that all else looks flat."""
    others = others[np.isfinite(others)]
    if not len(others) or not thin.notna().any():
        return np.empty(0)
    reach = max(0.4 * np.ptp(others), 1e-9)
    return np.clip(
        np.nanpercentile(thin, (1, 99)), others.min() - reach, others.max() + reach
    )


def _draw_regime(board, x, rows, colour, dash):
    """One stretch of learning: thin and pale as lived, thick where smoothed."""
    thick = rows["thick"].to_numpy()
    draw_raw(board.ax, x, rows["thin"].to_numpy(), colour)
    board.keep_off(x, rows["thin"], pale=True)
    every = slice(None, None, max(1, len(x) // 250))
    mark = "." if len(x) == 1 else None  # a line needs two points
    board.ax.plot(
        x[every],
        thick[every],
        color=colour,
        lw=2.4,
        ls=dash,
        solid_capstyle="butt",
        marker=mark,
    )
    board.keep_off(x[every], thick[every])


def _draw_test_marks(board, tests, styles):
    middles = board.line.blocks.set_index("block").eval("(start + stop) / 2")
    unit = board.line.end / board.place[2]  # data units of one hundredth of an inch
    wide = board.line.column / unit
    room = min(0.6 * wide, 10 * (tests["name"].nunique() - 1))
    for name, line, aside in _dodged(tests, room):
        colour, _, marker = styles[name]
        at = middles[line["block"]].to_numpy() + aside * unit
        board.dodge.update({(block, name): x for block, x in zip(line["block"], at)})
        board.ax.plot(
            at, line["mean"], color=colour, lw=1, ls=(0, (1, 2)), alpha=0.55, zorder=6
        )
        _draw_tests(
            board.ax, at, line, colour, marker, float(np.clip(wide / 4, 4.0, 7.5))
        )
        board.keep_off(at, line["mean"])


def _dodged(tests, room):
    """(name, its rows, how far its marks stand from the middle), so that those of one test do not hide each other."""
    lines = list(tests.groupby("name", sort=False))
    for place, (name, line) in enumerate(lines):
        yield name, line, (place - (len(lines) - 1) / 2) / max(1, len(lines) - 1) * room


def _draw_tests(ax, at, line, colour, marker, size):
    known = line["low"].notna().to_numpy()
    ax.vlines(
        at[known],
        line["low"][known],
        line["high"][known],
        color=colour,
        lw=1.8,
        zorder=7,
    )
    draw_hollow(ax, at, line["mean"], marker, colour, size)


def _name_blocks(board, report, styles):
    """“learn A” in each block of learning: on the floor where the curves leave it free, else along the top."""
    _, top, _, height = board.place
    floor, ceiling = top + height - 22, top + 10
    free = [not (np.abs(board.points()[:, 1] - y) < 14).any() for y in (floor, ceiling)]
    y = floor if free[0] or not free[1] else ceiling
    spans = [
        (row.name, *board.on_stage(board.line.span(row.regime), 0)[0])
        for row in learned_regimes(report).itertuples(index=False)
    ]
    short = any(
        text_width(f"learn {name}", LEAD, "bold") > end - begin - 6
        for name, begin, end in spans
    )
    for name, begin, end in spans:
        words = fit(f"{'' if short else 'learn '}{name}", end - begin - 6, LEAD, "bold")
        if words == name or len(words) >= SHORTEST:
            board.set(
                (begin + end) / 2, y, "center", words, LEAD, deep(styles[name][0])
            )


def _name_tests(stage, ax, report, blocks, place):
    """Under each test, what was learned just before it; names are thinned out where they would touch."""
    learned, (left, top, width, height) = learned_regimes(report), place
    words = []
    for before, block in zip([-np.inf, *blocks], blocks):
        between = learned.loc[
            (learned["block"] > before) & (learned["block"] < block), "name"
        ]
        words.append(", ".join(between.unique()) or "start")
    pitch = width / len(blocks)
    longest = max(text_width(name, TICK) for name in words) + 6
    rows = (
        1 if longest <= pitch else 2
    )  # names too wide for one row stand on two, in turn
    every = max(1, int(np.ceil(min(longest, 44) / (rows * pitch))))
    ax.xaxis.set_ticks(range(len(blocks)), [""] * len(blocks))
    for at, name in list(enumerate(words))[::every]:
        stage.text(
            left + (at + 0.5) * pitch,
            top + height + 17 + 17 * (at // every % rows),
            fit(name, rows * every * pitch - 6, TICK),
            TICK,
            TEXT,
            align="center",
        )
    stage.text(
        left, top + height + 21 + 17 * rows, "learned before the test", TICK, TEXT
    )


# ---------------------------------------------------------------- the cards of a report


def shown_metrics(report: Report, metrics: Sequence[str] | None) -> list[str]:
    """Names of the metrics to show: those asked for, or eight that have a value, those of HEADLINES first."""
    if metrics is None:
        return sorted(
            report.lifetime.index, key=lambda name: (*HEADLINES, name).index(name)
        )[:MOST_CARDS]
    _demand_metrics(report, metrics)
    return list(metrics)


def _draw_card(stage, x, y, name, value, before):
    stage.box(x, y, *CARD, 9, SURFACE, LINE)
    called = spoken(name)
    if text_width(called, SMALL) > CARD[0] - 24:
        called = called.removeprefix(
            "performance "
        )  # what tells mrlep from mrtlp stands at the end
    stage.label(x + 12, y + 16, fit(called, CARD[0] - 24, SMALL))
    value = np.nan if value is None else value
    words = (
        "not to be had"
        if np.isnan(value)
        else "not reached"
        if np.isinf(value)
        else short_number(value)
    )
    stage.text(x + 12, y + 40, words, 15 if np.isfinite(value) else LEAD, INK, "bold")
    if before is not None and words != short_number(before):
        stage.text(
            x + CARD[0] - 12,
            y + 40,
            f"was {short_number(before)}",
            TICK,
            TEXT,
            align="right",
        )
