"""Errors for invalid arguments and actions name the argument and the valid values."""

import inspect
import math
import re
from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest

from pushlab import agents, load_user, plots, rollout, sweep
from pushlab.agents import RandomAgent
from pushlab.challenges.challenge import Challenge
from pushlab.envs import ENVIRONMENTS
from pushlab.envs.env import Env, build_world
from pushlab.envs.vector_env import VectorEnv
from pushlab.logs.collect import collect
from pushlab.utils.arguments import (
    require_probabilities,
    validate_choice,
    validate_integer,
    validate_number,
)

WORLDS = {name: world for name, world, _ in ENVIRONMENTS}
REC = "pushlab/RECEnv-v0"


def arguments_of(function):
    kinds = inspect.Parameter
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is kinds.POSITIONAL_OR_KEYWORD and parameter.name not in (
            "self",
            "model",
        ):
            yield parameter.name


@pytest.mark.parametrize("world", WORLDS)
def test_every_argument_and_option_of_a_world_is_checked(world):
    instance = build_world(WORLDS[world], {})
    names = set()
    for kind in type(instance).__mro__[:-1]:
        names.update(arguments_of(kind.__init__))
    assert len(names) > 6
    for name in sorted(names):
        for value in (object(), math.nan):
            with pytest.raises(ValueError, match=rf"\b{name}\b"):
                Env(WORLDS[world], **{name: value})
    for name in instance.options:
        for env in (Env(instance), VectorEnv(instance, 2)):
            with pytest.raises(ValueError, match=rf"\b{name}\b"):
                env.reset(options={name: object()})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("num_envs", 0),
        ("max_episode_steps", 0.5),
        ("autoreset_mode", "never"),
        ("render_mode", "film"),
    ],
)
def test_arguments_of_a_batch_are_checked(name, value):
    with pytest.raises(ValueError, match=name):
        VectorEnv(WORLDS[REC], **{"num_envs": 2, name: value})


MEMORIES = (
    "EpisodicSemanticAgent",
    "EpisodicAgent",
    "PrefilledMemoryAgent",
    "LearnedMemoryAgent",
    "SemanticAgent",
)
REQUIRED = {
    **dict.fromkeys(MEMORIES, {"capacity": 4}),
    **dict.fromkeys(
        ("TaskInferringAgent", "RestartingAgent", "TaskAwareAgent"), {"make": list}
    ),
    "BangBang": {"component": 0, "above": 2.0, "below": 1.0, "on": 1},
    "FittedQIteration": {"actions": 2},
    "FunctionAgent": {"policy": len},
    "OfflineModel": {"judge": SimpleNamespace(schema=None)},
    "ReplayHistory": {"history": SimpleNamespace(notification_codes=None)},
    "SoftmaxItem": {"items": np.eye(2)},
}
UNCHECKED = {
    "name",
    "on",
    "off",
    "action",
    "usual",
    "history",
    "notice",
    "context_features",
    "by",
}


def test_every_argument_of_an_agent_is_checked():
    checked = 0
    for kind in sorted(agents.__all__):
        agent = getattr(agents, kind)
        if not isinstance(agent, type) or kind in ("Agent", "Transition"):
            continue
        for name in set(arguments_of(agent)) - UNCHECKED:
            required = REQUIRED.get(kind, {})
            with pytest.raises(ValueError, match=rf"\b{name}\b"):
                agent(**required | {name: object()})
            checked += 1
    assert checked > 30


@pytest.mark.parametrize(
    ("validate", "arguments", "options", "message"),
    [
        (
            validate_integer,
            ("n", 0, 1),
            {},
            "n must be a whole number, 1 or more; got 0",
        ),
        (
            validate_integer,
            ("n", True, 0, 9),
            {},
            "n must be a whole number from 0 to 9; got True",
        ),
        (
            validate_integer,
            ("n", 10**4, 0, 9999),
            {"unit": "days"},
            "of days from 0 to 9,999; got 10000",
        ),
        (validate_number, ("x", math.nan), {}, "x must be a finite number; got nan"),
        (
            validate_number,
            ("x", 0),
            {"above": 0, "maximum": 5},
            "a number above 0 and at most 5; got 0",
        ),
        (
            validate_number,
            ("x", 9),
            {"maximum": 5},
            "x must be a number, 5 or less; got 9",
        ),
        (
            validate_choice,
            ("kind", "y" * 99, ("a", None)),
            {},
            "kind must be one of a, None; got 'yyy",
        ),
        (
            require_probabilities,
            ({"a": 0.5, "b": 1.1},),
            {},
            "b must be a number from 0 to 1; got 1.1",
        ),
    ],
)
def test_validators_raise_for_invalid_values(validate, arguments, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        validate(*arguments, **options)


def test_validators_return_valid_values():
    assert validate_integer("n", np.int64(3), 3, 3) == 3
    assert validate_number("x", 0.0, 0, below=1) == 0
    assert validate_number("x", 5, above=0, maximum=5) == 5


# ------------------------------------------------------------------ actions and names

CHAT = {
    "postingApp": "org.pushlab.chat",
    "category": "msg",
    "subject": "friends",
    "numberOfUpdates": "none",
    "priority": "default",
    "ongoing": "False",
    "visibility": "private",
}


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (CHAT, r"got {'.*schema\.notification\.encode_one"),
        (np.zeros(7), r"action\.astype\(int\)"),
    ],
)
def test_errors_for_invalid_actions_give_advice(action, message):
    env = gym.make("pushlab/evalumap1-v0", user="mira")
    env.reset(seed=7)
    with pytest.raises(ValueError, match=message):
        env.step(action)
    env.step(env.unwrapped.world.schema.notification.encode_one(CHAT))
    items = gym.make(REC)
    items.reset(seed=0)
    with pytest.raises(ValueError) as error:
        items.step(action)
    assert "schema" not in str(error.value)


def forgetful(observation):
    observation.sum()


MIRA = load_user("mira")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rollout(REC, forgetful, steps=1), "'forgetful' returned nothing"),
        (
            lambda: rollout(REC, RandomAgent(), 0),
            "episodes must be a whole number, .*got 0",
        ),
        (
            lambda: collect(REC, forgetful, episodes=0),
            "episodes must be a whole .*got 0",
        ),
        (lambda: plots.phone(pd.DataFrame()), r"films\[0\] after"),
        (lambda: agents.MostOpened(MIRA), r"takes a Period.*pass its \.history"),
        (lambda: Challenge.load("nobody"), "the shipped users are .*mira"),
        (lambda: load_user("mira", "x"), "are loaded by name alone"),
        (lambda: Challenge.load("mira", opening="now"), "sampled, threshold"),
        (lambda: Challenge.load("mira", judge="jury"), "logistic"),
        (lambda: Challenge.load("mira").evaluate([]), "a pandas DataFrame"),
        (lambda: sweep("ShowAll", {"env": REC, "each": []}), '"each" must be'),
    ],
)
def test_common_mistakes_are_explained(call, message):
    errors = (ValueError, TypeError, FileNotFoundError, gym.error.UnregisteredEnv)
    with pytest.raises(errors, match=message):
        call()
