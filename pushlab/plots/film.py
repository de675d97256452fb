"""The days of a dynamical model on a sheet: as arrays, as lanes of what was done, as lines over time."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from pushlab.ground.arguments import demand
from pushlab.plots.kit import end_labels
from pushlab.plots.palette import (
    DRUG_1,
    DRUG_2,
    GREY,
    ORANGE,
    PURPLE,
    SMALL,
    SOFT,
    blend,
)
from pushlab.plots.sheet import Stage, fit, plain
from pushlab.plots.ticks import set_ticks, ticks_between, ticks_of_count

LEFT = 62  # of lanes and panels, in hundredths of an inch
DRUGS = (DRUG_1, DRUG_2, PURPLE, GREY, ORANGE)
Days = (
    Sequence[Mapping[str, Any]] | Any
)  # the frames of an episode, or a table as simulate() returns it


class Film:
    """Days as arrays.

    model       what frames and tables tell of their model: name, title, time_unit, logarithmic, variables {name: words}
                and interventions {name: {words, own, reach, held}}; own is what it is set to where nothing is done,
                reach how far from that it can go, held whether it is in the agent's hands
    time        (days,)
    values      {variable: (days,)}
    idle        {variable: (days,)} had nothing been done; empty where that is not told
    indicators  {name: (days,)} that the model reckons from its state, if it does. Of a table, values and indicators
                are all columns
    doses       {intervention: (days - 1,)}, what was done from one day to the next
    goal        {variable: (low, high)}
    end, env    the time at the right end, and the name of the environment, or None
    """

    def __init__(
        self,
        days: Days,
        model: Mapping | None = None,
        goal: Mapping | None = None,
        until: float | None = None,
    ) -> None:
        """`model` is that of a table which does not tell its own, such as one out of a file."""
        demand(
            model is None or isinstance(model, Mapping) and "interventions" in model,
            f"model is what load_model(name).told() gives; got {model!r:.60}",
        )
        demand(
            isinstance(days, Sequence) or hasattr(days, "attrs"),
            f"days are an episode's frames, or a table; got {days!r:.60}",
        )
        if isinstance(days, Sequence):
            demand(days, "a picture needs at least one frame, or a table")
            last = days[-1]
            self.model, self.env, end, goal = (
                last["model"],
                last["env"],
                last["end"],
                goal or last["goal"],
            )
            self.time = np.array([frame["time"] for frame in days], float)
            self.values, self.idle, self.indicators = (
                _columns(days, part) for part in ("state", "idle", "indicators")
            )
            self.doses = {
                name: np.array([frame["doses"][name] for frame in days[1:]], float)
                for name in self.model["interventions"]
            }
        else:
            self.model, self.env = model or days.attrs.get("model"), None
            demand(
                self.model,
                "the table does not tell its model: give model=load_model(name).told(), or the table "
                "as simulate() returns it",
            )
            columns = {
                name: values.to_numpy(float)
                for name, values in days.select_dtypes("number").items()
            }
            self.time, end = columns["time"], columns["time"][-1]
            self.values, self.idle, self.indicators = columns, {}, columns
            self.doses = {
                name: columns[name][:-1] for name in self.model["interventions"]
            }
        self.goal, self.end = goal or {}, float(until or end)

    def share(self, name: str) -> np.ndarray:
        """How strongly an intervention was used from day to day (days - 1,), from 0 to 1."""
        item = self.model["interventions"][name]
        return np.abs(self.doses[name] - item["own"]) / item["reach"]

    def spells(self, values: np.ndarray) -> list[tuple[float, float, float]]:
        """Stretches (start, stop, value) in which a value (days - 1,) was held, without those of zero."""
        cuts = np.flatnonzero(np.diff(values)) + 1
        begins, ends = np.r_[0, cuts].astype(int), np.r_[cuts, len(values)].astype(int)
        return [
            (self.time[a], self.time[b], values[a])
            for a, b in zip(begins, ends)
            if a < b and values[a] != 0
        ]

    def event(self) -> str:
        """What was done last, or where it begins."""
        now = f"{self.model['time_unit'].capitalize()} {self.time[-1]:g}"
        if len(self.time) == 1:
            return f"{now}: before the first decision"
        done = [
            item["words"]
            for name, item in self.model["interventions"].items()
            if self.share(name)[-1] > 0
        ]
        return f"{now}: {' and '.join(done) or 'no intervention'}"

    def lead(self, agent: str | None) -> str:
        """Which environment, how far it is, how often it decides, and who."""
        unit = self.model["time_unit"]
        words = [
            self.env or self.model["title"],
            f"{unit} {self.time[-1]:g} of {self.end:g}",
        ]
        if len(self.time) > 1:
            between = self.time[1] - self.time[0]
            known = unit in ("day", "year")
            often = (
                unit
                if known and between == 1
                else f"{between:g} {unit}s"
                if known
                else f"{between:g}"
            )
            words.append(f"a decision every {often}")
        return "   ·   ".join([*words, agent] if agent else words)


def _columns(days, part):
    """{name: (days,)} of what every frame says of one part; empty where the frames do not have it."""
    return {
        name: np.array([frame[part][name] for frame in days])
        for name in days[-1].get(part) or {}
    }


# ---------------------------------------------------------------- a sheet of lanes and panels


def film_stage(title: str, lead: str, figure: Any) -> Stage:
    """The sheet that all films share, 9 x 4.8 inches, with its heading."""
    stage = Stage(900, 480, figure)
    stage.heading(plain(title), plain(lead), title_lines=1)
    return stage


def draw_lanes(stage: Stage, film: Film, width: float) -> float:
    """A lane an intervention, darker where it was used more; returns where the last one ends."""
    lanes = film.model["interventions"]
    pitch = 18 if len(lanes) > 1 else 24
    y, scale = 78 - pitch, width / (film.end - film.time[0])
    for (name, item), colour in zip(lanes.items(), DRUGS):
        y += pitch
        stage.text(LEFT + width + 10, y + 6, fit(item["words"], 140, SMALL), SMALL)
        stage.box(LEFT, y, width, 12, 3, SOFT, z=2)
        for start, stop, share in film.spells(film.share(name)):
            stage.box(
                LEFT + scale * (start - film.time[0]),
                y,
                scale * (stop - start),
                12,
                3,
                blend(colour, round(0.25 + 0.75 * share, 2), SOFT),
                z=3,
            )
    return y + 12


def draw_lines(
    ax: Axes,
    film: Film,
    lines: Iterable[tuple],
    dx: float = 10,
    beside: Iterable[tuple] = (),
) -> None:
    """Lines (times, heights, words, colour, dash, width) with their words at the right end; a single value is a dot.

    beside   further words there, (height, words, colour)
    """
    ends = [(film.end, *one, "bold") for one in beside]
    for times, heights, words, colour, dash, wide in lines:
        ax.plot(times, heights, color=colour, ls=dash, lw=wide)
        if len(heights) == 1:
            ax.plot(times, heights, "o", color=colour, ms=4, clip_on=False)
        if len(heights):
            ends.append((film.end, heights[-1], words, colour, "bold"))
    end_labels(ax, ends, dx=dx)


def draw_time(ax: Axes, film: Film, count: int, last: bool = True) -> None:
    """About `count` ticks of time, named only on the last panel: years as they are, other numbers with the unit."""
    begin, end, unit = film.time[0], film.end, film.model["time_unit"]
    times = (ticks_of_count if end - begin >= count else ticks_between)(
        begin, end, count
    )
    if not last:
        ax.set_xticks(times, [""] * len(times))
        ax.tick_params(axis="x", length=0)
    elif unit == "year":
        years = [time for time in times if float(time).is_integer()] or times
        ax.set_xticks(years, [f"{year:g}" for year in years])
    else:
        set_ticks(ax.xaxis, times, "days" if unit == "day" else "")
