"""How long all metrics of a long lifetime take once it is read. Nothing is asserted on time."""

import numpy as np
import pandas as pd
import pytest

from pushlab.metrics.lifelong import Settings, lifelong_report

EPISODES, FEW = 1_000_000, 20_000  # a few where nothing is measured
BLOCKS, TASKS = 100, [f"task {number}" for number in range(5)]


def long_log(episodes):
    """A lifetime log of so many episodes: 50 blocks train one task each, and before each one all five are tested."""
    rng, size = np.random.default_rng(0), episodes // BLOCKS
    parts = [
        (block, "test" if block % 2 == 0 else "train", task, size // len(tasks))
        for block in range(BLOCKS)
        for tasks in [TASKS if block % 2 == 0 else [TASKS[block // 2 % 5]]]
        for task in tasks
    ]
    log = pd.concat(
        [
            pd.DataFrame(
                {
                    "block": block,
                    "block_type": kind,
                    "task": task,
                    "params": "{}",
                    "regime": regime,
                    "reward": rng.normal(1, 1, count)
                    + np.linspace(0, block / 20, count),
                }
            )
            for regime, (block, kind, task, count) in enumerate(parts)
        ],
        ignore_index=True,
    )
    log["episode"] = np.arange(len(log))
    return log, {
        task: [rng.normal(1, 1, 50_000) + np.linspace(0, 3, 50_000) for _ in range(2)]
        for task in TASKS
    }


@pytest.mark.parametrize(
    "settings",
    [
        Settings(),
        Settings(smoothing="hanning", window=2000, clamp=True),
        Settings(reference="l2metrics-3.1"),
    ],
    ids=["usual", "long window", "release"],
)
def test_all_metrics_of_a_million_episodes(benchmark, settings):
    log, experts = long_log(EPISODES if benchmark.enabled else FEW)
    report = benchmark.pedantic(
        lambda: lifelong_report(log, experts, settings=settings),
        rounds=3,
        warmup_rounds=1,
    )
    assert len(report.lifetime) >= 20 and not report.missing
