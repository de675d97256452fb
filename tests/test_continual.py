"""Learners that rehearse or hold on: what they have in common with the one that does neither, and what they keep."""

import copy

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pushlab  # noqa: F401  the ids
from pushlab.agents import Elastic, LinearArrivalQ, Replaying, SmallSteps
from pushlab.agents.arrivals import CACHE, DISMISS, SHOW
from pushlab.logs.rollout import rollout


@pytest.fixture(scope="module")
def env():
    return gym.make("pushlab/push-v0", user="mira", days="train")


def begun(env, agent, seed=0):
    agent.begin(env, seed)
    return agent


def answers(agent, count=40, seed=0):
    """Descriptions as the agent makes them, with an action and an outcome each."""
    rng = np.random.default_rng(seed)
    _, blocks, size = agent.weights.shape
    return [((rng.choice(blocks, 3, replace=False), rng.choice(size, 4, replace=False)), int(rng.integers(2)),
             float(rng.normal())) for _ in range(count)]


def taught(agent, lessons):
    for lesson in lessons:
        agent.move(*lesson)
    return agent


def test_one_step_takes_a_share_of_the_error(env):
    agent = begun(env, SmallSteps(rate=0.25))
    described = np.array([0, 3]), np.array([1, 2, 5])
    for action in (SHOW, DISMISS, CACHE):
        agent.move(described, action, 2.0)
        assert agent.values_of(described)[action] == pytest.approx(0.5)


@pytest.mark.parametrize("idle", [Replaying(times=0), Elastic(strength=0.0)])
def test_without_rehearsal_or_penalty_they_are_small_steps(env, idle):
    plain, rewards = SmallSteps(), {}
    for agent in (plain, idle):
        agent.begin_task("mira", True)
        first = rollout(env, agent, episodes=2, seed=3, progress=False)
        agent.begin_task("theo", True)
        rewards[agent.name] = [*first["reward"], *rollout(env, agent, episodes=2, seed=9, progress=False)["reward"]]
    assert rewards[plain.name] == rewards[idle.name]
    np.testing.assert_allclose(plain.weights, idle.weights)


def test_all_answers_are_equally_likely_to_be_remembered(env):
    agent, kept = begun(env, Replaying(size=8, times=0)), np.zeros(64)
    for seed in range(150):
        agent.begin(env, seed)
        agent.memory, agent.met = [], 0
        for number in range(64):
            agent.move((np.array([0]), np.array([0])), SHOW, float(number))
        assert len(agent.memory) == 8
        kept[[int(outcome) for *_, outcome in agent.memory]] += 1
    assert kept.sum() == 8 * 150
    assert kept.reshape(8, 8).sum(axis=1) == pytest.approx(150, abs=60)         # 5 standard deviations


def test_what_is_put_off_is_not_rehearsed(env):
    agent = begun(env, Replaying())
    agent.move((np.array([0]), np.array([0])), CACHE, 1.0)
    assert agent.memory == [] and agent.met == 0


@given(seed=st.integers(0, 10_000), strength=st.floats(0.1, 1e6))
def test_a_penalty_pulls_to_the_anchor_and_never_past_it(seed, strength):
    agent = Elastic(strength)
    agent.weights = np.zeros((3, 5, 6))
    taught(agent, answers(agent, seed=seed)).begin_task("theo", True)
    anchor, plain = agent.anchor.copy(), SmallSteps()
    plain.weights = agent.weights.copy()
    lesson = answers(agent, 1, seed + 1)
    free, held = (taught(one, lesson).weights[:CACHE] for one in (plain, agent))
    assert (np.abs(held - anchor) <= np.abs(free - anchor) + 1e-12).all()
    assert ((held - anchor) * (free - anchor) >= -1e-12).all()
    never = agent.applied[lesson[0][1]] == 0
    np.testing.assert_array_equal(held[lesson[0][1]][never], free[lesson[0][1]][never])     # held by nothing


def test_the_fisher_information_is_the_share_of_answers_in_which_a_weight_applied():
    agent = Elastic()
    agent.weights = np.zeros((3, 5, 6))
    one, other = (np.array([0]), np.array([0, 1])), (np.array([0]), np.array([1, 2]))
    taught(agent, [(one, SHOW, 1.0), (other, SHOW, 1.0), (other, SHOW, 0.0), (one, DISMISS, 1.0)])
    agent.begin_task("theo", True)
    np.testing.assert_allclose(agent.fisher[SHOW, 0, :4], [1 / 3, 1, 2 / 3, 0])
    np.testing.assert_allclose(agent.fisher[DISMISS, 0, :4], [1, 1, 0, 0])


def test_regression_weighs_what_it_has_seen_alike_in_whatever_order(env):
    """Within a block of weights, so that there neither replay nor a penalty could add to it."""
    for make, same in ((LinearArrivalQ, True), (SmallSteps, False)):
        lessons = [((np.array([2]), active), SHOW, outcome)
                   for (_, active), _, outcome in answers(begun(env, make()), 200)]
        one, other = (taught(begun(env, make()), some).weights for some in (lessons, lessons[::-1]))
        assert np.abs(one).max() > 0.01 and np.allclose(one, other) == same


@pytest.mark.parametrize("make", [SmallSteps, Replaying, Elastic, LinearArrivalQ])
def test_a_state_stands_still_while_the_agent_learns_on(env, make):
    agent = make()
    for task in ("mira", "theo"):
        agent.begin_task(task, True)
        rollout(env, agent, episodes=1, seed=3, progress=False)
    state = agent.state()
    before = copy.deepcopy(state)
    rollout(env, agent, episodes=1, seed=9, progress=False)
    np.testing.assert_equal(state, before)


@pytest.mark.parametrize("wrong", [{"size": 0}, {"times": -1}])
def test_a_memory_of_nothing_is_refused(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} is a whole number"):
        Replaying(**wrong)
