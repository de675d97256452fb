"""Challenge 2: replay a log of the cold start and compare every cell.

An episode's seed determines its contexts and random numbers. So the notifications in a log determine all other columns.
"""

import numpy as np
import pandas as pd

from pushlab.challenges.answers import SECONDS, text_table
from pushlab.challenges.challenge import Challenge, own_draws
from pushlab.challenges.scorecard import Scorecard
from pushlab.datasets.schema import as_text
from pushlab.envs.shell import Env
from pushlab.ground.faults import Fault, refuse
from pushlab.ground.seeds import episode_seed
from pushlab.ground.tables import convert, whole_number, word
from pushlab.logs.rollout import rollout

COMPARED_COLUMNS = ("reward", "terminated", "truncated")  # besides obs.… and info.…
REPLAYED = "the replayed value for this seed and these notifications"


def score_log(
    challenge: Challenge,
    log: pd.DataFrame,
    seed: int | None = None,
    agent: str | None = None,
    file: str = "log",
) -> Scorecard:
    """Replay a log of evalumap2-v0 and return its Scorecard.

    Args:
        challenge: The Challenge.
        log: DataFrame of complete episodes from `rollout`, or its text. It must have agent, seed, episode, step,
            response_time, info.opened, action.… and obs.context.…. Other columns of `rollout` are optional, including
            those of reveal=True, and are compared too. Response times can't be compared.
        seed: The seed that the log must have. None allows any.
        agent: Name of the agent, by default from the column `agent`.
        file: Name of the log in messages. They count rows as in a CSV file, where the header is row 1.

    Raises:
        BadData: If the table has faults, or cells differ from the replay; the message lists all of them.
    """
    env = Env(challenge.cold_start_world)
    text = text_table(log)
    rules = _rules(env)
    values = convert(text, rules, file)
    episodes = _find_episodes(values, len(challenge.world), seed, file)
    actions = [name for name in rules if name.startswith("action.")]
    codes = values[actions].to_numpy()
    faults = []
    replays = []
    for reset_seed, rows in episodes.items():
        notifications = iter(codes[rows])
        replay = rollout(
            env,
            lambda observation, remaining=notifications: next(remaining),
            seed=reset_seed,
            learn=False,
            progress=False,
        )
        faults += _compare(text.iloc[rows], replay, file)
        replays.append(replay)
    refuse(faults)
    replayed = pd.concat(replays, ignore_index=True)
    outcome = {}
    for key in ("opened", "actual", "probability", "best"):
        if f"info.{key}" in replayed:
            outcome[key] = replayed[f"info.{key}"].to_numpy()
    world = challenge.world
    draws = []
    for reset_seed in episodes:
        uniforms = own_draws(reset_seed, len(world), world.uniforms)
        draws.append(uniforms[:, 0])
    return challenge.score(
        codes[np.concatenate(list(episodes.values()))],
        outcome,
        np.concatenate(draws),
        2,
        agent or str(log["agent"].iloc[0]),
        list(episodes),
        values["response_time"].to_numpy(),
    )


def _rules(env):
    """Return a rule for each required column of a log."""
    schema = env.world.schema
    rules = {
        "seed": whole_number(0),
        "episode": whole_number(0),
        "step": whole_number(0),
        "agent": word(),
        "response_time": SECONDS,
        "info.opened": word(),
    }
    for name in schema.context.components:
        rules[f"obs.context.{name}"] = word()
    for name, size in zip(schema.notification.components, schema.notification.sizes):
        rules[f"action.{name}"] = whole_number(0, int(size) - 1)
    return rules


def _find_episodes(values, contexts, seed, file):
    """Return the row positions of each episode by the seed of its reset; raise BadData for incomplete episodes."""
    episodes = {}
    faults = []
    groups = values.groupby(["seed", "episode"], sort=False)
    for (log_seed, number), rows in groups.indices.items():
        reset_seed = episode_seed(int(log_seed), int(number))
        first_line = int(rows[0]) + 2
        steps = values["step"].to_numpy()[rows]
        wrong = np.flatnonzero(steps != np.arange(len(steps)))
        if len(wrong):
            index = wrong[0]
            line = int(rows[index]) + 2
            right = f"the next step, {index}"
            faults.append(Fault(file, line, "step", str(steps[index]), right))
        if len(steps) != contexts:
            right = f"the episode has {len(steps):,} steps for {contexts:,} contexts; each context needs one"
            faults.append(Fault(file, first_line, right=right))
        if seed is not None and reset_seed != episode_seed(seed, len(episodes)):
            right = (
                f"the required seed {seed}; this must be its episode {len(episodes)}"
            )
            faults.append(Fault(file, first_line, "seed", str(log_seed), right))
        episodes[reset_seed] = rows
    if not episodes:
        faults.append(Fault(file, right="the table has a header and no rows"))
    refuse(faults)
    return episodes


def _compare(text, replay, file):
    """Return a fault for each cell that differs from the replay."""
    faults = []
    for name in replay:
        is_compared = name.startswith(("obs.", "info.")) or name in COMPARED_COLUMNS
        if name not in text or not is_compared:
            continue
        expected = replay[name].to_numpy()
        is_equal = _is_equal(text[name], expected)
        for row in np.flatnonzero(~is_equal):
            line = int(text.index[row]) + 2
            cell = text[name].iloc[row]
            right = f"{as_text(expected[row])!r}, {REPLAYED}"
            faults.append(Fault(file, line, name, cell, right))
    return faults


def _is_equal(cells, expected):
    """Return whether each cell equals the expected value (rows,)."""
    if expected.dtype == bool:
        words = {"true": True, "false": False}
        values = cells.str.lower().map(words)
        return (values == expected).to_numpy()
    if expected.dtype.kind in "iuf":
        numbers = pd.to_numeric(cells, errors="coerce").to_numpy(float)
        return np.isclose(numbers, expected.astype(float), rtol=0, atol=1e-6)
    return cells.to_numpy() == [as_text(value) for value in expected]
