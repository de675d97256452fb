"""Credit-v0: best responses, losses, the theorem, lenders, the environment."""

import gymnasium as gym
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from pushlab.datasets.borrowers import make_borrowers
from pushlab.envs.credit.rules import (
    best_response,
    cost,
    credit_config,
    fit,
    logistic_loss,
    optimum,
    published_risk,
    retrain,
    stable_point,
)

NAME = "pushlab/Credit-v0"
PLACES = [0, 5, 7]  # the features that people can change
PEOPLE = make_borrowers(3, 400, 480)
WEIGHTS = np.random.default_rng(0).normal(size=(9, 11))


def box(**arguments):
    env = gym.make(NAME, people=PEOPLE, actions="box", **arguments)
    env.reset(seed=0)
    return env


def shifted(theta, epsilon):
    """Return the table of people who have moved against the weights."""
    table = PEOPLE.table.copy()
    table[:, PLACES] -= epsilon * theta[PLACES]
    return table


def naive_loss(table, theta, l2, penalise_bias=True):
    """Return the mean logistic loss with its penalty, written out."""
    scores = table @ theta
    losses = np.log1p(np.exp(scores)) - PEOPLE.labels * scores
    penalised = theta if penalise_bias else theta[:-1]
    return losses.mean() + l2 / 2 * (penalised**2).sum()


# ------------------------------------------------------------ people and losses


def test_best_response_gains_most():
    """Completing the square shows that another move loses |other - best|^2 / (2 epsilon)."""

    def gain(move):
        return -np.sum(WEIGHTS[:, PLACES] * move, axis=1) - cost(move, config)

    config = credit_config({"epsilon": 3.0})
    best = best_response(WEIGHTS, config)
    assert best == pytest.approx(-3 * WEIGHTS[:, PLACES])
    other = best + WEIGHTS[:, :3]
    lost = gain(best) - gain(other)
    assert lost == pytest.approx((WEIGHTS[:, :3] ** 2).sum(axis=1) / 6)
    fixed = credit_config({"epsilon": 0})
    assert not best_response(WEIGHTS, fixed).any()
    assert cost(np.eye(3)[:1], fixed) == np.inf


@pytest.mark.parametrize("penalise_bias", [True, False])
def test_loss_and_shares_by_hand(penalise_bias):
    config = credit_config({"l2_penalty": 0.3, "penalise_bias": penalise_bias})
    shift = best_response(WEIGHTS, config)
    risk = published_risk(PEOPLE, WEIGHTS, shift, config)
    for row, theta in enumerate(WEIGHTS):
        table = shifted(theta, 1.0)
        loss = naive_loss(table, theta, 0.3, penalise_bias)
        assert risk["loss"][row] == pytest.approx(loss, abs=1e-12)
        actual, gradient = logistic_loss(table, PEOPLE.labels, theta, config)
        assert actual == pytest.approx(loss, abs=1e-12)
        step = 1e-6 * theta
        next_loss = naive_loss(table, theta + step, 0.3, penalise_bias)
        assert gradient @ step == pytest.approx(next_loss - loss, rel=1e-4)
        refused = table @ theta > 0
        behind = PEOPLE.labels == 1
        assert risk["accuracy"][row] == np.mean(refused == behind)
        shares = [refused[~behind].mean(), refused[behind].mean()]
        assert risk["refused"][row].tolist() == shares


def test_fit_agrees_with_scikit_learn():
    config = credit_config({"l2_penalty": 0.02, "penalise_bias": False})
    model = LogisticRegression(C=1 / (0.02 * len(PEOPLE)), tol=1e-10, max_iter=1000)
    model.fit(PEOPLE.features, PEOPLE.labels)
    expected = np.append(model.coef_[0], model.intercept_)
    actual = fit(PEOPLE.table, PEOPLE.labels, config)
    assert actual == pytest.approx(expected, abs=1e-5)


# ------------------------------------------------------------ repeated retraining


def retraining_changes(config, rounds):
    """Return the lengths of the changes of the weights in rounds of retraining, and the last weights."""
    theta = fit(PEOPLE.table, PEOPLE.labels, config)
    lengths = []
    for _ in range(rounds):
        next_theta = retrain(PEOPLE, theta, config)
        lengths.append(np.linalg.norm(next_theta - theta))
        theta = next_theta
    return np.array(lengths), theta


@pytest.mark.parametrize("l2, epsilon", [(1.0, 0.1), (2.0, 1.0)])
def test_retraining_contracts_as_in_theorem_3_5(l2, epsilon):
    """Perdomo et al. (2020): it contracts by epsilon beta / gamma if this is below 1."""
    config = credit_config({"l2_penalty": l2, "epsilon": epsilon})
    longest = np.sqrt(2 * np.log(2) / l2)
    reach = np.linalg.norm(PEOPLE.table, axis=1).mean() + epsilon * longest
    rate = epsilon * (1 + longest * reach / 4) / l2
    lengths, end = retraining_changes(config, 12)
    assert (lengths[1:4] <= rate * lengths[:3]).all()
    assert rate < 1
    assert end == pytest.approx(stable_point(PEOPLE, config), abs=1e-8)


def test_retraining_circles_for_large_epsilon():
    calm = credit_config({"epsilon": 3.0})
    lengths, end = retraining_changes(calm, 40)
    assert lengths[-1] < 1e-8
    best = optimum(PEOPLE, calm)
    others = np.vstack([best, end, best + 0.01 * WEIGHTS])
    risks = published_risk(PEOPLE, others, best_response(others, calm), calm)["loss"]
    assert risks[0] < risks[1:].min()
    wild = credit_config({"epsilon": 30.0})
    assert retraining_changes(wild, 60)[0][20:].min() > 0.1
    stable = stable_point(PEOPLE, wild)  # exists although retraining circles
    assert retrain(PEOPLE, stable, wild) == pytest.approx(stable, abs=1e-7)


# ------------------------------------------------------------ the environment


@pytest.mark.parametrize("memory", [False, True])
def test_people_respond_from_current_features_with_memory(memory):
    env = box(observe="table", config={"memory": memory, "l2_penalty": 0.1})
    first, second = WEIGHTS[:2]
    env.step(first)
    seen, reward, _, _, info = env.step(second)
    theta = first + second if memory else second
    table = shifted(theta, 1.0)
    assert seen["features"] == pytest.approx(table, abs=1e-12)
    assert np.array_equal(seen["labels"], PEOPLE.labels)
    assert env.unwrapped.features == pytest.approx(table, abs=1e-12)
    assert reward == pytest.approx(-naive_loss(table, second, 0.1), abs=1e-12)
    assert info["feature_shift"] == pytest.approx(np.linalg.norm(theta[PLACES]))
    assert info["cost"] == pytest.approx(np.sum(second[PLACES] ** 2) / 2)


@pytest.mark.parametrize("memory", [False, True])
def test_reference_has_the_loss_of_people_who_moved_twice(memory):
    """In WhyNot 0.12 the reward moves people again, and the bias has no penalty."""
    env = box(reference="whynot-0.12", config={"memory": memory, "l2_penalty": 0.05})
    for step, theta in enumerate(WEIGHTS[:5]):
        _, reward, _, truncated, _ = env.step(theta)
        before = WEIGHTS[:step].sum(axis=0) if memory else 0
        table = shifted(before + 2 * theta, 0.1)
        loss = naive_loss(table, theta, 0.05, penalise_bias=False)
        assert reward == pytest.approx(loss, abs=1e-12)
    assert truncated


def test_summary_has_means_and_refusals_of_both_groups():
    env = box(config={"changeable_features": ["age", "MonthlyIncome"]})
    observation, _, _, _, info = env.step(WEIGHTS[2])
    table = env.unwrapped.features
    means = [table[PEOPLE.labels == group][:, [1, 4]].mean(axis=0) for group in (0, 1)]
    refused = [info["refused_repaid"], info["refused_behind"]]
    assert observation == pytest.approx([*np.ravel(means), *refused])
    assert (table != PEOPLE.table).any(axis=0).nonzero()[0].tolist() == [1, 4]
    initial = env.reset(options={"theta": WEIGHTS[2]})[0]
    assert initial[:4] == pytest.approx(observation[:4])


def test_candidates_are_five_or_given():
    env = gym.make(NAME, people=PEOPLE)
    env.reset(seed=0)
    names = list(env.unwrapped.world.candidates)
    losses = {name: -env.step(row)[1] for row, name in enumerate(names)}
    assert losses["know nothing"] == pytest.approx(np.log(2))
    past = fit(PEOPLE.table, PEOPLE.labels, credit_config())
    assert losses["trained on the past"] == box().step(past)[4]["loss"]
    assert losses["trained once more"] == min(losses.values())
    own = {"to all": [0] * 10 + [-5], "to none": [0] * 10 + [5]}
    env = gym.make(NAME, people=PEOPLE, candidates=own)
    env.reset(seed=0)
    assert [env.step(row)[4]["refused_repaid"] for row in (0, 1)] == [0, 1]
