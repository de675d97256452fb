"""Credit: publish a score, and people change what it looks at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete
from numpy import ndarray

from pushlab.datasets.borrowers import FEATURES, WORDS, load_borrowers
from pushlab.envs.credit.rules import (
    WEIGHTS,
    best_response,
    candidate_classifiers,
    cost,
    credit_config,
    fit,
    moved,
    optimum,
    published_risk,
    share_by_score,
)
from pushlab.envs.ode.models import whynot_preset
from pushlab.envs.world import World, reading
from pushlab.ground.arguments import (
    demand,
    in_short,
    naming,
    number,
    numbers,
    one_of,
    some_of,
)

GROUPS = ("repaid", "behind")  # label 0 and label 1
TOLD = ("loss", "accuracy", "refused_repaid", "refused_behind", "moved", "cost")
SLACK = 1e-9  # what rounding can add to a bound


class Credit(World):
    """Publish the weights of a credit score each round; people change their features to look better.

    The score of a person is weights · features + bias, the log-odds of falling 90 days behind; above 0 they are
    refused. Everybody moves the features that can be changed against the weights, by epsilon times the weight
    (`pushlab.envs.credit.rules`). Who falls behind stays as it is.

    Observation:
        "summary": Box(8,) float64: the mean of each of the three features that can be changed, of those who paid back,
        the same of those who fell behind, in standard units, and the shares of both groups that were refused (0 at the
        start). "table": Dict of "features", Box(n, 11) float64, everybody's features now and a column of ones, and
        "labels", Box(n,), 1 for those who fell behind.

    Action:
        "discrete": Discrete, one of `candidates`, whose names are in `world.candidates`. "box": Box(11,) float64, the
        weights in the order of FEATURES, then the bias, within -bound and bound: what a lender who trains publishes,
        and the original's action.

    Reward:
        Minus the loss: the mean logistic loss on people after they have moved, plus l2_penalty / 2 times the squared
        length of the weights.

    Dynamics:
        Without memory, people answer the weights in each round from where they began. With memory they answer from
        where they are, so that they go on moving.

    Start:
        Nobody has moved; or everybody has answered the weights options={"theta": ...}, (11,) or one row for each copy.

    End:
        Never terminated; truncated at `config.end_time`, after 25 rounds.

    Info:
        "time", rounds; and of the last step, 0 before the first: "loss"; "accuracy", the share of right decisions;
        "refused_repaid" and "refused_behind", the shares of both groups; "moved", how far everybody is from where they
        began, in standard units; "cost", the cost of the step for a person, in units of the score.

    Args:
        people: None for 18,357 generated people, the path of a table like Kaggle's cs-training.csv, or Borrowers
            (`pushlab.datasets.borrowers`).
        config: {parameter: value} to change, or a CreditConfig: epsilon, changeable, l2_penalty, penalise_bias, memory,
            start_time, end_time.
        preset: "whynot": WhyNot's epsilon 0.1, no penalty, 5 rounds. `config` overrides it.
        actions: "discrete" or "box".
        candidates: {name: weights} for "discrete"; None computes five from the people.
        bound: Of every weight, 20.
        observe: "summary" or "table". The table is what the original shows and what a lender retrains on, 1.6 MB a
            step. For logs and learning agents the summary is better; `env.unwrapped.features` has the table then.
        visible: Names of the features that are seen; None is all. The summary shows those of them that can be changed:
            the others' means don't change.
        reference: "whynot-0.12" has the original's rules, see below, and its preset. With actions="box" and
            observe="table" that is WhyNot's environment.

    Attributes:
        config, time, people, features, labels: Of the environment; features (n, 11) are the current ones.

    Source:
        Perdomo, Zrnic, Mendler-Dünner & Hardt (2020), Performative Prediction, ICML; Hardt, Megiddo, Papadimitriou &
        Wootters (2016), Strategic Classification, ITCS; the simulator in WhyNot 0.12.

    WhyNot has faults that this world doesn't have. There the loss itself is the reward, so that the best agent is the
    one who scores worst. The loss is taken after people have answered the same weights twice. The penalty leaves the
    bias out, and a free bias ends retraining in two rounds for every epsilon (everybody moves alike, and the bias takes
    it back), so that the circles of a large epsilon are never seen. Large scores overflow, spaces are infinite, and an
    episode registered with 100 steps ends after 5. reference="whynot-0.12" brings back the first three.

    >>> import gymnasium as gym, pushlab
    >>> env = gym.make("pushlab/Credit-v0")
    >>> observation, info = env.reset(seed=7)
    >>> observation.shape, list(env.unwrapped.world.candidates)[1]
    ((8,), 'trained on the past')
    >>> observation, reward, terminated, truncated, info = env.step(1)
    >>> round(reward, 3), round(info["moved"], 3)       # half of those who fall behind are accepted
    (-0.508, 0.667)
    """

    name, drawing = "Credit-v0", "credit_scores"
    options = ("theta",)
    exports = ("config", "time", "people", "features", "labels")

    def __init__(
        self,
        people: Any = None,
        config: Any = None,
        preset: str | None = None,
        actions: str = "discrete",
        candidates: Mapping[str, Any] | None = None,
        bound: float = 20.0,
        observe: str = "summary",
        visible: Any = None,
        reference: str | None = None,
    ):
        one_of("actions", actions, ("discrete", "box"))
        self.observed = one_of("observe", observe, ("summary", "table"))
        self.config = credit_config(config, whynot_preset(reference, preset))
        self.reference = reference
        if reference is not None:
            self.config = replace(self.config, penalise_bias=False)
        with naming("people", people):
            self.people = load_borrowers(people)
        self.steps = self.most_steps = self.config.end_time - self.config.start_time
        self.bound = float(number("bound", bound, above=0, most=1_000_000))
        self.visible = FEATURES
        if visible is not None:
            self.visible = some_of("visible", visible, FEATURES)
        self._places = self.config.places
        self._set_actions(actions, candidates)
        self._set_observations()

    def _set_actions(self, actions, candidates):
        if actions == "box":
            demand(candidates is None, "candidates are for actions='discrete'")
            self.candidates = None
            shape = (len(WEIGHTS),)
            self.action_space = Box(-self.bound, self.bound, shape, np.float64)
            self.action_names = WEIGHTS
            return
        if candidates is None:
            candidates = candidate_classifiers(self.people, self.config)
        demand(
            isinstance(candidates, dict) and candidates,
            f"candidates is {{name: weights}}; got {in_short(candidates)}",
        )
        self.candidates = {
            str(name): self._as_weights(f"candidates: {name!r}", weights)
            for name, weights in candidates.items()
        }
        self._weights = np.array(list(self.candidates.values()))
        self.action_space = Discrete(len(self.candidates))
        self.action_choices = [("classifier", list(self.candidates))]

    def _as_weights(self, name, weights, copies=None):
        """Return weights as an array (11,), or (copies, 11)."""
        array = numbers(name, weights)
        n = len(WEIGHTS)
        demand(
            array.shape in ((n,), (copies, n)),
            f"{name} has {n} weights, one for each feature and the bias; got the shape {array.shape}",
        )
        demand(
            (np.abs(array) <= self.bound).all(),
            f"{name} has weights from {-self.bound:g} to {self.bound:g}, the bound; got {in_short(weights)}",
        )
        return array

    def _set_observations(self):
        config = self.config
        # Positions of the visible features and of the bias.
        seen = [FEATURES.index(name) for name in self.visible]
        self.seen = np.array([*seen, len(FEATURES)])
        # With memory every round can add a step, and the start another one.
        rounds = self.steps + 1 if config.memory else 1
        reach = config.epsilon * self.bound * rounds * (1 + SLACK) + SLACK
        if self.observed == "table":
            self.observation_space = self._table_space(reach)
            return
        names = [name for name in config.changeable if name in self.visible]
        self._shown = [config.changeable.index(name) for name in names]
        self._means = self.people.means[:, self._places[self._shown]]
        low = np.append(self._means - reach, [0, 0])
        high = np.append(self._means + reach, [1, 1])
        self.observation_space = Box(low, high, dtype=np.float64)
        names = [f"{name}.{group}" for group in GROUPS for name in names]
        self.observation_names = (*names, *(f"refused.{group}" for group in GROUPS))

    def _table_space(self, reach):
        features = self.people.features
        n = len(features)
        low = np.append(features.min(axis=0) - SLACK, 0.0)
        high = np.append(features.max(axis=0) + SLACK, 1.0)
        low[self._places] -= reach
        high[self._places] += reach
        rows = [np.tile(bound[self.seen], (n, 1)) for bound in (low, high)]
        return Dict(
            {
                "features": Box(*rows, dtype=np.float64),
                "labels": Box(0.0, 1.0, (n,), np.float64),
            }
        )

    def initial(self, draws, options):
        n = len(draws)
        shift = np.zeros((n, len(self._places)))
        if "theta" in options:
            theta = self._as_weights("theta", options["theta"], n)
            shift = shift + best_response(theta, self.config)
        return {
            "shift": shift,
            "refused": np.zeros((n, 2)),
            "step": np.zeros(n, np.int64),
        }

    def advance(self, state, action, draws):
        if self._known is None:
            theta = action
            if self.candidates is not None:
                theta = self._weights.take(action, axis=0)
            return self._publish(state, theta)
        outcome = {
            key: values.take(action, axis=0) for key, values in self._known.items()
        }
        after = {
            "shift": outcome.pop("shift"),
            "refused": outcome.pop("refused"),
            "step": state["step"] + 1,
        }
        outcome["before"] = state["shift"]
        return after, outcome

    @cached_property
    def _known(self):
        """The outcome of each candidate if people have no memory, the same in every round; otherwise None."""
        if self.candidates is None or self.config.memory:
            return None
        start = self.initial(self._weights, {})
        after, outcome = self._publish(start, self._weights)
        return {**outcome, "shift": after["shift"], "refused": after["refused"]}

    def _publish(self, state, theta):
        shift = move = best_response(theta, self.config)
        if self.config.memory:
            shift = state["shift"] + move
        judged = shift if self.reference is None else shift + move
        risk = published_risk(self.people, theta, judged, self.config)
        loss = risk["loss"]
        refused = risk["refused"]
        outcome = {
            "theta": theta,
            "before": state["shift"],
            "loss": loss,
            "accuracy": risk["accuracy"],
            "refused_repaid": refused[:, 0],
            "refused_behind": refused[:, 1],
            "moved": np.sqrt(np.sum(shift * shift, axis=1)),
            "cost": cost(move, self.config),
            "reward": -loss if self.reference is None else loss,
        }
        return {"shift": shift, "refused": refused, "step": state["step"] + 1}, outcome

    def observe(self, state):
        shift = state["shift"]
        n = len(shift)
        if self.observed == "table":
            table = np.repeat(self.people.table[None], n, axis=0)
            table[:, :, self._places] += shift[:, None]
            labels = np.repeat(self.people.labels[None], n, axis=0)
            return {"features": table[:, :, self.seen], "labels": labels}
        means = self._means + shift[:, None, self._shown]
        return np.concatenate([means.reshape(n, -1), state["refused"]], axis=1)

    def truncated(self, state):
        return state["step"] >= self.steps

    def info(self, state, outcome):
        if outcome is None:
            outcome = dict.fromkeys(TOLD, np.zeros(len(state["step"])))
        return {
            "time": self.config.start_time + state["step"].astype(np.float64),
            **{key: outcome[key] for key in TOLD},
        }

    @reading
    def time(self, env: Any) -> float:
        """The current round; before the first reset the start time."""
        step = 0 if env.state is None else env.state["step"][0]
        return float(self.config.start_time + step)

    @reading
    def features(self, env: Any) -> ndarray:
        """Everybody's current features and a column of ones, (n, 11), a new array."""
        shift = 0.0 if env.state is None else env.state["shift"][0]
        return moved(self.people, shift, self.config)

    @property
    def labels(self) -> ndarray:
        """Who fell behind, (n,), read-only."""
        return self.people.labels

    @cached_property
    def past(self) -> ndarray:
        """The weights that are best on people who haven't moved, (11,)."""
        return fit(self.people.table, self.people.labels, self.config)

    @cached_property
    def foreseen(self) -> ndarray:
        """The weights with the smallest loss after people have answered them, (11,).

        Raises:
            ValueError: The world has memory, so that people never come to rest, or a reference, whose loss differs.
        """
        demand(
            not self.config.memory and self.reference is None,
            "weights that foresee the answer are known without memory and without reference only",
        )
        return optimum(self.people, self.config)

    @cached_property
    def best_loss(self) -> float | None:
        """The loss of `foreseen`; None if it raises."""
        if self.config.memory or self.reference is not None:
            return None
        theta = self.foreseen[None]
        move = best_response(theta, self.config)
        return published_risk(self.people, theta, move, self.config)["loss"].item()

    def frame(self, state, outcome, at=0):
        """Return the data that `pushlab.plots.credit_scores` draws, a plain dict.

        - `env`, `step`, `of`: Name of the world, round, number of rounds.
        - `people`, `source`, `epsilon`, `memory`: How many people, from where, how easily they
          move, and whether they stay there.
        - `theta`, `choice`: {weight: value} published, and the name of the candidate or None.
        - `scores`: For those who paid back and those who fell behind: the share of people in each
          bin of SCORES where everybody began, and where they are now; before the first step by the
          weights of the past.
        - `refused`: The shares refused in the same four cases.
        - `promised`: The loss of the weights on people as they were when the weights were
          published.
        - `best`: The lowest loss that can be reached, or None.
        - `shift`, `words`: {feature: standard deviations that people have moved}, {feature: its
          name in words}.
        - `loss`, `accuracy`, `cost`, `reward`: Of the last round; missing before the first.
        """
        shift = state["shift"][at]
        theta = self.past
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
        moved_by = theta[self._places] @ shift
        scores = []
        for group in (0, 1):
            first = score[self.people.labels == group]
            scores.append([share_by_score(first), share_by_score(first + moved_by)])
        return {
            "env": self.name,
            "step": int(state["step"][at]),
            "of": self.steps,
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
            "shift": dict(zip(self.config.changeable, shift.tolist())),
            "words": dict(zip(FEATURES, WORDS)),
            **last_round,
        }
