"""The stored off-policy estimates equal those of obp 0.5.7 and scope-rl 0.2.1.

They are in tests/offpolicy_log.json, the reference of tests/test_offpolicy.py.
"""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("obp")
pytest.importorskip("scope_rl")

from obp import ope
from scope_rl.ope import discrete

FILE = Path(__file__).parents[1] / "offpolicy_log.json"
STORED = json.loads(FILE.read_text(encoding="utf-8"))
STEPS = {key: np.array(values) for key, values in STORED["one"].items()}
EPISODES = {key: np.array(values) for key, values in STORED["long"].items()}


def logged_probabilities(log):
    """Return the behaviour policy's probabilities of the logged actions."""
    actions = log["action"]
    return log["behaviour"][np.arange(len(actions)), actions]


BANDIT_INPUTS = {
    "reward": STEPS["reward"],
    "action": STEPS["action"],
    "pscore": logged_probabilities(STEPS),
    "action_dist": STEPS["target"][:, :, None],
    "estimated_rewards_by_reg_model": STEPS["model"][:, :, None],
    "position": np.zeros(len(STEPS["action"]), int),
}
EPISODE_INPUTS = {
    "step_per_trajectory": STORED["steps"],
    "action": EPISODES["action"],
    "reward": EPISODES["reward"],
    "gamma": STORED["discount"],
    "pscore": logged_probabilities(EPISODES),
    "evaluation_policy_action_dist": EPISODES["target"],
    "state_action_value_prediction": EPISODES["model"],
}
EPISODE_ESTIMATORS = {
    "weighted doubly robust": discrete.SelfNormalizedDR,
    "per-decision": discrete.PerDecisionImportanceSampling,
    "doubly robust": discrete.DoublyRobust,
}


def library_estimate(name, setting):
    if name in EPISODE_ESTIMATORS:
        estimator = EPISODE_ESTIMATORS[name]()
        return estimator.estimate_policy_value(**EPISODE_INPUTS)
    kind = ope.DoublyRobustWithShrinkage
    if name.startswith("SWITCH"):
        kind = ope.SwitchDoublyRobust
    return kind(lambda_=setting).estimate_policy_value(**BANDIT_INPUTS)


@pytest.mark.parametrize(("name", "setting", "value"), STORED["published"])
def test_the_stored_values_are_those_of_the_libraries(name, setting, value):
    assert library_estimate(name, setting) == pytest.approx(value, abs=1e-9)
