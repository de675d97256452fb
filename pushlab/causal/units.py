"""The units of an experiment: what the simulators hand to it."""

from typing import NamedTuple

import numpy as np
import pandas as pd


class Units(NamedTuple):
    """Units of an experiment, a row each; the second axis of `outcomes` and `mediators` is untreated, treated."""

    covariates: pd.DataFrame  # every variable at the moment of the decision
    outcomes: np.ndarray  # (units, 2)
    mediators: np.ndarray  # (units, 2), on the way from the treatment to the outcome

    @property
    def effects(self) -> np.ndarray:
        """What treatment changes in each unit, (units,)."""
        return self.outcomes[:, 1] - self.outcomes[:, 0]
