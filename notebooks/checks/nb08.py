"""Checks of notebook 8: rules, regression targets, rounds of DAgger, effects, and rewards."""

import numpy as np
import pandas as pd

from checks import Checks, require, returned
from pushlab.agents import treatment

check = Checks("8 · Interventions")


@check(1)
def beat_both_drugs_always(my_rule):
    world = treatment.make_world()
    other_starts = treatment.draw_initial_states(world, 3, np.random.default_rng(1))
    starts = np.vstack([world.model.state("unhealthy"), other_starts])
    states, actions, rewards = treatment.treat(
        world, lambda states: _actions(my_rule, states), starts=starts
    )
    returns = treatment.discounted(rewards) / 1e6
    used = set(actions.ravel().tolist())
    too_low = f"{returns[0]:.2f} million is less than 5"
    require(
        len(used) > 1,
        f"Your rule takes action {min(used)} in every state",
        "Return one action in some states and another in others; use the virus count, for example",
    )
    require(
        returns[0] >= 5 or used != {0, 3},
        f"{too_low}: the two drugs start and stop together",
        "Leave out one drug at a time: action 1 is the protease inhibitor alone, action 2 the RT inhibitor alone",
    )
    require(
        returns[0] >= 5 or 2 in used,
        f"{too_low}: the RT inhibitor is never given alone",
        "Which of the drugs keeps virus from infecting cells, and which one could be omitted?",
    )
    require(
        returns[0] >= 5,
        too_low,
        "When does your rule take which action? Count them in log['action']",
    )
    require(
        (returns[1:] > 3).all(),
        f"With another patient your rule earns only {returns[1:].min():.2f} million",
        "Use the current state of the patient, not a state that only this patient has",
    )
    effectors = states[-1, 0, 5]
    return (
        f"{returns[0]:.1f} million and {effectors:.0f} effectors in the end; with three other patients "
        f"{', '.join(f'{value:.1f}' for value in returns[1:])} million"
    )


def _actions(rule, states):
    """Return the actions of a rule; reject values that are not actions."""
    actions = [returned(rule(state)) for state in states]
    require(
        all(np.ndim(action) == 0 and action in (0, 1, 2, 3) for action in actions),
        f"`my_rule` returned {actions[0]!r:.40}, which is not an action",
        "An action is 0, 1, 2 or 3",
    )
    return np.array(actions, int)


@check(2, points=3)
def one_iteration_of_fitted_Q_iteration(one_iteration):
    rng = np.random.default_rng(5)
    states = np.repeat(rng.normal(size=(12, 2)), 3, axis=0)
    actions = np.tile([0, 1, 2], 12)
    rewards = rng.normal(size=36)
    next_states = rng.normal(size=(36, 2))
    weights = rng.normal(size=(2, 3))

    def Q(states):
        return states @ weights

    steps = (states, actions, rewards, next_states)
    next_Q = one_iteration(Q, steps, discount=0.7, actions=3)
    require(
        callable(next_Q),
        "`one_iteration` does not return a function",
        "End with `return next_Q`",
    )
    values = np.asarray(returned(next_Q(states)))
    require(
        values.shape == (36, 3),
        f"The next Q of 36 states has shape {values.shape}",
        "It needs a column for each action",
    )
    require(
        not np.allclose(values[:, 0], values[:, 1]),
        "The next Q is the same for every action",
        "Fit a regression for each action, to the steps with this action",
    )
    rows = np.arange(36)
    targets = values[rows, actions]
    next_values = Q(next_states)
    best = next_values.max(axis=1)
    for mistaken, reason, hint in (
        (
            rewards,
            "The targets are the rewards alone",
            "What is the best value of the next state? Use the last Q",
        ),
        (
            rewards + best,
            "The value of the next state is not discounted",
            "It comes one step later: multiply it",
        ),
        (
            rewards + 0.98 * best,
            "The discount is 0.98, although the argument is 0.7",
            "Use the argument `discount`",
        ),
        (
            0.7 * (rewards + best),
            "The immediate reward is discounted, too",
            "Only the next value comes later",
        ),
        (
            0.7 * best,
            "The targets do not include the reward",
            "Read Bellman's equation once more",
        ),
        (
            rewards + 0.7 * Q(states).max(axis=1),
            "The last Q was evaluated in the state before the action",
            "The maximum is over the actions in the next state",
        ),
        (
            rewards + 0.7 * next_values[rows, actions],
            "The next action is taken to be the same as this one",
            "In the next state another action may be the best",
        ),
        (
            rewards + 0.7 * next_values.mean(axis=1),
            "The targets use the mean over the next actions, not the maximum",
            "We want to act as well as we can afterwards",
        ),
        (
            rewards + 0.7 * next_values.max(),
            "The maximum was taken over all steps",
            "Take it over the actions: axis=1",
        ),
        (
            rewards + 0.7 * next_values.min(axis=1),
            "The smallest of the next values was taken",
            "Take the best one",
        ),
    ):
        require(
            not np.allclose(targets, mistaken),
            reason,
            hint,
            earned=int(mistaken is not rewards),
        )
    require(
        np.allclose(targets, rewards + 0.7 * best),
        "The targets do not follow Bellman's equation",
        "Compute one of them by hand, in the corridor, and compare it with yours",
    )
    return "Targets from the last Q, and one regression per action: that is the whole iteration."


def _examples(states, answers):
    """Return a table of examples with sorted rows."""
    table = np.column_stack([states, answers])
    return table[np.lexsort(table.T)]


def _is_same(examples, others):
    return examples.shape == others.shape and np.allclose(examples, others)


@check(3, points=3)
def one_round_of_DAgger(one_round, states_of, fit_tree, world):
    starts = treatment.draw_initial_states(world, 2, np.random.default_rng(3))

    # No function of the new states alone gives this teacher's labels of the old ones.
    def teacher(states):
        return np.where(states[:, 4] // 1000 % 3 > 0, 3, 2)

    def learner(states):
        return np.where(states[:, 5] > 25, 0, 3)

    old = treatment.draw_initial_states(world, 40, np.random.default_rng(4))
    old_labels = teacher(old)  # labelling all states again is right as well
    new = states_of(learner, starts)
    teacher_states = states_of(teacher, starts)
    states, answers, fitted = returned(
        one_round(old, old_labels, teacher, learner, starts)
    )
    examples = _examples(states, answers)
    all_states = np.vstack([old, new])
    require(
        len(examples) > len(old),
        "There are no new examples",
        "Some policy has to treat the patients in `starts`",
    )
    for policy in (teacher, learner):
        labels = policy(teacher_states)
        replaced = _examples(teacher_states, labels)
        added = _examples(
            np.vstack([old, teacher_states]), np.append(old_labels, labels)
        )
        require(
            not _is_same(examples, replaced) and not _is_same(examples, added),
            "The new states come from the teacher's treatment",
            "Who has to act, so that we see the learner's mistakes?",
        )
    require(
        len(examples) != len(new),
        "The examples of earlier rounds are lost",
        "DAgger aggregates: add the new examples to the old ones",
        earned=1,
    )
    own_labels = np.append(old_labels, learner(new))
    require(
        not _is_same(examples, _examples(all_states, own_labels)),
        "The learner labelled the states itself",
        "Then it learns that it is always right. Who knows better?",
        earned=1,
    )
    expected = _examples(all_states, np.append(old_labels, teacher(new)))
    require(
        _is_same(examples, expected),
        "These are not the old and the new examples with their labels",
        "Stack the states and append the answers, in the same order",
        earned=1,
    )
    test_states = np.vstack([all_states, teacher_states])
    require(
        not np.array_equal(fitted(test_states), learner(test_states)),
        "The returned learner is the old one",
        "Fit a new one: `fit_tree(states, answers)`",
        earned=2,
    )
    require(
        np.mean(fitted(old) == fit_tree(states, answers)(old)) > 0.99,
        "The learner was fitted to a part of the examples",
        "Fit it to all of them, old and new",
        earned=2,
    )
    return "The learner acts, the teacher labels, and all examples are kept."


@check(4, points=2)
def what_if(decision_effect):
    weights = np.array([1.0, 10.0, 100.0, 1000.0, 10_000.0])

    def simulate(actions):
        """Half of the effectors are added at each step, so effects grow until the end."""
        actions = np.full(5, actions) if np.ndim(actions) == 0 else actions
        effectors = [5.0]
        for weight, action in zip(weights, actions):
            effectors.append(1.5 * effectors[-1] + weight * action)
        return pd.DataFrame({"E": effectors})

    schedule = [1, 3, 2, 0, 1]
    answer = returned(decision_effect(simulate, schedule, 2, 0))
    actual = simulate([1, 3, 2, 0, 1])["E"]
    require(
        schedule == [1, 3, 2, 0, 1],
        "Your function changed the schedule",
        "Copy it first, with list(schedule), and change the copy",
    )
    require(
        np.ndim(answer) == 0,
        f"The result is a {type(answer).__name__}, not a number",
        "Take the last row of the column: .iloc[-1]",
    )
    changed_outcome = simulate([1, 3, 0, 0, 1])["E"]
    expected = actual.iloc[-1] - changed_outcome.iloc[-1]
    require(
        abs(answer - (actual[3] - changed_outcome[3])) > 1e-6,
        "You compare the patients right after the decision",
        "Its effect goes on: compare them at the end of the schedule",
        earned=1,
    )
    for changed, reason, hint in (
        (
            [0] * 5,
            "All decisions were changed",
            "Only decision number `position` becomes `alternative`",
        ),
        (
            [1, 3, 0, 0, 0],
            "The later decisions were changed as well",
            "Keep the decisions after `position`",
        ),
        (
            [1, 3, 0],
            "The later decisions are missing",
            "Keep them: the patient is treated to the end",
        ),
        (
            [1, 0, 2, 0, 1],
            "The decision before it was changed",
            "`position` counts from 0, as in a list",
        ),
        (
            [1, 3, 2, 0, 1],
            "Nothing was changed",
            "Does the second simulation get the changed schedule?",
        ),
    ):
        effect = actual.iloc[-1] - simulate(changed)["E"].iloc[-1]
        require(abs(answer - effect) > 1e-6, reason, hint)
    require(
        abs(answer + expected) > 1e-6,
        "The sign is wrong",
        "Subtract the changed outcome from the actual one",
        earned=1,
    )
    require(
        abs(answer - expected) < 1e-6,
        f"In a world in which the effect is {expected:,.0f} your function returns {answer:,.0f}",
        "Compare the last rows of two tables",
        earned=1,
    )
    return "One decision changed, the others as they were: its effect is exact."


def _constant_days(n=100, virus=1000.0, effectors=1000.0, drugs=0.0):
    return pd.DataFrame(
        {
            "V": np.full(n, virus),
            "E": effectors,
            "epsilon_1": 0.7 * drugs,
            "epsilon_2": 0.3 * drugs,
        }
    )


@check(5, points=3)
def a_reward_of_your_own(my_reward, treated, clinic):
    def total(table):
        return float(np.sum(my_reward(table)))

    rewards = returned(my_reward(_constant_days()))
    require(
        np.shape(rewards) == (100,),
        f"100 rows give rewards of shape {np.shape(rewards)}",
        "Return one number per row: work with whole columns, and np.maximum instead of max",
    )
    for effectors in (20.0, 3e5):
        usual = total(_constant_days(effectors=effectors))
        require(
            total(_constant_days(effectors=2 * effectors)) > usual,
            f"Twice {effectors:,.0f} effectors do not earn more",
            "The reward has to grow with E, everywhere",
        )
        require(
            total(_constant_days(virus=1500.0, effectors=effectors)) < usual,
            "1,500 copies of virus are no worse than 1,000",
            "Small amounts of virus count as well",
        )
        require(
            total(_constant_days(effectors=effectors, drugs=1)) < usual,
            "Drugs cost nothing",
            "Subtract a price for them",
        )
    always_both = clinic.unwrapped.simulate(3).iloc[:200]
    gains = []
    for effectors in (20.0, 3e5):
        outbreak = _constant_days(effectors=effectors)
        outbreak.loc[50, "V"] = 1e6
        drugs = _constant_days(effectors=effectors, drugs=1)
        gains.append(total(drugs) - total(outbreak))
    require(
        min(gains) > 0,
        "A day with a million copies costs less than a hundred decisions with both drugs",
        "Add a large enough term for days above some number of copies, and compare it with the price of the drugs",
    )
    require(
        total(treated) > total(always_both),
        "Both drugs always now earn more than the learned treatment",
        "Your outbreaks cost too much compared with the reward of effectors; compare the terms, one by one",
        earned=2,
    )
    return "More effectors, less virus, fewer drugs, and no outbreaks: right on every point."
