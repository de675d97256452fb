"""World3 as its book shows it: five curves over two or three centuries, each on its own scale, and what was done."""

from dataclasses import dataclass

import numpy as np

from pushlab.envs.ode.models import load_model
from pushlab.plots.kit import end_labels, ticks_between
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
from pushlab.plots.sheet import MARGIN, Stage, fit, house_style, plain

WIDTH = 640                                     # of lanes and chart, in hundredths of an inch
TOP, BOTTOM, PITCH = 78, 416, 22                # of the first lane, of the chart, from lane to lane
COLOURS = (DRUG_1, DRUG_2, *SERIES[2:4])        # of the lanes, again and again


@dataclass(frozen=True)
class Curve:
    """One of the five: its name in `indicators`, its value in words, and where the top of the chart stands."""

    name: str
    words: str
    top: float
    top_words: str
    colour: str
    dash: tuple


CURVES = (
    Curve("population", "{:.2f} billion people", 16.0, "{:.3g} billion people", BLUE, DASHES[0]),
    Curve("resources", "{:.0f} % of resources", 100.0, "{:.3g} % of resources", TEXT, DASHES[1]),
    Curve("food", "{:.0f} kg food a head", 1000.0, "{:,.0f} kg food", ORANGE, DASHES[2]),
    Curve("output", "{:.0f} dollars a head", 500.0, "{:,.0f} dollars", PURPLE, DASHES[3]),
    Curve("pollution", "{:.1f} × pollution", 32.0, "{:.3g} times the pollution of 1970", DISMISSED, DASHES[4]),
)
UNITS = {"population": 1e-9, "resources": 100.0}    # from those of `indicators` to those of the chart


@house_style()
def limits_to_growth(days, title=None, lead=None, until=None, agent=None, figure=None):
    """People, resources, food, industrial output and pollution over the years, each on its own scale from zero.

    days      the frames of an episode up to now, or a table as `simulate()` returns it
    title     the sentence on top; None says what was done last
    until     the year at the right end; that at which the episode ends, or the table
    returns   Figure, 9 x 4.8 inches

    Lanes show what was done: above the line more than the model's own, below it less.
    """
    film = _film(days, until)
    stage = Stage(900, 480, figure)
    stage.heading(plain(title or film.event()), plain(lead or film.lead(agent)), title_lines=1)
    _draw_lanes(stage, film)
    _draw_curves(stage, film)
    return stage.figure


def limits_to_growth_table(days):
    """What `limits_to_growth` draws: a DataFrame, a row a decision, of the year and the curves in the chart's units."""
    import pandas as pd

    film = _film(days, None)
    return pd.DataFrame({"year": film.time, **film.curves}).set_index("year")


@dataclass(frozen=True)
class _Film:
    """Years (n,), curves {name: (n,)}, and doses {words: (n - 1,)} with the model's own and how far each can go."""

    time: np.ndarray
    curves: dict
    doses: dict
    own: dict
    reach: dict
    end: float
    env: str | None

    def event(self):
        """What was done last, or where it begins."""
        now = f"{self.time[-1]:g}"
        if len(self.time) == 1:
            return f"{now}: before the first decision"
        done = [f"{words} {dose[-1]:.3g}" for words, dose in self.doses.items() if dose[-1] != self.own[words]]
        done = [*done[:2], f"{len(done) - 2} more"] if len(done) > 3 else done
        return f"{now}: {' and '.join([', '.join(done[:-1]), done[-1]] if done[1:] else done) or 'left alone'}"

    def lead(self, agent):
        years = f"{self.time[-1]:g}, of {self.time[0]:g} to {self.end:g}"
        key = "bars: above their line more than the model's own, below less"
        return "   ·   ".join([self.env or "World3", years, key] + [agent] * bool(agent))


def _film(days, until):
    model = load_model("world3")
    names = [item.name for item in model.interventions]
    if isinstance(days, (list, tuple)):
        if not days:
            raise ValueError("limits_to_growth() needs at least one frame, or a table")
        last, time = days[-1], [frame["time"] for frame in days]
        curves = {curve.name: [frame["indicators"][curve.name] for frame in days] for curve in CURVES}
        doses = np.array([[frame["doses"][name] for name in names] for frame in days[1:]]).reshape(-1, len(names))
        own, held, end, env = last["own"], last["held"], until or last["end"], last["env"]
    else:
        from pushlab.envs.ode.models.world3 import indicators

        doses, time = days[names].to_numpy(float)[:-1], days["time"]
        own = {name: getattr(model.Config(), name) for name in names}
        rested = np.array([list(own.values())])
        at_hand = np.concatenate([doses[:1] if len(doses) else rested, doses])
        curves = indicators(days[list(model.names)].to_numpy(float), at_hand)
        held, end, env = names[-2:], until or float(time.iloc[-1]), None
    moved = [name in held or (doses[:, at] != own[name]).any() for at, name in enumerate(names)]
    lanes = [(at, item) for at, item in enumerate(model.interventions) if moved[at]]
    return _Film(np.asarray(time, float),
                 {name: np.asarray(values, float) * UNITS.get(name, 1.0) for name, values in curves.items()},
                 {item.words: doses[:, at] for at, item in lanes}, {item.words: own[item.name] for _, item in lanes},
                 {item.words: max(abs(bound - own[item.name]) for bound in item.bounds) for _, item in lanes},
                 float(end), env)


# ---------------------------------------------------------------- what was done

def _draw_lanes(stage, film):
    scale = WIDTH / (film.end - film.time[0])
    for lane, (words, dose) in enumerate(film.doses.items()):
        top, colour = TOP + PITCH * lane, COLOURS[lane % len(COLOURS)]
        middle = top + 8
        said = f"{words} {dose[-1]:.3g}" if len(dose) else words
        stage.text(MARGIN + WIDTH + 10, middle, fit(said, 900 - 2 * MARGIN - WIDTH, SMALL), SMALL)
        stage.box(MARGIN, top, WIDTH, 16, 3, SOFT, z=2)
        away = dose - film.own[words]
        reach = max(film.reach[words] / 4, np.abs(away).max(initial=0.0))
        for begin, end, value in _spells(film.time, away):
            height = 7.5 * abs(value) / reach
            stage.box(MARGIN + scale * (begin - film.time[0]), middle - height if value > 0 else middle,
                      scale * (end - begin), height, 0, colour, z=3)
        stage.line([(MARGIN, middle), (MARGIN + WIDTH, middle)], blend(TEXT, 0.5), 0.8, z=4)


def _spells(time, values):
    """Stretches (begin, end, value) in which a value was held, without those of zero."""
    cuts = np.flatnonzero(np.diff(values)) + 1
    begins, ends = np.concatenate([[0], cuts]).astype(int), np.concatenate([cuts, [len(values)]]).astype(int)
    return [(time[a], time[b], values[a]) for a, b in zip(begins, ends) if a < b and values[a] != 0]


# ---------------------------------------------------------------- the curves

def top_of(curve, values):
    """The top of a curve's scale: the book's, doubled until the curve stays below."""
    top = curve.top
    while values.max() > 1.02 * top:
        top *= 2
    return top


def _draw_curves(stage, film):
    top = TOP + PITCH * len(film.doses) + 14
    ax = stage.axes(MARGIN, top, WIDTH, BOTTOM - top)
    ax.set(xlim=(film.time[0], film.end), ylim=(0, 1.04))
    ends, tops = [], []
    for curve in CURVES:
        values = film.curves[curve.name]
        height = top_of(curve, values)
        shares = values / height
        ax.plot(film.time, shares, color=curve.colour, ls=curve.dash, lw=2.2)
        if len(shares) == 1:
            ax.plot(film.time, shares, "o", color=curve.colour, ms=4, clip_on=False)
        ends.append((film.end, shares[-1], curve.words.format(values[-1]), curve.colour, "bold"))
        tops.append(curve.top_words.format(height))
    end_labels(ax, ends, dx=18)
    if film.time[0] < film.time[-1] < film.end:
        ax.axvline(film.time[-1], color=INK, lw=1, zorder=1)
    ax.set_yticks([0.25, 0.5, 0.75, 1.0], [""] * 4)
    ax.tick_params(axis="y", length=0)
    ax.grid(True, axis="y", color=LINE, lw=0.8)
    years = ticks_between(film.time[0], film.end, 6)
    ax.set_xticks(years, [f"{year:g}" for year in years])
    scales = "each curve from zero to the uppermost line: " + ", ".join(tops)
    stage.text(MARGIN, 458, fit(scales, 900 - 2 * MARGIN, SMALL), SMALL, TEXT)
