"""Units of an experiment with credit scores: a unit is a person, and the treated know how the score is made.

Whoever knows the published classifier answers it in the best way (`pushlab.envs.credit.people`); the others stay as
they are. People are drawn, with replacement, from the table of borrowers, so each begins as somebody in it; `start`,
`spread`, `begin`, `span` and `halfway` mean nothing here. Features are in standard units.
"""

from typing import Any

import numpy as np
import pandas as pd

from pushlab.causal.units import Units
from pushlab.datasets.borrowers import FEATURES, WORDS, load_borrowers
from pushlab.envs.credit.people import best_response, credit_config
from pushlab.envs.credit.rules import candidate_classifiers
from pushlab.ground.arguments import demand, one_of

NAMES = dict(zip(FEATURES, WORDS))
OUTCOMES = (
    "approved",
    "score",
)  # 1 or 0; the log-odds of falling behind, of which lower is better


class CreditUnits:
    """What draws the units of one experiment. ValueError says which field of it does not suit.

    people, config, theta   who they are drawn from, their parameters, and the weights (11,) that are published
    """

    def __init__(self, experiment: Any):
        self.experiment, treatment, world = (
            experiment,
            experiment.treatment,
            experiment.world,
        )
        demand(
            isinstance(treatment, dict) and set(treatment) == {"published"},
            f"treatment is {{'published': a candidate's name or 11 weights}}; got {treatment!r}",
        )
        for name in world:
            one_of("an argument in world", name, ("people", "config", "preset"))
        self.people = load_borrowers(world.get("people"))
        self.config = credit_config(world.get("config"), world.get("preset"))
        published = treatment["published"]
        if isinstance(published, str):
            known = dict(candidate_classifiers(self.people, self.config))
            published = known[
                one_of("published, unless it is 11 weights,", published, known)
            ]
        self.theta = np.asarray(published, np.float64)
        demand(
            self.theta.shape == (len(FEATURES) + 1,) and np.isfinite(self.theta).all(),
            f"published has {len(FEATURES) + 1} finite weights; got {published!r}",
        )
        one_of("outcome", experiment.outcome, OUTCOMES)
        for name in (
            experiment.confounder,
            *(experiment.covariates or ()),
            *(experiment.hidden or ()),
        ):
            one_of("a feature of people", name, FEATURES)
        one_of(
            "mediator, a feature that can be changed,",
            experiment.mediator,
            self.config.changeable,
        )

    def column(self, variable: str) -> str:
        """A feature as the covariates call it."""
        return NAMES[variable]

    @property
    def names(self) -> list[str]:
        """The covariates that are seen."""
        return [NAMES[name] for name in self.experiment.covariates or FEATURES]

    def begin(self, n: int, rng: np.random.Generator) -> pd.DataFrame:
        """All features of `n` people, a DataFrame."""
        return pd.DataFrame(
            self.people.features[rng.integers(len(self.people), size=n)], columns=WORDS
        )

    def units(self, n: int, rng: np.random.Generator) -> Units:
        """`n` Units."""
        config, theta, mediator = self.config, self.theta, self.experiment.mediator
        covariates, move = self.begin(n, rng), best_response(theta, config)
        score = covariates.to_numpy() @ theta[:-1] + theta[-1]
        scores = np.stack([score, score + theta[config.places] @ move], axis=1)
        before = covariates[NAMES[mediator]].to_numpy()
        mediators = np.stack(
            [before, before + move[config.changeable.index(mediator)]], axis=1
        )
        outcomes = (
            (scores <= 0).astype(np.float64)
            if self.experiment.outcome == "approved"
            else scores
        )
        return Units(covariates, outcomes, mediators)
