"""The stored lifetimes of the recommender: that they are what the shipped syllabi give."""

import numpy as np
import pytest

from pushlab import agents
from pushlab.lifetimes.live import run_syllabus
from pushlab.lifetimes.syllabi import read_syllabus
from pushlab.studies import lifetimes


@pytest.mark.parametrize("name", lifetimes.LIVED)
def test_a_stored_lifetime_comes_out_again(name):
    again = run_syllabus(lifetimes.LIVED[name][0], agents.LinearQ(), 1, progress=False)
    stored = lifetimes.read_study(name)["linear Q"][1]
    np.testing.assert_allclose(stored["reward"], again["reward"], atol=1e-4)
    for column in ("block", "block_type", "task", "params", "regime"):
        assert stored[column].tolist() == again[column].tolist()
    assert stored.attrs == again.attrs


def test_experts_live_in_one_town_for_as_long():
    towns = read_syllabus(lifetimes.TOWNS)
    for town in lifetimes.EXPERTS:
        [logs] = lifetimes.read_study(town).values()
        assert len(logs) == lifetimes.SEEDS
        assert all(set(log["task"]) == {town} and set(log["block_type"]) == {"train"} for log in logs)
        assert len(logs[0]) == sum(one.count for one in towns.training(town))


def test_the_command_writes_what_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(lifetimes.run_study, "__defaults__", (("south",), 1))
    lifetimes.main(tmp_path)
    [log] = lifetimes.read_study("south", tmp_path)["linear Q"]
    assert log["reward"].tolist() == lifetimes.read_study("south")["linear Q"][0]["reward"].tolist()
