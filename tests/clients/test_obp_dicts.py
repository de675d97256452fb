"""obp's and scope-rl's own evaluation run on the dicts made of logs, and find the numbers of `off_policy`."""

import numpy as np
import pytest

pytest.importorskip("obp")
pytest.importorskip("scope_rl")

from obp import ope as obp_ope
from scope_rl.ope import OffPolicyEvaluation
from scope_rl.ope.discrete import (
    PerDecisionImportanceSampling,
    SelfNormalizedTIS,
    TrajectoryWiseImportanceSampling,
)

from pushlab.agents import SoftmaxItem
from pushlab.clients import to_bandit_feedback, to_scope_rl
from pushlab.logs.collect import collect
from pushlab.metrics.offpolicy import off_policy

TARGET = SoftmaxItem(np.eye(5)[::-1], 1.0, 0.2)


def logged(steps):
    return collect("pushlab/RECEnv-v0", SoftmaxItem(np.eye(5), 2.0, 0.2), 400, seed=3, step_per_episode=steps)


def ours(log):
    return off_policy(log, TARGET).set_index("estimator")["value"]


def test_obp_evaluates_bandit_feedback():
    log = logged(1)
    told = to_bandit_feedback(log, 5)
    likely = TARGET.probabilities(told["context"])[:, :, None]
    found = obp_ope.OffPolicyEvaluation(told, [
        obp_ope.InverseProbabilityWeighting(), obp_ope.SelfNormalizedInverseProbabilityWeighting(),
        obp_ope.DoublyRobust(estimator_name="dr")]).estimate_policy_values(
            action_dist=likely, estimated_rewards_by_reg_model=np.zeros_like(likely))
    table = ours(log)
    assert found["ipw"] == pytest.approx(table["importance sampling"], rel=1e-12)
    assert found["dr"] == pytest.approx(table["importance sampling"], rel=1e-12)        # its model says 0 everywhere
    assert found["snipw"] == pytest.approx(table["self-normalised"], rel=1e-12)


def test_scope_rl_evaluates_trajectories():
    log = logged(3)
    told = to_scope_rl(log, 5)
    likely = TARGET.probabilities(told["state"])
    given = dict.fromkeys(["evaluation_policy_action", "state_action_value_prediction", "on_policy_policy_value",
                           "initial_state_value_prediction"]) | {
        "evaluation_policy_action_dist": likely, "gamma": 1.0, "behavior_policy": told["behavior_policy"],
        "evaluation_policy": "target", "dataset_id": told["dataset_id"]}
    found = OffPolicyEvaluation(logged_dataset=told, disable_reward_after_done=False, ope_estimators=[
        TrajectoryWiseImportanceSampling(), PerDecisionImportanceSampling(), SelfNormalizedTIS()]
        ).estimate_policy_value({"target": given})["target"]
    table = ours(log)
    for theirs, name in (("tis", "importance sampling"), ("pdis", "per-decision"), ("sntis", "self-normalised")):
        assert found[theirs] == pytest.approx(table[name], rel=1e-9)        # they add 1e-10 to what they divide by
