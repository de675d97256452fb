"""Measure how fast the environments start, step and grow.

Each measurement alternates with one of an unavoidable baseline, so that a temporarily slow machine slows both.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

import cases
import gymnasium as gym
import numpy as np

START = """
import sys, time
import gymnasium, pushlab
env = gymnasium.make(sys.argv[1])
env.action_space.seed(1)
info = env.reset(seed=1)[1]
for step in range(3):
    info = env.step(env.action_space.sample(info.get("action_mask")))[4]
third = time.process_time()
envs = gymnasium.make_vec(sys.argv[1], num_envs=16)
envs.reset(seed=1)
envs.action_space.seed(1)
envs.step(envs.action_space.sample() if not isinstance(env.action_space, gymnasium.spaces.Text) else ["desk"] * 16)
print(third, time.process_time() - third)
"""
NUMBA = "import numba, time; print(time.process_time())"


def cpu_time(run, count):
    """Return the CPU seconds of run(count). Other processes disturb CPU time less than wall time."""
    start = time.process_time()
    run(count)
    return time.process_time() - start


def alternating_times(runs, seconds, rounds, multiple=1):
    """Return seconds per step of several runs, measured in turns, shape (rounds, runs).

    Args:
        runs: Functions of a number of steps.
        seconds: Approximate duration of a run in each round.
        multiple: The number of steps is a multiple of this.
    """
    counts = []
    for run in runs:
        count = multiple
        while (elapsed := cpu_time(run, count)) < seconds / 8:
            count *= 4
        repeats = round(count / multiple * seconds / elapsed)
        counts.append(multiple * max(1, repeats))
    times = np.empty((rounds, len(runs)))
    for row in times:
        row[:] = [cpu_time(run, count) / count for run, count in zip(runs, counts)]
    return times


def median_and_ratio(times):
    """Return the median of the first column, and the median of its ratios to the second."""
    ratios = times[:, 0] / times[:, 1]
    return statistics.median(times[:, 0]), statistics.median(ratios)


# ---------------------------------------------------------------- starts


def run_code(code, *arguments, folder=None):
    """Run code in a fresh process and return the numbers that it prints.

    Args:
        folder: Folder for compiled code.
    """
    environment = dict(os.environ)
    if folder is not None:
        environment["PUSHLAB_CACHE"] = str(folder)
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *arguments],
        capture_output=True,
        text=True,
        env=environment,
    )
    if process.returncode:
        label = " ".join(arguments) or "import numba"
        raise RuntimeError(f"a fresh process failed with {label}:\n{process.stderr}")
    return [float(word) for word in process.stdout.split()]


def starts(name, repeats=3):
    """Return CPU seconds of fresh processes: {"cold", "cold batch", "warm", "warm batch", "numba"}.

    - `cold`, `warm`: from the start of the process, with imports, to the third step of one environment, with an empty
      cache and with the cache of the cold process (median of the repeats)
    - ... batch: after that, make_vec of 16 copies with their reset and first step
    - `numba`: a process that only imports numba (median), alternating with the warm ones
    """
    warm = []
    numba = []
    with tempfile.TemporaryDirectory() as folder:
        cold = run_code(START, name, folder=folder)
        for _ in range(repeats):
            warm.append(run_code(START, name, folder=folder))
            numba += run_code(NUMBA)
    single, batch_of_16 = np.median(warm, axis=0)
    return {
        "cold": cold[0],
        "cold batch": cold[1],
        "warm": single,
        "warm batch": batch_of_16,
        "numba": statistics.median(numba),
    }


# ---------------------------------------------------------------- steps


def steps(name, seconds=0.03, rounds=25):
    """Return steps per second through gym.make ("rate"), and the time relative to an empty environment ("times").

    Both environments have gym.make's wrappers and equally many resets. The values are medians over rounds of about
    `seconds` each.
    """
    cases.register_empty()
    env = gym.make(name)
    actions, _ = cases.record(env, 100)
    per_step = cpu_time(lambda _: cases.replay(env, actions), 1) / 100
    count = int(np.clip(seconds / per_step, 50, 5000))
    actions, ends = cases.record(env, count)
    max_steps = max(1, round(count / ends)) if ends else count + 1
    empty = gym.make(cases.EMPTY, max_episode_steps=max_steps)

    def run_env(repeats):
        for _ in range(repeats):
            cases.replay(env, actions)

    def run_empty(repeats):
        for _ in range(repeats):
            cases.replay(empty, [0] * count)

    times = alternating_times([run_env, run_empty], seconds, rounds)
    elapsed, ratio = median_and_ratio(times)
    env.close()
    return {"rate": count / elapsed, "times": ratio}


# ---------------------------------------------------------------- batches


def flat_arrays(observations):
    """Return the arrays of a batch of observations as a list."""
    if isinstance(observations, dict):
        observations = tuple(observations.values())
    if not isinstance(observations, tuple):
        return [observations]
    return sum(map(flat_arrays, observations), [])


class Batch:
    """Copies of an environment under random actions, allowed or not. Copies restart after each episode."""

    def __init__(self, name, copies, **arguments):
        self.envs = gym.make_vec(name, num_envs=copies, **arguments)
        self.envs.reset(seed=1)
        self.envs.action_space.seed(1)
        count = 2 if copies > 5000 else 8
        self.actions = [self.envs.action_space.sample() for _ in range(count)]
        self.first_step = self.envs.step(self.actions[0])

    def run(self, count):
        """Take so many steps."""
        for step in range(count):
            self.envs.step(self.actions[step % len(self.actions)])


def batch(name, copies, seconds=0.3, rounds=3):
    """Return steps per second of all copies of make_vec ("rate"), and the time relative to its floor ("times").

    The floor draws the random numbers of a step and copies arrays like its observations, rewards and flags, and does
    nothing else. Environments draw the random numbers of 256 steps at a time, so rounds are multiples of 256 steps.
    Copies run for three rounds before the first measurement, because the first days of some environments take longer.
    """
    copied = Batch(name, copies, **cases.BATCH_ARGUMENTS.get(name, {}))
    observations, *others = copied.first_step[:4]
    arrays = flat_arrays(observations) + others
    draws = copied.envs.world.uniforms
    rng = np.random.default_rng(1)

    def floor(count):
        for _ in range(count):
            if draws:
                rng.random((copies, draws))
            for array in arrays:
                array.copy()

    multiple = 256 if draws else 1
    alternating_times([copied.run], seconds, 3, multiple)
    times = alternating_times([copied.run, floor], seconds, rounds, multiple)
    elapsed, ratio = median_and_ratio(times)
    copied.envs.close()
    return {"rate": copies / elapsed, "times": ratio}


# ---------------------------------------------------------------- sizes


def growth(name, first, arguments, copies=64, seconds=0.05, rounds=9):
    """Return the time of a batch step at FACTORS times a first size, relative to the first size; None if impossible.

    Uses a batch, because the overhead of Gymnasium and of Env would hide the growth of the environment itself.
    """
    sizes = [arguments(first * factor) for factor in cases.FACTORS]
    possible = [size for size in sizes if size is not None]
    runs = [Batch(name, copies, **size).run for size in possible]
    times = alternating_times(runs, seconds, rounds)
    ratios = iter(np.median(times / times[:, :1], axis=0).tolist())
    return [None if size is None else next(ratios) for size in sizes]
