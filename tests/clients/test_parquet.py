"""Logs as Parquet files."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pyarrow")

from pushlab import RandomAgent, rollout
from pushlab.envs import TABLE
from pushlab.logs.columns import read_parquet, write_parquet


@pytest.mark.parametrize("id", [name for name, *_ in TABLE])
def test_log_is_unchanged_by_parquet(id, tmp_path):
    log = rollout(id, RandomAgent(), episodes=3, steps=3, progress=False)
    log["mixed"] = [None, "a", np.nan, [1, 2.5], "", {"deep": [None]}, "x\ny", 7, True]
    log.attrs = {"measure": "reward"}
    back = read_parquet(write_parquet(log, tmp_path / "log.parquet"))
    pd.testing.assert_frame_equal(back, log)
    assert back.attrs == log.attrs
