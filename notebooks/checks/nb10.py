"""Notebook 10, when the world answers back: a rule for a town, a forecast that moves people, and retraining."""

import functools

import numpy as np

from checks import Checks, demand
from pushlab.datasets.borrowers import load_borrowers
from pushlab.envs.credit.rules import credit_config, fit, logistic_loss, retrain

check = Checks("10 · When the world answers back")


@functools.cache
def _town():
    import gymnasium as gym

    return gym.make("pushlab/ODE-Zika-v0", actions="box").unwrapped


@check(1, points=2)
def as_much_as_is_needed(my_rule):
    town, calm, bad = (
        _town(),
        np.array([1000.0, 0, 0, 30, 500, 0, 0]),
        np.array([400.0, 300, 300, 30, 9000, 900, 700]),
    )
    for state in (calm, bad):
        shares = np.asarray(my_rule(state.copy()), float)
        demand(
            shares.shape == (4,),
            "The rule does not return four shares",
            "np.array([0.0, 0.0, treatment, spray])",
        )
        demand(
            ((shares >= 0) & (shares <= 1)).all(),
            f"The rule asks for {shares.max():.2f} of a measure",
            "A share is from 0 to 1: min(1, …)",
        )
    demand(
        not np.allclose(my_rule(calm.copy()), my_rule(bad.copy())),
        "The rule does the same in a town without ill people and in one with 300",
        "Use observation[ILL] and observation[MOSQUITOES].sum()",
    )
    demand(
        np.sum(my_rule(calm.copy())) < np.sum(my_rule(bad.copy())),
        "The rule does more where less is needed",
        "More treatment with more ill people, more spray with more mosquitoes",
    )
    start = town.simulate([0, 0, 0, 0])[list(town.world.model.names)].iloc[0].to_dict()
    fewer = {**start, "symptomatic_humans": start["symptomatic_humans"] / 4}
    earned, other = (
        town.simulate(lambda state, time: my_rule(state), initial_state=one)[
            "reward"
        ].sum()
        for one in (start, fewer)
    )
    demand(
        earned > -3000,
        f"The rule earns {earned:,.0f}; -3,000 is to be passed",
        "Costs grow with the square: shares in proportion to the need cost less than all or nothing",
        earned=1,
    )
    same = town.simulate([0, 0, 0.6, 0.5], initial_state=fewer)["reward"].sum()
    demand(
        other > same,
        f"With fewer ill people it earns {other:,.0f}; the same every day earns {same:,.0f} there",
        "Do less where less is needed",
        earned=1,
    )
    return f"It earns {earned:,.0f}, and does better than the same every day in another town too."


@check(2, points=2)
def where_the_forecast_settles(settles_at):
    first = settles_at(100, 0.5)
    demand(
        first is not None,
        "For epsilon 0.5 it says None",
        "100, 150, 175, 187.5: the steps get smaller",
    )
    demand(
        abs(first - 150) > 1e-6,
        "150 is the second forecast, and they do not stay there",
        "Solve theta = mu + epsilon * theta for theta",
    )
    for mu, epsilon in ((100, 0.5), (40, 0.9), (7, 0.0), (100, -0.5)):
        found = settles_at(mu, epsilon)
        demand(
            found is not None,
            f"For epsilon {epsilon} it says None, but the forecasts converge",
            "Write down the first five forecasts for this epsilon",
            earned=1,
        )
        right = mu / (1 - epsilon)
        demand(
            abs(found - right) > 0.02 * mu or abs(found - right) < 1e-6 * mu,
            f"For mu {mu}, epsilon {epsilon} it gives {found:.8g}: near, but the forecasts have not converged yet",
            "Many rounds come near it. Solve the equation: then no round is needed",
            earned=1,
        )
        demand(
            abs(found - right) < 1e-6 * mu,
            f"For mu {mu}, epsilon {epsilon} it gives {found:.8g}",
            "Put it into theta = mu + epsilon * theta: both sides have to be equal",
        )
    for epsilon in (1.2, 1.0, -1.0, -1.5):
        found = _settled(settles_at, epsilon)
        demand(
            found is None,
            f"For epsilon {epsilon} it gives a number, but the forecasts do not converge",
            "Write down the first five forecasts for this epsilon: do the steps get smaller?",
            earned=1,
        )
    return "mu / (1 - epsilon), as long as each answer is smaller than what caused it."


def _settled(settles_at, epsilon):
    try:
        return settles_at(100, epsilon)
    except ZeroDivisionError:
        return "a division by zero"


def _rules(epsilon, penalty=1.0):
    return credit_config({"epsilon": epsilon, "l2_penalty": penalty})


def _off(found, right):
    return float(np.linalg.norm(np.asarray(found) - right) / np.linalg.norm(right))


@check(3, points=3)
def one_round_of_retraining(one_round):
    people, theta = load_borrowers(), np.random.default_rng(3).normal(0, 0.3, 11)
    rules = _rules(4.0)
    found, right = one_round(theta.copy(), 4.0), retrain(people, theta, rules)
    demand(
        np.shape(found) == (11,),
        f"It returns something of the shape {np.shape(found)}",
        "return train(moved)",
    )
    demand(
        _off(found, fit(people.table, people.labels, rules)) > 1e-4,
        "Nobody has moved: theta changes nothing",
        "Subtract epsilon * theta[CHANGEABLE] from the columns that can be changed",
    )
    demand(
        _off(found, retrain(people, -theta, rules)) > 1e-4,
        "People move in the wrong direction",
        "A high score is refused: people move against the weights",
        earned=1,
    )
    everything = people.table - 4.0 * theta
    demand(
        _off(found, fit(everything, people.labels, rules)) > 1e-4,
        "All columns move, even the age and the ones",
        "moved[:, CHANGEABLE]: only three columns can be changed",
        earned=1,
    )
    demand(
        _off(found, retrain(people, theta / 4, rules)) > 1e-4,
        "epsilon has no effect",
        "People move by epsilon times the weight",
        earned=1,
    )
    demand(
        _off(found, right) < 1e-4,
        "For weights drawn at random the trained weights are not right",
        "moved = table with epsilon * theta[CHANGEABLE] subtracted; then train(moved)",
        earned=1,
    )
    again = one_round(theta.copy(), 4.0)
    demand(
        _off(again, right) < 1e-4,
        "Called again with the same weights it gives others",
        "People begin from `table` each time: change a copy",
        earned=2,
    )
    return "Moved, then trained, for weights and an epsilon that you have not seen."


@check(4, points=3)
def the_stable_point(find_stable):
    people = load_borrowers()
    for epsilon in (3.0, 0.7):
        found, rules = find_stable(epsilon), _rules(epsilon)
        demand(
            found is not None,
            f"For epsilon {epsilon} it says None, but retraining converges there",
            "Return theta when the change is smaller than `close`; None only after the last round",
        )
        demand(
            np.shape(found) == (11,),
            "It does not return eleven weights",
            "return theta",
        )
        left = float(np.linalg.norm(retrain(people, np.asarray(found), rules) - found))
        demand(
            left < 2e-6,
            f"One more round with epsilon {epsilon} changes the weights by {left:.1e}: too early",
            "Go on until the *weights* change by less than close, 1e-6; and solve exercise 3 first",
        )
    demand(
        find_stable(100.0, rounds=12) is None,
        "For epsilon 100 it returns weights, but there it does not converge",
        "After the last round, if the change is still large: return None",
        earned=2,
    )
    demand(
        find_stable(3.0, rounds=2) is None,
        "With rounds=2 it goes on for longer",
        "for _ in range(rounds)",
        earned=2,
    )
    return "Another round changes nothing; and where retraining does not converge it says so."


@functools.cache
def _fewer_people():
    """Every ninth borrower, with another epsilon: risk(theta, published), the stable weights, the least risk."""
    from scipy.optimize import minimize

    people, rules = load_borrowers(), _rules(7.0, 0.02)
    table, labels = people.table[::9], people.labels[::9]

    def moved(published):
        others = table.copy()
        others[:, rules.places] -= rules.epsilon * np.asarray(published)[rules.places]
        return others

    def risk(theta, published):
        return float(
            logistic_loss(moved(published), labels, np.asarray(theta, float), rules)[0]
        )

    stable = fit(table, labels, rules)
    for _ in range(60):
        stable = fit(moved(stable), labels, rules)
    return (
        risk,
        stable,
        minimize(lambda theta: risk(theta, theta), stable, method="BFGS").fun,
    )


@check(5, points=2)
def better_than_stable(less_than_stable):
    risk, stable, least = _fewer_people()
    found = less_than_stable(risk, stable.copy())
    demand(
        np.shape(found) == (11,),
        f"It returns something of the shape {np.shape(found)}",
        "Return eleven weights; of what `minimize` returns they are `.x`",
    )
    demand(
        _off(found, stable) > 1e-4,
        "It returns the stable weights, or comes back to them",
        "Let people answer the weights that are tried: risk(theta, theta)",
    )
    mine, theirs = risk(found, found), risk(stable, stable)
    demand(
        mine < theirs,
        f"A performative risk of {mine:.5f}, and the stable weights have {theirs:.5f}",
        "Minimise risk(theta, theta), where people answer the weights that are tried, not risk(theta, something)",
    )
    won = (theirs - mine) / (theirs - least)
    demand(
        won >= 0.5,
        f"{won:.0%} of what can be won",
        "Take more steps, in all eleven weights",
        earned=1,
    )
    return f"With other people and another epsilon {won:.0%} of what can be won is won."
