"""Metrics drawn on the curve they are read from: an arrow with two heads, the name in bold, the value.

First a mark is found (which blocks, which value), then it is drawn; `MARKS` lists how.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pushlab.metrics.lifelong import Report
from pushlab.plots.lifeline import Board, double_arrow, halo_line
from pushlab.plots.lifelong_tables import learned_regimes, regime_names
from pushlab.plots.palette import BOUND_DASH, TITLE
from pushlab.plots.sheet import fit
from pushlab.plots.words import short_number, spoken

ARROW_HEIGHTS = (
    0.25,
    0.16,
    0.34,
    0.45,
    0.08,
    0.6,
    0.75,
)  # shares of the axes at which an arrow may lie
WORTH_SAYING = (
    0.02  # a drop is told from this share of all that the task's tests ever rose
)


class Mark(NamedTuple):
    """What is to be drawn: `kind` of MARKS, the words, and the regimes or (block, name) that it lies between."""

    kind: str
    words: str
    value: float
    since: Any
    until: Any
    level: float


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


def find_marks(
    reports: Sequence[Report],
    tests: pd.DataFrame,
    kinds: Sequence[str],
    task: str | None = None,
) -> list[Mark]:
    """The marks that the log allows, in the order of `kinds`."""
    unknown = [kind for kind in kinds if kind not in MARKS]
    if unknown:
        raise ValueError(
            f"no mark is called {unknown[0]!r}; there are {', '.join(MARKS)}"
        )
    tasks = list(dict.fromkeys(reports[0].curves["task"]))
    if task is not None and task not in tasks:
        raise ValueError(
            f"the log has no task {task!r}; it has {', '.join(map(str, tasks))}"
        )
    return [
        mark for kind in kinds for mark in MARKS[kind][0](reports, tests, kind, task)
    ]


def _find_saturation(reports, tests, kind, task):
    for row in (
        learned_regimes(reports[0], task)
        .dropna(subset="saturation")
        .head(1)
        .itertuples()
    ):
        value = float(getattr(row, kind))
        said = (
            f"value {short_number(value)}" if kind == "saturation" else f"{value:,.0f}"
        )
        yield Mark(
            kind,
            f"{spoken(kind)} {said}",
            value,
            row.regime,
            row.regime,
            float(row.saturation),
        )


def _find_recoveries(reports, tests, kind, task):
    """Recoveries of tasks that were learned before, to where each had been left: all, or only the slowest."""
    rows, found = learned_regimes(reports[0], task), []
    for row in (
        rows[rows["recovery_time"].notna()].itertuples()
        if "recovery_time" in rows
        else ()
    ):
        before = rows[(rows["task"] == row.task) & (rows["regime"] < row.regime)].iloc[
            -1
        ]
        time, lived = float(row.recovery_time), int(row.count)
        words = (
            f"recovery time {time:,.0f}"
            if time < lived
            else f"not recovered in {lived:,}"
        )
        found.append(
            Mark(
                kind,
                words,
                min(time, lived),
                before["regime"],
                row.regime,
                float(before["terminal"]),
            )
        )
    return (
        found
        if kind == "recoveries"
        else sorted(found, key=lambda mark: -mark.value)[:1]
    )


def losses(tests: pd.DataFrame, report: Report) -> Iterator[Loss]:
    """Every later test of a task held against the first one after it was last learned.

    A loss below 0 is a gain. Between the two tests something else was learned, and not the task itself.
    """
    learned = learned_regimes(report)
    for name, line in tests[tests["mean"].notna()].groupby("name", sort=False):
        own = learned.loc[learned["name"] == name, "block"].to_numpy()
        reference, since = None, -np.inf
        for now in line.itertuples():
            if ((own > since) & (own < now.block)).any():
                reference = now
            elif reference is not None:
                yield from _loss_between(reference, now, line, own, learned)
            since = now.block


def _loss_between(reference, now, line, own, learned):
    """The one Loss between two tests, or none where nothing was learned between them."""
    others = learned.loc[
        learned["block"].between(reference.block, now.block), "name"
    ].unique()
    if not len(others):
        return
    cause = (
        f"{fit(others[0], 170, TITLE, 'bold')} costs"
        if len(others) == 1
        else f"{len(others)} others cost"
    )
    drop = reference.mean - now.mean
    unsure = np.nan_to_num([reference.high - reference.mean, now.high - now.mean])
    later, whole = line[line["block"] > now.block], reference.mean - drop / 4
    back = min(own[own > now.block], default=np.inf)  # the block that learns it again
    again, before = (
        later.loc[later["block"] > back, "mean"],
        later.loc[later["block"] < back, "mean"],
    )
    repaired = (
        len(again) > 0 and again.iloc[0] > whole and not (before > whole).any()
    )  # something else did it
    sure = drop > max(np.hypot(*unsure), WORTH_SAYING * np.ptp(line["mean"]))
    yield Loss(
        now.name,
        drop,
        reference.block,
        now.block,
        reference.mean,
        cause,
        bool(sure),
        bool(repaired),
    )


def largest_forgetting(
    tests: pd.DataFrame, report: Report, task: str | None = None
) -> Loss | None:
    """The loss of the most, of one task or of any; None where no test can tell."""
    found = [loss for loss in losses(tests, report) if task in (None, loss.name)]
    return max(found, key=lambda loss: loss.drop, default=None)


def _change(kind, change, *between):
    words = (
        f"forgetting {short_number(-change)}"
        if change < 0
        else f"maintenance +{short_number(change)}"
    )
    yield Mark(kind, words, change, *between)


def _find_forgetting(reports, tests, kind, task):
    loss = largest_forgetting(tests, reports[0], task)
    if loss is not None:
        yield from _change(
            kind,
            -loss.drop,
            (loss.since, loss.name),
            (loss.until, loss.name),
            loss.level,
        )


def _find_terminal(reports, tests, kind, task):
    """The test that lies farthest from the end of the last training of its task."""
    regimes, learned = reports[0].regimes, learned_regimes(reports[0])
    held = regimes[
        regimes["maintenance_mrtlp"].notna()
        & ((regimes["task"] == task) | (task is None))
    ]
    if len(held):
        row = held.loc[held["maintenance_mrtlp"].abs().idxmax()]
        before = learned.loc[
            (learned["variant"] == row["variant"])
            & (learned["regime"] < row["regime"]),
            "regime",
        ]
        before = before.iloc[-1]
        level = float(
            np.mean(
                [
                    report.regimes.set_index("regime").loc[before, "terminal"]
                    for report in reports
                ]
            )
        )
        place = (row["block"], regime_names(reports[0])[row["regime"]])
        change = tests.set_index(["block", "name"]).loc[place, "mean"] - level
        yield from _change(kind, change, before, place, level)


def _find_transfer(reports, tests, kind, task):
    """What learning one task did to the test of another: of all pairs that the reports have, the largest change."""
    pairs = pd.concat([report.pairs for report in reports])
    pairs = pairs[
        pairs["metric"] == (kind if kind.endswith("contrast") else f"{kind}_ratio")
    ]
    names, shown = regime_names(reports[0]), tests.set_index(["name", "block"])["mean"]
    changes = []
    for (regime, block), rows in pairs.groupby(["regime", "block"]):
        name = names[regime]
        earlier = [other for other in shown[name].index if other < block]
        if task in (None, name) and earlier:
            changes.append(
                (
                    abs(shown[name, block] - shown[name, earlier[-1]]),
                    rows["value"].mean(),
                    name,
                    earlier[-1],
                    block,
                )
            )
    if changes:
        _, value, name, before, after = max(changes)
        words = f"{spoken(kind)} {short_number(value)}"
        yield Mark(
            kind, words, value, (before, name), (after, name), shown[name, before]
        )


# ---------------------------------------------------------------- drawing


def draw_mark(board: Board, mark: Mark) -> None:
    """Draws one mark where its blocks lie."""
    MARKS[mark.kind][1](board, mark)


def _draw_level(board, mark):
    begin, end = board.line.span(mark.since)
    halo_line(
        board.ax, (begin, end), (mark.level, mark.level), dash=BOUND_DASH, line=1.3
    )
    (left, right), y = board.on_stage((begin, end), mark.level)
    board.write(
        mark.words,
        [
            (left + 4, y - 11, "left"),
            (right - 4, y - 11, "right"),
            (left + 4, y + 11, "left"),
            (right - 4, y + 11, "right"),
            (right + 6, y, "left"),
            (left - 6, y, "right"),
        ],
    )


def _draw_time(board, mark):
    """An arrow along the block, from its beginning to the experience at which the level is reached."""
    begin, _ = board.line.span(mark.until)
    reach = begin + mark.value
    if mark.since != mark.until:
        halo_line(
            board.ax, (board.line.span(mark.since)[1], reach), (mark.level, mark.level)
        )
    height = _free_height(board, begin, reach)
    halo_line(board.ax, (reach, reach), (height, mark.level))
    double_arrow(board.ax, (begin, height), (reach, height))
    (left, right), y = board.on_stage((begin, reach), height)
    middle = (left + right) / 2
    board.write(
        mark.words,
        [
            (left + 4, y + 13, "left"),
            (middle, y + 13, "center"),
            (left + 4, y - 12, "left"),
            (middle, y - 12, "center"),
            (right + 6, y, "left"),
            (left - 6, y, "right"),
        ],
    )


def _free_height(board, begin, end):
    """A height at which an arrow from `begin` to `end` and the words beneath it meet no curve."""
    low, high = board.ax.get_ylim()
    points, (left, right) = board.points(), board.on_stage((begin, end), low)[0]
    beside = points[(points[:, 0] > left - 4) & (points[:, 0] < max(right, left + 120))]

    def met(height):
        y = board.on_stage(begin, height)[1]
        words = any(
            box[0] < right and box[2] > left and box[1] < y + 22 and box[3] > y - 6
            for box in board.taken
        )
        return ((beside[:, 1] > y - 8) & (beside[:, 1] < y + 22)).sum() + 50 * words

    return min((low + share * (high - low) for share in ARROW_HEIGHTS), key=met)


def _draw_change(board, mark):
    """An arrow from an earlier level, which a dotted line hands on, to the mark of a later test."""
    start = (
        board.dodge[mark.since]
        if mark.since in board.dodge
        else board.line.span(mark.since)[1]
    )
    after = board.tests.set_index(["block", "name"])["mean"][mark.until]
    beside = board.dodge[mark.until] - 0.16 * board.line.column
    halo_line(board.ax, (start, beside), (mark.level, mark.level))
    double_arrow(board.ax, (beside, mark.level), (beside, after))
    x, ends = board.on_stage(beside, (mark.level, after))
    (upper, lower), middle = sorted(ends), ends.mean()
    board.write(
        mark.words,
        [
            (x, lower + 22, "center"),
            (x - 8, middle, "right"),
            (x + 14, middle, "left"),
            (x, upper - 20, "center"),
            (x - 8, lower + 14, "right"),
            (x - 8, upper - 14, "right"),
        ],
    )


MARKS = {
    "saturation": (_find_saturation, _draw_level),
    "time_to_saturation": (_find_saturation, _draw_time),
    "recovery_time": (_find_recoveries, _draw_time),
    "recoveries": (_find_recoveries, _draw_time),
    "forgetting": (_find_forgetting, _draw_change),
    "maintenance_mrtlp": (_find_terminal, _draw_change),
    **{
        f"{way}_transfer{kind}": (_find_transfer, _draw_change)
        for way in ("forward", "backward")
        for kind in ("", "_contrast")
    },
}
