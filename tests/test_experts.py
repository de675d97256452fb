"""The store of single-task experts: plain files, tasks by their whole names."""

import json

import pandas as pd
import pytest

from pushlab.ground.faults import BadData
from pushlab.lifetimes.experts import Experts


def run(task="a", values=(0.0, 1.0, 2.0, 2.0)):
    return pd.DataFrame({"block": 0, "block_type": "train", "task": task, "params": "{}",
                         "episode": range(len(values)), "reward": list(values)})


def test_runs_are_added_listed_and_cleared(tmp_path):
    store = Experts(tmp_path)
    assert store.tasks == [] and store.list().empty and store.logs("a") == []
    store.add("a", run())
    store.add("a", run(values=[4.0] * 4))
    store.add("b/..", run("b/.."))
    assert store.tasks == ["a", "b/.."]
    assert [log["reward"].max() for log in store.logs("a")] == [2.0, 4.0]
    assert store.list().set_index("task").loc["a", ["runs", "experiences"]].tolist() == [2, 8]
    assert store.saturation("a") == 3.0                         # the mean of 2 and 4
    store.clear("a")
    assert store.tasks == ["b/.."] and store.saturation("a") is None
    store.clear()
    assert store.tasks == [] and json.loads((tmp_path / "info.json").read_text()) == {}


def test_writing_puts_one_run_in_the_place_of_all(tmp_path):
    store = Experts(tmp_path)
    for _ in range(3):
        store.add("a", run())
    store.write("a", run(values=[7.0] * 3))
    assert len(store.logs("a")) == 1 and store.saturation("a") == 7.0


def test_task1_is_not_task10(tmp_path):
    store = Experts(tmp_path)
    store.add("task10", run("task10"))
    assert store.logs("task1") == [] and store.saturation("task1") is None
    with pytest.raises(KeyError, match="no expert of 'task1'"):
        store.clear("task1")


def test_values_alone_are_as_the_original_document_has_them(tmp_path, monkeypatch):
    monkeypatch.setenv("L2DATA", str(tmp_path))
    (tmp_path / "taskinfo").mkdir()
    (tmp_path / "taskinfo" / "info.json").write_text('{"task_name_1": 0.8746}')
    store = Experts()
    assert store.saturation("task_name_1") == 0.8746 and store.logs("task_name_1") == []
    store.set_saturation("other", 0.5)
    assert store.tasks == ["other", "task_name_1"]


@pytest.mark.parametrize("text, message", [("{", "not JSON"), ("[1]", "should be an object"),
                                           ('{"a": "high", "b": true}', "'high' is not a finite number")])
def test_a_faulty_info_file_is_said_and_kept(tmp_path, text, message):
    (tmp_path / "info.json").write_text(text)
    with pytest.raises(BadData, match=message):
        Experts(tmp_path).add("a", run())
    assert (tmp_path / "info.json").read_text() == text and len(list(tmp_path.iterdir())) == 1


def test_a_run_of_another_task_or_of_tests_alone_is_no_expert(tmp_path):
    with pytest.raises(BadData, match="'b' is not a, the only task"):
        Experts(tmp_path).add("a", run("b"))
    with pytest.raises(BadData, match="at least one experience of training"):
        Experts(tmp_path).add("a", run().assign(block_type="test"))
    assert not any(tmp_path.iterdir())


def test_pickles_are_never_read(tmp_path):
    (tmp_path / "a.pkl").write_bytes(b"cos\nsystem\n(S'echo'\ntR.")
    with pytest.raises(BadData, match="a pickle, and reading one runs whatever is in it"):
        Experts(tmp_path).logs("a")


def test_there_has_to_be_a_folder(monkeypatch):
    monkeypatch.delenv("L2DATA", raising=False)
    with pytest.raises(ValueError, match="L2DATA"):
        Experts()
