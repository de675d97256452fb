"""Lifetimes on disk: what is written comes back, and what is at fault is said."""

import json
import time
from multiprocessing import get_context

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pushlab.agents import RandomAgent
from pushlab.ground.faults import BadData
from pushlab.logs.folders import lifetime_log, read_log, read_steps, rollout_log, with_regimes, write_log
from pushlab.logs.places import find_logs
from pushlab.logs.rollout import by_episode, rollout

TSV = "block_num\texp_num\tworker_id\tblock_type\ttask_name\ttask_params\texp_status\ttimestamp\tperformance\n"


def line(block, number, kind, task="a", value=1.0, params="{}"):
    return f"{block}\t{number}\tw\t{kind}\t{task}\t{params}\tcomplete\t20210415T145944.0\t{value}\n"


def l2_folder(folder, blocks, measures=("performance",)):
    """A folder as L2Logger writes it: {"0-train": text of the table, ...}."""
    for name, text in blocks.items():
        (folder / "some worker" / name).mkdir(parents=True)
        (folder / "some worker" / name / "data-log.tsv").write_text(text, encoding="utf-8")
    (folder / "scenario_info.json").write_text('{"source": "us"}', encoding="utf-8")
    (folder / "logger_info.json").write_text(json.dumps({"metrics_columns": list(measures)}), encoding="utf-8")
    return folder


def episodes(blocks=3, each=4):
    count = blocks * each
    return pd.DataFrame({"agent": "me", "block": np.repeat(np.arange(blocks), each),
                         "block_type": np.repeat(np.where(np.arange(blocks) % 2, "test", "train"), each),
                         "task": "a", "params": "{}", "episode": np.arange(count),
                         "return": np.linspace(-1, 1, count) / 3, "length": 7})


# ---------------------------------------------------------------- reading what others wrote

def test_an_l2logger_folder_is_read_in_the_order_lived(tmp_path):
    folder = l2_folder(tmp_path, {"10-train": TSV + line(10, 4, "train", "b", 5.5),
                                  "9-test": TSV + line(9, 2, "test") + line(9, 3, "test", value=2)})
    log = read_log(folder)
    assert log["block"].tolist() == [9, 9, 10] and log["regime"].tolist() == [0, 0, 1]
    assert log["performance"].tolist() == [1, 2, 5.5] and log["task"].tolist() == ["a", "a", "b"]
    assert log["phase"].tolist() == ["0.test", "0.test", "1.train"] and log["worker"].unique().tolist() == ["w"]
    assert log.attrs["measure"] == "performance" and log.attrs["scenario"] == {"source": "us"}


def test_task_names_and_words_such_as_nan_stay_words(tmp_path):
    folder = l2_folder(tmp_path, {"0-train": TSV + line(0, 0, "train", "NA") + line(0, 1, "train", "007")})
    assert read_log(folder)["task"].tolist() == ["NA", "007"]


def test_the_missing_measure_names_the_numeric_columns(tmp_path):
    folder = l2_folder(tmp_path, {"0-train": TSV + line(0, 0, "train")})
    with pytest.raises(BadData, match="column reward: no such numeric column.*are performance"):
        read_log(folder, measure="reward")


def test_true_and_false_are_no_measure_of_a_log(tmp_path):
    folder = l2_folder(tmp_path, {"0-train": TSV + line(0, 0, "train", value=True) + line(0, 1, "train", value=False)})
    with pytest.raises(BadData, match="column performance: no such numeric column.*there is no numeric column"):
        read_log(folder)
    for dtype in ("bool", "boolean"):
        won = (episodes()["return"] > 0).astype(dtype)
        with pytest.raises(BadData, match="column won: no such numeric column.*are reward, length"):
            write_log(episodes().assign(won=won), tmp_path / "new", "won")
    assert not (tmp_path / "new").exists()


def test_every_fault_is_said_at_once(tmp_path):
    folder = l2_folder(tmp_path, {
        "0-train": TSV + line(0, 0, "train") + line(0, 1, "train", value="much"),
        "1-test": TSV + line(1, 2, "test") + line(7, 3, "test"),
        "2-train": TSV + line(2, 4, "train") + "2\t5\tw\ttra"})
    with pytest.raises(BadData) as caught:
        read_log(folder)
    told = str(caught.value)
    assert "0-train/data-log.tsv, column performance, row 3: 'much' is not a number" in told
    assert "1-test/data-log.tsv, column block_num, row 3: '7' is not 1, as its folder says" in told
    assert "2-train/data-log.tsv, row 3" in told and "torn off" in told


def test_what_is_sound_is_read_all_the_same_if_asked(tmp_path):
    folder = l2_folder(tmp_path, {
        "0-train": TSV + line(0, 0, "train") + line(0, 1, "train", value="much") + line(0, 2, "train", value=3),
        "1-test": TSV + line(1, 3, "test") + line(1, 4, "test")[:-3],
        "3-train": TSV + line(3, 5, "train")[:30] + line(3, 6, "train") + line(3, 7, "train"),
        "4-test": ""})
    log = read_log(folder, strict=False)
    assert log["episode"].tolist() == [0, 2, 3, 7] and log["performance"].tolist() == [1, 3, 1, 1]
    assert [fault.file for fault in log.attrs["faults"]] == [
        tmp_path.name, *(f"some worker/{name}/data-log.tsv" for name in ("0-train", "1-test", "3-train", "4-test")),
        "scenario_info.json"]                                   # CL, ANT_A or ANT_B? Without 4-test nobody can tell
    with pytest.raises(BadData) as caught:
        read_log(folder)
    assert caught.value.faults == log.attrs["faults"]


def own_folder(tmp_path, replaced=(), described=()):
    """A folder of ours with a block whose table, and what stands beside it, were changed."""
    write_log(episodes(), tmp_path)
    where = next(tmp_path.glob("*/*-train"))
    for name, pairs in (("data-log.tsv", replaced), ("columns.json", described)):
        text = (where / name).read_text()
        for old, new in pairs:
            assert old in text
            text = text.replace(old, new, 1)
        (where / name).write_text(text)
    return where


def test_words_in_our_own_tables_that_their_columns_cannot_hold_are_named(tmp_path):
    where = own_folder(tmp_path)
    lines = (where / "data-log.tsv").read_text().splitlines()
    at = lines[0].split("\t").index("length")
    cells = lines[2].split("\t")
    lines[2] = "\t".join([*cells[:at], "2.5", *cells[at + 1:]])
    (where / "data-log.tsv").write_text("\n".join(lines) + "\n")
    with pytest.raises(BadData, match=r"data-log.tsv, column length, row 3: '2.5' is not a number \(int64\)"):
        read_log(tmp_path)
    whole = read_log(write_log(episodes(), tmp_path / "whole"))
    left = read_log(tmp_path, strict=False)
    assert len(left) == len(whole) - 1 and left.dtypes.equals(whole.dtypes)


@pytest.mark.parametrize("described, message", [
    ([('"int64"', '"(int"')], r"columns.json, key \S+: '\(int' is not a kind of column"),
    ([('"own": [', '"own": ["luck", ')], "columns.json, key own.*luck"),
    ([('"log"', '"lo"')], "columns.json, key log: .null. is not an object"),
])
def test_a_damaged_description_of_columns_is_named(tmp_path, described, message):
    own_folder(tmp_path, described=described)
    with pytest.raises(BadData, match=message):
        read_log(tmp_path)


def test_a_quote_amid_cells_of_two_rows_is_a_fault_of_the_table(tmp_path):
    folder = l2_folder(tmp_path, {"0-train": TSV + line(0, 0, "train") + line(0, 1, "train", value='3"0')
                                  + line(0, 2, "train", value='4."'), "1-test": TSV + line(1, 3, "test")})
    with pytest.raises(BadData, match="0-train/data-log.tsv.*"):
        read_log(folder)
    assert read_log(folder, strict=False)["block"].tolist()[-1] == 1


def test_an_infinite_measure_is_named_by_file_and_row(tmp_path):
    table = tmp_path / "life.csv"
    table.write_text("task,block_type,reward,loss\na,train,inf,1\na,train,2,inf\na,test,,1\na,test,-inf,1\n")
    with pytest.raises(BadData) as caught:
        read_log(table)
    assert "life.csv, column reward, row 2: 'inf' is not a finite number, or empty" in str(caught.value)
    assert len(caught.value.faults) == 2                # a loss that nobody asks for may be infinite
    assert read_log(table, strict=False)["reward"].fillna(-1).tolist() == [2, -1]
    assert len(read_log(table, "loss", strict=False)) == 3
    table.write_text("task,block_type,reward\na,train,inf\n")
    with pytest.raises(BadData, match="a finite number"):
        read_log(table, strict=False)
    with pytest.raises(BadData, match="a finite number"):
        write_log(episodes().assign(**{"return": np.inf}), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_quote_left_open_does_not_swallow_the_rows_that_follow(tmp_path):
    params = '"{""x"": 1}"'
    rows = [line(0, number, "train", params=params) for number in range(4)]
    folder = l2_folder(tmp_path, {"0-train": TSV + rows[0] + rows[1][:22] + rows[2] + rows[3]})
    assert read_log(folder, strict=False)["episode"].tolist() == [0, 3]


@pytest.mark.parametrize("blocks, message", [
    ({"0-train": TSV + line(0, 5, "train"), "1-test": TSV + line(1, 2, "test")}, "column exp_num, row 2: '2' is not 5"),
    ({"0-train": TSV + line(0, 0, "train", params="{x}")}, "column task_params, row 2: '{x}' is not a JSON object"),
    ({"0-train": TSV + line(0, 0, "train"), "1-test": TSV.replace("performance", "score") + line(1, 1, "test")},
     "1-test/data-log.tsv, column performance, row 1: the measure is missing; numeric columns here are score"),
    ({"0-train": TSV + line(0, 0, "train"), "2-test": TSV + line(2, 1, "test")}, "block 1 is missing between 0 and 2"),
    ({"0-nap": TSV + line(0, 0, "nap")}, "'0-nap' is not a folder <block>-<train or test>"),
    ({"0-train": ""}, "this file is empty"),
    ({"0-train": TSV}, "at least one experience"),
    ({"0-train": TSV.replace("task_name", "name") + line(0, 0, "train")}, "column task_name: the column is missing"),
    ({"0-train": TSV + line(0, 5, "train") + line(0, 3, "train")}, "episodes are out of order"),
    ({"0-train": TSV + line(0, -1, "train")}, "whole number from 0"),
    ({"0-train": TSV + line(0, 0, "train", "")}, "the name of a task"),
])
def test_faults_of_a_folder(tmp_path, blocks, message):
    with pytest.raises(BadData, match=message):
        read_log(l2_folder(tmp_path, blocks))


def test_a_single_table_is_a_lifetime_too(tmp_path):
    path = tmp_path / "lifetime.csv"
    path.write_text('task,block_type,params,reward\na,train,"{""x"": 1}",1\na,train,"{""x"": 2}",2\na,test,{},3\n')
    log = read_log(path)
    assert log["block"].tolist() == [0, 0, 1] and log["regime"].tolist() == [0, 1, 2]
    assert log["episode"].tolist() == [0, 1, 2] and log["params"][0] == '{"x": 1}'


def test_a_single_table_with_blocks_out_of_order_is_refused(tmp_path):
    path = tmp_path / "lifetime.tsv"
    path.write_text(TSV + line(1, 0, "train") + line(0, 1, "test"))
    with pytest.raises(BadData, match="blocks are out of order"):
        read_log(path)


def test_phases_out_of_order_are_refused(tmp_path):
    path = tmp_path / "lifetime.csv"
    path.write_text("task,block,block_type,phase,reward\na,0,train,2.train,1\na,1,test,2.test,1\n"
                    "a,2,train,1.train,2\na,3,test,1.test,3\n")
    with pytest.raises(BadData, match="lifetime.csv, column phase, row 4: '1.train' is not a phase after 2.test"):
        read_log(path)


def test_a_table_of_steps_becomes_a_lifetime_of_episodes(tmp_path):
    steps = rollout("pushlab/RECEnv-v0", RandomAgent(), episodes=2, seed=7, progress=False)
    steps.to_csv(tmp_path / "steps.csv", index=False)
    assert read_log(tmp_path / "steps.csv")["reward"].tolist() == by_episode(steps)["return"].tolist()


def test_a_block_whose_writing_was_interrupted_is_not_there(tmp_path, monkeypatch):
    import pushlab.logs.folders as logs

    write_log(episodes(2), tmp_path)
    whole, write = read_log(tmp_path), logs.write_text
    monkeypatch.setattr(logs, "write_text", lambda path, text: write(path, text) if path.suffix != ".tsv" else 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_log(episodes(3).query("block == 2"), tmp_path)
    pd.testing.assert_frame_equal(read_log(tmp_path), whole)


def test_two_workers_of_one_block_are_put_in_order(tmp_path):
    folder = l2_folder(tmp_path, {"0-train": TSV + line(0, 0, "train") + line(0, 2, "train")})
    other = folder / "other" / "0-train"
    other.mkdir(parents=True)
    (other / "data-log.tsv").write_text(TSV + line(0, 1, "train") + line(0, 3, "train"))
    assert read_log(folder)["episode"].tolist() == [0, 1, 2, 3]


def test_lifetimes_are_found_below_a_folder(tmp_path):
    for name in ("one", "two/deeper"):
        write_log(episodes(), tmp_path / name)
    assert [path.relative_to(tmp_path).as_posix() for path in find_logs(tmp_path)] == ["one", "two/deeper"]
    assert find_logs(tmp_path / "one") == [tmp_path / "one"]
    with pytest.raises(FileNotFoundError, match="there is no log"):
        find_logs(tmp_path / "one" / "0" / "0-train")


# ---------------------------------------------------------------- to disk and back

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
PARAMS = st.dictionaries(TEXT, st.floats(allow_nan=False, allow_infinity=False) | TEXT, max_size=2).map(json.dumps)


@st.composite
def rollout_logs(draw):
    """Episode logs of any words and numbers, blocks and tasks."""
    rows, number = [], 0
    for block in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["train", "test"]))
        for _ in range(draw(st.integers(1, 2))):
            task, params = draw(TEXT.filter(bool)), draw(PARAMS)
            for _ in range(draw(st.integers(1, 3))):
                rows.append({"run": draw(TEXT), "seed": draw(st.integers(0, 2**40)), "phase": "1.train", "block": block,
                             "block_type": kind, "task": task, "params": params, "episode": number,
                             "return": draw(st.floats(allow_infinity=False)), "length": draw(st.integers(1, 99)),
                             "info.word": draw(st.none() | TEXT), "info.flag": draw(st.booleans())})
                number += 1
    return pd.DataFrame(rows)


@given(log=rollout_logs())
def test_episode_logs_come_back_as_they_were(log, tmp_path_factory):
    lifetime = lifetime_log(log)
    pd.testing.assert_frame_equal(rollout_log(lifetime), log, check_exact=True)
    folder = write_log(log, tmp_path_factory.mktemp("log"))
    back = read_log(folder)
    pd.testing.assert_frame_equal(back, lifetime, check_exact=True)
    pd.testing.assert_frame_equal(rollout_log(back), log, check_exact=True)


def test_a_step_log_comes_back_step_by_step(tmp_path):
    first = rollout("pushlab/RECEnv-v0", RandomAgent(), episodes=2, seed=7, progress=False)
    second = rollout("pushlab/RECEnv-v0", RandomAgent(), episodes=2, seed=9, progress=False, block=1, block_type="test")
    steps = pd.concat([first, second], ignore_index=True)
    folder = write_log(steps, tmp_path)
    pd.testing.assert_frame_equal(read_steps(folder), steps, check_exact=True)
    pd.testing.assert_frame_equal(rollout_log(read_log(folder)), by_episode(steps), check_exact=True)


def test_steps_that_were_never_written_are_missed_by_name(tmp_path):
    with pytest.raises(FileNotFoundError, match="episodes and no steps"):
        read_steps(write_log(episodes(), tmp_path))


def test_blocks_are_added_and_others_stay_untouched(tmp_path):
    log = episodes()
    write_log(log[log["block"] < 2], tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("data-log.tsv")}
    write_log(log[log["block"] == 2], tmp_path)
    assert before == {path: path.stat().st_mtime_ns for path in before}
    pd.testing.assert_frame_equal(rollout_log(read_log(tmp_path)).drop(columns="phase"), log)


def test_l2logger_finds_its_columns_in_ours(tmp_path):
    write_log(episodes(), tmp_path)
    header = (tmp_path / "0" / "0-train" / "data-log.tsv").read_text().split("\n")[0].split("\t")
    assert header[:9] == ["block_num", "exp_num", "worker_id", "block_type", "block_subtype", "task_name",
                          "task_params", "exp_status", "timestamp"]
    assert json.loads((tmp_path / "logger_info.json").read_text())["metrics_columns"] == ["reward"]


def test_a_log_that_is_no_lifetime_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(BadData, match="block_type"):
        write_log(episodes().assign(block_type="nap"), tmp_path / "new")
    with pytest.raises(BadData, match="column block"):
        write_log(episodes().drop(columns="block"), tmp_path / "new")
    with pytest.raises(ValueError, match="a worker's name is a folder's"):
        write_log(lifetime_log(episodes()).assign(worker="../up"), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_regimes_change_with_block_task_and_parameters():
    log = pd.DataFrame({"block": [0, 0, 0, 1, 1], "block_type": ["train"] * 3 + ["test"] * 2,
                        "task": ["a", "a", "b", "b", "b"], "params": ["1", "2", "2", "2", "2"]})
    assert with_regimes(log)["regime"].tolist() == [0, 1, 2, 3, 3]


def write_block(folder, block, begin):
    """What one of several processes does at the time `begin`."""
    time.sleep(max(0.0, begin - time.time()))
    write_log(episodes(1).assign(block=block, episode=4 * block + np.arange(4)), folder)


def test_four_processes_write_blocks_of_one_new_log(tmp_path):
    with get_context("spawn").Pool(4) as pool:
        pool.starmap_async(time.sleep, [(0.5,)] * 4).get(600)       # all are there
        for turn in range(5):
            jobs = [(tmp_path / str(turn), block, time.time() + 0.1) for block in range(4)]
            pool.starmap_async(write_block, jobs, chunksize=1).get(600)
            assert read_log(tmp_path / str(turn))["block"].tolist() == np.repeat(range(4), 4).tolist()
