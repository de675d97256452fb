"""Checks of notebook 5: values, plans and credit on small cases, rules on training and test days, and a limit."""

import functools

import numpy as np

from checks import Checks, is_close, require, returned
from pushlab.agents import DoNotDisturb, as_agent
from pushlab.agents.arrivals import ACTIONS, CACHE, CHECK, DISMISS, SHOW, STAND_BY
from pushlab.logs.push_days import evaluate_by_day
from pushlab.metrics import estimate

check = Checks("5 · Managing arrivals")
USUAL = {"opened": 1.0, "dismissed": -1.0, "missed": -1.0, "spared": 0.2}


@check(1, points=1)
def the_break_even_probability(break_even):
    answer = float(returned(break_even(USUAL)))
    require(
        answer > -1e-9,
        f"With the weights of this notebook it gives {answer:.3f}",
        "The text above has the number.",
    )
    require(
        not is_close(answer, 1.2 / 2.2, 1e-3),
        "It does not use `missed`",
        "She might have opened a notification that is dropped.",
    )
    require(
        not is_close(answer, 1 / 3, 1e-3),
        "It does not use `spared`",
        "Dropping a notification that she would not open earns a little.",
    )
    require(
        not is_close(answer, 1.0, 1e-3),
        "It treats a cost as a gain",
        "The weights have signs: a cost is below 0.",
    )
    require(
        is_close(answer, 0.375, 1e-3),
        f"With the weights of this notebook it gives {answer:.3f}, not 0.375",
        "Write both sides with p, showing and dropping, and solve for p.",
    )
    changes = {"dismissed": -3.0, "missed": -2.5, "spared": 0.7, "opened": 2.0}
    for name, weight in changes.items():
        w = USUAL | {name: weight}
        expected = (w["spared"] - w["dismissed"]) / (
            w["opened"] - w["dismissed"] - w["missed"] + w["spared"]
        )
        answer = float(break_even(w))
        require(
            is_close(answer, expected, 1e-3),
            f"With `{name}` at {weight} it gives {answer:.4f}; it should be {expected:.4f}",
            f"When does {name} count: if the notification is shown or dropped, and if she would open it or not?",
        )
    return "The two sides are equal there, whatever the weights are."


def plan_values(p, weights, wait):
    """Return the values of showing, of dismissing, and of the best plan at each moment.

    Args:
        p: Probability of an open at each moment, (moments,).
        weights: Rewards of the four outcomes.
        wait: Reward of a moment of waiting.

    Returns:
        Three arrays (moments,).
    """
    show = p * weights["opened"] + (1 - p) * weights["dismissed"]
    dismiss = p * weights["missed"] + (1 - p) * weights["spared"]
    immediate = np.maximum(show, dismiss)
    moments = range(len(p))
    best = [
        max(immediate[stop] + wait * (stop - start) for stop in moments[start:])
        for start in moments
    ]
    return show, dismiss, np.array(best)


@check(2, points=3)
def a_plan_by_dynamic_programming(plan):
    rng = np.random.default_rng(2)
    for wait in (-5.0, 0.0, -0.1):
        for _ in range(4):
            p = rng.uniform(0, 1, 6)
            show, dismiss, expected = plan_values(p, USUAL, wait)
            immediate = np.maximum(show, dismiss)
            V, best = returned(plan(p, USUAL, wait))
            require(
                len(V) == len(best) == len(p),
                f"For {len(p)} moments it gives {len(V)} values and {len(best)} actions",
                "Return one value and one action per moment.",
            )
            require(
                {str(action) for action in best} <= {"show", "dismiss", "cache"},
                f"The actions are {list(best)}",
                'Return the words "show", "dismiss" and "cache".',
            )
            require(
                best[-1] != "cache" and is_close(V[-1], immediate[-1]),
                f"The last moment: {best[-1]}, value {V[-1]:.2f}",
                "Nothing comes after it, so its value is the better of show and dismiss. Begin there.",
            )
            require(
                not is_close(V, show) or is_close(expected, show),
                "It only ever shows",
                "What are the values of the other two actions?",
            )
            require(
                wait < -1
                or not is_close(V, immediate)
                or is_close(expected, immediate),
                "It never caches",
                "The value of caching is the cost of waiting plus the value of the next moment.",
                earned=1,
            )
            free_waiting = plan_values(p, USUAL, 0.0)[2]
            require(
                wait == 0.0
                or is_close(expected, free_waiting)
                or not is_close(V, free_waiting),
                "It caches as if waiting cost nothing",
                "The value of caching is `wait` plus the value of the next moment.",
                earned=1,
            )
            require(
                wait != -5.0 or is_close(V, immediate),
                "It caches although waiting costs 5 per moment",
                "`wait` is below 0: add it, do not subtract it.",
                earned=1,
            )
            require(
                is_close(V, expected),
                f"The value of the first moment is {V[0]:.3f}, but the best plan earns {expected[0]:.3f}",
                "Go backward: compute V of the next moment before you use it.",
                earned=1,
            )
            action_values = {
                "show": show,
                "dismiss": dismiss,
                "cache": wait + np.append(expected[1:], -np.inf),
            }
            require(
                all(
                    is_close(action_values[str(action)][t], expected[t])
                    for t, action in enumerate(best)
                ),
                f"The values are right, but the actions {list(best)} are not",
                "The best action is the one whose value is the largest.",
                earned=2,
            )
    _require_other_weights(plan, rng)
    return "No plan earns more: compared with stopping at any other moment."


def _require_other_weights(plan, rng):
    """Require the best plan under weights that differ from the usual ones."""
    for _ in range(6):
        p = rng.uniform(0, 1, 5)
        wait = -rng.uniform(0, 0.3)
        values = rng.uniform([0.5, -3, -3, 0.1], [2, -0.5, -0.5, 0.8])
        weights = dict(zip(USUAL, values))
        expected = plan_values(p, weights, wait)[2]
        V = plan(p, weights, wait)[0]
        swapped = weights | {
            "dismissed": weights["missed"],
            "missed": weights["dismissed"],
        }
        require(
            not is_close(V, plan_values(p, USUAL, wait)[2]),
            "With other weights the plan does not change",
            "Read the four rewards from `weights`.",
            earned=1,
        )
        require(
            not is_close(V, plan_values(p, swapped, wait)[2]),
            "`dismissed` and `missed` are swapped",
            "Which one counts if it is shown and not opened? And which if it is dropped and she would have opened it?",
            earned=1,
        )
        listed = ", ".join(f"{name} {weight:.2f}" for name, weight in weights.items())
        require(
            is_close(V, expected),
            f"With {listed} the value of the first moment is {V[0]:.2f}; the best plan earns {expected[0]:.2f}",
            "When does each of the four count?",
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
    require(
        Q != start,
        "The table did not change",
        "Move an entry of Q for each answer, in place.",
    )
    require(
        is_close(Q["news"], start["news"]),
        "A notification without an answer received credit",
        "Loop over the answers of this moment, not over all decisions.",
    )
    require(
        not is_close(Q["chat"][0], 0.0),
        "Each answer received the same credit, the mean of the moment"
        if is_close(Q["mail"][1], -0.1)
        else "The notification that was shown learned nothing",
        "`answers[number]` is the reward of this one notification.",
    )
    require(
        is_close(Q["mail"][0], 0.4),
        "A dismissal was credited to showing",
        "`decided` holds the action that was taken.",
    )
    require(
        is_close([Q["chat"], Q["mail"]], [[0.5, 0.5, 0.2], [0.4, -0.6, 0.1]]),
        f"Showing chat and dismissing mail are {Q['chat'][0]:.2f} and {Q['mail'][1]:.2f}, not 0.50 and -0.60",
        "Use the TD update of notebook 4, with the reward as its target: nothing comes after an answer.",
    )
    require(
        set(decided) == {9},
        f"`decided` still holds {sorted(decided)}",
        "Pop each notification that was answered.",
        earned=1,
    )
    Q = {name: list(values) for name, values in start.items()}
    put_off(Q, {1: "mail", 2: "chat"}, {1: "news", 2: "bank"}, -0.1, 0.5)
    require(
        is_close([Q["news"], Q["bank"]], [start["news"], start["bank"]]),
        "The current situations have changed",
        "The decision to wait was made in the previous situation: its entry learns.",
        earned=1,
    )
    require(
        is_close([Q["mail"][:2], Q["chat"][:2]], [[0.4, -0.2], [0.0, 0.5]]),
        "Other actions than cache have changed",
        "Only the entry CACHE learns from waiting.",
        earned=1,
    )
    mail = Q["mail"][2]
    chat = Q["chat"][2]
    require(
        not is_close(mail, 0.45),
        "Waiting costs nothing",
        "Where is `cost`?",
        earned=1,
    )
    require(
        not is_close(mail, 0.5),
        "Waiting is rewarded",
        "`cost` is already below 0.",
        earned=1,
    )
    require(
        not is_close(mail, 0.2),
        "It uses the values of the previous situation",
        "Which values are available now?",
        earned=1,
    )
    for column, action in enumerate(("showing", "dismissing", "putting off")):
        mistaken = (
            0.1 + 0.5 * (start["news"][column] - 0.2),
            0.2 + 0.5 * (start["bank"][column] - 0.3),
        )
        require(
            not is_close([mail, chat], mistaken),
            f"It always takes the value of {action} in the current situation",
            "Any of the three actions may be the best there.",
            earned=1,
        )
    require(
        is_close([mail, chat], [0.4, 0.4]),
        f"The values of cache are {mail:.2f} and {chat:.2f}, not 0.40 each",
        "The target is the cost plus the best of the three values in the current situation.",
        earned=1,
    )
    return "Each answer was credited to its own decision, and waiting learned from the next situation."


def run_days(env, policy, seeds):
    """Return a table of days under a policy for each seed."""
    return [evaluate_by_day(env, as_agent(policy), seed) for seed in seeds]


def rewards_of(tables):
    """Return rewards per day, shape (seeds, days)."""
    return np.array([days["reward"] for days in tables])


@functools.cache
def do_not_disturb_rewards(env, seeds):
    return rewards_of(run_days(env, DoNotDisturb(), seeds))


@check(4, points=2)
def a_better_rule(my_rule, train_env, test_env):
    printed_seeds = range(2)  # the seeds that the notebook prints
    new_seeds = range(20, 24)
    tables = run_days(train_env, my_rule, printed_seeds)
    rewards = rewards_of(tables)
    baseline = do_not_disturb_rewards(train_env, printed_seeds)
    advantage = estimate.crossed_interval(rewards, baseline)
    interval = f"{advantage.mean:.1f} per day, 95 % interval from {advantage.low:.1f} to {advantage.high:.1f}"
    require(
        not is_close(rewards, baseline),
        "On every day it earns the same as DoNotDisturb",
        "Write a different rule.",
    )
    mean = {
        name: np.mean([days[name] for days in tables])
        for name in ("forbidden", "interruptions")
    }
    require(
        mean["forbidden"] < 1,
        f"It chooses an action that is not allowed {mean['forbidden']:.0f} times per day",
        'Without a notification in hand only stand-by is allowed: read `info["action_mask"]` before you choose.',
    )
    require(
        mean["interruptions"] > 0,
        "The rule shows nothing on any day",
        "A notification that is never shown is never opened.",
    )
    require(
        advantage.high > 0,
        f"On the training days the rule is behind do not disturb: {interval}",
        "At which hours does she open most, and which app least? Look at the tables above.",
    )
    require(
        advantage.mean > 0,
        f"On the training days the rule is not ahead: {interval}",
        "Try other hours, or leave out an app.",
        earned=1,
    )
    require(
        advantage.low > 0,
        f"The rule is ahead, but the interval includes zero: {interval} on the training days",
        "This may be chance. Look for a change that earns more: which app interrupts without being opened?",
        earned=1,
    )
    test = estimate.crossed_interval(
        rewards_of(run_days(test_env, my_rule, new_seeds)),
        do_not_disturb_rewards(test_env, new_seeds),
    )
    return (
        f"Ahead of do not disturb by {interval} on the training days. On the test days: {test.mean:.1f}, from "
        f"{test.low:.1f} to {test.high:.1f}."
    )


WORDS = ("more", "less", "unsure")


def expected_word(difference):
    """Return the word of WORDS for the interval of a difference."""
    if difference.low > 0:
        return "more"
    return "less" if difference.high < 0 else "unsure"


@check(5, points=2)
def a_user_who_hates_to_miss_something(means, changes):
    costs = list(dict.fromkeys(means.index.get_level_values(0)))
    require(
        len(costs) > 1,
        f"Only the weight {costs[0]:g} was trained",
        "MISSED needs two weights.",
    )
    require(
        costs[:2] == [-1.0, -2.0],
        f"The weights are {costs}",
        "Use the usual -1 first, then twice as much.",
    )
    usual, doubled = (means.loc[cost] for cost in costs[:2])
    require(
        len(usual) == len(doubled) == 4,
        "There are not four trainings per weight",
        "Set SEEDS to 4.",
    )
    require(
        not usual.equals(doubled),
        "Both weights gave the same results",
        "Both environments need `missed=missed`.",
    )
    answers = {quantity: changes.get(quantity) for quantity in means}
    require(
        all(answer in WORDS for answer in answers.values()),
        f"`changes` is {answers}",
        f"Use one of {WORDS} for each.",
    )
    for quantity in means:
        difference = estimate.paired_interval(doubled[quantity], usual[quantity])
        expected = expected_word(difference)
        require(
            answers[quantity] == expected,
            f"`{quantity}`: your answer is {answers[quantity]}; the difference is {difference}",
            "Does the interval include zero? Then four trainings are not enough to decide."
            if expected == "unsure"
            else "The interval is on one side of zero: which one?",
            earned=1,
        )
    return "Fewer are missed, more are opened, and she is interrupted more; the effect on the delay stays open."


def waits_until(hour):
    """Return a policy that caches until an hour, drops every fifth notification, and shows the rest."""

    def policy(observation, info):
        mask = info["action_mask"]
        is_late = info["time"] >= 60 * hour
        if mask[SHOW] and info["hand"] % 5 == 4:
            return DISMISS
        if mask[SHOW]:
            return SHOW if is_late else CACHE
        return CHECK if mask[CHECK] and is_late else STAND_BY

    return policy


@check(6, points=2)
def at_most_so_many_an_hour(at_most, test_env):
    for per_hour, hour in ((1, 0), (3, 0), (2, 17)):
        policy = waits_until(hour)
        limited = returned(at_most(policy, per_hour))
        for day in (60, 61, 64):
            _require_limit(test_env, day, policy, limited, per_hour)
    return (
        "Never more than the limit in any 60 minutes, and otherwise the policy itself."
    )


def _require_limit(env, day, policy, limited, per_hour):
    """Require on one day that `limited` does what `policy` does, within the limit."""
    shown = []
    observation, info = env.reset(seed=day, options={"day": day})
    is_over = False
    while not is_over:
        choice = policy(observation, info)
        action = returned(limited(observation, info))
        now = info["time"]
        within_hour = sum(now - minute < 60 for minute in shown)
        is_full = within_hour >= per_hour
        may_be_full = sum(now - minute <= 60 for minute in shown) >= per_hour
        clock = f"{now // 60:02.0f}:{now % 60:02.0f}"
        state = f"At {clock}, with {within_hour} shown in the 60 minutes before and a limit of {per_hour},"
        require(
            action in range(len(ACTIONS)),
            f"It returned {action!r}",
            "Return one of the five actions.",
        )
        held = {SHOW: CACHE, CHECK: STAND_BY}.get(choice, choice)
        allowed = {held if is_full else choice, held if may_be_full else choice}
        hint = "With room left, today and in the last 60 minutes, the policy itself decides."
        if is_full:
            hint = "Count 60 minutes back from now. If they are full, show becomes cache and check-cache stand-by."
        require(
            action != SHOW or SHOW in allowed,
            f"{state} it showed one more",
            "Keep the minutes at which you showed something, and count those of the last 60.",
        )
        require(
            action in allowed,
            f"{state} the policy chose {ACTIONS[choice]}, yours {ACTIONS[action]}",
            hint,
            earned=1,
        )
        if action == SHOW:
            shown.append(now)
        observation, _, is_over, _, info = env.step(action)
