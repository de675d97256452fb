"""Challenge 2: replay a log of the cold start; every cell that differs is a fault.

An episode's seed fixes its contexts and chance, so the notifications in a log determine everything else in it.
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

COMPARED = ("reward", "terminated", "truncated")  # besides obs.… and info.…
PLAYED_AGAIN = "what the environment says after this seed and these notifications"


def score_log(
    challenge: Challenge,
    log: pd.DataFrame,
    seed: int | None = None,
    agent: str | None = None,
    file: str = "log",
) -> Scorecard:
    """Return the Scorecard of a log of evalumap2-v0, played again.

    Args:
        log: DataFrame from `rollout`, or its text; whole episodes. Needed are agent, seed, episode, step,
            response_time, info.opened, action.… and obs.context.…. Other columns that `rollout` writes are compared
            if they are there; those made with reveal=True too. Response times can't be compared.
        seed: The seed with which the log must have been made. None allows any.
        agent: Name of the agent, by default that in the column `agent`.
        file: Name of the log in messages, which count rows as those of a CSV file: the header is row 1.

    Raises:
        BadData: The table has faults, or cells differ in the replay of a valid table; the message lists all of them.
    """
    env = Env(challenge.cold_world)
    text = text_table(log)
    rules = _rules(env)
    values = convert(text, rules, file)
    episodes = _find_episodes(values, len(challenge.world), seed, file)
    codes = values[[name for name in rules if name.startswith("action.")]].to_numpy()
    faults = []
    outcomes = []
    for own, rows in episodes.items():
        notifications = iter(codes[rows])
        played = rollout(
            env,
            lambda observation, left=notifications: next(left),
            seed=own,
            learn=False,
            progress=False,
        )
        faults += _compare(text.iloc[rows], played, file)
        outcomes.append(played)
    refuse(faults)
    again = pd.concat(outcomes, ignore_index=True)
    keys = ("opened", "actual", "probability", "best")
    outcome = {
        key: again[f"info.{key}"].to_numpy() for key in keys if f"info.{key}" in again
    }
    world = challenge.world
    draws = [own_draws(own, len(world), world.uniforms)[:, 0] for own in episodes]
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
    """Return a rule for each column that the log needs."""
    schema = env.world.schema
    rules = {name: whole_number(0) for name in ("seed", "episode", "step")}
    rules |= {"agent": word(), "response_time": SECONDS, "info.opened": word()}
    rules |= {f"obs.context.{name}": word() for name in schema.context.components}
    for name, size in zip(schema.notification.components, schema.notification.sizes):
        rules[f"action.{name}"] = whole_number(0, int(size) - 1)
    return rules


def _find_episodes(values, contexts, seed, file):
    """Return the positions of each episode's rows by the seed of its reset. Raises BadData for unfinished episodes."""
    episodes = {}
    faults = []
    groups = values.groupby(["seed", "episode"], sort=False)
    for (said, number), rows in groups.indices.items():
        own = episode_seed(int(said), int(number))
        first = int(rows[0]) + 2
        steps = values["step"].to_numpy()[rows]
        wrong = np.flatnonzero(steps != np.arange(len(steps)))
        if len(wrong):
            row = int(rows[wrong[0]]) + 2
            right = f"the next step, {wrong[0]}"
            faults.append(Fault(file, row, "step", str(steps[wrong[0]]), right))
        if len(steps) != contexts:
            right = f"the episode has {len(steps):,} steps for {contexts:,} contexts; each context needs one"
            faults.append(Fault(file, first, right=right))
        if seed is not None and own != episode_seed(seed, len(episodes)):
            right = f"what this challenge is played with: seed {seed}, of which this has to be episode {len(episodes)}"
            faults.append(Fault(file, first, "seed", str(said), right))
        episodes[own] = rows
    if not episodes:
        faults.append(Fault(file, right="the table has a header and no rows"))
    refuse(faults)
    return episodes


def _compare(text, played, file):
    """Return a fault for each cell that isn't what the environment says."""
    faults = []
    for name in played:
        if name in text and (name.startswith(("obs.", "info.")) or name in COMPARED):
            truth = played[name].to_numpy()
            for row in np.flatnonzero(~_agree(text[name], truth)):
                right = f"{as_text(truth[row])!r}, {PLAYED_AGAIN}"
                cell = text[name].iloc[row]
                faults.append(Fault(file, int(text.index[row]) + 2, name, cell, right))
    return faults


def _agree(cells, truth):
    """Return whether each cell agrees with the replay (rows,)."""
    if truth.dtype == bool:
        words = {"true": True, "false": False}
        return (cells.str.lower().map(words) == truth).to_numpy()
    if truth.dtype.kind in "iuf":
        numbers = pd.to_numeric(cells, errors="coerce").to_numpy(float)
        return np.isclose(numbers, truth.astype(float), rtol=0, atol=1e-6)
    return cells.to_numpy() == [as_text(value) for value in truth]
