"""Logs on disk: equal logs back from a CSV, L2Logger folders, and issues by file, column and row."""

import numpy as np
import pandas as pd
import pytest

from pushlab.agents import RandomAgent
from pushlab.logs.files import (
    find_logs,
    lifetime_log,
    read_log,
    write_log,
)
from pushlab.logs.rollout import aggregate_episodes, rollout
from pushlab.utils.issues import BadData

HEADER = "block_num exp_num worker_id block_type task_name task_params reward\n"


def episodes():
    """Three blocks, with words and numbers that a table can garble."""
    return pd.DataFrame(
        {
            "run": ["NA", "007", "", "a\tb", 'say "x"', "ä\n"],
            "phase": ["1.train", "1.train", "1.test", "1.test", "2.train", "2.train"],
            "block": [0, 0, 1, 1, 2, 2],
            "block_type": ["train", "train", "test", "test", "train", "train"],
            "task": ["a", "b", "b", "b", "nan", "nan"],
            "params": ["{}", "{}", "{}", '{"x": 1}', "{}", "{}"],
            "episode": range(6),
            "return": [0.1 + 0.2, -0.0, np.nan, 1e-320, 2.0**60, -1 / 3],
            "large": [2**63 - 1, -(2**63), 0, 1, 2, 3],
            "flag": [True, False] * 3,
            "word": [None, "", "x", None, "None", "NaN"],
            "last": [None, [1, "a"], None, [0.5], [], None],
        }
    )


@pytest.fixture(scope="module")
def steps():
    return rollout("pushlab/RECEnv-v0", RandomAgent(), 2, seed=7, progress=False)


def l2_folder(folder, blocks):
    """Write a folder as L2Logger does: {"worker/0-train": rows, ...}."""
    for name, rows in blocks.items():
        (folder / name).mkdir(parents=True)
        text = (HEADER + rows).replace(" ", "\t")
        (folder / name / "data-log.tsv").write_text(text)
    (folder / "scenario_info.json").write_text('{"syllabus_type": "ant-a"}')
    return folder


def test_logs_come_back_from_csv_exactly(tmp_path, steps):
    path = tmp_path / "deep" / "run.csv"
    for log in (episodes(), lifetime_log(episodes()), steps, steps[:0]):
        log.attrs = {"measure": "reward", "scenario": {"a": [None]}}
        back = read_log(write_log(log, path))
        pd.testing.assert_frame_equal(back, log, check_exact=True)
        assert back.attrs == log.attrs
    assert find_logs(tmp_path) == [path]
    lifetime = lifetime_log(episodes()).drop(columns="regime")
    back = lifetime.rename(columns={"reward": "return"})
    pd.testing.assert_frame_equal(back, episodes())


@pytest.mark.parametrize(
    ("old", "new", "issue"),
    [
        (",0,0.3", ",x,0.3", "column episode, row 2: 'x' is not a whole number"),
        ("-0.0", "low", "column return, row 3: 'low' is not a number"),
        ("run,", "", "rows 2, 3, 4, 5, 6, 7: the header has 11 fields and the row 12"),
    ],
)
def test_damaged_csv_is_refused(tmp_path, old, new, issue):
    path = write_log(episodes().assign(run="r"), tmp_path / "run.csv")
    text = path.read_text()
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(BadData) as error:
        read_log(path)
    assert f"run.csv, {issue}" in str(error.value)
    path.write_text(text[:-2])
    with pytest.raises(
        BadData, match="run.csv: a line break is missing at the end; the last row"
    ):
        read_log(path)


def test_l2logger_folders_are_read_in_the_order_of_their_blocks(tmp_path):
    blocks = {
        "w/10-train": '10 4 w train NA "{""x"":1}" 5.5\n10 6 w train a {} 1\n',
        "v/10-train": "10 5 v train a {} nan\n",
        "w/9-test": "9 2 w test 007 {} 1\n",
    }
    log = read_log(l2_folder(tmp_path, blocks))
    assert log["episode"].tolist() == [2, 4, 5, 6]
    assert log["regime"].tolist() == [0, 1, 2, 2]
    assert log["reward"].fillna(-1).tolist() == [1, 5.5, -1, 1]
    assert log["task"].tolist() == ["007", "NA", "a", "a"]
    assert log["params"][1] == '{"x":1}'
    assert log.attrs["measure"] == "reward" and log.attrs["syllabus_type"] == "ANT_A"


def test_lifetimes_are_exported_as_l2logger_folders(tmp_path):
    log = episodes().drop(columns=["last", "word"])
    log.attrs["scenario"] = {"kind": "ours"}
    folder = write_log(log, tmp_path / "life")
    assert find_logs(tmp_path) == [folder]
    back = read_log(folder)
    assert back.attrs == {"measure": "reward", "scenario": {"kind": "ours"}}
    lifetime = lifetime_log(log)
    pd.testing.assert_frame_equal(back[list(lifetime)], lifetime, check_exact=True)
    with pytest.raises(FileExistsError):
        write_log(log, folder)
    for change, words in (
        ({"block": [0, 0, 2, 2, 1, 1]}, "blocks are out of order"),
        ({"worker": "../w"}, "the name of a folder"),
    ):
        with pytest.raises(BadData, match=words):
            write_log(log.assign(**change), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_single_tables_are_lifetimes(tmp_path, steps):
    path = tmp_path / "lifetime.csv"
    path.write_text("task,block_type,reward,loss\na,train,1,inf\na,test,2,0\n")
    log = read_log(path)
    assert log["block"].tolist() == [0, 1] and log["episode"].tolist() == [0, 1]
    with pytest.raises(BadData, match="loss, row 2: 'inf' is not a finite number"):
        read_log(path, "loss")
    steps.to_csv(path, index=False)
    assert (
        read_log(path)["reward"].tolist()
        == aggregate_episodes(steps)["return"].tolist()
    )


def test_issues_of_a_folder_are_named_all_at_once(tmp_path):
    blocks = {
        "w/0-train": "0 0 w train a {} 1\n0 1 w train a [] much\n",
        "w/1-test": "7 2 w test a {} 1\n",
    }
    with pytest.raises(BadData) as error:
        read_log(l2_folder(tmp_path, blocks))
    for words in (
        "w/0-train/data-log.tsv, column reward, row 3: 'much' is not a number",
        "w/1-test/data-log.tsv, column block_num, row 2: '7' is not 1, as in the folder",
        "w/0-train/data-log.tsv, column task_params, row 3: '[]' is not a JSON object",
    ):
        assert words in str(error.value)
    (tmp_path / "w" / "1-test").rename(tmp_path / "w" / "3-test")
    with pytest.raises(BadData, match="block 1 is missing between 0 and 3"):
        read_log(tmp_path)
