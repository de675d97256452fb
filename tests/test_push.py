"""push-v0: rewards by hand, the user's answers, observations in words, days."""

import gymnasium as gym
import numpy as np
import pytest

from pushlab.datasets.reading import load_user
from pushlab.envs.push.world import Push
from pushlab.envs.shell import Env
from pushlab.users.days import days_of, slot_number
from pushlab.users.simulated import SimulatedUser

SHOW, DISMISS, CACHE, CHECK, STAND_BY = range(5)
MIRA = load_user("mira")
WORLD = Push("mira", max_age=200)


def play(world, policy, seed=0, **options):
    """Run an episode under policy(info); return the environment, rewards and infos."""
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
    """A policy that takes one action whenever it is allowed, and otherwise waits."""
    return lambda info: action if info["action_mask"][action] else STAND_BY


def answers_by_the_clock():
    """A judge who opens everything in the evening and at night, and nothing before."""
    context = np.zeros(int(MIRA.schema.context.sizes.sum()))
    notification = np.zeros(int(MIRA.schema.notification.sizes.sum()))
    start = MIRA.schema.context.starts[MIRA.schema.context.components.index("time")]
    for code, word in enumerate(MIRA.schema.context["time"].words):
        context[start + code] = 50 if word in ("evening", "night") else -50
    pairs = np.zeros((len(context), len(notification)))
    return SimulatedUser(MIRA.schema, 0.0, context, notification, pairs, "clock")


# ------------------------------------------------------------ the rules, by hand


class Ledger:
    """The rules written a second time, for one episode, from what infos say."""

    def __init__(self, world):
        self.world = world
        self.deferrals = dict.fromkeys(range(world.width), 0)
        self.handled = set()  # notifications that were in hand at this moment
        self.in_a_row = 0
        self.settled_at = {}

    def waiting(self, info):
        code = self.world.fates.index("waiting")
        return set(np.flatnonzero(info["fates"] == code).tolist())

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
        passes = action == STAND_BY
        allowed = self.mask(before)[action]
        self.in_a_row = 0 if allowed else self.in_a_row + 1
        if not allowed:
            reward += weights["forbidden"]
            passes = self.in_a_row == self.world.max_forbidden
        if hand >= 0 and (passes or (allowed and action == CACHE)):
            waiting.add(hand)
            self.deferrals[hand] += 1
            if self.deferrals[hand] > self.world.patience:
                reward += weights["endless"] * self.deferrals[hand]
        if allowed and action == CHECK:
            reward += weights["look"]
            assert after["hand"] == min(waiting - self.handled)
        if passes:
            self.in_a_row = 0
            reward += weights["wait"] * len(waiting)
            reward += weights["idle"] * bool(waiting - self.handled)
            self.handled = set()
        for one in np.flatnonzero(before["fates"] != after["fates"]).tolist():
            worth = self.world.worths[after["fates"][one]]
            if worth:
                assert passes
                reward += worth
                self.settled_at[one] = after["time"]
        return reward


def test_weights_of_the_two_kinds_of_rewards():
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
def test_masks_and_rewards_follow_the_rules_step_by_step(arguments, seed):
    world = Push(**arguments)
    rng = np.random.default_rng(seed)
    actions = rng.choice(5, 5000, p=[0.2, 0.1, 0.3, 0.2, 0.2])
    step = iter(actions)
    env, rewards, infos = play(world, lambda info: next(step), seed)
    ledger = Ledger(world)
    for before, action, reward, after in zip(infos, actions, rewards, infos[1:]):
        assert before["action_mask"].tolist() == ledger.mask(before)
        assert reward == pytest.approx(ledger.reward(before, action, after))
    last = infos[-1]
    assert last["time"] == 1440 * world.horizon
    assert last["action_mask"].tolist() == [0, 0, 0, 0, 1]
    events = env.events()
    outcomes = events["outcome"].value_counts()
    counted = {"opens": "opened", "refusals": "dismissed", "dismissed": "unseen"}
    for name, outcome in {**counted, "expired": "expired"}.items():
        assert last[name] == outcomes[outcome]
    assert last["cached"] == sum(ledger.deferrals.values()) == events["deferrals"].sum()
    assert last["load"] == events["shown"].count() / world.horizon
    assert last["delay"] == pytest.approx(events["delay"].mean())
    assert rewards.sum() == pytest.approx(sum(env.frame()["parts"].values()))
    # answers and expiries are paid at the next moment
    times = np.unique([info["time"] for info in infos])
    for one, at in ledger.settled_at.items():
        closed = events["closed"][one]
        if events["outcome"][one] == "expired":
            assert at == times[np.append(times[:-1] > closed, True)][0]
        elif events["outcome"][one] != "unseen":
            assert at == times[times >= closed][0]


def test_the_user_answers_in_the_context_of_the_showing():
    """A dismissed or expired notification is judged as it arrived."""
    world = Push("mira", judge=answers_by_the_clock(), max_age=60)

    def evening(minutes):
        return np.asarray(minutes) % 1440 >= 17 * 60

    shown, rewards, _ = play(world, always(SHOW), day=3)
    events = shown.events()
    late = evening(events["arrived"])
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
        now = evening(info["time"])
        if info["hand"] >= 0:
            return SHOW if now else CACHE
        return CHECK if now and info["action_mask"][CHECK] else STAND_BY

    patient = Push("mira", judge=answers_by_the_clock())
    env, _, infos = play(patient, defer, day=3)
    assert (infos[-1]["opens"] > late.sum(), infos[-1]["refusals"]) == (True, 0)


def test_answers_take_the_times_of_the_history():
    table = MIRA.history.table
    slots = slot_number(table["posted"].dt.hour.to_numpy() * 60)
    env, _, _ = play(WORLD, always(SHOW), seed=2, day=40)
    events = env.events().query("closed < 1440")
    assert len(events) > 10
    for event in events.itertuples():
        alike = (table["action"] == event.outcome) & (slots == slot_number(event.shown))
        apart = table["response_time"][alike] / 60 - (event.closed - event.shown)
        assert apart.abs().min() < 1e-6


# ------------------------------------------------------------ what the agent sees


def test_observations_say_in_ranges_what_frames_say_exactly():
    world = Push("mira", horizon=2)
    env = Env(world)
    rng = np.random.default_rng(5)
    observation, info = env.reset(seed=1, options={"day": 3})
    for _ in range(250):
        frame = env.frame()
        now = info["time"]
        cache = frame["cache"]
        head = cache[0] if cache else None
        pending = [one for one in frame["events"] if one["outcome"] == "pending"]
        counts = [1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50]
        expected = {
            "cache.waiting": np.searchsorted(counts, len(cache), "right"),
            "pending.shown": np.searchsorted(counts, len(pending), "right"),
            "hour": now % 1440 // 60,
            "days.left": 1 - now // 1440,
        }
        started = {"head.age": head and head["arrived"]}
        started["pending.age"] = min((one["shown"] for one in pending), default=None)
        for name, start in started.items():
            ages = [15, 60, 120, 240, 480]
            none = start is None
            expected[name] = 6 if none else np.searchsorted(ages, now - start, "right")
        words = world.decode_one(observation)
        for place, card in (("hand", frame["hand"]), ("head", head)):
            subject = card["notification"]["subject"] if card else "none"
            assert words[f"{place}.subject"] == subject
        seen = dict(zip(world.observation_names, observation.tolist()))
        assert {name: seen[name] for name in expected} == expected
        allowed = np.flatnonzero(info["action_mask"])
        observation, _, _, _, info = env.step(int(rng.choice(allowed)))


# ------------------------------------------------------------ days and users


def test_episodes_start_on_the_days_and_with_the_users_asked_for():
    train = Push("mira", days="train")
    test = Push("mira", days="test")
    assert train.start_days.tolist() == list(range(56))
    assert test.start_days.tolist() == list(range(56, 84))
    assert Push("mira", days=(3, 6), horizon=2).start_days.tolist() == [3, 4]
    both = Push(["mira", "noor"])
    options = {"user": "noor", "day": "2019-05-12"}
    env, rewards, infos = play(both, always(CACHE), seed=5, **options)
    _, same, _ = play(Push("noor"), always(CACHE), seed=5, day=83)
    assert (infos[0]["user"], infos[0]["day"]) == (1, 83)
    assert env.frame()["date"] == "2019-05-12"
    assert np.array_equal(rewards, same)
    envs = gym.make_vec("pushlab/push-v0", num_envs=2, user=["mira", "noor"])
    infos = envs.reset(options={"user": ["mira", "noor"], "day": [4, 7]})[1]
    assert infos["user"].tolist() == [0, 1]
    assert infos["day"].tolist() == [4, 7]


def test_days_hold_the_history_and_the_clock():
    days = days_of(MIRA)
    came = days.arrival >= 0
    assert np.array_equal(days.contexts[came], MIRA.history.context_codes)
    assert np.array_equal(days.notifications, MIRA.history.notification_codes)
    assert (days.times[days.first[:-1]] == 1440 * np.arange(84)).all()
    column = MIRA.schema.context.components.index("day")
    assert (days.contexts[:, column] == days.times // 1440 % 7).all()
    lived = days_of(MIRA, "generator")  # and the quarter after the history
    every = np.vstack([MIRA.history.context_codes, MIRA.test.context_codes])
    assert np.array_equal(lived.contexts[lived.arrival >= 0], every)
