"""What an agent has learned outlasts it: every agent of the workbook, through JSON, to the last bit."""

import copy
import json
from functools import cache

import gymnasium as gym
import numpy as np
import pytest

import pushlab  # noqa: F401
from pushlab import agents
from pushlab.agents.protocol import as_generator, plain_state
from pushlab.datasets.reading import load_user
from pushlab.logs.rollout import rollout
from pushlab.users.judges import fit_judge

COLD, ARRIVALS, ITEMS, ROOM, PATIENT, CREDIT = (f"pushlab/{name}" for name in (
    "evalumap2-v0", "push-v0", "RECEnv-v0", "RoomEnv-v0", "ODE-LotkaVolterra-v1", "Credit-v0"))
ROOM_SIZE = {"max_episode_steps": 60}
ROUNDS = {"actions": "box", "max_episode_steps": 3}
NOT_AGENTS = {"Agent", "FunctionAgent", "Transition", "as_agent", "policy_from_log"}


def items_of(name=ITEMS):
    return gym.make(name).unwrapped.world.items


@cache
def judge_of(user):
    return fit_judge(load_user(user).history, "plain")


# How to make each agent, where it lives, and what that is to be made with.
MAKERS = {
    "BangBang": (lambda: agents.BangBang(0, 20.0, 5.0, on=1), PATIENT, {"max_episode_steps": 20}),
    "BothAgent": (lambda: agents.BothAgent(8), ROOM, ROOM_SIZE),
    "Constant": (lambda: agents.Constant(1), PATIENT, {"max_episode_steps": 20}),
    "DismissAll": (agents.DismissAll, ARRIVALS, {}),
    "DoNotDisturb": (agents.DoNotDisturb, ARRIVALS, {}),
    "Elastic": (agents.Elastic, ARRIVALS, {}),
    "EpisodicAgent": (lambda: agents.EpisodicAgent(8), ROOM, ROOM_SIZE),
    "EpsilonGreedy": (agents.EpsilonGreedy, COLD, {"max_episode_steps": 80}),
    "FittedQIteration": (lambda: agents.FittedQIteration(5, trees=4, growths=1, sweeps=4, every=2), ITEMS, {}),
    "Foresighted": (agents.Foresighted, CREDIT, ROUNDS),
    "GaussianActions": (lambda: agents.GaussianActions(lambda seen: 0.3, 0.2), PATIENT, {"actions": "box"}),
    "GivenAgent": (lambda: agents.GivenAgent(8), ROOM, ROOM_SIZE),
    "GradientStep": (agents.GradientStep, CREDIT, ROUNDS),
    "GreedyItem": (agents.GreedyItem, ITEMS, {}),
    "LearnedAgent": (lambda: agents.LearnedAgent(8), ROOM, ROOM_SIZE),
    "LinearArrivalQ": (agents.LinearArrivalQ, ARRIVALS, {}),
    "LinearQ": (agents.LinearQ, ITEMS, {}),
    "LinUCB": (agents.LinUCB, COLD, {"max_episode_steps": 80}),
    "LinUCBItem": (agents.LinUCBItem, ITEMS, {}),
    "MostOpened": (lambda: agents.MostOpened(load_user("mira").history), COLD, {"max_episode_steps": 80}),
    "OfflineModel": (lambda: agents.OfflineModel(judge_of("mira"), diversity=0.5), COLD, {"max_episode_steps": 20}),
    "Planner": (lambda: agents.Planner(beam=5), ITEMS, {}),
    "QTable": (agents.QTable, ARRIVALS, {}),
    "RandomAgent": (agents.RandomAgent, ITEMS, {}),
    "RandomCandidate": (agents.RandomCandidate, COLD, {"max_episode_steps": 80}),
    "Replaying": (lambda: agents.Replaying(size=50), ARRIVALS, {}),
    "ReplayHistory": (lambda: agents.ReplayHistory(load_user("mira").history), COLD, {"max_episode_steps": 80}),
    "Recognising": (lambda: agents.Recognising(agents.QTable), ARRIVALS, {}),
    "Restarting": (lambda: agents.Restarting(agents.QTable), ARRIVALS, {}),
    "Retrained": (agents.Retrained, CREDIT, ROUNDS),
    "SemanticAgent": (lambda: agents.SemanticAgent(8), ROOM, ROOM_SIZE),
    "ShowAll": (agents.ShowAll, ARRIVALS, {}),
    "SmallSteps": (agents.SmallSteps, ARRIVALS, {}),
    "SoftmaxItem": (lambda: agents.SoftmaxItem(items_of(), 2.0), ITEMS, {}),
    "Told": (lambda: agents.Told(agents.LinearQ), ITEMS, {}),
    "ThompsonSampling": (agents.ThompsonSampling, COLD, {"max_episode_steps": 80}),
    "TrainedOnce": (agents.TrainedOnce, CREDIT, ROUNDS),
}


def through_json(state):
    return json.loads(json.dumps(plain_state(state)))


def live(env, agent, seed, learn=True, episodes=3):
    log = rollout(env, agent, episodes=episodes, seed=seed, learn=learn, explore=learn, progress=False)
    return log.drop(columns=["response_time", "run"])


def test_every_agent_is_in_the_table():
    known = {name for name in agents.__all__ if name not in NOT_AGENTS}
    assert known == set(MAKERS)


@pytest.mark.parametrize("name", MAKERS)
def test_an_heir_goes_on_as_the_agent_would_have(name):
    make, world, params = MAKERS[name]
    env, agent, heir = gym.make(world, **params), make(), make()
    live(env, agent, seed=0)
    kept = through_json(agent.state())
    heir.load(kept)
    assert through_json(heir.state()) == kept
    mine, its = live(env, agent, seed=10), live(env, heir, seed=10)         # learning on, exploring
    assert mine.equals(its)
    assert through_json(heir.state()) == through_json(agent.state())
    tested, its = live(env, copy.deepcopy(agent), 20, learn=False), live(env, heir, 20, learn=False)
    assert tested.equals(its)


@pytest.mark.parametrize("name", MAKERS)
def test_an_heir_of_an_agent_that_never_began_is_a_fresh_one(name):
    make, world, params = MAKERS[name]
    env, agent, heir = gym.make(world, **params), make(), make()
    heir.load(through_json(make().state()))
    assert live(env, agent, seed=3, episodes=1).equals(live(env, heir, seed=3, episodes=1))


@pytest.mark.parametrize("name", MAKERS)
def test_a_copy_that_is_tested_leaves_the_agent_as_it_was(name):
    make, world, params = MAKERS[name]
    env, agent = gym.make(world, **params), make()
    live(env, agent, seed=0)
    before = through_json(agent.state()), generators_of(agent)
    live(env, copy.deepcopy(agent), seed=50, learn=False)
    assert (through_json(agent.state()), generators_of(agent)) == before


def generators_of(agent):
    """Where each generator of an agent stands."""
    return {key: plain_state(value) for key, value in vars(agent).items() if isinstance(value, np.random.Generator)}


# ---------------------------------------------------------------- what JSON can hold

@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64])
def test_a_generator_goes_on_where_it_stood(bits):
    here = np.random.Generator(bits(7))
    here.random(5)
    here.integers(2**31, dtype=np.int32)        # leaves half a draw behind
    there = as_generator(json.loads(json.dumps(plain_state(here))))
    assert there.integers(2**31, dtype=np.int32) == here.integers(2**31, dtype=np.int32)
    assert there.random(9).tolist() == here.random(9).tolist()
    with pytest.raises(ValueError, match="'Dice' is no bit generator"):
        as_generator({"bit_generator": "Dice"})


def test_numbers_keep_every_bit():
    numbers = np.array([0.1 + 0.2, 1e-320, -0.0, np.pi, 2.0**60])
    again = json.loads(json.dumps(plain_state({"numbers": numbers, "count": np.int32(4), "sure": np.bool_(True)})))
    assert np.array(again["numbers"]).tobytes() == numbers.tobytes()
    assert again["count"] == 4 and again["sure"] is True


@pytest.mark.parametrize("state, words", [
    ({"model": object()}, r"state\['model'\] is a object; a state holds"),
    ({"table": {(1, 2): 3}}, r"state\['table'\] has the key \(1, 2\), and keys of JSON are texts"),
    ({"many": [1, {2}]}, r"state\['many'\]\[1\] is a set")])
def test_what_json_cannot_hold_is_named(state, words):
    with pytest.raises(TypeError, match=words):
        plain_state(state)
