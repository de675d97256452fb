"""Credit: publish a score, and people change what it looks at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete

from pushlab.datasets.borrowers import FEATURES, WORDS, load_borrowers
from pushlab.envs.credit.people import WEIGHTS, best_response, cost, credit_config
from pushlab.envs.credit.rules import (
    candidate_classifiers,
    fit,
    moved,
    optimum,
    published_risk,
    share_by_score,
)
from pushlab.envs.world import World, reading
from pushlab.ground.arguments import (
    demand,
    in_short,
    naming,
    number,
    one_of,
    some_of,
    whole,
)

GROUPS = ("repaid", "behind")  # label 0 and label 1
REFERENCES = (None, "whynot-0.12")
SLACK = 1e-9  # what rounding may add to a bound


class Credit(World):
    """Publish the weights of a credit score each round; people change their features to look better.

    The score of a person is weights · features + bias, the log-odds of falling 90 days behind; above 0 they are
    refused. Whoever is scored moves the features that can be changed, epsilon times the weight, against the weight
    (`pushlab.envs.credit.people`); who falls behind stays as it is.

    Observation  "summary": Box (8,) float64: the mean of each of the three features that can be changed, of those who
                 paid back, the same of those who fell behind, in standard units, and the shares of both groups that
                 were refused (0 at the start). "table": Dict of "features", Box (n, 11) float64, everybody's features
                 as they now are and a column of ones, and "labels", Box (n,), 1 for those who fell behind
    Action       "discrete": Discrete, one of `candidates`, whose names are in `world.candidates`. "box": Box (11,)
                 float64, the weights in the order of FEATURES, then the bias, within -bound and bound: what a lender
                 who trains publishes, and the original's action
    Reward       minus the loss: the mean logistic loss on people after they have moved, plus l2_penalty / 2 times the
                 squared length of the weights
    Dynamics     without memory, each round people answer the weights from where they began; with memory from where
                 they are, so that they go on moving
    Start        nobody has moved; or everybody has answered the weights options={"theta": …}, (11,) or one row for
                 each copy
    End          never terminated; truncated at `config.end_time`, after 25 rounds
    Info         "time", rounds; and of the last step, 0 before the first: "loss"; "accuracy", the share told apart
                 rightly; "refused_repaid" and "refused_behind", the shares of both groups; "moved", how far everybody
                 now is from where they began, in standard units; "cost", what the step cost a person, in units of the
                 score
    Arguments    people       None for 18,357 generated people, the path of a table like Kaggle's cs-training.csv, or
                              Borrowers (`pushlab.datasets.borrowers`)
                 config       {parameter: value} to change, or a CreditConfig: epsilon, changeable, l2_penalty,
                              penalise_bias, memory, start_time, end_time
                 preset       "whynot": WhyNot's epsilon 0.1, no penalty, 5 rounds; `config` goes before it
                 timestep     rounds between decisions, 1
                 actions      "discrete" or "box"
                 candidates   {name: weights} for "discrete"; None takes five that are worked out from the people
                 bound        of every weight, 20
                 observe      "summary" or "table". The table is what the original shows and what a lender retrains
                              on, 1.6 MB a step; a log or a learning agent wants the summary, beside which
                              `env.unwrapped.features` gives the table when it is needed
                 visible      names of the features that are seen; None means all. The summary shows those of them that
                              can be changed: the others' means stay as they are
                 reference    "whynot-0.12" brings the original's rules back, see below, and its preset; with
                              actions="box" and observe="table" that is WhyNot's environment
    Attributes   of the environment: config, time, people; features (n, 11) as they now are; labels (n,)
    Source       Perdomo, Zrnic, Mendler-Dünner & Hardt (2020), Performative Prediction, ICML; Hardt, Megiddo,
                 Papadimitriou & Wootters (2016), Strategic Classification, ITCS; the simulator in WhyNot 0.12

    Where WhyNot is wrong this is right. There the loss itself is the reward, so that the best agent is the one who
    scores worst; the loss is taken after people have answered the same weights twice; the penalty leaves the bias out,
    and a free bias ends retraining in two rounds for every epsilon (everybody moves alike, and the bias takes it back),
    so that the circles of a large epsilon are never seen; large scores overflow; spaces are infinite; and an episode
    registered with 100 steps ends after 5. reference="whynot-0.12" brings back the first three.

    >>> import gymnasium as gym, pushlab
    >>> env = gym.make("pushlab/Credit-v0")
    >>> observation, info = env.reset(seed=7)
    >>> observation.shape, list(env.unwrapped.world.candidates)[1]
    ((8,), 'trained on the past')
    >>> observation, reward, terminated, truncated, info = env.step(1)
    >>> round(reward, 3), round(info["moved"], 3)       # half of those who fall behind get through
    (-0.508, 0.667)
    """

    name, drawing = "Credit-v0", "credit_scores"
    options = ("theta",)
    exports = ("config", "time", "timestep", "people", "features", "labels")

    def __init__(
        self,
        people: Any = None,
        config: Any = None,
        preset: str | None = None,
        timestep: int = 1,
        actions: str = "discrete",
        candidates: Mapping[str, Any] | None = None,
        bound: float = 20.0,
        observe: str = "summary",
        visible: Any = None,
        reference: str | None = None,
    ):
        one_of("reference", reference, REFERENCES)
        one_of("actions", actions, ("discrete", "box"))
        self.observed = one_of("observe", observe, ("summary", "table"))
        self.reference = reference
        with naming("people", people):
            self.people = load_borrowers(people)
        self.config = credit_config(
            config, "whynot" if preset is None and reference is not None else preset
        )
        if reference is not None:
            self.config = replace(self.config, penalise_bias=False)
        length = int(self.config.end_time - self.config.start_time)
        whole("timestep", timestep, 1, length, of="rounds of the episode")
        self.timestep, self.length = int(timestep), length
        self.steps = self.most_steps = -(-length // int(timestep))
        number("bound", bound, above=0, most=1_000_000)
        self.bound, self._places = float(bound), self.config.places
        self._set_actions(actions, candidates)
        self._set_observations(visible)

    # ------------------------------------------------------------ spaces

    def _set_actions(self, actions, candidates):
        if actions == "box":
            demand(candidates is None, "candidates are for actions='discrete'")
            self.candidates = None
            self.action_space = Box(
                -self.bound, self.bound, (len(WEIGHTS),), np.float64
            )
            self.action_names = WEIGHTS
            return
        if candidates is None:
            candidates = dict(candidate_classifiers(self.people, self.config))
        if not isinstance(candidates, dict) or not candidates:
            raise ValueError(
                f"candidates is a dict of at least one name and its weights; got {in_short(candidates)}"
            )
        self.candidates = {
            str(name): self._as_weights(weights, f"candidates: {name!r}")
            for name, weights in candidates.items()
        }
        self._weights = np.array(list(self.candidates.values()))
        self.action_space = Discrete(len(self.candidates))
        self.action_choices = [("classifier", list(self.candidates))]

    def _as_weights(self, weights, what, copies=None):
        """Weights as an array (11,), or (copies, 11); ValueError says what is wrong with them."""
        try:
            array = np.array(weights, np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(
                f"{what} has {len(WEIGHTS)} numbers as weights; got {in_short(weights)}"
            ) from None
        shapes = [(len(WEIGHTS),)] + (
            [] if copies is None else [(copies, len(WEIGHTS))]
        )
        if array.shape not in shapes:
            raise ValueError(
                f"{what} has {len(WEIGHTS)} weights, one for each feature and the bias; got the shape "
                f"{array.shape}"
            )
        if not (np.abs(array) <= self.bound).all():
            raise ValueError(
                f"{what} has weights from {-self.bound:g} to {self.bound:g}, the bound; got "
                f"{array.tolist()}"
            )
        return array

    def _set_observations(self, visible):
        self.visible = visible = (
            FEATURES if visible is None else some_of("visible", visible, FEATURES)
        )
        self.seen = np.array(
            [*(FEATURES.index(name) for name in visible), len(FEATURES)]
        )  # and the bias
        # With memory every round may add a step, and the start another one.
        reach = (
            self.config.epsilon
            * self.bound
            * (self.length + 1 if self.config.memory else 1)
            * (1 + SLACK)
            + SLACK
        )
        if self.observed == "table":
            self.observation_space = self._table_space(reach)
            return
        self._shown = [
            at for at, name in enumerate(self.config.changeable) if name in visible
        ]
        self._means = self.people.means[:, self._places[self._shown]]
        bounds = (
            np.append(np.ravel(self._means - reach), [0, 0]),
            np.append(np.ravel(self._means + reach), [1, 1]),
        )
        self.observation_space = Box(*bounds, dtype=np.float64)
        shown = [self.config.changeable[at] for at in self._shown]
        self.observation_names = tuple(
            f"{name}.{group}" for group in GROUPS for name in shown
        ) + tuple(f"refused.{group}" for group in GROUPS)

    def _table_space(self, reach):
        features, n = self.people.features, len(self.people)
        low, high = features.min(axis=0) - SLACK, features.max(axis=0) + SLACK
        low[self._places] -= reach
        high[self._places] += reach
        low, high = np.append(low, 0.0)[self.seen], np.append(high, 1.0)[self.seen]
        return Dict(
            {
                "features": Box(
                    np.tile(low, (n, 1)), np.tile(high, (n, 1)), dtype=np.float64
                ),
                "labels": Box(0.0, 1.0, (n,), np.float64),
            }
        )

    # ------------------------------------------------------------ the world

    def initial(self, draws: np.ndarray, options: Mapping[str, Any]) -> dict:
        n, shift = len(draws), np.zeros((len(draws), len(self._places)))
        if "theta" in options:
            shift = shift + best_response(
                self._as_weights(options["theta"], "theta", n), self.config
            )
        return {
            "shift": shift,
            "refused": np.zeros((n, 2)),
            "step": np.zeros(n, np.int64),
        }

    def advance(self, state: dict, action: Any, draws: np.ndarray) -> tuple[dict, dict]:
        if self._known is not None:
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
        theta = (
            action if self.candidates is None else self._weights.take(action, axis=0)
        )
        return self._publish(state, theta)

    @cached_property
    def _known(self):
        """What each candidate leads to where people have no memory, the same in every round; None elsewhere."""
        if self.candidates is None or self.config.memory:
            return None
        n = len(self._weights)
        after, outcome = self._publish(
            {"shift": np.zeros((n, len(self._places))), "step": np.zeros(n, np.int64)},
            self._weights,
        )
        return {**outcome, "shift": after["shift"], "refused": after["refused"]}

    def _publish(self, state, theta):
        move, step = best_response(theta, self.config), state["step"]
        if self.config.memory:
            rounds = np.minimum(self.timestep, self.length - step * self.timestep)[
                :, None
            ]
            shift, spent = (
                state["shift"] + rounds * move,
                rounds[:, 0] * cost(move, self.config),
            )
        else:
            shift, spent = move, cost(move, self.config)
        risk = published_risk(
            self.people,
            theta,
            shift if self.reference is None else shift + move,
            self.config,
        )
        outcome = {
            "theta": theta,
            "before": state["shift"],
            "loss": risk["loss"],
            "accuracy": risk["accuracy"],
            "refused_repaid": risk["refused"][:, 0],
            "refused_behind": risk["refused"][:, 1],
            "moved": np.sqrt(np.sum(shift * shift, axis=1)),
            "cost": spent,
            "reward": -risk["loss"] if self.reference is None else risk["loss"],
        }
        return {"shift": shift, "refused": risk["refused"], "step": step + 1}, outcome

    def observe(self, state: dict) -> Any:
        shift = state["shift"]
        if self.observed == "table":
            table = np.repeat(self.people.table[None], len(shift), axis=0)
            table[:, :, self._places] += shift[:, None]
            labels = np.repeat(self.people.labels[None], len(shift), axis=0)
            return {"features": table[:, :, self.seen], "labels": labels}
        means = self._means + shift[:, None, self._shown]
        return np.concatenate([means.reshape(len(shift), -1), state["refused"]], axis=1)

    def truncated(self, state: dict) -> np.ndarray:
        return state["step"] >= self.steps

    def info(self, state: dict, outcome: dict | None) -> dict:
        told = {
            key: np.zeros(len(state["step"])) if outcome is None else outcome[key]
            for key in (
                "loss",
                "accuracy",
                "refused_repaid",
                "refused_behind",
                "moved",
                "cost",
            )
        }
        return {"time": self._time(state["step"]), **told}

    def _time(self, step):
        return (
            self.config.start_time + np.minimum(step * self.timestep, self.length)
        ).astype(np.float64)

    # ------------------------------------------------------------ what an environment offers

    @reading
    def time(self, env: Any) -> float:
        """The round now; that of the start before the first reset."""
        return float(
            self.config.start_time
            if env.state is None
            else self._time(env.state["step"])[0]
        )

    @reading
    def features(self, env: Any) -> np.ndarray:
        """Everybody's features as they now are and a column of ones, (n, 11), made when it is asked for."""
        shift = 0.0 if env.state is None else env.state["shift"][0]
        return moved(self.people, shift, self.config)

    @property
    def labels(self) -> np.ndarray:
        """Who fell behind, (n,), read-only."""
        return self.people.labels

    # ------------------------------------------------------------ pictures

    @cached_property
    def past(self) -> np.ndarray:
        """The weights that are best on people who have not moved, (11,)."""
        return fit(self.people.table, self.people.labels, self.config)

    @cached_property
    def foreseen(self) -> np.ndarray:
        """The weights with the smallest loss after people have answered them, (11,); ValueError where there are none.

        There are none with memory, where people never come to rest, and under a reference, whose loss is another.
        """
        demand(
            not self.config.memory and self.reference is None,
            "weights that foresee the answer are known without memory and without reference only",
        )
        return optimum(self.people, self.config)

    @cached_property
    def best_loss(self) -> float | None:
        """The loss of `foreseen`, or None."""
        if self.config.memory or self.reference is not None:
            return None
        theta = self.foreseen[None]
        return published_risk(
            self.people, theta, best_response(theta, self.config), self.config
        )["loss"].item()

    def frame(self, state: dict, outcome: dict | None, at: int = 0) -> dict:
        """Return what `pushlab.plots.credit_scores` draws, a plain dict.

        env, step, of         Name of the world, round, number of rounds.
        people, source, epsilon, memory  How many people, from where, how easily they move, and whether they stay there.
        theta, choice         {weight: value} published, and the name of the candidate or None.
        scores                For those who paid back and those who fell behind: the share of people in each bin of
                              SCORES where everybody began, and where they are now; before the first step by the
                              weights of the past.
        refused               The shares refused in the same four cases.
        promised              The loss of the weights on people as they were when the weights were published.
        best                  The lowest loss that can be reached, or None.
        shift, words          {feature: standard deviations that people have moved}, {feature: its name in words}.
        loss, accuracy, cost, reward  Of the last round; missing before the first.
        """
        shift, published = state["shift"][at], outcome is not None
        theta = outcome["theta"][at] if published else self.past
        before = outcome["before"][at] if published else shift
        losses = published_risk(
            self.people,
            np.stack([theta] * 3),
            np.stack([0 * shift, before, shift]),
            self.config,
        )
        score, step = self.people.table @ theta, theta[self._places] @ shift
        choice = None  # the name of a candidate; there are none where weights are free
        if published and self.candidates is not None:
            choice = list(self.candidates)[
                int((self._weights == theta).all(axis=1).argmax())
            ]
        told = (
            {
                key: float(outcome[key][at])
                for key in ("loss", "accuracy", "cost", "reward")
            }
            if published
            else {}
        )
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
            "scores": [
                [
                    share_by_score(score[self.people.labels == group] + moved_by)
                    for moved_by in (0.0, step)
                ]
                for group in (0, 1)
            ],
            "refused": losses["refused"][[0, 2]].T.tolist(),
            "promised": losses["loss"][1].item(),
            "best": self.best_loss,
            "shift": dict(zip(self.config.changeable, shift.tolist())),
            "words": dict(zip(FEATURES, WORDS)),
            **told,
        }
