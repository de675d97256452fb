"""Lenders compared: how far the published weights still move and what they cost; promise against payment."""

import numpy as np
import pandas as pd

from pushlab.envs.credit.people import WEIGHTS, best_response, credit_config
from pushlab.envs.credit.rules import fit as fit_weights
from pushlab.envs.credit.rules import published_risk
from pushlab.plots.credit import set_loss_axis
from pushlab.plots.curves import demand_log
from pushlab.plots.kit import end_labels, set_ticks, ticks_between
from pushlab.plots.palette import BLUE, DASHES, INK, ORANGE, SMALL, TEXT, TICK, series_styles
from pushlab.plots.sheet import MARGIN, Stage, fit, house_style, plain, text_width

STILL = 1e-8            # a smaller change of the weights is drawn as this one: it is what solvers leave
EPISODE = ("run", "env", "agent", "seed", "lifetime", "episode", "params")


def retraining_table(log, by="agent"):
    """How far published weights moved and what they cost, round by round.

    log      step log of a world that publishes weights, with the columns action.<weight> and info.loss
    by       the column that tells lines apart; a label given to rollout, such as run, will do
    returns  DataFrame: by, round (from 1), change (the length of the difference to the weights of the round before,
             NaN in the first), loss; means where there are several episodes
    """
    columns = [f"action.{name}" for name in WEIGHTS]
    demand_log(log, *columns, "info.loss", "step", by)
    keys = list(dict.fromkeys([by, *(key for key in EPISODE if key in log.columns)]))
    parts = []
    for _, rows in log.groupby(keys, sort=False, observed=True, dropna=False):
        theta = rows.sort_values("step")[columns].to_numpy(float)
        change = np.append(np.nan, np.linalg.norm(np.diff(theta, axis=0), axis=1))
        parts.append(pd.DataFrame({by: rows[by].to_numpy(), "round": np.arange(1, len(rows) + 1), "change": change,
                                   "loss": rows["info.loss"].to_numpy(float)}))
    table = pd.concat(parts, ignore_index=True)
    return table.groupby([by, "round"], sort=False, observed=True).mean().reset_index()


@house_style()
def retraining(log, by="agent", best=None, title=None, lead=None, figure=None):
    """Whether retraining comes to rest: the change of the weights from round to round, and the loss beside it.

    log       see `retraining_table`, which holds the numbers that are drawn
    best      a loss to draw as a bound
    returns   Figure, 9 x 4.2 inches
    """
    table = retraining_table(log, by)
    names = list(dict.fromkeys(table[by]))
    stage = Stage(900, 420, figure)
    shift = stage.heading(plain(title or _retraining_title(table, by)), plain(lead or _retraining_lead(log, names)))
    last, top = int(table["round"].max()), 104 + shift
    widest = min(150, max(text_width(plain(name), TICK, "bold") for name in names))
    width = (900 - 2 * MARGIN - 2 * 48 - 40 - widest - 12) / 2
    stage.label(MARGIN, top - 18, "change of the weights since the round before")
    change = stage.axes(MARGIN + 48, top, width, 420 - top - 48)
    left = MARGIN + 48 + width + 40
    stage.label(left, top - 18, "loss on people who have moved")
    loss = stage.axes(left + 48, top, width, 420 - top - 48)
    styles, ends = series_styles(names), []
    for name in names:
        rows, (colour, dash, marker) = table[table[by] == name], styles[name]
        look = {"color": colour, "ls": dash, "marker": marker, "ms": 3.5, "lw": 2, "clip_on": False}
        change.plot(rows["round"], np.maximum(rows["change"], STILL), **look)
        loss.plot(rows["round"], rows["loss"], **look)
        ends.append((last, rows["loss"].iloc[-1], fit(plain(name), widest, TICK, "bold"), colour, "bold"))
    _set_change_axis(change, table["change"])
    steep = set_loss_axis(loss, [*table["loss"], *([] if best is None else [best])])
    if best is not None:
        loss.axhline(best, color=INK, lw=1.6, ls=(0, (4, 2.2)))
        ends.append((last, best, "best", INK, "normal"))
    for ax in (change, loss):
        ax.set_xlim(1, max(2, last))
        set_ticks(ax.xaxis, ticks_between(1, max(2, last), 4), "rounds" if ax is change else "", whole=True)
    _end_labels(loss, ends, steep)
    return stage.figure


def _end_labels(ax, ends, steep):
    """Names at the ends of lines; on a logarithmic axis by their places on the sheet."""
    if not steep:
        return end_labels(ax, ends)
    low, high = np.log10(ax.get_ylim())
    over = ax.figure.add_axes(ax.get_position(), xlim=ax.get_xlim(), ylim=(low, high))
    over.set_axis_off()
    return end_labels(over, [(x, np.log10(y), *rest) for x, y, *rest in ends])


def _set_change_axis(ax, change):
    low = np.floor(np.log10(max(STILL, np.nanmin(change) if change.notna().any() else 1.0)))
    high = np.ceil(np.log10(max(10 * STILL, np.nanmax(change) if change.notna().any() else 1.0)))
    ax.set_yscale("log")
    ax.set_ylim(10.0 ** low, 10.0 ** max(high, low + 1))
    ticks = np.arange(max(high, low + 1), low - 1, -np.ceil((max(high, low + 1) - low) / 5))
    ax.minorticks_off()
    ax.set_yticks(10.0 ** ticks, [_power(tick) for tick in ticks])


def _power(tick):
    return "1" if tick == 0 else "10" + str(int(tick)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _retraining_title(table, by):
    ends = table.groupby(by, sort=False).last()
    calm = [plain(name) for name, change in ends["change"].items() if change < 1e-3]
    if len(calm) == len(ends):
        return "All come to rest"
    if not calm:
        return "Nothing comes to rest"
    together = " and ".join(filter(None, [", ".join(calm[:-1]), calm[-1]]))
    return f"{together[0].upper()}{together[1:]} come{'s' if len(calm) == 1 else ''} to rest"


def _retraining_lead(log, names):
    env = log["env"].iloc[0] if "env" in log else "a log"
    return f"{env}, {len(names)} lines, each mark a round"


# ---------------------------------------------------------------- promise against payment

@house_style()
def promise(people, strength=1.0, epsilon=1.0, config=None, title=None, figure=None):
    """What a score promises and what it costs, against how much it trusts what people can change.

    The weights are those that the people as they began would teach. Those of the features that can be changed are
    taken times `strength`: 0 leaves them out, 1 takes them as learned.

    people    Borrowers
    epsilon   how far people move for a weight of 1, in standard units
    config    other parameters, as the environment takes them
    returns   Axes on a sheet of 6 x 4 inches
    """
    config = credit_config({**(config or {}), "epsilon": float(epsilon)})
    strengths = np.linspace(0.0, 2.0, 81)
    theta = np.repeat(fit_weights(people.table, people.labels, config)[None], len(strengths) + 1, axis=0)
    theta[:, config.places] *= np.append(strengths, strength)[:, None]
    move = best_response(theta, config)
    promised = published_risk(people, theta, 0 * move, config)["loss"]
    paid = published_risk(people, theta, move, config)["loss"]
    stage = Stage(600, 400, figure)
    said = f"At strength {strength:.2f}: promised {promised[-1]:.3f}, paid {paid[-1]:.3f}"
    shift = stage.heading(plain(title or said), f"{len(people):,} people, {people.source}, epsilon {epsilon:g}")
    stage.label(MARGIN, 84 + shift, "loss")
    ax = stage.axes(74, 102 + shift, 420, 400 - 102 - shift - 62)
    for values, colour, dash in ((promised, BLUE, DASHES[0]), (paid, ORANGE, DASHES[1])):
        ax.plot(strengths, values[:-1], color=colour, ls=dash)
        ax.plot(strength, values[-1], "o", color=colour, ms=8, zorder=6)
    set_loss_axis(ax, [*promised, *paid])
    ax.set_xlim(0, 2)
    set_ticks(ax.xaxis, [0, 0.5, 1, 1.5, 2])
    stage.text(494, 374, "strength of the weights on what people can change", SMALL, TEXT, align="right")
    at = len(strengths) - 1
    _end_labels(ax, [(2, promised[at], "promised", BLUE, "bold"), (2, paid[at], "paid", ORANGE, "bold")],
                ax.get_yscale() == "log")
    return ax
