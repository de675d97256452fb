"""One stretch of learning: beside the single-task expert, who learned nothing else, or smoothed in several ways."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pushlab.metrics.lifelong import Report
from pushlab.plots.kit import end_labels
from pushlab.plots.lifeline import (
    Board,
    count_experiences,
    double_arrow,
    draw_hollow,
    draw_raw,
    halo_line,
    set_heights,
    small_axes,
    thinned,
)
from pushlab.plots.lifelong_tables import (
    Reports,
    as_list,
    learned_and_experts,
    learned_regimes,
    regime_names,
)
from pushlab.plots.lifelong_words import scale_words, smoothing_words
from pushlab.plots.palette import (
    BAND,
    BOUND_DASH,
    INK,
    LEAD,
    TEXT,
    TICK,
    TITLE,
    deep,
    series_styles,
)
from pushlab.plots.sheet import MARGIN, Stage, fit, house_style, plain
from pushlab.plots.words import short_number, spoken

AREAS = (
    "relative_performance",
    "relative_integral",
)  # metrics that compare what lies under the curves
PEAKS = (
    "sample_efficiency",
    "relative_saturation",
    "relative_time",
)  # those that compare saturations


# ---------------------------------------------------------------- beside an expert


@house_style()
def against_expert(
    report: Report,
    task: str | None = None,
    metrics: Sequence[str] = ("relative_performance", "sample_efficiency"),
    title: str | None = None,
    lead: str | None = None,
    unit: str | None = None,
    figure: Figure | None = None,
) -> Axes:
    """How a task was learned in the lifetime, beside the expert who learned it alone.

    report    a report of `lifelong_report(log, experts=...)`
    task      which task; None takes the first one that has an expert
    metrics   relative_performance and relative_integral tint what lies between the curves; sample_efficiency,
              relative_saturation and relative_time show when each saturates, and at what
    returns   Axes on a sheet of 6.4 x 4.2 inches; their floor is what ratios are counted from
    """
    report = as_list(report)[0]
    unknown = sorted(set(metrics) - {*AREAS, *PEAKS})
    if unknown:
        raise ValueError(
            f"{unknown[0]!r} compares with no expert; {', '.join(AREAS + PEAKS)} do"
        )
    task = _task_with_expert(report, task)
    own, experts, floor = learned_and_experts(report, task)
    shortest = min(map(len, experts))
    expert = np.nanmean([run[:shortest] for run in experts], axis=0)
    stage, style = (
        Stage(640, 420, figure),
        series_styles(dict.fromkeys(report.curves["task"]))[task],
    )
    of_several = "" if len(experts) == 1 else "s, their mean dashed"
    shift = stage.heading(
        title or _title(report, task),
        lead or f"task {plain(task)}   ·   {len(experts)} expert{of_several}",
    )
    stage.label(MARGIN, 82 + shift, unit or scale_words(report, ratios=True))
    board = _draw_curves(
        stage,
        shift,
        own,
        experts,
        expert,
        floor,
        fit(plain(task), 120, TICK, "bold"),
        style,
    )
    if set(metrics) & set(AREAS):
        common = min(len(own), len(expert))
        board.ax.fill_between(
            range(common),
            own["thick"][:common],
            expert[:common],
            color=style[0],
            alpha=BAND,
            lw=0,
        )
    peaks = report.against_experts
    peaks = peaks[(peaks["task"] == task) & peaks["expert_time"].notna()]
    if set(metrics) & set(PEAKS) and len(peaks):  # of several experts the mean
        mean = peaks[["saturation", "time", "expert_saturation", "expert_time"]].mean()
        _draw_peak(board, 0.10, mean["time"], mean["saturation"] + floor, style[0], "o")
        _draw_peak(
            board,
            0.22,
            mean["expert_time"],
            mean["expert_saturation"] + floor,
            INK,
            "s",
        )
    _write_values(board, report, task, metrics)
    return board.ax


def _task_with_expert(report, task):
    """The task, or the first one of those that were learned and have the curve of an expert."""
    learned = set(learned_regimes(report)["task"])
    known = [
        name for name, runs in report.experts.items() if len(runs) and name in learned
    ]
    if not known:
        raise ValueError(
            "the report knows no single-task expert of a task that was learned: give "
            "lifelong_report(log, experts=...) a store of them, or {task: [log, ...]}"
        )
    if task not in (None, *known):
        raise ValueError(
            f"no expert of task {task!r}; there are experts of {', '.join(map(str, known))}"
        )
    return known[0] if task is None else task


def _title(report, task):
    value, name = (
        _value(report, task, "relative_performance"),
        fit(plain(task), 170, TITLE, "bold"),
    )
    if value is None:
        return f"{name}, in a lifetime and learned alone"
    if abs(value - 1) < 0.01:
        return f"In the lifetime, {name} earns what its expert does"
    return f"In the lifetime, {name} earns {100 * value:.0f} % of what its expert does"


def _value(report, task, name):
    """A metric of one task out of the report, or None."""
    value = (
        report.tasks[name].get(task, np.nan) if name in report.tasks.columns else np.nan
    )
    return float(value) if np.isfinite(value) else None


def _draw_curves(stage, shift, own, experts, expert, floor, name, style):
    (colour, dash, _), longest = style, max(len(own), *map(len, experts))
    labels = [
        (max(1, longest - 1), _last(heights), words, shade, "bold")
        for heights, words, shade in (
            (own["thick"], name, colour),
            (expert, "expert", INK),
        )
    ]
    ax, place = small_axes(stage, shift, labels, below=48)
    board, at = Board(stage, ax, place), np.arange(len(own))
    set_heights(
        ax, [own["thick"], expert, np.nanpercentile(own["thin"], (2, 98)), [floor]]
    )
    count_experiences(ax, longest)
    draw_raw(ax, at, own["thin"].to_numpy(), colour)
    for run in experts if len(experts) > 1 else []:
        ax.plot(
            *thinned(np.arange(len(run)), run), color=INK, lw=0.8, alpha=0.35, ls="-"
        )
    for x in np.flatnonzero(np.diff(own["regime"])) + 1:
        ax.axvline(x, color=INK, lw=0.8, ls=(0, (1, 3)), alpha=0.5, zorder=1)
        board.keep_off(np.full(20, x), np.linspace(*ax.get_ylim(), 20))
    ax.plot(
        *thinned(at, own["thick"].to_numpy(), 2000),
        color=colour,
        lw=2.4,
        ls=dash,
        solid_capstyle="butt",
    )
    ax.plot(
        *thinned(np.arange(len(expert)), expert, 2000), color=INK, lw=1.8, ls=BOUND_DASH
    )
    board.keep_off(at, own["thick"])
    board.keep_off(at, own["thin"], pale=True)
    board.keep_off(np.arange(len(expert)), expert)
    end_labels(ax, labels)
    return board


def _last(values):
    known = np.asarray(values, float)
    known = known[np.isfinite(known)]
    return known[-1] if len(known) else 0.0


def _draw_peak(board, share, time, level, colour, marker):
    """Where one saturates: a mark at the level, and an arrow as long as it took, at a share of the axes' height."""
    low, high = board.ax.get_ylim()
    height = low + share * (high - low)
    draw_hollow(board.ax, time, level, marker, colour)
    halo_line(board.ax, (time, time), (height, level), colour=colour)
    board.keep_off(np.full(20, time), np.linspace(height, level, 20))
    if time > 0:
        double_arrow(board.ax, (0, height), (time, height), colour=colour)
    (begin, end), y = board.on_stage([0, time], height)
    places = [
        ((begin + end) / 2, y - 11, "center"),
        (begin + 4, y - 11, "left"),
        (end + 8, y, "left"),
        (begin + 4, y + 12, "left"),
    ]
    board.write(f"{short_number(level)} after {time:,.0f}", places, deep(colour))


def _write_values(board, report, task, metrics):
    """The names and values of the metrics, where the curves leave room."""
    left, top, width, height = board.place
    places = [
        (left + width * across, top + height * down, align)
        for down in (0.62, 0.5, 0.72, 0.4, 0.3, 0.08)
        for across, align in ((0.98, "right"), (0.5, "center"), (0.02, "left"))
    ]
    for name in metrics:
        value = _value(report, task, name)
        if value is not None:
            board.write(f"{spoken(name)} {short_number(value)}", places)


# ---------------------------------------------------------------- smoothed


@house_style()
def smoothed_curves(
    reports: Reports,
    names: Sequence[str] | None = None,
    regime: int | None = None,
    title: str | None = None,
    lead: str | None = None,
    unit: str | None = None,
    figure: Figure | None = None,
) -> Axes:
    """One stretch of learning as lived, and as each report smoothed it; a mark where each curve is highest.

    reports   reports of one log with other settings
    names     what to call them; None says smoothing and window
    regime    which stretch; None takes the first one of learning
    returns   Axes on a sheet of 6.4 x 4 inches
    """
    reports = as_list(reports)
    curves, learned = reports[0].curves, learned_regimes(reports[0])["regime"]
    if regime is None:
        regime = (learned if len(learned) else curves["regime"]).iloc[0]
    rows = curves[curves["regime"] == regime]
    if not len(rows):
        raise ValueError(
            f"the log has no regime {regime!r}; it has 0 to {curves['regime'].max()}"
        )
    names = [
        plain(name)
        for name in (names or [smoothing_words(report.settings) for report in reports])
    ]
    raw = rows["raw"].to_numpy(float)
    lines = [
        report.curves.loc[report.curves["regime"] == regime, "smoothed"].to_numpy(float)
        for report in reports
    ]
    stage, about = (
        Stage(640, 400, figure),
        fit(regime_names(reports[0])[regime], 240, LEAD),
    )
    ways = {1: "one way", 2: "two ways", 3: "three ways"}.get(
        len(lines), f"{len(lines)} ways"
    )
    shift = stage.heading(
        title or f"The same {len(raw):,} experiences, smoothed {ways}",
        lead
        or f"block {rows['block'].iloc[0]}, {about}   ·   a mark where each curve is highest",
    )
    stage.label(MARGIN, 82 + shift, unit or spoken(reports[0].measure))
    styles = list(series_styles(range(len(lines))).values())
    labels = [
        (
            max(1, len(raw) - 1),
            _last(line),
            fit(name, 180, TICK, "bold"),
            style[0],
            "bold",
        )
        for line, name, style in zip(lines, names, styles)
        if np.isfinite(line).any()
    ]
    ax, _ = small_axes(stage, shift, labels, below=48)
    set_heights(ax, [raw, *lines])
    count_experiences(ax, len(raw))
    draw_raw(ax, np.arange(len(raw)), raw, TEXT, strength=0.4)
    for line, (colour, dash, marker) in zip(lines, styles):
        ax.plot(line, color=colour, lw=2.2, ls=dash, solid_capstyle="butt")
        if np.isfinite(line).any():
            draw_hollow(ax, np.nanargmax(line), np.nanmax(line), marker, colour)
    end_labels(ax, labels)
    return ax
