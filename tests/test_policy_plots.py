"""Pictures of what policies do and earn: the tables they are drawn from, and their words whole and apart."""

import numpy as np
import pandas as pd
import pytest

from pushlab import plots
from pushlab.metrics.estimate import crossed_interval

CHOICES = ("show", "cache", "dismiss")


def make_choices(count=600, seed=0):
    """A policy that shows at home and mostly puts off at the office; one gym visit, and moments of standing by."""
    rng = np.random.default_rng(seed)
    places = rng.choice(["home", "office", "unknown"], count - 1, p=[.5, .4, .1])
    habits = {"home": (.9, .05, .05), "office": (.1, .8, .1), "unknown": (.4, .4, .2)}
    table = pd.DataFrame({"place": [*places, "gym"], "time": rng.choice(["evening", "morning", "night"], count),
                          "action": [*(rng.choice(CHOICES, p=habits[place]) for place in places), "dismiss"]})
    return pd.concat([table, table.head(50).assign(action="stand-by")], ignore_index=True)


def make_episodes(agents=("show-all", "dismiss-all", "do not disturb", "q-learning", "linear", "random"), seeds=8):
    rng = np.random.default_rng(1)
    return pd.DataFrame([
        {"env": "pushlab/push-v0", "info.user": "mira", "agent": agent, "seed": seed, "episode": 0,
         "shown": 5.0 * place + rng.normal(), "opened": 8 - (place - 3) ** 2 + rng.normal()}
        for place, agent in enumerate(agents) for seed in range(seeds)])


def make_learning(agents=("q-learning", "linear"), seeds=3, episodes=40, steps=2):
    """A row a step; the parts are sums since the episode's beginning."""
    return pd.DataFrame([
        {"env": "pushlab/push-v0", "agent": agent, "seed": seed, "episode": episode, "step": step,
         "info.parts.opened": step * (1 + episode / 10), "info.parts.dismissed": -step * (4 - episode / 20 - seed / 5),
         "info.parts.wait": -.1 * step, "info.parts.look": 0.0}
        for agent in agents for seed in range(seeds) for episode in range(episodes) for step in range(1, steps + 1)])


# ---------------------------------------------------------------- what a policy does

def test_policy_map_table_holds_the_shares_of_each_cell():
    log = make_choices()
    table = plots.policy_map_table(log, actions=CHOICES)
    counted = log[log["action"].isin(CHOICES)]
    assert table.groupby(["place", "time"])["decisions"].first().sum() == len(counted)
    sums = table.groupby(["place", "time"])["share"].sum(min_count=1)
    assert np.allclose(sums.dropna(), 1) and sums.isna().sum() == 2            # the gym was visited once
    here = counted[(counted["place"] == "office") & (counted["time"] == "night")]
    cell = table[(table["place"] == "office") & (table["time"] == "night")].set_index("action")["share"]
    assert cell["cache"] == pytest.approx((here["action"] == "cache").mean())
    assert list(table["time"].drop_duplicates()) == ["morning", "evening", "night"]


def test_policy_map_table_takes_codes_and_folds_rare_places():
    log = pd.DataFrame({"place": [f"place {n}" for n in range(15) for _ in range(16 - n)], "time": "night"})
    table = plots.policy_map_table(log.assign(action=2), actions={2: "cache", 0: "show"})
    assert table["place"].nunique() == 10 and table["place"].iloc[-1] == "6 more"
    assert table.groupby("action")["share"].first().to_dict() == {"cache": 1.0, "show": 0.0}


def test_policy_map_is_good_and_says_what_is_done_most(good_picture):
    words = good_picture(plots.policy_map(make_choices(), actions=CHOICES, agent="q-learning"))
    assert words[0] == "q-learning mostly chooses show, but cache in 3 of 9 cells"
    assert {"home", "office", "unknown", "gym", "once", "morning", *CHOICES} <= set(words) and "stand-by" not in words
    good_picture(plots.policy_map(make_choices(), title="A title " * 30, row="time", column="place"))


def test_policy_map_with_long_words_and_few_decisions_is_good(good_picture):
    log = make_choices(30).replace({"home": "TYPE_A_PLACE_WITH_A_VERY_LONG_NAME TYPE_ATM", "cache": "an action " * 9})
    good_picture(plots.policy_map(log, row_labels={"gym": "the gym " * 9}))


def test_policy_map_names_what_is_wrong():
    with pytest.raises(ValueError, match="no column 'plaec'; it has place, time, action"):
        plots.policy_map(make_choices(), row="plaec")
    with pytest.raises(ValueError, match="one of the actions open; it has"):
        plots.policy_map(make_choices(), actions=["open"])
    with pytest.raises(ValueError, match="two features"):
        plots.policy_map(make_choices(), "time", "time")


# ---------------------------------------------------------------- two measures at once

def test_trade_off_table_has_a_mean_and_interval_each_way():
    log = pd.DataFrame({"agent": "a", "seed": [0, 1, 2], "shown": [1.0, 2.0, 3.0], "opened": [4.0, 4.0, 4.0]})
    line = plots.trade_off_table(log, "shown", "opened").loc[0]
    assert line["shown"] == 2 and line["shown high"] - 2 == pytest.approx(4.303 / 3**.5, abs=1e-3)   # t(2) = 4.303
    assert (line["opened low"], line["opened"], line["opened high"], line["runs"]) == (4, 4, 4, 3)


def test_trade_off_table_crosses_runs_with_days():
    rng = np.random.default_rng(3)
    of_day, of_seed = rng.normal(0, 4, 6), rng.normal(0, 0.1, 5)
    days = pd.DataFrame([{"agent": "a", "seed": seed, "day": day, "reward": of_day[day] + of_seed[seed], "opens": 1.0}
                         for seed in range(5) for day in range(6)])
    line, alone = (plots.trade_off_table(days, "reward", "opens", cross=cross).loc[0] for cross in ("day", None))
    expected = crossed_interval(days.pivot(index="seed", columns="day", values="reward"))
    assert (line["reward"], line["reward low"], line["reward high"]) == pytest.approx(tuple(expected))
    assert line["reward high"] - line["reward low"] > 10 * (alone["reward high"] - alone["reward low"])
    steps = pd.concat([days.assign(episode=days["day"], step=step) for step in (0, 1)])     # a day is an episode
    again = plots.trade_off_table(steps, "reward", "opens", cross="day").loc[0]
    assert (again["reward low"], again["reward high"]) == pytest.approx((line["reward low"], line["reward high"]))
    assert line["runs"] == alone["runs"] == 5


def test_a_policy_that_lacks_a_measure_has_no_mark_and_is_named(good_picture):
    log = make_episodes(("show all", "dismiss all", "linear Q"))
    log.loc[log["agent"] == "dismiss all", "opened"] = np.nan
    table = plots.trade_off_table(log, "shown", "opened").set_index("agent")
    assert np.isnan(table.loc["dismiss all", "opened"]) and (table["runs"] == 8).all()
    picture = plots.trade_off(log, "shown", "opened")
    words = good_picture(picture)
    assert "dismiss all" not in words and {"show all", "linear Q"} <= set(words)
    assert any(word.endswith("no opened: dismiss all") for word in words)
    assert 0 not in [line.get_ydata()[0] for line in picture.lines]
    with pytest.raises(ValueError, match="nothing to draw"):
        plots.trade_off(log.assign(opened=np.nan), "shown", "opened")


@pytest.mark.parametrize("better", [None, "upper left", "upper right", "lower left", "lower right"])
@pytest.mark.parametrize("spread", [1.0, 0.02])
def test_trade_off_is_good_and_names_every_policy(better, spread, good_picture):
    log = make_episodes()
    log[["shown", "opened"]] *= spread                     # marks may come to lie on one another
    log["shown"] += 0 if spread == 1 else 40
    words = good_picture(plots.trade_off(log, "shown", "opened", better=better, x_unit="interruptions a day"))
    assert set(log["agent"]) <= set(words) and ("better" in words) is (better is not None)
    assert "push-v0, user mira, 8 runs each, 95 % intervals" in words


def test_a_name_crosses_no_interval_where_there_is_room():
    means = {"Q-learning": (29.5, 17.1), "linear Q": (30.1, 19.5), "do not disturb": (35, 17.6), "show all": (37, 15)}
    log = pd.DataFrame([{"agent": agent, "seed": seed, "shown": x + 1.3 * (seed - 1), "opened": y + 0.6 * (seed - 1)}
                        for agent, (x, y) in means.items() for seed in range(3)])
    picture = plots.trade_off(log, "shown", "opened", better="upper left")
    picture.figure.canvas.draw()
    names = {text.get_text(): text.get_window_extent() for text in picture.texts if text.get_text() in means}
    bars = [line.get_window_extent() for line in picture.lines if len(line.get_xdata()) == 2]
    assert set(names) == set(means) and len(bars) == 8
    assert not any(box.count_overlaps(bars) for box in names.values())


def test_trade_off_of_single_runs_and_of_equal_policies(good_picture):
    assert "push-v0, user mira, 1 run each, no interval" in good_picture(
        plots.trade_off(make_episodes(seeds=1), "shown", "opened"))
    good_picture(plots.trade_off(make_episodes().assign(shown=3.0, opened=0.0), "shown", "opened"))


def test_trade_off_names_what_is_wrong():
    with pytest.raises(ValueError, match="two columns, got 'shown' twice"):
        plots.trade_off(make_episodes(), "shown", "shown")
    with pytest.raises(ValueError, match="one of upper left, .* got 'up'"):
        plots.trade_off(make_episodes(), "shown", "opened", better="up")


# ---------------------------------------------------------------- a reward in its parts

def test_reward_parts_table_takes_the_last_sums_of_each_episode():
    table = plots.reward_parts_table(make_learning(), window=1).set_index(["agent", "part", "episode"])
    assert table["mean"]["linear", "opened", 10] == pytest.approx(2 * (1 + 1))
    assert table["mean"]["linear", "dismissed", 20] == pytest.approx(-2 * (4 - 1 - .2))
    parts = table["mean"].unstack("part")
    assert np.allclose(parts.drop(columns="all parts").sum(axis=1), parts["all parts"])
    assert (table["runs"] == 3).all()


def test_reward_parts_table_smooths_over_episodes_and_takes_lists_and_names():
    rolled = plots.reward_parts_table(make_learning(), {"info.parts.opened": "opens"}, window=3)
    means = rolled[(rolled["agent"] == "linear") & (rolled["part"] == "opens")].set_index("episode")["mean"]
    assert means[0] == 2 and means[20] == pytest.approx(2 * (1 + 1.9))
    listed = plots.reward_parts_table(make_learning(), ["info.parts.opened"], window=3)
    assert set(listed["part"]) == {"opened", "all parts"}


@pytest.mark.parametrize("same_scale", [True, False])
@pytest.mark.parametrize("agents", [("linear",), ("q-learning", "an agent whose name is rather long", "random")])
def test_reward_parts_are_good(agents, same_scale, good_picture):
    words = good_picture(plots.reward_parts(make_learning(agents), same_scale=same_scale))
    assert {"all parts", "opened", "dismissed", "wait"} <= set(words) and "look" not in words
    each = " each" if len(agents) > 1 else ""
    lead = f"3 runs of 40 episodes{each}, 95 % intervals over runs; always 0: look"
    assert any(word.endswith(lead) for word in words)


def test_nine_parts_of_one_short_run_are_good(good_picture):
    log = make_learning(("linear",), seeds=1, episodes=2)
    for number in range(6):
        log[f"info.parts.a part with quite a long name {number}"] = 1000.0 * number * log["episode"]
    good_picture(plots.reward_parts(log, window=1))


def test_growth_of_a_part_is_counted_between_whole_windows(good_picture):
    """The mean over the first episode alone is no beginning: chance would make it grow."""
    opened = [0.0] + 9 * [10.0] + 10 * [14.0]
    log = pd.DataFrame({"agent": "a", "seed": 0, "episode": range(20), "info.parts.opened": opened})
    assert good_picture(plots.reward_parts(log, window=10))[0] == "“opened” rises the most, by 5"
    same = log.assign(**{"info.parts.opened": 1.0})
    assert good_picture(plots.reward_parts(same, window=10))[0] == "No part of the reward has changed"


def test_reward_parts_name_what_is_wrong():
    with pytest.raises(ValueError, match="no column of the log begins with 'part:'; it has env, agent"):
        plots.reward_parts(make_learning(), "part:")
    with pytest.raises(ValueError, match="at least 1 episode, got 0"):
        plots.reward_parts(make_learning(), window=0)


def test_a_policys_name_touches_no_interval_of_another():
    rows = [(name, seed, x + 4 * (seed - 1), y + 2 * (seed - 1)) for name, x, y in
            (("linear Q", 30, 19.5), ("Q-learning", 29.5, 17.1), ("do not disturb", 36, 18), ("show all", 36.6, 15.7))
            for seed in range(3)]
    ax = plots.trade_off(pd.DataFrame(rows, columns=["agent", "seed", "shown", "opened"]), "shown", "opened")
    ax.figure.canvas.draw()
    bars = [line.get_window_extent() for line in ax.lines if len(line.get_xdata()) == 2]
    names = [text.get_window_extent() for text in ax.texts if text.get_weight() == "bold"]
    assert len(bars) == 8 and len(names) == 4
    assert not any(name.count_overlaps(bars) for name in names)
