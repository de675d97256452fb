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


@pytest.mark.parametrize("name", ["pushlab/evalumap1-v0", "pushlab/evalumap2-v0", "pushlab/ODE-HIV-v0",
                                  "pushlab/ODE-World3-v1", "pushlab/ODE-Opioid-v0", "pushlab/ODE-Zika-v0"])
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


def test_recommender(benchmark):
    """RECEnv through gym.make, whose episodes of 10 steps are begun anew; RECGym's bare class makes 57,600 steps/s."""
    env = gym.make("pushlab/RECEnv-v0")
    actions = [env.action_space.sample() for _ in range(STEPS)]

    def run():
        env.reset(seed=1)
        for action in actions:
            if env.step(action)[3]:
                env.reset()

    rate(benchmark, run, STEPS)


@pytest.mark.parametrize("kwargs", [{}, {"reward_std": 0.3, "obs_std": 0.1}], ids=["plain", "noisy"])
@pytest.mark.parametrize("copies", [16, 4096])
def test_recommender_batch(benchmark, copies, kwargs):
    """RECEnv's native vector version with the standard user model, resets included."""
    envs = gym.make_vec("pushlab/RECEnv-v0", num_envs=copies, **kwargs)
    envs.reset(seed=1)
    actions = [envs.action_space.sample() for _ in range(8)]

    def run():
        for step in range(200):
            envs.step(actions[step % 8])

    rate(benchmark, run, 200 * copies)


@pytest.mark.parametrize("when, start, untreated, steps", [("away from the peak", "unhealthy", 0, 390),
                                                           ("at the viral peak", "early infection", 4, 5)])
def test_patient(benchmark, when, start, untreated, steps):
    """A decision a day through gym.make, at random; WhyNot 0.12.0 makes 980 steps/s."""
    env = gym.make("pushlab/ODE-HIV-v0", initial_state=start)
    env.action_space.seed(1)
    actions = [env.action_space.sample() for _ in range(steps)] if not untreated else [0] * steps

    def begin():
        env.reset(seed=1)
        for _ in range(untreated):
            env.step(0)

    def run():
        for action in actions:
            env.step(action)

    benchmark.pedantic(run, setup=begin, rounds=40, warmup_rounds=2)
    if benchmark.enabled:
        benchmark.extra_info["steps_per_second"] = round(steps / benchmark.stats.stats.min)


@pytest.mark.parametrize("name, steps", [("pushlab/ODE-Opioid-v0", 28), ("pushlab/ODE-Zika-v0", 100)])
def test_epidemic(benchmark, name, steps):
    """An episode through gym.make, at random; WhyNot 0.12.0 makes 770 steps/s of opioids and 3,200 of Zika."""
    env = gym.make(name)
    env.action_space.seed(1)
    actions = [env.action_space.sample() for _ in range(steps)]

    def begin():
        env.reset(seed=1)

    def run():
        for action in actions:
            env.step(action)

    benchmark.pedantic(run, setup=begin, rounds=40, warmup_rounds=2)
    if benchmark.enabled:
        benchmark.extra_info["steps_per_second"] = round(steps / benchmark.stats.stats.min)


@pytest.mark.parametrize("kwargs", [{}, {"reference": "whynot-0.12"}], ids=["book", "reference"])
def test_world3(benchmark, kwargs):
    """A decision a year through gym.make, two steps of Euler each; WhyNot 0.12.0 makes 43 to 65 steps/s."""
    env = gym.make("pushlab/ODE-World3-v1", **kwargs)
    actions = [env.action_space.sample() for _ in range(200)]

    def run():
        env.reset(seed=1)
        for action in actions:
            env.step(action)

    rate(benchmark, run, 200)


@pytest.mark.parametrize("size", ["small", "big"])
@pytest.mark.parametrize("encoding", ["text", "index"])
def test_room(benchmark, size, encoding):
    """The room through gym.make; room-env 3.0.6, bare, makes 117,000 steps/s in its small room, 48,000 in its big."""
    env = gym.make("pushlab/RoomEnv-v0", size=size, encoding=encoding)
    answer = "desk" if encoding == "text" else 1

    def run():
        env.reset(seed=1)
        for _ in range(1000):
            env.step(answer)

    rate(benchmark, run, 1000)


@pytest.mark.parametrize("size", ["small", "big"])
@pytest.mark.parametrize("copies", [16, 4096])
def test_room_batch(benchmark, copies, size):
    """The room's native vector version, in the index encoding."""
    envs = gym.make_vec("pushlab/RoomEnv-v0", num_envs=copies, size=size, encoding="index")
    envs.reset(seed=1)
    actions = [envs.action_space.sample() for _ in range(8)]

    def run():
        for step in range(50):
            envs.step(actions[step % 8])

    rate(benchmark, run, 50 * copies)


@pytest.mark.parametrize("actions", ["discrete", "box"])
def test_credit(benchmark, actions):
    """A round of 18,357 people through gym.make, episodes of 25 begun anew; WhyNot 0.12.0 makes 1,300 steps/s."""
    env = gym.make("pushlab/Credit-v0", actions=actions)
    env.action_space.seed(1)
    taken = [env.action_space.sample() for _ in range(STEPS)]

    def run():
        env.reset(seed=1)
        for action in taken:
            if env.step(action)[3]:
                env.reset()

    rate(benchmark, run, STEPS)


@pytest.mark.parametrize("copies", [16, 256])
def test_credit_batch(benchmark, copies):
    """Credit's native vector version with weights as actions, all copies judging the same 18,357 people."""
    envs = gym.make_vec("pushlab/Credit-v0", num_envs=copies, actions="box")
    envs.reset(seed=1)
    actions = [envs.action_space.sample() for _ in range(8)]

    def run():
        for step in range(8):
            envs.step(actions[step])

    rate(benchmark, run, 8 * copies)


def test_arrivals_single(benchmark):
    """push-v0 through gym.make with its default wrappers, any allowed action, days one after the other."""
    env = gym.make("pushlab/push-v0")
    turns = np.random.default_rng(0).random(STEPS)

    def run():
        _, info = env.reset(seed=1)
        for turn in turns:
            allowed = info["action_mask"].nonzero()[0]
            _, _, over, _, info = env.step(int(allowed[int(turn * len(allowed))]))
            if over:
                _, info = env.reset()

    rate(benchmark, run, STEPS)


@pytest.mark.parametrize("copies", [16, 1024])
def test_arrivals_batch(benchmark, copies):
    """The native vector version of push-v0 under any actions; env-steps a second over all copies."""
    envs = gym.make_vec("pushlab/push-v0", num_envs=copies)
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
