"""Lenders: trained once, trained again each round, a step of gradient descent each round, and one who foresees."""

import numpy as np

from pushlab.agents.protocol import Deterministic
from pushlab.datasets.borrowers import FEATURES
from pushlab.envs.credit.rules import fit, logistic_loss
from pushlab.ground.arguments import number

WEIGHTS = len(FEATURES) + 1


class Lender(Deterministic):
    """What lenders share: they see the people, publish weights, and keep the last ones.

    A lender trains on the observation where it is a table, else on what the environment shows of its people when
    asked. Features that are not visible get the weight 0; weights are kept within the bound of the action space.
    """

    name = "lender"

    def __init__(self) -> None:
        self.theta = None

    def begin(self, env, seed):
        world = getattr(env.unwrapped, "world", None)
        if not hasattr(world, "people"):
            raise ValueError(
                f"{self.name} judges borrowers; this environment has none, pushlab/Credit-v0 has"
            )
        if world.candidates is not None:
            raise ValueError(
                f"{self.name} publishes weights of its own: make the environment with actions='box'"
            )
        self._env, self._world = env.unwrapped, world

    def act(self, observation, info, explore=True):
        self.theta = np.clip(
            self.published(observation), -self._world.bound, self._world.bound
        )
        return self.theta.copy()

    def published(self, observation: np.ndarray) -> np.ndarray:
        """The weights (11,) to publish now."""
        raise NotImplementedError(f"{type(self).__name__} has to say what it publishes")

    def sees(self, observation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The people as they are now: a table (n, p) of the visible features and ones, and labels (n,)."""
        if isinstance(observation, dict):
            return observation["features"], observation["labels"]
        seen = self._world.seen
        table = self._env.features
        return (table if len(seen) == WEIGHTS else table[:, seen]), self._env.labels

    def trained(self, observation: np.ndarray) -> np.ndarray:
        """The weights (11,) that are best on the people as they are now."""
        theta = np.zeros(WEIGHTS)
        seen, last = self._world.seen, self.theta
        theta[seen] = fit(
            *self.sees(observation),
            self._world.config,
            start=None if last is None else last[seen],
        )
        return theta

    def state(self):
        return {} if self.theta is None else {"theta": self.theta.copy()}

    def load(self, state):
        unknown = sorted(set(state) - {"theta"})
        if unknown or np.shape(state.get("theta", np.zeros(WEIGHTS))) != (WEIGHTS,):
            raise ValueError(
                f"{self.name} keeps theta, {WEIGHTS} weights; got {', '.join(state)}"
            )
        self.theta = np.array(state["theta"], np.float64) if "theta" in state else None


class TrainedOnce(Lender):
    """Trains on the first people it sees and publishes that for ever."""

    name = "trained once"

    def published(self, observation: np.ndarray) -> np.ndarray:
        return self.trained(observation) if self.theta is None else self.theta


class Retrained(Lender):
    """Trains anew each round on people as the last weights have moved them: repeated risk minimisation.

    Source   Perdomo et al. (2020), section 3: it settles where epsilon is small against how strongly convex the loss
             is (theorem 3.5), and may run in circles where it is not

    >>> import gymnasium as gym, pushlab
    >>> from pushlab.logs.rollout import rollout
    >>> env = gym.make("pushlab/Credit-v0", actions="box")
    >>> log = rollout(env, Retrained(), steps=4, progress=False)
    >>> log["info.loss"].round(4).tolist()
    [0.5075, 0.4922, 0.4922, 0.4922]
    """

    name = "retrained"

    def published(self, observation: np.ndarray) -> np.ndarray:
        return self.trained(observation)


class GradientStep(Lender):
    """Trains on the first people it sees, then takes one step down the gradient each round: repeated gradient descent.

    rate     length of a step
    Source   Perdomo et al. (2020), section 3
    """

    name = "gradient step"

    def __init__(self, rate: float = 0.5) -> None:
        super().__init__()
        self.rate = number("rate", rate, above=0)

    def published(self, observation: np.ndarray) -> np.ndarray:
        if self.theta is None:
            return self.trained(observation)
        theta, seen = self.theta.copy(), self._world.seen
        theta[seen] -= (
            self.rate
            * logistic_loss(*self.sees(observation), theta[seen], self._world.config)[1]
        )
        return theta


class Foresighted(Lender):
    """Knows how people will answer, and publishes the weights with the smallest loss after that.

    For worlds without memory and without reference; it knows all features, whatever is visible.
    """

    name = "foresighted"

    def begin(self, env, seed):
        super().begin(env, seed)
        self._foreseen = self._world.foreseen

    def published(self, observation: np.ndarray) -> np.ndarray:
        return self._foreseen
