"""Notebook 8: what is asked of rules, targets, rounds of DAgger, and rewards."""

import numpy as np
import pandas as pd

from checks.frame import Checks, demand
from pushlab.agents import treatment

check = Checks("8 · Interventions")


@check(1)
def beat_both_drugs_always(my_rule):
    world = treatment.make_world()
    others = treatment.near_unhealthy(world, 3, np.random.default_rng(1))
    starts = np.vstack([world.model.state("unhealthy"), others])
    states, actions, rewards = treatment.treat(
        world, lambda states: _actions_of(my_rule, states), starts=starts
    )
    earned, given = treatment.discounted(rewards) / 1e6, set(actions.ravel().tolist())
    few, effectors = f"{earned[0]:.2f} million is not 5", states[-1, 0, 5]
    demand(
        len(given) > 1,
        f"Your rule takes action {min(given)} in every state",
        "Return one action in some states and another in others; ask for the virus, for example",
    )
    demand(
        earned[0] >= 5 or given != {0, 3},
        f"{few}: the two drugs start and stop together",
        "Leave out one drug at a time: action 1 is the protease inhibitor alone, action 2 the RT inhibitor alone",
    )
    demand(
        earned[0] >= 5 or 2 in given,
        f"{few}: the RT inhibitor is never given alone",
        "Which of the drugs keeps virus from infecting cells, and which one could be spared?",
    )
    demand(
        earned[0] >= 5,
        few,
        "When does your rule take which action? Count them in log['action']",
    )
    demand(
        (earned[1:] > 3).all(),
        f"With another patient your rule earns {earned[1:].min():.2f} million only",
        "Ask for the state of the patient, not for one that this patient happens to have",
    )
    return (
        f"{earned[0]:.1f} million and {effectors:.0f} effectors in the end; with three other patients "
        f"{', '.join(f'{one:.1f}' for one in earned[1:])} million"
    )


def _actions_of(rule, states):
    actions = [rule(state) for state in states]
    demand(
        all(np.ndim(one) == 0 and one in (0, 1, 2, 3) for one in actions),
        f"`my_rule` returned {actions[0]!r:.40}, which is no action",
        "An action is 0, 1, 2 or 3",
    )
    return np.array(actions, int)


@check(2, points=3)
def one_iteration_of_fitted_Q_iteration(one_iteration):
    rng = np.random.default_rng(5)
    states = np.repeat(rng.normal(size=(12, 2)), 3, axis=0)
    taken, rewards, after = (
        np.tile([0, 1, 2], 12),
        rng.normal(size=36),
        rng.normal(size=(36, 2)),
    )
    turn = rng.normal(size=(2, 3))
    Q = lambda seen: seen @ turn  # noqa: E731
    found = one_iteration(Q, (states, taken, rewards, after), discount=0.7, actions=3)
    demand(
        callable(found),
        "`one_iteration` returns no function",
        "End with `return next_Q`",
    )
    values = np.asarray(found(states))
    demand(
        values.shape == (36, 3),
        f"The next Q of 36 states has shape {values.shape}",
        "A column for each action",
    )
    demand(
        not np.allclose(values[:, 0], values[:, 1]),
        "The next Q is the same for every action",
        "Fit a regression for each action, to the steps in which it was taken",
    )
    got, best = values[np.arange(36), taken], Q(after).max(axis=1)
    for targets, reason, hint in (
        (
            rewards,
            "The targets are the rewards alone",
            "What is the best that can follow? Ask the last Q",
        ),
        (
            rewards + best,
            "What follows is not discounted",
            "It comes one step later: multiply it",
        ),
        (
            0.7 * (rewards + best),
            "The reward of now is discounted, too",
            "Only what follows comes later",
        ),
        (
            0.7 * best,
            "The reward is missing in the targets",
            "Read Bellman's equation once more",
        ),
        (
            rewards + 0.7 * Q(states).max(axis=1),
            "The last Q was asked about the state before the action",
            "The maximum is over the actions in the next state",
        ),
        (
            rewards + 0.7 * Q(after)[np.arange(36), taken],
            "The next action is taken to be the same as this one",
            "In the next state the best action may be another",
        ),
        (
            rewards + 0.7 * Q(after).mean(axis=1),
            "The mean over the next actions is not a maximum",
            "We want to act as well as we can afterwards",
        ),
        (
            rewards + 0.7 * Q(after).max(),
            "One maximum was taken over all steps",
            "Over the actions: axis=1",
        ),
        (
            rewards + 0.7 * Q(after).min(axis=1),
            "The smallest of the next values was taken",
            "Look for the best",
        ),
    ):
        demand(
            not np.allclose(got, targets),
            reason,
            hint,
            earned=int(targets is not rewards),
        )
    demand(
        np.allclose(got, rewards + 0.7 * best),
        "The targets are not those of Bellman's equation",
        "Compute one of them by hand, in the corridor, and print yours beside it",
    )
    return "Targets from the last Q, and a regression an action: this is all of it."


def _rows(states, answers):
    """Examples, in an order of their own."""
    table = np.column_stack([states, answers])
    return table[np.lexsort(table.T)]


def _same(one, other):
    return one.shape == other.shape and np.allclose(one, other)


@check(3, points=3)
def one_round_of_DAgger(one_round, states_of, fit_tree, world):
    starts = treatment.near_unhealthy(world, 2, np.random.default_rng(3))
    # What she says of the old states is not to be learned from the new ones.
    teacher = lambda states: np.where(states[:, 4] // 1000 % 3 > 0, 3, 2)  # noqa: E731
    learner = lambda states: np.where(states[:, 5] > 25, 0, 3)  # noqa: E731
    old = treatment.near_unhealthy(world, 40, np.random.default_rng(4))
    said = teacher(old)  # so asking her for all labels anew is right as well
    new, shown = states_of(learner, starts), states_of(teacher, starts)
    states, answers, fitted = one_round(old, said, teacher, learner, starts)
    found, every = _rows(states, answers), np.vstack([old, new])
    demand(
        len(found) > len(old),
        "There are no new examples",
        "Let somebody treat the patients in `starts`",
    )
    for one in (teacher, learner):
        demand(
            not any(
                _same(
                    found,
                    _rows(shown if more is None else np.vstack([more, shown]), label),
                )
                for more, label in (
                    (None, one(shown)),
                    (old, np.append(said, one(shown))),
                )
            ),
            "The new states are those that the teacher leads to",
            "Who has to act, so that we see where he errs?",
        )
    demand(
        len(found) != len(new),
        "The examples of the rounds before are gone",
        "DAgger aggregates: the new examples are added to the old ones",
        earned=1,
    )
    demand(
        not _same(found, _rows(every, np.append(said, learner(new)))),
        "The learner labelled the states himself",
        "Then he learns that he is always right; whom can he ask?",
        earned=1,
    )
    right = np.append(said, teacher(new))
    demand(
        _same(found, _rows(every, right)),
        "These are not the old and the new examples with their labels",
        "Stack the states, append the answers, in the same order",
        earned=1,
    )
    probe = np.vstack([every, shown])
    demand(
        not np.array_equal(fitted(probe), learner(probe)),
        "The learner that you return is the old one",
        "Fit a new one: `fit_tree(states, answers)`",
        earned=2,
    )
    demand(
        np.mean(fitted(old) == fit_tree(states, answers)(old)) > 0.99,
        "The learner was fitted to a part of the examples",
        "Fit it to all of them, old and new",
        earned=2,
    )
    return "The learner leads, the teacher labels, and nothing is forgotten."


@check(4, points=2)
def what_if(worth):
    weights = np.array([1.0, 10.0, 100.0, 1000.0, 10_000.0])

    def simulate(actions):
        actions = np.full(5, actions) if np.ndim(actions) == 0 else np.array(actions)
        return pd.DataFrame(
            {"E": np.append(5.0, 5.0 + np.cumsum(weights[: len(actions)] * actions))}
        )

    schedule, at, instead = [1, 3, 2, 0, 1], 2, 0
    got, lived = worth(simulate, schedule, at, instead), simulate([1, 3, 2, 0, 1])["E"]
    demand(
        schedule == [1, 3, 2, 0, 1],
        "The schedule was changed by your function",
        "Copy it first, with list(schedule), and change the copy",
    )
    demand(
        np.ndim(got) == 0,
        f"{type(got).__name__} is no number",
        "Take the last row of the column: .iloc[-1]",
    )
    for changed, reason, hint in (
        (
            [0] * 5,
            "All decisions were changed",
            "Only decision number `at` becomes `instead`",
        ),
        (
            [1, 3, 0, 0, 0],
            "What comes after the decision was changed as well",
            "Keep the decisions after `at`",
        ),
        (
            [1, 3, 0],
            "The decisions after it are missing",
            "Keep them: the patient is treated to the end",
        ),
        (
            [1, 0, 2, 0, 1],
            "The decision before it was changed",
            "`at` is counted from 0, as in a list",
        ),
        (
            [1, 3, 2, 0, 1],
            "Nothing was changed",
            "Is the second simulation that of the changed schedule?",
        ),
    ):
        demand(
            abs(got - (lived.iloc[-1] - simulate(changed)["E"].iloc[-1])) > 1e-6,
            reason,
            hint,
        )
    demand(
        abs(got + 200) > 1e-6,
        "The sign is the wrong way round",
        "As it was, minus as it would have been",
        earned=1,
    )
    demand(
        abs(got - 200) < 1e-6,
        f"In a world where it was worth 200 your function says {got:,.0f}",
        "Compare the last rows of two tables",
        earned=1,
    )
    return "One decision changed, the others as they were: its effect is exact."


@check(5, points=2)
def cheaper_drugs(gained):
    rng = np.random.default_rng(8)
    for _ in range(3):
        old, new, dose = (
            rng.uniform(9000, 20_000),
            rng.uniform(100, 8000),
            rng.uniform(0.2, 0.9),
        )
        decisions, discount = int(rng.integers(5, 20)), rng.uniform(0.8, 0.97)
        got, step = gained(old, new, dose, decisions, discount), (old - new) * dose**2
        worths = discount ** np.arange(decisions)
        for wrong, reason, hint in (
            (
                step * decisions,
                "Every step counts the same",
                "A reward one step later is worth `discount` of it",
            ),
            (
                step,
                "This is what one step gains",
                "There are many, each worth less than the one before",
            ),
            (
                step * worths.sum() / dose,
                "The dose is not squared",
                "Look at the reward again",
            ),
            (
                step * worths.sum() * discount,
                "The first step is discounted already",
                "Its discount is 1",
            ),
            (
                step / (1 - discount),
                "This is what steps without an end would gain",
                "They end: stop the sum",
            ),
            (
                -step * worths.sum(),
                "The return falls in your formula",
                "A lower price: the return grows",
            ),
            (
                old * dose**2 * worths.sum(),
                "The new price is missing",
                "What is gained is the difference",
            ),
            (
                step * decisions * worths[-1],
                "All are discounted like the last one",
                "Add step by step",
            ),
        ):
            demand(not np.isclose(got, wrong, rtol=1e-6), reason, hint)
        demand(
            np.isclose(got, step * worths.sum(), rtol=1e-6),
            "Another sum comes out, step by step",
            "Write it for two decisions by hand, and compare",
            earned=1,
        )
    return "Worked out without a simulator, for any price, dose and discount."


def _days(n=100, virus=1000.0, effectors=1000.0, drugs=0.0):
    return pd.DataFrame(
        {
            "V": np.full(n, virus),
            "E": effectors,
            "epsilon_1": 0.7 * drugs,
            "epsilon_2": 0.3 * drugs,
        }
    )


@check(6, points=3)
def a_reward_of_your_own(my_reward, treated, clinic):
    total = lambda table: float(np.sum(my_reward(table)))  # noqa: E731
    demand(
        np.shape(my_reward(_days())) == (100,),
        f"100 rows give rewards of shape {np.shape(my_reward(_days()))}",
        "A number a row: work with whole columns, and np.maximum in place of max",
    )
    for effectors in (20.0, 3e5):
        usual = total(_days(effectors=effectors))
        demand(
            total(_days(effectors=2 * effectors)) > usual,
            f"Twice {effectors:,.0f} effectors are not worth more",
            "The reward has to grow with E, everywhere",
        )
        demand(
            total(_days(virus=1500.0, effectors=effectors)) < usual,
            "1,500 copies of virus are no worse than 1,000",
            "Small amounts of virus count as well",
        )
        demand(
            total(_days(effectors=effectors, drugs=1)) < usual,
            "Drugs cost nothing",
            "Subtract something for them",
        )
    always = clinic.unwrapped.simulate(3).iloc[:200]
    outbreaks = []
    for effectors in (20.0, 3e5):
        outbreak = _days(effectors=effectors)
        outbreak.loc[50, "V"] = 1e6
        outbreaks.append(total(_days(effectors=effectors, drugs=1)) - total(outbreak))
    demand(
        min(outbreaks) > 0,
        "A day of a million copies costs less than a hundred decisions of both drugs",
        "A term for days above some number of copies, and large enough; compare it with the price of the drugs",
    )
    demand(
        total(treated) > total(always),
        "Both drugs always now earn more than the learned treatment",
        "Your outbreaks cost too much beside what effectors are worth; compare the terms, one by one",
        earned=2,
    )
    return "More effectors, less virus, fewer drugs, and no outbreaks: defended on every point."
