"""Logs of the cold start, played again: whatever the environment then says differently was not so.

The episode's seed fixes contexts and chance, so that a log's notifications alone give its outcomes once more.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pushlab.challenges.answers import (
    demand_table,
    named_columns,
    read_values,
    read_whole_numbers,
    whole_number,
)
from pushlab.challenges.challenge import Challenge, own_draws
from pushlab.challenges.scorecard import Scorecard
from pushlab.datasets.features import as_text
from pushlab.datasets.tables import (
    A_DURATION,
    MOST_FAULTS,
    NO_ROWS,
    find_columns,
    read_numbers,
)
from pushlab.envs.shell import Env
from pushlab.ground.faults import BadData, Fault, blame, refuse
from pushlab.ground.seeds import episode_seed
from pushlab.logs.rollout import CONSTANT, readable, rollout

MOST_EPISODES = 100  # of a log
TOLD = (
    "reward",
    "terminated",
    "truncated",
)  # columns that tell of the environment, besides obs.… and info.…
PLAYED_AGAIN = "what the environment says after this seed and these notifications"
COUNTED = (
    "the first episode is in order and a later one is not: is the log from before 0.2, when seeds were counted "
    "up? Then say so: seeding='counted', or --counted"
)


def score_log(
    challenge: Challenge,
    log: pd.DataFrame,
    seed: int | None = None,
    agent: str | None = None,
    file: str = "log",
    lines: Sequence[int] | None = None,
    seeding: str = "independent",
) -> Scorecard:
    """The Scorecard of a log of evalumap2-v0, played again.

    log    DataFrame as `rollout` gives it, or `readable` made of it, or the text of either; whole episodes
    seed   under which the log must have been made; None takes any
    agent  whose log it is; by default what its column `agent` says
    seeding  of the `rollout` that made it; "counted" for a log made before 0.2

    Needed are seed, episode, step, response_time, info.opened, action.… and obs.context.…; what else `rollout` writes
    may be there and is compared if it tells of the environment; info.probability and info.best are in logs made with
    reveal=True. The response times are the participant's word.

    Raises BadData with every fault: of the table, or, where the table is in order, every cell that is not what the
    environment says when it is played again.
    """
    demand_table(log)
    if not len(log):
        raise BadData(Fault(file, right=NO_ROWS))
    head, rows = (
        (None, np.arange(len(log))) if lines is None else (1, np.asarray(lines))
    )
    env, worded = Env(challenge.cold_world), _is_worded(log)
    needed, allowed = _columns_of(env, worded)
    refuse(
        find_columns(
            named_columns(log), {name: [name] for name in needed}, allowed, file, head
        )[1]
    )
    codes, faults = _read_actions(
        log, challenge.user.schema.notification, worded, file, rows
    )
    seconds, bad = read_numbers(
        log["response_time"], "response_time", file, rows, A_DURATION
    )
    episodes, more = _find_episodes(
        log, len(challenge.world), seed, seeding, file, rows
    )
    refuse([*faults, *bad, *more])
    outcomes: list[pd.DataFrame] = []
    for own, episode in episodes:
        notifications = iter(codes[episode])
        played = rollout(
            env,
            lambda observation, left=notifications: next(left),
            seed=own,
            learn=False,
            progress=False,
        )
        faults += _compare(
            log.iloc[episode],
            readable(played, env) if worded else played,
            file,
            rows[episode],
        )
        outcomes.append(played)
        if len(faults) > MOST_FAULTS:
            break
    if faults and seeding == "independent" and len(episodes) > 1:
        second = rows[episodes[1][1].start]
        if min(fault.row for fault in faults) >= second:
            faults.append(Fault(file, column="episode", right=COUNTED))
    refuse(faults)
    told = pd.concat(outcomes, ignore_index=True)
    outcome = {
        key: told[f"info.{key}"].to_numpy()
        for key in ("opened", "actual", "probability", "best")
        if f"info.{key}" in told
    }
    seeds = [own for own, _ in episodes]
    draws = np.concatenate(
        [
            own_draws(own, len(challenge.world), challenge.world.uniforms)[:, 0]
            for own in seeds
        ]
    )
    return challenge.score(
        codes,
        outcome,
        draws,
        challenge=2,
        agent=agent or _name(log),
        seeds=seeds,
        seconds=seconds,
    )


def _name(log):
    names = log["agent"].unique() if "agent" in log else []
    return str(names[0]) if len(names) == 1 else "submission"


def _is_worded(log):
    """Whether the actions of a log are words, as `readable` writes them, rather than codes."""
    cells = [
        as_text(value)
        for name in log.columns
        if str(name).startswith("action.")
        for value in log[name].head(50)
    ]
    return sum(whole_number(cell) is not None for cell in cells) < len(cells) / 2


def _columns_of(env, worded):
    """The columns that a log of this environment needs, and those that it may have."""
    sample = rollout(
        env,
        lambda observation: env.world.candidates[0],
        steps=1,
        learn=False,
        progress=False,
    )
    names = (readable(sample, env) if worded else sample).columns.tolist()
    needed = [
        name
        for name in names
        if name.startswith(("action.", "obs.context."))
        or name in ("seed", "episode", "step", "response_time", "info.opened")
    ]
    return needed, [
        name for name in (*CONSTANT, "propensity", *names) if name not in needed
    ]


def _read_actions(log, half, worded, file, lines):
    """Codes (rows, components) of what was sent, and the faults met."""
    if worded:
        read = [
            read_values(
                feature, log[name := f"action.{feature.name}"], name, file, lines
            )
            for feature in half
        ]
    else:
        read = [
            read_whole_numbers(
                log[name := f"action.{component}"],
                name,
                file,
                lines,
                size - 1,
                f"a whole number from 0 to {size - 1}",
            )
            for component, size in zip(half.components, half.sizes)
        ]
    return np.column_stack([codes for codes, _ in read]), [
        fault for _, faults in read for fault in faults
    ]


def _find_episodes(log, contexts, seed, seeding, file, lines):
    """[(seed the episode was reset with, the slice of its rows)], and the faults met.

    Each is whole, and no seed occurs twice.
    """
    read = [
        read_whole_numbers(log[name], name, file, lines)
        for name in ("seed", "episode", "step")
    ]
    faults = [fault for _, found in read for fault in found]
    if faults:
        return [], faults
    numbers = np.stack([column for column, _ in read], axis=1)
    starts = [
        0,
        *(
            np.flatnonzero((numbers[1:, :2] != numbers[:-1, :2]).any(axis=1)) + 1
        ).tolist(),
    ]
    if len(starts) > MOST_EPISODES:
        return [], [
            Fault(
                file,
                right=f"there are {len(starts):,} episodes; a log has at most {MOST_EPISODES}",
            )
        ]
    episodes, met = [], {}
    for start, end in zip(starts, [*starts[1:], len(log)]):
        said, episode, _ = numbers[start].tolist()
        own, steps = episode_seed(said, episode, seeding), numbers[start:end, 2]
        wrong = np.flatnonzero(steps != np.arange(len(steps)))
        if len(wrong):
            row = int(wrong[0])
            faults.append(
                Fault(
                    file,
                    int(lines[start + row]),
                    "step",
                    str(steps[row]),
                    f"the next step, {row}",
                )
            )
        if len(steps) != contexts:
            right = f"the episode has {len(steps):,} steps for {contexts:,} contexts; each context needs one"
            faults.append(Fault(file, int(lines[start]), right=right))
        if own in met:
            right = f"another one than that of the episode in row {met[own]} (both were reset with {own})"
            faults.append(Fault(file, int(lines[start]), "seed", str(said), right))
        if seed is not None and own != episode_seed(seed, len(episodes), seeding):
            right = f"what this challenge is played with: seed {seed}, of which this has to be episode {len(episodes)}"
            faults.append(Fault(file, int(lines[start]), "seed", str(said), right))
        met[own] = lines[start]
        episodes.append((own, slice(start, end)))
    return episodes, faults


def _compare(log, played, file, lines):
    """A fault for each cell that is not what the environment says."""
    faults = []
    for name in log.columns:
        if name in played and (name.startswith(("obs.", "info.")) or name in TOLD):
            given, truth = log[name].to_numpy(dtype=object), played[name].to_numpy()
            for row in np.flatnonzero(~_agree(given, truth)):
                right = f"{as_text(truth[row])!r}, {PLAYED_AGAIN}"
                faults += blame(
                    file,
                    lines[row : row + 1],
                    name,
                    [as_text(given[row])],
                    [True],
                    right,
                )
    return faults


def _agree(given, truth):
    """Whether each cell, text or typed, says what is true (rows,)."""
    if truth.dtype == bool:
        said = pd.Series(given, dtype=object).map(as_text).str.lower()
        return np.where(truth, said.isin(("true", "1")), said.isin(("false", "0")))
    if truth.dtype.kind in "iuf":
        said = pd.to_numeric(pd.Series(given, dtype=object), errors="coerce").to_numpy(
            dtype=float
        )
        return np.isclose(said, truth.astype(float), rtol=0, atol=1e-6)
    return np.array(
        [as_text(one) == as_text(other) for one, other in zip(given, truth)], bool
    )
