"""Causal data sets and estimators, against the simulators and other computations."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scripts import load_script
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import StratifiedKFold

from pushlab import causal, plots
from pushlab.causal.estimators import Scores, logistic, ridge
from pushlab.envs.credit.rules import best_response
from pushlab.envs.env import Env
from pushlab.envs.ode.world import ODE
from pushlab.utils.files import data_dir
from pushlab.utils.seeds import episode_seed

STORED = pd.read_csv(data_dir() / "causal" / "kinds.csv")
AT = np.arange(120)
X = np.sin(1.7 * AT) + AT / 60 - 1
OTHER = np.cos(2.9 * AT)
TREATED = AT * 7919 % 100 / 100 < 1 / (1 + np.exp(-X))
OUTCOME = 3 * X + OTHER + (2 + X) * TREATED + np.sin(5.3 * AT)
DATA = causal.CausalData(pd.DataFrame({"x": X, "other": OTHER}), TREATED, OUTCOME)


# ---------------------------------------------------------------- data sets


@pytest.mark.parametrize(
    ("model", "changes", "env", "doses", "measure"),
    [
        (
            "hiv",
            {},
            {"config": {"end_time": 25.0}, "timestep": 25.0, "actions": "box"},
            ([0.0, 0.0], [0.7, 0.0]),
            lambda log: np.log10(log["E"].iloc[-1]),
        ),
        # The treatment, action 0, ends after time 2 of 4.
        (
            "lotka_volterra",
            {"outcome": "foxes / 10"},
            {"config": {"end_time": 4.0}, "timestep": 2.0, "preset": "whynot"},
            ([1, 1], [0, 1]),
            lambda log: log["foxes"].iloc[-1] / 10,
        ),
    ],
)
def test_both_outcomes_of_a_unit_equal_those_of_the_environment(
    model, changes, env, doses, measure
):
    trial = causal.experiment(model, **changes)
    units = trial.units(2, np.random.default_rng(5))
    start = 10 ** units.covariates.iloc[1].to_numpy()
    for arm, dose in enumerate(doses):
        log = Env(ODE, model=model, initial_state=start, **env).simulate(dose)
        assert units.outcomes[1, arm] == pytest.approx(measure(log), rel=1e-6)
    assert units.effects == pytest.approx(units.outcomes[:, 1] - units.outcomes[:, 0])


def test_treated_people_respond_optimally_to_the_score():
    trial = causal.experiment("credit", outcome="score")
    theta = trial.simulator.theta
    config = trial.simulator.config
    units = trial.units(50, np.random.default_rng(0))
    scores = units.covariates.to_numpy() @ theta[:-1] + theta[-1]
    assert units.outcomes[:, 0] == pytest.approx(scores)
    gain = theta[config.changeable_indices] @ best_response(theta, config)
    assert units.effects == pytest.approx(np.full(50, gain))


@pytest.mark.parametrize("model", causal.EXPERIMENTS)
def test_effects_agree_with_the_stored_population_effects(model):
    effects = causal.randomised(model, 100 if model == "world3" else 400, 1).effects
    stored = STORED[STORED["model"] == model]["truth"].iloc[0]
    assert abs(effects.mean() - stored) < 4 * stats.sem(effects)


def test_a_seed_gives_the_same_units_in_each_kind_of_data():
    sets = {kind: draw("zika", 50, seed=3) for kind, draw in causal.KINDS.items()}
    confounded = sets["confounded"]
    for data in sets.values():
        assert np.array_equal(data.effects, confounded.effects)
    hidden = set(confounded.covariates) - set(sets["unobserved"].covariates)
    assert hidden == {"log10 asymptomatic_humans"}
    mediated = sets["mediated"]
    assert list(mediated.covariates)[:-1] == list(confounded.covariates)
    assert mediated.mediator == list(mediated.covariates)[-1]
    again = causal.mediated("zika", 50, seed=3)
    assert np.array_equal(again.outcome, mediated.outcome)
    # Log-odds increase by the strength per deviation of the truncated normal numbers.
    column = confounded.covariates["log10 asymptomatic_humans"]
    odds = np.log(confounded.propensity / (1 - confounded.propensity))
    slope, *_ = np.polyfit(column, odds, 1)
    assert slope * 0.3 / np.log(10) * 0.9866 == pytest.approx(1, rel=0.02)
    quiet, noisy = [
        causal.randomised("zika", 2000, 2, share=0.2, noise=noise) for noise in (0, 7)
    ]
    assert quiet.treated.mean() == pytest.approx(0.2, abs=0.03)
    assert (noisy.outcome - quiet.outcome).std() == pytest.approx(7, rel=0.06)


# ---------------------------------------------------------------- estimators


def test_estimates_and_standard_errors_agree_with_other_computations():
    """The results of regression are computed by leaving out each unit in turn.

    Those of inverse weighting are statsmodels 0.14's (TreatmentEffect), with the
    sandwich estimator for the error.
    """
    found = causal.compare(DATA, resamples=50).set_index("estimator")
    regression = found.loc["regression"]
    assert regression["estimate"] == pytest.approx(2.045306737620202)
    assert regression["standard_error"] == pytest.approx(0.15966740597777854)
    weighted = found.loc["inverse weighting"]
    assert weighted["estimate"] == pytest.approx(2.26440, rel=3e-4)
    assert weighted["standard_error"] == pytest.approx(0.21604, rel=0.015)
    means = found.loc["difference in means"]
    gap = OUTCOME[TREATED].mean() - OUTCOME[~TREATED].mean()
    assert means["estimate"] == pytest.approx(gap)
    parts = [stats.sem(OUTCOME[arm]) ** 2 for arm in (TREATED, ~TREATED)]
    error = (sum(parts) * 120 / 119) ** 0.5
    assert means["standard_error"] == pytest.approx(error)
    assert found["truth"].isna().all()
    assert found["covers"].isna().all()


@pytest.mark.parametrize("outcome_model", [ridge, LinearRegression])
def test_doubly_robust_scores_are_predictions_plus_weighted_errors(outcome_model):
    """Each unit is predicted by models fitted to the other folds."""
    columns = DATA.covariates.to_numpy()
    found = causal.DoublyRobust(outcome_model()).scores(
        columns, TREATED, OUTCOME, np.random.default_rng(0)
    )
    seed = int(np.random.default_rng(0).integers(2**31))
    x = (columns - columns.mean(axis=0)) / columns.std(axis=0)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    for train, test in folds.split(x, TREATED):
        chosen = [train[TREATED[train] == arm] for arm in (False, True)]
        models = [outcome_model().fit(x[rows], OUTCOME[rows]) for rows in chosen]
        without, treated = (model.predict(x[test]) for model in models)
        chances = logistic(penalty=1.0).fit(x[train], TREATED[train])
        e = np.clip(chances.predict_proba(x[test])[:, 1], 0.02, 0.98)
        error = np.where(
            TREATED[test],
            (OUTCOME[test] - treated) / e,
            (without - OUTCOME[test]) / (1 - e),
        )
        assert found.values[test] == pytest.approx(treated - without + error)
        assert found.propensity[test] == pytest.approx(e)


class Known:
    """An estimator with fixed scores."""

    name = "known"
    propensity = np.clip(1 / (1 + np.exp(-2 * X)), 0.1, 0.9)
    values = np.where(TREATED, OUTCOME / propensity, -OUTCOME / (1 - propensity))

    def scores(self, covariates, treated, outcome, rng):
        return Scores(self.values, self.propensity, 17)


def test_interval_of_a_custom_estimator_is_computed_from_its_scores():
    found = causal.estimate(DATA, Known(), resamples=3000)
    assert found.estimator == "known"
    assert found.estimate == pytest.approx(Known.values.mean())
    assert found.standard_error == pytest.approx(stats.sem(Known.values))
    assert found.clipped == 17
    chances = np.where(TREATED, Known.propensity, 1 - Known.propensity)
    weights = 1 / chances
    assert found.ess == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    drawn = np.random.default_rng(0).choice(Known.values, (3000, 120)).mean(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert found.high - found.low == pytest.approx(high - low, rel=0.1)


def test_overlap_compares_the_means_of_both_groups():
    table = causal.overlap_table(DATA)
    apart = X[TREATED].mean() - X[~TREATED].mean()
    assert table.loc["x", "others"] == pytest.approx(X[~TREATED].mean())
    assert table.loc["x", "apart"] == pytest.approx(apart / X.std())
    chances = DATA.treatment_probabilities()
    x = (X - X.mean()) / X.std()
    weighted = np.average(x[TREATED], weights=1 / chances[TREATED])
    weighted -= np.average(x[~TREATED], weights=1 / (1 - chances[~TREATED]))
    assert table.loc["x", "weighted"] == pytest.approx(weighted)


def test_sensitivity_bounds_equal_those_of_the_worst_hidden_confounder():
    y = np.array([3.0, -1.0, 7.0, 2.0])
    odds = np.array([0.5, 2.0, 1.0, 0.1])
    weights = 1 + odds * np.array(list(product(*[(1 / 3, 3)] * 4)))
    highest = (weights @ y / weights.sum(axis=1)).max()
    assert causal.highest_mean(y, odds, 3) == pytest.approx(highest)
    table = causal.sensitivity_table(DATA, (1, 2, 4), resamples=50)
    weighted = causal.estimate(DATA, causal.InverseWeighting(), resamples=50)
    assert table["low"][0] == pytest.approx(weighted.estimate)
    assert table["high"][0] == pytest.approx(weighted.estimate)
    chances = DATA.treatment_probabilities()
    treated = causal.highest_mean(OUTCOME[TREATED], (1 / chances - 1)[TREATED], 4)
    against = (chances / (1 - chances))[~TREATED]
    others = -causal.highest_mean(-OUTCOME[~TREATED], against, 4)
    assert table["high"][2] == pytest.approx(treated - others)
    assert (table["low"].diff()[1:] < 0).all()
    assert (table["low_end"] < table["low"]).all()
    assert (table["high_end"] > table["high"]).all()


# ---------------------------------------------------------------- repeated draws


def test_repeated_draws_have_different_seeds():
    estimators = [causal.DifferenceInMeans()]
    how = {"draws": 2, "seed": 5, "resamples": 50, "estimators": estimators}
    table = load_script("causal").repeat_estimates("zika", n=60, **how)
    for number in range(2):
        data = causal.confounded("zika", 60, episode_seed(5, number))
        assert table["sample_effect"][number] == data.average_effect
    assert (table["bias"] == table["estimate"] - table["truth"]).all()
    assert table["draw"].tolist() == [0, 1]


def test_summaries_of_draws_by_hand():
    draws = pd.DataFrame(
        {
            "kind": "confounded",
            "n": [50, 50, 90],
            "estimator": "a",
            "estimate": [1.0, 4.0, 2.0],
            "truth": 2.0,
            "low": [0.0, 3.5, 1.0],
            "high": [2.5, 5.0, 3.0],
            "clipped": [2, 4, 0],
        }
    )
    row = causal.summary(draws).iloc[0]
    expected = {
        "mean": 2.5,
        "bias": 0.5,
        "spread": 4.5**0.5,
        "rmse": 2.5**0.5,
        "covers": 0.5,
        "covers_low": 0.0945,
        "covers_high": 0.9055,
        "width": 2.0,
        "draws": 2,
        "clipped": 3,
    }
    assert row[list(expected)].to_dict() == pytest.approx(expected, abs=1e-4)


@pytest.mark.slow
def test_a_row_of_the_stored_study_is_reproduced():
    draws = load_script("causal").repeat_estimates(
        "zika", n=500, draws=200, estimators=[causal.RegressionAdjustment()]
    )
    found = causal.summary(draws).iloc[0]
    stored = STORED.set_index(["model", "kind", "estimator"])
    stored = stored.loc[("zika", "confounded", "regression")]
    for name in ("truth", "mean", "spread", "rmse", "covers", "width"):
        assert found[name] == pytest.approx(stored[name], rel=1e-3), name


# ---------------------------------------------------------------- errors and pictures


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: causal.experiment("hiv", treatment={"epsilon_1": 0.8}), "got 0.8"),
        (
            lambda: causal.confounded("hiv", 9, covariates=("V",)),
            "covariates must include the confounder 'E'",
        ),
        (
            lambda: causal.CausalData(
                pd.DataFrame({"x": [1.0, np.nan]}), [0, 1], [1, 2]
            ),
            "x, unit 1: not a finite number",
        ),
        (
            lambda: causal.CausalData(X[:, None], AT, OUTCOME),
            "must be a DataFrame; got arr",
        ),
        (
            lambda: causal.CausalData(pd.DataFrame({"x": [1.0]}), ["yes"], [1]),
            "treated=.'yes'.: could not convert",
        ),
        (
            lambda: causal.DoublyRobust().scores(X[:, None], AT < 9, OUTCOME, None),
            "at least 10 treated and 10 untreated units; .*has 9",
        ),
    ],
)
def test_invalid_experiments_and_data_raise_value_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_pictures_show_the_truth_only_if_it_is_known(good_picture):
    data = causal.confounded("zika", 300, 0)
    known = causal.compare(data, resamples=50)
    words = " ".join(good_picture(plots.effect_estimates(known)))
    assert "true effect" in words
    unknown = causal.compare(DATA, resamples=50)
    words = " ".join(good_picture(plots.effect_estimates(unknown)))
    assert "true effect" not in words
