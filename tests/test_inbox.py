"""The inbox draws every moment of a made-up user's days: its words whole and apart, its counts those of the events."""

import gymnasium as gym
import numpy as np
import pytest

from pushlab import plots
from pushlab.plots.inbox import event_title, just_dealt, latest_events
from pushlab.plots.timeline import clock_time, day_counts, midnight_before, stack, waits
from pushlab.plots.widgets import player, you_are_the_agent

KNOWN = {                                       # some features of EvalUMAP 2019
    "notification": {
        "postingApp": ["org.pushlab.chat", "org.pushlab.bank", "com.google.android.gm"], "category": ["msg", "email"],
        "subject": ["finance", "unknown", "email & messaging"], "priority": ["default", "high", "max", "low", "min"]},
    "context": {
        "day": list("0123456"), "place": ["unknown", "TYPE_AMUSEMENT_PARK TYPE_ART_GALLERY TYPE_AQUARIUM TYPE_BAKERY"],
        "activity": ["still", "foot walking", "unknown"], "batteryLevel": ["low", "medium", "high"],
        "charging": ["True", "False"], "ringerMode": ["vibrate", "normal", "silent"]}}
STRANGE = {                                     # nobody's, and unkind to pictures
    "notification": {
        "whichAppSentIt": ["a.package.with_a_name_that_never_seems_to_end_at_all", "$5 or $6", ""],
        "subject": ["你好, a subject that goes on and on and on, for ever and ever and ever and a day, and another"],
        "priority": ["critical beyond measure"]},
    "context": {f"anExtraordinarilyLongFeatureName_{i}": ["unknown", "", "a value, with commas"] for i in range(9)}}
NO_APP = {"notification": {"wording": ["short"]}, "context": {"light": ["dim"]}}
ACTIONS = ("show", "dismiss", "cache", "check-cache", "stand-by")
PLACES = ((0, 480, "home"), (480, 540, "unknown"), (540, 1060, "office"), (1060, 1122, "TYPE_BAR TYPE_ATM"),
          (1122, 1440, "home"))
DAY = 1440


class MadeUp(gym.Env):
    """A user's days as the world tells them, small and without thought; a moment is an arrival or a stretch later."""

    action_space = gym.spaces.Discrete(len(ACTIONS))
    observation_space = gym.spaces.Discrete(2)
    action_choices = [("action", list(ACTIONS))]
    picture = staticmethod(plots.inbox)

    def __init__(self, schema=KNOWN, days=1, arrivals=25, max_age=400, first=430, stretch=60):
        self.schema, self.days, self.arrivals, self.max_age = schema, days, arrivals, max_age
        self.first, self.stretch = first, stretch
        self.world = self

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        drawn = self.np_random.uniform(self.first, DAY - 60, (self.days, self.arrivals))
        self.coming = sorted((drawn + DAY * np.arange(self.days)[:, None]).ravel().tolist())
        self.now, self.events, self.cache, self.hand, self.last, self.total = 0.0, [], [], None, None, 0.0
        self.taken = []
        return 0, {"action_mask": self.mask()}

    def one_of(self, half):
        return {name: str(self.np_random.choice(values)) for name, values in self.schema[half].items()}

    def mask(self):
        hand, over = self.hand is not None, self.now >= self.days * DAY
        check = not hand and any(event not in self.taken for event in self.cache)
        return np.array([hand and not over] * 3 + [check and not over, not hand and not over], np.int8)

    def step(self, action):
        name, forbidden = ACTIONS[action], not self.mask()[action]
        event = self.hand
        if name == "check-cache" and not forbidden:
            event = next(waiting for waiting in self.cache if waiting not in self.taken)
        self.last = {"action": name, "forbidden": forbidden,
                     "notification": None if event is None or name == "stand-by" else event["notification"]}
        self.total += float(self.np_random.normal())
        if not forbidden:
            getattr(self, "do_" + name.replace("-", "_"))(event)
        return 0, 0.0, self.now >= self.days * DAY, False, {"action_mask": self.mask()}

    def do_show(self, event):
        event |= {"shown": self.now, "outcome": "pending", "answers": self.now + self.np_random.exponential(30),
                  "answer": str(self.np_random.choice(["opened", "dismissed"]))}
        self.hand = None

    def do_dismiss(self, event):
        event |= {"closed": self.now, "outcome": "unseen"}
        self.hand = None

    def do_cache(self, event):
        event |= {"outcome": "waiting", "deferrals": event["deferrals"] + 1}
        self.cache, self.hand = sorted([*self.cache, event], key=lambda e: e["arrived"]), None

    def do_check_cache(self, event):
        event["outcome"] = "in hand"
        self.cache.remove(event)
        self.taken.append(event)
        self.hand = event

    def do_stand_by(self, _):
        later, end = self.stretch * (self.now // self.stretch + 1), self.days * DAY
        self.now, self.taken = min([later, end, *self.coming[:1]]), []
        for event in self.events:
            if event["outcome"] == "pending" and event["answers"] <= self.now:
                event |= {"closed": event["answers"], "outcome": event["answer"]}
            if event["outcome"] == "waiting" and event["arrived"] + self.max_age <= self.now:
                self.cache.remove(event)
                event |= {"closed": event["arrived"] + self.max_age, "outcome": "expired"}
        if self.coming and self.coming[0] <= self.now < end:
            self.hand = {"arrived": self.coming.pop(0), "shown": None, "closed": None, "outcome": "in hand",
                         "notification": self.one_of("notification"), "deferrals": 0}
            self.events.append(self.hand)

    def frame(self):
        def waiting(event):
            return event and {key: event[key] for key in ("notification", "arrived", "deferrals")}

        since = midnight_before(self.now, self.days * DAY)
        places = [(since + a, min(since + b, self.now), words) for a, b, words in PLACES if since + a < self.now]
        return {"env": "push-v0", "user": "mira", "date": f"2019-02-{19 + int(since // DAY)}",
                "now": self.now, "of": self.days * DAY,
                "context": self.one_of("context"), "hand": waiting(self.hand), "cache": list(map(waiting, self.cache)),
                "events": [{key: event[key] for key in ("arrived", "shown", "closed", "outcome", "notification")}
                           for event in self.events],
                "allowed": [name for name, allowed in zip(ACTIONS, self.mask()) if allowed], "places": places,
                "last": None if self.last is None else dict(self.last),
                "reward": self.total, "parts": {"opened": self.total}, "labels": {"day": {"1": "Tuesday"}}}


def live(weights=(4, 1, 2, 2, 5), seed=3, until=None, **settings):
    """The frames of an episode in which each action comes up as often as its weight says, if it is allowed."""
    env, rng = MadeUp(**settings), np.random.default_rng(seed)
    env.reset(seed=seed)
    frames, over = [env.frame()], False
    while not over:
        chances = np.array(weights) * env.mask()
        _, _, over, *_ = env.step(int(rng.choice(5, p=chances / chances.sum())))
        frames.append(env.frame())
        if until is not None and env.now >= until:
            break
    return frames


def moment(frames, test):
    """The frames up to the first that passes a test."""
    return frames[:1 + next(number for number, frame in enumerate(frames) if test(frame))]


@pytest.fixture(scope="module")
def frames():
    return live()


# ---------------------------------------------------------------- every moment is whole

@pytest.mark.parametrize("choosing", [False, True])
def test_every_kind_of_moment_is_whole(frames, choosing, good_picture):
    kinds = {(frame["last"] or {}).get("action"): number for number, frame in enumerate(frames)}
    assert set(kinds) == {None, *ACTIONS}
    for number in kinds.values():
        good_picture(plots.inbox(frames[:number + 1], choosing=choosing))


@pytest.mark.parametrize("schema", [KNOWN, STRANGE, NO_APP])
@pytest.mark.parametrize("days", [1, 3])
def test_any_schema_and_horizon_is_whole(schema, days, good_picture):
    frames = live(schema=schema, days=days, arrivals=40)
    late = moment(frames, lambda frame: frame["now"] > DAY * days - 300 and frame["hand"])
    good_picture(plots.inbox(late, agent="an agent whose name is rather long"))
    good_picture(plots.inbox(frames))


def test_a_day_with_arrivals_at_night_and_sixty_an_evening_is_whole(good_picture):
    good_picture(plots.inbox(live(first=5, arrivals=90, until=1200)))


@pytest.mark.parametrize("waiting", [0, 1, 3, 4, 8, 40])
def test_a_cache_of_any_length_is_whole_and_counted(waiting, good_picture):
    frames = moment(live((0, 0, 1, 0, 1), arrivals=60, max_age=2000), lambda frame: len(frame["cache"]) == waiting)
    words = good_picture(plots.inbox(frames))
    assert ("nothing waits" in words) is (waiting == 0)
    assert (f"{waiting} waiting" if waiting else "none waiting") in "".join(words)
    assert (f"{waiting - 2} more" in words) is (waiting > 3)
    assert sum(word.startswith("put off") for word in words) == (waiting if waiting <= 3 else 2)


def test_any_minute_of_the_day_is_whole(frames, good_picture):
    for now in (0.0, 1.0, 359.0, 700.0, 1310.0, 1439.9):
        seen = [event for event in frames[-1]["events"] if event["arrived"] <= now]
        good_picture(plots.inbox([{**frames[0], "now": now, "events": [
            {**event, "shown": None, "closed": None, "outcome": "waiting"} for event in seen],
            "places": [(0.0, now / 2, "home"), (now / 2, now, "TYPE_A TYPE_B TYPE_C")]}]))


# ---------------------------------------------------------------- what the words say

def test_titles_say_what_happened_last(frames):
    endings = {"show": "notification was shown", "cache": "waits in the cache", "dismiss": "was dismissed unseen",
               "check-cache": "is back in hand"}
    for before, now in zip(frames, frames[1:-1]):
        action = now["last"]["action"]
        if action in endings:
            assert event_title(now, before).endswith(endings[action])
        elif now["hand"]:
            assert event_title(now, before).endswith("arrives")
    assert any(event_title(now, before).endswith(("was opened", "was dismissed", "expired unseen"))
               for before, now in zip(frames, frames[1:]))
    opened = sum(event["outcome"] == "opened" for event in frames[-1]["events"])
    assert event_title(frames[-1]) == f"The day is over: {opened} of 25 notifications opened"


def test_a_forbidden_action_is_named_and_changes_nothing_else(good_picture):
    env = MadeUp()
    env.reset(seed=1)
    env.step(ACTIONS.index("show"))
    assert "“show” is not allowed now" in good_picture(plots.inbox([env.frame()]))
    while not env.hand:
        env.step(ACTIONS.index("stand-by"))
    env.step(ACTIONS.index("check-cache"))
    words = good_picture(plots.inbox([env.frame()]))
    assert {"“check-cache” is not allowed now", "only these are allowed", "in hand", "show", "dismiss"} <= set(words)


def test_the_shade_shows_the_choice_and_for_a_person_what_is_left_to_choose(frames, good_picture):
    dealt = moment(frames, lambda frame: frame["last"] and frame["last"]["action"] == "cache")
    assert just_dealt(dealt[-1])["notification"] == dealt[-1]["last"]["notification"]
    words = good_picture(plots.inbox(dealt, agent="thompson"))
    assert {"was in hand", "thompson chose", "cache"} <= set(words) and "stand-by" not in words
    words = good_picture(plots.inbox(dealt, choosing=True))
    assert {"nothing in hand", "allowed now", *dealt[-1]["allowed"]} <= set(words) and "was in hand" not in words


def test_the_phone_says_day_time_and_place(frames, good_picture):
    frame = {**moment(frames, lambda frame: frame["now"] > 1122)[-1], "now": 1122.4,
             "context": {"place": "TYPE_BAR TYPE_ATM", "activity": "still"}}
    words = good_picture(plots.inbox([frame]))
    assert {"Tuesday 18:42", "bar, atm, still", "18:42", "now 18:42"} <= set(words)
    words = good_picture(plots.inbox([{**frame, "date": None, "context": {"day": "1"}}]))
    assert "Tuesday 18:42" in words and "place unknown" in words


def test_several_days_show_the_last_one(good_picture):
    frames = live(days=3, until=2 * DAY + 700)
    words = good_picture(plots.inbox(frames))
    assert any("day 3 of 3" in word for word in words)
    assert f"Thursday {clock_time(frames[-1]['now'])}" in words
    whole = live(days=3)
    assert midnight_before(whole[-1]["now"], whole[-1]["of"]) == 2 * DAY


# ---------------------------------------------------------------- numbers

@pytest.mark.parametrize("seed", range(3))
def test_counts_of_a_day_add_up_at_every_moment(seed):
    for frame in live(seed=seed, max_age=200):
        counts = day_counts(frame["events"], frame["cache"], 0, frame["now"])
        hand, pending = frame["hand"] is not None, [e["outcome"] for e in frame["events"]].count("pending")
        assert counts["arrived"] == counts["shown"] + counts["unseen"] + counts["waiting"] + hand
        assert counts["shown"] == counts["opened"] + counts["dismissed"] + pending


def test_counts_stand_beside_their_lanes(frames, good_picture):
    frame = moment(frames, lambda frame: frame["now"] > 1000)[-1]
    words = good_picture(plots.inbox([frame]))
    lanes = words[words.index("arrived"):]
    counts = day_counts(frame["events"], frame["cache"], 0, frame["now"])
    assert {lane: lanes[lanes.index(lane) + 1] for lane in counts} == {k: str(v) for k, v in counts.items()}


def test_a_place_is_named_whole_or_not_at_all(frames, good_picture):
    frame = {**moment(frames, lambda frame: frame["now"] > 1000)[-1]}
    frame["places"] = [(0.0, 600.0, "home"), (600.0, 760.0, "TYPE_ACCOUNTING"), (760.0, frame["now"], "TYPE_ATM")]
    words = good_picture(plots.inbox([frame]))
    assert "home" in words and not any(word.startswith("acco") for word in words)
    frame["context"] = {**frame["context"], "place": "TYPE_AMUSEMENT_PARK TYPE_ART_GALLERY TYPE_ATM"}
    assert not any("galle…" in word for word in good_picture(plots.inbox([frame])))


def test_expired_is_explained_only_where_something_expired(good_picture):
    for max_age in (200, 10_000):
        frame = live(seed=0, max_age=max_age)[-1]
        expired = any(event["outcome"] == "expired" for event in frame["events"])
        said = any(word.startswith("expired:") for word in good_picture(plots.inbox([frame])))
        assert said == expired == (max_age == 200)


def test_a_wait_goes_from_arrival_to_showing_or_now():
    event = {"arrived": 10.0, "shown": None, "closed": None, "outcome": "waiting"}
    events = [event, {**event, "shown": 30.0, "closed": 50.0, "outcome": "opened"},
              {**event, "shown": 10.0, "outcome": "pending"}, {**event, "closed": 70.0, "outcome": "expired"},
              {**event, "outcome": "in hand"}]
    assert waits(events, 90.0) == [(10.0, 90.0), (10.0, 30.0), (10.0, 70.0)]
    assert stack(waits(events, 90.0)) == [0, 1, 2]


def test_earlier_cards_are_the_last_that_left_the_agents_hands(frames):
    frame = moment(frames, lambda frame: frame["now"] > 1000)[-1]
    newest, before = latest_events(frame)
    ends = [max(event["shown"] or 0, event["closed"] or 0) for event in frame["events"]]
    assert [max(event["shown"] or 0, event["closed"] or 0) for event in (newest, before)] == sorted(ends)[:-3:-1]


def test_inbox_uses_a_figure_again_and_refuses_no_frames(frames):
    figure = plots.inbox(frames[:5])
    first = plots.png(figure)
    assert plots.inbox(frames[:40], figure=figure) is figure and plots.png(figure) != first
    plots.inbox(frames[:5], figure=figure)
    assert plots.png(figure) == first
    with pytest.raises(ValueError, match="at least one frame"):
        plots.inbox([])


# ---------------------------------------------------------------- widgets

def test_a_player_plays_the_inbox(frames):
    panel = player(frames[:30], plots.inbox, agent="thompson")
    before = panel.image.value
    panel.slider.value = 25
    assert panel.image.value != before and "Error" not in panel.words.value


def test_a_reader_manages_a_day_with_buttons_grey_while_not_allowed():
    seat = you_are_the_agent(MadeUp(arrivals=3, stretch=360), seed=2)
    assert [button.description for button in seat.buttons] == list(ACTIONS)
    rng, kept = np.random.default_rng(0), set()
    while not seat.over:
        allowed = [not button.disabled for button in seat.buttons]
        assert allowed == seat.env.mask().astype(bool).tolist()
        kept.add(tuple(allowed))
        seat.buttons[rng.choice(np.flatnonzero(allowed))].click()
        assert "Error" not in seat.words.value
    assert len(kept) == 3 and all(button.disabled for button in seat.buttons)
    assert {line["action"] for line in seat.log} <= set(ACTIONS) and len(seat.log) == len(seat.frames) - 1
