"""Every shipped agent: recorded results of a short run, and an exact state."""

import copy
import json
from functools import cache

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest

import pushlab  # noqa: F401  registers the environments
from pushlab import agents
from pushlab.agents.protocol import state_to_json
from pushlab.datasets.reading import load_user
from pushlab.logs.rollout import rollout
from pushlab.users.judges import fit_judge

COLD = "pushlab/evalumap2-v0"
ARRIVALS = "pushlab/push-v0"
ITEMS = "pushlab/RECEnv-v0"
ROOM = "pushlab/RoomEnv-v0"
PATIENT = "pushlab/ODE-LotkaVolterra-v1"
SHORT = {"max_episode_steps": 60}
CODES = {"encoding": "index", **SHORT}
NOT_AGENTS = {"Agent", "FunctionAgent", "Transition", "as_agent"}


@cache
def history():
    return load_user("mira").history


@cache
def judge():
    return fit_judge(history(), "plain")


def changed(agent, **attributes):
    for name, value in attributes.items():
        setattr(agent, name, value)
    return agent


# For each agent a function that returns it, its environment, and the arguments of the
# environment. A name can have a variant with other arguments, each of which changes the
# results. The recorded results are the return of four episodes with learning, two for each
# of two tasks; their mean propensity; the return of two episodes without learning and
# exploring; and the magnitudes of each part of the state, as sums of logarithms.
AGENTS = {
    "BangBang": (
        lambda: agents.BangBang(0, 20.0, 5.0, on=1),
        PATIENT,
        SHORT,
        (1042.489611, 1, 521.2448057, 0),
    ),
    "EpisodicSemanticAgent": (
        lambda: agents.EpisodicSemanticAgent(8),
        ROOM,
        SHORT,
        (139, 1, 64, 0),
    ),
    "EpisodicSemanticAgent two": (
        lambda: agents.EpisodicSemanticAgent(5),
        ROOM,
        {"n_agents": 2, **CODES},
        (128, 0.56125, 66, 0),
    ),
    "Constant": (
        lambda: agents.Constant(1),
        PATIENT,
        SHORT,
        (2030.651932, 1, 1015.325966, 0),
    ),
    "DismissAll": (agents.DismissAll, ARRIVALS, {}, (-104.4, 1, -33.2, 0)),
    "DoNotDisturb": (agents.DoNotDisturb, ARRIVALS, {}, (88.28, 1, 13.99, 0)),
    "ElasticArrivalQ": (
        agents.ElasticArrivalQ,
        ARRIVALS,
        {},
        (49.685, 0.8987956349, 14, 19.73867893),
    ),
    "EpisodicAgent": (lambda: agents.EpisodicAgent(8), ROOM, SHORT, (125, 1, 55, 0)),
    "EpsilonGreedy": (
        agents.EpsilonGreedy,
        COLD,
        SHORT,
        (180, 0.7099640913, 94, 11.78507355),
    ),
    "FittedQIteration": (
        lambda: agents.FittedQIteration(
            5, trees=4, forest_fits=2, iterations_per_fit=4, fit_every=1
        ),
        ITEMS,
        {},
        (1.429839224, 0.455, 4.653970885, 10.86888316),
    ),
    "PrefilledMemoryAgent": (
        lambda: agents.PrefilledMemoryAgent(8),
        ROOM,
        SHORT,
        (144, 1, 63, 0),
    ),
    "GreedyItem": (agents.GreedyItem, ITEMS, {}, (18.75479141, 1, 7.555410673, 0)),
    "LearnedMemoryAgent": (
        lambda: agents.LearnedMemoryAgent(8),
        ROOM,
        SHORT,
        (100, 0, 63, 13.74485717),
    ),
    "LinearArrivalQ": (
        agents.LinearArrivalQ,
        ARRIVALS,
        {},
        (48.895, 0.8760336323, 17.42, 5.705565747),
    ),
    "LinearQ": (agents.LinearQ, ITEMS, {}),
    "LinUCB": (agents.LinUCB, COLD, SHORT, (192, 1, 114, 5.95251009)),
    "LinUCBItem": (
        agents.LinUCBItem,
        ITEMS,
        {},
        (9.863114704, 1, 7.555410673, 5.075330896),
    ),
    "LogisticThompson": (
        lambda: changed(agents.LogisticThompson(), context_features=["time"]),
        COLD,
        SHORT,
        (182, 0, 98, 7.838695491),
    ),
    "MostOpened": (
        lambda: agents.MostOpened(history()),
        COLD,
        SHORT,
        (212, 1, 100, 11.14281785),
    ),
    "MostOpened cold": (
        lambda: changed(agents.MostOpened(), context_features=["day", "noise"]),
        COLD,
        SHORT,
        (160, 0.9958984375, 66, 6.432940093),
    ),
    "OfflineModel": (
        lambda: agents.OfflineModel(judge(), diversity=0.5),
        COLD,
        SHORT,
        (184, 1, 80, 0),
    ),
    "Planner": (
        lambda: agents.Planner(beam=2),
        ITEMS,
        {"UserModel": "Satiation"},
        (1.790472481, 1, -0.02038099613, 0),
    ),
    "QTable": (agents.QTable, ARRIVALS, {}, (-0.2, 0.8680975422, 15.83, 7.642426463)),
    "RandomAgent": (agents.RandomAgent, ARRIVALS, {}, (-41.68, 0.5487726098, -7.51, 0)),
    "RandomCandidate": (agents.RandomCandidate, COLD, SHORT, (144, 0.015625, 58, 0)),
    "ReplayArrivalQ": (
        lambda: changed(agents.ReplayArrivalQ(), size=20),
        ARRIVALS,
        {},
        (53.21, 0.8691452899, 15.81, 18.9392484),
    ),
    "ReplayHistory": (
        lambda: agents.ReplayHistory(history()),
        COLD,
        SHORT,
        (130, 1, 62, 0),
    ),
    "TaskInferringAgent": (
        lambda: changed(
            agents.TaskInferringAgent(agents.QTable), window=20, surprise=0.1
        ),
        ARRIVALS,
        {"user": ["mira", "theo"]},
        (-24.445, 0.8591212462, -28.16, 8.844691123),
    ),
    "RestartingAgent": (
        lambda: agents.RestartingAgent(agents.QTable),
        ARRIVALS,
        {},
        (-16.93, 0.878325, 17.42, 4.968581832),
    ),
    "SemanticAgent": (lambda: agents.SemanticAgent(8), ROOM, SHORT, (154, 1, 66, 0)),
    "ShowAll": (agents.ShowAll, ARRIVALS, {}, (66, 1, 14, 0)),
    "BlockwiseArrivalQ": (
        agents.BlockwiseArrivalQ,
        ARRIVALS,
        {},
        (48.895, 0.8778273543, 17.42, 5.64931727),
    ),
    "SGDArrivalQ": (
        agents.SGDArrivalQ,
        ARRIVALS,
        {},
        (49.685, 0.8987956349, 14, 3.422078511),
    ),
    "SoftmaxItem": (
        lambda: agents.SoftmaxItem(np.eye(5), 2.0, 0.1),
        ITEMS,
        {},
        (-1.027835921, 0.3665387946, 0.9497260501, 0),
    ),
    "TaskAwareAgent": (
        lambda: agents.TaskAwareAgent(agents.LinearQ),
        ITEMS,
        {},
        (7.139214173, 0.6031683168, 1.471890668, 2.15818946),
    ),
    "ThompsonSampling": (
        agents.ThompsonSampling,
        COLD,
        SHORT,
        (196, 0, 100, 6.314449516),
    ),
}


def run(env, agent, seed, learn=True):
    """Run two episodes of a task named after the seed."""
    if hasattr(agent, "begin_task"):
        agent.begin_task(str(seed), learn)
    options = {"learn": learn, "explore": learn, "progress": False}
    log = rollout(env, agent, episodes=2, seed=seed, **options)
    return log.drop(columns=["response_time", "run"])


def through_json(state):
    return json.loads(json.dumps(state_to_json(state)))


def size_of(state):
    """Return the sum of the magnitudes of all numbers in a state."""
    if isinstance(state, dict):
        state = list(state.values())
    if isinstance(state, list):
        return sum(map(size_of, state))
    return 0.0 if state is None or isinstance(state, str) else abs(state)


def test_every_agent_is_in_the_table():
    known = {name for name in agents.__all__ if name not in NOT_AGENTS}
    assert {name.split()[0] for name in AGENTS} == known


@pytest.mark.parametrize("name", AGENTS)
def test_agent_has_recorded_results_and_continues_from_its_state(name):
    make, world, arguments, *recorded = AGENTS[name]
    env = gym.make(world, **arguments)
    agent = make()
    successor = make()
    successor.load(through_json(make().state()))
    first = run(env, agent, seed=0)
    assert run(env, successor, seed=0).equals(first)
    successor.load(through_json(agent.state()))
    second = run(env, agent, seed=10)
    assert run(env, successor, seed=10).equals(second)
    state = state_to_json(agent.state())
    assert state_to_json(successor.state()) == state
    tested = run(env, copy.deepcopy(agent), seed=20, learn=False)
    assert state_to_json(agent.state()) == state
    log = pd.concat([first, second])
    found = (
        log["reward"].sum(),
        log["propensity"].mean() if "propensity" in log else 0,
        tested["reward"].sum(),
        sum(np.log1p(size_of(part)) for part in state.values()),
    )
    for numbers in recorded:
        assert found == pytest.approx(numbers, rel=1e-7)


@pytest.mark.parametrize("state", [{"model": object()}, {"table": {(1, 2): 3}}])
def test_state_with_other_values_than_json_raises_type_error(state):
    with pytest.raises(TypeError, match="a state consists of numbers, .*; got "):
        state_to_json(state)
