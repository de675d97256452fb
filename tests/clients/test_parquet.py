"""Logs as Parquet files."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pyarrow")

from typer.testing import CliRunner

from pushlab import RandomAgent, rollout
from pushlab.__main__ import app
from pushlab.envs import TABLE
from pushlab.logs.columns import read_parquet, write_parquet
from pushlab.logs.folders import read_log


@pytest.mark.parametrize("id", [name for name, *_ in TABLE])
def test_a_log_is_the_same_after_parquet(id, tmp_path):
    log = rollout(id, RandomAgent(), episodes=3, steps=3, progress=False).assign(single=np.float32(0.1))
    log["odd"] = [None, "a", np.nan, [1, 2.5], "", {"deep": [None]}, "line\nbreak", 7, True]
    log.attrs = {"measure": "reward"}
    back = read_parquet(write_parquet(log, tmp_path / "log.parquet"))
    pd.testing.assert_frame_equal(back, log)
    assert back.attrs == log.attrs and [path.name for path in tmp_path.iterdir()] == ["log.parquet"]


def test_a_lifetime_in_parquet_is_read_and_evaluated_as_one_in_csv(tmp_path):
    life = pd.DataFrame({"block": [0] * 4 + [1] * 2 + [2] * 4, "task": list("aaaabbaaaa"), "params": "{}",
                         "block_type": ["train"] * 4 + ["test"] * 6, "episode": range(10), "reward": np.arange(10) / 3})
    write_parquet(life, tmp_path / "life.parquet")
    life.to_csv(tmp_path / "life.csv", index=False)
    pd.testing.assert_frame_equal(read_log(tmp_path / "life.parquet"), read_log(tmp_path / "life.csv"))
    told = [CliRunner().invoke(app, ["lifelong", str(tmp_path / name)]) for name in ("life.parquet", "life.csv")]
    assert told[0].exit_code == told[1].exit_code == 0 and told[0].output == told[1].output


def test_a_file_that_is_no_parquet_is_said_to_be_none(tmp_path):
    (tmp_path / "log.parquet").write_text("episode,reward\n")
    told = CliRunner().invoke(app, ["lifelong", str(tmp_path / "log.parquet")])
    assert told.exit_code == 1 and "arquet" in told.output
