"""Every picture draws, for schemas known and unknown, with its words whole, apart, and on the sheet."""

import copy
import gc
import io
import pickle
import subprocess
import sys
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from pushlab import plots
from pushlab.plots.phone import chip_places, expected_best
from pushlab.plots.ticks import ticks_of_count

KNOWN = {                                       # the features of EvalUMAP 2019
    "notification": {
        "postingApp": ["org.pushlab.chat", "org.pushlab.bank", "com.google.android.gm"],
        "category": ["msg", "email", "unknown"], "numberOfUpdates": ["none", "low"],
        "subject": ["finance", "unknown", "email & messaging"],
        "priority": ["default", "high", "max", "low", "unknown", "min"], "ongoing": ["False"],
        "visibility": ["secret"]},
    "context": {
        "day": list("0123456"), "time": ["early-morning", "afternoon", "evening"],
        "place": ["unknown", "TYPE_BAR TYPE_ATM", "TYPE_AMUSEMENT_PARK TYPE_ART_GALLERY TYPE_AQUARIUM TYPE_BAKERY"],
        "activity": ["still", "foot walking"], "noise": ["low", "unknown"], "batteryLevel": ["low", "medium", "high"],
        "charging": ["True", "False"], "headphonesIn": ["True"], "musicActive": ["False"], "proximity": ["near"],
        "ringerMode": ["vibrate", "normal", "silent"]}}
OTHER = {                                       # those of EvalUMAP 2020
    "notification": {
        "appPackage": ["com.twitter.android", "com.google.android.googlequicksearchbox"],
        "category": ["msg", "unknown"], "ledARGB": ["green"], "priority": ["default"],
        "subject": ["unknown", "team sports"], "sentiment": ["low"]},
    "context": {
        "timeAppLastUsed": ["within few hours", "over a week ago"], "timeOfDay": ["night"],
        "dayOfWeek": ["Tues", "Wed"], "unlockCount_prev2": ["4 to 6"], "uniqueAppsLaunched_prev2": ["7 to 9"],
        "dayOfMonth": ["29", "3"]}}
STRANGE = {                                     # nobody's, and unkind to pictures
    "notification": {
        "whichAppSentIt": ["a.package.with_a_name_that_never_seems_to_end_at_all", "$5 or $6", ""],
        "subject": ["你好, a subject that goes on and on and on, for ever and ever and ever and a day, and another"],
        "priority": ["critical beyond measure"]},
    "context": {f"anExtraordinarilyLongFeatureName_{i}": ["unknown", "", "a value, long, with commas, and more"]
                for i in range(20)}}
NO_APP = {"notification": {"wording": ["short"]}, "context": {"light": ["dim"]}}
SCHEMAS = {"known": KNOWN, "other": OTHER, "strange": STRANGE, "no app": NO_APP}


def make_frames(count, schema=KNOWN, best=True, seed=0):
    rng = np.random.default_rng(seed)

    def one_of(features):
        return {name: str(rng.choice(values)) for name, values in features.items()}

    start = {"env": "pushlab/evalumap1-v0", "user": "mira", "of": count, "labels": {"day": {"1": "Tuesday"}}}
    frames = [{**start, "step": 0, "context": one_of(schema["context"]), "push": None}]
    for step in range(1, count + 1):
        opened, actual = bool(rng.random() < 0.5), bool(rng.random() < 0.4)
        reward = (1.0 if opened else -1.0) if actual else (2.0 if opened else 0.0)
        push = {"context": frames[-1]["context"], "notification": one_of(schema["notification"]), "opened": opened,
                "actual": actual, "reward": reward, "probability": 0.5, "best": 0.8 if best else None}
        frames.append({**start, "step": step, "context": one_of(schema["context"]), "push": push})
    return frames


def make_log(agents=("thompson", "random"), seeds=3, steps=60):
    rng = np.random.default_rng(1)
    rows = [{"run": f"{agent}-{seed}", "env": "pushlab/evalumap2-v0", "agent": agent, "seed": seed, "episode": 0,
             "step": step, "reward": float(rng.normal(place, 0.3)), "info.opened": bool(rng.random() < 0.5),
             "info.best": 0.9}
            for place, agent in enumerate(agents) for seed in range(seeds) for step in range(1, steps + 1)]
    return pd.DataFrame(rows)


def make_engagements(count=400, schema=KNOWN, posted=True):
    rng = np.random.default_rng(2)
    table = pd.DataFrame({name: rng.choice(values, count) for part in schema.values() for name, values in part.items()})
    table["action"] = rng.choice(["opened", "dismissed"], count)
    if posted:
        table["posted"] = pd.Timestamp("2019-02-18") + pd.to_timedelta(rng.uniform(0, 14, count), unit="D")
    return table


def shown_words(figure):
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


# ---------------------------------------------------------------- the phone

@pytest.mark.parametrize("choosing", [False, True])
@pytest.mark.parametrize("count", [0, 1, 25])
@pytest.mark.parametrize("schema", SCHEMAS)
def test_phone_is_whole_for_any_schema(schema, count, choosing, good_picture):
    good_picture(plots.phone(make_frames(count, SCHEMAS[schema]), choosing=choosing))


def test_phone_draws_five_thousand_frames(good_picture):
    frames = make_frames(5000)
    figure = plots.phone(frames, agent="an agent whose name is rather long")
    good_picture(figure)
    assert "step 5,000 of 5,000" in " ".join(shown_words(figure))


def test_phone_says_what_became_of_the_last_push():
    frames = make_frames(3)
    frames[-1]["push"] |= {"opened": True, "notification": {"postingApp": "org.pushlab.bank", "subject": "finance"}}
    words = shown_words(plots.phone(frames))
    assert "The finance push was opened" in words
    assert {"Bank", "opened", "evalumap1-v0   ·   user mira   ·   step 3 of 3"} <= set(words)


@pytest.mark.parametrize("notification, title", [
    ({"appPackage": "com.twitter.android", "category": "msg", "subject": "unknown"}, "The msg push was dismissed"),
    ({"appPackage": "com.google.android.gm", "category": "unknown", "subject": "unknown"}, "The Gm push was dismissed"),
    ({"wording": "short"}, "The push was dismissed"),
])
def test_phone_names_a_push_by_what_is_known(notification, title):
    frames = make_frames(1)
    frames[-1]["push"] |= {"opened": False, "notification": notification}
    assert title in shown_words(plots.phone(frames))


def test_phone_shows_the_context_of_the_push_unless_a_person_chooses():
    frames = make_frames(1)
    frames[-1]["push"]["context"] = {**frames[0]["context"], "time": "afternoon", "day": "1"}
    frames[-1]["context"] = {**frames[0]["context"], "time": "night"}
    pushed, waiting = (shown_words(plots.phone(frames, choosing=choosing)) for choosing in (False, True))
    assert "afternoon" in pushed and "Tuesday" in pushed and "choose a notification" not in pushed
    assert "night" in waiting and "choose a notification" in waiting


def test_phone_draws_the_bound_only_where_every_push_knows_it():
    known, unknown = make_frames(4), make_frames(4)
    unknown[2]["push"]["best"] = None
    bound = sum(expected_best(frame["push"]) for frame in known[1:])
    assert any(word.startswith("best possible") and word.endswith(f"{bound:.2f}"[-3:])
               for word in shown_words(plots.phone(known)))
    assert not any(word.startswith("best possible") for word in shown_words(plots.phone(unknown)))


def test_best_reward_follows_the_table_of_rewards():
    assert expected_best({"best": 1.0, "actual": True}) == 1 and expected_best({"best": 0.0, "actual": True}) == -1
    assert expected_best({"best": 1.0, "actual": False}) == 2 and expected_best({"best": 0.0, "actual": False}) == 0


def test_phone_uses_a_figure_again():
    figure = plots.phone(make_frames(2))
    first, axes = plots.png(figure), len(figure.axes)
    assert plots.phone(make_frames(9), figure=figure) is figure
    assert plots.png(figure) != first and len(figure.axes) == axes
    plots.phone(make_frames(2), figure=figure)
    assert plots.png(figure) == first


def test_phone_without_frames_says_so():
    with pytest.raises(ValueError, match="at least one frame"):
        plots.phone([])


def test_chips_stand_apart_and_inside_the_sheet():
    for count in range(1, 16):
        places = chip_places([f"feature{i}" for i in range(count - 1)] + ["place"])
        for (_, row, left, width), (_, other_row, other_left, _) in combinations(places, 2):
            assert row != other_row or left + width < other_left
        assert all(left + width <= 608.001 and row < 3 for _, row, left, width in places)


# ---------------------------------------------------------------- curves

def test_curve_table_is_the_mean_over_runs_of_rolling_means():
    log = pd.DataFrame({"agent": "a", "seed": [0] * 4 + [1] * 4, "step": [1, 2, 3, 4] * 2,
                        "reward": [0, 2, 4, 6, 2, 4, 6, 8]})
    table = plots.curve_table(log, window=2).set_index("step")
    assert table["mean"].tolist() == [1, 2, 4, 6]
    assert table["runs"].tolist() == [2] * 4
    assert table["high"][4] - table["mean"][4] == pytest.approx(12.706, abs=1e-3)     # t(1) = 12.706, standard error 1


def test_curve_table_counts_the_runs_that_reached_a_step():
    log = pd.DataFrame({"agent": "a", "seed": [0, 0, 1], "step": [1, 2, 1], "reward": [1.0, 3.0, 2.0]})
    table = plots.curve_table(log, window=1)
    assert table["runs"].tolist() == [2, 1]
    assert np.isnan(table["low"].iloc[1]) and table["mean"].iloc[1] == 3


@pytest.mark.parametrize("best", [None, 1.4, "info.best"])
def test_learning_curve_is_good_and_labels_its_lines(best, good_picture):
    log = make_log(("thompson", "linucb", "ε-greedy", "random"))
    ax = plots.learning_curve(log, window=20, best=best)
    good_picture(ax)
    words = shown_words(ax.figure)
    last = plots.curve_table(log, window=20).groupby("agent").last()["mean"]
    assert f"linucb {last['linucb']:.2f}" in words
    assert "evalumap2-v0, 3 runs each, 95 % intervals" in words
    assert any(word.startswith("best possible") for word in words) is (best is not None)


def test_learning_curve_of_one_run_has_no_band_and_says_so(good_picture):
    ax = plots.learning_curve(make_log(("mine",), seeds=1), window=10)
    good_picture(ax)
    assert "evalumap2-v0, 1 run, no interval" in shown_words(ax.figure)


def test_a_share_is_drawn_from_0_to_1():
    assert plots.learning_curve(make_log(), "info.opened").get_ylim() == (0, 1)


def test_lines_that_end_together_keep_their_labels_apart(good_picture):
    log = pd.DataFrame({"agent": np.repeat(list("abcde"), 5), "seed": 0, "step": [1, 2, 3, 4, 5] * 5, "reward": 1.0})
    good_picture(plots.learning_curve(log, window=1, best=1.0, title="five " * 20))


def test_chance_always_looks_the_same():
    first, second = plots.series_styles(["random", "a"]), plots.series_styles(["a", "b", "random"])
    assert first["random"] == second["random"] and first["a"] == second["a"] and first["a"] != first["random"]


@pytest.mark.parametrize("call, message", [
    (lambda log: plots.learning_curve(log, "rewrad"), "no column 'rewrad'; it has run, env, agent"),
    (lambda log: plots.learning_curve(log, window=0), "at least 1 step, got 0"),
    (lambda log: plots.learning_curve(log.drop(columns=["run", "seed"])), "in one run"),
    (lambda log: plots.learning_curve(log.iloc[:0]), "the log is empty"),
    (lambda log: plots.compare_policies(log, statistic="median"), "'mean' or 'sum', got 'median'"),
])
def test_a_bad_log_gets_one_clear_error(call, message):
    with pytest.raises(ValueError, match=message):
        call(make_log())


def test_policy_table_scores_runs_not_steps():
    log = pd.DataFrame({"agent": "a", "seed": [0, 0, 1], "step": [1, 2, 1], "reward": [0.0, 2.0, 5.0]})
    assert plots.policy_table(log).loc[0, ["mean", "runs"]].tolist() == [3.0, 2]
    assert plots.policy_table(log, statistic="sum").loc[0, "mean"] == 3.5


@pytest.mark.parametrize("seeds", [1, 8])
def test_compare_policies_is_good(seeds, good_picture):
    ax = plots.compare_policies(make_log(("thompson", "a policy with a very long name", "random"), seeds), best=1.2)
    good_picture(ax)


# ---------------------------------------------------------------- data pictures

@pytest.mark.parametrize("posted", [True, False])
def test_arrivals_count_every_notification(posted, good_picture):
    engagements = make_engagements(posted=posted)
    table = plots.arrival_table(engagements)
    assert table["notifications"].sum() == 400
    assert len(table) == (7 * 24 if posted else 7 * 3)
    good_picture(plots.arrivals(engagements, user="mira"))


def test_arrivals_find_day_and_time_in_another_schema(good_picture):
    engagements = make_engagements(schema=OTHER, posted=False)
    good_picture(plots.arrivals(engagements))
    with pytest.raises(ValueError, match="Give day="):
        plots.arrivals(engagements.drop(columns="dayOfWeek"))


def test_open_rate_table_holds_shares_in_the_order_of_the_day():
    engagements = pd.DataFrame({"time": ["night"] * 4 + ["morning"] * 2, "action": ["opened"] * 3 + ["dismissed"] * 3})
    table = plots.open_rate_table(engagements)
    assert table["time"].tolist() == ["morning", "night"]
    assert table["opened"].tolist() == [0.0, 0.75] and table["notifications"].tolist() == [2, 4]
    assert ((table["low"] <= table["opened"]) & (table["opened"] <= table["high"])).all()


def test_open_rates_fold_rare_values_into_one(good_picture):
    subjects = [f"subject {number}" for number in range(30) for _ in range(31 - number)]
    engagements = pd.DataFrame({"subject": subjects, "action": "opened"})
    table = plots.open_rate_table(engagements, "subject")
    assert len(table) == 12 and table["subject"].iloc[-1] == "19 more"
    assert table["notifications"].sum() == len(subjects)
    good_picture(plots.open_rates(engagements, "subject"))


@pytest.mark.parametrize("feature", ["time", "place", "postingApp", "charging"])
def test_open_rates_are_good(feature, good_picture):
    good_picture(plots.open_rates(make_engagements(), feature, user="mira"))


def test_open_heatmap_says_where_there_are_few(good_picture):
    engagements = make_engagements(60)
    table = plots.open_heatmap_table(engagements, "day", "place")
    assert table["notifications"].sum() == 60
    ax = plots.open_heatmap(engagements, "day", "place")
    good_picture(ax)
    hatched = sum(patch.get_hatch() is not None for patch in ax.patches)
    assert hatched == table["notifications"].between(1, 9).sum()
    with pytest.raises(ValueError, match="two features"):
        plots.open_heatmap(engagements, "day", "day")


def test_day_lanes_hold_one_day(good_picture):
    engagements = make_engagements()
    table = plots.day_table(engagements, "2019-02-20")
    assert (table["posted"].dt.strftime("%Y-%m-%d") == "2019-02-20").all() and table["posted"].is_monotonic_increasing
    ax = plots.day_lanes(engagements, "2019-02-20", user="mira")
    good_picture(ax)
    assert f"{table['opened'].sum()} of {len(table)} notifications were opened" in shown_words(ax.figure)
    with pytest.raises(ValueError, match="no notification was posted on 2020-01-01; the table goes from 2019-02-18"):
        plots.day_lanes(engagements, "2020-01-01")


def test_a_wrong_action_is_named_with_its_row():
    engagements = make_engagements(20).assign(action=["opened"] * 7 + ["snoozed"] + ["opened"] * 12)
    with pytest.raises(ValueError, match="row 7, column 'action': 'snoozed' is not opened or dismissed"):
        plots.open_rates(engagements)


# ---------------------------------------------------------------- the sheet

def test_pictures_show_themselves_in_a_notebook():
    for picture in (plots.phone(make_frames(1)), plots.learning_curve(make_log())):
        png, metadata = picture._repr_png_()
        assert png.startswith(b"\x89PNG") and metadata["alt"]


def figures_alive():
    gc.collect()
    return sum(issubclass(type(thing), Figure) for thing in gc.get_objects())       # isinstance asks dead proxies


def test_pictures_leave_nothing_behind():
    before = figures_alive()                # other tests may have kept some
    for _ in range(3):
        plots.phone(make_frames(1))
    assert figures_alive() <= before


def test_drawing_changes_no_setting_until_asked():
    import matplotlib

    with matplotlib.rc_context({"axes.facecolor": "red", "figure.constrained_layout.use": False}):
        figure = plots.phone(make_frames(1))
        assert matplotlib.rcParams["axes.facecolor"] == "red"
        assert figure.axes[-1].get_facecolor() != (1, 0, 0, 1)
        plots.use_style()
        assert matplotlib.rcParams["axes.facecolor"] in ("FAF9F6", "#FAF9F6")


def test_pictures_do_without_pyplot_and_pandas_comes_only_with_tables():
    code = "import sys, pushlab.plots; print('matplotlib.pyplot' in sys.modules, 'pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_letters_kept_from_earlier_pictures_are_the_same_pixels():
    """A figure used again, with kept letters and kept ground, against one of its own on Matplotlib's plain canvas."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    def draw(number, figure=None):
        stage = plots.Stage(300, 200, figure)
        stage.heading(f"Step {number}", "the same lead every time")
        stage.text(100.3 + number, 120.7, "AVAW To.", halo="white", rotation=10 * number)
        stage.box(20, 130, 60, 20 + number, fill="#cccccc")
        stage.axes(150, 130, 120, 50).plot([0, number], [0, 1])
        return stage.figure

    figure = draw(0)
    for number in (1, 2, 1):
        used_again, fresh = draw(number, figure), draw(number)
        canvas = FigureCanvasAgg(fresh)
        canvas.draw()
        png = Image.open(io.BytesIO(plots.png(used_again)))
        assert png.mode == "RGB" and np.array_equal(np.asarray(png), np.asarray(canvas.buffer_rgba())[..., :3])
        assert round(png.info["dpi"][0]) == 105


@pytest.mark.parametrize("settings", [{"font.sans-serif": ["DejaVu Serif"]}, {"text.hinting": "none"}])
def test_letters_of_other_settings_are_other_letters(settings):
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    def draw():
        figure = plots.Stage(300, 100).figure
        figure.text(0.1, 0.5, "how much AVAW", family="sans-serif", size=11)
        return figure

    with matplotlib.rc_context({"font.sans-serif": ["DejaVu Sans"], "text.hinting": "force_autohint"}):
        before = plots.png(draw())
    with matplotlib.rc_context({"font.sans-serif": ["DejaVu Sans"], "text.hinting": "force_autohint", **settings}):
        after, canvas = plots.png(draw()), FigureCanvasAgg(draw())
        canvas.draw()
    assert before != after
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(after))), np.asarray(canvas.buffer_rgba())[..., :3])


@pytest.mark.parametrize("leave", [
    lambda ax: ax.plot([0, 100], [0, 100], label="old") and ax.legend(), lambda ax: ax.set_title("old"),
    lambda ax: ax.set_title("old", loc="left"), lambda ax: ax.table([["old"]]),
    lambda ax: ax.inset_axes([0.2, 0.2, 0.5, 0.5]), lambda ax: ax.set_xscale("log"), lambda ax: ax.set_aspect("equal")])
def test_a_figure_used_again_keeps_nothing_of_before(leave):
    def draw(figure=None):
        stage = plots.Stage(300, 200, figure)
        stage.box(20, 30, 60, 20, fill="#cccccc")
        return stage

    used = draw()
    leave(used.ax)
    assert plots.png(draw(used.figure)) == plots.png(draw())


def test_the_axes_of_a_stage_are_used_again():
    """Making others takes a tenth of a picture."""
    stage = plots.Stage(300, 200)
    stage.text(20, 30, "words")
    assert plots.Stage(300, 200, stage.figure).ax is stage.ax


def test_a_figure_can_be_pickled_and_copied():
    stage = plots.Stage(100, 100)
    stage.box(20, 30, 60, 20, fill="#cccccc")
    assert plots.png(pickle.loads(pickle.dumps(stage.figure))) == plots.png(stage.figure)
    assert plots.png(copy.deepcopy(stage.figure)) == plots.png(stage.figure)


def test_a_sheet_that_lets_something_through_keeps_its_alpha():
    figure = plots.Stage(100, 100).figure
    figure.set_facecolor((1, 1, 1, 0.5))
    assert Image.open(io.BytesIO(plots.png(figure))).mode == "RGBA"


# ---------------------------------------------------------------- ends of axes

@pytest.mark.parametrize("last", [9, 29, 99, 363, 999, 5000, 12_345])
def test_what_is_counted_has_a_tick_at_its_end_and_its_unit_below(last):
    log = pd.DataFrame({"agent": "mine", "seed": 0, "step": np.arange(last + 1), "reward": 0.5})
    ax = plots.learning_curve(log)
    words = [tick.get_text() for tick in ax.get_xticklabels()]
    assert words[0] == "0" and words[-1] == f"{last:,}" and ax.get_xlabel() == "steps"
    assert np.diff(ax.get_xticks()).min() > 0.1 * last and len(words) <= 7


def test_an_end_too_wide_for_a_tick_is_left_out():
    assert ticks_of_count(0, 2_999_999, 4).tolist() == [0, 1e6, 2e6]


def test_the_unit_of_a_sweep_stands_below_and_not_beside_the_last_number():
    log = pd.DataFrame({"agent": "mine", "seed": np.tile([0, 1], 4), "capacity": np.repeat([2, 8, 32, 64], 2),
                        "return": [1, 2, 3, 4, 5, 6, 7, 8]})
    ax = plots.sweep_curve(log, "capacity")
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["2", "8", "32", "64"]
    below = ax.xaxis.label.get_window_extent().y1
    assert ax.get_xlabel() == "capacity"
    assert below <= min(tick.get_window_extent().y0 for tick in ax.get_xticklabels()) + 1
