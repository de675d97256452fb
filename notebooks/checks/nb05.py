"""Checks of notebook 5: worths, plans and credit are tried on made-up cases, rules on the test days."""

import functools

import numpy as np

from checks import Checks, demand
from pushlab import as_agent
from pushlab.agents import DoNotDisturb
from pushlab.logs.arrival_days import judge_days
from pushlab.metrics import estimate

check = Checks("5 · Managing arrivals")
USUAL = {"opened": 1.0, "dismissed": -1.0, "missed": -1.0, "spared": 0.2}


def near(one, other, within=1e-6):
    """Whether numbers agree; False for shapes that differ."""
    return np.shape(one) == np.shape(other) and bool(
        np.all(np.abs(np.asarray(one, float) - other) < within)
    )


@check(1, points=1)
def from_which_probability_showing_pays(break_even):
    found = float(break_even(USUAL))
    demand(
        found > -1e-9,
        f"With the weights of this notebook it gives {found:.3f}",
        "The text above has the number.",
    )
    demand(
        not near(found, 1.2 / 2.2, 1e-3),
        "`missed` is not in it",
        "What is dropped she might have opened.",
    )
    demand(
        not near(found, 1 / 3, 1e-3),
        "`spared` is not in it",
        "Dropping what she would not open is worth a little.",
    )
    demand(
        not near(found, 1.0, 1e-3),
        "It takes a cost for a gain",
        "The weights have their sign: a cost is below 0.",
    )
    demand(
        near(found, 0.375, 1e-3),
        f"With the weights of this notebook it gives {found:.3f} and not 0.375",
        "Write both sides with p, showing and dropping, and bring p to one side.",
    )
    changes = {"dismissed": -3.0, "missed": -2.5, "spared": 0.7, "opened": 2.0}
    for name, worth in changes.items():
        w = USUAL | {name: worth}
        truth = (w["spared"] - w["dismissed"]) / (
            w["opened"] - w["dismissed"] - w["missed"] + w["spared"]
        )
        found = float(break_even(w))
        demand(
            near(found, truth, 1e-3),
            f"With `{name}` at {worth} it gives {found:.4f}; it should be {truth:.4f}",
            f"Where does {name} come in: when it is shown or dropped, and when she would open it or not?",
        )
    return "The two sides are equal there, whatever the weights are."


def worth_of(p, w, wait):
    """What showing and dismissing are worth at each moment, and the best plan from there: three arrays (moments,)."""
    show, dismiss = (
        p * w["opened"] + (1 - p) * w["dismissed"],
        p * w["missed"] + (1 - p) * w["spared"],
    )
    now, moments = np.maximum(show, dismiss), range(len(p))
    return (
        show,
        dismiss,
        np.array([max(now[k] + wait * (k - t) for k in moments[t:]) for t in moments]),
    )  # stop at k


@check(2, points=3)
def when_to_show_it(plan):
    rng = np.random.default_rng(2)
    for wait in (-5.0, 0.0, -0.1):
        for _ in range(4):
            p = rng.uniform(0, 1, 6)
            show, dismiss, truth = worth_of(p, USUAL, wait)
            now = np.maximum(show, dismiss)
            V, best = plan(p, USUAL, wait)
            demand(
                len(V) == len(best) == 6,
                f"For 6 moments it gives {len(V)} values and {len(best)} actions",
                "One value and one action a moment.",
            )
            demand(
                {str(a) for a in best} <= {"show", "dismiss", "cache"},
                f"The actions are {list(best)}",
                'Give back the words "show", "dismiss" and "cache".',
            )
            demand(
                best[-1] != "cache" and near(V[-1], now[-1]),
                f"The last moment: {best[-1]}, worth {V[-1]:.2f}",
                "Nothing comes after it, so it is worth the better of show and dismiss. Begin there.",
            )
            demand(
                not near(V, show) or near(truth, show),
                "It only ever shows",
                "What are the other two worth?",
            )
            demand(
                wait < -1 or not near(V, now) or near(truth, now),
                "It never puts anything off",
                "To put off is worth the cost of waiting and the value of the next moment.",
                earned=1,
            )
            demand(
                wait == 0.0
                or near(truth, worth_of(p, USUAL, 0.0)[2])
                or not near(V, worth_of(p, USUAL, 0.0)[2]),
                "It puts off as if waiting cost nothing",
                "To put off is worth `wait` and what follows.",
                earned=1,
            )
            demand(
                wait != -5.0 or near(V, now),
                "It puts off although waiting costs 5 a moment",
                "`wait` is a worth, below 0: add it, do not subtract it.",
                earned=1,
            )
            demand(
                near(V, truth),
                f"The first moment: {V[0]:.3f}, where the best plan earns {truth[0]:.3f}",
                "Go backwards: V of the next moment has to be there before it is used.",
                earned=1,
            )
            of = {
                "show": show,
                "dismiss": dismiss,
                "cache": wait + np.append(truth[1:], -np.inf),
            }
            right = all(near(of[str(a)][t], truth[t]) for t, a in enumerate(best))
            demand(
                right,
                f"The values are right, the actions {list(best)} are not",
                "The action is the one whose worth is the value.",
                earned=2,
            )
    other_weights(plan, rng)
    return "No plan earns more: compared with every moment at which one could stop."


def other_weights(plan, rng):
    """The plan under weights that are not the usual ones."""
    for _ in range(6):
        p, wait = rng.uniform(0, 1, 5), -rng.uniform(0, 0.3)
        w = dict(zip(USUAL, rng.uniform([0.5, -3, -3, 0.1], [2, -0.5, -0.5, 0.8])))
        truth, V = worth_of(p, w, wait)[2], plan(p, w, wait)[0]
        changed = w | {"dismissed": w["missed"], "missed": w["dismissed"]}
        demand(
            not near(V, worth_of(p, USUAL, wait)[2]),
            "With other weights the plan is what it was",
            "Take the four worths from `weights`, not from memory.",
            earned=1,
        )
        demand(
            not near(V, worth_of(p, changed, wait)[2]),
            "`dismissed` and `missed` have changed places",
            "What happens when it is shown and she does not open it? And when it is dropped and she would have?",
            earned=1,
        )
        these = ", ".join(f"{name} {worth:.2f}" for name, worth in w.items())
        demand(
            near(V, truth),
            f"With {these} the first moment is {V[0]:.2f}; the best plan earns {truth[0]:.2f}",
            "Where does each of the four come in?",
            earned=1,
        )


@check(3, points=3)
def credit_where_it_is_due(credit, put_off):
    start = {
        "chat": [0.0, 0.5, 0.2],
        "mail": [0.4, -0.2, 0.1],
        "news": [0.8, 0.3, 0.6],
        "bank": [-0.3, 0.7, 0.1],
    }
    Q = {name: list(values) for name, values in start.items()}
    decided = {4: ("chat", 0), 7: ("mail", 1), 9: ("news", 0)}
    credit(Q, decided, {4: 1.0, 7: -1.0}, 0.5)
    demand(
        Q != start,
        "The table did not change",
        "Move an entry of Q for each answer, in place.",
    )
    demand(
        near(Q["news"], start["news"]),
        "A notification was credited that nobody has answered yet",
        "Go through the answers of this moment, not through all that was decided.",
    )
    demand(
        not near(Q["chat"][0], 0.0),
        "Each answer got the same, the mean of the moment"
        if near(Q["mail"][1], -0.1)
        else "What was shown learned nothing",
        "`answers[number]` is the worth of this one notification.",
    )
    demand(
        near(Q["mail"][0], 0.4),
        "A dismissal was credited to showing",
        "`decided` says which action was taken.",
    )
    demand(
        near([Q["chat"], Q["mail"]], [[0.5, 0.5, 0.2], [0.4, -0.6, 0.1]]),
        f"showing chat and dismissing mail are {Q['chat'][0]:.2f} and {Q['mail'][1]:.2f}, not 0.50 and -0.60",
        "The TD update of notebook 4, with the worth as its target: nothing comes after an answer.",
    )
    demand(
        set(decided) == {9},
        f"`decided` still holds {sorted(decided)}",
        "Pop who was answered.",
        earned=1,
    )
    Q = {name: list(values) for name, values in start.items()}
    put_off(Q, {1: "mail", 2: "chat"}, {1: "news", 2: "bank"}, -0.1, 0.5)
    demand(
        near([Q["news"], Q["bank"]], [start["news"], start["bank"]]),
        "The situations of now have changed",
        "To put off was decided in the situation of before: that entry learns.",
        earned=1,
    )
    demand(
        near([Q["mail"][:2], Q["chat"][:2]], [[0.4, -0.2], [0.0, 0.5]]),
        "Other actions than cache have changed",
        "Only the entry CACHE learns from waiting.",
        earned=1,
    )
    found = Q["mail"][2]
    demand(not near(found, 0.45), "Waiting costs nothing", "Where is `cost`?", earned=1)
    demand(
        not near(found, 0.5),
        "Waiting is rewarded",
        "`cost` is below 0 already.",
        earned=1,
    )
    demand(
        not near(found, 0.2),
        "It looks at the situation of before",
        "What can be had now?",
        earned=1,
    )
    for column, what in enumerate(("showing", "dismissing", "putting off")):
        ends = (
            0.1 + 0.5 * (start["news"][column] - 0.2),
            0.2 + 0.5 * (start["bank"][column] - 0.3),
        )
        demand(
            not near([found, Q["chat"][2]], ends),
            f"It always takes what {what} is worth in the situation of now",
            "Any of the three actions may be the best there.",
            earned=1,
        )
    demand(
        near([found, Q["chat"][2]], [0.4, 0.4]),
        f"cache is worth {found:.2f} and {Q['chat'][2]:.2f}, not 0.40 each",
        "The target is the cost and the best of the three values in the situation of now.",
        earned=1,
    )
    return (
        "Each answer went to its own decision, and waiting learned from what came next."
    )


def lived(env, policy, seeds):
    """Days under a policy, a DataFrame for each seed."""
    return [judge_days(env, as_agent(policy), seed) for seed in seeds]


def rewards_of(lives):
    """Rewards a day, array (seeds, days)."""
    return np.array([days["reward"] for days in lives])


@functools.cache
def of_do_not_disturb(env, seeds):
    return rewards_of(lived(env, DoNotDisturb(), seeds))


@check(4, points=2)
def a_better_rule(my_rule, learning, judged):
    seen, fresh = (
        range(2),
        range(20, 24),
    )  # the seeds that the notebook prints, and others
    lives = lived(learning, my_rule, seen)
    ours, theirs = rewards_of(lives), of_do_not_disturb(learning, seen)
    ahead = estimate.crossed_interval(ours, theirs)
    said = f"{ahead.mean:.1f} a day, 95 % interval from {ahead.low:.1f} to {ahead.high:.1f}"
    demand(
        not near(ours, theirs),
        "On every day it earns what do not disturb earns",
        "Write a rule of your own.",
    )
    mean = {
        name: np.mean([days[name] for days in lives])
        for name in ("forbidden", "interruptions")
    }
    demand(
        mean["forbidden"] < 1,
        f"It chooses what is not allowed, {mean['forbidden']:.0f} times a day",
        'Where nothing is in hand, only stand-by is allowed: ask `info["action_mask"]` before you choose.',
    )
    demand(
        mean["interruptions"] > 0,
        "The rule shows nothing on any day",
        "What is never shown is never opened.",
    )
    demand(
        ahead.high > 0,
        f"On the training days the rule is behind do not disturb: {said}",
        "At which hours does she open most, and which app least? Look at the tables above.",
    )
    demand(
        ahead.mean > 0,
        f"On the training days the rule is not ahead: {said}",
        "Try other hours, leave out an app.",
        earned=1,
    )
    demand(
        ahead.low > 0,
        f"The rule is ahead, but the interval includes zero: {said} on the training days",
        "That may be chance. Look for a change that is worth more: which app interrupts for nothing?",
        earned=1,
    )
    test = estimate.crossed_interval(
        rewards_of(lived(judged, my_rule, fresh)), of_do_not_disturb(judged, fresh)
    )
    return (
        f"Ahead of do not disturb by {said} on the training days. On the test days: {test.mean:.1f}, from "
        f"{test.low:.1f} to {test.high:.1f}."
    )


WORDS = ("more", "less", "unsure")


@check(5, points=2)
def a_user_who_hates_to_miss_something(means, changes):
    costs = list(dict.fromkeys(means.index.get_level_values(0)))
    demand(
        len(costs) > 1,
        f"Only the weight {costs[0]:g} was trained",
        "MISSED has to hold two.",
    )
    demand(
        costs[:2] == [-1.0, -2.0],
        f"The weights are {costs}",
        "The usual -1 first, and then the double of it.",
    )
    usual, doubled = (means.loc[cost] for cost in costs[:2])
    demand(
        len(usual) == len(doubled) == 4,
        "There are not four trainings a weight",
        "Leave the four seeds.",
    )
    demand(
        not usual.equals(doubled),
        "Both weights gave the same",
        "Both environments need `missed=missed`.",
    )
    said = {what: changes.get(what) for what in means}
    demand(
        all(one in WORDS for one in said.values()),
        f"`changes` says {said}",
        f"One of {WORDS} for each.",
    )
    for what in means:
        more = estimate.paired_interval(doubled[what], usual[what])
        truth = "more" if more.low > 0 else "less" if more.high < 0 else "unsure"
        demand(
            said[what] == truth,
            f"`{what}`: you say {said[what]}; the difference is {more}",
            "Does the interval include zero? Then four trainings cannot tell."
            if truth == "unsure"
            else "The interval lies on one side of zero: which one?",
            earned=1,
        )
    return "Fewer are missed, more are opened, and she is interrupted more; about the delay four trainings cannot tell."
