"""Off-policy estimators: against exact enumeration, against each other, and how often their intervals are right."""

import warnings

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pushlab.agents.random import RandomAgent
from pushlab.agents.rec import GreedyItem, LinearQ, LinUCBItem, Planner, SoftmaxItem
from pushlab.envs.rec.models import NoDrift, Satiation
from pushlab.envs.rec.world import RECEnv
from pushlab.ground.files import data_dir
from pushlab.logs.collect import collect, true_value
from pushlab.logs.rollout import rollout
from pushlab.metrics import offpolicy
from pushlab.metrics.estimate import mean_interval
from pushlab.metrics.offpolicy import effective_sample_size, episodes_of, off_policy
from pushlab.metrics.rec import filter_bubble, item_diversity, polarisation, turned
from pushlab.metrics.value_models import cross_fitted_values, linear
from pushlab.plots.estimates import estimator_intervals
from pushlab.studies import offpolicy as study

# ---------------------------------------------------------------- a world small enough to write down whole

FIRST = np.array([0.3, 0.7])                        # how likely an episode begins in state 0 and 1
REWARD = np.array([[1.0, -2.0], [0.5, 3.0]])        # of state and action; the next state is the action
LOGGED = np.array([[0.5, 0.5], [0.2, 0.8]])         # the policy that writes the log, by state
TARGET = np.array([[0.1, 0.9], [0.6, 0.4]])         # the one that is judged


def whole_log():
    """A log in which every episode of two steps occurs exactly as often as it is likely: 1,000 episodes."""
    rows = []
    for state in (0, 1):
        for first in (0, 1):
            for second in (0, 1):
                chance = FIRST[state] * LOGGED[state, first] * LOGGED[first, second]
                times = round(1000 * chance)
                assert times == pytest.approx(1000 * chance)
                for _ in range(times):
                    rows.append([(0, first, state), (1, second, first)])
    return pd.DataFrame([{"episode": number, "step": step, "action": action, "reward": REWARD[state, action],
                          "propensity": LOGGED[state, action], "obs.state": float(state)}
                         for number, steps in enumerate(rows) for step, action, state in steps])


def exact_values(policy):
    """Q of the second and first step (2, 2) each, by backward induction, and the value of the policy."""
    last = REWARD
    first = REWARD + (policy * last).sum(axis=1)[None, :]
    return first, last, float(FIRST @ (policy * first).sum(axis=1))


def target(observations):
    return TARGET[observations[:, 0].astype(int)]


def test_weighted_estimators_are_exact_on_average():
    """The mean over all episodes, each as often as it is likely, is the estimator's expectation: the true value."""
    episodes, truth = episodes_of(whole_log(), target), exact_values(TARGET)[2]
    known = episodes.rewards, episodes.ratios
    assert len(episodes.rewards) == 1000 and truth == pytest.approx(0.6)      # -0.52 × 0.3 + 1.08 × 0.7
    for estimator in (offpolicy.importance_sampling, offpolicy.self_normalised, offpolicy.per_decision):
        assert estimator(*known).value == pytest.approx(truth, abs=1e-9)
    assert offpolicy.naive(episodes.rewards).value == pytest.approx(exact_values(LOGGED)[2], abs=1e-9)


@given(st.lists(st.floats(-5, 5), min_size=8, max_size=8))
@settings(max_examples=25)
def test_doubly_robust_is_exact_on_average_whatever_the_model_says(numbers):
    episodes, model = episodes_of(whole_log(), target), np.reshape(numbers, (2, 2, 2))     # step, state, action
    states = episodes.observations[:, :, 0].astype(int)
    q = model[[0, 1], states]
    values = (episodes.target * q).sum(axis=2)
    taken = np.take_along_axis(q, episodes.actions[:, :, None], axis=2)[:, :, 0]
    told = offpolicy.doubly_robust(episodes.rewards, episodes.ratios, taken, values)
    assert told.value == pytest.approx(exact_values(TARGET)[2], abs=1e-9)


def test_a_right_model_makes_the_direct_method_exact_and_doubly_robust_free_of_surprises():
    episodes = episodes_of(whole_log(), target)
    action_values, values = cross_fitted_values(episodes, features=linear, penalty=1e-9)
    first, last, truth = exact_values(TARGET)
    states = episodes.observations[:, :, 0].astype(int)
    assert action_values[:, 0] == pytest.approx(first[states[:, 0]], abs=1e-6)
    assert action_values[:, 1] == pytest.approx(last[states[:, 1]], abs=1e-6)
    assert offpolicy.direct_method(values).value == pytest.approx(truth, abs=1e-6)
    table = off_policy(whole_log(), target, features=linear, penalty=1e-9).set_index("estimator")
    assert table.loc["doubly robust", "value"] == pytest.approx(truth, abs=1e-6)
    widths = table["high"] - table["low"]
    assert widths["doubly robust"] < widths["per-decision"] < widths["importance sampling"]


def test_discounting_weighs_the_second_step_less():
    episodes = episodes_of(whole_log(), target)
    whole = [offpolicy.per_decision(episodes.rewards, episodes.ratios, discount=d).value for d in (0.0, 0.5, 1.0)]
    assert whole[1] == pytest.approx((whole[0] + whole[2]) / 2)


# ---------------------------------------------------------------- pieces

@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=30))
def test_effective_sample_size_lies_between_one_and_all(weights):
    assert 1 - 1e-9 <= effective_sample_size(weights) <= len(weights) + 1e-9


def test_the_policy_that_wrote_the_log_is_judged_by_its_own_mean():
    log = whole_log()
    table = off_policy(log, lambda observations: LOGGED[observations[:, 0].astype(int)]).set_index("estimator")
    returns = log.groupby("episode")["reward"].sum()
    for estimator in ("naive", "importance sampling", "self-normalised", "per-decision"):
        assert table.loc[estimator, "value"] == pytest.approx(returns.mean())
    interval = mean_interval(returns)
    assert table.loc["importance sampling", ["low", "high"]].tolist() == pytest.approx([interval.low, interval.high])
    assert table.loc["importance sampling", "ess"] == pytest.approx(1000)


def test_the_value_on_policy_is_the_mean_return_of_its_own_log():
    log = whole_log()
    assert offpolicy.on_policy_value(log).mean == pytest.approx(exact_values(LOGGED)[2])
    with pytest.raises(ValueError, match="a step twice"):
        offpolicy.on_policy_value(pd.concat([log, log]))


def test_episodes_may_differ_in_length():
    log = whole_log()
    short = log[(log["episode"] % 2 == 0) | (log["step"] == 0)]
    episodes = episodes_of(short, target)
    assert episodes.alive.sum() == len(short)
    assert (episodes.ratios[~episodes.alive] == 1).all() and (episodes.rewards[~episodes.alive] == 0).all()
    _, values = cross_fitted_values(episodes)
    assert (values[~episodes.alive] == 0).all()


def test_rows_may_come_in_any_order():
    log = whole_log()
    mixed = log.sample(frac=1, random_state=1)
    pd.testing.assert_frame_equal(off_policy(log, target), off_policy(mixed, target))


def test_too_small_a_sample_is_said():
    log = whole_log().query("episode % 50 == 0")
    with pytest.warns(UserWarning, match="effective sample size"):
        off_policy(log, target)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        off_policy(whole_log(), target)


@pytest.mark.parametrize("spoil, message", [
    (lambda log: log.drop(columns="propensity"), "no column 'propensity'"),
    (lambda log: log.assign(propensity=0.0), "column propensity, row 0: 0.0 is no probability"),
    (lambda log: log.assign(action=2), "column action: numbers from 0 to 1"),
    (lambda log: log.assign(episode=0), "a step twice"),
    (lambda log: log[log["step"] == 1], "column step, row 1: .* without a gap"),
    (lambda log: log[log["episode"] == 0], "2 episodes at least"),
    (lambda log: log.iloc[::-1].assign(reward=log["reward"].where(log.index != 7)), "column reward, row 7: nan"),
    (lambda log: log.assign(**{"obs.state": np.inf}), "column obs.state, row 0: inf is no finite number"),
])
def test_a_log_that_will_not_do_is_refused(spoil, message):
    with pytest.raises(ValueError, match=message):
        off_policy(spoil(whole_log()), target)


def test_a_target_that_is_no_policy_is_refused():
    for wrong in (lambda seen: np.full((len(seen), 2), 0.4), lambda seen: np.ones((3, 2))):
        with pytest.raises(ValueError, match="target"):
            off_policy(whole_log(), wrong)


@pytest.mark.parametrize("env, episodes", [("ODE-Opioid-v0", 40), ("ODE-World3-v1", 40), ("push-v0", 15)])
def test_every_log_can_be_asked_whatever_its_units_and_however_wide(env, episodes):
    """People by the million and their products; 45 columns of codes, which have 1,081 products."""
    count = int(gym.make(f"pushlab/{env}").action_space.n)
    log = collect(f"pushlab/{env}", lambda seen: np.full((len(seen), count), 1 / count), episodes, seed=1)
    near = (1 + 0.01 * np.arange(count)) / (1 + 0.01 * np.arange(count)).sum()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)            # few episodes
        table = off_policy(log, lambda seen: np.tile(near, (len(seen), 1))).set_index("estimator")
    told, naive = table.loc["doubly robust"], table.loc["naive"]
    assert naive["low"] - 1 < told["value"] < naive["high"] + 1   # the two policies are nearly one


@given(st.floats(1e-9, 1e9), st.floats(-1e3, 1e3))
@settings(max_examples=20)
def test_units_of_what_is_seen_do_not_matter(unit, zero):
    rng = np.random.default_rng(0)
    log = pd.DataFrame({"episode": np.arange(200), "step": 0, "action": rng.integers(2, size=200), "propensity": 0.5,
                        "obs.dose": 100 * rng.normal(size=200)})
    log["reward"] = log["obs.dose"] * (1 + log["action"])
    asked = [off_policy(one, lambda seen: np.tile([0.3, 0.7], (len(seen), 1)), features=linear)["value"]
             for one in (log, log.assign(**{"obs.dose": (log["obs.dose"] + zero) * unit}))]
    assert asked[1].to_numpy() == pytest.approx(asked[0].to_numpy(), rel=1e-4)


def test_a_log_without_any_of_the_targets_actions_tells_no_interval():
    with pytest.warns(UserWarning, match="effective sample size 0.0"):
        table = off_policy(whole_log().assign(action=0), lambda seen: np.tile([0.0, 1.0], (len(seen), 1)))
    told = table.set_index("estimator").drop(index=["naive", "direct method"])
    assert told[["low", "high"]].isna().all(axis=None)
    axes = estimator_intervals(pd.DataFrame([{"estimator": "DRos", "value": 2.0, "low": np.nan, "high": np.nan},
                                             {"estimator": "naive", "value": 0.0, "low": -1.0, "high": 1.0}]), None)
    assert axes.get_xlim()[0] <= -1 and axes.get_xlim()[1] >= 2          # the dot is in the picture


# ---------------------------------------------------------------- RECEnv: logs and true values

def test_a_log_is_of_a_policy_whose_probabilities_are_some():
    for wrong in ([0.1] * 5, [0.5, 0.5, -0.5, 0.25, 0.25]):
        with pytest.raises(ValueError, match="the policy returns probabilities"):
            collect("pushlab/RECEnv-v0", lambda seen, wrong=wrong: np.tile(wrong, (len(seen), 1)), 2)



def test_a_log_holds_what_the_policy_did_and_repeats_itself():
    policy = SoftmaxItem(RECEnv().items, sharpness=2.0, floor=0.1)
    log = collect("pushlab/RECEnv-v0", policy, episodes=300, seed=4)
    assert len(log) == 3000 and log.groupby("episode").size().eq(10).all()
    likely = policy.probabilities(log.filter(like="obs.").to_numpy())
    assert log["propensity"].to_numpy() == pytest.approx(likely[np.arange(3000), log["action"]])
    shares = np.bincount(log["action"], minlength=5) / 3000
    assert shares == pytest.approx(likely.mean(axis=0), abs=0.03)
    pd.testing.assert_frame_equal(log, collect("pushlab/RECEnv-v0", policy, episodes=300, seed=4))
    own = rollout("pushlab/RECEnv-v0", lambda seen: 0, seed=4, first=2, progress=False)
    assert log.query("episode == 2 and step == 0")["obs.0"].item() == own["obs.0"].iloc[0]


@pytest.mark.parametrize("env, menu", [("evalumap2", True), ("ODE-HIV-Goal", False)])
def test_observations_that_are_dicts_are_logged_as_a_rollout_logs_them(env, menu):
    """The policy sees the columns of the log in their order; a menu of vectors says what its numbers mean."""
    env, shapes = f"pushlab/{env}-v0", set()
    own = rollout(env, RandomAgent(), seed=3, steps=2, progress=False)
    menu = own.filter(like="action.").to_numpy() if menu else None

    def policy(observations):
        shapes.add(observations.shape)
        return np.full((len(observations), 2), 0.5)

    log = collect(env, policy, episodes=2, seed=3, actions=menu)
    columns = [column for column in own if column.startswith("obs.")]
    assert [column for column in log if column.startswith("obs.")] == columns
    assert shapes == {(2, len(columns))}
    assert log.loc[0, columns].tolist() == own.loc[0, columns].tolist()


@pytest.mark.parametrize("model", [None, NoDrift, Satiation])
def test_enumeration_agrees_with_many_episodes(model):
    kwargs = {"step_per_episode": 4, "n_items": 3, "n_users": 20, "reward_type": "binary"}
    kwargs |= {"UserModel": model} if model else {}
    world = RECEnv(**kwargs)
    policy = SoftmaxItem(world.items, sharpness=3.0)
    returns = collect("pushlab/RECEnv-v0", policy, 8000, seed=1, **kwargs).groupby("episode")["reward"].sum()
    truth = true_value(world, policy)
    assert abs(returns.mean() - truth) < 3.5 * returns.std() / np.sqrt(8000)


def test_enumeration_says_when_it_cannot():
    policy = SoftmaxItem(RECEnv().items)
    with pytest.raises(ValueError, match="obs_std is 0.1"):
        true_value(RECEnv(obs_std=0.1), policy)
    with pytest.raises(ValueError, match="take fewer"):
        true_value(RECEnv(), policy)


# ---------------------------------------------------------------- the study

def test_the_studys_intervals_cover_the_truth():
    table = pd.read_csv(data_dir() / "rec" / "offpolicy.csv")
    assert table["repetition"].nunique() == 500
    told = study.summary(table, study.truth()).set_index("estimator")
    assert 0.90 <= told.loc["doubly robust", "covers"] <= 0.99
    assert told.loc["doubly robust", "ess"] <= study.EPISODES / 3
    assert told.loc["doubly robust", "rmse"] < told.loc["per-decision", "rmse"] < told.loc["naive", "rmse"]
    assert told.loc["naive", "covers"] == 0


def test_the_studys_file_is_what_the_code_gives():
    table = pd.read_csv(data_dir() / "rec" / "offpolicy.csv")
    again = study.estimates_of(3)
    kept = table[table["repetition"] == 3]
    assert again["estimator"].tolist() == kept["estimator"].tolist()
    for column in ("value", "low", "high", "ess"):
        assert again[column].to_numpy() == pytest.approx(kept[column].to_numpy(), abs=1e-4, nan_ok=True)


def test_summary_by_hand():
    table = pd.DataFrame({"repetition": [0, 1], "estimator": "a", "value": [1.0, 4.0], "low": [0.0, 3.5],
                          "high": [2.5, 5.0], "ess": 9.0})
    row = study.summary(table, 2.0).iloc[0]
    assert (row["bias"], row["rmse"], row["covers"]) == (0.5, pytest.approx(np.sqrt(2.5)), 0.5)


# ---------------------------------------------------------------- filter bubbles

def test_a_user_shown_one_item_for_ever_becomes_that_item():
    env = gym.make("pushlab/RECEnv-v0", step_per_episode=50)      # some begin far away
    log = rollout(env, lambda seen: 2, episodes=3, seed=1, progress=False)
    narrow = filter_bubble(log, RECEnv().items)
    assert (narrow["diversity"] < 1e-12).all() and (narrow["after"] > 0.9).all()
    mixed = filter_bubble(rollout("pushlab/RECEnv-v0", SoftmaxItem(RECEnv().items, 0.0), episodes=3, seed=1,
                                  progress=False), RECEnv().items)
    assert (mixed["diversity"] > 0.5).all() and mixed["after"].mean() < narrow["after"].mean()


@given(st.lists(st.lists(st.floats(-1, 1), min_size=3, max_size=3).filter(lambda v: np.linalg.norm(v) > 0.1),
                min_size=2, max_size=6), st.floats(0.1, 10))
def test_measures_of_direction_do_not_depend_on_length(vectors, factor):
    vectors = np.array(vectors)
    assert polarisation(vectors, vectors) == pytest.approx(1)
    assert polarisation(factor * vectors, vectors[:1]) == pytest.approx(polarisation(vectors, vectors[:1]), abs=1e-9)
    assert turned(vectors) == pytest.approx(turned(factor * vectors), abs=1e-5)
    actions = np.arange(len(vectors))
    assert 0 <= item_diversity(actions, vectors) + 1e-9 <= 2 + 1e-9


# ---------------------------------------------------------------- agents

def returns_of(agent, episodes=20, seed=0, **kwargs):
    env = gym.make("pushlab/RECEnv-v0", **kwargs)
    return rollout(env, agent, episodes=episodes, seed=seed, progress=False, record="episodes")["return"].to_numpy()


def test_the_oracle_finds_the_best_plan():
    from itertools import product

    world, planner = RECEnv(n_items=3, step_per_episode=6), Planner(beam=3**5)
    start = world.starts[4]
    plan, earned = planner.plan(world, start, 6)
    best = -np.inf
    for items in product(range(3), repeat=6):
        state, total = start[None], 0.0
        for item in items:
            reward, state = world.expect(state, np.array([item]))
            total += reward[0]
        best = max(best, total)
    assert earned == pytest.approx(best, abs=1e-12)
    assert Planner(beam=20).plan(world, start, 6)[1] == pytest.approx(best, rel=0.02)


def test_the_oracle_earns_what_it_promised_and_no_agent_more():
    oracle = returns_of(Planner())
    for agent in (GreedyItem(), SoftmaxItem(RECEnv().items, 5.0), LinUCBItem(), LinearQ()):
        assert (returns_of(agent) <= oracle + 1e-9).all()
    assert (returns_of(Planner(), UserModel=Satiation) >= returns_of(GreedyItem(), UserModel=Satiation) - 1e-9).all()


def test_linucb_learns_to_do_as_well_as_one_who_knows_the_items():
    agent = LinUCBItem()
    returns_of(agent, episodes=60, seed=1000)
    late = returns_of(agent, episodes=20)
    assert late.mean() > 0.9 * returns_of(GreedyItem()).mean()
    twin = LinUCBItem()
    twin.load(agent.state())
    assert np.array_equal(twin.belief.mean, agent.belief.mean)


def stepping_stone():
    """Four items in the plane: the best one is out of reach for many users, but for a stone on the way."""
    turns = np.radians([0, 60, 120, 190])
    users = np.radians(np.arange(0, 360, 6))
    return {"step_per_episode": 20, "n_items": 4, "n_users": 60, "item_feature_dim": 2, "user_feature_dim": 2,
            "item_feature_vector": np.c_[np.cos(turns), np.sin(turns)] * [[0.3], [0.4], [1.0], [0.5]],
            "user_feature_vector": np.c_[np.cos(users), np.sin(users)]}


def test_looking_ahead_pays_where_there_is_a_stepping_stone():
    kwargs, agent = stepping_stone(), LinearQ()
    returns_of(agent, episodes=200, seed=1000, **kwargs)
    twin = LinearQ(epsilon=0.0)
    twin.load(agent.state())
    assert returns_of(twin, 60, **kwargs).mean() > 1.05 * returns_of(GreedyItem(), 60, **kwargs).mean()
    with pytest.raises(ValueError, match="weights"):
        returns_of(twin)


def test_agents_for_items_say_what_they_need():
    with pytest.raises(ValueError, match="pushlab/RECEnv-v0 has"):
        GreedyItem().begin(gym.make("pushlab/evalumap1-v0"), 0)
