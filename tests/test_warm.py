"""`pushlab warm`: what it says is compiled is compiled, and it may be interrupted and run twice."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("numba")
COMMAND = [sys.executable, "-m", "pushlab", "warm"]
FIRST_STEPS = """
import gymnasium as gym, numba.core.event as event
compiled = []
class Listener(event.Listener):
    def on_start(self, told): compiled.append(told.data["dispatcher"].py_func.__qualname__)
    def on_end(self, told): pass
event.register("numba:compile", Listener())
import pushlab
from pushlab.envs import TABLE
for name, *_ in TABLE:
    for env in (gym.make(name), gym.make_vec(name, num_envs=16)):
        env.reset(seed=0)
        env.action_space.seed(0)
        env.step(env.action_space.sample())
print(compiled)
"""


def test_afterwards_no_world_compiles_anything():
    """All registered worlds, alone and in a batch. Run twice: the second finds everything there."""
    for _ in range(2):
        told = subprocess.run(COMMAND, capture_output=True, text=True)
        assert told.returncode == 0, told.stderr
        assert "100%" in told.stderr and "compiling" in told.stderr
    told = subprocess.run([sys.executable, "-c", FIRST_STEPS], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_every_world_has_its_place_in_the_work():
    """The one that is left shares its loops with another."""
    from pushlab.envs import TABLE
    from pushlab.studies.warm import WORK, play_world3

    played = {world[0] for job, *worlds in WORK for world in worlds if job.__name__ == "play"}
    assert any(job is play_world3 for job, *_ in WORK)
    others = {"pushlab/ODE-World3-v1", "pushlab/ODE-World3-v0", "pushlab/evalumap1-v0", "pushlab/evalumap2-v0"}
    assert played | others == {name for name, *_ in TABLE}
    assert {"climb", "learn", "plan"} <= {job.__name__ for job, *_ in WORK}


@pytest.mark.skipif(os.name == "nt", reason="another way to interrupt")
def test_interrupted_it_says_so_and_keeps_what_is_done(tmp_path):
    work = subprocess.Popen([*COMMAND, "--workers", "1"], stderr=subprocess.PIPE, text=True, start_new_session=True,
                            # Whoever runs the tests in the background may have it ignored.
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
                            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)})
    give_up = time.monotonic() + 900
    while not list(tmp_path.rglob("*.nbc")):
        assert work.poll() is None and time.monotonic() < give_up, "nothing had been compiled after 15 minutes"
        time.sleep(0.1)
    try:
        while work.poll() is None and time.monotonic() < give_up:       # as one who is not heard presses Ctrl-C again:
            os.killpg(work.pid, signal.SIGINT)                          # what calls back from C drops an interrupt
            with contextlib.suppress(subprocess.TimeoutExpired):
                work.wait(timeout=60)
        _, told = work.communicate(timeout=900)
    finally:
        work.kill()
    assert work.returncode == 130 and "stays" in told and "Traceback" not in told
