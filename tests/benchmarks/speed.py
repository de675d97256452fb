"""How fast the worlds start, step, and grow. Each is measured beside what cannot be spared, taken in turns with it, so
that a machine that slows down for a while slows both."""

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


def seconds_of(run, count):
    """CPU seconds: other processes on the machine disturb them less than a clock's. On an idle one the two agree."""
    start = time.process_time()
    run(count)
    return time.process_time() - start


def in_turns(runs, seconds, rounds, multiple=1):
    """Seconds a step of several runs, array (rounds, runs).

    Args:
        runs: Functions of a number of steps.
        seconds: That a run takes in each round, about.
        multiple: A run's number of steps is one of this.
    """
    counts = []
    for run in runs:
        count = multiple
        while (taken := seconds_of(run, count)) < seconds / 8:
            count *= 4
        counts.append(multiple * max(1, round(count / multiple * seconds / taken)))
    return np.array(
        [
            [seconds_of(run, count) / count for run, count in zip(runs, counts)]
            for _ in range(rounds)
        ]
    )


def compared(taken):
    """The median seconds of the first column, and the median of its ratios to the second."""
    return statistics.median(taken[:, 0]), statistics.median(taken[:, 0] / taken[:, 1])


# ---------------------------------------------------------------- starts


def cpu_seconds(code, *arguments, folder=None):
    """The numbers that a fresh process prints; what it compiles is kept in a folder, if one is given."""
    environment = dict(os.environ)
    if folder is not None:
        environment |= {
            "NUMBA_CACHE_DIR": os.path.join(folder, "numba"),
            "PUSHLAB_CACHE": os.path.join(folder, "own"),
        }
    told = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, *arguments],
        capture_output=True,
        text=True,
        env=environment,
    )
    if told.returncode:
        raise RuntimeError(
            f"a fresh process failed with {' '.join(arguments) or 'import numba'}:\n{told.stderr}"
        )
    return [float(word) for word in told.stdout.split()]


def starts(name, repeats=3):
    """CPU seconds of fresh processes: {"cold", "cold batch", "warm", "warm batch", "numba"}.

    - `cold`, `warm`: from the start of the process, imports included, to the third step of one
      environment: with nothing compiled before, and with all that the cold one left behind (median
      of the repeats)
    - ... batch: what make_vec of 16 copies, their reset and their first step take after that
    - `numba`: a process that only imports numba (median), taken in turns with the warm ones
    """
    with tempfile.TemporaryDirectory() as folder:
        cold = cpu_seconds(START, name, folder=folder)
        rounds = [
            (cpu_seconds(START, name, folder=folder), cpu_seconds(NUMBA))
            for _ in range(repeats)
        ]
    warm = np.median([warm for warm, _ in rounds], axis=0)
    return {
        "cold": cold[0],
        "cold batch": cold[1],
        "warm": warm[0],
        "warm batch": warm[1],
        "numba": statistics.median(numba for _, (numba,) in rounds),
    }


# ---------------------------------------------------------------- a step


def steps(name, seconds=0.03, rounds=25):
    """{"rate": steps a second through gym.make, "times": a step as a multiple of one of an environment that is empty}.

    Both come in gym.make's wrappers and begin anew as often; medians of so many rounds of about `seconds` each.
    """
    cases.register_empty()
    env = gym.make(name)
    actions, _ = cases.record(env, 100)
    per_step = seconds_of(lambda _: cases.replay(env, actions), 1) / 100
    count = int(np.clip(seconds / per_step, 50, 5000))
    actions, ends = cases.record(env, count)
    empty = gym.make(
        cases.EMPTY,
        max_episode_steps=max(1, round(count / ends)) if ends else count + 1,
    )
    nothing = [0] * count
    taken, times = compared(
        in_turns(
            [
                lambda n: [cases.replay(env, actions) for _ in range(n)],
                lambda n: [cases.replay(empty, nothing) for _ in range(n)],
            ],
            seconds,
            rounds,
        )
    )
    env.close()
    return {"rate": count / taken, "times": times}


# ---------------------------------------------------------------- batches


def leaves(values):
    """The arrays of a batch of observations."""
    if isinstance(values, dict):
        return [leaf for value in values.values() for leaf in leaves(value)]
    if isinstance(values, tuple):
        return [leaf for value in values for leaf in leaves(value)]
    return [values]


class Batch:
    """So many copies under actions drawn beforehand, allowed or not; copies that end begin anew."""

    def __init__(self, name, copies, **arguments):
        self.envs = gym.make_vec(name, num_envs=copies, **arguments)
        self.envs.reset(seed=1)
        self.envs.action_space.seed(1)
        self.actions = [
            self.envs.action_space.sample() for _ in range(2 if copies > 5000 else 8)
        ]
        self.told = self.envs.step(self.actions[0])

    def live(self, count):
        for step in range(count):
            self.envs.step(self.actions[step % len(self.actions)])


def batch(name, copies, seconds=0.3, rounds=3):
    """{"rate": steps a second of all copies together, "times": a step as a multiple of its floor}, of make_vec.

    The floor draws the random numbers of a step and copies arrays like its observations, rewards and flags, and does
    nothing else. A world that draws any draws those of 256 steps at a time, so its rounds are multiples of that. Copies
    live for three rounds before any is timed: the first days of some worlds take longer than the rest.
    """
    ours = Batch(name, copies, **cases.IN_A_BATCH.get(name, {}))
    arrays, drawn, rng = (
        leaves(ours.told[0]) + list(ours.told[1:4]),
        ours.envs.world.uniforms,
        np.random.default_rng(1),
    )

    def floor(count):
        for _ in range(count):
            if drawn:
                rng.random((copies, drawn))
            for array in arrays:
                array.copy()

    runs, multiple = [ours.live, floor], 256 if drawn else 1
    in_turns(runs[:1], seconds, 3, multiple)
    taken, times = compared(in_turns(runs, seconds, rounds, multiple))
    ours.envs.close()
    return {"rate": copies / taken, "times": times}


# ---------------------------------------------------------------- sizes


def growth(name, first, arguments, copies=64, seconds=0.05, rounds=9):
    """Seconds a step of a batch at TIMES a first size, as multiples of the first; None where a size is not to be had.

    A batch, because what Gymnasium and the shell cost would hide how the world itself grows.
    """
    given = [arguments(first * times) for times in cases.TIMES]
    batches = [None if one is None else Batch(name, copies, **one) for one in given]
    taken = in_turns([one.live for one in batches if one is not None], seconds, rounds)
    ratios = iter(np.median(taken / taken[:, :1], axis=0).tolist())
    return [None if one is None else next(ratios) for one in batches]
