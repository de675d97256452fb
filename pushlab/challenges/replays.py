"""Challenge 2: replay a log of the cold start and compare every cell.

An episode's seed determines its contexts and random numbers. So the notifications in a log determine all other columns.
"""

import numpy as np
import pandas as pd

from pushlab.challenges.answers import SECONDS, text_table
from pushlab.challenges.challenge import Challenge, episode_uniforms
from pushlab.challenges.scorecard import Scorecard
from pushlab.datasets.schema import as_text
from pushlab.envs.env import Env
from pushlab.logs.rollout import rollout
from pushlab.utils.issues import DataIssue, raise_issues
from pushlab.utils.seeds import episode_seed
from pushlab.utils.tables import convert_columns, integer_rule, text_rule

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
        BadData: If the table has issues, or cells differ from the replay; the message lists all of them.
    """
    env = Env(challenge.cold_start_world)
    text = text_table(log)
    rules = _rules(env)
    values = convert_columns(text, rules, file)
    episodes = _find_episodes(values, len(challenge.world), seed, file)
    actions = [name for name in rules if name.startswith("action.")]
    codes = values[actions].to_numpy()
    issues = []
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
        issues += _compare(text.iloc[rows], replay, file)
        replays.append(replay)
    raise_issues(issues)
    replayed = pd.concat(replays, ignore_index=True)
    outcome = {}
    for key in ("opened", "actual", "probability", "best"):
        if f"info.{key}" in replayed:
            outcome[key] = replayed[f"info.{key}"].to_numpy()
    world = challenge.world
    draws = []
    for reset_seed in episodes:
        uniforms = episode_uniforms(reset_seed, len(world), world.uniforms)
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
        "seed": integer_rule(0),
        "episode": integer_rule(0),
        "step": integer_rule(0),
        "agent": text_rule(),
        "response_time": SECONDS,
        "info.opened": text_rule(),
    }
    for name in schema.context.components:
        rules[f"obs.context.{name}"] = text_rule()
    for name, size in zip(schema.notification.components, schema.notification.sizes):
        rules[f"action.{name}"] = integer_rule(0, int(size) - 1)
    return rules


def _find_episodes(values, contexts, seed, file):
    """Return the row positions of each episode by the seed of its reset; raise BadData for incomplete episodes."""
    episodes = {}
    issues = []
    groups = values.groupby(["seed", "episode"], sort=False)
    for (log_seed, number), rows in groups.indices.items():
        reset_seed = episode_seed(int(log_seed), int(number))
        first_line = int(rows[0]) + 2
        steps = values["step"].to_numpy()[rows]
        wrong = np.flatnonzero(steps != np.arange(len(steps)))
        if len(wrong):
            index = wrong[0]
            line = int(rows[index]) + 2
            valid_values = f"the next step, {index}"
            issues.append(
                DataIssue(file, line, "step", str(steps[index]), valid_values)
            )
        if len(steps) != contexts:
            valid_values = f"the episode has {len(steps):,} steps for {contexts:,} contexts; each context needs one"
            issues.append(DataIssue(file, first_line, valid_values=valid_values))
        if seed is not None and reset_seed != episode_seed(seed, len(episodes)):
            valid_values = (
                f"the required seed {seed}; this must be its episode {len(episodes)}"
            )
            issues.append(
                DataIssue(file, first_line, "seed", str(log_seed), valid_values)
            )
        episodes[reset_seed] = rows
    if not episodes:
        issues.append(
            DataIssue(file, valid_values="the table has a header and no rows")
        )
    raise_issues(issues)
    return episodes


def _compare(text, replay, file):
    """Return an issue for each cell that differs from the replay."""
    issues = []
    for name in replay:
        is_compared = name.startswith(("obs.", "info.")) or name in COMPARED_COLUMNS
        if name not in text or not is_compared:
            continue
        expected = replay[name].to_numpy()
        is_equal = _is_equal(text[name], expected)
        for row in np.flatnonzero(~is_equal):
            line = int(text.index[row]) + 2
            cell = text[name].iloc[row]
            valid_values = f"{as_text(expected[row])!r}, {REPLAYED}"
            issues.append(DataIssue(file, line, name, cell, valid_values))
    return issues


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
