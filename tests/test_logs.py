"""Lifetimes on disk: exact logs back, and faults by file, column and row."""

import json

import numpy as np
import pandas as pd
import pytest

from pushlab.agents import RandomAgent
from pushlab.ground.faults import BadData
from pushlab.logs.folders import (
    lifetime_log,
    read_log,
    read_steps,
    rollout_log,
    write_log,
)
from pushlab.logs.places import find_logs
from pushlab.logs.rollout import by_episode, rollout

HEADER = (
    "block_num\texp_num\tworker_id\tblock_type\ttask_name\ttask_params\texp_status\t"
    "timestamp\tperformance\n"
)


def line(block, number, kind, task="a", value=1.0, params="{}"):
    cells = (block, number, "w", kind, task, params, "complete", "2021", value)
    return "\t".join(map(str, cells)) + "\n"


def l2_folder(folder, blocks):
    """Write a folder as L2Logger does: {"0-train": text of the table, ...}."""
    for name, text in blocks.items():
        (folder / "worker" / name).mkdir(parents=True)
        (folder / "worker" / name / "data-log.tsv").write_text(text)
    (folder / "scenario_info.json").write_text('{"source": "us"}')
    (folder / "logger_info.json").write_text('{"metrics_columns": ["performance"]}')
    return folder


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
            "length": 7,
            "info.flag": [True, False] * 3,
            "info.word": [None, "", "x", None, "None", "NaN"],
            "last": [None, [1, "a"], None, [0.5], [], None],
        }
    )


def test_l2logger_folders_are_read_in_the_order_of_their_blocks(tmp_path):
    late = line(10, 4, "train", "NA", 5.5, '"{""x"": 1}"')
    early = line(9, 2, "test", "007") + line(9, 3, "test", value="")
    folder = l2_folder(tmp_path, {"10-train": HEADER + late, "9-test": HEADER + early})
    log = read_log(folder)
    assert log["block"].tolist() == [9, 9, 10] and log["episode"].tolist() == [2, 3, 4]
    assert log["regime"].tolist() == [0, 1, 2]
    assert log["performance"].fillna(-1).tolist() == [1, -1, 5.5]
    assert log["task"].tolist() == ["007", "a", "NA"]
    assert log["params"].tolist()[2] == '{"x": 1}'
    assert log["phase"].tolist() == ["0.test", "0.test", "1.train"]
    assert log.attrs == {"measure": "performance", "scenario": {"source": "us"}}
    assert read_log(folder, blocks=10)["block"].tolist() == [9, 9]
    other = folder / "other" / "10-train"
    other.mkdir(parents=True)
    (other / "data-log.tsv").write_text(HEADER + line(10, 5, "train"))
    assert read_log(folder)["worker"].tolist() == ["w"] * 4
    assert read_log(folder)["episode"].tolist() == [2, 3, 4, 5]


def test_episode_logs_come_back_from_disk_exactly(tmp_path):
    log = episodes()
    lifetime = lifetime_log(log)
    assert lifetime["regime"].tolist() == [0, 1, 2, 3, 4, 4]
    pd.testing.assert_frame_equal(rollout_log(lifetime), log, check_exact=True)
    write_log(log[log["block"] < 2], tmp_path / "one", scenario={"kind": "ours"})
    tables = {
        path: path.stat().st_mtime_ns for path in tmp_path.rglob("*/data-log.tsv")
    }
    write_log(log[log["block"] == 2], tmp_path / "one")
    assert {path: path.stat().st_mtime_ns for path in tables} == tables
    back = read_log(tmp_path / "one")
    assert back.attrs["scenario"] == {"kind": "ours"}
    pd.testing.assert_frame_equal(back, lifetime, check_exact=True)
    table = tmp_path / "one" / "0" / "0-train" / "data-log.tsv"
    assert table.read_text().startswith(
        "block_num\texp_num\tworker_id\tblock_type\tblock_subtype\ttask_name\t"
        "task_params\texp_status\ttimestamp\trun\tphase\t"
    )
    logger = json.loads((tmp_path / "one" / "logger_info.json").read_text())
    assert logger["metrics_columns"] == ["reward"]
    write_log(log, tmp_path / "two" / "deeper")
    found = [path.relative_to(tmp_path).as_posix() for path in find_logs(tmp_path)]
    assert found == ["one", "two/deeper"]
    with pytest.raises(FileNotFoundError, match="episodes and no steps"):
        read_steps(tmp_path / "one")


def test_step_logs_come_back_step_by_step(tmp_path):
    options = {"episodes": 2, "progress": False}
    world = "pushlab/RECEnv-v0"
    first = rollout(world, RandomAgent(), seed=7, **options)
    test = {"seed": 9, "block": 1, "block_type": "test"}
    second = rollout(world, RandomAgent(), **test, **options)
    steps = pd.concat([first, second], ignore_index=True)
    folder = write_log(steps, tmp_path / "folder")
    pd.testing.assert_frame_equal(read_steps(folder), steps, check_exact=True)
    back = rollout_log(read_log(folder))
    pd.testing.assert_frame_equal(back, by_episode(steps), check_exact=True)
    first.to_csv(tmp_path / "steps.csv", index=False)
    returns = by_episode(first)["return"].tolist()
    assert read_log(tmp_path / "steps.csv")["reward"].tolist() == returns


def test_single_tables_are_lifetimes(tmp_path):
    path = tmp_path / "lifetime.csv"
    path.write_text(
        "task,block_type,params,reward,loss\n"
        'a,train,"{""x"": 1}",1,inf\n'
        'a,train,"{""x"": 2}",2,0\na,test,{},3,0\n'
    )
    log = read_log(path)
    assert log["block"].tolist() == [0, 0, 1] and log["regime"].tolist() == [0, 1, 2]
    assert log["episode"].tolist() == [0, 1, 2] and log["params"][0] == '{"x": 1}'
    with pytest.raises(
        BadData, match="column loss, row 2: 'inf' is not a finite number"
    ):
        read_log(path, "loss")
    assert read_log(path, "loss", strict=False)["reward"].tolist() == [2, 3]


def test_faults_are_named_all_at_once_and_sound_rows_can_be_read(tmp_path):
    much = line(0, 1, "train", value="much")
    blocks = {
        "0-train": HEADER + line(0, 0, "train") + much + line(0, 5, "train"),
        "1-test": HEADER + line(1, 2, "test") + line(7, 3, "test"),
        "3-train": HEADER + line(3, 6, "train") + "3\t7\tw\ttra",
    }
    folder = l2_folder(tmp_path, blocks)
    with pytest.raises(BadData) as error:
        read_log(folder)
    for words in (
        "0-train/data-log.tsv, column performance, row 3: 'much' is not a number",
        "1-test/data-log.tsv, column block_num, row 3: '7' is not 1, as its folder",
        "1-test/data-log.tsv, column exp_num, row 2: '2' is not 5 or more",
        "3-train/data-log.tsv, row 3: '3\\t7\\tw\\ttra' is not a whole line",
        "block 2 is missing between 0 and 3",
    ):
        assert words in str(error.value)
    log = read_log(folder, strict=False)
    assert log.attrs["faults"] == error.value.faults
    assert log["episode"].tolist() == [0, 5, 2, 6]


def test_logs_that_are_no_lifetimes_are_refused_before_anything_is_written(tmp_path):
    log = episodes()
    for wrong, words in (
        (log.assign(block_type="nap"), "block_type"),
        (log[::-1], "blocks are out of order"),
    ):
        with pytest.raises(BadData, match=words):
            write_log(wrong, tmp_path / "new")
    assert not (tmp_path / "new").exists()
