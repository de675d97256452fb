"""Metrics drawn on the curve they are read from: an arrow with two heads, the name in bold, the value.

First a mark is found (which blocks, which value), then it is drawn; `MARKS` lists them.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from pushlab.plots.lifeline import double_arrow, halo_line
from pushlab.plots.lifelong_tables import regime_names
from pushlab.plots.palette import BOUND_DASH, TITLE
from pushlab.plots.sheet import fit
from pushlab.plots.words import short_number

ARROW_HEIGHTS = (0.25, 0.16, 0.34, 0.45, 0.08, 0.6, 0.75)       # shares of the axes at which an arrow may lie
WORTH_SAYING = 0.02                             # a drop is told from this share of all that the task's tests ever rose


class Mark(NamedTuple):
    """What is to be drawn: `kind` of MARKS, the words, and the regimes or (block, name) that it lies between."""

    kind: str
    words: str
    value: float
    since: object
    until: object
    level: float = np.nan


class Loss(NamedTuple):
    """The largest drop of a task between two of its tests; what was learned between them.

    cause      its name, or how many others there were, with the verb
    sure       the drop is larger than what the intervals of the two tests leave open, and than next to nothing
    repaired   learning the task again brought back three quarters of it, or more
    """

    name: str
    drop: float
    since: int
    until: int
    level: float
    cause: str
    sure: bool
    repaired: bool


# ---------------------------------------------------------------- finding

def find_marks(reports, tests, kinds, task=None):
    """The marks that the log allows, in the order of `kinds`."""
    unknown = [kind for kind in kinds if kind not in MARKS]
    if unknown:
        raise ValueError(f"no mark is called {unknown[0]!r}; there are {', '.join(MARKS)}")
    report = reports[0]
    tasks = list(dict.fromkeys(report.curves["task"]))
    if task is not None and task not in tasks:
        raise ValueError(f"the log has no task {task!r}; it has {', '.join(map(str, tasks))}")
    return [mark for kind in kinds for mark in MARKS[kind](reports, tests, kind, task)]


def _training(report, task=None):
    rows = report.regimes[report.regimes["block_type"] != "test"]
    return rows if task is None else rows[rows["task"] == task]


def _find_saturation(reports, tests, kind, task):
    rows = _training(reports[0], task)
    rows = rows[rows["saturation"].notna()]
    if not len(rows):
        return []
    row = rows.iloc[0]
    if kind == "saturation":
        words, value = f"saturation value {short_number(row['saturation'])}", row["saturation"]
    else:
        words, value = f"time to saturation {row['time_to_saturation']:,.0f}", row["time_to_saturation"]
    return [Mark(kind, words, float(value), row["regime"], row["regime"], float(row["saturation"]))]


def _find_recoveries(reports, tests, kind, task):
    """Recoveries of tasks that were learned before, to where each had been left: all, or only the slowest."""
    rows, curves = _training(reports[0], task), reports[0].curves
    found = []
    for row in rows[rows["recovery_time"].notna()].itertuples() if "recovery_time" in rows else ():
        before = rows[(rows["task"] == row.task) & (rows["regime"] < row.regime)].iloc[-1]
        time, lived = float(row.recovery_time), int((curves["regime"] == row.regime).sum())
        words = f"recovery time {time:,.0f}" if time < lived else f"not recovered in {lived:,}"
        found.append(Mark(kind, words, min(time, lived), before["regime"], row.regime, float(before["terminal"])))
    return found if kind == "recoveries" else sorted(found, key=lambda mark: -mark.value)[:1]


def losses(tests, report):
    """Every later test of a task held against the first one after it was last learned, a list of Loss.

    A loss below 0 is a gain. Between the two tests something else was learned, and not the task itself.
    """
    names, first = regime_names(report), report.curves.drop_duplicates("regime")
    learned = first.loc[first["block_type"] != "test", ["block", "regime"]].assign(
        name=lambda rows: rows["regime"].map(names))
    found = []
    for name, line in tests[tests["mean"].notna()].groupby("name", sort=False):
        own = learned.loc[learned["name"] == name, "block"].to_numpy()
        reference, since = None, -np.inf
        for now in line.itertuples():
            if ((own > since) & (own < now.block)).any():
                reference = now
            elif reference is not None:
                found += _loss_between(reference, now, line, own, learned)
            since = now.block
    return found


def _loss_between(reference, now, line, own, learned):
    """A list of the one Loss between two tests, or an empty one where nothing was learned between them."""
    between = learned["block"].between(reference.block, now.block)
    others = list(dict.fromkeys(learned.loc[between, "name"]))
    if not others:
        return []
    cause = f"{fit(others[0], 170, TITLE, 'bold')} costs" if len(others) == 1 else f"{len(others)} others cost"
    drop = reference.mean - now.mean
    unsure = np.nan_to_num([reference.high - reference.mean, now.high - now.mean])
    later, whole = line[line["block"] > now.block], reference.mean - drop / 4
    back = min(own[own > now.block], default=np.inf)                    # the block that learns it again
    again, before = later.loc[later["block"] > back, "mean"], later.loc[later["block"] < back, "mean"]
    repaired = len(again) > 0 and again.iloc[0] > whole and not (before > whole).any()      # something else did it
    sure = drop > max(np.hypot(*unsure), WORTH_SAYING * np.ptp(line["mean"]))
    return [Loss(line["name"].iloc[0], drop, reference.block, now.block, reference.mean, cause, bool(sure),
                 bool(repaired))]


def largest_forgetting(tests, report, task=None):
    found = [loss for loss in losses(tests, report) if task in (None, loss.name)]
    return max(found, key=lambda loss: loss.drop, default=None)


def _find_forgetting(reports, tests, kind, task):
    loss = largest_forgetting(tests, reports[0], task)
    if loss is None:
        return []
    words = f"forgetting {short_number(loss.drop)}" if loss.drop > 0 else f"maintenance +{short_number(-loss.drop)}"
    return [Mark(kind, words, -loss.drop, (loss.since, loss.name), (loss.until, loss.name), loss.level)]


def _find_terminal(reports, tests, kind, task):
    """The test that lies farthest from the end of the last training of its task."""
    regimes, names = reports[0].regimes, regime_names(reports[0])
    held = regimes[regimes["maintenance_mrtlp"].notna() & (regimes["task"] == task if task is not None else True)]
    if not len(held):
        return []
    row = held.loc[held["maintenance_mrtlp"].abs().idxmax()]
    before = regimes[(regimes["block_type"] != "test") & (regimes["variant"] == row["variant"])
                     & (regimes["regime"] < row["regime"])].iloc[-1]["regime"]
    level = float(np.mean([report.regimes.set_index("regime").loc[before, "terminal"] for report in reports]))
    place = (row["block"], names[row["regime"]])
    change = tests.set_index(["block", "name"]).loc[place, "mean"] - level
    words = f"forgetting {short_number(-change)}" if change < 0 else f"maintenance +{short_number(change)}"
    return [Mark(kind, words, change, before, place, level)]


def _find_transfer(reports, tests, kind, task):
    """What learning one task did to the test of another: of all pairs that the reports have, the largest change."""
    pairs = pd.concat([report.pairs for report in reports])
    pairs = pairs[pairs["metric"] == (kind if kind.endswith("contrast") else f"{kind}_ratio")]
    names, shown = regime_names(reports[0]), tests.set_index(["name", "block"])["mean"]
    changes = []
    for (regime, block), rows in pairs.groupby(["regime", "block"]):
        name = names[regime]
        earlier = [other for other in shown[name].index if other < block]
        if task in (None, name) and earlier:
            changes.append((abs(shown[name, block] - shown[name, earlier[-1]]), rows["value"].mean(), name, earlier[-1],
                            block))
    if not changes:
        return []
    _, value, name, before, after = max(changes)
    words = f"{kind.replace('_', ' ')} {short_number(value)}"
    return [Mark(kind, words, value, (before, name), (after, name), shown[name, before])]


MARKS = {"saturation": _find_saturation, "time_to_saturation": _find_saturation, "recovery_time": _find_recoveries,
         "recoveries": _find_recoveries, "forgetting": _find_forgetting, "maintenance_mrtlp": _find_terminal,
         "forward_transfer": _find_transfer, "forward_transfer_contrast": _find_transfer,
         "backward_transfer": _find_transfer, "backward_transfer_contrast": _find_transfer}


# ---------------------------------------------------------------- drawing

def draw_mark(board, mark):
    """Draws one mark where its blocks lie."""
    if mark.kind == "saturation":
        _draw_level(board, mark)
    elif mark.kind in ("time_to_saturation", "recovery_time", "recoveries"):
        _draw_time(board, mark)
    else:
        _draw_change(board, mark)


def _draw_level(board, mark):
    begin, end = board.line.span(mark.since)
    halo_line(board.ax, (begin, end), (mark.level, mark.level), dash=BOUND_DASH, line=1.3)
    (left, right), (y, _) = board.on_stage((begin, end), (mark.level, mark.level))
    board.write(mark.words, [(left + 4, y - 11, "left"), (right - 4, y - 11, "right"), (left + 4, y + 11, "left"),
                             (right - 4, y + 11, "right"), (right + 6, y, "left"), (left - 6, y, "right")])


def _draw_time(board, mark):
    """An arrow along the block, from its beginning to the experience at which the level is reached."""
    begin, _ = board.line.span(mark.until)
    reach = begin + mark.value
    if mark.kind != "time_to_saturation":
        since = board.line.span(mark.since)[1]
        halo_line(board.ax, (since, reach), (mark.level, mark.level))
    height = _free_height(board, begin, reach)
    halo_line(board.ax, (reach, reach), (height, mark.level))
    double_arrow(board.ax, (begin, height), (reach, height))
    (left, right), (y, _) = board.on_stage((begin, reach), (height, height))
    middle = (left + right) / 2
    board.write(mark.words, [(left + 4, y + 13, "left"), (middle, y + 13, "center"), (left + 4, y - 12, "left"),
                             (middle, y - 12, "center"), (right + 6, y, "left"), (left - 6, y, "right")])


def _free_height(board, begin, end):
    """A height at which an arrow from `begin` to `end` and the words beneath it meet no curve."""
    low, high = board.ax.get_ylim()
    heights = [low + share * (high - low) for share in ARROW_HEIGHTS]
    points = np.concatenate(board.curves) if board.curves else np.empty((0, 2))
    (left, right), _ = board.on_stage((begin, end), (low, low))
    beside = points[(points[:, 0] > left - 4) & (points[:, 0] < max(right, left + 120))]

    def met(height):
        _, (y, _) = board.on_stage((begin, begin), (height, height))
        words = any(box[0] < right and box[2] > left and box[1] < y + 22 and box[3] > y - 6 for box in board.taken)
        return ((beside[:, 1] > y - 8) & (beside[:, 1] < y + 22)).sum() + 50 * words
    return min(heights, key=met)


def _draw_change(board, mark):
    """An arrow from an earlier level, which a dotted line hands on, to the mark of a later test."""
    start = board.dodge[mark.since] if mark.since in board.dodge else board.line.span(mark.since)[1]
    after = board.tests.set_index(["block", "name"])["mean"][mark.until]
    beside = board.dodge[mark.until] - 0.16 * board.line.column
    halo_line(board.ax, (start, beside), (mark.level, mark.level))
    double_arrow(board.ax, (beside, mark.level), (beside, after))
    (x, _), (y0, y1) = board.on_stage((beside, beside), (mark.level, after))
    upper, lower, middle = min(y0, y1), max(y0, y1), (y0 + y1) / 2
    board.write(mark.words, [(x, lower + 22, "center"), (x - 8, middle, "right"), (x + 14, middle, "left"),
                             (x, upper - 20, "center"), (x - 8, lower + 14, "right"), (x - 8, upper - 14, "right")])
