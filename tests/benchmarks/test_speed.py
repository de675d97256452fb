"""How fast it is: `make benchmarks`. Each figure stands in the benchmark's extra_info; nothing is asserted on time.

The original gym-push 0.0.21 makes about 200 steps/s in evalumap2 on two cores of this kind.
"""

import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest

import pushlab  # noqa: F401

STEPS = 2000


def rate(benchmark, run, count):
    """Runs the benchmark and notes how many steps a second its fastest round made."""
    benchmark.pedantic(run, rounds=10, warmup_rounds=2)
    if benchmark.enabled:
        benchmark.extra_info["steps_per_second"] = round(count / benchmark.stats.stats.min)


@pytest.mark.parametrize("name", ["pushlab/evalumap1-v0", "pushlab/evalumap2-v0"])
def test_single(benchmark, name):
    """Through gym.make with its default wrappers."""
    env = gym.make(name)
    actions = [env.action_space.sample() for _ in range(STEPS)]

    def run():
        env.reset(seed=1)
        for action in actions:
            env.step(action)

    rate(benchmark, run, STEPS)


@pytest.mark.parametrize("name", ["pushlab/evalumap1-v0", "pushlab/evalumap2-v0"])
@pytest.mark.parametrize("copies", [16, 1024])
def test_batch(benchmark, name, copies):
    """The native vector version; env-steps a second over all copies."""
    envs = gym.make_vec(name, num_envs=copies)
    envs.reset(seed=1)
    actions = [envs.action_space.sample() for _ in range(8)]

    def run():
        for step in range(200):
            envs.step(actions[step % 8])

    rate(benchmark, run, 200 * copies)


@pytest.mark.parametrize("modules", ["gymnasium", "gymnasium, pushlab"])
def test_import(benchmark, modules):
    """Seconds that an import takes in a fresh process, of the interpreter's own clock."""
    code = f"import time; start = time.perf_counter(); import {modules}; print(time.perf_counter() - start)"

    def run():
        told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        return float(told.stdout)

    seconds = [run() for _ in range(5 if benchmark.enabled else 1)]
    benchmark.pedantic(run, rounds=1)
    benchmark.extra_info["import_seconds"] = round(float(np.min(seconds)), 4)
