"""Checks of notebook 10: a rule for a town, a forecast that moves people, and retraining."""

import functools

import gymnasium as gym
import numpy as np
from scipy.optimize import minimize

from checks import Checks, require, returned
from pushlab.datasets.borrowers import load_borrowers
from pushlab.envs.credit.rules import credit_config, fit, logistic_loss, retrain

check = Checks("10 · When the world answers back")


@check(1, points=2)
def as_much_as_is_needed(my_rule):
    town = gym.make("pushlab/ODE-Zika-v0", actions="box").unwrapped
    calm = np.array([1000.0, 0, 0, 30, 500, 0, 0])
    bad = np.array([400.0, 300, 300, 30, 9000, 900, 700])
    for state in (calm, bad):
        shares = np.asarray(returned(my_rule(state.copy())), float)
        require(
            shares.shape == (4,),
            "The rule does not return four shares",
            "np.array([0.0, 0.0, treatment, spray])",
        )
        require(
            ((shares >= 0) & (shares <= 1)).all(),
            f"The rule returns {shares.max():.2f} as the share of a measure",
            "A share lies between 0 and 1: min(1, …)",
        )
    require(
        not np.allclose(my_rule(calm.copy()), my_rule(bad.copy())),
        "The rule does the same in a town without ill people and in one with 300",
        "Use observation[ILL] and observation[MOSQUITOES].sum()",
    )
    require(
        np.sum(my_rule(calm.copy())) < np.sum(my_rule(bad.copy())),
        "The rule does more in a town that needs less",
        "More treatment with more ill people, more spray with more mosquitoes",
    )
    start = town.simulate([0, 0, 0, 0])[list(town.world.model.names)].iloc[0].to_dict()
    fewer_ill = {**start, "symptomatic_humans": start["symptomatic_humans"] / 4}

    def rule(state, time):
        return my_rule(state)

    reward = town.simulate(rule, initial_state=start)["reward"].sum()
    fewer_reward = town.simulate(rule, initial_state=fewer_ill)["reward"].sum()
    require(
        reward > -3000,
        f"The rule earns {reward:,.0f}, not more than -3,000",
        "Costs grow with the square: shares in proportion to the need cost less than all or nothing",
        earned=1,
    )
    constant = town.simulate([0, 0, 0.6, 0.5], initial_state=fewer_ill)["reward"].sum()
    require(
        fewer_reward > constant,
        f"With fewer ill people it earns {fewer_reward:,.0f}; the same every day earns {constant:,.0f} there",
        "Do less in a town that needs less",
        earned=1,
    )
    return f"It earns {reward:,.0f}, and beats the same every day in another town, too."


@check(2, points=2)
def limit_of_the_forecasts(settles_at):
    first = settles_at(100, 0.5)
    require(
        first is not None,
        "For epsilon 0.5 it returns nothing, but the forecasts converge",
        "100, 150, 175, 187.5: the steps get smaller. Return the limit",
    )
    require(
        abs(first - 150) > 1e-6,
        "150 is the second forecast, and later ones are larger",
        "Solve theta = mu + epsilon * theta for theta",
    )
    for mu, epsilon in ((100, 0.5), (40, 0.9), (7, 0.0), (100, -0.5)):
        answer = settles_at(mu, epsilon)
        require(
            answer is not None,
            f"For epsilon {epsilon} it returns nothing, but the forecasts converge",
            "Write down the first five forecasts for this epsilon",
            earned=1,
        )
        expected = mu / (1 - epsilon)
        require(
            abs(answer - expected) > 0.02 * mu or abs(answer - expected) < 1e-6 * mu,
            f"For mu {mu}, epsilon {epsilon} it gives {answer:.8g}: close, but the forecasts have not converged yet",
            "Many rounds come close. Solve the equation: then no round is needed",
            earned=1,
        )
        require(
            abs(answer - expected) < 1e-6 * mu,
            f"For mu {mu}, epsilon {epsilon} it gives {answer:.8g}",
            "Insert it into theta = mu + epsilon * theta: both sides must be equal",
        )
    for epsilon in (1.2, 1.0, -1.0, -1.5):
        require(
            _limit(settles_at, epsilon) is None,
            f"For epsilon {epsilon} it gives a number, but the forecasts do not converge",
            "Write down the first five forecasts for this epsilon: do the steps get smaller?",
            earned=1,
        )
    return "mu / (1 - epsilon), as long as each response is smaller than its cause."


def _limit(settles_at, epsilon):
    try:
        return settles_at(100, epsilon)
    except ZeroDivisionError:
        return "a division by zero"


def _config(epsilon, penalty=1.0):
    return credit_config({"epsilon": epsilon, "l2_penalty": penalty})


def _relative_error(answer, expected):
    difference = np.linalg.norm(np.asarray(answer) - expected)
    return float(difference / np.linalg.norm(expected))


@check(3, points=3)
def one_round_of_retraining(one_round):
    people = load_borrowers()
    theta = np.random.default_rng(3).normal(0, 0.3, 11)
    config = _config(4.0)
    answer = returned(one_round(theta.copy(), 4.0))
    expected = retrain(people, theta, config)
    require(
        np.shape(answer) == (11,),
        "It does not return eleven weights",
        "return train(moved)",
    )
    require(
        _relative_error(answer, fit(people.table, people.labels, config)) > 1e-4,
        "The people have not moved: theta changes nothing",
        "Subtract epsilon * theta[CHANGEABLE] from the columns that can be changed",
    )
    require(
        _relative_error(answer, retrain(people, -theta, config)) > 1e-4,
        "People move in the wrong direction",
        "A high score is refused: people move against the weights",
        earned=1,
    )
    all_moved = people.table - 4.0 * theta
    require(
        _relative_error(answer, fit(all_moved, people.labels, config)) > 1e-4,
        "All columns move, even the age and the ones",
        "moved[:, CHANGEABLE]: only three columns can be changed",
        earned=1,
    )
    require(
        _relative_error(answer, retrain(people, theta / 4, config)) > 1e-4,
        "epsilon has no effect",
        "People move by epsilon times the weight",
        earned=1,
    )
    require(
        _relative_error(answer, expected) < 1e-4,
        "For random weights the trained weights are wrong",
        "moved = table with epsilon * theta[CHANGEABLE] subtracted; then train(moved)",
        earned=1,
    )
    repeated = one_round(theta.copy(), 4.0)
    require(
        _relative_error(repeated, expected) < 1e-4,
        "A second call with the same weights gives other weights",
        "People begin from `table` each time: change a copy",
        earned=2,
    )
    return "Moved, then trained, for weights and an epsilon that you have not seen."


@check(4, points=3)
def the_stable_point(find_stable):
    people = load_borrowers()
    for epsilon in (3.0, 0.7):
        answer = find_stable(epsilon)
        config = _config(epsilon)
        require(
            answer is not None,
            f"For epsilon {epsilon} it returns nothing, but retraining converges there",
            "Return theta when the change is smaller than `close`; None only after the last round",
        )
        require(
            np.shape(answer) == (11,),
            "It does not return eleven weights",
            "return theta",
        )
        change = np.linalg.norm(retrain(people, np.asarray(answer), config) - answer)
        require(
            change < 2e-6,
            f"One more round with epsilon {epsilon} changes the weights by {change:.1e}: too early",
            "Continue until the *weights* change by less than close, 1e-6; and solve exercise 3 first",
        )
    require(
        find_stable(100.0, rounds=12) is None,
        "For epsilon 100 it returns weights, but there it does not converge",
        "After the last round, if the change is still large: return None",
        earned=2,
    )
    require(
        find_stable(3.0, rounds=2) is None,
        "With rounds=2 it continues for longer",
        "for _ in range(rounds)",
        earned=2,
    )
    return "Another round changes nothing; and if retraining does not converge it returns None."


@functools.cache
def _fewer_people():
    """Return a smaller problem: every ninth borrower, with another epsilon.

    Returns:
        risk(theta, published), the stable weights, and the least risk.
    """
    people = load_borrowers()
    config = _config(7.0, 0.02)
    table = people.table[::9]
    labels = people.labels[::9]

    def move(published):
        moved = table.copy()
        weights = np.asarray(published)[config.changeable_indices]
        moved[:, config.changeable_indices] -= config.epsilon * weights
        return moved

    def risk(theta, published):
        theta = np.asarray(theta, float)
        return float(logistic_loss(move(published), labels, theta, config)[0])

    stable = fit(table, labels, config)
    for _ in range(60):
        stable = fit(move(stable), labels, config)
    optimum = minimize(lambda theta: risk(theta, theta), stable, method="BFGS")
    return risk, stable, optimum.fun


@check(5, points=2)
def better_than_stable(less_than_stable):
    risk, stable, least_risk = _fewer_people()
    answer = returned(less_than_stable(risk, stable.copy()))
    require(
        np.shape(answer) == (11,),
        "It does not return eleven weights",
        "Return eleven weights; in the result of `minimize` they are `.x`",
    )
    require(
        _relative_error(answer, stable) > 1e-4,
        "It returns the stable weights, or comes back to them",
        "Let people respond to the weights that are tried: risk(theta, theta)",
    )
    answer_risk = risk(answer, answer)
    stable_risk = risk(stable, stable)
    require(
        answer_risk < stable_risk,
        f"The performative risk is {answer_risk:.5f}, but the stable weights have {stable_risk:.5f}",
        "Minimise risk(theta, theta), so that people respond to the weights that are tried, not risk(theta, something)",
    )
    gain = (stable_risk - answer_risk) / (stable_risk - least_risk)
    require(
        gain >= 0.5,
        f"The gain is {gain:.0%} of the largest possible one",
        "Take more steps, in all eleven weights",
        earned=1,
    )
    return f"With other people and another epsilon the gain is {gain:.0%} of the largest possible one."
