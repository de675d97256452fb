"""Megabytes over steps: what a long run keeps. `make benchmarks ARGS=memory`; ends with 1 if anything grows.

Each case lives in a process of its own. Its resident memory is read at five marks, after everything unused has been
collected; what it still grows from the third mark (half way) to the last tells a leak from a cache that fills. In all
it takes some 25 minutes on an idle machine, the hour of the player most of them.
"""

import gc
import os
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import cases

MARKS = (0.1, 0.25, 0.5, 0.75, 1.0)
MOST = 4.0  # MB from half way to the end that are no growth: allocators give memory back in large pieces
FRAME = 300  # milliseconds a frame of the player
FEW = 20  # a quick run is this many times shorter


def megabytes():
    """Resident memory of this process; where the system does not tell it, the most there was so far."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
            2**20 if sys.platform == "darwin" else 2**10
        )


def at_marks(turn, count):
    """Calls turn(number) for 0 … count - 1; returns the memory at MARKS."""
    marks, read = [round(share * count) for share in MARKS], []
    for number in range(count):
        turn(number)
        if number + 1 in marks:
            gc.collect()
            read.append(megabytes())
    return read


# ---------------------------------------------------------------- the cases, each a function of a world and a count


class Life:
    """One environment under allowed actions at random; episodes begin anew, after `most` steps at the latest."""

    def __init__(self, name, most=None, **arguments):
        import gymnasium as gym

        self.env, self.most = gym.make(name, **arguments), most
        self.env.action_space.seed(1)
        _, self.info = self.env.reset(seed=1)
        self.lived = 0

    def step(self):
        """One step; returns whether the episode is over."""
        action = self.env.action_space.sample(self.info.get("action_mask"))
        _, _, terminated, truncated, self.info = self.env.step(action)
        self.lived += 1
        over = terminated or truncated or self.lived == self.most
        if over:
            _, self.info = self.env.reset()
            self.lived = 0
        return over


def one_environment(name, count):
    life = Life(name)
    return at_marks(lambda _: life.step(), count)


def episodes(name, count):
    """Short ones, broken off after ten steps."""
    life = Life(name, most=10)

    def episode(_):
        while not life.step():
            pass

    return at_marks(episode, count)


def made_and_closed(name, count):
    """One alone and a batch of four, with three steps each."""
    import gymnasium as gym

    def make(_):
        life = Life(name)
        for _ in range(3):
            life.step()
        life.env.close()
        envs = gym.make_vec(name, num_envs=4, **cases.IN_A_BATCH.get(name, {}))
        envs.reset(seed=1)
        envs.step(envs.action_space.sample())
        envs.close()

    return at_marks(make, count)


def drawn(name, count):
    """One endless episode of the room in the mode "rgb_array", drawn every thousandth step."""
    life = Life(name, render_mode="rgb_array", max_episode_steps=-1, max_step=count)

    def step(number):
        if life.step():
            raise RuntimeError(
                f"an episode of {name} was to be endless and ended at step {number}"
            )
        if number % 1000 == 999:
            life.env.render()

    return at_marks(step, count)


def played(name, count):
    """The player, moved from frame to frame of an episode and begun again at its end."""
    import gymnasium as gym

    from pushlab.agents import RandomAgent
    from pushlab.logs.rollout import rollout
    from pushlab.plots.widgets import player

    env = gym.make(name)
    _, (frames, *_) = rollout(
        env, RandomAgent(), seed=1, steps=400, record="frames", progress=False
    )
    panel = player(frames, type(env.unwrapped.world).picture)

    def move(number):
        panel.slider.value = (number + 1) % len(frames)

    return at_marks(move, count)


def planned():
    """(what, function, world, count), as they are shown."""
    worlds = cases.newest()
    hour = 3600 * 1000 // FRAME
    return [
        *(("steps", one_environment, name, 1_000_000) for name in worlds),
        *(("episodes", episodes, name, 10_000) for name in worlds),
        *(("makes and closes", made_and_closed, name, 200) for name in worlds),
        ("steps drawn", drawn, "pushlab/RoomEnv-v0", 400_000),
        ("frames played", played, "pushlab/evalumap1-v0", hour),
        ("frames played", played, "pushlab/push-v0", hour // 4),
    ]


def lived_in_a_process(live, name, count):
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    import pushlab  # noqa: F401

    return live(name, count)


def main(quick=False):
    """Prints a row a case; returns 1 if one grows by more than MOST from half way to the end, else 0."""
    grows = 0
    print(
        f"{'MB at this share of the run':<42}"
        + "".join(f"{share:>9.0%}" for share in MARKS)
        + "   last half"
    )
    for what, live, name, count in planned():
        count = max(len(MARKS) * 4, count // FEW) if quick else count
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            read = pool.submit(lived_in_a_process, live, name, count).result()
        more = read[-1] - read[MARKS.index(0.5)]
        grows += more > MOST
        words = f"{name.removeprefix('pushlab/')}, {count:,} {what}"
        print(
            f"{words:<42}"
            + "".join(f"{mb:>9.1f}" for mb in read)
            + f"   {more:+.1f}"
            + ("  GROWS" if more > MOST else ""),
            flush=True,
        )
    print(
        f"{grows} of {len(planned())} grow by more than {MOST:g} MB over the last half."
    )
    return int(grows > 0)
