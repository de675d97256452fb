"""The benchmark: what agents may be, what they get, what is counted, and that what ships can be made again."""

import copy

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from gymnasium.spaces import Box, Discrete
from typer.testing import CliRunner

from pushlab import load_user
from pushlab.__main__ import app
from pushlab.agents import Agent, Constant, RandomAgent
from pushlab.ground.files import data_dir
from pushlab.studies.bench import agents as bench_agents
from pushlab.studies.bench.anchors import KnowingPlanner, returns, rolled_plan, varied
from pushlab.studies.bench.command import REFERENCE, SEEDS, add_rows, content_of, read_reference, run_bench
from pushlab.studies.bench.protocol import JUDGED, load_agent, run_cell
from pushlab.studies.bench.tasks import ABILITIES, KINDS, QUICK, VERSION, VERSIONS, find_task, read_tasks, task_table
from pushlab.studies.bench.views import ORACLE, BudgetSpent, DoesNotFit, Trial, standard
from pushlab.studies.specs import content_of_env, user_content

REC = find_task("recommender-drift", QUICK)._replace(steps=200, episodes=3)


def scored(make, task, seed=0):
    return run_cell(make, task, seed)["scores"][0]


# ---------------------------------------------------------------- the tasks

def test_two_tasks_or_more_of_every_system_and_every_ability_is_asked_for():
    tasks = read_tasks()
    assert len(tasks) == len({task.name for task in tasks}) >= 14
    assert pd.Series([task.system for task in tasks]).value_counts().min() >= 2
    assert {ability for task in tasks for ability in task.abilities} == set(ABILITIES)
    assert {task.kind for task in tasks} == set(KINDS)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_best_of_every_task_lies_above_chance_and_says_where_it_is_from(version):
    table = task_table(version)
    assert (table["best"] > table["random"]).all() and table["best_from"].str.len().min() > 10


@pytest.mark.parametrize("task", [task for task in read_tasks(QUICK) if task.kind != "lifetime"],
                         ids=lambda task: task.name)
def test_the_standard_form_is_a_discrete_action_and_a_flat_box(task):
    trial = Trial(standard(task.make(task.each[0]), task), task, seed=3)
    observation, _ = trial.reset()
    assert type(trial.action_space) is Discrete and type(trial.observation_space) is Box
    assert trial.observation_space.dtype == np.float32 and len(trial.observation_space.shape) == 1
    for _ in range(5):
        assert trial.observation_space.contains(observation)
        allowed = np.flatnonzero(trial.action_masks())
        observation, *_ = trial.step(int(allowed[-1]))


# ---------------------------------------------------------------- budgets and seeds

class Noting(RandomAgent):
    """Notes what it is shown at the beginning of each episode."""

    seen: list = []

    def act(self, observation, info, explore=True):
        self.seen.append((tuple(np.round(observation, 12).tolist()), explore))
        return super().act(observation, info, explore)

    def learn(self, transition):
        pass


def test_training_keeps_to_the_budget_and_never_meets_an_episode_of_the_judging():
    Noting.seen = []
    assert scored(Noting, REC)["steps"] == 200
    learning, judged = ({seen for seen, explore in Noting.seen if explore == which} for which in (True, False))
    assert sum(explore for _, explore in Noting.seen) == 201       # the last action was chosen and not taken
    assert learning and judged and not learning & judged


def test_agents_are_judged_in_the_same_episodes_whatever_seed_they_ask_for():
    firsts = []
    for seed in (0, 5):
        trial = Trial(REC.make(REC.each[0], judged=True), REC, JUDGED)
        firsts.append(np.concatenate([trial.reset(seed=seed)[0] for _ in range(3)]))
    assert (firsts[0] == firsts[1]).all()


class Greedy(Agent):
    """A training loop of its own, which would go on for ever."""

    def train(self, env, steps, seed):
        assert steps == 200 and 0 <= seed < 2**32
        while True:
            env.reset()
            over = False
            while not over:
                _, _, terminated, truncated, _ = env.step(0)
                over = terminated or truncated

    def act(self, observation, info, explore=True):
        return 0


def test_a_training_loop_of_its_own_is_stopped_at_the_budget():
    assert scored(Greedy, REC) == {**scored(lambda: Constant(0), REC), "steps": 200}
    trial = Trial(REC.make(REC.each[0]), REC, 0, budget=1)
    trial.reset()
    trial.step(0)
    with pytest.raises(BudgetSpent, match="the 1 steps of recommender-drift"):
        trial.step(0)


def test_what_a_loop_leaves_of_an_online_task_is_lived_without_learning():
    class Lazy(Greedy):
        standard = True

        def train(self, env, steps, seed):
            env.reset()
            env.step(1)

        def act(self, observation, info, explore=True):
            assert not explore
            return 1

    task = find_task("cold-start-first", QUICK)
    task = task._replace(steps=10, arguments={"user": "mira"})
    assert scored(Lazy, task)["steps"] == 10


def test_offline_an_agent_is_shown_the_history_once_or_meets_a_simulation_of_it():
    task = find_task("offline-hard", QUICK)._replace(steps=50, arguments={"user": "noor", "candidates": "catalogue"})
    shown = []

    class Reader(RandomAgent):
        def fit(self, history):
            shown.append(len(history.opened))

        def learn(self, transition):
            raise AssertionError("it has a fit")

    class Learner(RandomAgent):
        def begin(self, env, seed):
            super().begin(env, seed)
            shown.append(env.unwrapped.world.judge.name)

        def learn(self, transition):
            pass

    assert scored(Reader, task)["steps"] == 0 and shown == [len(load_user("noor").history.opened)]
    assert scored(Learner, task)["steps"] == 50
    assert shown[1:] == ["logistic", "truth"]


# ---------------------------------------------------------------- the rules

class Reaching(RandomAgent):
    """Random; while it is scored it does first what `reach` does to its environment."""

    def begin(self, env, seed):
        super().begin(env, seed)
        self.env = env

    def act(self, observation, info, explore=True):
        if not explore:
            self.reach(self.env)
        return super().act(observation, info, explore)


@pytest.mark.parametrize("reach, error, message", [
    (lambda env: env.reset(), RuntimeError, "a reset of its own"),
    (lambda env: env.step(0), RuntimeError, "a step of its own"),
    (lambda env: setattr(env, "total", 1e6), AttributeError, "total"),
    (lambda env: setattr(env, "spent", 0), AttributeError, "spent"),
    (lambda env: setattr(env, "episodes", 1), AttributeError, "episodes"),
    (lambda env: setattr(env, "budget", None), AttributeError, "budget")])
def test_while_it_is_scored_an_agent_only_acts(reach, error, message):
    agent = type("Agent", (Reaching,), {"reach": staticmethod(reach)})
    with pytest.raises(error, match=message):
        run_cell(agent, REC, 0)


@pytest.mark.parametrize("reach", [
    lambda env: env.unwrapped.step(0), lambda env: copy.deepcopy(env.unwrapped).step(0)])
def test_what_is_forbidden_and_not_checked_is_so_as_the_rules_and_security_say(reach):
    """Who makes one of these fail a run tells so in SECURITY.md and data/bench/README.md."""
    agent = type("Agent", (Reaching,), {"reach": staticmethod(reach)})
    assert np.isfinite(scored(agent, REC)["score"])


def test_an_online_task_is_not_begun_anew_where_it_is_easy():
    class Restarts(Greedy):
        def train(self, env, steps, seed):
            env.reset()
            env.step(env.world.candidates[0])
            env.reset()

    with pytest.raises(RuntimeError, match="cold-start-first: while it is scored"):
        run_cell(Restarts, find_task("cold-start-first", QUICK)._replace(arguments={"user": "mira"}), 0)


@pytest.mark.parametrize("name", ["cold-start-first", "offline-hard", "push-default", "recommender-drift", "credit"])
def test_agents_are_not_told_what_they_are_to_find_out(name):
    task = find_task(name, QUICK)
    trial = Trial(task.make(task.each[0]), task, 0)
    told = [trial.reset()[1], trial.step(trial.action_space.sample())[4]]
    assert not {*ORACLE} & {*told[0], *told[1]} and np.isfinite(trial.score)


# ---------------------------------------------------------------- agents that do not fit, and bad ones

@pytest.mark.parametrize("name, task, reason", [
    ("thompson", "push-default", "chooses among notifications; here one manages arriving notifications"),
    ("learned_memory", "hiv-early", "answers out of a memory"),
    ("offline_model", "cold-start-first", "is for offline tasks alone"),
    ("recognises", "push-default", "is for lifetime tasks alone")])
def test_what_does_not_fit_says_why(name, task, reason):
    told = run_cell(getattr(bench_agents, name), find_task(task, QUICK), 0)
    assert list(told) == ["unfit"] and reason in told["unfit"][0]["reason"]


def test_spaces_decide_what_fits():
    class Dense(RandomAgent):
        action_spaces = (Box,)

    reason = run_cell(Dense, REC, 0)["unfit"][0]["reason"]
    assert reason == "needs actions that are Box; this task has Discrete"
    assert "lived by act and learn" in run_cell(Greedy, find_task("life-users", QUICK), 0)["unfit"][0]["reason"]


def test_what_finds_out_later_that_it_does_not_fit_has_failed():
    class Gives(RandomAgent):
        def act(self, observation, info, explore=True):
            raise DoesNotFit("this episode is hard")

    with pytest.raises(DoesNotFit, match="this episode is hard"):
        run_cell(Gives, REC, 0)


def test_an_agent_without_a_name_is_called_as_its_class():
    class Bare:
        begin = learn = lambda self, *anything: None

        def act(self, observation, info, explore=True):
            return 0

    assert scored(Bare, REC)["score"] == scored(lambda: Constant(0), REC)["score"]


@pytest.mark.parametrize("name, message", [
    ("no_such_module:make", "no module:name that can be imported"), ("Nobody", "is no agent of pushlab.agents"),
    ("pushlab.studies.bench.tasks:VERSION", "module:make")])
def test_what_is_no_agent_is_said_with_what_one_is(name, message):
    with pytest.raises(ValueError, match=message):
        load_agent(name)


def test_what_is_made_and_no_agent_is_refused():
    with pytest.raises(TypeError, match="which is no agent; an agent is named as module:make"):
        run_cell(lambda: 3, REC, 0)
    with pytest.raises(TypeError, match=r"has no begin\(\)"):
        run_cell(lambda: type("Half", (), {"act": print})(), REC, 0)


BAD = '''
import time
from pushlab.agents import Constant, RandomAgent
class Raises(RandomAgent):
    def act(self, observation, info, explore=True):
        if len(observation) == 8:
            raise RuntimeError("no credit")
        return super().act(observation, info, explore)
def outside():
    return Constant(99)
class Slow(RandomAgent):
    def act(self, observation, info, explore=True):
        time.sleep(0.05)
        return super().act(observation, info, explore)
def nothing():
    return None
def nan():
    return RandomAgent()
'''


@pytest.fixture
def bad(tmp_path, monkeypatch):
    (tmp_path / "bad_agents.py").write_text(BAD)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_one_run_that_fails_leaves_the_others_and_its_traceback(bad):
    tables = run_bench(["bad_agents:Raises", "bad_agents:outside"], bad / "out", QUICK, ["credit", "recommender-drift"],
                       seeds=1, workers=1, progress=False)
    assert tables["scores"][["agent", "task"]].values.tolist() == [["Raises", "recommender-drift"]]
    told = tables["failed"].set_index(["agent", "task"])
    assert "RuntimeError: no credit" in told.loc[("Raises", "credit"), "reason"]
    assert "in act" in told.loc[("Raises", "credit"), "traceback"]
    assert told.loc[("outside", "credit"), "reason"] == (
        "ValueError: task credit, step 0: the action 99 lies outside Discrete(5)")
    assert (bad / "out" / "failed.csv").exists()


def test_a_run_that_takes_too_long_is_stopped(bad):
    tables = run_bench(["bad_agents:Slow"], bad / "out", QUICK, ["credit"], seeds=1, workers=1, time_limit=0.3,
                       progress=False)
    assert tables["scores"].empty and "0.3 seconds" in tables["failed"].loc[0, "reason"]


@pytest.mark.parametrize("options, message", [
    (["--agent", "bad_agents:nothing"], "which is no agent"), (["--agent", "bad_agents:nan"], "another name"),
    (["--agent", "pushlab.agents:RandomAgent", "--tasks", "credit,chess"], "chess")])
def test_the_command_says_what_is_wrong_before_it_runs_anything(bad, options, message):
    said = CliRunner().invoke(app, ["bench", *options, "--out", "out", "--quick"])
    assert said.exit_code == 2 and message in said.output and not (bad / "out").exists()


# ---------------------------------------------------------------- what is written, and what ships

def test_the_command_writes_scores_and_a_report_and_adds_rows_for_a_pull_request(tmp_path):
    said = CliRunner().invoke(app, ["bench", "--agent", "pushlab.studies.bench.agents:linucb", "--quick", "--tasks",
                                    "credit,room-4", "--workers", "1", "--out", str(tmp_path / "out"),
                                    "--reference", str(tmp_path / "rows.csv")])
    assert said.exit_code == 0, said.output
    assert "1 tasks do not fit, 0 runs failed" in said.output
    assert {"scores.csv", "unfit.csv", "failed.csv", "seconds.csv", "report.html", "report.json"} <= {
        file.name for file in (tmp_path / "out").iterdir()}
    rows = pd.read_csv(tmp_path / "rows.csv")
    assert rows["version"].tolist() == 3 * [QUICK] and list(rows) == REFERENCE


def test_rows_are_not_added_where_a_run_failed(bad):
    options = ["--quick", "--workers", "1", "--seeds", "1", "--tasks", "credit,recommender-drift"]
    said = CliRunner().invoke(app, ["bench", "--agent", "bad_agents:Raises", *options, "--out", "out", "--reference",
                                    "rows.csv"])
    assert said.exit_code == 1 and "rows.csv is as it was" in said.output and not (bad / "rows.csv").exists()


def test_a_folder_with_the_scores_of_others_is_refused(tmp_path):
    for text, message in (("agent,task,seed,score\nanother,credit,0,1\n", "holds the scores of another"),
                          ("x,y\n1,2\n", "is no table of the benchmark")):
        (tmp_path / "scores.csv").write_text(text)
        with pytest.raises(FileExistsError, match=message):
            run_bench(["pushlab.agents:RandomAgent"], tmp_path, QUICK, ["credit"], progress=False)
        assert (tmp_path / "scores.csv").read_text() == text


def test_own_scores_have_the_digits_of_the_reference(tmp_path):
    tables = run_bench(["pushlab.studies.bench.agents:linucb"], tmp_path, QUICK, ["credit"], workers=1, progress=False)
    reference = read_reference(QUICK).query("agent == 'linucb' and task == 'credit'").reset_index(drop=True)
    pd.testing.assert_frame_equal(tables["scores"], reference, check_exact=True)


def test_the_datasheet_says_of_each_task_what_the_tables_say():
    told = (data_dir() / "bench" / "README.md").read_text(encoding="utf-8")
    lines = {line.split("`")[1]: line for line in told.splitlines() if line.startswith("| `") and line.count("|") == 9}
    for task, row in zip(read_tasks(), task_table().itertuples()):
        parts = [task.unit, f"| {row.random:.4g} | {row.best:.4g} |", ", ".join(task.abilities)]
        parts += [f"{task.steps:,} (" if task.kind != "lifetime" else "the syllabus"]
        assert all(part in lines[task.name] for part in parts), task.name
    assert len(lines) == len(read_tasks())


def test_scores_are_the_same_byte_for_byte_on_one_core_and_on_two(tmp_path):
    names, texts = ["pushlab.studies.bench.agents:linucb"], []
    for workers in (1, 2):
        run_bench(names, tmp_path / str(workers), QUICK, ["credit", "room-4"], seeds=2, workers=workers, progress=False)
        texts.append((tmp_path / str(workers) / "scores.csv").read_bytes())
    assert texts[0] == texts[1]
    assert texts[0].startswith(b"agent,task,seed,score,normalised,steps\nlinucb,credit,0,-0.49")
    unfit = pd.read_csv(tmp_path / "1" / "unfit.csv")
    assert unfit["task"].tolist() == ["room-4"]


@pytest.mark.parametrize("make, tasks", [
    (bench_agents.linucb, ("cold-start-first", "credit", "opioid-2002")),
    (bench_agents.given_memory, ("room-4", "room-32"))])
def test_reference_rows_come_out_again_to_the_digit(make, tasks):
    reference = read_reference(QUICK).set_index(["agent", "task", "seed"])
    for task in tasks:
        for seed in range(SEEDS[QUICK]):
            shipped = reference.loc[(make.__name__.replace("_", "-"), task, seed), "score"]
            assert float(f"{scored(make, find_task(task, QUICK), seed)['score']:.9g}") == shipped


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_handed_in_is_of_one_form(version):
    """Rows of `reference.csv`: known tasks, all seeds once, finite scores; a line in `entrants.csv` for each agent."""
    table, entrants = (pd.read_csv(data_dir() / "bench" / f"{name}.csv") for name in ("reference", "entrants"))
    assert list(table) == REFERENCE and set(table["version"]) == set(VERSIONS) == set(entrants["version"])
    mine, told = (some[some["version"] == version] for some in (table, entrants))
    for (agent, task), rows in mine.groupby(["agent", "task"]):
        assert rows["seed"].tolist() == list(range(SEEDS[version])), f"{agent} on {task}: the seeds are 0, 1, 2, ..."
        assert find_task(task, version) and np.isfinite(rows["score"]).all(), f"{agent} on {task}: a score is a number"
    assert told["agent"].tolist() == sorted(set(mine["agent"])), "entrants.csv has a line for each agent, in order"
    assert (told["cpu_minutes"] > 0).all() and told["make"].str.contains(r"^[\w.]+:\w+$").all()
    assert mine["agent"].nunique() >= 8


def test_rows_are_added_in_place_of_older_ones(tmp_path):
    file = tmp_path / "reference.csv"
    file.write_bytes((data_dir() / "bench" / "reference.csv").read_bytes())
    old = pd.read_csv(file)
    mine = old[(old["agent"] == "linucb") & (old["version"] == VERSION)]
    add_rows(file, mine, VERSION)
    assert file.read_bytes() == (data_dir() / "bench" / "reference.csv").read_bytes()
    add_rows(file, mine.assign(score=1.5, agent="a-new-one")[:5], VERSION)
    new = pd.read_csv(file)
    assert len(new) == len(old) + 5 and new["version"].is_monotonic_increasing


def test_an_edited_world_or_user_is_another_task():
    told = {task.name: content_of(task) for task in read_tasks()}
    assert told["push-2019"] != told["push-quiet"] and told["credit"] != told["zika-outbreak"]
    assert told["zika-outbreak"][0][:2] == told["zika-noisy"][0][:2]          # one world


def test_a_user_that_a_world_takes_by_itself_counts():
    assert content_of_env("pushlab/evalumap2-v0", {})[-1] == [user_content("mira")]
    assert content_of_env("pushlab/evalumap2-v0", {"user": "theo"})[-1] == [user_content("theo")]


# ---------------------------------------------------------------- the best there is

def test_schedules_are_searched_in_stretches_and_returned_as_the_environment_lives_them():
    schedule = np.repeat([0, 3, 5], [4, 1, 7])
    others = varied(schedule, 6, np.random.default_rng(0))
    assert (np.diff(others) != 0).sum(axis=1).max() <= 8 and (others != schedule).any(axis=1).mean() > 0.5
    assert set(np.unique(others)) == set(range(6)) and schedule.tolist() == [0] * 4 + [3] + [5] * 7
    task = find_task("zika-outbreak")
    env = task.make(task.each[0])
    env.reset(seed=1)
    lived = sum(env.step(action)[1] for action in [3] * 100)
    found = returns(env.unwrapped.world, np.array([[0] * 100, [3] * 100]))
    assert found[1] == pytest.approx(lived) and found[1] > found[0]
    assert isinstance(env, gym.Wrapper)


@pytest.mark.parametrize("name", ["recommender-satiation", "recommender-drift"])
def test_the_plan_is_never_worse_than_taking_the_best_next_item(name):
    task = find_task(name, QUICK)
    env = task.make(task.each[0])
    env.reset(seed=3)
    world = env.unwrapped.world
    user = world.info(env.unwrapped.state, None)["state"][0]
    at, greedy = user[None], 0.0
    for _ in range(8):
        rewards, following = world.expect(np.repeat(at, world.n_items, axis=0), np.arange(world.n_items))
        at, greedy = following[[rewards.argmax()]], greedy + rewards.max()
    items, earned = rolled_plan(world, user, 8, beam=3)
    lived, at = 0.0, user[None]
    for item in items:
        reward, at = world.expect(at, np.array([item]))
        lived += reward[0]
    assert len(items) == 8 and earned >= greedy - 1e-9 and lived == pytest.approx(earned)
    assert KnowingPlanner(2, tires=True).plan(world, user, 4)[1] >= rolled_plan(world, user, 4)[1]
