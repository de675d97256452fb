"""What the tables of `make benchmarks` leave out: worlds under other arguments, an import, a whole challenge.

Each figure stands in the benchmark's extra_info. Nothing is asserted on time; under --benchmark-disable, as in `make
test`, every run is a short one. The worlds as they are registered are measured by table.py.
"""

import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from cases import record, replay

import pushlab  # noqa: F401


def rate(benchmark, run, count, **how):
    """Runs the benchmark and notes how many steps a second its fastest round made."""
    benchmark.pedantic(run, **{"rounds": 10, "warmup_rounds": 2, **how})
    if benchmark.enabled:
        benchmark.extra_info["steps_per_second"] = round(
            count / benchmark.stats.stats.min
        )


@pytest.mark.parametrize(
    "name, arguments",
    [
        ("pushlab/RoomEnv-v0", {"size": "big"}),
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
    """Through gym.make with its default wrappers, any allowed actions, episodes begun anew."""
    env, steps = gym.make(name, **arguments), 1000 if benchmark.enabled else 50
    actions, _ = record(env, steps)
    rate(benchmark, lambda: replay(env, actions), steps)


@pytest.mark.parametrize(
    "name, arguments, copies",
    [
        ("pushlab/RECEnv-v0", {"reward_std": 0.3, "obs_std": 0.1}, 4096),
        ("pushlab/RoomEnv-v0", {"size": "big", "encoding": "index"}, 4096),
        ("pushlab/Credit-v0", {"actions": "box"}, 256),
    ],
    ids=["noisy recommender", "big room", "free weights"],
)
def test_batch(benchmark, name, arguments, copies):
    """The native vector version; env-steps a second over all copies."""
    if not benchmark.enabled:
        copies = 16
    envs, steps = gym.make_vec(name, num_envs=copies, **arguments), 8
    envs.reset(seed=1)
    actions = [envs.action_space.sample() for _ in range(steps)]

    def run():
        for action in actions:
            envs.step(action)

    rate(benchmark, run, steps * copies, rounds=40)


@pytest.mark.parametrize(
    "start, untreated, steps",
    [("unhealthy", 0, 390), ("early infection", 4, 5)],
    ids=["away from the peak", "at the viral peak"],
)
def test_patient(benchmark, start, untreated, steps):
    """A decision a day through gym.make, at random; WhyNot 0.12.0 makes 980 steps/s."""
    env = gym.make("pushlab/ODE-HIV-v0", initial_state=start)
    env.action_space.seed(1)
    actions = (
        [env.action_space.sample() for _ in range(steps)]
        if not untreated
        else [0] * steps
    )

    def begin():
        env.reset(seed=1)
        for _ in range(untreated):
            env.step(0)

    def run():
        for action in actions:
            env.step(action)

    rate(benchmark, run, steps, setup=begin, rounds=40)


@pytest.mark.parametrize("modules", ["gymnasium", "gymnasium, pushlab"])
def test_import(benchmark, modules):
    """Seconds that an import takes in a fresh process, of the interpreter's own clock."""
    code = f"import time; start = time.perf_counter(); import {modules}; print(time.perf_counter() - start)"

    def run():
        told = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        return float(told.stdout)

    seconds = [run() for _ in range(5 if benchmark.enabled else 1)]
    benchmark.pedantic(run, rounds=1)
    benchmark.extra_info["import_seconds"] = round(float(np.min(seconds)), 4)


def test_whole_challenge(benchmark, tmp_path):
    """A cold-start episode of some 9,000 contexts of a user made for it, every step taken, with all metrics."""
    from pushlab.challenges.challenge import Challenge, own_draws
    from pushlab.datasets.reading import load_user
    from pushlab.users import synthesis

    count = 9000 if benchmark.enabled else 300
    synthesis.write_user(
        synthesis.make_user(5, "long", open_rate=0.4, per_quarter=count),
        tmp_path / "long",
    )
    synthesis.write_catalogue(tmp_path / "long")
    user = load_user(tmp_path / "long")
    challenge, env = (
        Challenge.load(user),
        gym.make("pushlab/evalumap2-v0", user=user, reveal=True),
    )
    codes = user.history.notification_codes[
        np.arange(len(user.test)) % len(user.history)
    ]
    draws = own_draws(1, len(codes), challenge.world.uniforms)[:, 0]

    def run():
        env.reset(seed=1)
        told = [env.step(action)[4] for action in codes]
        outcome = {
            key: np.array([one[key] for one in told])
            for key in ("opened", "actual", "probability", "best")
        }
        return challenge.score(
            codes, outcome, draws, challenge=2, agent="replay", seeds=(1,)
        )

    card = benchmark.pedantic(run, rounds=5, warmup_rounds=1)
    assert card.count == len(user.test)
    benchmark.extra_info["contexts"] = len(user.test)
