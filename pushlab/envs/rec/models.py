"""User models of the recommender: how a user answers an item, and what the item makes of the user.

A model is one class of two methods, `user_preference_dynamics` and `reward_function`, with RECGym's names and
signatures. A third, `respond`, answers a whole batch at once; a model without it is asked copy by copy.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from pushlab.ground.arguments import in_short, number, one_of
from pushlab.ground.compiled import compiled

Array = np.ndarray
Answers = tuple[Array, Array]  # rewards (n,) and next states (n, …)
REWARD_TYPES = ("continuous", "binary")
SMALLEST = (
    2.0**-54
)  # stands in for a uniform number of 0, whose normal quantile would be minus infinity


def sigmoid(x: Any) -> Any:
    """The logistic function 1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


def standard_normal(uniforms: Array) -> Array:
    """Normal numbers with mean 0 and deviation 1 out of uniform ones, by the inverse of their distribution."""
    from scipy.special import ndtri

    return ndtri(np.maximum(uniforms, SMALLEST))


class BaseUserModel(ABC):
    """A user of a recommender. A subclass writes two methods, and nothing else if it likes.

    user_feature_dim, item_feature_dim, reward_type, reward_std, random_state
        as in `RECEnv`, which hands them to a class; in an instance, None means that the environment says it

    The state is a vector. It begins with the preference, which the agent observes; behind it a model may keep what only
    the user knows, such as how bored they are. A model keeps nothing else: whatever it remembers lies in the state.
    Chance comes from `self.random_`, a numpy Generator that the environment renews at every step, so that
    `reset(seed)` governs it (a model that sets `random_` to a RandomState, as RECGym's do, gets a RandomState).

    >>> class Flatterer(BaseUserModel):
    ...     '''Likes everything, and becomes whatever was shown last.'''
    ...     def user_preference_dynamics(self, state, action, item_feature_vector):
    ...         item = item_feature_vector[action]
    ...         return item / np.linalg.norm(item)
    ...     def reward_function(self, state, action, item_feature_vector):
    ...         return 1.0
    >>> import gymnasium as gym, pushlab
    >>> env = gym.make("pushlab/RECEnv-v0", UserModel=Flatterer)
    >>> env.reset(seed=1)[1]["user_id"], env.step(2)[1]
    (51, 1.0)
    """

    name = "user model"
    draws = 1  # uniform numbers that `respond` needs for one copy
    equal_dims = False  # whether users and items must have as many features

    def __init__(
        self,
        user_feature_dim: int | None = None,
        item_feature_dim: int | None = None,
        reward_type: str | None = None,
        reward_std: float | None = None,
        random_state: Any = None,
    ):
        self.user_feature_dim, self.item_feature_dim = (
            user_feature_dim,
            item_feature_dim,
        )
        self.reward_type, self.reward_std = reward_type, reward_std
        self.random_: Any = np.random.default_rng(
            0 if random_state is None else random_state
        )

    @abstractmethod
    def user_preference_dynamics(
        self, state: Array, action: Any, item_feature_vector: Array
    ) -> Array:
        """The state after item number `action` was shown; item_feature_vector (n_items, item_feature_dim)."""

    @abstractmethod
    def reward_function(
        self, state: Array, action: Any, item_feature_vector: Array
    ) -> float:
        """The engagement with item number `action`, judged by the state before it was shown."""

    def initial_state(self, preferences: Array, n_items: int) -> Array:
        """The states in which users begin, (n_users, …), from their preferences (n_users, user_feature_dim)."""
        return preferences

    def respond(
        self, states: Array, actions: Array, item_feature_vector: Array, draws: Array
    ) -> Answers:
        """Rewards (n,) and next states (n, …) of n users at once; draws (n, self.draws) uniform on [0, 1).

        This one asks the two methods copy by copy; a model that writes its own is served some hundred times faster.
        """
        rewards, following = np.empty(len(states)), np.empty_like(states)
        legacy = isinstance(getattr(self, "random_", None), np.random.RandomState)
        for copy, (state, action) in enumerate(zip(states, actions.tolist())):
            bits = np.random.PCG64(int(draws[copy, 0] * 2**53))
            self.random_ = (
                np.random.RandomState(bits) if legacy else np.random.Generator(bits)
            )
            reward = self.reward_function(
                state.copy(), action, item_feature_vector=item_feature_vector
            )
            moved = self.user_preference_dynamics(
                state.copy(), action, item_feature_vector=item_feature_vector
            )
            rewards[copy] = _checked(self, "reward_function", reward, ())
            following[copy] = _checked(
                self, "user_preference_dynamics", moved, state.shape
            )
        return rewards, following

    def expect(
        self, states: Array, actions: Array, item_feature_vector: Array
    ) -> Answers:
        """Expected rewards (n,) and next states (n, …), for planners; a model with noise should write its own.

        This one takes what one fixed draw of chance gives.
        """
        draws = np.full((len(states), max(1, getattr(self, "draws", 1))), 0.5)
        if has_batch_method(self):
            return self.respond(states, actions, item_feature_vector, draws)
        return BaseUserModel.respond(self, states, actions, item_feature_vector, draws)


def _checked(model, method, value, shape):
    """What a user's model returned, as finite numbers of the right shape; ValueError names the method."""
    array = np.asarray(value, float)
    if array.size == 1 and shape == ():
        array = array.reshape(())
    if array.shape != shape or not np.isfinite(array).all():
        wanted = f"finite numbers of shape {shape}" if shape else "a finite number"
        raise ValueError(
            f"{type(model).__name__}.{method} must return {wanted}; got {in_short(value)}"
        )
    return array


def has_batch_method(model: Any) -> bool:
    """Whether the model's `respond` was written for what its two methods do.

    It was not where a class has none of its own, or changes one of the two below the class that `respond` (of
    `UserModel`'s children `_move`, which all three are made of) is from.
    """
    for kind in type(model).__mro__:
        if {"respond", "_move"} & vars(kind).keys():
            return kind is not BaseUserModel
        if {"user_preference_dynamics", "reward_function"} & vars(kind).keys():
            return False
    return False


def batch_method(model: Any) -> Callable[..., Answers]:
    """The model's `respond`, or one that asks the model copy by copy and says so once."""
    if has_batch_method(model):
        return model.respond
    return partial(_one_by_one, model, [])


def _one_by_one(model, said, states, actions, item_feature_vector, draws):
    if len(states) > 1 and not said:
        said.append(True)
        warnings.warn(
            f"user model {type(model).__name__} has no batch method `respond` for what it does, so the "
            f"{len(states):,} copies are asked one after the other",
            stacklevel=2,
        )
    return BaseUserModel.respond(model, states, actions, item_feature_vector, draws)


# ---------------------------------------------------------------- the standard model


@compiled
def drift(states, actions, items, alpha, engagement, following):
    """Moves each preference along the item shown, in proportion to how much it is liked, and back to length 1.

    states (n, d); actions (n,); items (n_items, d). Fills engagement (n,), preference · item before the move, and
    following (n, d).
    """
    for copy in range(len(states)):
        item = items[actions[copy]]
        liked = 0.0
        for k in range(len(item)):
            liked += states[copy, k] * item[k]
        squared = 0.0
        for k in range(len(item)):
            following[copy, k] = states[copy, k] + alpha * liked * item[k]
            squared += following[copy, k] ** 2
        for k in range(len(item)):
            following[copy, k] /= np.sqrt(squared)
        engagement[copy] = liked


class UserModel(BaseUserModel):
    """The standard user, drawn to what they like and pushed away from what they dislike.

    Reward       preference · item, plus normal noise of deviation reward_std; or, binary, 1 with probability
                 sigmoid(preference · item)
    Dynamics     preference + alpha (preference · item) item, divided by its length
    alpha        step size of the drift, 0 to 1
    Source       Dean & Morgenstern (2022), Preference dynamics under personalized recommendations, EC '22, eq. 1
                 (biased assimilation); RECGym 0.2.1

    >>> user = UserModel(alpha=1.0)
    >>> items = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> user.reward_function(np.array([0.6, 0.8]), 1, items)
    0.8
    >>> user.user_preference_dynamics(np.array([0.6, 0.8]), 1, items).round(3)      # (0.6, 1.6) with length 1
    array([0.351, 0.936])
    """

    name = "biased assimilation"
    equal_dims = True

    def __init__(
        self,
        user_feature_dim: int | None = None,
        item_feature_dim: int | None = None,
        reward_type: str | None = None,
        reward_std: float | None = None,
        random_state: Any = None,
        alpha: float = 1.0,
    ):
        super().__init__(
            user_feature_dim, item_feature_dim, reward_type, reward_std, random_state
        )
        self.alpha = float(number("alpha", alpha, 0, 1))

    @property
    def draws(self) -> int:  # type: ignore[override]
        """One number for a reward that chance has a part in, else none."""
        return int(self.reward_type == "binary" or bool(self.reward_std))

    def user_preference_dynamics(
        self, state: Array, action: Any, item_feature_vector: Array
    ) -> Array:
        return self._move_one(state, action, item_feature_vector)[1][0]

    def reward_function(
        self, state: Array, action: Any, item_feature_vector: Array
    ) -> float:
        liked = self._move_one(state, action, item_feature_vector)[0].item()
        if self.reward_type == "binary":
            return float(self.random_.random() < sigmoid(liked))
        return liked + (
            self.random_.normal(scale=self.reward_std) if self.reward_std else 0.0
        )

    def _move_one(self, state, action, items):
        """As `_move`, of one user; an item that is not there, or that does not fit, is an IndexError or ValueError."""
        state, items, action = (
            np.asarray(state, float),
            np.asarray(items, float),
            np.array([action]).ravel(),
        )
        items[action] @ state[: items.shape[1]]
        return self._move(state[None], action, items)

    def respond(
        self, states: Array, actions: Array, item_feature_vector: Array, draws: Array
    ) -> Answers:
        engagement, following = self._move(states, actions, item_feature_vector)
        return self._answer(engagement, draws), following

    def expect(
        self, states: Array, actions: Array, item_feature_vector: Array
    ) -> Answers:
        engagement, following = self._move(states, actions, item_feature_vector)
        return sigmoid(
            engagement
        ) if self.reward_type == "binary" else engagement, following

    def _move(self, states, actions, items):
        """Engagement before noise (n,), and next states."""
        engagement, following = np.empty(len(states)), np.empty_like(states)
        drift(states, actions, items, self.alpha, engagement, following)
        return engagement, following

    def _answer(self, engagement, draws):
        """Rewards (n,) out of engagement: noisy, or a yes or no."""
        if self.reward_type == "binary":
            return (draws[:, 0] < sigmoid(engagement)).astype(float)
        return (
            engagement + self.reward_std * standard_normal(draws[:, 0])
            if self.reward_std
            else engagement
        )


# ---------------------------------------------------------------- two others


class NoDrift(UserModel):
    """A user who stays as they are, whatever is shown: what most recommenders assume. Rewards as in `UserModel`.

    Source  the stationary preferences of matrix factorisation: Koren, Bell & Volinsky (2009), Matrix factorization
            techniques for recommender systems, Computer 42(8), 30-37.
    """

    name = "no drift"

    def __init__(self, **told: Any):
        super().__init__(**told, alpha=0.0)

    def _move(self, states, actions, items):
        return (states * items[actions]).sum(axis=1), states.copy()


class Satiation(UserModel):
    """A user who tires of what they see again and again, and recovers from it in between.

    Reward       preference · item - weight × satiation with it, then noise or a yes or no as in `UserModel`
    Dynamics     satiation with each item becomes keep × (satiation + 1 if it was shown); the preference stays
    State        the preference, then the satiation with each item, which the agent does not observe
    keep         share of satiation that is left after a step, 0 to below 1
    weight       reward lost to a satiation of 1
    Source       Leqi, Kılınç-Karzan, Lipton & Montgomery (2021), Rebounding bandits for modeling satiation effects,
                 NeurIPS 34, eqs. 1 and 2, without their noise in satiation; the two values are ours
    """

    name = "satiation"

    def __init__(self, *, keep: float = 0.7, weight: float = 0.3, **told: Any):
        super().__init__(**told, alpha=0.0)
        self.keep, self.weight = (
            float(number("keep", keep, 0, below=1)),
            float(number("weight", weight, 0)),
        )

    def initial_state(self, preferences: Array, n_items: int) -> Array:
        return np.hstack([preferences, np.zeros((len(preferences), n_items))])

    def _move(self, states, actions, items):
        features, copies = items.shape[1], np.arange(len(states))
        liked = (states[:, :features] * items[actions]).sum(axis=1)
        engagement = liked - self.weight * states[copies, features + actions]
        following = states.copy()
        following[copies, features + actions] += 1
        following[:, features:] *= self.keep
        return engagement, following


def named_model(told: str | Mapping[str, Any]) -> Any:
    """The user model that a name, or {"name": …, its arguments}, stands for: a class, or an instance.

    >>> named_model({"name": "UserModel", "alpha": 0.25}).alpha
    0.25
    """
    models = {model.__name__: model for model in (UserModel, NoDrift, Satiation)}
    arguments = dict(told) if isinstance(told, Mapping) else {"name": told}
    model = models[one_of("UserModel by name", arguments.pop("name", told), models)]
    return model(**arguments) if arguments else model
