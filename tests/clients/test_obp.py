"""Off-policy estimates by obp and scope-rl themselves: what is kept in tests/offpolicy_log.json, of obp 0.5.7 and
scope-rl 0.2.1, and what tests/test_offpolicy.py compares ours with.
"""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("obp")
pytest.importorskip("scope_rl")

from obp import ope
from scope_rl.ope import discrete

KEPT = json.loads(
    (Path(__file__).parents[1] / "offpolicy_log.json").read_text(encoding="utf-8")
)
ONE, LONG = (
    {key: np.array(values) for key, values in KEPT[part].items()}
    for part in ("one", "long")
)
ROWS = np.arange(len(ONE["action"]))
LOGGED = {
    "reward": ONE["reward"],
    "action": ONE["action"],
    "pscore": ONE["behaviour"][ROWS, ONE["action"]],
    "action_dist": ONE["target"][:, :, None],
    "estimated_rewards_by_reg_model": ONE["model"][:, :, None],
    "position": np.zeros(len(ROWS), int),
}
LIVED = {
    "step_per_trajectory": KEPT["steps"],
    "action": LONG["action"],
    "reward": LONG["reward"],
    "gamma": KEPT["discount"],
    "pscore": LONG["behaviour"][np.arange(len(LONG["action"])), LONG["action"]],
    "evaluation_policy_action_dist": LONG["target"],
    "state_action_value_prediction": LONG["model"],
}


def theirs(name, setting):
    """What the library says."""
    if name == "weighted doubly robust":
        return discrete.SelfNormalizedDR().estimate_policy_value(**LIVED)
    if name == "per-decision":
        return discrete.PerDecisionImportanceSampling().estimate_policy_value(**LIVED)
    if name == "doubly robust":
        return discrete.DoublyRobust().estimate_policy_value(**LIVED)
    kind = (
        ope.SwitchDoublyRobust
        if name.startswith("SWITCH")
        else ope.DoublyRobustWithShrinkage
    )
    return kind(lambda_=setting).estimate_policy_value(**LOGGED)


@pytest.mark.parametrize(("name", "setting", "value"), KEPT["published"])
def test_what_is_written_down_is_what_the_libraries_say(name, setting, value):
    assert theirs(name, setting) == pytest.approx(value, abs=1e-9)
