"""What preprocessing does: a lifetime with its metrics as numbers, and one block smoothed in several ways."""

import functools

import numpy as np

from pushlab.plots.kit import end_labels, set_ticks, ticks_around, ticks_between
from pushlab.plots.lifeline import thinned
from pushlab.plots.lifelong import draw_lifetime, lifetime_lead, lifetime_title, scale_words
from pushlab.plots.lifelong_marks import draw_mark, find_marks
from pushlab.plots.lifelong_tables import as_list, evaluation_table, regime_names
from pushlab.plots.palette import INK, LEAD, LINE, PAPER, SMALL, SURFACE, TEXT, TICK, series_styles
from pushlab.plots.sheet import MARGIN, Stage, fit, house_style, plain, text_width
from pushlab.plots.words import short_number, spoken

CARDS, CARD = 4, (207, 58)                      # cards in a row, width and height of one
MOST_CARDS = 8
HEADLINES = ("mean_evaluation_performance", "performance_maintenance_mrlep", "recovery_time", "time_to_saturation",
             "forward_transfer_contrast", "backward_transfer_contrast", "relative_performance", "sample_efficiency")


@house_style()
def report_sheet(report, before=None, metrics=None, marks=("saturation", "forgetting"), title=None, lead=None,
                 unit=None, figure=None):
    """A lifetime and its metrics: the curves above, a card a metric below; what a change of settings does to both.

    report    a report of `lifelong_report`
    before    the report to compare with: where a number is another, its card says what it was
    metrics   names of the metrics to show; None takes eight that have a value, those of HEADLINES first
    returns   Axes on a sheet 9 inches wide
    """
    report = as_list(report)[0]
    names = _shown_metrics(report, metrics)
    rows = -(-len(names) // CARDS)
    height = 400 + rows * (CARD[1] + 8)
    stage, tests = Stage(900, height, figure), evaluation_table(report)
    found = find_marks([report], tests, marks)
    shift = stage.heading(title or lifetime_title([report], tests), lead or lifetime_lead([report]))
    stage.label(MARGIN, 92 + shift, unit or scale_words(report))
    board = draw_lifetime(stage, [report], tests, top=112 + shift, height=400 - 158 - shift)
    for mark in found:
        draw_mark(board, mark)
    for place, name in enumerate(names):
        row, column = divmod(place, CARDS)
        _draw_card(stage, MARGIN + column * (CARD[0] + 8), 384 + row * (CARD[1] + 8), name, report.lifetime.get(name),
                   None if before is None else before.lifetime.get(name))
    return board.ax


def _shown_metrics(report, metrics):
    if metrics is None:
        known = list(report.lifetime.index)
        return [*(name for name in HEADLINES if name in known),
                *(name for name in known if name not in HEADLINES)][:MOST_CARDS]
    unknown = [name for name in metrics if name not in report.lifetime.index and name not in dict(report.missing)]
    if unknown:
        raise ValueError(f"the report has no metric {unknown[0]!r}; it has {', '.join(report.lifetime.index)}")
    return list(metrics)


def _draw_card(stage, x, y, name, value, before):
    stage.box(x, y, *CARD, 9, SURFACE, LINE)
    called = spoken(name)
    if text_width(called, SMALL) > CARD[0] - 24:
        called = called.removeprefix("performance ")        # what tells mrlep from mrtlp stands at the end
    stage.text(x + 12, y + 16, fit(called, CARD[0] - 24, SMALL), SMALL, TEXT)
    value = np.nan if value is None else value
    words = "not to be had" if np.isnan(value) else "not reached" if np.isinf(value) else short_number(value)
    size = 15 if np.isfinite(value) else LEAD
    stage.text(x + 12, y + 40, words, size, INK, "bold")
    if before is not None and words != short_number(before):
        stage.text(x + CARD[0] - 12, y + 40, f"was {short_number(before)}", TICK, TEXT, align="right")


@house_style()
def smoothed_curves(reports, names=None, regime=None, title=None, lead=None, unit=None, figure=None):
    """One stretch of learning as lived, and as each report smoothed it; a mark where each curve is highest.

    reports   reports of one log with other settings
    names     what to call them; None says smoothing and window
    regime    which stretch; None takes the first one of learning
    returns   Axes on a sheet of 6.4 x 4 inches
    """
    reports = as_list(reports)
    curves = reports[0].curves
    if regime is None:
        learned = curves.loc[curves["block_type"] != "test", "regime"]
        regime = (learned if len(learned) else curves["regime"]).iloc[0]
    if not (curves["regime"] == regime).any():
        raise ValueError(f"the log has no regime {regime!r}; it has 0 to {curves['regime'].max()}")
    names = [plain(name) for name in (names or [smoothing_words(report.settings) for report in reports])]
    lines = [report.curves.loc[report.curves["regime"] == regime, "smoothed"].to_numpy(float) for report in reports]
    raw = curves.loc[curves["regime"] == regime, "raw"].to_numpy(float)
    stage = Stage(640, 400, figure)
    about = regime_names(reports[0])[regime]
    shift = stage.heading(title or f"The same {len(raw):,} experiences, smoothed {_ways(len(lines))}",
                          lead or f"block {curves.loc[curves['regime'] == regime, 'block'].iloc[0]}, "
                                  f"{fit(about, 240, LEAD)}   ·   a mark where each curve is highest")
    stage.label(MARGIN, 82 + shift, unit or spoken(reports[0].measure))
    styles = list(series_styles(range(len(lines))).values())
    labels = [(len(raw), line[np.isfinite(line)][-1], fit(name, 180, TICK, "bold"), style[0], "bold")
              for line, name, style in zip(lines, names, styles) if np.isfinite(line).any()]
    widest = max((text_width(words, TICK, "bold") for _, _, words, *_ in labels), default=0)
    ax = stage.axes(64, 100 + shift, 640 - 64 - MARGIN - widest - 14, 400 - 148 - shift)
    ax.plot(*thinned(np.arange(len(raw)), raw), color=TEXT, lw=.7, alpha=.4, ls="-", antialiased=False)
    for line, (colour, dash, marker) in zip(lines, styles):
        ax.plot(line, color=colour, lw=2.2, ls=dash, solid_capstyle="butt")
        if np.isfinite(line).any():
            ax.plot(np.nanargmax(line), np.nanmax(line), marker, ms=8, mfc=PAPER, mec=colour, mew=1.8, zorder=8,
                    clip_on=False)
    known = np.concatenate([raw, *lines])
    low, high = np.nanmin(known), np.nanmax(known)
    ticks = ticks_around(0.0 if 0 < low < .6 * high else low, high if high > low else low + 1, 4)
    ax.set(ylim=(ticks[0], ticks[-1]), xlim=(0, max(1, len(raw) - 1)))
    set_ticks(ax.yaxis, ticks)
    set_ticks(ax.xaxis, ticks_between(*ax.get_xlim(), 4), "experiences", whole=True)
    end_labels(ax, [(ax.get_xlim()[1], *rest) for _, *rest in labels])
    return ax


def _ways(count):
    return {1: "one way", 2: "two ways", 3: "three ways"}.get(count, f"{count} ways")


def smoothing_words(settings):
    """Settings of smoothing in a few words: “flat, window 20”, “not smoothed”."""
    if settings.smoothing == "none":
        return "not smoothed"
    window = "of a fifth" if settings.window is None else f"{settings.window:g}"
    release = f", {settings.reference}" if settings.reference else ""
    return f"{settings.smoothing}, window {window}{release}"


# ---------------------------------------------------------------- for sliders

def settings_picture(log, experts=None, measure=None, metrics=None):
    """Two functions of smoothing, window, normalization and clamp: a `report_sheet`, and a sentence that says it.

    log, experts, measure   as `lifelong_report` takes them
    window                  experiences in the smoothing window; 0 takes the usual rule
    Its cards say what each number was under the settings that come by default. One figure is used again and again.
    """
    from pushlab.metrics.lifelong import Settings, lifelong_report

    usual, sheets = lifelong_report(log, experts=experts, measure=measure), {}

    @functools.lru_cache(maxsize=1)
    def report_under(smoothing, window, normalization, clamp):
        settings = Settings(smoothing=smoothing, window=window or None, normalization=normalization, clamp=clamp)
        return lifelong_report(log, experts=experts, measure=measure, settings=settings)

    def picture(smoothing="flat", window=0, normalization="task", clamp=False):
        report = report_under(smoothing, window, normalization, clamp)
        ax = report_sheet(report, usual, metrics or _shown_metrics(usual, None), figure=sheets.get("figure"),
                          title=f"{_capital(smoothing_words(report.settings))}; {_scale(normalization)}")
        sheets["figure"] = ax.figure
        return ax

    def say(smoothing="flat", window=0, normalization="task", clamp=False):
        report = report_under(smoothing, window, normalization, clamp)
        names = metrics or _shown_metrics(usual, None)
        return "; ".join(f"{spoken(name)} {short_number(report.lifetime[name])}" for name in names
                         if np.isfinite(report.lifetime.get(name, np.nan)))

    return picture, say


def _capital(words):
    return words[0].upper() + words[1:]


def _scale(normalization):
    return {"task": "each task from 0 to 100", "run": "the whole lifetime from 0 to 100"}.get(
        normalization, "in the unit of the reward")
