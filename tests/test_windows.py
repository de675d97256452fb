"""pushlab's main paths in a process that looks like Windows to pushlab's own code; nothing here has run on Windows.

What Windows lacks is taken away from `os`, `signal` and `socket` as pushlab's modules see them, modules that it lacks
cannot be imported there, and whatever reads or writes text without saying that it is UTF-8 is found. Packages of others
see the system as it is, and paths, files and processes are those of this system.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
AS_ON_WINDOWS = '''
import builtins, os, signal, socket, sys, types, warnings

LACKING = {
    os: """chown chroot confstr fchdir fchown fdatasync fork forkpty fpathconf fstatvfs getegid geteuid getgid getgroups
        getloadavg getpgid getpgrp getpriority getresuid getsid getuid initgroups killpg lchown lockf mkfifo mknod nice
        openpty pathconf pipe2 posix_fadvise posix_fallocate posix_spawn pread preadv pwrite pwritev register_at_fork
        sched_getaffinity sched_setaffinity sched_yield sendfile set_blocking setegid seteuid setgid setgroups setpgid
        setpriority setsid setuid statvfs sync sysconf tcgetpgrp ttyname uname wait wait3 wait4 waitid WNOHANG
        O_CLOEXEC O_DIRECTORY O_DSYNC O_NOCTTY O_NOFOLLOW O_NONBLOCK O_SYNC O_TMPFILE""".split(),
    signal: """SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGUSR1 SIGUSR2 alarm pause
        pthread_kill pthread_sigmask setitimer sigwait siginterrupt""".split(),
    socket: ["AF_UNIX", "socketpair", "SO_REUSEPORT"],
    sys: ["getdlopenflags", "setdlopenflags"],
}
SAID = {os: {"name": "nt"}, sys: {"platform": "win32"}}
MODULES = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty", "uvloop"}
asked = set()


class Seen(types.ModuleType):
    """A module as Windows has it."""

    def __init__(self, module):
        object.__setattr__(self, "module", module)

    def __getattribute__(self, name):
        module = object.__getattribute__(self, "module")
        if name in LACKING[module]:
            asked.add(name)
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r} on Windows")
        return SAID.get(module, {}).get(name) or getattr(module, name)

    def __setattr__(self, name, value):
        setattr(object.__getattribute__(self, "module"), name, value)


seen, really = {module.__name__: Seen(module) for module in LACKING}, builtins.__import__


def as_on_windows(name, globals=None, locals=None, fromlist=(), level=0):
    if globals and str(globals.get("__name__")).partition(".")[0] == "pushlab" and not level:
        if name in MODULES:
            raise ImportError(f"no module {name} on Windows")
        if name in seen:
            return seen[name]
    return really(name, globals, locals, fromlist, level)


builtins.__import__ = as_on_windows
unsaid = []
warnings.showwarning = lambda text, kind, file, line, *more: (
    unsaid.append(f"{file}:{line}") if kind is EncodingWarning and "pushlab" in file else None)
warnings.simplefilter("always", EncodingWarning)
'''
PATHS = '''
from pathlib import Path

import gymnasium as gym
import pandas as pd
from typer.testing import CliRunner

import pushlab
from pushlab import agents, sweep
from pushlab.__main__ import app
from pushlab.classroom import export, new_class, running
from pushlab.ground.files import own_folder


def path(words):
    """Tells what comes, so that a failed test says where."""
    print("PATH", words, flush=True)


def command(*words):
    path(" ".join(map(str, words)))
    told = CliRunner().invoke(app, [*map(str, words)])
    assert told.exit_code == 0, (words, told.output, told.exception)
    return told.output


# A submission, and a folder of them
command("contexts", "mira", "--out", "contexts.csv")
rows = pd.DataFrame([dict(id=number, postingApp="org.pushlab.chat", category="msg", subject="friends", ongoing=False,
                          numberOfUpdates="none", priority="default", visibility="private") for number in range(2866)])
Path("folder").mkdir()
for name in ("answers.csv", "folder/ann.csv", "folder/ben.csv"):
    rows.to_csv(name, index=False)
command("score", "answers.csv", "--user", "mira")
command("score", "folder", "--user", "mira", "--out", "scores/class")
assert Path("scores/class/leaderboard.csv").exists()
command("score", "folder", "--user", "mira", "--out", "scores/class")      # one folder for another
command("data", "check", "mira")
command("make-user", "--seed", 1, "--out", "users", "--name", "kim", "--per-quarter", 60)

path("worlds, logs and pictures")
env = gym.make("pushlab/evalumap1-v0", user="mira", render_mode="rgb_array")
log = pushlab.rollout(env, agents.RandomAgent(), episodes=1, progress=False)
env.render()
gym.make_vec("pushlab/RECEnv-v0", num_envs=4).reset(seed=0)
assert own_folder("own")

path("a sweep in two processes, and once more: it is finished")
for _ in range(2):
    sweep(agents=["LinUCB"], envs=["pushlab/RECEnv-v0"], seeds=2, episodes=1, out="grid", workers=2, progress=False)

path("a class on a server of this machine")
tokens = new_class("class", ["ann", "ben"], seed="a secret of tests, long enough", episodes=2,
                   per_quarter=100, days=2)
with running("class") as url:
    game = gym.make("pushlab/Remote-v0", url=url, token=tokens["ann"], game="evalumap2", scored=False)
    game.reset(seed=0)
    game.step(game.action_space.sample())
    game.close()
export("class", "exported")
print("UNSAID", *unsaid)
print("ASKED", *sorted(asked))
'''


def test_the_main_paths_ask_for_nothing_that_windows_lacks(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(AS_ON_WINDOWS + PATHS, encoding="utf-8")
    done = subprocess.run([sys.executable, "-X", "warn_default_encoding", script], cwd=tmp_path, text=True,
                          capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"})
    came = [line for line in done.stdout.splitlines() if line.startswith("PATH ")]
    assert done.returncode == 0, f"{came[-1:]}: {done.stderr[-3000:]}"
    assert "UNSAID\n" in done.stdout, done.stdout
