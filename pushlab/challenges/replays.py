"""Logs of the cold start, played again: whatever the environment then says differently was not so.

The episode's seed fixes contexts and chance, so that a log's notifications alone give its outcomes once more.
"""

import numpy as np

from pushlab.agents.protocol import Agent
from pushlab.challenges.answers import demand_table, find_columns, read_seconds, whole_number
from pushlab.challenges.challenge import own_draws
from pushlab.datasets.features import as_text, encode_column
from pushlab.envs.shell import Env
from pushlab.ground.faults import BadData, Fault
from pushlab.ground.seeds import episode_seed
from pushlab.logs.rollout import CONSTANT, readable, rollout

MOST_EPISODES = 100         # of a log
MOST_FAULTS = 10_000        # after so many, the rest of a log is not compared
PLAYED_AGAIN = "what the environment says after this seed and these notifications"
COUNTED = ("the first episode is in order and a later one is not: is the log from before 0.2, when seeds were counted "
           "up? Then say so: seeding='counted', or --counted")
NO_ROWS = "the table has a header and no rows"


class Replay(Agent):
    """Sends these notifications, codes (steps, components), in their order."""

    name = "replay"

    def __init__(self, codes):
        self.codes = codes

    def begin(self, env, seed):
        self._steps = iter(self.codes)

    def act(self, observation, info, explore=True):
        return next(self._steps)


def score_log(challenge, log, seed=None, agent=None, file="log", lines=None, seeding="independent"):
    """The Scorecard of a log of evalumap2-v0, played again.

    log    DataFrame as `rollout` gives it, or `readable` made of it, or the text of either; whole episodes
    seed   under which the log must have been made; None takes any
    agent  whose log it is; by default what its column `agent` says
    seeding  of the `rollout` that made it; "counted" for a log made before 0.2

    Needed are seed, episode, step, response_time, info.opened, action.… and obs.context.…; what else `rollout` writes
    may be there and is compared if it tells of the environment. The response times are the participant's word.

    Raises BadData with every fault: of the table, or, where the table is in order, every cell that is not what the
    environment says when it is played again.
    """
    demand_table(log)
    if not len(log):
        raise BadData([Fault(file, None, None, None, NO_ROWS)])
    head, lines = None if lines is None else 1, list(range(len(log)) if lines is None else lines)
    env = Env(challenge.cold_world)
    spelt = _columns_of(env, worded := _is_worded(log, challenge))
    _check_header(log, spelt, file, head)
    codes, faults = _read_actions(log, challenge.user.schema.notification, worded, file, lines)
    seconds, bad = read_seconds(log, "response_time", file, lines)
    faults += bad
    episodes, bad = _find_episodes(log, len(challenge.world), seed, seeding, file, lines)
    faults += bad
    if faults:
        raise BadData(faults)
    outcomes, seeds, order = [], [], []
    for first_seed, rows in episodes:
        played = rollout(env, Replay(codes[rows]), seed=first_seed, learn=False, progress=False)
        faults += _compare(log.iloc[rows], readable(played, env) if worded else played, file,
                           [lines[row] for row in rows])
        outcomes.append(played)
        seeds.append(first_seed)
        order.append(rows)
        if len(faults) > MOST_FAULTS:
            break
    if faults:
        first = len(episodes[0][1])                     # rows of the first episode
        if seeding == "independent" and len(episodes) > 1 and min(fault.row for fault in faults) >= lines[first]:
            faults.append(Fault(file, None, "episode", None, COUNTED))
        raise BadData(faults)
    order = np.concatenate(order)
    told = {key: np.concatenate([played[f"info.{key}"].to_numpy() for played in outcomes])
            for key in ("opened", "actual", "probability", "best") if f"info.{key}" in outcomes[0]}
    draws = np.concatenate([own_draws(one, len(challenge.world), challenge.world.uniforms)[:, 0] for one in seeds])
    return challenge.score(codes[order], told, draws, challenge=2, agent=agent or _name(log), seeds=seeds,
                           seconds=seconds[order])


def _name(log):
    names = log["agent"].unique() if "agent" in log else []
    return str(names[0]) if len(names) == 1 else "submission"


def _is_worded(log, challenge):
    """Whether the actions of a log are words, as `readable` writes them, rather than codes."""
    cells = [as_text(value) for name in log.columns if str(name).startswith("action.") for value in log[name].head(50)]
    return sum(whole_number(cell) is not None for cell in cells) < len(cells) / 2


def _columns_of(env, worded):
    """The columns of a log of this environment: {"needed": names, "allowed": names}."""
    sample = rollout(env, lambda observation: env.world.candidates[0], steps=1, learn=False, progress=False)
    names = (readable(sample, env) if worded else sample).columns.tolist()
    needed = [name for name in names if name.startswith(("action.", "obs.context."))
              or name in ("seed", "episode", "step", "response_time", "info.opened")]
    return {"needed": needed, "allowed": [name for name in (*CONSTANT, *names) if name not in needed]}


def _check_header(log, spelt, file, line):
    _, faults = find_columns(log.columns, {name: [name] for name in spelt["needed"]}, spelt["allowed"], file, line)
    if faults:
        raise BadData(faults)


def _read_actions(log, half, worded, file, lines):
    """Codes (rows, components) of what was sent, and the faults met."""
    blocks, faults = [], []
    if worded:
        for feature in half:
            name = f"action.{feature.name}"
            codes, bad = encode_column(feature, np.where(log[name].isna(), np.nan, log[name].to_numpy(dtype=object)))
            blocks.append(codes)
            faults += [Fault(file, lines[row], name, text, feature.right) for row, text in bad]
    else:
        for component, size in zip(half.components, half.sizes):
            codes, bad = _whole_numbers(log, f"action.{component}", file, lines, 0, size - 1)
            blocks.append(codes[:, None])
            faults += bad
    return np.concatenate(blocks, axis=1), faults


def _whole_numbers(log, name, file, lines, least, most):
    """A column as int64 (rows,), 0 where it is none, and the faults met."""
    import pandas as pd

    which, distinct = pd.factorize(log[name].to_numpy(dtype=object), use_na_sentinel=False)
    texts = [as_text(value) for value in distinct]
    numbers = [whole_number(text) for text in texts]
    right = f"a whole number from {least} to {most}" if most is not None else f"a whole number, {least} or more"
    good = np.array([number is not None and least <= number <= (most if most is not None else 2**62)
                     for number in numbers], bool)
    values = np.array([number if fine else 0 for number, fine in zip(numbers, good)], np.int64)
    return values[which], [Fault(file, lines[row], name, texts[which[row]][:60], right)
                           for row in np.flatnonzero(~good[which])]


def _find_episodes(log, contexts, seed, seeding, file, lines):
    """[(seed the episode was reset with, its rows)], and the faults met: each is whole, and no seed occurs twice."""
    numbers, faults = {}, []
    for name in ("seed", "episode", "step"):
        numbers[name], bad = _whole_numbers(log, name, file, lines, 0, None)
        faults += bad
    if faults or not len(log):
        return [], faults
    keys = np.stack([numbers["seed"], numbers["episode"]], axis=1)
    starts = np.flatnonzero(np.concatenate([[True], (keys[1:] != keys[:-1]).any(axis=1)]))
    if len(starts) > MOST_EPISODES:
        right = f"there are {len(starts):,} episodes; a log has at most {MOST_EPISODES}"
        return [], [Fault(file, None, None, None, right)]
    episodes, met = [], {}
    for start, end in zip(starts, [*starts[1:], len(log)]):
        rows, own = np.arange(start, end), episode_seed(*keys[start].tolist(), seeding)
        steps = numbers["step"][rows]
        wrong = np.flatnonzero(steps != np.arange(len(rows)))
        if len(wrong):
            row = wrong[0]
            faults.append(Fault(file, lines[rows[row]], "step", str(steps[row]), f"the next step, {row}"))
        if len(rows) != contexts:
            right = f"the episode has {len(rows):,} steps for {contexts:,} contexts; each context needs one"
            faults.append(Fault(file, lines[start], None, None, right))
        if own in met:
            right = f"another one than that of the episode in row {met[own]} (both were reset with {own})"
            faults.append(Fault(file, lines[start], "seed", str(keys[start, 0]), right))
        if seed is not None and own != episode_seed(seed, len(episodes), seeding):
            right = f"what this challenge is played with: seed {seed}, of which this has to be episode {len(episodes)}"
            faults.append(Fault(file, lines[start], "seed", str(keys[start, 0]), right))
        met[own] = lines[start]
        episodes.append((own, rows))
    return episodes, faults


def _compare(log, played, file, lines):
    """A fault for each cell that is not what the environment says."""
    faults = []
    for name in log.columns:
        if name not in played or not (name.startswith(("obs.", "info.")) or name in ("reward", "terminated",
                                                                                      "truncated")):
            continue
        given, truth = log[name].to_numpy(dtype=object), played[name].to_numpy()
        for row in np.flatnonzero(~_agree(given, truth)):
            faults.append(Fault(file, lines[row], name, as_text(given[row])[:60],
                                f"{as_text(truth[row])!r}, {PLAYED_AGAIN}"))
    return faults


def _agree(given, truth):
    """Whether each cell, text or typed, says what is true (rows,)."""
    import pandas as pd

    if truth.dtype == bool:
        said = pd.Series(given, dtype=object).map(as_text).str.lower()
        return np.where(truth, said.isin(("true", "1")), said.isin(("false", "0")))
    if truth.dtype.kind in "iuf":
        said = pd.to_numeric(pd.Series(given, dtype=object), errors="coerce").to_numpy(dtype=float)
        return np.isclose(said, truth.astype(float), rtol=0, atol=1e-6)
    return np.array([as_text(one) == as_text(other) for one, other in zip(given, truth)], bool)
