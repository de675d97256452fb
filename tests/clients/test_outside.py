"""Learners of other libraries work in the benchmark."""

import pytest

pytest.importorskip("sb3_contrib")

from pushlab.experiments.bench import agents
from pushlab.experiments.bench.protocol import run_task
from pushlab.experiments.bench.tasks import QUICK, find_task


@pytest.mark.parametrize("make", [agents.dqn, agents.ppo, agents.maskable_ppo])
def test_scores_are_reproducible(make):
    task = find_task("recommender-drift", QUICK)._replace(steps=300, episodes=5)
    runs = [run_task(make, task, seed)["scores"][0] for seed in (0, 0, 1)]
    scores = [run["score"] for run in runs]
    assert scores[0] == scores[1] != scores[2]


def test_masked_actions_are_never_taken():
    task = find_task("push-default", QUICK)
    task = task._replace(
        steps=256,
        episodes=2,
        value="forbidden",
        per="step",
    )
    assert run_task(agents.maskable_ppo, task, 0)["scores"][0]["score"] == 0
