"""The cold-start study: its arithmetic, that it goes on where it stopped, and that the shipped CSV is what it says."""

import json

import gymnasium as gym
import numpy as np
import pytest

import pushlab  # noqa: F401
from pushlab import agents, plots
from pushlab.datasets.reading import load_user
from pushlab.ground.files import data_dir
from pushlab.logs.rollout import rollout
from pushlab.studies import cold_start
from pushlab.studies.cold_start import AGENTS, BASELINES, CHOSEN, USERS, comparison_table, read_study, run_study
from pushlab.users import synthesis
from pushlab.users.judges import judge_for

TWO_AGENTS = ("random", "Thompson")


@pytest.fixture(scope="module")
def kim(tmp_path_factory):
    """The folder of a small private user, as text."""
    folder = tmp_path_factory.mktemp("users")
    synthesis.write_user(synthesis.make_user(seed=31, name="kim", open_rate=0.4, per_quarter=250), folder / "kim")
    synthesis.write_catalogue(folder)
    return str(folder / "kim")


def test_a_job_is_what_rollouts_give(kim):
    job = cold_start.run_job(kim, "Thompson", range(2))
    log = rollout(gym.make("pushlab/evalumap2-v0", user=kim), agents.ThompsonSampling(), seed=1, progress=False)
    regret = (log["info.best"] - log["info.probability"]).to_numpy()
    assert job["steps"] == len(log)
    assert job["last"]["regret"][1] == pytest.approx(regret[-(len(log) // 4):].mean())
    assert job["whole"]["opened"][1] == pytest.approx(log["info.opened"].mean())
    assert job["reachable"][1] == job["reachable"][0] and job["last"]["reachable"][0] <= job["last"]["best"][0]
    assert job["regret"][1] == pytest.approx([regret[:100].mean(), regret[100:200].mean()], abs=1e-12)


def test_a_study_goes_on_where_it_stopped(kim, tmp_path, monkeypatch):
    first = run_study([kim], TWO_AGENTS[:1], seeds=2, keep=tmp_path, progress=False)
    ran, run_job = [], cold_start.run_job

    def run_and_tell(user, agent, seeds):
        ran.append(agent)
        return run_job(user, agent, seeds)

    monkeypatch.setattr(cold_start, "run_job", run_and_tell)
    both = run_study([kim], TWO_AGENTS, seeds=2, keep=tmp_path, progress=False)
    assert ran == ["Thompson"] and both[kim, "random"] == first[kim, "random"]
    assert run_study([kim], TWO_AGENTS, seeds=2, keep=tmp_path, progress=False) == both and ran == ["Thompson"]
    torn = next(tmp_path.glob("kim-random-*.json"))
    torn.write_text(torn.read_text()[:50])                      # an interrupted copy, say
    assert run_study([kim], TWO_AGENTS, seeds=2, keep=tmp_path, progress=False) == both
    assert ran == ["Thompson", "random"] and json.loads(torn.read_text()) == both[kim, "random"]


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
        run_study([str(stranger)], ("random",), seeds=2, keep=tmp_path / "kept", progress=False)


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
    job = cold_start.run_job("omar", CHOSEN, range(2))
    row = runs.query("user == 'omar' and agent == @CHOSEN and seed == 1").iloc[0]
    assert row["regret_last"] == pytest.approx(job["last"]["regret"][1], abs=1e-5)
    assert row["opened"] == pytest.approx(job["whole"]["opened"][1], abs=1e-5)
    best = curves.query("user == 'omar' and agent == @CHOSEN")["best"]
    assert best.to_numpy() == pytest.approx(job["best"][0], abs=1e-5)


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
