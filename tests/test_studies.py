"""The scripts in studies/ give the stored rows again."""

import os
import subprocess
import sys

import pandas as pd
import pytest
from scripts import STUDIES, load_script

from pushlab.agents import LinearQ
from pushlab.agents.treatment import examine, make_world
from pushlab.challenges.board import read_board
from pushlab.ground.files import data_dir
from pushlab.lifetimes.live import run_syllabus

TABLES = data_dir() / "studies"


def check_rows(found, file, labels, rtol=0, atol=1e-4):
    """Check that rows found are those stored with these labels, up to rounding."""
    stored = pd.read_csv(data_dir() / f"{file}.csv")
    for name, value in labels.items():
        stored = stored[stored[name] == value].drop(columns=name)
    found = pd.DataFrame(found)[list(stored)]
    stored = stored.set_axis(found.index)
    pd.testing.assert_frame_equal(
        found, stored, check_dtype=False, rtol=rtol, atol=atol
    )


def test_each_script_names_its_command():
    scripts = [path.stem for path in STUDIES.glob("*.py")]
    assert len(scripts) == 11
    for name in scripts:
        assert f"python studies/{name}.py --out data/" in load_script(name).__doc__


def test_a_script_writes_the_stored_rows(tmp_path):
    out = tmp_path / "again.csv"
    command = [sys.executable, STUDIES / "offpolicy.py", "--out", out]
    environment = os.environ | {"PUSHLAB_CACHE": str(tmp_path / "cache")}
    subprocess.run([*command, "--repetitions", "1"], check=True, env=environment)
    check_rows(pd.read_csv(out), "rec/offpolicy", {"repetition": 0})


COLD = {"user": "omar", "agent": "Thompson", "seed": 1}
ARRIVALS = {"user": "theo", "agent": "show all", "seed": 1}
LIFE = {"first": "mira", "second": "theo", "agent": "recognises", "seed": 4}
slow = pytest.mark.slow


# The table of a run, how far it may differ from the stored one, and the run's labels.
@pytest.mark.parametrize(
    ("script", "table", "atol", "labels"),
    [
        ("cold_start", "runs", 1e-4, COLD),
        ("managing_arrivals", "runs", 1e-4, ARRIVALS),
        pytest.param("lifelong", "tests", 2e-3, LIFE, marks=slow),
    ],
)
def test_a_run_comes_out_again(script, table, atol, labels):
    more = {"weights": {}} if script == "managing_arrivals" else {}
    found = load_script(script).run_one(**labels, **more)
    check_rows(found[table], f"studies/{script}", labels, atol=atol)


def test_memory_systems_come_out_again():
    labels = {"room": "ours", "agent": "semantic", "capacity": 8}
    found = load_script("room").run_one(*labels.values())
    check_rows(found, "room/memory", labels)


def test_the_stored_board_is_made_of_the_stored_tests():
    made = load_script("lifelong").board_table(pd.read_csv(TABLES / "lifelong.csv"))
    board = read_board(TABLES / "lifelong_board.csv")
    for name in ("reward", "forgotten"):
        assert made[name].tolist() == pytest.approx(board[name].tolist(), abs=2e-3)


@slow
@pytest.mark.parametrize("name", ["towns", "changes", "kinds"])
def test_lifetimes_come_out_again(name):
    study = load_script("lifetimes")
    log = run_syllabus(study.SYLLABI[name], LinearQ(), 1, progress=False)
    stored = pd.read_csv(TABLES / f"lifetimes_{name}.csv")["linear Q 1"]
    found = study.table_of({"linear Q": [log]})["linear Q 0"]
    assert found.tolist() == pytest.approx(stored.tolist(), abs=1e-4)


def test_replaying_the_best_treatment_gives_its_stored_outcome():
    study = load_script("interventions")
    rounds = pd.read_csv(data_dir() / "ode" / "fitted_q_rounds.csv")
    best = study.best_of(rounds[rounds["policy"] == "fitted Q iteration"])
    patient = pd.read_csv(data_dir() / "ode" / "fitted_q_patient.csv")
    schedule = patient["action"].tolist()[:200]
    found, *_ = examine(make_world(), study.following([*schedule, *[0] * 200]))
    assert found["return"] == pytest.approx(best["return"], rel=1e-5)
    table = study.patient_table(make_world(), schedule)
    check_rows(table, "ode/fitted_q_patient", {}, rtol=1e-5)
    found = study.run_one(0, rounds=2, patients=2, trees=2)
    assert [row["steps"] for row in found["rounds"]] == [400, 800]


@slow
def test_an_imitation_comes_out_again():
    study = load_script("imitation")
    world = make_world()
    found = study.imitate(world, study.make_teacher(world), "learner", 0, 8)
    labels = {"who": "learner", "depth": 8, "seed": 0}
    check_rows(found, "ode/imitation", labels, rtol=1e-4)


@slow
@pytest.mark.parametrize("method", ["mean_interval", "median_time"])
def test_the_stored_coverage_comes_out_again(method):
    table = pd.read_csv(TABLES / "coverage.csv")
    rows = table.query("method == @method and distribution == 'normal' and runs == 5")
    found = load_script("interval_coverage").kept(method, "normal", 5)
    assert rows["kept"].tolist() == [found]


@slow
def test_the_causal_tables_have_the_stored_columns():
    study = load_script("causal")
    study.DRAWS = study.FEWER = 2
    study.SIZES = (50,)
    for name in ("kinds", "sizes", "clips", "policies"):
        found = pd.DataFrame(study.run_one(name, "zika")[name])
        stored = pd.read_csv(data_dir() / "causal" / f"{name}.csv")
        assert set(stored) == {*found, "model"}
