"""A small class: its settings, its teams' answers, and the commands of its lecturer."""

import json

import pandas as pd
from typer.testing import CliRunner

from pushlab.__main__ import app

SETTINGS = {"seed": "rehearsal", "episodes": 2, "per_quarter": 100, "days": 1}


def run(*words):
    """Return the result of a command of pushlab."""
    return CliRunner().invoke(app, [str(word) for word in words])


def answers_table(folder, **values):
    """Return an upload as a table, with the same notification for all contexts of the class's handout."""
    row = {"postingApp": "org.pushlab.chat", "category": "msg", "subject": "friends"}
    row |= {"numberOfUpdates": "none", "priority": "default"}
    row |= {"ongoing": "False", "visibility": "private"}
    contexts = pd.read_csv(folder / "handout" / "robin" / "contexts.csv")
    return contexts[["id"]].assign(**row | values)


def as_lists(value):
    """Return a value after a round trip through JSON."""
    return json.loads(json.dumps(value, default=lambda part: part.tolist()))


def play_constant(session, token, game, action, max_steps=10_000):
    """Play a scored episode with one action, at most `max_steps` steps."""
    team = session.team_of(token)
    [episode] = session.begin(team, game, True)
    session.load(episode, session.replay(episode))
    for step in range(session.state(episode)["step"], max_steps):
        if session.play(team, [(episode, step, action)])[0]["terminated"]:
            break
