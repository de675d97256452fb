"""`pushlab warm`: what it says is compiled is compiled, and it may be interrupted and run twice."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time

import pytest

from pushlab.ground.commands import end
from pushlab.ground.faults import Ended

pytest.importorskip("numba")
COMMAND = [sys.executable, "-P", "-m", "pushlab", "warm"]
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


def test_every_world_has_its_place_in_the_work(monkeypatch):
    """A new one too, which nobody has put into the list."""
    from pushlab import envs
    from pushlab.studies import warm

    assert any(job is warm.play_world3 for job, *_ in warm.WORK)
    assert {"climb", "learn", "plan"} <= {job.__name__ for job, *_ in warm.WORK}
    done = []
    monkeypatch.setattr("joblib.Parallel", lambda **_: lambda jobs: [done.append(given) for _, given, _ in jobs])
    monkeypatch.setattr(envs, "TABLE", [*envs.TABLE, ("pushlab/New-v0", "somewhere:New", "a new one")])
    assert warm.warm(progress=False) == len(warm.WORK) + 1 and done[-1] == (("pushlab/New-v0", {}),)
    assert {name for name, *_ in envs.TABLE} == warm.PLAYED | {"pushlab/New-v0"}


@pytest.fixture
def ended():
    before = signal.signal(signal.SIGTERM, end)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.posix
@pytest.mark.parametrize(("number", "error"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Ended)])
def test_a_signal_that_compiled_code_dropped_still_ends_it(monkeypatch, ended, number, error):
    """The compiler calls back from C, where Python says that an exception was ignored, and goes on."""
    from pushlab.studies import warm

    def parts(jobs):
        for job, given, _ in jobs:
            yield job(*given)

    def deaf():
        ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(number))()
        lived.append("went on")
        end = time.monotonic() + 600
        while time.monotonic() < end:
            time.sleep(0.01)

    lived, before = [], sys.unraisablehook
    monkeypatch.setattr("joblib.Parallel", lambda **_: parts)
    monkeypatch.setattr(warm, "WORK", ((deaf,), (lived.append, "next")))
    with pytest.raises(error):
        warm.warm(progress=False)
    assert lived == ["went on"] and sys.unraisablehook is before


@pytest.mark.posix
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
