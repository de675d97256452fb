"""Speed of imports and of a challenge.

Results are in the benchmark's extra_info. The times are not tested. Runs are short with --benchmark-disable, as in
`make test`. The table of `make benchmarks` measures environments.
"""

import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from cases import made_up_user

import pushlab  # noqa: F401


@pytest.mark.parametrize("modules", ["gymnasium", "gymnasium, pushlab"])
def test_import(benchmark, modules):
    """Measure the seconds of an import in a fresh process, by the clock of that process."""
    code = f"import time; start = time.perf_counter(); import {modules}; print(time.perf_counter() - start)"

    def run():
        process = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
        )
        return float(process.stdout)

    seconds = [run() for _ in range(5 if benchmark.enabled else 1)]
    benchmark.pedantic(run, rounds=1)
    benchmark.extra_info["import_seconds"] = round(float(np.min(seconds)), 4)


def test_challenge(benchmark):
    """Measure a cold-start episode of about 9,000 contexts of a synthetic user, with all metrics."""
    from pushlab.challenges.challenge import Challenge, episode_uniforms

    user = made_up_user(9000 if benchmark.enabled else 300)
    challenge = Challenge.load(user)
    env = gym.make("pushlab/evalumap2-v0", user=user, reveal=True)
    rows = np.arange(len(user.test)) % len(user.history)
    codes = user.history.notification_codes[rows]
    draws = episode_uniforms(1, len(codes), challenge.world.uniforms)[:, 0]

    def run():
        env.reset(seed=1)
        infos = [env.step(action)[4] for action in codes]
        outcome = {}
        for key in ("opened", "actual", "probability", "best"):
            outcome[key] = np.array([info[key] for info in infos])
        return challenge.score(
            codes,
            outcome,
            draws,
            challenge=2,
            agent="replay",
            seeds=(1,),
        )

    card = benchmark.pedantic(run, rounds=5, warmup_rounds=1)
    assert card.count == len(user.test)
    benchmark.extra_info["contexts"] = len(user.test)
