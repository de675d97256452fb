"""Credit: a published score, and people who change their features in response."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete
from numpy import ndarray

from pushlab.datasets.borrowers import FEATURE_LABELS, FEATURES, load_borrowers
from pushlab.envs.credit.rules import (
    WEIGHTS,
    best_response,
    candidate_classifiers,
    cost,
    credit_config,
    fit,
    optimum,
    published_risk,
    score_histogram,
    shifted_table,
)
from pushlab.envs.ode.models import whynot_preset
from pushlab.envs.world import World, exported_property
from pushlab.utils.arguments import (
    error_context,
    require,
    short_repr,
    validate_array,
    validate_choice,
)

GROUPS = ("repaid", "behind")  # label 0 and label 1
INFO_KEYS = (
    "loss",
    "accuracy",
    "refused_repaid",
    "refused_behind",
    "feature_shift",
    "cost",
)
MAX_WEIGHT = 20.0  # bound of the absolute value of each weight
SLACK = 1e-9  # rounding error that bounds allow for


class Credit(World):
    """Publish the weights of a credit score in each round; people change their features in response.

    A person's score is weights · features + bias, the log-odds of falling 90 days behind. People with a score above 0
    are refused. All people move their changeable features against the weights, by epsilon times the weight
    (`pushlab.envs.credit.rules`). Their labels don't change.

    Observation:
        "summary": Box(8,), float64: the means of the three changeable features, first of the people who paid back, then
        of those who fell behind, in standard units; and the fractions of both groups that were refused, 0 at the start.
        "table": Dict of "features", Box(n, 11), float64, the current features of all people and a column of ones; and
        "labels", Box(n,), 1 for people who fell behind.

    Action:
        "discrete": Discrete, one of `candidates`, whose names are in `world.candidates`. "box": Box(11,), float64, the
        weights in the order of FEATURES, then the bias, each from -20 to 20. This is the original's action, which
        lenders who retrain need.

    Reward:
        Minus the loss: the mean logistic loss on people after they have moved, plus l2_penalty / 2 times the squared
        length of the weights.

    Dynamics:
        Without memory, people respond in each round from their original features. With memory they respond from their
        current features, so they keep moving.

    Start:
        The original features; or people who have responded to the weights options={"theta": ...}, (11,) or one row for
        each copy.

    End:
        Never terminated; truncated at `config.end_time`, after 25 rounds.

    Info:
        "time", in rounds. The others describe the last step and are 0 before the first: "loss"; "accuracy", the
        fraction of correct decisions; "refused_repaid" and "refused_behind", the fractions of both groups;
        "feature_shift", the distance of people from their original features, in standard units; "cost", a person's cost
        of the step, in units of the score.

    Args:
        people: None for 18,357 generated people, the path of a table like Kaggle's cs-training.csv, or Borrowers
            (`pushlab.datasets.borrowers`).
        config: {parameter: value} to change, or a CreditConfig: epsilon, changeable_features, l2_penalty,
            penalise_bias, memory, start_time, end_time.
        preset: "whynot": WhyNot's epsilon 0.1, no penalty, 5 rounds. `config` overrides it.
        actions: "discrete" or "box".
        candidates: {name: weights} for "discrete"; None computes five from the people.
        observe: "summary" or "table". The table is the original's observation, which lenders who retrain need, with
            1.6 MB a step. The summary is better for logs and learning agents; `env.unwrapped.features` has the table.
        reference: "whynot-0.12" has the original's rules, see below, and its preset. With actions="box" and
            observe="table" this is WhyNot's environment.

    Attributes:
        config, time, people, features, labels: As in WhyNot; features (n, 11) are the current ones.

    Source:
        Perdomo, Zrnic, Mendler-Dünner & Hardt (2020), Performative Prediction, ICML; Hardt, Megiddo, Papadimitriou &
        Wootters (2016), Strategic Classification, ITCS; the simulator in WhyNot 0.12.

    WhyNot has faults that this world doesn't have. There the reward is the loss itself, so the best agent has the worst
    classifier. The loss is computed after people have responded to the same weights twice. The penalty leaves out the
    bias. A free bias ends retraining in two rounds for every epsilon, because all people move alike and the bias undoes
    it; the circles of a large epsilon therefore never occur. Large scores overflow, spaces are infinite, and an episode
    registered with 100 steps ends after 5. reference="whynot-0.12" restores the first three.

    >>> import gymnasium as gym, pushlab
    >>> env = gym.make("pushlab/Credit-v0")
    >>> observation, info = env.reset(seed=7)
    >>> observation.shape, list(env.unwrapped.world.candidates)[1]
    ((8,), 'trained on the past')
    >>> observation, reward, terminated, truncated, info = env.step(1)
    >>> round(reward, 3), round(info["feature_shift"], 3)       # half of the people who fall behind are accepted
    (-0.508, 0.667)
    """

    name = "Credit-v0"
    drawing = "credit_scores"
    options = ("theta",)
    exports = ("config", "time", "people", "features", "labels")

    def __init__(
        self,
        people: Any = None,
        config: Any = None,
        preset: str | None = None,
        actions: str = "discrete",
        candidates: Mapping[str, Any] | None = None,
        observe: str = "summary",
        reference: str | None = None,
    ):
        validate_choice("actions", actions, ("discrete", "box"))
        self._observation_kind = validate_choice(
            "observe", observe, ("summary", "table")
        )
        self.config = credit_config(config, whynot_preset(reference, preset))
        self.reference = reference
        if reference is not None:
            self.config = replace(self.config, penalise_bias=False)
        with error_context("people", people):
            self.people = load_borrowers(people)
        self.max_steps = self.config.end_time - self.config.start_time
        self._changeable = self.config.changeable_indices
        self._set_actions(actions, candidates)
        self._set_observations()

    def _set_actions(self, actions, candidates):
        if actions == "box":
            require(candidates is None, "candidates need actions='discrete'")
            self.candidates = None
            shape = (len(WEIGHTS),)
            self.action_space = Box(-MAX_WEIGHT, MAX_WEIGHT, shape, np.float64)
            self.action_names = WEIGHTS
            return
        if candidates is None:
            candidates = candidate_classifiers(self.people, self.config)
        require(
            isinstance(candidates, dict) and candidates,
            f"candidates must be {{name: weights}}; got {short_repr(candidates)}",
        )
        self.candidates = {
            str(name): self._validate_weights(f"candidates: {name!r}", weights)
            for name, weights in candidates.items()
        }
        self._weights = np.array(list(self.candidates.values()))
        self.action_space = Discrete(len(self.candidates))
        self.action_choices = [("classifier", list(self.candidates))]

    def _validate_weights(self, name, weights, copies=None):
        """Return weights as an array (11,) or (copies, 11)."""
        array = validate_array(name, weights)
        n = len(WEIGHTS)
        require(
            array.shape in ((n,), (copies, n)),
            f"{name} must have {n} weights, one for each feature and the bias; got the shape {array.shape}",
        )
        require(
            (np.abs(array) <= MAX_WEIGHT).all(),
            f"{name} must have weights from {-MAX_WEIGHT:g} to {MAX_WEIGHT:g}; got {short_repr(weights)}",
        )
        return array

    def _set_observations(self):
        config = self.config
        # With memory each round can add a move, and so can the start.
        n_moves = self.max_steps + 1 if config.memory else 1
        max_shift = config.epsilon * MAX_WEIGHT * n_moves * (1 + SLACK) + SLACK
        if self._observation_kind == "table":
            self.observation_space = self._table_space(max_shift)
            return
        self._means = self.people.means[:, self._changeable]
        low = np.append(self._means - max_shift, [0, 0])
        high = np.append(self._means + max_shift, [1, 1])
        self.observation_space = Box(low, high, dtype=np.float64)
        names = []
        for group in GROUPS:
            names += [f"{name}.{group}" for name in config.changeable_features]
        self.observation_names = (*names, *(f"refused.{group}" for group in GROUPS))

    def _table_space(self, max_shift):
        features = self.people.features
        n = len(features)
        low = np.append(features.min(axis=0) - SLACK, 0.0)
        high = np.append(features.max(axis=0) + SLACK, 1.0)
        low[self._changeable] -= max_shift
        high[self._changeable] += max_shift
        rows = [np.tile(bound, (n, 1)) for bound in (low, high)]
        return Dict(
            {
                "features": Box(*rows, dtype=np.float64),
                "labels": Box(0.0, 1.0, (n,), np.float64),
            }
        )

    def initial(self, draws, options):
        n = len(draws)
        shift = np.zeros((n, len(self._changeable)))
        if "theta" in options:
            theta = self._validate_weights("theta", options["theta"], n)
            shift = shift + best_response(theta, self.config)
        return {
            "shift": shift,
            "refused": np.zeros((n, 2)),
            "step": np.zeros(n, np.int64),
        }

    def advance(self, state, action, draws):
        if self._candidate_outcomes is None:
            theta = action
            if self.candidates is not None:
                theta = self._weights.take(action, axis=0)
            return self._publish(state, theta)
        outcome = {
            key: values.take(action, axis=0)
            for key, values in self._candidate_outcomes.items()
        }
        next_state = {
            "shift": outcome.pop("shift"),
            "refused": outcome.pop("refused"),
            "step": state["step"] + 1,
        }
        outcome["before"] = state["shift"]
        return next_state, outcome

    @cached_property
    def _candidate_outcomes(self):
        """The outcomes of all candidates, which are the same in every round; None if people have memory."""
        if self.candidates is None or self.config.memory:
            return None
        start = self.initial(self._weights, {})
        state, outcome = self._publish(start, self._weights)
        return {**outcome, "shift": state["shift"], "refused": state["refused"]}

    def _publish(self, state, theta):
        shift = move = best_response(theta, self.config)
        if self.config.memory:
            shift = state["shift"] + move
        scored = shift if self.reference is None else shift + move
        risk = published_risk(self.people, theta, scored, self.config)
        loss = risk["loss"]
        refused = risk["refused"]
        outcome = {
            "theta": theta,
            "before": state["shift"],
            "loss": loss,
            "accuracy": risk["accuracy"],
            "refused_repaid": refused[:, 0],
            "refused_behind": refused[:, 1],
            "feature_shift": np.sqrt(np.sum(shift * shift, axis=1)),
            "cost": cost(move, self.config),
            "reward": -loss if self.reference is None else loss,
        }
        return {"shift": shift, "refused": refused, "step": state["step"] + 1}, outcome

    def observe(self, state):
        shift = state["shift"]
        n = len(shift)
        if self._observation_kind == "table":
            table = np.repeat(self.people.table[None], n, axis=0)
            table[:, :, self._changeable] += shift[:, None]
            labels = np.repeat(self.people.labels[None], n, axis=0)
            return {"features": table, "labels": labels}
        means = self._means + shift[:, None]
        return np.concatenate([means.reshape(n, -1), state["refused"]], axis=1)

    def truncated(self, state):
        return state["step"] >= self.max_steps

    def info(self, state, outcome):
        if outcome is None:
            outcome = dict.fromkeys(INFO_KEYS, np.zeros(len(state["step"])))
        return {
            "time": self.config.start_time + state["step"].astype(np.float64),
            **{key: outcome[key] for key in INFO_KEYS},
        }

    @exported_property
    def time(self, env: Any) -> float:
        """The current round, or the start time before the first reset."""
        step = 0 if env.state is None else env.state["step"][0]
        return float(self.config.start_time + step)

    @exported_property
    def features(self, env: Any) -> ndarray:
        """The current features of all people and a column of ones, (n, 11), a new array."""
        shift = 0.0 if env.state is None else env.state["shift"][0]
        return shifted_table(self.people, shift, self.config)

    @property
    def labels(self) -> ndarray:
        """1 for people who fell behind, otherwise 0, (n,), read-only."""
        return self.people.labels

    @cached_property
    def past_weights(self) -> ndarray:
        """The best weights for people who haven't moved, (11,)."""
        return fit(self.people.table, self.people.labels, self.config)

    @cached_property
    def best_loss(self) -> float | None:
        """The smallest loss after people have responded.

        It is None with memory, since people never stop moving, and with a reference, whose loss is another.
        """
        if self.config.memory or self.reference is not None:
            return None
        theta = optimum(self.people, self.config)[None]
        move = best_response(theta, self.config)
        return published_risk(self.people, theta, move, self.config)["loss"].item()

    def frame(self, state, outcome, at=0):
        """Return the data that `pushlab.plots.credit_scores` draws, a plain dict.

        - `env`, `step`, `episode_length`: Name of the world, current round, and number of rounds.
        - `people`, `source`: Number of people, and their source.
        - `epsilon`, `memory`: Parameters of the config.
        - `theta`, `choice`: {weight: value} published, and the name of the candidate or None.
          Before the first step, `theta` has the best weights for people who haven't moved.
        - `scores`: Fractions of people in each bin of SCORE_EDGES: [[original, current], …], first
          for the people who paid back, then for the people who fell behind.
        - `refused`: Fractions refused in the same four cases.
        - `promised`: Loss of the weights on people before they responded to them.
        - `best`: The lowest loss that can be reached, or None.
        - `shift`: {feature: distance that people have moved, in standard deviations}.
        - `feature_labels`: {feature: label}.
        - `loss`, `accuracy`, `cost`, `reward`: Results of the last round; missing before the first.
        """
        shift = state["shift"][at]
        theta = self.past_weights
        before = shift
        choice = None
        last_round = {}
        if outcome is not None:
            theta = outcome["theta"][at]
            before = outcome["before"][at]
            for key in ("loss", "accuracy", "cost", "reward"):
                last_round[key] = float(outcome[key][at])
            if self.candidates is not None:
                is_published = (self._weights == theta).all(axis=1)
                choice = list(self.candidates)[int(is_published.argmax())]
        shifts = np.stack([0 * shift, before, shift])
        risk = published_risk(self.people, np.stack([theta] * 3), shifts, self.config)
        score = self.people.table @ theta
        change = theta[self._changeable] @ shift
        scores = []
        for group in (0, 1):
            original = score[self.people.labels == group]
            scores.append(
                [score_histogram(original), score_histogram(original + change)]
            )
        return {
            "env": self.name,
            "step": int(state["step"][at]),
            "episode_length": self.max_steps,
            "epsilon": self.config.epsilon,
            "people": len(self.people),
            "source": self.people.source,
            "memory": self.config.memory,
            "theta": dict(zip(WEIGHTS, theta.tolist())),
            "choice": choice,
            "scores": scores,
            "refused": risk["refused"][[0, 2]].T.tolist(),
            "promised": risk["loss"][1].item(),
            "best": self.best_loss,
            "shift": dict(zip(self.config.changeable_features, shift.tolist())),
            "feature_labels": dict(zip(FEATURES, FEATURE_LABELS)),
            **last_round,
        }
