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


def test_whole_challenge(benchmark, tmp_path):
    """A cold-start episode of some 9,000 contexts of a user made for it, every step taken, with all metrics."""
    from pushlab import synthesis
    from pushlab.challenges import Challenge, own_draws
    from pushlab.datasets import load_user

    synthesis.write_user(synthesis.make_user(5, "long", open_rate=0.4, per_quarter=9000), tmp_path / "long")
    synthesis.write_catalogue(tmp_path / "long")
    user = load_user(tmp_path / "long")
    challenge, env = Challenge.load(user), gym.make("pushlab/evalumap2-v0", user=user)
    codes = user.history.notification_codes[np.arange(len(user.test)) % len(user.history)]
    draws = own_draws(1, len(codes), challenge.world.uniforms)[:, 0]

    def run():
        env.reset(seed=1)
        told = [env.step(action)[4] for action in codes]
        outcome = {key: np.array([one[key] for one in told]) for key in ("opened", "actual", "probability", "best")}
        return challenge.score(codes, outcome, draws, challenge=2, agent="replay", seeds=(1,))

    card = benchmark.pedantic(run, rounds=5, warmup_rounds=1)
    assert card.count == len(user.test)
    benchmark.extra_info["contexts"] = len(user.test)
