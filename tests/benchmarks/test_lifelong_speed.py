"""Speed of all metrics of a long lifetime, without reading it. The times are not tested."""

import numpy as np
import pandas as pd
import pytest

from pushlab.metrics.lifelong import Settings, lifelong_report

EPISODES = 1_000_000
QUICK_EPISODES = 20_000
BLOCKS = 100
TASKS = [f"task {number}" for number in range(5)]


def long_log(episodes):
    """Return a lifetime log and experts. 50 blocks train one task each; all five are tested before each of them."""
    rng = np.random.default_rng(0)
    size = episodes // BLOCKS
    regimes = []
    for block in range(BLOCKS):
        is_test = block % 2 == 0
        tasks = TASKS if is_test else [TASKS[block // 2 % 5]]
        count = size // len(tasks)
        for task in tasks:
            rewards = rng.normal(1, 1, count) + np.linspace(0, block / 20, count)
            regime = {
                "block": block,
                "block_type": "test" if is_test else "train",
                "task": task,
                "params": "{}",
                "regime": len(regimes),
                "reward": rewards,
            }
            regimes.append(pd.DataFrame(regime))
    log = pd.concat(regimes, ignore_index=True)
    log["episode"] = np.arange(len(log))
    improvement = np.linspace(0, 3, 50_000)
    experts = {}
    for task in TASKS:
        experts[task] = [rng.normal(1, 1, 50_000) + improvement for _ in range(2)]
    return log, experts


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
    """Measure a lifelong report."""
    episodes = EPISODES if benchmark.enabled else QUICK_EPISODES
    log, experts = long_log(episodes)
    report = benchmark.pedantic(
        lambda: lifelong_report(log, experts, settings=settings),
        rounds=3,
        warmup_rounds=1,
    )
    assert len(report.lifetime) >= 20
    assert not report.missing
