"""A dynamical model under treatment: its state over time, what was done, and the same days as a path."""

from dataclasses import dataclass

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke

from pushlab.envs.ode.models import load_model
from pushlab.plots.kit import end_labels, set_ticks, ticks_around, ticks_between
from pushlab.plots.palette import (
    BLUE,
    BOUND_DASH,
    DASHES,
    DISMISSED,
    DRUG_1,
    DRUG_2,
    GOAL,
    GOAL_EDGE,
    GREY,
    INK,
    LINE,
    ORANGE,
    PAPER,
    PURPLE,
    SERIES,
    SMALL,
    SOFT,
    TEXT,
    blend,
)
from pushlab.plots.sheet import MARGIN, Stage, fit, house_style, plain

LEFT, WIDTH = 62, 500                   # of the panels over time, in hundredths of an inch
TOP, BOTTOM = 141, 427                  # of all panels together
DRUGS = (DRUG_1, DRUG_2, PURPLE, GREY, ORANGE)
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class View:
    """What of a model is drawn: panels (title, ((variable, words, colour, dash), …)) and the two axes of the path."""

    panels: tuple
    path: tuple
    path_words: tuple


VIEWS = {
    "hiv": View((("CD4 cells per ml", (("T1", "healthy", BLUE, DASHES[0]), ("T1*", "infected", DISMISSED, DASHES[1]))),
                 ("free virus, copies per ml", (("V", "virus", DISMISSED, DASHES[0]),)),
                 ("immune effectors, cells per ml", (("E", "effectors", PURPLE, DASHES[0]),))),
                ("V", "E"), ("virus, copies per ml", "effectors, cells per ml")),
    "lotka_volterra": View((("animals", (("rabbits", "rabbits", BLUE, DASHES[0]),
                                         ("foxes", "foxes", ORANGE, DASHES[1]))),), ("rabbits", "foxes"),
                           ("rabbits", "foxes")),
}


def view_of(model):
    """How a model is drawn; one that is not known shows its first three variables, and the first two as a path."""
    if model.name in VIEWS:
        return VIEWS[model.name]
    shown = model.variables[:3]
    panels = tuple((f"{item.meaning or item.name}, {item.unit}", ((item.name, item.name, SERIES[at], DASHES[0]),))
                   for at, item in enumerate(shown))
    names = tuple(item.name for item in (*shown, *shown)[:2])
    return View(panels, names, names)


@house_style()
def patient(days, model="hiv", title=None, lead=None, goal=None, until=None, agent=None, figure=None):
    """The state over time, the interventions as coloured lanes and tints, the goal in green, and the phase portrait.

    days      the frames of an episode up to now, or a table as `simulate()` returns it
    model     of a table; frames know theirs
    title     the sentence on top; None says what was done last
    goal      {variable: (low, high)}, drawn in green; that of the frames by default
    until     the time at the right end; that at which the episode ends, or the table
    returns   Figure, 9 x 4.8 inches
    """
    film = film_of(days, model, goal, until)
    stage = Stage(900, 480, figure)
    stage.heading(plain(title or film.event()), plain(lead or film.lead(agent)), title_lines=1)
    view = view_of(film.model)
    draw_lanes(stage, film)
    height = (BOTTOM - TOP - 26 * (len(view.panels) - 1)) / len(view.panels)
    for row, (name, lines) in enumerate(view.panels):
        top = TOP + row * (height + 26)
        stage.text(MARGIN, top - 13, name, SMALL, INK, "bold")
        _draw_panel(stage.axes(LEFT, top, WIDTH, height), film, lines, row == len(view.panels) - 1)
    _draw_path(stage, film, view)
    return stage.figure


class Film:
    """Days as arrays: `time` (days,), `values` {variable: (days,)}, `share` (days - 1, interventions) from 0 to 1."""

    def __init__(self, model, time, values, doses, goal, end, env):
        self.model, self.time, self.values, self.doses = model, np.asarray(time, float), values, doses
        self.goal, self.end, self.env = goal or {}, end, env
        idle = np.array([getattr(model.Config(), item.name) for item in model.interventions])
        reach = np.array([max(abs(bound - rest) for bound in item.bounds)
                          for item, rest in zip(model.interventions, idle)])
        self.share = np.abs(doses - idle) / reach

    def event(self):
        """What was done last, or where it begins."""
        now = f"{self.model.time_unit.capitalize()} {self.time[-1]:g}"
        if not len(self.doses):
            return f"{now}: before the first decision"
        done = [item.words for item, share in zip(self.model.interventions, self.share[-1]) if share > 0]
        return f"{now}: {' and '.join(done) or 'no intervention'}"

    def lead(self, agent):
        words = [self.env or self.model.title, f"{self.model.time_unit} {self.time[-1]:g} of {self.end:g}"]
        if len(self.time) > 1:
            between = self.time[1] - self.time[0]
            unit = self.model.time_unit if self.model.time_unit in ("day", "year") else ""
            plural = f"{between:g} {unit}s" if unit else f"{between:g}"
            words.append(f"a decision every {unit if unit and between == 1 else plural}")
        return "   ·   ".join([*words, agent] if agent else words)

    def height(self, values):
        """Values as heights on a chart: their logarithms where the model's states span orders of magnitude."""
        return np.log10(np.maximum(values, 1e-9)) if self.model.logarithmic else np.asarray(values, float)


def film_of(days, model="hiv", goal=None, until=None):
    """Frames, or a table as `simulate()` returns it, as a Film."""
    if isinstance(days, (list, tuple)):
        if not days:
            raise ValueError("a picture needs at least one frame, or a table")
        last, model = days[-1], load_model(days[-1]["model"])
        values = {name: np.array([frame["state"][name] for frame in days]) for name in model.names}
        doses = [[frame["doses"][item.name] for item in model.interventions] for frame in days[1:]]
        doses = np.array(doses, float).reshape(-1, len(model.interventions))
        return Film(model, [frame["time"] for frame in days], values, doses, goal or last["goal"],
                     until or last["end"], last["env"])
    model = load_model(model)
    doses = days[[item.name for item in model.interventions]].to_numpy(float)[:-1]
    return Film(model, days["time"], {name: days[name].to_numpy(float) for name in model.names}, doses, goal,
                 until or float(days["time"].iloc[-1]), None)


# ---------------------------------------------------------------- what was done

def _spells(film, which):
    """Stretches (start, stop, share) in which an intervention was held, without those of no intervention."""
    share = film.share[:, which]
    cuts = np.flatnonzero(np.diff(share)) + 1
    begins, ends = np.concatenate([[0], cuts]), np.concatenate([cuts, [len(share)]])
    return [(film.time[a], film.time[b], share[a]) for a, b in zip(begins, ends) if len(share) and share[a] > 0]


def draw_lanes(stage, film, width=WIDTH):
    """A lane an intervention, `width` wide; returns where the last one ends."""
    lanes = film.model.interventions
    pitch = 18 if len(lanes) > 1 else 24
    scale = width / (film.end - film.time[0])
    for lane, (item, colour) in enumerate(zip(lanes, DRUGS)):
        y = 78 + pitch * lane
        stage.text(LEFT + width + 10, y + 6, fit(item.words, 140, SMALL), SMALL)
        stage.box(LEFT, y, width, 12, 3, SOFT, z=2)
        for start, stop, share in _spells(film, lane):
            stage.box(LEFT + scale * (start - film.time[0]), y, scale * (stop - start), 12, 3,
                      blend(colour, round(0.25 + 0.75 * share, 2), SOFT), z=3)
    return 78 + pitch * (len(lanes) - 1) + 12


def _tint(ax, film):
    low, high = ax.get_ylim()
    for which, colour in zip(range(film.share.shape[1]), DRUGS):
        spells = _spells(film, which)
        for dose in {share for *_, share in spells}:         # one artist for all spells of a dose: it is quicker
            ax.broken_barh([(start, stop - start) for start, stop, share in spells if share == dose],
                           (low, high - low), fc=blend(colour, 0.20), lw=0, zorder=0, alpha=0.75 * dose)


# ---------------------------------------------------------------- the panels

def _limits(film, names):
    """Lowest and highest height of a chart of some variables, as (low, high, ticks, words)."""
    heights = np.concatenate([film.height(film.values[name]) for name in names])
    marks = np.concatenate([film.height(np.array(film.goal[name])) for name in names if name in film.goal] or [[]])
    low, high = np.nanmin([*heights, *marks]), np.nanmax([*heights, *marks])
    if not film.model.logarithmic:
        ticks = ticks_around(0.0, max(high, 1e-9) * 1.02, 4)
        return ticks[0], ticks[-1], ticks, None
    low, high = min(0.0, low - 0.3), max(6.5, high + 0.3)
    ticks = np.arange(np.ceil((low - 1) / 2) * 2 + 1, high, 2).astype(int)
    return low, high, ticks, [f"10{str(tick).translate(SUPERSCRIPTS)}" if tick != 1 else "10" for tick in ticks]


def _set_height_ticks(axis, ticks, words):
    if words is None:
        set_ticks(axis, ticks)
    else:
        axis.set_ticks(ticks, words)


def _draw_panel(ax, film, lines, last):
    low, high, ticks, words = _limits(film, [line[0] for line in lines])
    ax.set(ylim=(low, high), xlim=(film.time[0], film.end))
    _tint(ax, film)
    if len(lines) == 1 and lines[0][0] in film.goal:
        bottom, top = np.clip(film.height(np.array(film.goal[lines[0][0]])), low, high)
        ax.axhspan(bottom, top, fc=GOAL, ec=GOAL_EDGE, lw=1.2, ls=BOUND_DASH, zorder=1)
        above = top < high - 0.25 * (high - low)
        ax.annotate("goal", (1, top if above else bottom), (-6, 3 if above else -3), xycoords=("axes fraction", "data"),
                    ha="right", va="bottom" if above else "top", textcoords="offset points", size=SMALL,
                    color=GOAL_EDGE, weight="bold", zorder=9, path_effects=[withStroke(linewidth=3, foreground=PAPER)])
    ends = []
    for name, label, colour, dash in lines:
        heights = film.height(film.values[name])
        ax.plot(film.time, heights, color=colour, ls=dash, lw=2)
        if len(heights) == 1:
            ax.plot(film.time, heights, "o", color=colour, ms=4)
        ends.append((film.end, heights[-1], label, colour, "bold"))
    end_labels(ax, ends, dx=10)
    _set_height_ticks(ax.yaxis, ticks, words)
    times = ticks_between(film.time[0], film.end, 5)
    if last:
        set_ticks(ax.xaxis, times, f"{film.model.time_unit}s" if film.model.time_unit == "day" else "")
    else:
        ax.set_xticks(times, [""] * len(times))
        ax.tick_params(axis="x", length=0)


def _draw_path(stage, film, view):
    """The phase portrait: light early, dark late."""
    across, up = view.path
    ax = stage.axes(740, TOP, 136, BOTTOM - TOP)
    stage.text(712, 84, "the same days as a path", SMALL, INK, "bold")
    stage.text(712, 103, "light early, dark late", SMALL, TEXT)
    stage.text(712, 128, view.path_words[1], SMALL, TEXT)
    x, y = film.height(film.values[across]), film.height(film.values[up])
    for axis, name in ((ax.xaxis, across), (ax.yaxis, up)):
        low, high, ticks, words = _limits(film, [name])
        (ax.set_xlim if axis is ax.xaxis else ax.set_ylim)(low, high)
        if axis is ax.xaxis and words is None:
            ticks = ticks[::max(1, len(ticks) // 2)]
        _set_height_ticks(axis, ticks, words)
    if across in film.goal and up in film.goal:
        (left, right), (bottom, top) = film.height(np.array(film.goal[across])), film.height(np.array(film.goal[up]))
        ax.add_patch(Rectangle((left, bottom), right - left, top - bottom, fc=GOAL, ec=GOAL_EDGE, lw=1.2,
                               ls=BOUND_DASH, zorder=1))
        ax.annotate("goal", ((left + right) / 2, top), (0, 4), textcoords="offset points", size=SMALL, ha="center",
                    color=GOAL_EDGE, weight="bold")
    points = np.column_stack([x, y])
    if len(points) > 1:
        shades = LinearSegmentedColormap.from_list("time", [LINE, INK])(np.linspace(0.15, 1, len(points) - 1))
        ax.add_collection(LineCollection(np.stack([points[:-1], points[1:]], axis=1), colors=shades, linewidths=1.8,
                                         capstyle="round", zorder=3))
    ax.plot(x[0], y[0], "o", ms=8, mfc=PAPER, mec=INK, zorder=5)
    ax.plot(x[-1], y[-1], "o", ms=8, color=INK, zorder=6)
    stage.text(876, 463, view.path_words[0], SMALL, TEXT, align="right")
