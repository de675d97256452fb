"""push-v0: nothing is lost, nothing is paid twice, time goes forward, and the user decides when something is shown."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from hypothesis import given, settings
from hypothesis import strategies as st

import pushlab  # noqa: F401
from pushlab.datasets.reading import load_user
from pushlab.envs.push import rules
from pushlab.envs.push.world import WEIGHTS, Push
from pushlab.envs.shell import Env
from pushlab.users.days import SLOTS, ResponseTimes, days_of, recorded_days, slot_number
from pushlab.users.simulated import SimulatedUser

SHOW, DISMISS, CACHE, CHECK, STAND_BY = range(5)
WORLD = Push("mira", max_age=200)
EARLIER = {"ahead": 0, "in hand": 1, "waiting": 2, "pending": 3, "unseen": 3, "opened": 4, "dismissed": 4, "expired": 4}


def live(world, policy, seed=0, **options):
    """An episode under policy(info, step): rewards, and the environment at its end."""
    env = Env(world)
    _, info = env.reset(seed=seed, options=options)
    rewards, over = [], False
    while not over:
        _, reward, over, _, info = env.step(policy(info, len(rewards)))
        rewards.append(reward)
    return np.array(rewards), env, info


def show_all(info, step=0):
    return SHOW if info["action_mask"][SHOW] else STAND_BY


def dismiss_all(info, step=0):
    return DISMISS if info["action_mask"][DISMISS] else STAND_BY


def only(action):
    """Takes one action when it is allowed, and otherwise stands by."""
    return lambda info, step: action if info["action_mask"][action] else STAND_BY


def answers_by_the_clock(work, evening):
    """A judge for Mira's schema who opens anything with these probabilities before five and after."""
    schema = load_user("mira").schema
    context, notification = (np.zeros(int(half.sizes.sum())) for half in (schema.context, schema.notification))
    start = schema.context.starts[schema.context.components.index("time")]
    for code, word in enumerate(schema.context["time"].words):
        p = evening if word in ("evening", "night") else work
        context[start + code] = np.log(p / (1 - p))
    return SimulatedUser(schema, 0.0, context, notification, np.zeros((len(context), len(notification))), "clock")


# ---------------------------------------------------------------- conservation

@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), actions=st.lists(st.integers(0, 4), min_size=1, max_size=400))
def test_nothing_is_lost_and_time_goes_forward(seed, actions):
    env = Env(WORLD)
    _, info = env.reset(seed=seed)
    now, fates, total = 0.0, {}, 0.0
    for step in range(120):
        allowed = info["action_mask"][actions[step % len(actions)]]
        _, reward, over, _, info = env.step(actions[step % len(actions)])
        total += reward
        assert info["time"] >= now and (info["time"] == now or actions[step % len(actions)] == STAND_BY or not allowed)
        now = info["time"]
        frame = env.frame()
        outcomes = [event["outcome"] for event in frame["events"]]
        assert outcomes.count("in hand") == (frame["hand"] is not None)
        assert outcomes.count("waiting") == len(frame["cache"])
        assert outcomes.count("unseen") == info["dismissed"] and outcomes.count("expired") == info["expired"]
        assert sum(event["shown"] is not None for event in frame["events"]) == info["shown"]
        assert info["shown"] + info["dismissed"] + info["expired"] + len(frame["cache"]) + (
            frame["hand"] is not None) == len(outcomes)
        for one, outcome in enumerate(outcomes):            # no way back, but out of the cache
            assert EARLIER[outcome] >= EARLIER[fates.get(one, "ahead")] or (fates[one], outcome) == (
                "waiting", "in hand")
            fates[one] = outcome
        assert total == pytest.approx(sum(frame["parts"].values()))
        if over:
            break
    if over:
        assert not {"in hand", "waiting", "pending"} & set(outcomes)
        assert_all_paid_once(env.frame())


def assert_all_paid_once(frame):
    """The delayed parts of the reward, divided by their weights, count every notification exactly once."""
    counts = {part: frame["parts"][part] / WEIGHTS[part] for part in ("opened", "dismissed", "missed", "spared")}
    outcomes = [event["outcome"] for event in frame["events"]]
    assert counts["opened"] == pytest.approx(outcomes.count("opened"))
    assert counts["dismissed"] == pytest.approx(outcomes.count("dismissed"))
    assert counts["missed"] + counts["spared"] == pytest.approx(outcomes.count("unseen") + outcomes.count("expired"))


ASIDE = [rules.IN_A_ROW, rules.WAS_FORBIDDEN, rules.ACTED_ON, rules.FORBIDDEN_IN_ALL]     # who counts forbidden actions


def life(state):
    """User, cache and clock: the state without the counting of forbidden actions and without rewards."""
    core = np.delete(state["core"], ASIDE, axis=1)
    return [core, state["sums"][:, rules.DELAY:], state["fate"], state["deferrals"], state["since"]]


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10_000), actions=st.lists(st.integers(0, 4), min_size=1, max_size=80))
def test_an_action_is_allowed_exactly_when_it_changes_the_state(seed, actions):
    state = WORLD.initial(np.random.default_rng(seed).random((1, 2)), {})
    for action in actions:
        if WORLD.terminated(state)[0]:
            return
        calm = {**state, "core": state["core"].copy()}
        calm["core"][:, rules.IN_A_ROW] = 0             # the last forbidden one in a row lets time go on
        for tried in range(5):
            after, _ = WORLD.advance(calm, np.array([tried]), None)
            same = all(np.array_equal(*pair) for pair in zip(life(calm), life(after)))
            assert same != bool(WORLD.mask(state)[0, tried])
        state, _ = WORLD.advance(state, np.array([action]), None)


def test_the_mask_follows_what_is_in_hand_and_in_the_cache():
    env = Env(WORLD)
    _, info = env.reset(seed=3)
    while not info["action_mask"][SHOW]:
        assert info["action_mask"].tolist() == [0, 0, 0, 0, 1]
        _, _, _, _, info = env.step(STAND_BY)
    assert info["action_mask"].tolist() == [1, 1, 1, 0, 0]
    _, _, _, _, info = env.step(CACHE)
    assert info["action_mask"].tolist() == [0, 0, 0, 0, 1]      # it was in hand at this moment already
    _, _, _, _, info = env.step(STAND_BY)
    while info["action_mask"][SHOW]:
        _, _, _, _, info = env.step(SHOW)
    assert info["action_mask"].tolist() == [0, 0, 0, 1, 1]
    _, _, _, _, info = env.step(CHECK)
    assert info["action_mask"].tolist() == [1, 1, 1, 0, 0]
    _, _, _, _, info = env.step(CACHE)
    assert info["action_mask"].tolist() == [0, 0, 0, 0, 1]      # once a moment
    assert env.frame()["cache"][0]["deferrals"] == 2


def test_the_cache_gives_the_oldest_first_and_each_once_a_moment():
    env = Env(WORLD)
    _, info = env.reset(seed=3)
    while len(env.frame()["cache"]) < 3:
        _, _, _, _, info = env.step(CACHE if info["action_mask"][CACHE] else STAND_BY)
    _, _, _, _, info = env.step(STAND_BY)
    if info["action_mask"][SHOW]:
        _, _, _, _, info = env.step(SHOW)
    waiting, taken = [card["arrived"] for card in env.frame()["cache"]], []
    while info["action_mask"][CHECK]:
        env.step(CHECK)
        taken.append(env.frame()["hand"]["arrived"])
        _, _, _, _, info = env.step(CACHE)
    assert taken == waiting == sorted(waiting) and len(taken) >= 2
    assert [card["arrived"] for card in env.frame()["cache"]] == waiting


@pytest.mark.parametrize("action", range(5))
def test_every_policy_comes_to_the_end_within_the_bound(action):
    rewards, env, info = live(WORLD, lambda info, step: action, day=5)
    moments, arrivals = int(WORLD.days.first[6] - WORLD.days.first[5]), len(env.frame()["events"])
    assert len(rewards) <= WORLD.max_forbidden * (moments + arrivals + 2 * arrivals * moments)
    assert info["time"] == 1440
    assert_all_paid_once(env.frame())


def test_forbidden_actions_cost_count_and_at_last_let_time_go_on():
    env = Env(WORLD)
    _, info = env.reset(seed=1)
    for number in range(1, 5):
        _, reward, _, _, info = env.step(SHOW)
        assert reward == WEIGHTS["forbidden"] and info["forbidden"] == number and info["time"] == 0
        assert env.frame()["last"] == {"action": "show", "forbidden": True, "notification": None}
    _, reward, _, _, info = env.step(SHOW)
    assert reward == WEIGHTS["forbidden"] and info["time"] > 0
    while not info["action_mask"][SHOW]:
        _, _, _, _, info = env.step(STAND_BY)
    for _ in range(5):
        _, _, _, _, info = env.step(STAND_BY)
    assert info["forbidden"] == 10 and info["cached"] == 1      # what was in hand was put off


# ---------------------------------------------------------------- whose answer it is

SETTLED = {"opened": "opened", "refused": "dismissed", "missed": "missed", "spared": "spared",
           "expired, missed": "missed", "expired, spared": "spared"}           # the part that each fate is paid with


def settled_between(world, before, now):
    """From the fates of two infos: {number: worth} of what was settled between them, and the same by part."""
    numbers = [one for one in np.flatnonzero(before != now).tolist() if world.fates[now[one]] in SETTLED]
    parts = dict.fromkeys(SETTLED.values(), 0.0)
    for one in numbers:
        parts[SETTLED[world.fates[now[one]]]] += world.worths[now[one]]
    return {one: world.worths[now[one]] for one in numbers}, parts


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), horizon=st.integers(1, 2), actions=st.lists(st.integers(0, 4), min_size=1))
def test_what_was_settled_adds_up_to_the_reward_alone(seed, horizon, actions):
    world = Push("mira", horizon=horizon, max_age=300, missed=-0.7, spared=0.3, opened=1.5)
    env = Env(world)
    _, info = env.reset(seed=seed)
    worth = {}
    for step in range(300):
        _, reward, over, _, told = env.step(actions[step % len(actions)])
        new, parts = settled_between(world, info["fates"], told["fates"])
        assert not set(new) & set(worth)                        # settled once
        worth |= new
        assert parts == pytest.approx({part: told[f"parts.{part}"] - info[f"parts.{part}"] for part in parts})
        hand = np.flatnonzero(told["fates"] == world.fates.index("in hand")).tolist()
        assert hand == [told["hand"]] if told["hand"] >= 0 else not hand
        info = told
        if over:
            break
    events = env.events()
    assert worth == pytest.approx(events["worth"].dropna().to_dict())
    assert info["fates"].shape == (world.width,) and info["fates"].dtype == np.int8


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000), actions=st.lists(st.integers(0, 4), min_size=1), mode=st.sampled_from(
    ["NextStep", "SameStep"]))
def test_what_was_settled_adds_up_to_the_reward_in_a_batch(seed, actions, mode):
    envs = gym.make_vec("pushlab/push-v0", num_envs=3, user=["mira", "noor"], max_episode_steps=90,
                        autoreset_mode=gym.vector.AutoresetMode(mode))
    world = envs.unwrapped.world
    _, before = envs.reset(seed=seed)
    done = np.zeros(3, bool)
    for step in range(200):
        _, _, ended, cut, told = envs.step(np.array([actions[(step + copy) % len(actions)] for copy in range(3)]))
        for copy in range(3):
            last = told
            if mode == "SameStep" and (ended | cut)[copy]:
                last = told["final_info"]
            elif done[copy]:
                continue                                        # this step was its reset
            _, parts = settled_between(world, before["fates"][copy], last["fates"][copy])
            assert parts == pytest.approx({part: last[f"parts.{part}"][copy] - before[f"parts.{part}"][copy]
                                           for part in parts})
        before, done = told, (ended | cut) & (mode == "NextStep")


def test_fates_are_left_out_of_the_log_and_stand_in_the_table():
    from pushlab.logs.rollout import rollout

    env = Env(WORLD)
    log = rollout(env, lambda observation, info: show_all(info), seed=3, progress=False)
    assert not [column for column in log if "fates" in column] and log["info.hand"].max() == len(env.events()) - 1
    assert (env.events()["worth"] == env.events()["outcome"].map({"opened": 1.0, "dismissed": -1.0})).all()


# ---------------------------------------------------------------- reward

def test_showing_everything_is_paid_when_the_user_answers():
    rewards, env, info = live(WORLD, show_all, day=3)
    events = env.events()
    assert set(events["outcome"]) == {"opened", "dismissed"} and (events["delay"] == 0).all()
    assert info["opens"] == (events["outcome"] == "opened").sum()
    assert rewards.sum() == pytest.approx(info["opens"] - (len(events) - info["opens"]))
    # step by step: what is paid up to a moment is what was answered up to it
    env.reset(options={"day": 3}, seed=0)
    _, _, over, _, info = env.step(STAND_BY)
    while not over:
        _, _, over, _, info = env.step(show_all(info))
        answered = events["closed"] <= info["time"] if not over else events["closed"] >= 0
        assert info["parts.opened"] == ((events["outcome"] == "opened") & answered).sum()


def test_what_is_dismissed_is_judged_as_it_arrived():
    _, shown, _ = live(WORLD, show_all, seed=9, day=3)
    rewards, _, info = live(WORLD, dismiss_all, seed=9, day=3)
    would = shown.events()["outcome"].value_counts()
    assert info["parts.missed"] == -would["opened"] and info["parts.spared"] == pytest.approx(0.2 * would["dismissed"])
    assert rewards.sum() == pytest.approx(info["parts.missed"] + info["parts.spared"])
    # and putting all off until it expires is worth the same, but for what the waiting costs
    _, env, late = live(WORLD, only(CACHE), seed=9, day=3)
    assert late["parts.missed"] == info["parts.missed"] and late["parts.spared"] == pytest.approx(info["parts.spared"])
    assert late["expired"] == len(shown.events()) and late["parts.wait"] < 0
    waited = env.events().eval("closed - arrived")
    assert (waited <= 200).all() and waited.max() == 200


def test_the_user_has_one_number_for_each_notification():
    """What is done with the others changes nothing for the one that is shown."""
    _, everything, _ = live(WORLD, show_all, seed=4, day=8)
    even = iter(range(1000))
    _, half, _ = live(WORLD, lambda info, step: (SHOW if next(even) % 2 else DISMISS) if info["action_mask"][SHOW]
                      else STAND_BY, seed=4, day=8)
    all_events, half_events = everything.events(), half.events()
    seen = half_events["outcome"] != "unseen"
    assert 0 < seen.sum() < len(seen)
    assert (all_events["outcome"][seen] == half_events["outcome"][seen]).all()
    assert (all_events["closed"][seen] == half_events["closed"][seen]).all()


def test_immediate_parts_by_hand():
    world = Push("mira", patience=1, look=0.5)
    env = Env(world)
    _, info = env.reset(seed=0, options={"day": 3})
    while not info["action_mask"][CACHE]:
        _, _, _, _, info = env.step(STAND_BY)
    assert env.step(CACHE)[1] == 0                                          # the first deferral costs nothing
    _, reward, _, _, info = env.step(STAND_BY)
    assert reward == pytest.approx(-0.005)                                  # it waits; nothing could be looked at
    if info["action_mask"][DISMISS]:
        _, _, _, _, info = env.step(SHOW)
    _, reward, _, _, info = env.step(CHECK)
    assert reward == 0.5
    assert env.step(CACHE)[1] == pytest.approx(-0.02 * 2)                   # the second one does
    before = env.step(STAND_BY)[4]
    after = env.step(STAND_BY)[4] if before["action_mask"][STAND_BY] else before
    if after is not before:
        assert after["parts.idle"] - before["parts.idle"] == pytest.approx(-0.01)


def test_the_rewards_of_2019():
    rewards, env, info = live(Push("mira", rewards="2019"), show_all, day=3)
    assert rewards.sum() == 5 * info["opens"] - 10 * (info["shown"] - info["opens"])
    assert Push("mira", rewards="2019", wait=0.0).weights["wait"] == 0
    assert env.unwrapped.world.patience == 15


def test_deferring_at_work_and_showing_in_the_evening_is_best_for_somebody():
    """The probability is that of the moment of showing, which is what makes deferring worth learning."""
    world = Push("mira", judge=answers_by_the_clock(work=0.05, evening=0.95))

    def defer(info, step):
        mask = info["action_mask"]
        evening = info["time"] % 1440 >= 17 * 60
        if mask[SHOW]:
            return SHOW if evening else CACHE
        return CHECK if mask[CHECK] and evening else STAND_BY

    returns = {policy.__name__: np.mean([live(world, policy, seed=day, day=day)[0].sum() for day in range(0, 84, 6)])
               for policy in (show_all, dismiss_all, defer)}
    assert returns["defer"] > returns["show_all"] + 10 and returns["defer"] > returns["dismiss_all"] + 10


# ---------------------------------------------------------------- time, days, options

def test_an_episode_is_its_horizon_and_counts_start_anew_each_midnight():
    world = Push("mira", horizon=3)
    env = Env(world)
    observation, info = env.reset(options={"day": "2019-02-20"}, seed=0)
    assert info["day"] == 2 and env.frame()["of"] == 3 * 1440
    left, over = [], False
    names = list(world.observation_names)
    while not over:
        observation, _, over, _, info = env.step(show_all(info))
        if not over:
            left.append(int(observation[names.index("days.left")]))
            assert info["time"] // 1440 == 2 - left[-1]
            assert observation[names.index("hour")] == info["time"] % 1440 // 60
    assert left == sorted(left, reverse=True) and set(left) == {0, 1, 2}
    assert info["load"] == info["shown"] / 3
    assert env.frame()["date"] == "2019-02-22"
    assert len(Push("mira", horizon=84)._starts) == 1
    with pytest.raises(ValueError, match="whole number of days that there are for user mira, from 1 to 84"):
        Push("mira", horizon=85)


def test_days_are_drawn_from_the_part_that_is_asked_for():
    train, test = Push("mira", days="train"), Push("mira", days="test")
    assert train._starts.tolist() == list(range(56)) and test._starts.tolist() == list(range(56, 84))
    assert Push("mira", days=(3, 5))._starts.tolist() == [3, 4]
    numbers = {Env(test).reset(seed=seed)[1]["day"] for seed in range(200)}
    assert numbers == set(range(56, 84))
    with pytest.raises(ValueError, match="days is None, 'train', 'test' or a pair"):
        Push("mira", days="autumn")


def test_reset_takes_user_and_day():
    users = [load_user("mira"), load_user("noor")]
    env = Env(Push(users))
    assert env.reset(options={"user": "noor"})[1]["user"] == 1
    assert env.frame()["user"] == "noor"
    info = env.reset(options={"user": "noor", "day": np.datetime64("2019-05-12")})[1]
    assert info["day"] == 83 and env.frame()["date"] == "2019-05-12"
    assert {env.reset(seed=seed)[1]["user"] for seed in range(20)} == {0, 1}
    envs = gym.make_vec("pushlab/push-v0", num_envs=2, user=users)
    _, infos = envs.reset(options={"user": ["mira", "noor"], "day": [4, 7]})
    assert infos["user"].tolist() == [0, 1] and infos["day"].tolist() == [4, 7]
    for options in ({"day": "2020-01-01"}, {"day": 84}, {"day": "soon"}, {"day": True}):
        with pytest.raises(ValueError, match="the option day is a date from 2019-02-18 to 2019-05-12"):
            env.reset(options=options)
    with pytest.raises(ValueError, match="the option user is one of mira, noor; got 'kim'"):
        env.reset(options={"user": "kim"})


def test_lists_of_users_live_as_each_of_them_alone():
    both = Push([load_user("mira"), load_user("noor")])
    for name in ("mira", "noor"):
        alone, among = (live(world, only(CACHE), seed=5, day=11, **options) for world, options in (
            (Push(name), {}), (both, {"user": name})))
        assert np.array_equal(alone[0], among[0])
        assert data_equivalence(alone[1].frame()["events"], among[1].frame()["events"])


def test_test_tables_have_no_days():
    user = load_user("mira")
    with pytest.raises(ValueError, match="the test period of user mira has no column `posted`"):
        recorded_days(user, user.test)


def test_between_records_the_last_context_goes_on_and_the_clock_with_it():
    user = load_user("mira")
    days = days_of(user)
    came = days.arrival >= 0
    assert np.array_equal(days.contexts[came], user.history.context_codes)
    assert np.array_equal(days.notifications, user.history.notification_codes)
    assert (np.diff(days.times) >= 0).all() and (days.times[days.first[:-1]] == 1440 * np.arange(84)).all()
    names = list(user.schema.context.components)
    words = np.array(user.schema.context["time"].words)[days.contexts[:, names.index("time")]]
    assert (words == np.array(SLOTS)[slot_number(days.times)]).all()
    assert (days.contexts[:, names.index("day")] == days.times // 1440 % 7).all()
    table, row = user.history.table, 400                        # a removal tells the context of that minute
    at = np.searchsorted(days.times, (table["removed"][row] - table["posted"][0].normalize()).total_seconds() / 60,
                         side="right") - 1
    assert user.schema.context.decode_one(days.contexts[at])["ringerMode"] == table["removal.ringerMode"][row]


def test_the_generator_lives_the_same_history_and_the_quarter_after_it():
    user = load_user("mira")
    records, lived = days_of(user), days_of(user, "generator")
    assert len(lived) == 168 and str(lived.dates[-1]) == "2019-08-04"
    count = len(user.history)
    came = lived.arrival >= 0
    assert np.array_equal(lived.notifications[:count], records.notifications)
    assert np.array_equal(lived.times[came][:count], records.times[records.arrival >= 0])
    assert np.array_equal(lived.contexts[came][:count], user.history.context_codes)
    assert np.array_equal(lived.notifications[count:], user.test.notification_codes)
    assert np.array_equal(lived.contexts[came][count:], user.test.context_codes)
    stranger = type(user)("kim", user.schema, user.periods)
    with pytest.raises(ValueError, match="the generator can live the days of mira, noor, theo, ines, omar only"):
        days_of(stranger, "generator")


# ---------------------------------------------------------------- the user

def test_response_times_are_those_of_the_history_by_action_and_time_of_day():
    period = load_user("mira").history
    answers = ResponseTimes.fit(period)
    slot = slot_number(period.table["posted"].dt.hour.to_numpy() * 60)
    u = np.random.default_rng(0).random(20_000)
    for action in (0, 1):
        for number in range(len(SLOTS)):
            recorded = period.table["response_time"].to_numpy()[(period.opened == action) & (slot == number)] / 60
            drawn = answers.draw(np.full(len(u), action), np.full(len(u), number), u)
            assert set(drawn) <= set(recorded)
            levels = [0.1, 0.25, 0.5, 0.75, 0.9]
            ranks = np.searchsorted(np.sort(drawn), np.quantile(recorded, levels, method="lower"), side="right")
            assert np.allclose(ranks / len(u), levels, atol=0.02 + 1 / len(recorded))


def test_the_world_draws_its_answers_from_them():
    period = load_user("mira").history
    table = period.table.assign(slot=slot_number(period.table["posted"].dt.hour.to_numpy() * 60))
    recorded = {key: set((rows["response_time"] / 60).round(9)) for key, rows in table.groupby(["action", "slot"])}
    _, env, _ = live(WORLD, show_all, seed=2, day=40)
    events = env.events().query("closed < 1440")
    assert len(events) > 10
    for event in events.itertuples():
        assert any(abs(event.closed - event.shown - minutes) < 1e-6
                   for minutes in recorded[event.outcome, int(slot_number(event.shown))])


def test_a_history_without_some_answer_falls_back_on_what_there_is():
    answers = ResponseTimes.of(np.array([1.0, 2.0, 3.0]), [True, True, False], np.array([1, 2, 1]))
    assert answers.draw([True], [1], [0.5]) == [1.0]
    assert answers.draw([True], [4], [0.9]) == [2.0]            # no open at night: any open
    assert answers.draw([False], [0], [0.0]) == [3.0]
    assert ResponseTimes.of(np.array([5.0]), [True], np.array([0])).draw([False], [0], [0.3]) == [5.0]


def test_the_answer_follows_the_judges_probability_at_the_moment_of_showing():
    world = Push("mira", judge=answers_by_the_clock(work=0.3, evening=0.8))
    outcomes = {"early": [], "late": []}
    for seed in range(150):
        _, env, _ = live(world, show_all, seed=seed)
        for event in env.frame()["events"]:
            outcomes["late" if event["shown"] >= 17 * 60 else "early"].append(event["outcome"] == "opened")
    for when, p in (("early", 0.3), ("late", 0.8)):
        assert abs(np.mean(outcomes[when]) - p) < 4 * np.sqrt(p * (1 - p) / len(outcomes[when]))


def test_a_threshold_opens_all_or_nothing():
    world = Push("mira", judge=answers_by_the_clock(work=0.4, evening=0.6), opening="threshold")
    _, env, _ = live(world, show_all, seed=1)
    assert all((event["outcome"] == "opened") == (event["shown"] >= 17 * 60) for event in env.frame()["events"])


# ---------------------------------------------------------------- what is seen and told

def test_an_observation_in_words():
    env = Env(WORLD)
    observation, info = env.reset(seed=3)
    while len(env.frame()["cache"]) < 2 or not info["action_mask"][SHOW]:
        observation, _, _, _, info = env.step(CACHE if info["action_mask"][CACHE] else STAND_BY)
    words, frame = WORLD.decode_one(observation), env.frame()
    assert {name: words[f"context.{name}"] for name in frame["context"]} == frame["context"]
    assert {name: words[f"hand.{name}"] for name in frame["hand"]["notification"]} == frame["hand"]["notification"]
    head = frame["cache"][0]
    assert {name: words[f"head.{name}"] for name in head["notification"]} == head["notification"]
    assert words["cache.waiting"] == str(len(frame["cache"])) and words["head.deferrals"] == str(head["deferrals"])
    assert words["hand.deferrals"] == "0" and words["pending.age"] == "none"
    assert words["hour"] == str(int(frame["now"] // 60))


def test_load_and_delay_are_told():
    def lazy(info, step):
        """Puts off everything, and shows what waits whenever nothing is in hand."""
        mask = info["action_mask"]
        if mask[CHECK]:
            return CHECK
        return (SHOW if step % 2 else CACHE) if mask[SHOW] else STAND_BY

    _, env, info = live(WORLD, lazy, day=12)
    events = env.events()
    assert info["delay"] == pytest.approx(events["delay"].mean()) and info["delay"] > 0
    assert info["load"] == events["shown"].notna().sum()
    assert (events["posted"].dt.date.astype(str) == "2019-03-02").all()
    assert info["expired"] == (events["outcome"] == "expired").sum()


def test_frames_tell_the_day():
    _, env, _ = live(WORLD, show_all, day="2019-02-19")
    frame = env.frame()
    assert frame["date"] == "2019-02-19" and frame["of"] == frame["now"] == 1440 and frame["allowed"] == []
    starts, stops, words = zip(*frame["places"])
    assert starts[0] == 0 and starts[1:] == stops[:-1] and "unknown" not in words[1:]
    assert [event["arrived"] for event in frame["events"]] == sorted(event["arrived"] for event in frame["events"])


@pytest.mark.parametrize("answer, p", [("opened", 0.999), ("dismissed", 0.001)])
def test_a_day_with_an_answered_notification_is_drawn(answer, p, good_picture):
    env = gym.make("pushlab/push-v0", judge=answers_by_the_clock(p, p), render_mode="rgb_array")
    _, info = env.reset(seed=1)
    while not info["opens"] + info["refusals"]:
        _, _, _, _, info = env.step(show_all(info))
    assert env.render().std() > 10                          # not all of one colour
    frames = env.unwrapped._frames
    answered = [event for event in frames[-1]["events"] if event["closed"] is not None]
    assert [event["outcome"] for event in answered] == [answer]
    assert 0 <= answered[0]["arrived"] == answered[0]["shown"] <= answered[0]["closed"] <= info["time"]
    words = good_picture(WORLD.picture(frames))
    lanes = words[words.index("arrived"):]
    assert lanes[lanes.index(answer) + 1] == "1"


def test_arguments_are_checked():
    for wrong, words in (({"rewards": "2020"}, "rewards is one of default, 20"), ({"source": "dreams"}, "source is"),
                         ({"max_forbidden": 0}, "max_forbidden is a whole number from 1 up"),
                         ({"max_age": -1}, "max_age is a number of minutes from 0 to inf"),
                         ({"horizon": 1.5}, "horizon is a whole number")):
        with pytest.raises(ValueError, match=words):
            Push("mira", **wrong)


def test_without_an_age_at_which_they_expire_the_waiting_expire_at_the_end():
    """Infinity is no age that is never passed: at the end everything is paid, as with an age that is only long."""
    def play(max_age):
        env = gym.make("pushlab/push-v0", max_age=max_age)
        _, info = env.reset(seed=1)
        paid = []
        for _ in range(10_000):
            _, reward, terminated, _, info = env.step(2 if info["hand"] >= 0 else 4)              # cache, stand by
            paid.append(reward)
            if terminated:
                return paid, info["expired"]
        pytest.fail("the day has no end")

    endless, long = play(np.inf), play(1e9)
    assert endless == long and endless[1] > 0
