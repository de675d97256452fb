"""Logs in the form of other libraries, as far as that can be seen without them."""

import sys

import gymnasium as gym
import numpy as np
import pytest
from typer.testing import CliRunner

from pushlab import RandomAgent, clients, rollout
from pushlab.__main__ import app
from pushlab.agents import Constant, SoftmaxItem
from pushlab.envs import TABLE
from pushlab.logs.collect import collect
from pushlab.logs.columns import write_parquet
from pushlab.logs.folders import read_log
from pushlab.metrics.offpolicy import off_policy


def same(one, other):
    """Whether two observations are the same in form, types and numbers."""
    if isinstance(one, dict):
        return set(one) == set(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return np.array_equal(one, other) and np.asarray(one).dtype == np.asarray(other).dtype


@pytest.mark.parametrize("id", [name for name, *_ in TABLE])
def test_observations_come_back_out_of_the_columns_of_a_log(id):
    seen = []

    class Witness(RandomAgent):
        def act(self, observation, info, explore=True):
            seen.append(observation)
            return super().act(observation, info, explore)

    env = gym.make(id)
    columns = clients.observations_of(rollout(env, Witness(), steps=3, progress=False), env)
    again = list(gym.vector.utils.iterate(gym.vector.utils.batch_space(env.observation_space, 3), columns))
    assert len(again) == 3 and all(map(same, again, seen))


def logged(steps):
    return collect("pushlab/RECEnv-v0", SoftmaxItem(np.eye(5), 2.0, 0.2), 400, seed=3, step_per_episode=steps)


def test_a_log_of_one_step_is_bandit_feedback():
    log = logged(1)
    told = clients.to_bandit_feedback(log, actions=5)
    assert (told["n_rounds"], told["n_actions"], told["context"].shape) == (400, 5, (400, 5))
    assert set(told) >= {"action", "position", "reward", "pscore", "expected_reward"}
    weights = 0.2 / told["pscore"]              # what obp's estimators do with it, for a target that likes all the same
    table = off_policy(log, lambda seen: np.full((len(seen), 5), 0.2)).set_index("estimator")["value"]
    assert np.mean(weights * told["reward"]) == pytest.approx(table["importance sampling"], rel=1e-12)
    assert np.average(told["reward"], weights=weights) == pytest.approx(table["self-normalised"], rel=1e-12)


def test_episodes_of_one_length_are_scope_rls_trajectories():
    log = logged(3)
    told = clients.to_scope_rl(log)
    assert (told["size"], told["n_trajectories"], told["step_per_trajectory"], told["state_dim"]) == (1200, 400, 3, 5)
    assert told["done"].reshape(400, 3)[0].tolist() == [0, 0, 1] and told["action_type"] == "discrete"
    weights = (0.2 / told["pscore"]).reshape(400, 3).cumprod(axis=1)
    table = off_policy(log, lambda seen: np.full((len(seen), 5), 0.2)).set_index("estimator")["value"]
    per_decision = (weights * told["reward"].reshape(400, 3)).sum(axis=1).mean()
    assert per_decision == pytest.approx(table["per-decision"], rel=1e-12)


@pytest.mark.parametrize("make, message", [
    (lambda log: clients.to_bandit_feedback(log), "every_step=True makes a round of each step"),
    (lambda log: clients.to_bandit_feedback(log, 4, every_step=True), "column action: 0 to 4 are not all of 4 actions"),
    (lambda log: clients.to_bandit_feedback(log.drop(columns="propensity")), "no column 'propensity'"),
    (lambda log: clients.to_bandit_feedback(log.assign(action=0.5), every_step=True), "here they are floats"),
    (lambda log: clients.to_bandit_feedback(log.assign(**{"action.0": 1})), "here 2 columns int64; number those"),
    (lambda log: clients.to_bandit_feedback(log.assign(action=-1), 5, True), "-1 to -1 are not all of 5 actions"),
    (lambda log: clients.to_bandit_feedback(log.assign(propensity=log["propensity"].where(log["step"] > 0)), 5, True),
     "each is a probability above 0; .* 400 are NaN"),
    (lambda log: clients.to_bandit_feedback(log.assign(propensity=0.0), every_step=True), "here the lowest is 0.0"),
    (lambda log: write_parquet(log, "log.csv"), "ends in .parquet; got 'log.csv'"),
    (lambda log: clients.to_scope_rl(log.drop(index=[2])), "here are 2 to 3 steps"),
    (lambda log: clients.to_scope_rl(log.drop(index=[4])), r"from row 3 on they are \[0, 2\]"),
    (lambda log: clients.observations_of(log, "pushlab/ODE-HIV-v0"), r"(?s)Box\(.*takes 6 columns obs"),
])
def test_logs_that_have_no_such_form_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make(logged(3))


def test_actions_of_several_numbers_are_numbered_as_the_refusal_says():
    log = rollout("pushlab/evalumap1-v0", RandomAgent(), progress=False)
    with pytest.raises(ValueError, match=r"here 7 columns int64; number those that occur: parts = ") as refused:
        clients.to_bandit_feedback(log, every_step=True)
    first, then = str(refused.value).partition("occur: ")[2].split("; ")
    names = {"log": log}
    exec(first, names)
    told = clients.to_bandit_feedback(eval(then, names), every_step=True)
    codes = log.filter(regex=r"^action\.").to_numpy()
    for number in range(told["n_actions"]):
        assert len(np.unique(codes[told["action"] == number], axis=0)) == 1
    assert told["n_actions"] == len(np.unique(codes, axis=0))


@pytest.mark.parametrize("name", ["minari", "d3rlpy"])
def test_without_its_library_an_adapter_says_what_to_install(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    log = rollout("pushlab/RECEnv-v0", Constant(1), progress=False)
    with pytest.raises(ImportError, match=rf"to_{name} needs {name} .*pip install 'pushlab\[rl\]'"):
        clients.to_minari(log, "pushlab/RECEnv-v0", "x-v0") if name == "minari" else clients.to_d3rlpy(log)


def test_without_pyarrow_a_parquet_file_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "life.parquet").touch()
    for call in (lambda: write_parquet(logged(1), tmp_path / "log.parquet"),
                 lambda: read_log(tmp_path / "life.parquet")):
        with pytest.raises(ImportError, match=r"Parquet needs pyarrow .*pip install 'pushlab\[rl\]'"):
            call()
    assert not (tmp_path / "log.parquet").exists()
    told = CliRunner().invoke(app, ["lifelong", str(tmp_path / "life.parquet")])
    assert told.exit_code == 1 and "pip install 'pushlab[rl]'" in told.output
