"""Real kills: of the server while a class is played, and of the process that closes a class."""

import itertools
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from small_class import SETTINGS, play_constant, run
from waiting import PATIENCE

from pushlab_classroom import ClassDatabase, close_class, database, new_class
from pushlab_classroom.board import BoardRenderer
from pushlab_classroom.session import ClassSession
from pushlab_classroom.standings import STATES, standings

TABLE = Path(__file__).parents[1] / "benchmarks" / "table.py"
STAND_BY = 4
pytestmark = [pytest.mark.slow, pytest.mark.posix]


def test_a_killed_server_changes_no_step_reward_or_rank():
    command = [sys.executable, TABLE, "rehearsal", "--quick"]
    assert subprocess.run(command, timeout=PATIENCE).returncode == 0


def close_and_die(folder, n_statements):
    """Close a class in this process, which kills itself instead of running one more SQL statement."""
    connect = database.connect
    statements = itertools.count()

    def count(_):
        if next(statements) == n_statements:
            os.kill(os.getpid(), signal.SIGKILL)

    def connect_and_count(*arguments):
        connection = connect(*arguments)
        connection.set_trace_callback(count)
        return connection

    database.connect = connect_and_count
    close_class(folder)


def results(folder):
    """Return the standings and the returns of all episodes as text."""
    book = ClassDatabase(folder)
    returns = book.episodes()[["id", "steps", "return"]]
    return standings(book).to_csv(), returns.to_csv()


def test_closing_survives_a_kill_before_each_statement(tmp_path):
    made = tmp_path / "class"
    tokens = new_class(made, ["ann", "ben"], **SETTINGS)
    with closing(ClassSession(made)) as session:
        for token, n_steps in zip(tokens.values(), (99, 3)):
            play_constant(session, token, "push", STAND_BY, n_steps)

    def copy(name):
        return shutil.copytree(made, tmp_path / name)

    final = copy("final")
    close_class(final)
    seen = set()
    for n_statements in itertools.count():
        folder = copy(f"killed {n_statements}")
        process = multiprocessing.get_context("fork").Process(
            target=close_and_die, args=(folder, n_statements)
        )
        process.start()
        process.join()
        state = ClassDatabase(folder).settings["state"]
        if (state, results(folder)) not in seen:
            seen.add((state, results(folder)))
            assert STATES[state] in run("class", "board", folder).stdout
            assert STATES[state] in BoardRenderer(folder).render().decode()
            exported = run("class", "export", folder, folder / "results")
            assert ("is closing" in exported.stderr) == (state == "closing")
            assert (folder / "results").exists() == (state != "closing")
        assert run("class", "close", folder).exit_code == 0
        assert results(folder) == results(final)
        if process.exitcode == 0:
            break
        assert process.exitcode == -signal.SIGKILL
    assert sorted(state for state, _ in seen) == ["closed", *["closing"] * 3, "open"]
