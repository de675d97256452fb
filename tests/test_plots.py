"""Tests of plots: each public plot has readable text and the numbers of its data."""

import gymnasium as gym
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from tables import parse_table

from pushlab import plots, rollout
from pushlab.agents import RandomAgent, ThompsonSampling
from pushlab.causal import CausalData
from pushlab.metrics import estimate
from pushlab.metrics.lifelong import Settings, lifelong_report, log_from_blocks

# ---------------------------------------------------------------- data


def make_log():
    """Return a log: with seed s the learner's reward per step in episode e is e + 0.1 s, that of "random" 1."""
    names = ["agent", "seed", "episode", "step"]
    levels = [("learner", "random"), range(3), range(4), (1, 2)]
    log = pd.MultiIndex.from_product(levels, names=names).to_frame(index=False)
    reward = log["episode"] + 0.1 * log["seed"]
    parts = {
        "info.parts.opened": log["step"] * reward,
        "info.parts.wait": -log["step"],
    }
    return log.assign(
        env="pushlab/push-v0",
        reward=reward.where(log["agent"] == "learner", 1.0),
        cost=3.0 + log["seed"],
        size=2 ** log["episode"],
        **parts,
    )


def make_engagements():
    """Return engagements of a Monday: 3 of 12 notifications are opened in the morning, 15 of 20 in the evening."""
    hours = np.repeat([8, 20], [12, 20])
    opened = [True] * 3 + [False] * 9 + [True] * 15 + [False] * 5
    return pd.DataFrame(
        {
            "posted": pd.Timestamp("2019-02-18") + pd.to_timedelta(hours, unit="h"),
            "time": np.where(hours == 8, "morning", "evening"),
            "place": np.where(hours == 8, "home", "office"),
            "postingApp": np.where(hours == 8, "org.pushlab.bank", "org.pushlab.chat"),
            "action": np.where(opened, "opened", "dismissed"),
        }
    )


def make_frame(step, opened=None, **features):
    """Return a frame of the phone. `opened` is None after reset()."""
    push = None
    context = {"day": "1", "time": "afternoon", "anUnknownLongFeature": "a, b " * 20}
    if opened is not None:
        push = {
            "context": context,
            "notification": {"postingApp": "org.pushlab.bank", **features},
            "opened": opened,
            "actual": False,
            "reward": 2.0 * opened,
            "probability": 0.5,
            "best": 0.8,
        }
    return {
        "env": "pushlab/evalumap1-v0",
        "user": "mira",
        "step": step,
        "episode_length": 3,
        "past_answers": 0,
        "context": {**context, "time": "night"},
        "push": push,
        "labels": {"day": {"1": "Tuesday"}},
    }


PHONE = [
    make_frame(0),
    make_frame(1, False),
    make_frame(2, True, subject="finance", priority="$5 or $6"),
]

SCORES = parse_table(
    """agent,  task,  seed, score, normalised
       mine,   phone, 0,    15,    0.5
       mine,   phone, 1,    20,    1.0
       mine,   room,  0,    0.25,  0.25
       mine,   room,  1,    0.0,   0.0
       linucb, phone, 0,    17.5,  0.75
       linucb, phone, 1,    15,    0.5
       linucb, room,  0,    0.5,   0.5
       linucb, room,  1,    0.5,   0.5"""
)
TASKS = parse_table(
    """name,    unit,   random, best, abilities
       phone,   opened, 10,     20,   exploration personalisation
       room,    right,  0,      1,    memory
       patient, reward, 0,      9,    planning"""
)
TASKS["abilities"] = TASKS["abilities"].str.split()
RUNS = {"new": np.array([[0.9, 0.7], [0.8, 0.6]]), "baseline": np.zeros((2, 2))}
EFFECTS = parse_table(
    """estimator,           estimate, low,  high, truth, covers
       doubly robust,       2.1,      1.5,  2.75, 2.0,   True
       difference in means, 0.5,      0.25, 1.25, 2.0,   False"""
)
SIZES = parse_table(
    """n,   estimator,     rmse, truth, covers, covers_low, covers_high
       100, doubly robust, 0.5,  2,     0.9,    0.85,       0.925
       800, doubly robust, 0.2,  2,     0.95,   0.9,        0.975"""
)
TREATED = np.repeat([True, False], [30, 10])
UNITS = CausalData(
    pd.DataFrame({"age": np.zeros(40)}),
    TREATED,
    np.zeros(40),
    propensity=np.where(TREATED, 0.72, 0.31),
)
VALUES = parse_table(
    """estimator,     value, low,  high
       naive,         0.5,   0.25, 0.75
       doubly robust, 0.9,   0.6,  1.3"""
)
CURVES = parse_table(
    """user, agent,    step, opened, opened_low, opened_high, reachable
       noor, Thompson, 100,  0.25,   0.125,      0.375,       0.9
       noor, Thompson, 200,  0.5,    0.4,        0.625,       0.9
       noor, random,   100,  0.2,    0.1,        0.3,         0.9
       noor, random,   200,  0.2,    0.1,        0.3,         0.9"""
)


def lifetime(**settings):
    """Return the report of a lifetime: A is learned, half lost while B is learned, then A is learned again."""
    learning = np.linspace(0, 8, 9)
    log = log_from_blocks(
        ("test", {"A": [0, 0], "B": [0, 0]}),
        ("train", "A", learning),
        ("test", {"A": [8, 8], "B": [0, 0]}),
        ("train", "B", learning),
        ("test", {"A": [3, 5], "B": [8, 8]}),
        ("train", "A", learning),
        ("test", {"A": [8, 8], "B": [8, 8]}),
    )
    settings = {"smoothing": "none", "normalization": "none", **settings}
    experts = {"A": [log_from_blocks(("train", "A", 2 * learning))]}
    return lifelong_report(log, experts, settings=Settings(**settings))


def make_frames(env, steps=3, **arguments):
    """Return the frames of an episode with random actions."""
    env = gym.make(f"pushlab/{env}", **arguments)
    options = {"seed": 1, "steps": steps, "record": "frames", "progress": False}
    _, films = rollout(env, RandomAgent(), **options)
    return films[0]


def draw_learned_map():
    env = gym.make("pushlab/evalumap2-v0")
    agent = ThompsonSampling()
    rollout(env, agent, steps=20, progress=False)
    learned = plots.learned_heatmap_table(agent, env, max_rows=4)
    return plots.learned_heatmap(learned)


def draw_preferences():
    paths = {"greedy": np.ones((12, 3, 2)), "oracle": np.ones((2, 3, 2))}
    return plots.preference_map(paths, np.eye(2), item_names=["news", "sport"])


# {name: (function that draws it, texts in it, coordinates of its lines, marks and bars)}
PICTURES = {
    "learning_curve": (
        lambda: plots.learning_curve(
            make_log().assign(limit=4.75), over="episode", window=1, best="limit"
        ),
        "learner, random",
        # The return is 2 e + 0.2 s; 4.30265 is the quantile of t with two degrees.
        [0.2, 2.2, 4.2, 6.2, 6.2 - 4.30265 * 0.2 / 3**0.5, 9.5],
    ),
    "compare_policies": (
        lambda: plots.compare_policies(make_log()),
        "learner, random",
        [1.5, 1.6, 1.7, 1.6 + 4.30265 * 0.1 / 3**0.5, 1.0],
    ),
    "sweep_curve": (
        lambda: plots.sweep_curve(make_log(), "size", "reward"),
        "learner, random, size",
        [1, 2, 4, 8, 0.1, 1.1, 2.1, 3.1],
    ),
    "trade_off": (
        lambda: plots.trade_off(make_log(), "cost", "reward", better="upper left"),
        "learner, random, cost, reward, better",
        [4.0, 4.0 - 4.30265 / 3**0.5, 1.6],
    ),
    "arrivals": (lambda: plots.arrivals(make_engagements()), "Monday, Sunday"),
    "day_lanes": (
        lambda: plots.day_lanes(make_engagements(), "2019-02-18"),
        "Bank, Chat, 3 of 12, 15 of 20, 18 of 32",
    ),
    "open_rates": (
        lambda: plots.open_rates(make_engagements()),
        "morning, evening, 12, 20, all 0.56",
        # Wilson: (p + z²/2n) / (1 + z²/n) ± z √(p(1-p)/n + z²/4n²) / (1 + z²/n).
        [0.25, 0.75, 0.5313, 0.8881],
    ),
    "open_heatmap": (
        lambda: plots.open_heatmap(make_engagements(), "place", "time"),
        "home, office, morning, evening, 0.75, 0.25",
    ),
    "learned_heatmap": (draw_learned_map, "morning, evening, what is true"),
    "phone": (
        lambda: plots.phone(PHONE, agent="thompson"),
        "thompson, mira, Bank, finance, learned so far, 1 of 1, afternoon, Tuesday",
    ),
    "room": (lambda: plots.room(make_frames("RoomEnv-v0")), "desk, umbrella"),
    "shelf": (lambda: plots.shelf(make_frames("RECEnv-v0")), "preference now"),
    "preference_map": (draw_preferences, "greedy, oracle, news, sport, 12"),
    "patient": (
        lambda: plots.patient(make_frames("ODE-HIV-v0")),
        "virus, effectors",
    ),
    "epidemic": (
        lambda: plots.epidemic(make_frames("ODE-Opioid-v0")),
        "misuse, illicit, deaths, nothing done",
    ),
    "limits_to_growth": (
        lambda: plots.limits_to_growth(make_frames("ODE-World3-v1")),
        "people, resources, food, pollution",
    ),
    "credit_scores": (
        lambda: plots.credit_scores(make_frames("Credit-v0", 2)),
        "paid back, fell behind, refused",
    ),
    "frame_panels": (
        lambda: plots.frame_panels([{"env": "mine", "load": 2.5}, {"load": 4.5}]),
        "load",
        [2.5, 4.5],
    ),
    "task_scores": (
        lambda: plots.task_scores(SCORES, TASKS, "mine"),
        "phone, room, patient, not done",
        [0.25, 0.75, 0.125, 0.5],
    ),
    "ability_scores": (
        lambda: plots.ability_scores(
            plots.ability_table(SCORES, TASKS, "mine"), "mine"
        ),
        "exploration, memory, planning, 0.8",
    ),
    "score_intervals": (
        lambda: plots.score_intervals(estimate.score_table(RUNS)),
        "new, baseline, interquartile mean, optimality gap",
        [0.75, 0.25],
    ),
    "performance_profiles": (
        lambda: plots.performance_profiles(estimate.profile_table(RUNS, [0, 0.65, 1])),
        "new, baseline, score",
        [0.65, 0.75],
    ),
    "power_curve": (
        lambda: plots.power_curve(estimate.power_table([1.0, 0.2], 1.0)),
        "10 runs, 50 runs",
        [10, 0.8031],
    ),
    "effect_estimates": (
        lambda: plots.effect_estimates(EFFECTS),
        "doubly robust, difference in means, 2.1, 2.8",
        [2.1, 1.5, 2.75, 0.5, 2.0],
    ),
    "error_and_coverage": (
        lambda: plots.error_and_coverage(SIZES, unit="towns"),
        "doubly robust, towns",
        [100, 800, 0.5, 0.2, 0.9, 0.85, 0.925],
    ),
    "overlap": (
        lambda: plots.overlap(UNITS),
        "treated, others, 30, 10",
        [30, -10],
    ),
    "estimator_intervals": (
        lambda: plots.estimator_intervals(VALUES, 1.1),
        "naive, doubly robust",
        [0.5, 0.25, 0.75, 0.9, 1.3, 1.1],
    ),
    "estimator_spread": (
        lambda: plots.estimator_spread(pd.concat([VALUES] * 2), 1.1),
        "naive, doubly robust, 100 %",
        [0.5, 0.9, 1.1],
    ),
    "causal_graph": (
        lambda: plots.causal_graph(
            [("spraying", "ill")], {"spraying": (0, 0.5), "ill": (1, 0.5)}
        ),
        "spraying, ill",
    ),
    "study_curves": (
        lambda: plots.study_curves(CURVES, "noor"),
        "noor, Thompson, random",
        [100, 200, 0.25, 0.5, 0.125, 0.625, 0.9],
    ),
    "lifetime_curve": (
        lambda: plots.lifetime_curve(lifetime(), ("forgetting", "recovery_time")),
        "A, B, forgetting 4, recovery time",
        [8, 4],
    ),
    "evaluation_blocks": (
        lambda: plots.evaluation_blocks(lifetime()),
        "A, B",
        [8, 4, 4 - 12.7062],
    ),
    "metric_on_curve": (
        lambda: plots.metric_on_curve(lifetime(), "backward_transfer_ratio"),
        "A, B, 8 to 4: ratio 0.50",
        [8, 4],
    ),
    "report_sheet": (
        lambda: plots.report_sheet(lifetime(), lifetime(normalization="run")),
        "A, B, recovery time, was",
        [8, 4],
    ),
    "against_expert": (
        lambda: plots.against_expert(lifetime()),
        "A, expert, relative performance 0.50",
        [8, 16],
    ),
    "smoothed_curves": (
        lambda: plots.smoothed_curves([lifetime(), lifetime(smoothing="flat")]),
        "flat, not smoothed",
        [8],
    ),
}
SLOW = "learned_heatmap credit_scores report_sheet metric_on_curve smoothed_curves"
CASES = [
    pytest.param(name, marks=pytest.mark.slow if name in SLOW.split() else ())
    for name in PICTURES
]


def drawn_coordinates(figure):
    """Return the coordinates of all lines, marks and bars in units of the data."""
    points = [np.empty((0, 2))]
    for ax in figure.axes:
        points += [line.get_xydata() for line in ax.lines]
        for marks in ax.collections:
            points.append(np.ma.filled(marks.get_offsets(), np.nan))
            points += [path.vertices for path in marks.get_paths()]
        for bar in ax.patches:
            outline = bar.get_path().vertices
            points.append(bar.get_patch_transform().transform(outline))
    return np.concatenate(points).ravel()


@pytest.mark.parametrize("name", CASES)
def test_a_picture_has_readable_text_and_the_numbers_of_its_data(name, good_picture):
    draw, texts, *expected = PICTURES[name]
    picture = draw()
    written = " | ".join(good_picture(picture))
    assert [text for text in texts.split(", ") if text not in written] == []
    coordinates = drawn_coordinates(picture.figure or picture)
    for number in sum(expected, []):
        assert np.isclose(coordinates, number, rtol=1e-3).any(), number


def test_every_public_picture_has_a_case():
    others = {"Stage", "house_style", "use_style", "png", "series_styles", "widgets"}
    tables = {name for name in plots.__all__ if name.endswith(("_table", "_means"))}
    elsewhere = {"inbox", "scorecard"}
    assert set(PICTURES) | elsewhere == set(plots.__all__) - others - tables


def test_drawing_does_not_change_matplotlib_until_use_style_is_called():
    with matplotlib.rc_context({"axes.facecolor": "red"}):
        before = dict(matplotlib.rcParams)
        picture = plots.phone(PHONE[:1])
        assert dict(matplotlib.rcParams) == before
        assert plt.get_fignums() == []
        assert picture._repr_png_()[1]["alt"]
        plots.use_style()
        assert matplotlib.rcParams["axes.facecolor"] != "red"


def test_the_random_agent_has_one_style_and_twelve_agents_have_different_styles():
    styles = plots.series_styles([*range(12), "random"])
    visible = {(colour, marker) for colour, _, marker in styles.values()}
    assert len(visible) == 13
    assert plots.series_styles(["random", 0]).items() <= styles.items()


def test_the_inbox_counts_the_events_of_the_day(good_picture):
    frames = make_frames("push-v0", 60)
    last = frames[-1]
    assert last["now"] < 1440  # minutes: the first day
    outcomes = [event["outcome"] for event in last["events"]]
    texts = good_picture(plots.inbox(frames, choosing=True))
    assert set(last["allowed"]) <= set(texts)
    lanes = texts[texts.index("arrived") :]
    for lane, count in (
        ("arrived", len(outcomes)),
        ("opened", outcomes.count("opened")),
        ("waiting", len(last["cache"])),
    ):
        assert lanes[lanes.index(lane) + 1] == str(count), lane


# ---------------------------------------------------------------- tables


def test_the_path_of_a_patient_has_states_between_decisions():
    frames = make_frames("ODE-LotkaVolterra-v1", 1)
    path = frames[1]["path"]
    drawn = drawn_coordinates(plots.patient(frames))
    assert np.isin([state["foxes"] for state in path], drawn).all() and len(path) == 7


def test_open_rates_are_in_the_order_of_the_day_and_merge_rare_values():
    rates = plots.open_rate_table(make_engagements())
    assert rates["time"].tolist() == ["morning", "evening"]
    assert rates["notifications"].tolist() == [12, 20]
    subjects = np.repeat([f"s{number}" for number in range(30)], range(31, 1, -1))
    many = pd.DataFrame({"subject": subjects, "action": "opened"})
    grouped = plots.open_rate_table(many, "subject")
    assert len(grouped) == 12
    assert grouped["subject"].iloc[-1] == "19 more"
    assert grouped["notifications"].sum() == len(subjects)


def test_engagements_are_counted_by_day_hour_and_place():
    engagements = make_engagements()
    cells = plots.open_heatmap_table(engagements, "place", "time")
    cells = cells.set_index(["place", "time"])
    assert cells.loc[("home", "morning")].tolist() == [0.25, 12]
    assert cells.loc[("home", "evening"), "notifications"] == 0
    assert np.isnan(cells.loc[("home", "evening"), "opened"])

    arrivals = plots.arrival_table(engagements).set_index(["day", "hour"])
    assert len(arrivals) == 7 * 24
    assert arrivals["notifications"]["Monday", 20] == 20
    next_day = engagements["posted"] + pd.Timedelta(1, "day")
    two_days = pd.concat([engagements.assign(posted=next_day), engagements])
    day = plots.day_table(two_days, "2019-02-18")
    assert len(day) == 32
    assert day["posted"].is_monotonic_increasing
    assert day.groupby("app")["opened"].sum().tolist() == [3, 15]


def test_tests_of_a_lifetime_have_means_and_intervals_over_episodes_or_lifetimes():
    tests = plots.evaluation_table(lifetime()).set_index(["name", "block"])
    half = 12.7062  # t with one degree of freedom times the standard error 1
    forgotten = tests.loc[("A", 4)]
    ends = forgotten[["mean", "low", "high"]].tolist()
    assert ends == pytest.approx([4, 4 - half, 4 + half], rel=1e-5)
    assert forgotten[["count", "count_unit"]].tolist() == [2, "episodes"]
    assert tests["mean"]["B"].tolist() == [0, 0, 8, 8]
    several = plots.evaluation_table([lifetime()] * 3)
    assert (several["count"] == 3).all()
    assert (several["count_unit"] == "lifetimes").all()


def test_variants_of_a_task_are_named_by_their_differences():
    blocks = []
    for noise in (0, 0.5):
        for kind in ("train", "test"):
            blocks.append((kind, "shelf", [1, 2], {"noise": noise, "speed": 1}))
    names = plots.evaluation_table(lifelong_report(log_from_blocks(*blocks)))["name"]
    assert names.tolist() == ["noise 0", "noise 0.5"]


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: plots.patient(SCORES), "needs model=load_model"),
        (lambda: plots.open_rates(SCORES), "no column 'time'; it has agent"),
        (lambda: plots.scorecard([]), "no scorecard to draw"),
        (lambda: plots.ability_scores(SCORES, "x"), "no column 'ability'"),
        (
            lambda: plots.open_rates(make_engagements().replace("opened", "snoozed")),
            "row 0, column 'action': expected opened or dismissed, got 'snoozed'",
        ),
        (
            lambda: plots.day_lanes(make_engagements(), "2020-01-01"),
            "no notification was posted on 2020-01-01; the table covers 2019-02-18",
        ),
    ],
)
def test_an_error_names_the_faulty_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call()
