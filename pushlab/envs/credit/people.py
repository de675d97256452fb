"""Strategic classification: people change what a credit score looks at, as far as the better score is worth it.

A lender publishes the weights theta of a score, theta · x, which stands for the log-odds of falling behind: the lower
the better. A person with features x gains -theta · x' from showing x' instead, and pays |x' - x|² / (2 epsilon) for
it; some features can be changed, others cannot. The best they can do is

    x' = x - epsilon theta     in the features that can be changed, x' = x in the others:

everybody moves by the same step against the weights. Whether they fall behind does not change: it is gaming.

Source: Perdomo, Zrnic, Mendler-Dünner & Hardt (2020), Performative Prediction, ICML, section 5; after Hardt, Megiddo,
Papadimitriou & Wootters (2016), Strategic Classification, ITCS. Written from the simulator in WhyNot 0.12 and the
authors' published code, not from the paper's page: the answer and which features can be changed are theirs, and so is
the preset "whynot". The other values are ours, chosen so that the answer is seen. Both leave the bias out of the
penalty; `penalise_bias` counts it, since only then the loss is strongly convex, as the paper's theorem 3.5 asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from pushlab.datasets.borrowers import BIAS, FEATURES
from pushlab.envs.ode.models import parameter
from pushlab.ground.arguments import demand, flag, in_short, is_number, number, one_of

WEIGHTS = (
    *FEATURES,
    BIAS,
)  # the weights of a classifier, in the order of every array; the last has no feature
MOST = 1e6  # of epsilon and the penalty
PRESETS = {"whynot": {"epsilon": 0.1, "l2_penalty": 0.0, "end_time": 5}}


@dataclass(frozen=True)
class CreditConfig:
    """What people and lender are like. Features and steps are in standard units, times in rounds."""

    epsilon: float = parameter(
        1.0, "standard units", "how far people move for a weight of 1"
    )
    changeable: tuple = parameter(
        (FEATURES[0], FEATURES[5], FEATURES[7]),
        "",
        "names of the features that can be changed",
    )
    l2_penalty: float = parameter(
        0.01, "", "added to the loss: this times half the squared length of the weights"
    )
    penalise_bias: bool = parameter(
        True, "", "whether the bias counts as one of those weights"
    )
    memory: bool = parameter(
        False,
        "",
        "whether people move on from where they are, or each round from where they "
        "began",
    )
    start_time: int = parameter(0, "rounds", "when an episode begins")
    end_time: int = parameter(25, "rounds", "when an episode ends")

    @cached_property
    def places(self) -> np.ndarray:
        """Where the features that can be changed stand, int64 (k,)."""
        return np.array([FEATURES.index(name) for name in self.changeable], np.int64)

    @cached_property
    def penalties(self) -> np.ndarray:
        """The l2 penalty of each weight, (11,)."""
        return np.append(
            np.full(len(FEATURES), self.l2_penalty),
            self.l2_penalty if self.penalise_bias else 0.0,
        )


def credit_config(
    changes: Mapping[str, Any] | CreditConfig | None = None, preset: str | None = None
) -> CreditConfig:
    """The parameters, with those of a preset and then those of `changes` (a dict, or a CreditConfig) in their place.

    Features in `changeable` may be named or numbered. Raises ValueError naming what is wrong.

    >>> credit_config({"epsilon": 3.0, "changeable": [0]}).changeable
    ('RevolvingUtilizationOfUnsecuredLines',)
    """
    one_of("preset of credit", preset, (None, *PRESETS))
    demand(
        changes is None or isinstance(changes, (Mapping, CreditConfig)),
        f"config is None, a dict of parameters, or a CreditConfig; got {in_short(changes)}",
    )
    known = [item.name for item in fields(CreditConfig)]
    if isinstance(changes, CreditConfig):
        changes = {name: getattr(changes, name) for name in known}
    for name in changes or {}:
        if name not in known:
            raise ValueError(
                f"config: credit has no parameter {in_short(name)}; it has {', '.join(known)}"
            )
    config = replace(CreditConfig(), **PRESETS.get(preset, {}) | dict(changes or {}))
    return _checked(replace(config, changeable=_named(config.changeable)))


def _named(changeable):
    names = [changeable] if isinstance(changeable, str) else changeable
    demand(
        isinstance(names, (list, tuple)),
        f"config: changeable is a list of features; got {in_short(changeable)}",
    )
    numbers = range(len(FEATURES))
    names = [
        FEATURES[one] if not isinstance(one, str) and one in numbers else one
        for one in names
    ]
    unknown = [one for one in names if one not in FEATURES]
    if unknown or len(set(names)) < len(names):
        what = (
            f"{in_short(unknown[0])} is none" if unknown else "one stands there twice"
        )
        raise ValueError(
            f"config: changeable names features, or numbers them from 0 to {len(FEATURES) - 1}, each "
            f"once: {', '.join(FEATURES)}; {what}"
        )
    return tuple(names)


def _checked(config):
    config = replace(
        config,
        **{
            name: number(f"config: {name}", getattr(config, name), 0, MOST)
            for name in ("epsilon", "l2_penalty")
        },
    )
    for name in ("penalise_bias", "memory"):
        flag(f"config: {name}", getattr(config, name))
    for name in ("start_time", "end_time"):
        given = getattr(config, name)
        demand(
            is_number(given) and float(given).is_integer(),
            f"config: {name} is a whole number of rounds; got {in_short(given)}",
        )
    demand(
        config.end_time > config.start_time,
        f"config: end_time comes after start_time ({config.start_time}); got {config.end_time}",
    )
    return config


# ---------------------------------------------------------------- equations


def best_response(theta: Any, config: CreditConfig) -> np.ndarray:
    """How far people move the features that can be changed, (…, 11) → (…, k), in the order of config.changeable."""
    return -config.epsilon * np.asarray(theta)[..., config.places]


def cost(move: Any, config: CreditConfig) -> np.ndarray:
    """What a move (…, k) costs a person, in the unit of the score; infinite where epsilon is 0 and the move is not."""
    squares = np.sum(np.square(move), axis=-1)
    if config.epsilon == 0:
        return np.where(squares > 0, np.inf, 0.0)
    return squares / (2 * config.epsilon)


def gain(move: Any, theta: Any, config: CreditConfig) -> np.ndarray:
    """What a move (…, k) brings a person whom the weights theta (…, 11) judge: the better score, less its cost.

    >>> config, theta = credit_config(), np.full(11, 2.0)
    >>> float(gain(best_response(theta, config), theta, config)), float(gain(np.full(3, -1.0), theta, config))
    (6.0, 4.5)
    """
    return -np.sum(np.asarray(theta)[..., config.places] * move, axis=-1) - cost(
        move, config
    )
