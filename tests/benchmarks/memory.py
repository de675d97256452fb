"""Measure the memory of long runs in megabytes: `make benchmarks ARGS=memory`. Returns 1 if anything grows.

Each case runs in its own process. Its resident memory is read at five marks, after garbage collection. Growth from the
third mark (half way) to the last one indicates a leak rather than a filling cache. The run takes about 25 minutes on
an idle machine; the hour of the player takes most of them.
"""

import gc
import os
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import cases

MARKS = (0.1, 0.25, 0.5, 0.75, 1.0)
MAX_GROWTH = 4.0  # MB; allocators return memory in large pieces
FRAME = 300  # milliseconds per frame of the player
QUICK_FACTOR = 20  # a quick run is this many times shorter


def resident_memory():
    """Return the resident memory of this process in MB, or its maximum if the system has no /proc."""
    try:
        with open("/proc/self/statm") as file:
            pages = int(file.read().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
    except OSError:
        import resource

        unit = 2**20 if sys.platform == "darwin" else 2**10
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def memory_at_marks(run, count):
    """Call run(number) for 0 … count - 1, and return the memory at MARKS."""
    marks = [round(share * count) for share in MARKS]
    memory = []
    for number in range(count):
        run(number)
        if number + 1 in marks:
            gc.collect()
            memory.append(resident_memory())
    return memory


# ---------------------------------------------------------------- cases, functions of an environment and a count


class RandomRun:
    """One environment under random allowed actions. Episodes restart, after at most `max_steps` steps."""

    def __init__(self, name, max_steps=None, **arguments):
        import gymnasium as gym

        self.env = gym.make(name, **arguments)
        self.max_steps = max_steps
        self.env.action_space.seed(1)
        _, self.info = self.env.reset(seed=1)
        self.steps = 0

    def step(self):
        """Take a step and return whether the episode is over."""
        action = self.env.action_space.sample(self.info.get("action_mask"))
        _, _, terminated, truncated, self.info = self.env.step(action)
        self.steps += 1
        is_over = terminated or truncated or self.steps == self.max_steps
        if is_over:
            _, self.info = self.env.reset()
            self.steps = 0
        return is_over


def steps_of_one(name, count):
    """Step one environment."""
    run = RandomRun(name)
    return memory_at_marks(lambda _: run.step(), count)


def short_episodes(name, count):
    """Run episodes of at most ten steps."""
    run = RandomRun(name, max_steps=10)

    def episode(_):
        while not run.step():
            pass

    return memory_at_marks(episode, count)


def make_and_close(name, count):
    """Make and close one environment and a batch of four, with a few steps each."""
    import gymnasium as gym

    def make(_):
        run = RandomRun(name)
        for _ in range(3):
            run.step()
        run.env.close()
        envs = gym.make_vec(name, num_envs=4, **cases.BATCH_ARGUMENTS.get(name, {}))
        envs.reset(seed=1)
        envs.step(envs.action_space.sample())
        envs.close()

    return memory_at_marks(make, count)


def rendered_steps(name, count):
    """Run one endless episode in the mode "rgb_array", drawn every thousandth step."""
    run = RandomRun(name, render_mode="rgb_array", max_episode_steps=-1, max_step=count)

    def step(number):
        if run.step():
            raise RuntimeError(f"the endless episode of {name} ended at step {number}")
        if number % 1000 == 999:
            run.env.render()

    return memory_at_marks(step, count)


def player_frames(name, count):
    """Move the player from frame to frame of an episode, again and again."""
    import gymnasium as gym

    from pushlab.agents import RandomAgent
    from pushlab.logs.rollout import rollout
    from pushlab.plots.widgets import player

    env = gym.make(name)
    _, (frames, *_) = rollout(
        env,
        RandomAgent(),
        seed=1,
        steps=400,
        record="frames",
        progress=False,
    )
    panel = player(frames, type(env.unwrapped.world).picture)

    def move(number):
        panel.set(step=(number + 1) % len(frames))

    return memory_at_marks(move, count)


def all_cases():
    """Return the cases as (unit, function, environment, count), in the order of the output."""
    worlds = cases.newest()
    hour = 3600 * 1000 // FRAME
    return [
        *(("steps", steps_of_one, name, 1_000_000) for name in worlds),
        *(("episodes", short_episodes, name, 10_000) for name in worlds),
        *(("makes and closes", make_and_close, name, 200) for name in worlds),
        ("steps drawn", rendered_steps, "pushlab/RoomEnv-v0", 400_000),
        ("frames played", player_frames, "pushlab/evalumap1-v0", hour),
        ("frames played", player_frames, "pushlab/push-v0", hour // 4),
    ]


def run_case(case, name, count):
    """Run a case in a fresh process."""
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    import pushlab  # noqa: F401

    return case(name, count)


def main(quick=False):
    """Print a row per case, and return 1 if one grows by more than MAX_GROWTH in its second half, else 0."""
    growing = 0
    shares = "".join(f"{share:>9.0%}" for share in MARKS)
    print(f"{'MB at this share of the run':<42}{shares}   last half")
    for unit, case, name, count in all_cases():
        if quick:
            count = max(len(MARKS) * 4, count // QUICK_FACTOR)
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            memory = pool.submit(run_case, case, name, count).result()
        growth = memory[-1] - memory[MARKS.index(0.5)]
        is_growing = growth > MAX_GROWTH
        growing += is_growing
        label = f"{name.removeprefix('pushlab/')}, {count:,} {unit}"
        numbers = "".join(f"{megabytes:>9.1f}" for megabytes in memory)
        warning = "  GROWS" if is_growing else ""
        print(f"{label:<42}{numbers}   {growth:+.1f}{warning}", flush=True)
    total = len(all_cases())
    print(
        f"{growing} of {total} grow by more than {MAX_GROWTH:g} MB over the last half."
    )
    return int(growing > 0)
