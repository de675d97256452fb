"""Units of an experiment with credit scores: a unit is a person, and the treated know how the score is made.

Whoever knows the published classifier answers it in the best way (`pushlab.envs.credit.people`); the others stay as
they are. People are drawn, with replacement, from the table of borrowers, so each begins as somebody in it; `start`,
`spread`, `begin`, `span` and `halfway` mean nothing here. Features are in standard units.
"""

import numpy as np

from pushlab.causal.units import Units
from pushlab.datasets.borrowers import FEATURES, WORDS, load_borrowers
from pushlab.envs.credit.people import best_response, credit_config
from pushlab.envs.credit.rules import candidate_classifiers
from pushlab.ground.arguments import demand

NAMES = dict(zip(FEATURES, WORDS))
OUTCOMES = ("approved", "score")        # 1 or 0; the log-odds of falling behind, of which lower is better


def check(experiment):
    """ValueError says which field of the experiment does not suit."""
    people, config, theta = prepare(experiment)
    demand(experiment.outcome in OUTCOMES, f"the outcome is one of {', '.join(OUTCOMES)}; got {experiment.outcome!r}")
    for name in (experiment.confounder, *(experiment.covariates or ()), *(experiment.hidden or ())):
        demand(name in FEATURES, f"people have the features {', '.join(FEATURES)}; got {name!r}")
    demand(experiment.mediator in config.changeable,
            f"the mediator is a feature that can be changed, {', '.join(config.changeable)}; got "
            f"{experiment.mediator!r}")


def prepare(experiment):
    """The people, their parameters, and the weights (11,) that are published."""
    demand(isinstance(experiment.treatment, dict) and set(experiment.treatment) == {"published"},
            f"treatment is {{'published': a candidate's name or 11 weights}}; got {experiment.treatment!r}")
    for name in experiment.world:
        demand(name in ("people", "config", "preset"), f"world has people, config and preset; got {name!r}")
    people = load_borrowers(experiment.world.get("people"))
    config = credit_config(experiment.world.get("config"), experiment.world.get("preset"))
    published = experiment.treatment["published"]
    if isinstance(published, str):
        known = dict(candidate_classifiers(people, config))
        demand(published in known, f"published is one of {', '.join(known)}, or 11 weights; got {published!r}")
        published = known[published]
    theta = np.asarray(published, np.float64)
    demand(theta.shape == (len(FEATURES) + 1,) and np.isfinite(theta).all(),
            f"published has {len(FEATURES) + 1} finite weights; got {experiment.treatment['published']!r}")
    return people, config, theta


def column(experiment, variable):
    """A feature as the covariates call it."""
    return NAMES[variable]


def names(experiment):
    """The covariates that are seen."""
    return [NAMES[name] for name in experiment.covariates or FEATURES]


def begin(experiment, n, rng):
    """All features of `n` people, a DataFrame."""
    import pandas as pd

    people, *_ = experiment.prepared
    return pd.DataFrame(people.features[rng.integers(len(people), size=n)], columns=WORDS)


def units(experiment, n, rng):
    """`n` Units."""
    _, config, theta = experiment.prepared
    covariates = begin(experiment, n, rng)
    move = best_response(theta, config)
    score = covariates.to_numpy() @ theta[:-1] + theta[-1]
    scores = np.stack([score, score + theta[config.places] @ move], axis=1)
    before = covariates[NAMES[experiment.mediator]].to_numpy()
    mediators = np.stack([before, before + move[config.changeable.index(experiment.mediator)]], axis=1)
    outcomes = (scores <= 0).astype(np.float64) if experiment.outcome == "approved" else scores
    return Units(covariates, outcomes, mediators)
