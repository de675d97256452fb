"""The cold-start study: its arithmetic, that the shipped CSV is what it says."""

import inspect
from importlib import import_module

import gymnasium as gym
import numpy as np
import pytest

import pushlab  # noqa: F401
from pushlab import agents, plots
from pushlab.datasets.reading import load_user
from pushlab.ground.files import data_dir
from pushlab.logs.rollout import rollout
from pushlab.studies import cold_start
from pushlab.studies.cold_start import AGENTS, BASELINES, CHOSEN, USERS, comparison_table, read_study
from pushlab.users import synthesis
from pushlab.users.judges import judge_for

STUDIES = ("causal", "cold_start", "interventions", "lifelong", "managing_arrivals", "offpolicy")


@pytest.fixture(scope="module")
def kim(tmp_path_factory):
    """The folder of a small private user, as text."""
    folder = tmp_path_factory.mktemp("users")
    synthesis.write_user(synthesis.make_user(seed=31, name="kim", open_rate=0.4, per_quarter=250), folder / "kim")
    synthesis.write_catalogue(folder)
    return str(folder / "kim")


# ---------------------------------------------------------------- the cold start

def test_a_job_is_what_rollouts_give(kim):
    env = gym.make("pushlab/evalumap2-v0", user=kim, reveal=True)
    tables = [cold_start.run_agent(env, agents.ThompsonSampling(), seed) for seed in range(2)]
    run, windows = tables[1]["runs"][0], tables[1]["windows"]
    log = rollout(env, agents.ThompsonSampling(), seed=1, progress=False)
    regret = (log["info.best"] - log["info.probability"]).to_numpy()
    assert run["steps"] == len(log)
    assert run["regret_last"] == pytest.approx(regret[-(len(log) // 4):].mean())
    assert run["opened"] == pytest.approx(log["info.opened"].mean()) and run["floor_last"] >= 0
    assert [row["regret"] for row in windows] == pytest.approx([regret[:100].mean(), regret[100:200].mean()], abs=1e-12)
    assert [row["step"] for row in windows] == [100, 200]
    assert [row["reachable"] for row in windows] == [row["reachable"] for row in tables[0]["windows"]]


def test_the_command_writes_whole_files_and_prints_the_comparison(kim, tmp_path, capsys):
    out = tmp_path / "new" / "study.csv"
    cold_start.main(out, seeds=2, jobs=1, keep=tmp_path / "kept", fresh=True, user=[kim])
    runs, words = out.read_text(encoding="utf-8"), capsys.readouterr().out
    cold_start.main(out, seeds=2, jobs=1, keep=tmp_path / "kept", fresh=False, user=[kim])
    assert out.read_text(encoding="utf-8") == runs and "\r" not in runs
    assert sorted(path.name for path in out.parent.iterdir()) == ["study.csv", "study_curves.csv"]
    assert "kim" in words and "against" in words and "most opened" in words


def test_a_user_whose_truth_is_unknown_has_no_regret(kim, tmp_path):
    import shutil

    stranger = tmp_path / "ann"
    shutil.copytree(kim, stranger)
    (stranger / "truth.json").unlink()
    with pytest.raises(ValueError, match="regret cannot be told"):
        cold_start.run_study([str(stranger)], ("random",), seeds=2)


# ---------------------------------------------------------------- what is shipped

def test_the_shipped_study_is_complete_and_small():
    runs, curves = read_study()
    assert set(runs["user"]) == set(USERS) and set(runs["agent"]) == set(AGENTS)
    assert (runs.groupby(["user", "agent"])["seed"].nunique() == cold_start.SEEDS).all()
    assert set(curves.groupby(["user", "agent"]).size().groupby("user").nunique()) == {1}
    folder = data_dir() / "studies"
    assert sum(path.stat().st_size for path in folder.glob("cold_start*.csv")) < 300_000


def test_the_shipped_study_says_what_the_code_says_today():
    runs, curves = read_study()
    job = cold_start.run_agent(gym.make("pushlab/evalumap2-v0", user="omar", reveal=True), AGENTS[CHOSEN](), 1)
    row = runs.query("user == 'omar' and agent == @CHOSEN and seed == 1").iloc[0]
    assert row["regret_last"] == pytest.approx(job["runs"][0]["regret_last"], abs=1e-5)
    assert row["opened"] == pytest.approx(job["runs"][0]["opened"], abs=1e-5)
    best = curves.query("user == 'omar' and agent == @CHOSEN")["best"]
    assert best.to_numpy() == pytest.approx([row["best"] for row in job["windows"]], abs=1e-5)


def test_the_chosen_agent_has_less_regret_than_the_baselines():
    table = comparison_table(read_study()[0])
    better = table[table["sure"] & (table["difference"] < 0)].groupby("user")["against"].nunique()
    assert (better == len(BASELINES)).sum() >= 4


def test_the_floor_is_the_regret_of_the_best_candidate():
    user, (runs, _) = load_user("noor"), read_study()
    codes = user.test.context_codes[-(len(user.test) // 4):]
    env = gym.make("pushlab/evalumap2-v0", user=user)
    grid = [judge_for(user).probability(codes, np.tile(row, (len(codes), 1)))
            for row in env.unwrapped.world.candidates]
    row = runs.query("user == 'noor'").iloc[0]
    assert row["best_last"] - row["floor_last"] == pytest.approx(np.max(grid, axis=0).mean(), abs=2e-5)
    assert (runs["regret_last"] >= runs["floor_last"])[runs["agent"] != "random features"].all()


def test_curves_lie_within_their_intervals_and_below_the_bound():
    _, curves = read_study()
    for name in ("opened", "regret"):
        assert ((curves[f"{name}_low"] <= curves[name]) & (curves[name] <= curves[f"{name}_high"])).all()
    catalogue = curves[curves["agent"] != "random features"]    # senseless combinations may be opened more
    assert (catalogue["regret"] >= 0).all() and np.isfinite(curves.select_dtypes("number")).all(axis=None)


# ---------------------------------------------------------------- its pictures

def test_the_pictures_say_what_the_tables_hold():
    runs, curves = read_study()
    ax = plots.study_curves(curves, "noor")
    line = curves.query("user == 'noor' and agent == 'Thompson'")
    assert any(np.array_equal(drawn.get_ydata(), line["opened"]) for drawn in ax.lines)
    table = comparison_table(runs)
    drawn = {tuple(line.get_xdata()) for line in plots.study_differences(table).lines}
    assert set(zip(table["low"], table["high"])) <= drawn


def test_a_picture_of_nobody_names_who_is_there():
    _, curves = read_study()
    with pytest.raises(ValueError, match="the users mira"):
        plots.study_curves(curves, "nobody")
    with pytest.raises(ValueError, match="opened, regret"):
        plots.study_curves(curves, "mira", "reward")


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_takes_the_options_that_all_share(name):
    options = inspect.signature(import_module(f"pushlab.studies.{name}").main).parameters
    assert {"out", "jobs", "keep", "fresh"} <= set(options)
