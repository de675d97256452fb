"""The agents of push-v0: rules do what they say, learners credit the right notification and beat the rules."""

from collections import defaultdict

import numpy as np
import pandas as pd
import pytest

from pushlab.agents import DismissAll, DoNotDisturb, LinearArrivalQ, QTable, ShowAll
from pushlab.agents.lifelong import Recognising
from pushlab.agents.protocol import Transition
from pushlab.datasets.reading import load_user
from pushlab.envs.push.world import Push
from pushlab.envs.shell import Env
from pushlab.ground.files import data_dir
from pushlab.logs.rollout import rollout
from pushlab.studies import managing_arrivals as study
from pushlab.users.simulated import SimulatedUser

SHOW, DISMISS, CACHE, CHECK, STAND_BY = range(5)
EVERYONE = [ShowAll, DismissAll, DoNotDisturb, QTable, LinearArrivalQ]
LEARNERS = [QTable, LinearArrivalQ]


def judge(before, after, feature="time", values=("evening", "night")):
    """A judge of Mira's schema: opens with probability `after` where the context has such a value, else `before`."""
    schema = load_user("mira").schema
    context, notification = (np.zeros(int(half.sizes.sum())) for half in (schema.context, schema.notification))
    start = schema.context.starts[schema.context.components.index(feature)]
    for code, word in enumerate(schema.context[feature].words):
        p = after if word in values else before
        context[start + code] = np.log(p / (1 - p))
    return SimulatedUser(schema, 0.0, context, notification, np.zeros((len(context), len(notification))), "clock")


@pytest.mark.parametrize("kind", EVERYONE)
def test_no_agent_ever_does_what_is_forbidden(kind):
    env = Env(Push("noor"))
    log = rollout(env, kind(), episodes=4, progress=False)
    assert log["info.forbidden"].max() == 0
    assert log.groupby("episode")["terminated"].last().all()


@pytest.mark.parametrize("kind", EVERYONE)
def test_where_nothing_arrives_is_said(kind):
    with pytest.raises(ValueError, match="nothing arrives.*pushlab/push-v0"):
        rollout("pushlab/evalumap2-v0", kind(), progress=False)


def test_show_all_and_dismiss_all():
    env = Env(Push("noor"))
    shown = rollout(env, ShowAll(), progress=False).iloc[-1]
    assert shown["info.shown"] > 0 and shown["info.delay"] == 0 and shown["info.dismissed"] == 0
    hidden = rollout(env, DismissAll(), progress=False).iloc[-1]
    assert hidden["info.dismissed"] == shown["info.shown"] and hidden["info.shown"] == 0


def test_do_not_disturb_puts_off_while_quiet_and_shows_all_of_it_afterwards():
    world = Push("mira")
    env, agent = Env(world), DoNotDisturb(quiet=(22, 9))
    observation, info = env.reset(seed=0, options={"day": 1})
    agent.begin(env, 0)
    ringer = world.observation_names.index("ringerMode")
    over = False
    while not over:
        action = agent.act(observation, info)
        silent = world.schema.context["ringerMode"].words[observation[ringer]] == "silent"
        quiet = silent or info["time"] >= 22 * 60 or info["time"] < 9 * 60
        assert not (action == SHOW and quiet) and not (action == CACHE and not quiet) and action != DISMISS
        observation, _, over, _, info = env.step(action)
    assert info["delay"] > 0 and info["shown"] > 0


@pytest.mark.parametrize("kind", LEARNERS)
def test_what_is_nearly_always_opened_is_shown_and_what_never_is_dismissed(kind):
    for p, wanted in ((0.98, "shown"), (0.02, "dismissed")):
        world = Push("mira", judge=judge(p, p))
        agent = study.train(Env(world), kind(settle=20), rounds=2)
        told = study.live_day(Env(world), agent, 3, seed=1, learn=False)
        assert told[wanted] > 0.8 * (told["shown"] + told["dismissed"] + told["expired"]) > 10
        assert told["delay"] < 30


@pytest.mark.parametrize("kind", LEARNERS)
def test_who_opens_in_the_evening_only_has_his_day_put_off(kind):
    """The value of waiting comes back from the evening to the morning."""
    world = Push("mira", judge=judge(0.05, 0.95))
    agent = study.train(Env(world), kind(settle=30), rounds=3)
    means = study.judge(Env(world), agent)
    rules = {rule: study.judge(Env(world), rule())["reward"] for rule in (ShowAll, DismissAll, DoNotDisturb)}
    assert means["reward"] > max(rules.values()) + 8 and means["delay"] > 100


def live_and_learn(env, agent, seed, explore=True, **options):
    """An episode in which the agent learns; yields each step's observation, info, action and what was told after."""
    observation, info = env.reset(seed=seed, options=options)
    agent.begin(env, seed)
    over = False
    while not over:
        action = agent.act(observation, info, explore)
        following, reward, over, truncated, told = env.step(action)
        agent.learn(Transition(observation, info, action, reward, following, told, over, truncated))
        yield observation, info, action, told
        observation, info = following, told


@pytest.mark.parametrize("kind", LEARNERS)
def test_rewards_go_to_the_notification_that_earned_them(kind):
    """Each target of show and dismiss is what that very notification was worth, as the table of events has it."""
    env, agent, moved = Env(Push("mira")), kind(epsilon=1.0), []
    move = agent.move

    def note(described, action, target):
        if action != CACHE:
            moved.append((str(described), action, target))
        move(described, action, target)

    agent.move, done = note, {}
    for observation, info, action, _ in live_and_learn(env, agent, 5, day=7):
        if info["hand"] >= 0 and action in (SHOW, DISMISS):
            done[info["hand"]] = str(agent.describe(observation[agent._hand], observation)), action
    events = env.events()
    worth = events["worth"]
    assert sorted(moved) == sorted((*done[number], worth[number]) for number in done)
    outcomes, actions = events["outcome"].value_counts(), [action for _, action in done.values()]
    assert actions.count(SHOW) == outcomes["opened"] + outcomes["dismissed"] > 3
    assert actions.count(DISMISS) == outcomes["unseen"] > 3
    assert agent._decided == agent._cache == {}


def test_the_table_holds_what_its_decisions_were_worth():
    """Without trying, after long training: a situation's value of showing is the mean worth of what was shown in it."""
    env = Env(Push("ines", days="train"))
    agent, realised = study.train(env, QTable(), rounds=2), defaultdict(list)
    agent.visits = {situation: [0, 0, 0] for situation in agent.values}
    agent.rate = 0.0                                                        # from now on every answer counts alike
    for day in range(56):
        shown = {}
        for observation, info, action, _ in live_and_learn(env, agent, day, explore=False, day=day):
            if action == SHOW and info["hand"] >= 0:
                shown[info["hand"]] = agent.describe(observation[agent._hand], observation)
        worth = env.events()["worth"]
        for number, situation in shown.items():
            realised[situation].append(worth[number])
    told = agent.table().set_index(["hand", "time"])["show"]
    assert {situation: told[situation] for situation in realised} == pytest.approx(
        {situation: np.mean(worths) for situation, worths in realised.items()})
    assert sum(len(worths) > 50 for worths in realised.values()) > 3


def test_what_waiting_cost_is_part_of_what_putting_off_is_worth():
    """All targets of putting off, less what they hope for, are what waiting, idling and endless deferral have cost."""
    env, agent, costs = Env(Push("noor", patience=0)), LinearArrivalQ(epsilon=1.0, settle=10**9), []
    agent.values_of = lambda described: (0.0, 0.0, 0.0)
    agent.move = lambda described, action, target: action == CACHE and costs.append(target)
    *_, (*_, told) = live_and_learn(env, agent, 3, day=4)
    expired = env.events().query("outcome == 'expired'")["worth"].sum()
    paid = sum(told[f"parts.{part}"] for part in ("wait", "idle", "endless"))
    assert sum(costs) == pytest.approx(paid + expired) and told["parts.endless"] < 0


@pytest.mark.parametrize("kind", LEARNERS)
def test_what_it_remembers_of_the_cache_is_what_is_in_it(kind):
    """Whether it learns or only acts, and whatever is forbidden so often that it puts off what is in hand."""
    env, agent = Env(Push("noor", max_forbidden=1)), kind(epsilon=1.0, settle=10**9)
    notification, rng = env.world.schema.notification, np.random.default_rng(0)
    for learn in (True, False):
        observation, info = env.reset(seed=2)
        agent.begin(env, 2)
        for step in range(150):
            action = agent.act(observation, info)
            if step % 7 == 0:
                action = int(rng.integers(5))
                agent._last = observation, info, action
            following, reward, over, truncated, told = env.step(action)
            if learn:
                agent.learn(Transition(observation, info, action, reward, following, told, over, truncated))
            else:
                agent._follow(*agent._last, following, told, over)
                agent._last = None
            fates = [env.world.fates[fate] for fate in told["fates"]]
            assert sorted(agent._cache) == [one for one, fate in enumerate(fates) if fate == "waiting"]
            assert sorted(str(notification.decode_one(one.codes)) for one in agent._cache.values()) == sorted(
                str(card["notification"]) for card in env.frame()["cache"])
            if over:
                break
            observation, info = following, told


@pytest.mark.parametrize("kind", LEARNERS)
def test_what_was_learned_can_be_kept_and_is_repeated_by_the_same_seed(kind):
    world = Push("ines", days=(0, 6))
    first, again = (study.train(Env(world), kind(), rounds=1, seed=4) for _ in range(2))
    taken_over = kind()
    taken_over.load(first.state())
    for other in (again, taken_over):
        assert study.judge(Env(world), first) == study.judge(Env(world), other)
    assert first.episodes == taken_over.episodes == 6


def test_a_table_can_be_read():
    agent = study.train(Env(Push("mira", days=(0, 10))), QTable(by=("ringerMode",)), rounds=1)
    table = agent.table()
    assert list(table.columns) == ["hand", "time", "ringerMode", "visits", "show", "dismiss", "cache", "best"]
    assert set(table["best"]) <= {"show", "dismiss", "cache"} and (table["visits"] > 0).all()
    assert "org.pushlab.chat" in set(table["hand"]) and set(table["time"]) <= {
        "early-morning", "morning", "afternoon", "evening", "night"}
    with pytest.raises(ValueError, match="by: a feature of the context is one of .*; got 'weather'"):
        QTable(by=("weather",)).begin(Env(Push("mira")), 0)


def test_weights_of_another_schema_are_refused():
    agent = LinearArrivalQ()
    agent.load({"weights": np.zeros((3, 4, 5)), "covariances": np.zeros((2, 4, 5, 5)), "episodes": 1})
    with pytest.raises(ValueError, match="what was learned are"):
        agent.begin(Env(Push("mira")), 0)


def test_who_recognises_users_counts_every_answer_of_a_day():
    """Those too that come in with the last step, at midnight."""
    env, agent = Env(Push("mira")), Recognising(LinearArrivalQ, window=10)
    *_, (*_, told) = live_and_learn(env, agent, 1, day=4)
    answers = sum(agent.recent) + agent.users[0][0], len(agent.recent) - sum(agent.recent) + agent.users[0][1]
    assert answers == (told["opens"] + told["missed"], told["refusals"] + told["spared"])
    assert sum(answers) == len(env.events())


# ---------------------------------------------------------------- the study

def test_the_study_keeps_what_is_finished(tmp_path, monkeypatch):
    arguments = {"users": ("theo",), "names": ("show all", "dismiss all"), "seeds": 2, "keep": tmp_path,
                 "progress": False}
    runs, days = study.run_study(**arguments)
    assert runs.shape[0] == 4 and len(list(tmp_path.glob("cells/*[0-9a-f].json"))) == 4 and len(days) == 4 * 28
    assert (runs["reward"] - runs.filter(like="parts.").sum(axis=1)).abs().max() < 1e-3
    by_run = days.groupby(["agent", "seed"], sort=False)[["reward", "opens", "interruptions"]].mean()
    assert by_run.to_numpy() == pytest.approx(runs[["reward", "opens", "interruptions"]].to_numpy(), abs=1e-4)
    monkeypatch.setattr(study, "train", None)
    monkeypatch.setattr(study, "judge_days", None)              # nothing is run again
    assert all(again.equals(table) for again, table in zip(study.run_study(**arguments), (runs, days)))
    table = study.comparison_table(days, "dismiss all", ["show all"])
    assert table["better"].tolist() == [True] and table["difference"][0] == pytest.approx(
        runs.groupby("agent")["reward"].mean().diff().iloc[-1] * -1)


def test_who_shows_nothing_has_no_delay(tmp_path):
    """Missing is missing: no 0 in tables, null in what is kept, nothing in the CSV."""
    arguments = {"users": ("theo",), "names": ("dismiss all",), "seeds": 2, "keep": tmp_path, "progress": False}
    runs, days = study.run_study(**arguments)
    assert runs["delay"].isna().all() and days["delay"].isna().all() and (runs["interruptions"] == 0).all()
    kept = [path.read_text() for path in tmp_path.glob("cells/*.days.csv")]
    assert len(kept) == 2 and not any("nan" in text.lower() for text in kept)
    assert study.run_study(**arguments)[0].equals(runs)         # as it was kept
    assert study.means_table(runs)["delay"].isna().all()
    told, told_days, _ = study.read_study()
    assert told.query("agent == 'dismiss all'")["delay"].isna().all()
    assert (told_days["delay"].isna() == (told_days["interruptions"] == 0)).all()


def test_intervals_of_the_study_range_over_seeds_and_days():
    """Twenty seeds on the same few strong days say little of other days."""
    rng = np.random.default_rng(1)
    of_day = rng.normal(0, 5, 8)
    days = pd.DataFrame([{"user": "ann", "agent": agent, "seed": seed, "day": day,
                          "reward": (agent == "a") * (1 + of_day[day]) + rng.normal(0, 0.1)}
                         for agent in "ab" for seed in range(20) for day in range(8)])
    line = study.comparison_table(days, "a", ["b"]).loc[0]
    assert line["high"] - line["low"] > 2 * 5 / 8**0.5 and not line["better"]
    two = study.comparison_table(pd.concat([days, days.assign(user="bob")]), "a", ["b"]).loc[0]
    assert two["high"] == line["high"] < two["all high"] and line["all high"] == line["high"]


def test_seeds_of_training_and_judging_are_all_different(monkeypatch):
    """Counted up, the days of one seed's training could be those of another's judging."""
    seen = []
    monkeypatch.setattr(study, "live_day", lambda env, agent, day, seed, learn: seen.append(seed) or {
        key: 0 for key in ("opens", "shown", "missed", "delay", "parts.opened")})
    env = Env(Push("theo", days=(0, 28)))
    for seed in range(20):
        study.train(env, None, rounds=5, seed=seed)
        study.judge_days(env, None, seed)
    assert len(seen) == len(set(seen)) == 20 * 6 * 28


def test_the_study_that_comes_with_pushlab_can_be_computed_again():
    runs, days, weights = study.read_study()
    for user, agent in (("theo", "do not disturb"), ("ines", "linear Q")):
        mine = "user == @user and agent == @agent and seed == 3"
        told, by_day = runs.query(mine).iloc[0], days.query(mine).set_index("day")
        again = study.run_one(user, agent, 3)
        for values in again["days"]:
            assert all(by_day.loc[values["day"], key] == pytest.approx(value, abs=0.051)
                       for key, value in values.items() if key != "day" and value is not None)
        assert all(told[key] == pytest.approx(value, abs=1e-3) for key, value in again["runs"][0].items())
    assert len(days) == 5 * 5 * 20 * 28 and len(study.comparison_table(days)) == 10 and len(weights) == 160
    folder = data_dir() / "studies"
    assert sum(path.stat().st_size for path in folder.glob("managing_arrivals*.csv")) < 700_000


def test_runs_are_paired_by_seed():
    """The same days and the same users: what nobody touches is the same under every agent."""
    first, second = (study.run_one("theo", "show all", seed)["runs"][0] for seed in (0, 1))
    assert first["interruptions"] == second["interruptions"] and first["reward"] != second["reward"]
    assert study.run_one("theo", "show all", 0)["runs"][0] == first
    hidden = study.run_one("theo", "dismiss all", 0)["runs"][0]
    assert hidden["missed"] == first["opens"]


def test_each_weight_is_halved_and_doubled():
    variants = study.all_variants()
    assert ("missed", 0.5) in variants and ("missed", 2.0) in variants and len(variants) == 16
    half, one = (study.run_one("theo", "show all", 0, weights)["runs"][0] for weights in ({"dismissed": -0.5}, {}))
    assert half["parts.dismissed"] == one["parts.dismissed"] / 2


def test_a_learned_policy_is_better_than_the_rules_on_days_it_has_not_seen():
    days = pd.DataFrame([{"user": "noor", "agent": name, "seed": seed, **told}
                         for name in ("show all", "do not disturb", "linear Q") for seed in range(2)
                         for told in study.run_one("noor", name, seed)["days"]])
    assert study.comparison_table(days)["better"].all()
