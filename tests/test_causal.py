"""Causal data sets against the simulators, estimators against arithmetic, and how often intervals hold the truth."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression

from pushlab import causal, plots
from pushlab.causal.compare import _resampled
from pushlab.causal.policies import LEARNERS
from pushlab.envs.credit.people import best_response
from pushlab.envs.ode.models import load_model
from pushlab.envs.ode.world import ODEEnv
from pushlab.ground.files import data_dir
from pushlab.ground.seeds import episode_seed
from pushlab.plots.sheet import figure_of
from pushlab.studies import causal as study

SIMULATORS = tuple(causal.EXPERIMENTS)


def drawn_by_hand(n=400, seed=0, effect=2.0):
    """Units with one covariate that is also what decides: outcome 3 x + effect if treated + error, log odds x."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    chance = 1 / (1 + np.exp(-x))
    treated = rng.random(n) < chance
    outcome = 3 * x + effect * treated + rng.normal(size=n)
    return causal.CausalData(pd.DataFrame({"x": x}), treated, outcome, np.full(n, effect), chance)


def treated_alone(many):
    """Units by hand of which the first so many are treated."""
    data = drawn_by_hand()
    return causal.CausalData(data.covariates, np.arange(len(data)) < many, data.outcome)


# ---------------------------------------------------------------- data sets

def test_both_outcomes_are_those_of_the_environment():
    trial = causal.experiment("hiv")
    units = trial.units(3, np.random.default_rng(5))
    for row in range(3):
        env = ODEEnv("hiv", config={"end_time": trial.span}, timestep=trial.span, actions="box",
                     initial_state=10 ** units.covariates.iloc[row].to_numpy())
        ends = [np.log10(env.simulate([dose, 0.0])["E"].iloc[-1]) for dose in (0.0, 0.7)]
        np.testing.assert_allclose(units.outcomes[row], ends, rtol=1e-6)


def test_treatment_ends_with_its_span():
    """Beyond the span the treated go on as anybody: two stretches of the environment, the second untouched."""
    trial = causal.experiment("lotka_volterra")
    units = trial.units(1, np.random.default_rng(1))
    start = 10 ** units.covariates.iloc[0].to_numpy()
    env = ODEEnv("lotka_volterra", config={"end_time": 4.0}, timestep=2.0, initial_state=start)
    assert units.outcomes[0, 1] == pytest.approx(env.simulate([0, 1])["foxes"].iloc[-1], rel=1e-6)
    assert units.outcomes[0, 0] == pytest.approx(env.simulate([1, 1])["foxes"].iloc[-1], rel=1e-6)


def test_a_return_is_the_sum_of_the_rewards():
    trial = causal.experiment("lotka_volterra", outcome="return", span=2.0, halfway=1.0, after=None)
    units = trial.units(1, np.random.default_rng(1))
    env = ODEEnv("lotka_volterra", config={"end_time": 2.0}, initial_state=10 ** units.covariates.iloc[0].to_numpy())
    assert units.outcomes[0, 1] == pytest.approx(env.simulate(0)["reward"].sum(), rel=1e-6)


def test_a_person_moves_by_the_best_response_or_not_at_all():
    trial = causal.experiment("credit", outcome="score")
    config, theta = trial.bench.config, trial.bench.theta
    units = trial.units(50, np.random.default_rng(0))
    np.testing.assert_allclose(units.outcomes[:, 0], units.covariates.to_numpy() @ theta[:-1] + theta[-1])
    np.testing.assert_allclose(units.effects, theta[config.places] @ best_response(theta, config))
    assert (units.effects < 0).all()            # knowing the score lowers the odds that it gives of falling behind


@pytest.mark.parametrize("model", SIMULATORS)
def test_each_simulator_has_an_experiment_whose_log_misleads(model):
    trial = causal.experiment(model)
    data = causal.confounded(trial, 2000, seed=11)
    assert np.isfinite(data.frame().to_numpy(float)).all() and len(data.frame()) == 2000
    assert abs(data.effects.mean()) > 0 and data.propensity.min() > 0.001 and data.propensity.max() < 0.999
    naive, right = causal.compare(data, [causal.DifferenceInMeans(), causal.DoublyRobust()]).itertuples()
    assert not naive.covers
    assert abs(right.bias) < 0.25 * abs(naive.bias)


def test_the_same_seed_gives_every_kind_the_same_units():
    sets = {kind: draw("zika", 50, seed=3) for kind, draw in causal.KINDS.items()}
    for data in sets.values():
        np.testing.assert_array_equal(data.effects, sets["confounded"].effects)
    np.testing.assert_array_equal(sets["unobserved"].treated, sets["confounded"].treated)
    known = set(sets["confounded"].covariates)
    assert known - set(sets["unobserved"].covariates) == {"log10 asymptomatic_humans"}
    assert set(sets["mediated"].covariates) - known == {sets["mediated"].mediator}
    again = causal.mediated("zika", 50, seed=3)
    pd.testing.assert_frame_equal(again.frame(), sets["mediated"].frame())
    assert not np.array_equal(causal.mediated("zika", 50, seed=4).effects, again.effects)


def test_propensities_are_those_with_which_units_are_treated():
    data = causal.confounded("lotka_volterra", 20_000, seed=2)
    tenth = np.floor(10 * data.propensity)
    for part in np.unique(tenth):
        rows = tenth == part
        error = 4 * np.sqrt(0.25 / rows.sum())
        assert data.treated[rows].mean() == pytest.approx(data.propensity[rows].mean(), abs=error)
    assert causal.randomised("lotka_volterra", 20_000, 2, share=0.2).treated.mean() == pytest.approx(0.2, abs=0.012)


def test_error_of_measurement_is_in_outcomes_and_not_in_effects():
    still, noisy = (causal.randomised("hiv", 400, 0, noise=noise) for noise in (0.0, 0.5))
    np.testing.assert_array_equal(still.effects, noisy.effects)
    assert (noisy.outcome - still.outcome).std() == pytest.approx(0.5, rel=0.15)


def test_sums_quotients_and_a_model_of_ones_own():
    trial = causal.experiment(load_model("lotka_volterra"), treatment={"fox_growth": 0.4}, span=1.0, halfway=0.5,
                              outcome="rabbits + foxes / 10", confounder="foxes", mediator="rabb*")
    units = trial.units(4, np.random.default_rng(0))
    parts = [causal.experiment(trial, outcome=name).units(4, np.random.default_rng(0)) for name in ("rabbits", "foxes")]
    np.testing.assert_allclose(units.outcomes, (parts[0].outcomes + parts[1].outcomes) / 10)
    assert trial.name == "lotka_volterra" and trial.seen == ["rabbits", "foxes"]


@pytest.mark.parametrize(("changes", "words"), [
    ({"treatment": {"epsilon_3": 0.7}}, "epsilon_1, epsilon_2; got 'epsilon_3'"),
    ({"treatment": {"epsilon_1": 0.8}}, "from 0.0 to 0.7; got 0.8"),
    ({"treatment": {}}, "treatment is a dict"),
    ({"outcome": "log10 W"}, "got 'log10 W'"),
    ({"outcome": "E / ten"}, "divided by a number"),
    ({"outcome": "E / 0"}, "a number other than 0; got 'E / 0'"),
    ({"outcome": "return", "halfway": 2.5}, "whole timesteps of 1, so halfway is some of these; got 2.5"),
    ({"world": {"reference": "whynot-0.12"}}, "config, preset, solver, dt, tolerance; got 'reference'"),
    ({"covariates": ("V", "T1")}, "the confounder 'E' is to be seen"),
    ({"confounder": "age"}, "got 'age'"),
    ({"span": -1.0}, "span is a number above 0; got -1.0"),
    ({"halfway": 30.0}, "lies between the decision and the outcome"),
    ({"spread": {"W": 0.3}}, "got 'W'"),
    ({"spread": 0.0}, "spread is a number above 0"),
    ({"better": "more"}, "higher, lower; got 'more'"),
    ({"noise": -1.0}, "noise is a number from 0 up"),
    ({"colour": "red"}, "got 'colour'"),
    ({"start": "tired"}, "start of hiv is one of"),
])
def test_a_wrong_experiment_says_what_is_wrong(changes, words):
    with pytest.raises(ValueError, match=words.replace("(", r"\(")):
        causal.confounded("hiv", 10, **changes)


def test_a_confounder_that_never_varies_is_refused():
    with pytest.raises(ValueError, match="the same in every unit"):
        causal.confounded("hiv", 10, spread={"V": 0.3})


@pytest.mark.parametrize(("call", "words"), [
    (lambda: causal.randomised("flu"), "one of hiv, lotka_volterra"),
    (lambda: causal.randomised("hiv", 2), "from 4 up; got 2"),
    (lambda: causal.randomised("hiv", 10, share=1.0), "above 0 and below 1; got 1.0"),
    (lambda: causal.randomised("hiv", 4, share=1e-9), "all or none are treated"),
    (lambda: causal.experiment(load_model("hiv")), "needs treatment, span"),
    (lambda: causal.CausalData(pd.DataFrame({"x": [1.0, 2.0]}), [0, 2], [1.0, 2.0]), "treated is True or False"),
    (lambda: causal.CausalData(pd.DataFrame({"x": [1.0, np.nan]}), [0, 1], [1.0, 2.0]), "x, unit 1"),
    (lambda: causal.CausalData(pd.DataFrame({"x": [1.0, 2.0]}), [0, 1], [1.0, np.inf]), "outcome, unit 1"),
    (lambda: causal.CausalData(pd.DataFrame({"x": [1.0]}), [0, 1], [1.0, 2.0]), "1 units, and 2"),
    (lambda: causal.estimate(drawn_by_hand(), causal.DoublyRobust(), adjust="y"), "one of x; got 'y'"),
    (lambda: causal.estimate(drawn_by_hand(), causal.DoublyRobust(), interval="normal"), "interval is"),
    (lambda: causal.estimate(drawn_by_hand(), causal.DoublyRobust(), resamples=5), "from 50 up; got 5"),
    (lambda: causal.estimate(drawn_by_hand(12), causal.DoublyRobust()), "5 folds need at least 10 treated"),
    (lambda: causal.DoublyRobust(folds=1), "folds is a whole number from 2"),
    (lambda: causal.InverseWeighting(clip=0.6), "below 0.5; got 0.6"),
    (lambda: causal.RegressionAdjustment(features="cubic"), "features is"),
    (lambda: causal.repeat("hiv", "observed"), "kind is one of"),
    (lambda: causal.learn_policy(drawn_by_hand(), "clever"), "regression, doubly robust; got 'clever'"),
    (lambda: causal.learn_policy(drawn_by_hand(), features="y"), "known at the decision, is one of x; got 'y'"),
    (lambda: causal.unobserved("hiv", 10, hidden=("V",)), "hidden names the confounder, E"),
    (lambda: causal.compare(drawn_by_hand().frame()), "data is a CausalData; got DataFrame"),
    (lambda: causal.estimate(treated_alone(400), causal.RegressionAdjustment()), "2 others; got 400 and 0"),
    (lambda: causal.estimate(treated_alone(1), causal.DifferenceInMeans()), "and 2 others; got 1 and 399"),
    (lambda: causal.overlap_table(treated_alone(0)), "and 2 others; got 0 and 400"),
])
def test_wrong_arguments_say_what_is_wrong(call, words):
    with pytest.raises(ValueError, match=words):
        call()


# ---------------------------------------------------------------- estimators

def scores_of(estimator, data, seed=0):
    return estimator.scores(data.covariates.to_numpy(), data.treated, data.outcome, np.random.default_rng(seed))


def test_difference_in_means_by_hand():
    data = causal.CausalData(pd.DataFrame({"x": [0.0] * 5}), [1, 1, 0, 0, 0], [4.0, 6.0, 1.0, 2.0, 3.0])
    found = causal.estimate(data, causal.DifferenceInMeans(), resamples=50)
    assert found.estimate == pytest.approx(3.0)
    spread = np.sqrt(2.0 / 2 + 1.0 / 3)                     # sample variances over the sizes of the groups
    assert found.standard_error == pytest.approx(spread * np.sqrt(5 / 4))      # of scores, which are counted once more


@given(st.floats(-3, 3), st.floats(-3, 3), st.floats(-3, 3))
@settings(max_examples=20)
def test_regression_is_exact_where_outcomes_are_linear(effect, slope, more):
    data = drawn_by_hand()
    x = data.covariates["x"].to_numpy()
    outcome = slope * x + data.treated * (effect + more * x)
    exact = causal.CausalData(data.covariates, data.treated, outcome)
    assert scores_of(causal.RegressionAdjustment(), exact).values.mean() == pytest.approx(effect + more * x.mean(),
                                                                                         abs=1e-9)


def test_doubly_robust_survives_either_wrong_model():
    data = drawn_by_hand(4000)
    knows_nothing = DummyRegressor(), DummyClassifier()
    blind = scores_of(causal.DoublyRobust(regressor=knows_nothing[0]), data).values.mean()
    lazy = scores_of(causal.DoublyRobust(classifier=knows_nothing[1]), data).values.mean()
    both = scores_of(causal.DoublyRobust(*knows_nothing), data).values.mean()
    assert blind == pytest.approx(2.0, abs=0.25) and lazy == pytest.approx(2.0, abs=0.1)
    assert both > 3.5                                       # as wrong as the difference in means


def test_any_regressor_will_do():
    from sklearn.ensemble import RandomForestRegressor

    forest = RandomForestRegressor(20, min_samples_leaf=5, random_state=0)
    data = drawn_by_hand(400)
    found = causal.estimate(data, causal.RegressionAdjustment(forest), resamples=50)
    assert found.low < found.estimate < found.high and found.estimate == pytest.approx(2.0, abs=0.5)
    assert found.estimator == "regression, RandomForestRegressor"


@pytest.mark.parametrize("estimator", [causal.DifferenceInMeans(), causal.RegressionAdjustment(),
                                       causal.InverseWeighting(), causal.DoublyRobust(LinearRegression(), folds=2)],
                         ids=lambda one: one.name)
def test_standard_errors_agree_with_fitting_everything_anew(estimator):
    data = drawn_by_hand(300, seed=4)
    quick = causal.estimate(data, estimator, resamples=1000)
    slow = causal.estimate(data, estimator, resamples=100, resample="units", interval="percentile")
    assert slow.high - slow.low == pytest.approx(quick.high - quick.low, rel=0.3)
    assert slow.standard_error == quick.standard_error


def test_the_bootstrap_draws_units_with_equal_chances():
    scores = np.random.default_rng(0).exponential(size=200)
    found = _resampled(scores, 4000, np.random.default_rng(1))
    error = scores.std(ddof=1) / np.sqrt(200)
    assert found[:, 0].mean() == pytest.approx(scores.mean(), abs=5 * error / np.sqrt(4000))
    assert found[:, 0].std() == pytest.approx(error, rel=0.05) and found[:, 1].mean() == pytest.approx(error, rel=0.05)


def test_weights_tell_how_many_units_are_left():
    even = causal.estimate(causal.randomised("zika", 400, 1), causal.InverseWeighting())
    uneven = causal.estimate(causal.confounded("zika", 400, 1), causal.InverseWeighting())
    strong = causal.estimate(causal.confounded("zika", 400, 1, strength=4.0), causal.InverseWeighting())
    assert 380 < even.ess <= 400 > uneven.ess > strong.ess
    assert even.clipped == 0 < strong.clipped and strong.lowest == 0.02 and strong.highest == 0.98


def test_clipping_takes_variance_and_gives_bias():
    """Of 40 logs of towns where the decision goes strictly by the confounder."""
    found = causal.summary(pd.concat([
        causal.repeat(causal.experiment("zika", strength=3.0), n=400, draws=40, resamples=50,
                      estimators=[causal.InverseWeighting(clip=clip)]).assign(clip=clip) for clip in (0.0, 0.02, 0.1)],
        ignore_index=True), by=["clip"]).set_index("clip")
    assert found["clipped"][0.0] == 0 and found["clipped"][0.02] == pytest.approx(80, abs=20)
    assert found["spread"][0.02] < 0.8 * found["spread"][0.0] and found["bias"][0.1] > 2 * found["bias"][0.0] > 0
    assert found["covers"][0.02] < 0.8 and found["covers"][0.1] < 0.1


def test_scores_drawn_again_fit_nothing_again_and_units_drawn_again_fit_everything():
    class Counting(causal.DoublyRobust):
        fitted = 0

        def scores(self, *arguments):
            self.fitted += 1
            return super().scores(*arguments)

    data = drawn_by_hand(100)
    for resample, fits in (("scores", 1), ("units", 51)):
        estimator = Counting(DummyRegressor(), DummyClassifier(), folds=2)
        causal.estimate(data, estimator, resamples=50, resample=resample)
        assert estimator.fitted == fits


def test_draws_under_neighbouring_seeds_share_no_data_set():
    """The first has the seed itself; had the others counted up, two of three would be the same."""
    tables = [causal.repeat("zika", n=60, draws=3, seed=seed, resamples=50, estimators=[causal.DifferenceInMeans()])
              for seed in (5, 6)]
    assert tables[0]["draw"].to_list() == [0, 1, 2]
    assert len({*tables[0]["sample_effect"], *tables[1]["sample_effect"]}) == 6
    for seed, table in zip((5, 6), tables):
        for number in (0, 2):
            alone = causal.confounded("zika", 60, episode_seed(seed, number))
            assert table["sample_effect"][number] == alone.average_effect


# ---------------------------------------------------------------- how often intervals hold the truth

def stored_row(kind, estimator):
    kinds = pd.read_csv(data_dir() / "causal" / "kinds.csv").set_index(["model", "kind", "estimator"])
    return kinds.loc[("zika", kind, estimator)]


@pytest.mark.parametrize("kind", study.KEPT)
def test_the_right_estimator_holds_the_true_effect_in_most_draws(kind):
    """The first 50 of the 200 data sets of the stored study.

    Were their seeds others, 95 (92) % of intervals with the truth in them would fail this once in 1,500 (300) times and
    a bias of nothing once in 10,000; it is failed by 5 of 6 estimators that cover 75 %, nearly all that cover 65 %, and
    97 of 100 that are off by six standard errors, a degree in 30.
    """
    draws, stored = 50, stored_row(kind, study.RIGHT)
    found = causal.summary(causal.repeat("zika", kind, n=500, draws=draws, estimators=[causal.DoublyRobust()],
                                         resamples=300)).iloc[0]
    error = stored["spread"] / np.sqrt(draws)
    assert 0.82 <= found["covers"] and abs(found["bias"]) < 4 * error
    assert found["bias"] == pytest.approx(stored["bias"], abs=4 * error)
    assert found["spread"] == pytest.approx(stored["spread"], rel=0.4)      # four standard errors of a deviation


def test_a_row_of_the_stored_study_is_computed_again():
    """All 200 data sets; regression is the quickest of the estimators that adjust."""
    found = causal.summary(causal.repeat("zika", "confounded", n=500, draws=200,
                                         estimators=[causal.RegressionAdjustment()])).iloc[0]
    stored = stored_row("confounded", "regression")
    for name in ("truth", "mean", "bias", "spread", "rmse", "covers", "width"):
        assert found[name] == pytest.approx(stored[name], rel=1e-3), name


def test_the_naive_estimate_is_wrong_and_more_units_do_not_help():
    found = causal.by_size("zika", (200, 1600), draws=20, estimators=[causal.DifferenceInMeans()], resamples=100)
    assert (found["truth"] < -25).all() and (found["bias"] > 25).all()      # spraying helps, and seems to do nothing
    assert found["covers"].max() <= 0.05 and found["width"][1] < 0.5 * found["width"][0]


def test_nobody_is_right_without_the_confounder():
    found = causal.summary(causal.repeat("zika", "unobserved", n=400, draws=20, resamples=100))
    assert found["covers"].max() <= 0.05 and (found["bias"] > 20).all()


def test_adjusting_for_what_comes_after_treatment_takes_the_effect_away():
    more = {"n": 2000, "draws": 20, "resamples": 100, "estimators": [causal.RegressionAdjustment()]}
    wrong = causal.summary(causal.repeat("zika", "mediated", **more)).iloc[0]
    right = causal.summary(causal.repeat("zika", "mediated", adjust="known at the decision", **more)).iloc[0]
    assert wrong["covers"] <= 0.1 < 0.8 <= right["covers"]
    assert abs(wrong["mean"]) < 0.9 * abs(right["mean"])


# ---------------------------------------------------------------- policies

def test_where_the_confounder_is_seen_learners_gain_and_where_it_is_hidden_none_does():
    """The first five logs of the stored study anew. With other seeds it would fail less than once in 1,000 times.

    By the study a log reaches, mean and deviation over logs, 0.4 and 0.15 by regression, 0.9 and 0.05 by a curved one
    and 0.7 and 0.15 doubly robust where the confounder is seen; and 0 and 0.15 at most where it is hidden.
    """
    found = study.policies_of(draws=5)
    reached = found.pivot_table("reached", "kind", "policy")[list(LEARNERS)]
    assert (reached.loc["confounded"].to_numpy() > (0.1, 0.7, 0.4)).all() and (reached.loc["unobserved"] < 0.3).all()
    stored = pd.read_csv(data_dir() / "causal" / "policies.csv")
    both = found.merge(stored, on=["kind", "log", "policy"])
    assert len(both) == len(found) == 30
    assert np.isclose(both["reached_x"], both["reached_y"], atol=0.02).mean() > 0.8     # but for how folds are drawn


def test_regression_scores_are_what_two_straight_lines_predict():
    data = drawn_by_hand(200)
    x, t = data.covariates["x"].to_numpy(), data.treated
    lines = [np.polyfit(x[arm], data.outcome[arm], 1) for arm in (t, ~t)]
    split = np.polyval(lines[0] - lines[1], x) > 2.0
    policy = causal.learn_policy(data, "regression", cost=2.0, depth=8, fewest=1)
    assert (policy.treats(data.covariates) == split).mean() > 0.97


def test_a_policy_is_learned_that_is_near_the_best():
    data = causal.confounded("lotka_volterra", 2000, seed=1)
    learned = [causal.learn_policy(data, scores) for scores in LEARNERS]
    table = causal.policy_values("lotka_volterra", learned, n=4000).set_index("policy")
    assert 0.7 < table.loc["doubly robust", "reached"] <= 1
    assert table.loc["best", "gain"] == table["gain"].max() and table.loc["nobody", "gain"] == 0
    assert table.loc["chance", "gain"] == pytest.approx(table.loc["everybody", "gain"] / 2)
    assert "log10 rabbits" in str(learned[1])


def test_a_policy_is_worth_what_its_units_gain():
    trial = causal.experiment("zika")
    units = trial.units(500, np.random.default_rng(9))
    few = units.covariates["log10 exposed_mosquitoes"] > 2.7
    table = causal.policy_values(trial, {"many": lambda covariates: covariates["log10 exposed_mosquitoes"] > 2.7},
                                 n=500, seed=9).set_index("policy")
    assert table.loc["many", "gain"] == pytest.approx(((-units.effects - 30.0) * few).mean())
    assert table.loc["many", "treats"] == pytest.approx(few.mean())


def test_no_policy_takes_the_place_of_another():
    data = causal.confounded("lotka_volterra", 400, seed=1)
    short, long = (causal.learn_policy(data, depth=depth) for depth in (1, 3))
    alone = causal.policy_values("lotka_volterra", short, n=300)
    both = causal.policy_values("lotka_volterra", {"short": short.treats, "long": long.treats}, n=300)
    assert alone["policy"].to_list()[4:] == ["doubly robust", "best"]
    assert both["policy"].to_list()[4:] == ["short", "long", "best"] and both["gain"][4] == alone["gain"][4]
    for policies, words in (([short, long], "names that differ; got doubly robust, doubly robust"),
                            ({"best": short.treats}, "'best' is in the table anyway"),
                            ({"few": lambda covariates: [True]}, r"'few' says for each of 300 units .* \(1,\)")):
        with pytest.raises(ValueError, match=words):
            causal.policy_values("lotka_volterra", policies, n=300)


# ---------------------------------------------------------------- pictures and the stored study

def test_pictures_are_drawn_from_their_tables():
    data = {kind: causal.KINDS[kind]("zika", 300, 0) for kind in ("randomised", "confounded")}
    tables = {one.description: causal.compare(one, resamples=100) for one in data.values()}
    stored = pd.read_csv(data_dir() / "causal" / "sizes.csv")
    policy = causal.learn_policy(data["confounded"])
    pictures = [plots.effect_estimates(tables), plots.effect_estimates(tables[data["confounded"].description]),
                plots.data_needed(stored[stored["model"] == "zika"]),
                plots.overlap(data["confounded"]), plots.overlap(drawn_by_hand()),
                plots.policy_gains(causal.policy_values("zika", [policy], n=500))]
    for picture in pictures:
        assert 10_000 < len(plots.png(picture)) < 150_000
        words = [text.get_text() for axes in figure_of(picture).axes for text in axes.texts]
        assert len([word for word in words if word.strip()]) >= 4
    assert "true effect" in " ".join(text.get_text() for text in pictures[0].texts)


def test_where_nobody_knows_the_truth_no_interval_is_said_to_miss_it():
    known = drawn_by_hand()
    table = causal.compare(causal.CausalData(known.covariates, known.treated, known.outcome), resamples=100)
    assert table["truth"].isna().all() and table["covers"].isna().all()
    picture = figure_of(plots.effect_estimates(table))
    words = " ".join(text.get_text() for text in [*picture.texts, *(one for ax in picture.axes for one in ax.texts)])
    assert "What the estimators say" in words and "true effect" not in words


def test_the_stored_study_holds_what_was_promised():
    kinds = pd.read_csv(data_dir() / "causal" / "kinds.csv")
    assert tuple(dict.fromkeys(kinds["model"])) == study.MODELS == SIMULATORS
    assert (kinds["draws"] == 200).all() and set(kinds["kind"]) == set(causal.KINDS)
    of = kinds.set_index(["kind", "estimator"])
    for kind in study.KEPT:
        assert of.loc[(kind, study.RIGHT), "covers"].between(0.90, 0.99).all()
    assert of.loc[("confounded", "difference in means"), "covers"].max() < 0.5
    assert of.loc["unobserved"]["covers"].max() < 0.7
    sizes = pd.read_csv(data_dir() / "causal" / "sizes.csv")
    assert tuple(dict.fromkeys(sizes["n"])) == study.SIZES
    clips = pd.read_csv(data_dir() / "causal" / "clips.csv")
    assert tuple(dict.fromkeys(clips["clip"])) == study.CLIPS and (clips["draws"] == 200).all()
    strict = clips[clips["strength"] == 3].set_index("clip")
    assert strict["covers"][0.02] < 0.6 and (strict["covers"] < 0.7).all() and strict["clipped"].is_monotonic_increasing
    assert clips[clips["strength"] == 1].set_index("clip")["covers"][0.02] > 0.8


def test_the_study_runs_on_a_small_scale():
    found = study.kinds_of("lotka_volterra", n=60, draws=2, resamples=50)
    assert len(found) == 16 and found["model"].unique().tolist() == ["lotka_volterra"]


# ---------------------------------------------------------------- a hidden confounder

@given(st.lists(st.tuples(st.floats(-50, 50), st.floats(0.1, 10)), min_size=1, max_size=7), st.floats(1, 8))
def test_the_highest_weighted_mean_is_that_of_all_corners(units, factor):
    y, odds = np.transpose(units)
    corners = np.array(list(itertools.product((1 / factor, factor), repeat=len(y))))
    weights = 1 + odds * corners
    assert causal.highest_mean(y, odds, factor) == pytest.approx((weights @ y / weights.sum(axis=1)).max(), abs=1e-9)


def test_bounds_begin_at_inverse_weighting_and_widen_until_they_hold_the_truth():
    data = causal.unobserved("zika", 400, seed=7)
    table = causal.sensitivity_table(data, (1, 2, 4, 8), resamples=50)
    weighted = causal.estimate(data, causal.InverseWeighting())
    assert table["low"][0] == pytest.approx(weighted.estimate) == pytest.approx(table["high"][0])
    assert (table["low"].diff()[1:] < 0).all() and (table["high"].diff()[1:] > 0).all()
    assert (table["low_end"] < table["low"]).all() and (table["high_end"] > table["high"]).all()
    assert not table["low"][0] < data.average_effect and table["low"][3] < data.average_effect


def test_bounds_hold_the_effect_where_the_hidden_odds_are_within_the_factor():
    data = causal.unobserved("zika", 1000, seed=3, strength=0.3)       # odds between exp(-0.9) and exp(0.9): 2.5
    [found] = causal.sensitivity_table(data, [2.5], resamples=50).to_dict("records")
    assert found["low"] < data.average_effect < found["high"]


def test_a_factor_below_one_is_refused():
    with pytest.raises(ValueError, match="factor"):
        causal.highest_mean([1.0], [1.0], 0.5)


def test_a_causal_graph_is_drawn_whole(good_picture):
    places = {"carriers": (0.5, 0), "spraying": (0, 0.5), "ill": (1, 0.5), "in the news": (0.5, 1)}
    arrows = [("carriers", "spraying"), ("carriers", "ill"), ("spraying", "ill"), ("ill", "in the news")]
    good_picture(plots.causal_graph(arrows, places, "spraying", "ill", hidden=("in the news",)))
    with pytest.raises(ValueError, match="mosquitoes"):
        plots.causal_graph([("mosquitoes", "ill")], places)
