"""The store of single-task experts."""

import pandas as pd
import pytest

from pushlab.lifetimes.experts import Experts


def run(task="a", values=(0.0, 1.0, 2.0, 2.0)):
    constant = {"block": 0, "block_type": "train", "task": task, "params": "{}"}
    numbers = {"episode": range(len(values)), "reward": list(values)}
    return pd.DataFrame({**constant, **numbers})


def test_runs_are_added_replaced_listed_and_cleared(tmp_path):
    store = Experts(tmp_path)
    store.add("a", run())
    store.add("a", run(values=[4.0] * 4))
    store.add("b/..", run("b/.."))
    assert store.tasks == ["a", "b/.."]
    assert [log["reward"].max() for log in store.logs("a")] == [2.0, 4.0]
    assert store.list().iloc[0].tolist() == ["a", 2, 8, 3.0]  # the mean of 2 and 4
    store.add("a", run(values=[7.0] * 3), replace=True)
    assert len(store.logs("a")) == 1 and store.saturation("a") == 7.0
    store.clear("a")
    assert store.tasks == ["b/.."] and store.saturation("a") is None
    with pytest.raises(
        ValueError, match="expert of a must learn this task only; the log has"
    ):
        store.add("a", run("b"))
    (tmp_path / "a.pkl").touch()
    with pytest.raises(ValueError, match="a pickle is never read"):
        store.logs("a")


def test_values_alone_are_read_as_the_original_document_has_them(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="L2DATA"):
        Experts()
    monkeypatch.setenv("L2DATA", str(tmp_path))
    (tmp_path / "taskinfo").mkdir()
    (tmp_path / "taskinfo" / "info.json").write_text('{"task_name_1": 0.8746}')
    assert Experts().saturation("task_name_1") == 0.8746
