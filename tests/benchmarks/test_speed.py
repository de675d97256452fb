"""Speed of environments with other arguments, of imports and of a challenge.

Results are in the benchmark's extra_info. The times are not tested. Runs are short with --benchmark-disable, as in
`make test`. The table of `make benchmarks` measures environments with default arguments.
"""

import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from cases import record, replay

import pushlab  # noqa: F401


def measure_rate(benchmark, run, count, rounds=10, setup=None):
    """Run the benchmark and store the steps per second of its fastest round."""
    benchmark.pedantic(run, setup=setup, rounds=rounds, warmup_rounds=2)
    if benchmark.enabled:
        rate = count / benchmark.stats.stats.min
        benchmark.extra_info["steps_per_second"] = round(rate)


@pytest.mark.parametrize(
    "name, arguments",
    [
        ("pushlab/RoomEnv-v0", {"room_size": "big"}),
        ("pushlab/RoomEnv-v0", {"encoding": "index"}),
        ("pushlab/RECEnv-v0", {"reward_std": 0.3, "obs_std": 0.1}),
        ("pushlab/Credit-v0", {"actions": "box"}),
        ("pushlab/ODE-World3-v1", {"reference": "whynot-0.12"}),
        ("pushlab/evalumap2-v0", {"judge": "logistic"}),
    ],
    ids=lambda part: (
        "-".join(map(str, part.values()))
        if isinstance(part, dict)
        else part.removeprefix("pushlab/")
    ),
)
def test_one(benchmark, name, arguments):
    """Measure random allowed actions through gym.make with its default wrappers, with resets."""
    env = gym.make(name, **arguments)
    steps = 1000 if benchmark.enabled else 50
    actions, _ = record(env, steps)
    measure_rate(benchmark, lambda: replay(env, actions), steps)


@pytest.mark.parametrize(
    "name, arguments, copies",
    [
        ("pushlab/RECEnv-v0", {"reward_std": 0.3, "obs_std": 0.1}, 4096),
        ("pushlab/RoomEnv-v0", {"room_size": "big", "encoding": "index"}, 4096),
        ("pushlab/Credit-v0", {"actions": "box"}, 256),
    ],
    ids=["noisy recommender", "big room", "free weights"],
)
def test_batch(benchmark, name, arguments, copies):
    """Measure steps per second over all copies of the native vector version."""
    if not benchmark.enabled:
        copies = 16
    envs = gym.make_vec(name, num_envs=copies, **arguments)
    steps = 8
    envs.reset(seed=1)
    actions = [envs.action_space.sample() for _ in range(steps)]

    def run():
        for action in actions:
            envs.step(action)

    measure_rate(benchmark, run, steps * copies, rounds=40)


@pytest.mark.parametrize(
    "start, untreated, steps",
    [("unhealthy", 0, 390), ("early infection", 4, 5)],
    ids=["away from the peak", "at the viral peak"],
)
def test_patient(benchmark, start, untreated, steps):
    """Measure a random action per day through gym.make. WhyNot 0.12.0 takes 980 steps per second."""
    env = gym.make("pushlab/ODE-HIV-v0", initial_state=start)
    env.action_space.seed(1)
    actions = [0] * steps
    if not untreated:
        actions = [env.action_space.sample() for _ in range(steps)]

    def begin():
        env.reset(seed=1)
        for _ in range(untreated):
            env.step(0)

    def run():
        for action in actions:
            env.step(action)

    measure_rate(benchmark, run, steps, rounds=40, setup=begin)


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


def test_challenge(benchmark, tmp_path):
    """Measure a cold-start episode of about 9,000 contexts of a synthetic user, with all metrics."""
    from pushlab.challenges.challenge import Challenge, episode_uniforms
    from pushlab.datasets.reading import load_user
    from pushlab.users import synthesis

    count = 9000 if benchmark.enabled else 300
    folder = tmp_path / "long"
    made_up = synthesis.make_user(5, "long", open_rate=0.4, per_quarter=count)
    synthesis.write_user(made_up, folder)
    synthesis.write_catalogue(folder)
    user = load_user(folder)
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
