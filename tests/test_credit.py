"""Credit-v0: people's best response, losses against formulas written out, the theorem, lenders."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import pushlab  # noqa: F401
from pushlab.agents import Foresighted, GradientStep, RandomAgent, Retrained, TrainedOnce
from pushlab.datasets.borrowers import FEATURES, make_borrowers
from pushlab.envs.credit.people import best_response, cost, credit_config, gain
from pushlab.envs.credit.rules import (
    candidate_classifiers,
    fit,
    logistic_loss,
    moved,
    optimum,
    published_risk,
    retrain,
    stable_point,
    theorem_rate,
)
from pushlab.logs.rollout import rollout
from tests.test_envs import same, same_info

NAME = "pushlab/Credit-v0"
PLACES = [0, 5, 7]      # what people can change, as in WhyNot


@pytest.fixture(scope="module")
def people():
    return make_borrowers(3, 400, 480)


def weights(seed, size=None):
    return np.random.default_rng(seed).normal(size=11 if size is None else (size, 11))


def box(people, **kwargs):
    return gym.make(NAME, people=people, actions="box", **kwargs)


# ---------------------------------------------------------------- what people do

theta_values = arrays(float, 11, elements=st.floats(-20, 20))
moves = arrays(float, 3, elements=st.floats(-500, 500))


@given(theta_values, moves, st.floats(0.01, 100))
def test_no_other_move_gains_a_person_more(theta, other, epsilon):
    config = credit_config({"epsilon": epsilon})
    best = gain(best_response(theta, config), theta, config)
    slack = 1e-9 * (1 + abs(best) + cost(other, config))
    assert gain(other, theta, config) <= best + slack
    assert best >= 0


@given(theta_values, moves, st.floats(0.1, 10))
def test_what_another_move_loses_is_the_cost_of_the_difference(theta, other, epsilon):
    """Completing the square: gain(best) - gain(other) = |other - best|² / (2 epsilon)."""
    config = credit_config({"epsilon": epsilon})
    best = best_response(theta, config)
    lost = gain(best, theta, config) - gain(other, theta, config)
    assert lost == pytest.approx(cost(other - best, config), rel=1e-9, abs=1e-6)


def test_with_epsilon_zero_nobody_moves_and_moving_is_unaffordable():
    config = credit_config({"epsilon": 0})
    assert not best_response(weights(0), config).any()
    assert cost(np.zeros(3), config) == 0 and cost(np.ones(3), config) == np.inf


def test_only_what_can_be_changed_changes_and_labels_stay(people):
    env = box(people, observe="table", config={"epsilon": 2.0})
    begun, _ = env.reset(seed=0)
    theta = weights(1)
    seen, *_ = env.step(theta)
    expected = people.table.copy()
    expected[:, PLACES] -= 2.0 * theta[PLACES]
    assert np.array_equal(begun["features"], people.table)
    assert seen["features"] == pytest.approx(expected, abs=1e-12)
    assert np.array_equal(seen["labels"], people.labels)
    assert env.unwrapped.features == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("changeable", [["age", "MonthlyIncome"], [1, 4]])
def test_what_can_be_changed_is_named_or_numbered(people, changeable):
    env = box(people, config={"changeable": changeable})
    env.reset(seed=0)
    env.step(np.ones(11))
    shifted = np.flatnonzero((env.unwrapped.features != people.table).any(axis=0))
    assert shifted.tolist() == [1, 4]
    assert env.observation_space.shape == (6,)


def test_without_memory_people_answer_from_where_they_began_and_with_it_from_where_they_are(people):
    first, second = weights(1), weights(2)
    for memory in (False, True):
        env = box(people, config={"memory": memory})
        env.reset(seed=0)
        env.step(first)
        info = env.step(second)[4]
        shift = -second[PLACES] - (first[PLACES] if memory else 0)
        assert env.unwrapped.features[0, PLACES] == pytest.approx(people.features[0, PLACES] + shift)
        assert info["moved"] == pytest.approx(np.linalg.norm(shift))
        assert info["cost"] == pytest.approx(np.sum(second[PLACES] ** 2) / 2)


def test_a_longer_timestep_is_several_rounds_and_the_last_is_cut_short(people):
    env = box(people, timestep=2, config={"memory": True, "end_time": 5})
    env.reset(seed=0)
    theta, told = np.full(11, 0.5), []
    for _ in range(3):
        *_, truncated, info = env.step(theta)
        told.append((info["time"], round(info["cost"], 9), truncated))
    assert told == [(2.0, 0.75, False), (4.0, 0.75, False), (5.0, 0.375, True)]
    assert env.unwrapped.features[0, 0] - people.features[0, 0] == pytest.approx(-2.5)


# ---------------------------------------------------------------- losses

def naive_loss(table, labels, theta, l2=0.0, penalise_bias=True):
    """The mean logistic loss written out, person by person."""
    total = 0.0
    for row, label in zip(table, labels):
        score = sum(w * x for w, x in zip(theta, row))
        total += np.log1p(np.exp(-abs(score))) + max(score, 0.0) - label * score
    return total / len(labels) + l2 / 2 * sum(w * w for w in (theta if penalise_bias else theta[:-1]))


@given(theta_values, moves.map(lambda move: move / 50))
def test_the_quick_loss_is_the_plain_one(people, theta, shift):
    config = credit_config({"l2_penalty": 0.02})
    quick = published_risk(people, theta[None], shift[None], config)
    plain, _ = logistic_loss(moved(people, shift, config), people.labels, theta, config)
    assert quick["loss"][0] == pytest.approx(plain, rel=1e-11, abs=1e-12)


def test_losses_and_shares_by_hand(people):
    config, theta = credit_config({"l2_penalty": 0.3}), weights(5)
    shift = best_response(theta, config)
    table = moved(people, shift, config)
    risk = published_risk(people, theta[None], shift[None], config)
    assert risk["loss"][0] == pytest.approx(naive_loss(table, people.labels, theta, 0.3), abs=1e-12)
    refused = table @ theta > 0
    assert risk["accuracy"][0] == np.mean(refused == people.labels)
    assert risk["refused"][0].tolist() == [refused[people.labels == 0].mean(), refused[people.labels == 1].mean()]


def test_many_classifiers_cost_what_each_costs_alone_to_the_last_bit(people):
    config, theta = credit_config(), weights(6, 7)
    shift = best_response(theta, config)
    together = published_risk(people, theta, shift, config)
    for at in range(7):
        alone = published_risk(people, theta[at:at + 1], shift[at:at + 1], config)
        assert all(np.array_equal(together[key][at], alone[key][0]) for key in together)


def test_huge_scores_do_not_overflow(people):
    env = box(people, bound=1e6)
    env.reset(seed=0)
    reward, info = env.step(np.full(11, 1e6))[1::3]
    assert np.isfinite(reward) and 0 <= info["accuracy"] <= 1


def test_the_reward_is_minus_the_loss_after_people_have_moved(people):
    env, theta = box(people, config={"l2_penalty": 0.1}), weights(8)
    env.reset(seed=0)
    reward, info = env.step(theta)[1::3]
    table = people.table.copy()
    table[:, PLACES] -= theta[PLACES]
    assert reward == pytest.approx(-naive_loss(table, people.labels, theta, 0.1), abs=1e-12)
    assert info["loss"] == -reward


@pytest.mark.parametrize("memory", [False, True])
def test_the_reference_pays_the_loss_of_people_who_have_moved_twice(people, memory):
    """WhyNot 0.12 written out: the state moves, then the reward moves it again; no penalty on the bias."""
    env = box(people, preset="whynot", reference="whynot-0.12", observe="table",
              config={"memory": memory, "l2_penalty": 0.05})
    env.reset(seed=0)
    features, ends = people.table.copy(), []
    for step in range(5):
        theta = weights(step)
        seen, reward, _, truncated, _ = env.step(theta)
        base = features if memory else people.table
        features = base.copy()
        features[:, PLACES] -= 0.1 * theta[PLACES]
        again = features.copy()
        again[:, PLACES] -= 0.1 * theta[PLACES]
        assert seen["features"] == pytest.approx(features, abs=1e-12)
        assert reward == pytest.approx(naive_loss(again, people.labels, theta, 0.05, False), abs=1e-12)
        ends.append(truncated)
    assert ends == [False] * 4 + [True]


def test_the_reference_comes_with_the_originals_parameters_unless_others_are_given(people):
    whynot = gym.make(NAME, people=people, reference="whynot-0.12").unwrapped.config
    assert (whynot.epsilon, whynot.l2_penalty, whynot.end_time, whynot.penalise_bias) == (0.1, 0.0, 5, False)
    assert gym.make(NAME, people=people, reference="whynot-0.12", config={"epsilon": 2.0}).unwrapped.config.epsilon == 2
    assert gym.make(NAME, people=people).unwrapped.config.epsilon == 1.0


# ---------------------------------------------------------------- training

def test_the_fit_is_scikit_learns(people):
    from sklearn.linear_model import LogisticRegression

    config = credit_config({"l2_penalty": 0.02, "penalise_bias": False})
    n = len(people)
    theirs = LogisticRegression(C=1 / (0.02 * n), tol=1e-10, max_iter=1000).fit(people.features, people.labels)
    ours = fit(people.table, people.labels, config)
    assert ours == pytest.approx(np.append(theirs.coef_[0], theirs.intercept_), abs=1e-5)


def test_at_the_fit_the_gradient_is_zero_and_is_the_slope_of_the_loss(people):
    config, theta, step = credit_config(), weights(3), 1e-6
    assert np.abs(logistic_loss(people.table, people.labels, fit(people.table, people.labels, config), config)[1]
                  ).max() < 1e-9
    slope = logistic_loss(people.table, people.labels, theta, config)[1]
    for at in range(11):
        ahead, behind = theta.copy(), theta.copy()
        ahead[at] += step
        behind[at] -= step
        losses = [logistic_loss(people.table, people.labels, one, config)[0] for one in (ahead, behind)]
        assert slope[at] == pytest.approx((losses[0] - losses[1]) / (2 * step), abs=1e-7)


def gaps(people, config, rounds):
    """How far the weights move in each round of retraining, from what the unmoved people teach."""
    theta, found = fit(people.table, people.labels, config), []
    for _ in range(rounds):
        following = retrain(people, theta, config)
        found.append(np.linalg.norm(following - theta))
        theta = following
    return np.array(found), theta


@pytest.mark.parametrize("l2, epsilon", [(1.0, 0.1), (1.0, 0.3), (2.0, 1.0)])
def test_theorem_3_5_retraining_contracts_where_epsilon_is_below_gamma_over_beta(people, l2, epsilon):
    """Perdomo et al. (2020): |G(theta) - G(theta')| <= (epsilon beta / gamma) |theta - theta'|, so it converges."""
    config = credit_config({"l2_penalty": l2, "epsilon": epsilon})
    rate = theorem_rate(people, config)
    assert rate < 1
    longest = np.sqrt(2 * np.log(2) / l2)
    for seed in range(5):
        one, two = (theta / np.linalg.norm(theta) * longest * 0.9 for theta in weights(seed, 2))
        apart = np.linalg.norm(retrain(people, one, config) - retrain(people, two, config))
        assert apart <= rate * np.linalg.norm(one - two)
    found, end = gaps(people, config, 12)
    assert found[-1] < 1e-10
    assert end == pytest.approx(stable_point(people, config), abs=1e-8)


def test_retraining_settles_for_small_epsilon_and_runs_in_circles_for_large(people):
    """The paper's figure: it settles far beyond what the theorem promises, and in the end it does not."""
    calm, end = gaps(people, credit_config({"epsilon": 3.0}), 40)
    assert calm[-1] < 1e-8
    assert end == pytest.approx(stable_point(people, credit_config({"epsilon": 3.0})), abs=1e-6)
    wild, _ = gaps(people, credit_config({"epsilon": 30.0}), 60)
    assert wild[20:].min() > 0.1


def test_a_stable_point_exists_where_retraining_does_not_find_it(people):
    config = credit_config({"epsilon": 30.0})
    stable = stable_point(people, config)
    assert retrain(people, stable, config) == pytest.approx(stable, abs=1e-7)


@pytest.mark.parametrize("epsilon", [0.1, 10.0, 1000.0])
def test_with_a_free_bias_retraining_is_done_after_two_rounds_for_every_epsilon(people, epsilon):
    """Everybody moves alike, so only the bias has to follow: why WhyNot's penalty hides the theorem."""
    config = credit_config({"epsilon": epsilon, "penalise_bias": False})
    assert theorem_rate(people, config) == np.inf
    found, end = gaps(people, config, 3)
    past = fit(people.table, people.labels, config)
    assert found[0] > 0.01 and found[1] < 1e-6 and found[2] < 1e-6
    assert end[:-1] == pytest.approx(past[:-1], abs=1e-6)
    assert end[-1] - past[-1] == pytest.approx(epsilon * np.sum(past[PLACES] ** 2), rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.5, 3.0, 10.0])
def test_nothing_near_or_far_beats_the_optimum(people, epsilon):
    config = credit_config({"epsilon": epsilon})
    best = optimum(people, config)
    others = np.concatenate([best + scale * weights(9, 50) for scale in (1e-3, 0.05, 0.5)])
    others = np.concatenate([others, [stable_point(people, config)],
                             [theta for _, theta in candidate_classifiers(people, config)]])
    losses = published_risk(people, others, best_response(others, config), config)["loss"]
    assert published_risk(people, best[None], best_response(best[None], config), config)["loss"][0] <= losses.min()


def test_the_stable_point_is_not_the_optimum(people):
    config = credit_config({"epsilon": 3.0})
    stable, best = stable_point(people, config), optimum(people, config)
    losses = published_risk(people, np.array([stable, best]), best_response(np.array([stable, best]), config), config)
    assert losses["loss"][0] > losses["loss"][1] + 1e-5


# ---------------------------------------------------------------- lenders

def lend(people, agent, epsilon=1.0, steps=None, **kwargs):
    return rollout(box(people, config={"epsilon": epsilon}, **kwargs), agent, progress=False, steps=steps)


def change(log):
    theta = log[[column for column in log if column.startswith("action.")]].to_numpy()
    return np.linalg.norm(np.diff(theta, axis=0), axis=1)


def test_who_is_trained_once_pays_every_round_and_who_retrains_once_only(people):
    once, again = lend(people, TrainedOnce()), lend(people, Retrained())
    assert len(once) == len(again) == 25 and not change(once).any()
    assert once["info.loss"].nunique() == 1
    assert again["info.loss"].iloc[0] == once["info.loss"].iloc[0] > again["info.loss"].iloc[-1] + 0.01
    assert change(again)[-1] < 1e-8


def test_gradient_steps_settle_slowly_where_retraining_settles(people):
    slow, end = lend(people, GradientStep()), lend(people, Retrained())["info.loss"].iloc[-1]
    assert change(slow)[-1] < 0.5 * change(slow)[0]
    assert abs(slow["info.loss"].iloc[-1] - end) < 0.2 * abs(slow["info.loss"].iloc[0] - end)


def test_who_foresees_the_answer_loses_least(people):
    logs = {agent.name: lend(people, agent, 10.0) for agent in (Foresighted(), Retrained(), GradientStep(0.2))}
    assert all(logs["foresighted"]["info.loss"].max() <= log["info.loss"].min() + 1e-9 for log in logs.values())


def test_a_lender_learns_the_same_from_the_table_and_from_the_summary(people):
    table, summary = (lend(people, Retrained(), 3.0, observe=observe, steps=4) for observe in ("table", "summary"))
    columns = [column for column in summary if column.startswith("action.")]
    assert table[columns].to_numpy() == pytest.approx(summary[columns].to_numpy(), abs=1e-9)


@pytest.mark.parametrize("observe", ["summary", "table"])
def test_features_that_are_not_visible_get_no_weight(people, observe):
    log = lend(people, Retrained(), observe=observe, visible=["age", "RevolvingUtilizationOfUnsecuredLines"], steps=2)
    used = [name for name in FEATURES if log[f"action.{name}"].any()]
    assert used == ["RevolvingUtilizationOfUnsecuredLines", "age"]


def test_a_lender_remembers_what_it_published(people):
    agent, twin = TrainedOnce(), TrainedOnce()
    lend(people, agent, steps=1)
    twin.load(agent.state())
    assert np.array_equal(twin.theta, agent.theta) and TrainedOnce().state() == {}
    with pytest.raises(ValueError, match="keeps theta, 11 weights"):
        twin.load({"theta": [1.0]})


def test_lenders_say_where_they_do_not_fit(people):
    with pytest.raises(ValueError, match="actions='box'"):
        rollout(gym.make(NAME, people=people), Retrained(), progress=False)
    with pytest.raises(ValueError, match="has none, pushlab/Credit-v0 has"):
        rollout("pushlab/RECEnv-v0", Retrained(), progress=False)
    with pytest.raises(ValueError, match="without memory"):
        rollout(box(people, config={"memory": True}), Foresighted(), progress=False)
    with pytest.raises(ValueError, match="rate is"):
        GradientStep(0)


# ---------------------------------------------------------------- the environment

VARIANTS = [{"actions": "box"}, {"actions": "box", "observe": "table"}, {"config": {"memory": True}},
            {"reference": "whynot-0.12", "actions": "box"}, {"visible": ["age"]}, {"config": {"epsilon": 0}},
            {"observe": "table", "visible": ["age", "MonthlyIncome"], "timestep": 3, "config": {"memory": True}}]


@pytest.mark.filterwarnings("ignore:.*symmetric and normalized")       # weights are no numbers from -1 to 1
@pytest.mark.parametrize("kwargs", VARIANTS, ids=repr)
def test_every_variant_keeps_to_its_spaces_and_to_its_batch(kwargs):
    people = make_borrowers(3, 40, 48)
    env = gym.make(NAME, people=people, disable_env_checker=True, **kwargs)
    check_env(env.unwrapped)
    batch = gym.make_vec(NAME, num_envs=3, people=people, autoreset_mode=AutoresetMode.SAME_STEP, **kwargs)
    alone = SyncVectorEnv([lambda: gym.make(NAME, people=people, **kwargs)] * 3,
                          autoreset_mode=AutoresetMode.SAME_STEP)
    batch.action_space.seed(1)
    assert same(batch.reset(seed=1), alone.reset(seed=1))
    for _ in range(30):
        actions = batch.action_space.sample()
        ours, theirs = batch.step(actions), alone.step(actions)
        assert same(ours[:4], theirs[:4]) and same_info(ours[4], theirs[4])
        assert ours[0] in batch.observation_space


@pytest.mark.parametrize("memory", [False, True])
def test_the_bounds_hold_at_the_corners(people, memory):
    for corner in (-20.0, 20.0):
        env = box(people, config={"memory": memory})
        observation, _ = env.reset(seed=0, options={"theta": np.full(11, corner)})
        assert observation in env.observation_space
        truncated = False
        while not truncated:
            observation, _, terminated, truncated, _ = env.step(np.full(11, corner))
            assert observation in env.observation_space and not terminated


def test_an_episode_may_begin_after_an_answer(people):
    env, theta = box(people), weights(4)
    observation, _ = env.reset(seed=0, options={"theta": theta})
    assert observation[:3] == pytest.approx(people.means[0, PLACES] - theta[PLACES])
    envs = gym.make_vec(NAME, num_envs=2, people=people)
    each = envs.reset(seed=0, options={"theta": np.array([theta, np.zeros(11)])})[0]
    assert each[0] == pytest.approx(observation) and each[1][:3] == pytest.approx(people.means[0, PLACES])
    with pytest.raises(ValueError, match="theta has 11 weights"):
        env.reset(options={"theta": [1.0]})
    with pytest.raises(ValueError, match="from -20 to 20"):
        env.reset(options={"theta": np.full(11, 21.0)})


def test_the_summary_is_what_the_table_says(people):
    env = box(people)
    env.reset(seed=0)
    theta = weights(2)
    observation, _, _, _, info = env.step(theta)
    table, labels = env.unwrapped.features, env.unwrapped.labels
    means = [table[labels == group][:, PLACES].mean(axis=0) for group in (0, 1)]
    assert observation[:6] == pytest.approx(np.concatenate(means))
    assert observation[6:].tolist() == [info["refused_repaid"], info["refused_behind"]]
    assert env.unwrapped.world.observation_names[6:] == ("refused.repaid", "refused.behind")


def test_candidates_of_ones_own(people):
    candidates = {"lend to all": [0.0] * 10 + [-5.0], "to nobody": [0.0] * 10 + [5.0]}
    env = gym.make(NAME, people=people, candidates=candidates)
    env.reset(seed=0)
    assert env.step(0)[4]["refused_repaid"] == 0 and env.step(1)[4]["refused_repaid"] == 1
    assert env.unwrapped.world.action_choices == [("classifier", ["lend to all", "to nobody"])]


def test_the_five_candidates_tell_the_story(people):
    """What was learned from the past promises most and disappoints; training once more makes up for it."""
    env = gym.make(NAME, people=people)
    losses = {}
    for at, name in enumerate(env.unwrapped.world.candidates):
        env.reset(seed=0)
        losses[name] = env.step(at)[4]["loss"]
    assert losses["know nothing"] == pytest.approx(np.log(2))
    assert min(losses, key=losses.get) == "trained once more"
    assert losses["trained on the past"] > losses["trained once more"] + 0.01


def test_random_lenders_are_logged(people):
    log = rollout(gym.make(NAME, people=people), RandomAgent(), episodes=2, progress=False)
    assert len(log) == 50 and {"info.accuracy", "obs.refused.repaid", "info.cost"} <= set(log)
    assert log["time"].iloc[:3].tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("kwargs, words", [
    ({"config": {"epsilon": -1}}, "config: epsilon is a number from 0 to 1,000,000.0; got -1"),
    ({"config": {"epsilon": float("nan")}}, "epsilon is a number"),
    ({"config": {"eps": 1}}, "no parameter 'eps'; it has epsilon"),
    ({"config": {"memory": 1}}, "memory is True or False"),
    ({"config": {"changeable": ["wealth"]}}, "'wealth' is none"),
    ({"config": {"changeable": [10]}}, "10 is none"),
    ({"config": {"changeable": ["age", 1]}}, "one stands there twice"),
    ({"config": {"end_time": 0}}, "end_time comes after start_time"),
    ({"config": {"end_time": 2.5}}, "end_time is a whole number"),
    ({"preset": "paper"}, "preset of credit is one of None, whynot"),
    ({"timestep": 0}, "timestep is a whole number of rounds of the episode from 1 to 25"),
    ({"actions": "continuous"}, "actions is one of discrete, box"),
    ({"observe": "all"}, "observe is one of"),
    ({"visible": []}, "visible names one or more of"),
    ({"visible": ["income"]}, "visible names one or more of"),
    ({"bound": 0}, "bound is a number above 0"),
    ({"candidates": {"a": [1, 2]}}, "candidates: 'a' has 11 weights"),
    ({"candidates": {}}, "candidates is a dict of at least one"),
    ({"candidates": {"a": ["x"] * 11}}, "candidates: 'a' has 11 numbers as weights"),
    ({"bound": "wide"}, "bound is a number above 0, at most 1,000,000; got 'wide'"),
    ({"candidates": {"a": [0] * 11}, "actions": "box"}, "candidates are for actions='discrete'"),
    ({"reference": "whynot"}, "reference is one of None, whynot-0.12")])
def test_a_wrong_argument_is_named(people, kwargs, words):
    with pytest.raises(ValueError, match=words):
        gym.make(NAME, people=people, **kwargs)


def test_people_are_not_a_number():
    with pytest.raises(ValueError, match="people is None, a path .*, or Borrowers; got 3"):
        gym.make(NAME, people=3)


def test_what_was_published_stays_what_it_was(people):
    """The caller may go on writing in his own array."""
    env, theta = box(people), weights(1)
    env.reset(seed=0)
    env.step(theta)
    before = env.unwrapped.frame()["theta"]
    theta[:] = 0.0
    assert env.unwrapped.frame()["theta"] == before and any(before.values())


def test_weights_of_several_copies_are_a_row_each(people):
    envs = gym.make_vec(NAME, num_envs=2, people=people, actions="box")
    envs.reset(seed=0)
    with pytest.raises(ValueError, match=r"shape \(2, 11\); got \(11, 2\)"):
        envs.step(np.zeros((11, 2)))
    env = box(people)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"shape \(11,\); got \(12,\)"):
        env.unwrapped.step(np.zeros(12))


def test_weights_out_of_bounds_are_refused(people):
    env = box(people)
    env.reset(seed=0)
    for wrong in (np.full(11, 21.0), np.full(11, np.nan)):
        with pytest.raises(ValueError, match="component 0 .* must be a number from -20.0 to 20.0"):
            env.unwrapped.step(wrong)
