"""The sweep: what is finished is kept, whatever happens, and rows are the same wherever they came from."""

import importlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import parallel_config
from typer.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parent))
from noted_cells import called, cells_of, draw, draw_in_parts, grow, leave, note, stop

from pushlab.__main__ import app
from pushlab.agents import Agent, RandomAgent, ThompsonSampling
from pushlab.ground.content import reached
from pushlab.ground.faults import BadData
from pushlab.logs.rollout import rollout
from pushlab.studies.cells import Cell, CellsFailed, run_cells
from pushlab.studies.command import read_grid
from pushlab.studies.specs import make_sure, read_specs
from pushlab.studies.store import encode, gather, status
from pushlab.studies.sweep import sweep

ENV = {"env": "pushlab/evalumap2-v0", "each": {"user": ["mira", "theo"]}}
QUIET = {"workers": 1, "progress": False}


@pytest.fixture
def calls(tmp_path):
    return tmp_path / "calls"


# ---------------------------------------------------------------- kept

@pytest.mark.parametrize("workers", [1, 2])
def test_finished_cells_are_not_run_again_and_rows_come_in_order(tmp_path, calls, workers):
    out = tmp_path / "out"
    three = run_cells(cells_of(calls, 3), out, workers, progress=False)["rows"]
    six = run_cells(cells_of(calls), out, workers, progress=False)["rows"]
    assert called(calls) == list(range(6)) and six["number"].tolist() == np.repeat(range(6), 2).tolist()
    assert six[:6].equals(three) and six["word"].tolist() == ["a,\n\"b\"", "NA"] * 6
    assert six.equals(run_cells(cells_of(calls), False, 1, progress=False)["rows"])
    exact = [draw(number, calls)["rows"][0]["value"] for number in range(6)]
    assert six["value"].iloc[::2].tolist() == exact
    assert pd.read_csv(out / "rows.csv").shape == six.shape


def test_a_torn_file_another_argument_other_data_and_fresh_run_again(tmp_path, calls):
    out, cell = tmp_path / "out", Cell({"number": 1}, draw, (1, str(calls)))
    first = run_cells([cell], out, **QUIET)["rows"]
    torn = next(out.glob("cells/*.rows.csv"))
    torn.write_text(torn.read_text()[:20])
    assert run_cells([cell], out, **QUIET)["rows"].equals(first) and len(called(calls)) == 2
    for other in (cell._replace(data="another table"), cell._replace(arguments=(1, str(calls), (5,)))):
        run_cells([other], out, **QUIET)
    assert len(called(calls)) == 4
    run_cells([cell], out, fresh=True, **QUIET)
    assert len(called(calls)) == 5


def test_a_cell_in_parts_goes_on_at_the_part_that_is_missing(tmp_path, calls):
    broken, cell = tmp_path / "broken", Cell({"name": "a"}, draw_in_parts, (0, str(calls)))
    broken.touch()
    with pytest.raises(KeyboardInterrupt):
        run_cells([cell], tmp_path / "out", **QUIET)
    broken.unlink()
    rows = run_cells([cell], tmp_path / "out", **QUIET)["rows"]
    assert rows["part"].tolist() == called(calls) == [0, 1, 2, 3] and rows["list"].tolist() == [[0], [1], [2], [3]]
    assert not list(tmp_path.glob("out/cells/*.part*"))


@pytest.mark.parametrize("ending, old, new", [
    (".json", '"int64"', '"float64"'), (".json", '"rows": 4', '"rows": 3'),
    (".json", '"tables": {', '"tables": {}, "others": {'), (".rows.csv", "5", "6"),
    (".part.json", '"part": 1', '"part": 7'), (".part.json", "0.5", "0.25"),
])
def test_what_was_changed_after_it_was_kept_is_done_again(tmp_path, calls, ending, old, new):
    broken, cell = tmp_path / "broken", Cell({"name": "a"}, draw_in_parts, (0, str(calls)))
    if ending == ".part.json":
        broken.touch()
        with pytest.raises(KeyboardInterrupt):
            run_cells([cell], tmp_path / "out", **QUIET)
        broken.unlink()
    else:
        run_cells([cell], tmp_path / "out", **QUIET)
    file = next(tmp_path.glob(f"out/cells/*{ending}"))
    file.write_text(file.read_text().replace(old, new, 1))
    rows = run_cells([cell], tmp_path / "out", **QUIET)["rows"]
    assert rows["part"].tolist() == [0, 1, 2, 3] and rows["half"].tolist()[1:] == [0.5, 1.0, 1.5]
    assert called(calls).count(0) == called(calls).count(1) == 2


def test_the_files_of_one_cell_are_not_those_of_another(tmp_path, calls):
    one, two = (Cell({"number": number}, draw, (number, str(calls))) for number in (1, 2))
    rows = [run_cells([cell], tmp_path / "out", **QUIET)["rows"] for cell in (one, two)]
    first, second = (sorted(tmp_path.glob(f"out/cells/{number}-*")) for number in (1, 2))
    for source, goal in zip(first, second):
        goal.write_bytes(source.read_bytes())
    assert run_cells([two], tmp_path / "out", **QUIET)["rows"].equals(rows[1]) and called(calls) == [1, 2, 2]


def test_a_sweep_may_be_called_twice_at_once(tmp_path, calls):
    cells = [Cell({"number": number}, draw, (number, str(calls), (), 0.02)) for number in range(10)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: run_cells(cells, tmp_path / "out", fresh=True, **QUIET)["rows"], range(4)))
    assert all(rows.equals(found[0]) for rows in found) and len(found[0]) == 20


def test_an_edited_file_of_ones_own_runs_again(tmp_path):
    """An agent in a file beside the grid, with a table in another: an edit of either counts, a comment does not."""
    table, agent = tmp_path / "table.py", tmp_path / "mine.py"
    table.write_text("ACTION = 0\n")
    agent.write_text("from pushlab.agents import Agent\nfrom table import ACTION\n\n\nclass Mine(Agent):\n"
                     "    def act(self, observation, info, explore=True):\n        return ACTION\n")
    grid = tmp_path / "grid.yaml"
    grid.write_text("agents: [mine:Mine]\nenvs: [pushlab/RECEnv-v0]\nseeds: 2\nsteps: 3\nout: out\n")

    def files():
        command = [sys.executable, "-P", "-m", "pushlab", "sweep", grid.name, "--workers", "1"]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True,
                       env={**os.environ, "PYTHONPATH": os.getcwd()})
        return len(list(tmp_path.glob("out/cells/*.results.csv")))

    assert files() == 2
    agent.write_text(agent.read_text() + "# a remark\n")
    assert files() == 2
    table.write_text("ACTION = 1\n")
    assert files() == 4


def test_processes_that_loaded_an_older_file_are_not_asked(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / "edited_file.py"
    file.write_text("def give(seed):\n    return [{'value': 1}]\n")
    import edited_file

    how = {"seeds": 4, "out": tmp_path / "out", "workers": 2, "progress": False}
    assert sweep(function=edited_file.give, **how)["value"].tolist() == [1] * 4
    file.write_text("def give(seed):\n    return [{'value': 22}]\n")
    importlib.reload(edited_file)
    assert sweep(function=edited_file.give, **how)["value"].tolist() == [22] * 4


# ---------------------------------------------------------------- what goes wrong

def test_a_cell_that_raises_stops_nobody_and_is_tried_again(tmp_path, calls):
    out = tmp_path / "out"
    with pytest.warns(UserWarning, match=r"1 of 6 cells failed.*number 2: ValueError: 2 is not to be had"):
        rows = run_cells(cells_of(calls, breaks=(2,)), out, strict=False, **QUIET)["rows"]
    assert rows["number"].unique().tolist() == [0, 1, 3, 4, 5]
    table = status(out).set_index("number")
    assert table["state"].tolist() == ["finished"] * 2 + ["failed"] + ["finished"] * 3
    assert "in draw" in table["traceback"][2] and table["error"][2] == "ValueError: 2 is not to be had"
    with pytest.raises(CellsFailed, match="number 2"):
        run_cells(cells_of(calls, breaks=(2,)), out, **QUIET)
    assert called(calls).count(2) == 2 and len(called(calls)) == 7
    looked = CliRunner().invoke(app, ["sweep", "--status", str(out)])
    assert "6 cells of the last call, 5 finished, 1 failed, 0 missing" in looked.output and looked.exit_code == 1
    assert looked.output.count("not to be had") >= 2


def test_a_cell_that_hangs_is_ended_by_its_time_limit(tmp_path, calls):
    cells = [Cell({"number": number}, draw, (number, str(calls), (), nap)) for number, nap in enumerate((0.0, 30.0))]
    with pytest.warns(UserWarning, match="number 1: TimeLimit: took longer than the 3 seconds"):
        rows = run_cells(cells, tmp_path / "out", time_limit=3, strict=False, **QUIET)["rows"]
    assert rows["number"].unique().tolist() == [0]


@pytest.mark.posix
def test_a_full_disk_loses_nothing_that_is_finished(tmp_path, calls):
    """A limit on the size of files stands for the disk: the large cell cannot be written, the small ones are."""
    code = f"""
        import resource, sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from noted_cells import cells_of, grow
        from pushlab.studies.cells import Cell, run_cells
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        run_cells([*cells_of({str(calls)!r}, 3), Cell({{"number": 9}}, grow)], {str(tmp_path / "out")!r}, 1)
    """
    told = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True).stderr
    assert "File too large" in told and "make room in" in told and str(tmp_path / "out") in told
    assert status(tmp_path / "out")["state"].tolist() == ["finished"] * 3 + ["missing"]
    run_cells([*cells_of(calls, 3), Cell({"number": 9}, grow)], tmp_path / "out", **QUIET)
    assert called(calls) == [0, 1, 2] and set(status(tmp_path / "out")["state"]) == {"finished"}


def test_the_folder_of_another_sweep_is_refused(tmp_path, calls):
    out = tmp_path / "out"
    run_cells(cells_of(calls, 1), out, about={"steps": 5}, **QUIET)
    with pytest.raises(FileExistsError, match="told apart by number and not by name"):
        run_cells([Cell({"name": "a"}, draw_in_parts, (0, str(calls)))], out, **QUIET)
    with pytest.raises(FileExistsError, match="with steps 5 and not 6"):
        run_cells(cells_of(calls, 1), out, about={"steps": 6}, **QUIET)
    other = tmp_path / "thesis"
    other.mkdir()
    (other / "chapter.tex").touch()
    with pytest.raises(FileExistsError, match="no folder of a sweep"):
        run_cells(cells_of(calls, 1), other, **QUIET)
    with pytest.raises(FileNotFoundError, match="cells.csv"):
        status(other)
    with pytest.raises(ValueError, match="there twice"):
        run_cells([*cells_of(calls, 1), *cells_of(calls, 1)], out, **QUIET)


def test_a_table_of_older_cells_goes_when_all_fail_and_what_is_not_ours_stays(tmp_path, calls):
    out = tmp_path / "out"
    run_cells(cells_of(calls, 2), out, **QUIET)
    (out / "my_summary.csv").write_text("mine\n")
    (out / "cells" / "my.my_summary.csv").write_text("mine\n")
    with pytest.raises(CellsFailed):
        run_cells(cells_of(calls, 2, breaks=(0, 1)), out, **QUIET)
    assert not (out / "rows.csv").exists() and (out / "my_summary.csv").read_text() == "mine\n"


def test_a_cell_that_takes_its_process_along_is_named_and_the_others_are_done(tmp_path, calls):
    cells = [Cell({"number": number}, leave, (number, str(calls))) for number in range(30)]
    with pytest.warns(UserWarning, match="1 of 30 cells failed.*number 3: its process was killed"):
        rows = run_cells(cells, tmp_path / "out", 2, progress=False, strict=False)["results"]
    assert rows["number"].tolist() == [number for number in range(30) if number != 3]
    assert status(tmp_path / "out").query("state == 'failed'")["number"].tolist() == [3]


def test_fresh_that_is_broken_off_keeps_what_it_did_not_reach(tmp_path, calls):
    cells = [Cell({"number": number}, stop, (number, str(calls))) for number in range(4)]
    run_cells(cells, tmp_path / "out", **QUIET)
    calls.with_name("broken").touch()
    with pytest.raises(KeyboardInterrupt):
        run_cells(cells, tmp_path / "out", fresh=True, **QUIET)
    assert (status(tmp_path / "out")["state"] == "finished").sum() == 4     # what was finished stays


# ---------------------------------------------------------------- killed

KILLED = """
    import sys
    sys.path.insert(0, {tests!r})
    from noted_cells import cells_of
    from pushlab.studies.cells import run_cells
    if __name__ == "__main__":
        run_cells(cells_of({calls!r}, 40), {out!r}, 2, progress=False)
"""


@pytest.mark.posix
@pytest.mark.parametrize("how", ["SIGKILL", "SIGINT"])
def test_a_sweep_that_is_killed_goes_on_where_it_stopped(tmp_path, calls, how):
    out, script = tmp_path / "out", tmp_path / "script.py"
    script.write_text(textwrap.dedent(KILLED).format(tests=str(Path(__file__).parent), calls=str(calls), out=str(out)))
    hold = calls.with_name("hold")
    hold.touch()
    one = subprocess.Popen([sys.executable, str(script)], start_new_session=True, stderr=subprocess.DEVNULL)
    while len(list(out.glob("cells/*.json"))) < 10:
        assert one.poll() is None
        time.sleep(0.1)
    os.killpg(one.pid, getattr(signal, how))
    one.wait()
    time.sleep(0.3)                                     # for workers that were in the middle of one
    hold.unlink()
    finished, before = status(out).query("state == 'finished'")["number"].tolist(), called(calls)
    assert finished == list(range(10)) and len(before) < 40
    run_cells(cells_of(calls, 40), out, 2, progress=False)
    again = list((Counter(called(calls)) - Counter(before)).elements())
    assert sorted(finished + again) == list(range(40))
    rows = run_cells(cells_of(calls, 40), False, **QUIET)["rows"]
    assert (out / "rows.csv").read_text() == rows.to_csv(index=False, lineterminator="\n")


@pytest.mark.posix
@pytest.mark.parametrize("workers", [1, 2])
def test_sigterm_ends_a_command_and_the_processes_that_it_began(tmp_path, workers):
    (tmp_path / "mine.py").write_text("import os, time\n\n\ndef hang(number):\n"
                                      "    open(f'pid {os.getpid()}', 'w').close()\n    time.sleep(3000)\n")
    (tmp_path / "grid.json").write_text('{"function": "mine:hang", "grid": {"number": [1, 2]}, "seeds": null}')
    here = os.environ | {"PYTHONPATH": str(Path(__file__).parent.parent)}
    words = "-P -m pushlab sweep grid.json --out out --workers".split()
    command = subprocess.Popen([sys.executable, *words, str(workers)], cwd=tmp_path, env=here, start_new_session=True,
                               stderr=subprocess.DEVNULL)
    end = time.monotonic() + 600
    try:
        while len(begun := [int(path.name[4:]) for path in tmp_path.glob("pid *")]) < workers:
            assert command.poll() is None and time.monotonic() < end
            time.sleep(0.1)
        command.terminate()
        assert command.wait(600) == 143
        while any(map(_lives, begun)) and time.monotonic() < end:
            time.sleep(0.1)
        assert not any(map(_lives, begun))
    finally:
        with suppress(ProcessLookupError):
            os.killpg(command.pid, signal.SIGKILL)


def _lives(number):
    try:
        os.kill(number, 0)
        return True
    except ProcessLookupError:
        return False


@pytest.mark.posix
def test_dask_loses_a_worker_and_the_sweep_is_complete(tmp_path, calls):
    """Two processes, one of them killed in the middle: the rows are those of one core; nothing finished runs again."""
    from dask.distributed import Client, LocalCluster

    out, cells = tmp_path / "out", cells_of(calls, 40, breaks=(), nap=0.05)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster, \
            Client(cluster) as client, parallel_config("dask"):
        first = next(iter(client.run(os.getpid).values()))
        client.get_executor().submit(end_after, calls, 10, first)
        rows = run_cells(cells, out, progress=False)["rows"]
        assert not Path(f"/proc/{first}").exists() or first not in client.run(os.getpid).values()
        assert set(called(calls)) == set(range(40))
        before = called(calls)
        again = run_cells(cells, out, progress=False)["rows"]
    assert called(calls) == before and again.equals(rows)
    assert rows.equals(run_cells(cells_of(calls, 40, breaks=(), nap=0.0), False, **QUIET)["rows"])


def end_after(calls, count, process):
    while len(called(calls)) < count:
        time.sleep(0.01)
    os.kill(process, signal.SIGKILL)


# ---------------------------------------------------------------- the grid

def test_a_sweep_is_its_rollouts():
    agents = {"thompson": ThompsonSampling, "random": "RandomCandidate"}
    log = sweep(agents, [ENV], seeds=[3, 5], steps=40, episodes=2, tests=1, out=False, **QUIET)
    assert log[["env", "agent", "seed"]].drop_duplicates().to_numpy().tolist() == [
        [f"evalumap2-v0 user={user}", agent, seed] for user in ("mira", "theo") for agent in agents for seed in (3, 5)]
    mine = log.query("agent == 'thompson' and seed == 5 and env.str.endswith('theo') and block_type == 'train'")
    env = gym.make("pushlab/evalumap2-v0", user="theo")
    alone = rollout(env, ThompsonSampling(), 2, seed=5, steps=40, record="episodes", progress=False)
    assert mine["return"].tolist() == alone["return"].tolist()
    assert (log["block_type"] == "test").sum() == 8
    other = sweep(agents, [ENV], seeds=[3, 5], steps=40, episodes=2, tests=1, out=False, workers=2, progress=False)
    assert other.equals(log)


def test_lifetimes_and_functions_are_cells_too(tmp_path):
    def area(width, height, seed):
        return [{"area": width * height + seed}]

    grid = {"width": [1, 2], "height": {"low": 3, "high": 5}}
    table = sweep(function=area, grid=grid, seeds=2, out=tmp_path, **QUIET)
    assert table["area"].tolist() == [3, 4, 5, 6, 6, 7, 10, 11]
    assert table["height"].tolist()[:3] == ["low", "low", "high"]
    from pushlab.lifetimes.live import run_syllabus
    from pushlab.studies.lifelong import users_syllabus

    short = users_syllabus("mira", "theo", train=2, test=1)
    log = sweep({"random": RandomAgent}, syllabi={"aba": short}, seeds=2, out=False, **QUIET)
    alone = run_syllabus(short, RandomAgent(), 1, progress=False)
    assert log.query("seed == 1")["reward"].tolist() == alone["reward"].tolist()


def test_threads_do_not_share_environments():
    """A dask worker may have several threads."""
    how = {"seeds": 4, "steps": 60, "out": False, "progress": False}
    with parallel_config("threading"):
        log = sweep([ThompsonSampling, "RandomCandidate"], [ENV], workers=4, **how)
    assert log.equals(sweep([ThompsonSampling, "RandomCandidate"], [ENV], workers=1, **how))


class Deaf(Agent):
    """Hangs in its first episode under seed 0, whatever it is told."""

    def begin(self, env, seed):
        end = time.monotonic() + (15 if seed == 0 else 0)
        while time.monotonic() < end:
            with suppress(Exception):
                time.sleep(0.01)

    def act(self, observation, info, explore=True):
        return 0


def test_who_hangs_spoils_no_other_cell():
    how = {"seeds": [0, 1, 2], "steps": 5, "out": False, **QUIET}
    with pytest.warns(UserWarning, match="TimeLimit"):
        log = sweep([Deaf], ["pushlab/RECEnv-v0"], time_limit=4, **how)
    alone = sweep([Deaf], ["pushlab/RECEnv-v0"], **{**how, "seeds": [1, 2]})
    assert log["return"].tolist() == alone["return"].tolist()


def test_a_function_may_be_a_generator_and_a_wrapper_may_remember(tmp_path):
    def count(up, seed, done=()):
        for number in range(len(done), up):
            yield {"rows": [{"number": number}]}

    assert sweep(function=count, grid={"up": [2]}, out=tmp_path, **QUIET)["rows"]["number"].tolist() == [0, 1]

    def normalised():
        return gym.wrappers.NormalizeReward(gym.make("pushlab/RECEnv-v0"))

    how = {"steps": 5, "out": False, **QUIET}
    many = sweep(["RandomAgent"], {"normalised": normalised}, seeds=4, **how)
    alone = sweep(["RandomAgent"], {"normalised": normalised}, seeds=[3], **how)
    assert many["return"].tolist()[3:] == alone["return"].tolist()


@pytest.mark.parametrize("what", [{"kwargs": {"random_state": 5}}, {"max_episode_steps": 2}])
def test_arguments_of_a_registered_environment_count(what):
    def content():
        return next(iter(sweep_axes())).content

    def sweep_axes():
        axes = {"env": read_specs("envs", "Mine-v0")}
        make_sure(axes)
        return axes["env"].values()

    how = {"id": "Mine-v0", "entry_point": "pushlab.envs.shell:Env"}
    world = {"world": "pushlab.envs.rec.world:RECEnv"}
    gym.register(**how, kwargs=world)
    before = content()
    gym.registry.pop("Mine-v0")
    gym.register(**how, **{**what, "kwargs": world | what.get("kwargs", {})})
    try:
        assert content() != before
    finally:
        gym.registry.pop("Mine-v0")


class Breaks(Agent):
    def act(self, observation, info, explore=True):
        return 99


def test_an_agent_outside_the_space_is_told_with_its_cell(tmp_path):
    with pytest.warns(UserWarning, match="Breaks"):
        log = sweep([Breaks, RandomAgent], ["pushlab/RECEnv-v0"], steps=3, out=tmp_path, **QUIET)
    assert log["agent"].tolist() == ["RandomAgent"]
    assert "99" in status(tmp_path).query("agent == 'Breaks'")["error"].item()


def test_what_nothing_can_be_made_of_is_said_at_once():
    with pytest.raises(BadData) as told:
        sweep({"a": "LinUCBB", "b": 7, "c": "RandomAgent"},
              ["pushlab/nope-v0", {"env": "pushlab/push-v0", "user": "nobody"}], out=False)
    assert len(told.value.faults) == 4
    for words in ("agent a: 'LinUCBB' is no agent of pushlab.agents (such as LinUCB)", "agent b:", "nope", "nobody"):
        assert words in str(told.value)
    with pytest.raises(ValueError, match="twice"):
        sweep(["RandomAgent", "RandomAgent"], ["pushlab/RECEnv-v0"], out=False)
    with pytest.raises(ValueError, match="agents and either envs or syllabi"):
        sweep(["RandomAgent"])
    with pytest.raises(BadData, match="agent odd: the content of .* cannot be told; give a name or a factory"):
        sweep({"odd": {"agent": RandomAgent, "file": sys.stdout}}, ["pushlab/RECEnv-v0"], out=False)
    for more, words in (({"seeds": []}, "no seed: the list is empty"), ({"grid": {"a": [[1]]}}, "have labels"),
                        ({"grid": {"file": [1]}}, "another name than file"), ({"time_limit": 0}, "time_limit"),
                        ({"grid": {"a": [1, True]}}, "a value twice"), ({"grid": {"a": "linear"}}, "list of values"),
                        ({"grid": [1]}, "axis: values"), ({"seeds": [1, 1]}, "twice"), ({"steps": 0}, "steps")):
        with pytest.raises(ValueError, match=words):
            sweep(function=note, out=False, **more)


def test_a_cell_does_not_depend_on_other_agents():
    """An edit of one agent's file runs none of the others again."""
    assert not {"pushlab.agents.bandits", "pushlab.agents.push"} & reached("pushlab.studies.sweep")


def test_grids_come_from_json_and_yaml_and_their_faults_are_told(tmp_path):
    agents = [{"agent": "EpsilonGreedy", "name": "eps", "epsilon": 0.2}]
    grid = {"agents": agents, "envs": [ENV], "seeds": 2, "steps": 9}
    file = tmp_path / "grid.json"
    file.write_text(json.dumps(grid))
    assert read_grid(file) == grid
    for name, text in (("small.json", '{"time_limit": 1e-3}'), ("small.yaml", "time_limit: 1e-3")):
        (tmp_path / name).write_text(text)
        assert read_grid(tmp_path / name) == {"time_limit": 0.001}
    done = CliRunner().invoke(app, ["sweep", str(file), "--out", str(tmp_path / "out"), "--workers", "1"])
    assert done.exit_code == 0 and "4 cells of the last call, 4 finished, 0 failed, 0 missing" in done.output
    table = pd.read_csv(tmp_path / "out" / "results.csv")
    assert table["agent"].unique().tolist() == ["eps"] and (table["length"] == 9).all()
    for text, words in (("seedz: 3\n", "grid.yaml, key seedz"), ("- 1\n", "a mapping"),
                        ("a: [1\nb: 2", "grid.yaml, row"),
                        ("agents: [LinUCBB]\nenvs: [pushlab/RECEnv-v0]\n", "such as LinUCB")):
        (tmp_path / "grid.yaml").write_text(text)
        told = CliRunner().invoke(app, ["sweep", str(tmp_path / "grid.yaml"), "--out", str(tmp_path / "new")])
        assert told.exit_code == 1 and words in told.output, told.output


# ---------------------------------------------------------------- tables

@pytest.mark.parametrize(("rows", "words"), [
    (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns"),
    (pd.DataFrame([[1, 2]], columns=[1, "1"]), "two columns"),
    ([{"number": 99}], "so have the labels"), ([{"a": pd.Timestamp("2026-01-01")}], "holds numbers, words"),
    ([{"a": "\ud800"}], "surrogates")])
def test_tables_that_no_file_holds_fail_their_cell_alone(tmp_path, rows, words):
    with pytest.raises(CellsFailed, match=words):
        run_cells([Cell({"number": 1}, give, (rows,), data=words), Cell({"number": 2}, give, ([{"a": 2**63 + 5}],))],
                  tmp_path, **QUIET)
    assert status(tmp_path)["state"].tolist() == ["failed", "finished"]


def give(rows):
    return rows


def test_groups_of_a_table_are_columns(tmp_path):
    rows = pd.DataFrame({"user": ["a", "a", "b"], "value": [1.0, 2.0, 3.0]}).groupby("user").mean()
    back = run_cells([Cell({"number": 1}, give, (rows,))], tmp_path, **QUIET)["results"]
    assert back.to_dict("list") == {"number": [1, 1], "user": ["a", "b"], "value": [1.5, 3.0]}


VALUES = st.one_of(st.floats(), st.integers(-2**62, 2**62), st.text(max_size=5), st.booleans(), st.none(),
                   st.lists(st.integers(0, 9), max_size=3))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(*(st.lists(kind, min_size=2, max_size=2) for kind in
                            (st.floats(), st.booleans(), st.text(max_size=5), VALUES))), min_size=1, max_size=4))
def test_tables_come_back_as_they_were(columns):
    rows = pd.DataFrame({f"column {at}": values for at, values in enumerate(columns)})
    back = gather([{"number": 3}], [{"rows": encode("rows", rows)}])["rows"]
    assert (back.pop("number") == 3).all()
    for name in rows:
        for was, now in zip(rows[name], back[name]):
            assert was == now or pd.isna(was) and pd.isna(now), (was, now)
            assert isinstance(now, str) == isinstance(was, str)
