"""Arguments of worlds that nobody should give: each is refused by name, or gives a world that can be lived in.

    python tests/test_bad_arguments.py > comes.csv       counts of what comes of them, a row a world and argument

Every argument of every registered world, every reset option, and what batches take besides meet all of BAD. The table
is made with a process a trial, since what was never tried may hang or ask for all the memory there is.
"""

import inspect
import math
import re
from dataclasses import replace
from fractions import Fraction
from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from pushlab import agents
from pushlab.datasets.periods import Period
from pushlab.datasets.reading import load_user
from pushlab.envs import TABLE
from pushlab.envs.batch import VectorEnv
from pushlab.envs.shell import Env, build_world

BAD = {
    "None": None, "True": True, "False": False, "0": 0, "-1": -1, "5": 5, "0.5": 0.5, "nan": math.nan,
    "inf": math.inf, "-inf": -math.inf, "1e300": 1e300, "1e-300": 1e-300, "10**30": 10**30, "''": "",
    "'nonsense'": "nonsense", "b'bytes'": b"bytes", "[]": [], "{}": {}, "()": (), "[[1, [2]]]": [[1, [2]]],
    "[nan, None]": [math.nan, None], "{'a': {'b': 1}}": {"a": {"b": 1}}, "{1, 2}": {1, 2},
    "np.float32(nan)": np.float32("nan"), "np.int64(-3)": np.int64(-3), "np.True_": np.True_,
    "10**5000": 10**5000, "np.float16(2)": np.float16(2), "a table": pd.DataFrame({"a": [1, 2]}),
    "np.zeros((2, 2))": np.zeros((2, 2)), "np.array('x')": np.array("x"), "2j": 2j, "object()": object(), "int": int,
}
WORLDS = {name: world for name, world, _ in TABLE}
KINDS = ValueError, TypeError, FileNotFoundError
ROOM = WORLDS["pushlab/RoomEnv-v0"], {"encoding": "index"}         # for what all environments take


@cache
def arguments_of(id):
    """The names of a world's arguments: its own, and those of the classes whose arguments it takes over."""
    names = {}
    for kind in type(build_world(WORLDS[id], {})).__mro__:
        if "__init__" not in vars(kind):
            continue
        given = inspect.signature(kind.__init__).parameters.values()
        names |= {one.name: kind for one in given if one.kind is one.POSITIONAL_OR_KEYWORD and one.name != "self"}
        if not any(one.kind is one.VAR_KEYWORD for one in given):
            break
    return [name for name in names if name != "model"]      # which no registered world leaves open


@cache
def small_user():
    """Mira with few rows in each period: cheap to build a world of."""
    mira = load_user("mira")
    return replace(mira, name="small", periods={
        name: Period(mira.schema, period.table.head(300)) for name, period in mira.periods.items()})


def usual(id):
    return {"user": small_user()} if "user" in arguments_of(id) else {}


def is_finite(values):
    if isinstance(values, (dict, tuple)):
        return all(map(is_finite, values.values() if isinstance(values, dict) else values))
    return isinstance(values, str) or bool(np.isfinite(values).all())


def what_comes(make, name, seed=1, options=None):
    """`named` or `lives`; or what is wrong, in words."""
    try:
        env = make()
        env.action_space.seed(1)
        observation, _ = env.reset(seed=seed, options=options)
        for _ in range(3):
            if observation not in env.observation_space:
                return "an observation outside its space"
            observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            if not is_finite(reward) or not is_finite(observation):
                return f"reward {reward}, observation {observation}"
            if np.any(terminated | truncated):
                break
    except KINDS as error:
        found = re.search(rf"\b{name}\b", str(error))
        return "named" if found else f"does not name it: {type(error).__name__}: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "lives"


def with_argument(id, name, value):
    given = usual(id) | {name: value}
    return what_comes(lambda: Env(WORLDS[id], **given), name)


def with_option(id, name, value, copies=None):
    env = Env(WORLDS[id], **usual(id)) if copies is None else VectorEnv(WORLDS[id], copies, **usual(id))
    return what_comes(lambda: env, name, options={name: value})


def with_batch(name, value):
    world, given = ROOM
    return what_comes(lambda: VectorEnv(world, **{"num_envs": 2, name: value}, **given), name)


def with_reset(name, value):
    """A reset of a batch under a seed, options or a mask that are none."""
    world, given = ROOM
    asked = {"options": {"reset_mask": value}} if name == "reset_mask" else {name: value}
    came = what_comes(lambda: VectorEnv(world, 2, **given), name.replace("options", "options?"), **asked)
    return "named" if came.startswith("Error: Seed must be") else came         # Gymnasium's own


@pytest.mark.parametrize("id, name", [(id, name) for id in WORLDS for name in arguments_of(id)])
def test_an_argument_that_is_none_is_named(id, name):
    came = {words: with_argument(id, name, value) for words, value in BAD.items()}
    assert {words: what for words, what in came.items() if what not in ("named", "lives")} == {}
    assert list(came.values()).count("named") >= len(BAD) / 3      # a check that passes everything is none


@pytest.mark.parametrize("id, name", [(id, name) for id in WORLDS for name in build_world(WORLDS[id], {}).options])
@pytest.mark.parametrize("copies", [None, 2])
def test_a_reset_option_that_is_none_is_named(id, name, copies):
    came = {words: with_option(id, name, value, copies) for words, value in BAD.items()}
    assert {words: what for words, what in came.items() if what not in ("named", "lives")} == {}


@pytest.mark.parametrize("name", ["num_envs", "max_episode_steps", "autoreset_mode", "render_mode"])
def test_an_argument_of_a_batch_that_is_none_is_named(name):
    came = {words: with_batch(name, value) for words, value in BAD.items()}
    assert {words: what for words, what in came.items() if what not in ("named", "lives")} == {}


@pytest.mark.parametrize("name", ["options", "reset_mask", "seed"])
def test_a_reset_of_a_batch_that_is_none_is_named(name):
    came = {words: with_reset(name, value) for words, value in BAD.items()}
    assert {words: what for words, what in came.items() if what not in ("named", "lives")} == {}


@pytest.mark.parametrize("id, arguments, words", [
    ("pushlab/push-v0", {"forbidden": math.nan}, "forbidden is a number from -1,000,000,000.0 to 1,.*; got nan"),
    ("pushlab/push-v0", {"max_forbidden": math.inf}, "max_forbidden is a whole number from 1 up; got inf"),
    ("pushlab/push-v0", {"days": (0.5, 2)}, "days is None, .* or a pair of day numbers"),
    ("pushlab/evalumap1-v0", {"judge": 5}, r"judge is the name of one, or an object with chances\(contexts\); got 5"),
    ("pushlab/evalumap1-v0", {"user": []}, r"user is one user, or a list of at least one with .*; got \[\]"),
    ("pushlab/ODE-HIV-v0", {"config": {"k_3": 1}}, "config: a parameter of hiv is one of .*; got 'k_3'"),
    ("pushlab/ODE-HIV-v0", {"config": {"d_1": 0}}, "config: with these parameters hiv divides by 0"),
    ("pushlab/ODE-HIV-v0", {"config": {"d_1": -1.0}}, "config: parameter d_1 is a number from 0 to .*; got -1.0"),
    ("pushlab/ODE-HIV-v0", {"initial_state": {}}, r"initial_state of hiv has the variables T1, .*; got \[\]"),
    ("pushlab/ODE-HIV-v0", {"interventions": {"epsilon_1": 0.5}}, "interventions: epsilon_1 has a list of options"),
    ("pushlab/ODE-HIV-v0", {"initial_state": {"T1": 1}}, "initial_state of hiv has the variables T1, "),
    ("pushlab/ODE-HIV-v0", {"bins": {"V": [2, 1]}, "observe": "V"}, "bins: the edges of V are numbers that increase"),
    ("pushlab/ODE-World3-v1", {"timestep": 1e-300}, r"timestep \(year\) is a number from .* to .*; got 1e-300"),
    ("pushlab/Credit-v0", {"bound": 0.5}, "candidates: .* has weights from -0.5 to 0.5, the bound"),
    ("pushlab/Credit-v0", {"config": {"memory": 1}}, "config: memory is True or False; got 1"),
    ("pushlab/RECEnv-v0", {"n_users": 10**9}, "n_users is a whole number from 1 to 1,000,000; got 1000000000"),
    ("pushlab/Credit-v0", {"config": {"epsilon": Fraction(1, 2)}}, r"epsilon is a number .*; got Fraction\(1, 2\)"),
    ("pushlab/RECEnv-v0", {"UserModel": {"alpha": 1}}, r"UserModel by name is one of .*; got \{'alpha': 1\}"),
    ("pushlab/RECEnv-v0", {"UserModel": {"name": "UserModel", "alpha": math.nan}}, "UserModel=.*alpha is a number"),
    ("pushlab/RoomEnv-v0", {"commonsense": [["a", "b"]]}, "commonsense: the row has 2 fields"),
])
def test_a_message_says_what_would_be_right_and_what_was_given(id, arguments, words):
    with pytest.raises(ValueError, match=words):
        Env(WORLDS[id], **arguments)


@pytest.mark.parametrize("id, arguments", [
    ("pushlab/ODE-LotkaVolterra-v1", {}), ("pushlab/ODE-LotkaVolterra-v1", {"actions": "box"}),
    ("pushlab/evalumap1-v0", {"user": "mira"}), ("pushlab/RoomEnv-v0", {"encoding": "index"}),
    ("pushlab/RoomEnv-v0", {}), ("pushlab/RoomEnv-v0", {"n_agents": 2})])
def test_an_action_that_is_none_is_named(id, arguments):
    env, envs = Env(WORLDS[id], **arguments), VectorEnv(WORLDS[id], 2, **arguments)
    env.reset(seed=1)
    envs.reset(seed=1)
    for words, value in BAD.items():
        for step, action in ((env.step, value), (envs.step, value), (envs.step, [value] * 2)):
            try:
                assert is_finite(step(action)[1]), words
            except (ValueError, TypeError) as error:
                assert re.search("action|answer", str(error)) and len(str(error)) < 300, words


NEEDED = {
    "BangBang": {"component": 0, "above": 2.0, "below": 1.0, "on": 1}, "FittedQIteration": {"actions": 2},
    **{kind: {"capacity": 4} for kind in ("BothAgent", "EpisodicAgent", "GivenAgent", "LearnedAgent", "SemanticAgent")},
    **{kind: {"make": list} for kind in ("Recognising", "Restarting", "Told")},
    "FunctionAgent": {"policy": len}, "GaussianActions": {"mean": len, "spread": 1.0},
    "OfflineModel": {"judge": SimpleNamespace(schema=None)}, "SoftmaxItem": {"items": np.eye(2)},
    "ReplayHistory": {"history": SimpleNamespace(notification_codes=None)}}
ANYTHING = "name", "on", "off", "action", "usual", "history", "notice", "crossed", "by"     # or looked at in `begin`


@pytest.mark.parametrize("kind, name", [
    (kind, name) for kind in agents.__all__ if isinstance(getattr(agents, kind), type)
    for name, one in inspect.signature(getattr(agents, kind)).parameters.items()
    if name not in ANYTHING and one.kind is one.POSITIONAL_OR_KEYWORD and kind not in ("Transition", "Agent")])
def test_an_argument_of_an_agent_that_is_none_is_named(kind, name):
    refused = 0
    for words, value in BAD.items():
        try:
            getattr(agents, kind)(**NEEDED.get(kind, {}) | {name: value})
        except ValueError as error:
            assert re.search(rf"\b{name}\b", str(error)) and len(str(error)) < 300, words
            refused += 1
    assert refused >= len(BAD) / 3


def alone(question, seconds=10):
    """The answer of a process of its own, which has 4 GB and so many seconds."""
    import os
    import resource
    import select
    import signal

    back, there = os.pipe()
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        with os.fdopen(there, "w", errors="replace") as out:
            out.write(question())
        os._exit(0)
    os.close(there)
    in_time = select.select([back], [], [], seconds)[0]
    answer = os.read(back, 1000).decode(errors="replace") if in_time else "hung"
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(back)
    return answer or "the process died"


def kind_of(came):
    """What comes, without what is different each time."""
    words = came.split()
    if "not name" in came:
        return f"{words[4].rstrip(':')} without the name"
    if came in ("named", "lives", "hung", "the process died"):
        return came
    return " ".join(words[:2]).rstrip(",") if words[0] == "reward" else words[0].rstrip(":")


def main():
    import csv
    import sys
    import warnings
    from collections import Counter
    from functools import partial

    warnings.simplefilter("ignore")
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(("class", "input", "comes"))
    trials = [(id, name, lambda value, id=id, name=name: with_argument(id, name, value))
              for id in WORLDS for name in arguments_of(id)]
    trials += [(id, f"reset {name}{how}",
                lambda value, id=id, name=name, copies=copies: with_option(id, name, value, copies))
               for id in WORLDS for name in build_world(WORLDS[id], {}).options
               for how, copies in (("", None), (" of a batch", 2))]
    trials += [("batch", name, lambda value, name=name: with_batch(name, value))
               for name in ("num_envs", "max_episode_steps", "autoreset_mode", "render_mode")]
    trials += [("batch", f"reset {name}", lambda value, name=name: with_reset(name, value))
               for name in ("options", "reset_mask", "seed")]
    for id, name, trial in trials:
        came = Counter(kind_of(alone(partial(trial, value))) for value in BAD.values())
        told = [f"{count} {what}" for what, count in came.most_common() if what not in ("named", "lives")]
        out.writerow((id, f"{name}, {len(BAD)} values", "; ".join(told) or "all named, or lived in"))


if __name__ == "__main__":
    main()
