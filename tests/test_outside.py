"""Learners of other libraries in the benchmark. Those tests that train one are skipped without the extra rl."""

import sys

import pytest

from pushlab.studies.bench import outside
from pushlab.studies.bench.command import read_reference
from pushlab.studies.bench.protocol import run_cell
from pushlab.studies.bench.tasks import QUICK, VERSIONS, find_task

ENTRANTS = (outside.dqn, outside.ppo, outside.maskable_ppo, outside.recurrent_ppo)


@pytest.mark.parametrize("make", ENTRANTS)
def test_a_missing_library_is_named_with_how_to_get_it(make, monkeypatch):
    for library in ("stable_baselines3", "sb3_contrib"):
        monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=rf"{make.__name__} needs .* pip install 'pushlab\[rl\]'"):
        make()


@pytest.mark.parametrize("make", ENTRANTS)
def test_a_seed_repeats_what_an_outside_learner_scores(make):
    pytest.importorskip("sb3_contrib")
    task = find_task("recommender-drift", QUICK)._replace(steps=300, episodes=5)
    (first, again, other), steps = zip(*[run_cell(make, task, seed)["scores"][0].values() for seed in (0, 0, 1)])
    assert first == again != other and max(steps) <= 300


def test_who_asks_for_masks_scores_otherwise_where_there_are_masks_and_nowhere_else():
    for version in VERSIONS:
        rows = read_reference(version).pivot(index=["task", "seed"], columns="agent", values="score")
        other = rows[["ppo", "maskable-ppo"]].dropna().query("ppo != `maskable-ppo`")
        assert set(other.index.get_level_values("task")) == {"push-default", "push-2019", "push-quiet"}


def test_masked_actions_are_never_taken_by_who_asks_for_masks():
    pytest.importorskip("sb3_contrib")
    task = find_task("push-default", QUICK)._replace(steps=256, episodes=2, value="forbidden", per="step")
    assert run_cell(outside.maskable_ppo, task, 0)["scores"][0]["score"] == 0
