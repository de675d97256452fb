"""Speed of reading a log with a million episodes in 100 blocks. The times are not tested."""

import numpy as np
import pandas as pd
import pytest

from pushlab.logs.files import read_log, write_log

COUNT = 1_000_000
QUICK_COUNT = 10_000
BLOCKS = 100


@pytest.fixture(scope="module")
def log(request):
    is_quick = request.config.getoption("benchmark_disable")
    count = QUICK_COUNT if is_quick else COUNT
    block = np.arange(count) // (count // BLOCKS)
    return pd.DataFrame(
        {
            "block": block,
            "block_type": np.where(block % 2, "test", "train"),
            "task": np.array(["calm", "busy", "loud"])[block % 3],
            "params": '{"noise": 0.1, "drift": 0}',
            "episode": np.arange(count),
            "reward": np.random.default_rng(0).normal(size=count),
        }
    )


@pytest.mark.parametrize("name", ["life.csv", "an L2Logger folder"])
def test_reading(benchmark, log, name, tmp_path):
    path = write_log(log, tmp_path / name)
    back = benchmark.pedantic(read_log, (path,), rounds=3)
    if benchmark.enabled:
        rate = len(back) / benchmark.stats.stats.min
        benchmark.extra_info["rows_per_second"] = round(rate)
