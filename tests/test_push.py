"""push-v0: rewards, the user's answers, observations and days."""

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence

from pushlab.datasets.reading import load_user
from pushlab.envs.env import Env
from pushlab.envs.push import rules
from pushlab.envs.push.world import COUNTERFACTUAL_INFOS, Push
from pushlab.envs.random_numbers import uniform_at
from pushlab.users.days import days_of, slot_number
from pushlab.users.simulated import SimulatedUser

SHOW, DISMISS, CACHE, CHECK, STAND_BY = range(5)
MIRA = load_user("mira")
WORLD = Push("mira", max_age=200)


def play(world, policy, seed=0, **options):
    """Run an episode with policy(info); return the environment, rewards and infos."""
    env = Env(world)
    infos = [env.reset(seed=seed, options=options)[1]]
    rewards = []
    terminated = False
    while not terminated:
        _, reward, terminated, _, info = env.step(policy(infos[-1]))
        rewards.append(reward)
        infos.append(info)
    return env, np.array(rewards), infos


def always(action):
    """Return a policy that takes the action whenever it is allowed, otherwise stand-by."""
    return lambda info: action if info["action_mask"][action] else STAND_BY


def evening_judge(day=-50):
    """Return a judge that opens everything in the evening and at night, and by default nothing before."""
    context = np.zeros(int(MIRA.schema.context.sizes.sum()))
    notification = np.zeros(int(MIRA.schema.notification.sizes.sum()))
    start = MIRA.schema.context.starts[MIRA.schema.context.components.index("time")]
    for code, word in enumerate(MIRA.schema.context["time"].words):
        context[start + code] = 50 if word in ("evening", "night") else day
    pairs = np.zeros((len(context), len(notification)))
    return SimulatedUser(MIRA.schema, 0.0, context, notification, pairs, "evening")


# ------------------------------------------------------------ rules


class ReferenceRules:
    """An independent implementation of masks and rewards for one episode, based on infos."""

    def __init__(self, world):
        self.world = world
        self.deferrals = dict.fromkeys(range(world.width), 0)
        self.handled = set()  # notifications that have been in hand at this moment
        self.in_a_row = 0
        self.settled_at = {}

    def waiting(self, info):
        code = self.world.status_names.index("waiting")
        return set(np.flatnonzero(info["statuses"] == code).tolist())

    def mask(self, info):
        if info["hand"] >= 0:
            return [1, 1, 1, 0, 0]
        return [0, 0, 0, int(bool(self.waiting(info) - self.handled)), 1]

    def reward(self, before, action, after):
        weights = self.world.weights
        hand = before["hand"]
        waiting = self.waiting(before)
        if hand >= 0:
            self.handled.add(hand)
        reward = 0.0
        time_passes = action == STAND_BY
        allowed = self.mask(before)[action]
        self.in_a_row = 0 if allowed else self.in_a_row + 1
        if not allowed:
            reward += weights["forbidden"]
            time_passes = self.in_a_row == self.world.max_forbidden
        if hand >= 0 and (time_passes or (allowed and action == CACHE)):
            waiting.add(hand)
            self.deferrals[hand] += 1
            if self.deferrals[hand] > self.world.patience:
                reward += weights["endless"] * self.deferrals[hand]
        if allowed and action == CHECK:
            reward += weights["look"]
            assert after["hand"] == min(waiting - self.handled)
        if time_passes:
            self.in_a_row = 0
            reward += weights["wait"] * len(waiting)
            reward += weights["idle"] * bool(waiting - self.handled)
            self.handled = set()
        changed = np.flatnonzero(before["statuses"] != after["statuses"])
        for index in changed.tolist():
            delayed_reward = self.world.status_rewards[after["statuses"][index]]
            if delayed_reward:
                assert time_passes
                reward += delayed_reward
                self.settled_at[index] = after["time"]
        return reward


def test_weights_of_default_and_original_rewards():
    default = Push("mira", wait=-7).weights.values()
    assert list(default) == [1, -1, -1, 0.2, 0, -0.01, -7, -0.02, -0.5]
    original = Push("mira", rewards="2019")
    assert [*original.weights.values()] == [5, -10, 0, 0, 1, -1, -0.2, -0.2, -0.5]
    assert original.patience == 15


@pytest.mark.parametrize(
    "arguments, seed",
    [
        ({}, 1),
        ({"max_age": 100, "patience": 1, "look": 0.5, "missed": -0.7}, 2),
        ({"rewards": "2019", "missed": -1.0, "spared": 0.3, "max_forbidden": 2}, 3),
        ({"user": ["mira", "noor"], "horizon": 2, "max_age": 300}, 4),
    ],
)
def test_masks_and_rewards_equal_the_reference_rules(arguments, seed):
    world = Push(**arguments)
    rng = np.random.default_rng(seed)
    actions = rng.choice(5, 5000, p=[0.2, 0.1, 0.3, 0.2, 0.2])
    remaining = iter(actions)
    env, rewards, infos = play(world, lambda info: next(remaining), seed)
    reference = ReferenceRules(world)
    for before, action, reward, after in zip(infos, actions, rewards, infos[1:]):
        assert before["action_mask"].tolist() == reference.mask(before)
        assert reward == pytest.approx(reference.reward(before, action, after))
    last = infos[-1]
    assert last["time"] == 1440 * world.horizon
    assert last["action_mask"].tolist() == [0, 0, 0, 0, 1]
    events = env.events()
    outcomes = events["outcome"].value_counts()
    outcome_of_count = {
        "opens": "opened",
        "refusals": "dismissed",
        "dismissed": "unseen",
        "expired": "expired",
    }
    for name, outcome in outcome_of_count.items():
        assert last[name] == outcomes[outcome]
    assert (
        last["cached"] == sum(reference.deferrals.values()) == events["deferrals"].sum()
    )
    assert last["load"] == events["shown"].count() / world.horizon
    assert last["delay"] == pytest.approx(events["delay"].mean())
    assert rewards.sum() == pytest.approx(sum(env.frame()["parts"].values()))
    # Answers and expiries are settled at the next moment.
    times = np.unique([info["time"] for info in infos])
    for index, time in reference.settled_at.items():
        closed = events["closed"][index]
        if events["outcome"][index] == "expired":
            assert time == times[np.append(times[:-1] > closed, True)][0]
        elif events["outcome"][index] != "unseen":
            assert time == times[times >= closed][0]


@pytest.mark.parametrize("never", [DISMISS, CACHE])
def test_observed_feedback_hides_the_answers_to_unseen_notifications(never):
    """Users who answer alike in the evening, when notifications are shown, are indistinguishable."""

    def policy(info):
        action = SHOW if info["time"] > 17 * 60 else never
        return action if info["action_mask"][SHOW] else STAND_BY

    full, first, second = (
        play(
            Push(judge=evening_judge(day), feedback=feedback, max_age=60),
            policy,
            day=3,
        )[1:]
        for day, feedback in ((50, "full"), (50, "observed"), (-50, "observed"))
    )
    assert data_equivalence(first, second)
    last = full[1][-1]
    assert last.keys() - first[1][-1] == {*COUNTERFACTUAL_INFOS}
    assert full[0].sum() - first[0].sum() == pytest.approx(-last["missed"])


def test_answers_depend_on_the_context_when_shown():
    """Dismissed and expired notifications are judged in the context of their arrival."""
    world = Push("mira", judge=evening_judge(), max_age=60)

    def is_evening(minutes):
        return np.asarray(minutes) % 1440 >= 17 * 60

    shown, rewards, _ = play(world, always(SHOW), day=3)
    events = shown.events()
    late = is_evening(events["arrived"])
    assert 0 < late.sum() < len(late)
    assert ((events["outcome"] == "opened") == late).all()
    assert rewards.sum() == late.sum() - (~late).sum()
    for action in (DISMISS, CACHE):
        env, _, infos = play(world, always(action), day=3)
        assert infos[-1]["parts.missed"] == -late.sum()
        assert infos[-1]["parts.spared"] == pytest.approx(0.2 * (~late).sum())
    waited = env.events().eval("closed - arrived")
    assert (waited == np.minimum(60, 1440 - events["arrived"])).all()

    def defer(info):
        show_now = is_evening(info["time"])
        if info["hand"] >= 0:
            return SHOW if show_now else CACHE
        return CHECK if show_now and info["action_mask"][CHECK] else STAND_BY

    patient = Push("mira", judge=evening_judge())
    env, _, infos = play(patient, defer, day=3)
    assert (infos[-1]["opens"] > late.sum(), infos[-1]["refusals"]) == (True, 0)


def even_judge():
    """Return a judge that opens everything with probability 1/2."""
    judge = evening_judge(0.0)
    return replace(judge, context=np.zeros_like(judge.context))


def test_earlier_pushes_lower_the_probability_of_an_open_as_by_hand():
    """Two of a day's notifications are shown: the odds of the second are exp(-2 D) for the dose D of the first."""
    world = Push("mira", judge=even_judge(), habituation=2.0)

    def show_two(info):
        if info["hand"] < 0:
            return STAND_BY
        return SHOW if info["hand"] in (5, 8) else DISMISS

    changed = 0
    for seed in range(30):
        env, _, infos = play(world, show_two, seed, day=3)
        events = env.events()
        gap = events["arrived"][8] - events["arrived"][5]
        dose = 2 ** (-gap / 240)
        [on_arrival] = [info["dose"] for info in infos if info["hand"] == 8]
        assert on_arrival == pytest.approx(dose)
        probability = 1 / (1 + np.exp(2 * dose))
        key = env.state["sums"][0, rules.KEY]
        for index, p in ((5, 0.5), (8, probability)):
            is_opened = uniform_at(key, 2 * index) < p
            assert (events["outcome"][index] == "opened") == is_opened
        changed += is_opened != (uniform_at(key, 16) < 0.5)
    assert changed


def test_pushes_of_the_same_moment_count_for_each_other():
    """Notifications that are hoarded and then shown at once don't avoid habituation."""
    world = Push("mira", judge=even_judge(), habituation=10.0)

    def policy(info):
        if info["hand"] >= 0:
            return SHOW if info["time"] > 1200 else CACHE
        return CHECK if info["time"] > 1200 and info["action_mask"][CHECK] else STAND_BY

    _, _, infos = play(world, policy, day=3)
    assert infos[-1]["shown"] > 10
    assert infos[-1]["opens"] == 0


def test_response_times_come_from_the_history():
    table = MIRA.history.table
    slots = slot_number(table["posted"].dt.hour.to_numpy() * 60)
    env, _, _ = play(WORLD, always(SHOW), seed=2, day=40)
    events = env.events().query("closed < 1440")
    assert len(events) > 10
    for event in events.itertuples():
        mask = (table["action"] == event.outcome) & (slots == slot_number(event.shown))
        difference = table["response_time"][mask] / 60 - (event.closed - event.shown)
        assert difference.abs().min() < 1e-6


# ------------------------------------------------------------ observations


def test_observations_are_the_ranges_of_exact_numbers_in_frames():
    world = Push("mira", horizon=2)
    env = Env(world)
    rng = np.random.default_rng(5)
    observation, info = env.reset(seed=1, options={"day": 3})
    for _ in range(250):
        frame = env.frame()
        now = info["time"]
        cache = frame["cache"]
        head = cache[0] if cache else None
        pending = [event for event in frame["events"] if event["outcome"] == "pending"]
        counts = [1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50]
        expected = {
            "cache.waiting": np.searchsorted(counts, len(cache), "right"),
            "pending.shown": np.searchsorted(counts, len(pending), "right"),
            "hour": now % 1440 // 60,
            "days.left": 1 - now // 1440,
        }
        started = {"head.age": head and head["arrived"]}
        started["pending.age"] = min(
            (event["shown"] for event in pending), default=None
        )
        for name, start in started.items():
            ages = [15, 60, 120, 240, 480]
            expected[name] = 6  # none
            if start is not None:
                expected[name] = np.searchsorted(ages, now - start, "right")
        words = world.decode_one(observation)
        for group, event in (("hand", frame["hand"]), ("head", head)):
            subject = event["notification"]["subject"] if event else "none"
            assert words[f"{group}.subject"] == subject
        actual = dict(zip(world.observation_names, observation.tolist()))
        assert {name: actual[name] for name in expected} == expected
        allowed = np.flatnonzero(info["action_mask"])
        observation, _, _, _, info = env.step(int(rng.choice(allowed)))


# ------------------------------------------------------------ days and users


def test_episodes_start_with_requested_days_and_users():
    train = Push("mira", days="train")
    test = Push("mira", days="test")
    assert train.start_days.tolist() == list(range(56))
    assert test.start_days.tolist() == list(range(56, 84))
    assert Push("mira", days=(3, 6), horizon=2).start_days.tolist() == [3, 4]
    both = Push(["mira", "noor"])
    options = {"user": "noor", "day": "2019-05-12"}
    env, rewards, infos = play(both, always(CACHE), seed=5, **options)
    _, expected, _ = play(Push("noor"), always(CACHE), seed=5, day=83)
    assert (infos[0]["user"], infos[0]["day"]) == (1, 83)
    assert env.frame()["date"] == "2019-05-12"
    assert np.array_equal(rewards, expected)
    envs = gym.make_vec("pushlab/push-v0", num_envs=2, user=["mira", "noor"])
    infos = envs.reset(options={"user": ["mira", "noor"], "day": [4, 7]})[1]
    assert infos["user"].tolist() == [0, 1]
    assert infos["day"].tolist() == [4, 7]


def test_days_contain_the_history_and_the_time():
    days = days_of(MIRA)
    has_arrival = days.arrival >= 0
    assert np.array_equal(days.contexts[has_arrival], MIRA.history.context_codes)
    assert np.array_equal(days.notifications, MIRA.history.notification_codes)
    assert (days.times[days.first[:-1]] == 1440 * np.arange(84)).all()
    column = MIRA.schema.context.components.index("day")
    assert (days.contexts[:, column] == days.times // 1440 % 7).all()
