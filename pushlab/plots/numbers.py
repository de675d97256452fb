"""The numbers of any world over the steps of an episode: the picture of a world that has none of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from pushlab.plots.palette import BLUE, SMALL, deep
from pushlab.plots.sheet import MARGIN, Stage, house_style, plain
from pushlab.plots.ticks import count_along, set_ticks, ticks_around

LEFT, TOP, BOTTOM, GAP = (
    62,
    92,
    432,
    34,
)  # of the panels, in hundredths of an inch, and between two for a name
MOST = 5  # panels on a sheet


@house_style()
def numbers(
    frames: Sequence[Mapping[str, Any]],
    title: str | None = None,
    figure: Figure | None = None,
    **more: Any,
) -> Figure:
    """A panel for each number that the frames tell, the first five, over the steps of the episode so far.

    frames   of an episode, as a rollout keeps them; what is no number is left out
    title    the sentence on top; None says how many steps have been lived
    returns  Figure, 9 x 4.8 inches
    """
    if not frames:
        raise ValueError("a picture needs at least one frame")
    names = list(
        dict.fromkeys(
            name
            for frame in frames
            for name, value in frame.items()
            if isinstance(value, Real)
        )
    )
    last, names = len(frames) - 1, names[:MOST]
    stage = Stage(900, 480, figure)
    title = title or (
        "Before the first step"
        if not last
        else f"After {last} step{'s' if last > 1 else ''}"
    )
    stage.heading(title, plain(frames[-1].get("env", "")), title_lines=1)
    height = (BOTTOM - TOP - GAP * (len(names) - 1)) / max(len(names), 1)
    for row, name in enumerate(names):
        top, values = (
            TOP + row * (height + GAP),
            np.array([frame.get(name, np.nan) for frame in frames], float),
        )
        stage.text(MARGIN, top - 14, plain(name), SMALL, weight="bold")
        ax = stage.axes(LEFT, top, 900 - LEFT - 2 * MARGIN, height)
        ax.plot(values, color=deep(BLUE), marker="o" if last < 2 else "", clip_on=False)
        low, high = (
            (np.nanmin(values), np.nanmax(values))
            if np.isfinite(values).any()
            else (0.0, 1.0)
        )
        margin = 0.08 * (high - low) or 0.5
        ax.set(ylim=(low - margin, high + margin))
        set_ticks(ax.yaxis, ticks_around(low, high, 3 if height > 60 else 2))
        if name == names[-1]:
            count_along(ax, 0, max(last, 1), 6, "steps")
        else:
            ax.set(xlim=(0, max(last, 1)), xticks=[])
    return stage.figure
