"""World3 as its book shows it: five curves over two or three centuries, each on its own scale, and what was done."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pushlab.plots.film import Days, Film, draw_lines, draw_time, film_stage
from pushlab.plots.palette import (
    BLUE,
    DASHES,
    DISMISSED,
    DRUG_1,
    DRUG_2,
    INK,
    LINE,
    ORANGE,
    PURPLE,
    SERIES,
    SMALL,
    SOFT,
    TEXT,
    blend,
)
from pushlab.plots.sheet import MARGIN, fit, house_style

WIDTH = 640  # of lanes and chart, in hundredths of an inch
TOP, BOTTOM, PITCH = 78, 416, 22  # of the first lane, of the chart, from lane to lane
COLOURS = (DRUG_1, DRUG_2, *SERIES[2:4])  # of the lanes, again and again


@dataclass(frozen=True)
class Curve:
    """One of the five: its name among the model's indicators, what takes their unit to the chart's, its value in words,
    and where the top of the chart stands."""

    name: str
    unit: float
    words: str
    top: float
    top_words: str
    colour: str

    def scale(self, values: np.ndarray) -> float:
        """The top of the curve's scale: the book's, doubled until the curve stays below."""
        top = self.top
        while values.max() > 1.02 * top:
            top *= 2
        return top


CURVES = (
    Curve(
        "population", 1e-9, "{:.2f} billion people", 16.0, "{:.3g} billion people", BLUE
    ),
    Curve(
        "resources",
        100.0,
        "{:.0f} % of resources",
        100.0,
        "{:.3g} % of resources",
        TEXT,
    ),
    Curve("food", 1.0, "{:.0f} kg food a head", 1000.0, "{:,.0f} kg food", ORANGE),
    Curve("output", 1.0, "industry, {:.0f} dollars", 500.0, "{:,.0f} dollars", PURPLE),
    Curve(
        "pollution",
        1.0,
        "{:.1f} × pollution",
        32.0,
        "{:.3g} times the pollution of 1970",
        DISMISSED,
    ),
)


@house_style()
def limits_to_growth(
    days: Days,
    title: str | None = None,
    lead: str | None = None,
    until: float | None = None,
    agent: str | None = None,
    figure: Figure | None = None,
) -> Figure:
    """People, resources, food, industrial output and pollution over the years, each on its own scale from zero.

    days      the frames of an episode up to now, or a table as `simulate()` returns it
    title     the sentence on top; None says what was done last
    until     the year at the right end; that at which the episode ends, or the table
    returns   Figure, 9 x 4.8 inches

    Lanes show what was done: above the line more than the model's own, below it less.
    """
    film = _film(days, until)
    stage = film_stage(title or _event(film), lead or _lead(film, agent), figure)
    top = _draw_lanes(stage, film) + 14
    _draw_curves(stage, film, stage.axes(MARGIN, top, WIDTH, BOTTOM - top))
    return stage.figure


def limits_to_growth_table(days: Days) -> pd.DataFrame:
    """What `limits_to_growth` draws: a DataFrame, a row a decision, of the year and the curves in the chart's units."""
    film = _film(days)
    return pd.DataFrame({"year": film.time, **_curves(film)}).set_index("year")


def _film(days, until=None):
    film = Film(days, until=until)
    if not {curve.name for curve in CURVES} <= set(film.indicators):
        raise ValueError(
            f"limits_to_growth() draws World3, and patient() any model; got {film.model['name']!r}"
        )
    return film


def _curves(film):
    """{name: (n,)} in the units of the chart."""
    return {curve.name: film.indicators[curve.name] * curve.unit for curve in CURVES}


def _lanes(film):
    """[(words, dose, dose - the model's own, reach)] of what the agent holds, and of what was moved all the same."""
    items = [
        (item, film.doses[name]) for name, item in film.model["interventions"].items()
    ]
    return [
        (item["words"], dose, dose - item["own"], item["reach"])
        for item, dose in items
        if item["held"] or (dose != item["own"]).any()
    ]


def _event(film):
    """What was done last, or where it begins."""
    now = f"{film.time[-1]:g}"
    if len(film.time) == 1:
        return f"{now}: before the first decision"
    done = [
        f"{words} {dose[-1]:.3g}" for words, dose, away, _ in _lanes(film) if away[-1]
    ]
    done = [*done[:2], f"{len(done) - 2} more"] if len(done) > 3 else done
    return f"{now}: {' and '.join([', '.join(done[:-1]), done[-1]] if done[1:] else done) or 'left alone'}"


def _lead(film, agent):
    years = f"{film.time[-1]:g}, of {film.time[0]:g} to {film.end:g}"
    key = "bars: above their line more than the model's own, below less"
    return "   ·   ".join([film.env or "World3", years, key] + [agent] * bool(agent))


def _draw_lanes(stage, film):
    """A lane an intervention; returns where the last one ends."""
    scale, top = WIDTH / (film.end - film.time[0]), TOP
    for lane, (words, dose, away, reach) in enumerate(_lanes(film)):
        middle = top + 8
        said = f"{words} {dose[-1]:.3g}" if len(dose) else words
        stage.text(
            MARGIN + WIDTH + 10,
            middle,
            fit(said, 900 - 2 * MARGIN - WIDTH, SMALL),
            SMALL,
        )
        stage.box(MARGIN, top, WIDTH, 16, 3, SOFT, z=2)
        reach = max(reach / 4, np.abs(away).max(initial=0.0))
        for begin, end, value in film.spells(away):
            height = 7.5 * abs(value) / reach
            stage.box(
                MARGIN + scale * (begin - film.time[0]),
                middle - height if value > 0 else middle,
                scale * (end - begin),
                height,
                0,
                COLOURS[lane % len(COLOURS)],
                z=3,
            )
        stage.line(
            [(MARGIN, middle), (MARGIN + WIDTH, middle)], blend(TEXT, 0.5), 0.8, z=4
        )
        top += PITCH
    return top


def _draw_curves(stage, film, ax):
    ax.set(xlim=(film.time[0], film.end), ylim=(0, 1.04))
    lines, tops = [], []
    for curve, values, dash in zip(CURVES, _curves(film).values(), DASHES):
        top = curve.scale(values)
        lines.append(
            (
                film.time,
                values / top,
                curve.words.format(values[-1]),
                curve.colour,
                dash,
                2.2,
            )
        )
        tops.append(curve.top_words.format(top))
    draw_lines(ax, film, lines, dx=18)
    if film.time[0] < film.time[-1] < film.end:
        ax.axvline(film.time[-1], color=INK, lw=1, zorder=1)
    ax.set_yticks([0.25, 0.5, 0.75, 1.0], [""] * 4)
    ax.tick_params(axis="y", length=0)
    ax.grid(True, axis="y", color=LINE, lw=0.8)
    draw_time(ax, film, 6)
    scales = "each curve from zero to the uppermost line: " + ", ".join(tops)
    stage.label(MARGIN, 458, fit(scales, 900 - 2 * MARGIN, SMALL))
