"""User models of the recommender: a user's engagement with an item, and the change of the user's preference.

A model is a class with two methods, `user_preference_dynamics` and `reward_function`, which have RECGym's names and
signatures. An optional third method, `respond`, computes a batch at once. Without it, copies are computed one by one.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np

from pushlab.utils.arguments import (
    construct,
    require,
    short_repr,
    validate_choice,
    validate_number,
)
from pushlab.utils.compiled import compiled

Array = np.ndarray
Responses = tuple[Array, Array]  # rewards (n,) and next states (n, state_dim)
REWARD_TYPES = ("continuous", "binary")
MIN_UNIFORM = 2.0**-54  # replaces 0, whose normal quantile is -inf


def sigmoid(x: Any) -> Any:
    """Return the logistic function 1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


def standard_normal(uniforms: Array) -> Array:
    """Return the standard normal quantiles of uniform numbers."""
    from scipy.special import ndtri

    return ndtri(np.maximum(uniforms, MIN_UNIFORM))


class BaseUserModel(ABC):
    """Base class of users of a recommender.

    A subclass must define `user_preference_dynamics` and `reward_function`. The state is a vector that begins with the
    preference, which the agent observes. A model can append hidden variables, such as boredom, but must not store
    anything outside the state. Random numbers come from `self.random_`, a NumPy Generator. The environment replaces it
    before each step, so that `reset(seed=...)` controls it. A model that sets `random_` to a RandomState, as RECGym's
    models do, gets a RandomState instead.

    Args:
        user_feature_dim, item_feature_dim, reward_type, reward_std, random_state: As in `RECEnv`, which passes its
            own values to a class. In an instance, None takes the environment's value.

    >>> class Flatterer(BaseUserModel):
    ...     '''Likes all items, and prefers the last one.'''
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
    n_draws = 1  # uniform numbers that `respond` needs for each copy
    needs_equal_dims = False  # whether users and items must have equal dimensions
    random_: Any = None
    _has_warned = False

    def __init__(
        self,
        user_feature_dim: int | None = None,
        item_feature_dim: int | None = None,
        reward_type: str | None = None,
        reward_std: float | None = None,
        random_state: Any = None,
    ):
        self.user_feature_dim = user_feature_dim
        self.item_feature_dim = item_feature_dim
        self.reward_type = reward_type
        self.reward_std = reward_std
        self.random_ = np.random.default_rng(random_state or 0)

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Restore the default batch methods if the class overrides a method for one copy only."""
        super().__init_subclass__(**arguments)
        overrides = {"user_preference_dynamics", "reward_function"} & vars(cls).keys()
        if overrides and not {"respond", "_move"} & vars(cls).keys():
            cls.respond = BaseUserModel.respond  # type: ignore[method-assign]
            if "expected_step" not in vars(cls):
                cls.expected_step = BaseUserModel.expected_step  # type: ignore[method-assign]

    @abstractmethod
    def user_preference_dynamics(
        self, state: Array, action: Any, item_feature_vector: Array
    ) -> Array:
        """Return the state after item number `action` was shown.

        Args:
            state: State before, (state_dim,).
            action: Index of the item.
            item_feature_vector: Features of all items, (n_items, item_feature_dim).
        """

    @abstractmethod
    def reward_function(
        self, state: Array, action: Any, item_feature_vector: Array
    ) -> float:
        """Return the engagement with item number `action`.

        Args:
            state: State before the item was shown, (state_dim,).
            action: Index of the item.
            item_feature_vector: Features of all items, (n_items, item_feature_dim).
        """

    def initial_state(self, preferences: Array, n_items: int) -> Array:
        """Return initial states (n_users, state_dim) for preferences (n_users, user_feature_dim)."""
        return preferences

    def respond(
        self, states: Array, actions: Array, item_feature_vector: Array, draws: Array
    ) -> Responses:
        """Return rewards (n,) and next states (n, state_dim) of n users.

        This default calls the two methods for each copy. A model's own `respond` is about a hundred times faster.

        Args:
            states: States before, (n, state_dim).
            actions: Indices of items, (n,).
            item_feature_vector: Features of all items, (n_items, item_feature_dim).
            draws: Uniform random numbers on [0, 1), (n, self.n_draws).
        """
        if len(states) > 1 and not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"user model {type(self).__name__} has no batch method `respond`, so "
                f"its methods are called for each of the {len(states):,} copies",
                stacklevel=2,
            )
        rewards = np.empty(len(states))
        next_states = np.empty_like(states)
        is_legacy = isinstance(self.random_, np.random.RandomState)
        rng_class = np.random.RandomState if is_legacy else np.random.Generator
        for row, action in enumerate(actions.tolist()):
            self.random_ = rng_class(np.random.PCG64(int(draws[row, 0] * 2**53)))
            state = states[row]
            reward = self.reward_function(
                state.copy(), action, item_feature_vector=item_feature_vector
            )
            next_state = self.user_preference_dynamics(
                state.copy(), action, item_feature_vector=item_feature_vector
            )
            rewards[row] = self._validate("reward_function", reward, ())
            next_states[row] = self._validate(
                "user_preference_dynamics", next_state, state.shape
            )
        return rewards, next_states

    def expected_step(
        self, states: Array, actions: Array, item_feature_vector: Array
    ) -> Responses:
        """Return expected rewards (n,) and next states (n, state_dim), for planners.

        This default returns the result of a fixed draw. A model with noise should override it.
        """
        draws = np.full((len(states), max(1, self.n_draws)), 0.5)
        return self.respond(states, actions, item_feature_vector, draws)

    def _validate(self, method, value, shape):
        """Return the result of a method as an array; raise ValueError unless it has this shape and is finite."""
        array = np.asarray(value, float)
        if shape == () and array.size == 1:
            array = array.reshape(())
        if array.shape != shape or not np.isfinite(array).all():
            raise ValueError(
                f"{type(self).__name__}.{method} must return finite numbers of shape {shape}; "
                f"got {short_repr(value)}"
            )
        return array


@compiled
def drift(states, actions, items, alpha, engagement, next_states):
    """Fill engagement, preference · item, and next states: the preference moves along the item, with length 1.

    Args:
        states: States before, (n, d).
        actions: Indices of items, (n,).
        items: Features of all items, (n_items, d).
        alpha: Step size.
        engagement, next_states: Filled with the engagement before the move (n,) and the states after it (n, d).
    """
    for row in range(len(states)):
        item = items[actions[row]]
        product = 0.0
        for k in range(len(item)):
            product += states[row, k] * item[k]
        squared_length = 0.0
        for k in range(len(item)):
            next_states[row, k] = states[row, k] + alpha * product * item[k]
            squared_length += next_states[row, k] ** 2
        for k in range(len(item)):
            next_states[row, k] /= np.sqrt(squared_length)
        engagement[row] = product


class UserModel(BaseUserModel):
    """The standard user, whose preference moves towards liked items and away from disliked ones.

    Args:
        alpha: Step size of the drift, from 0 to 1.
        settings: Arguments of `BaseUserModel`.

    Reward:
        preference · item plus normal noise of standard deviation reward_std. If the reward is binary, 1 with
        probability sigmoid(preference · item), otherwise 0.

    Dynamics:
        preference + alpha (preference · item) item, divided by its length.

    Source:
        Dean & Morgenstern (2022), Preference dynamics under personalized recommendations, EC '22, eq. 1 (biased
        assimilation); RECGym 0.2.1

    >>> user = UserModel(alpha=1.0)
    >>> items = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> user.reward_function(np.array([0.6, 0.8]), 1, items)
    0.8
    >>> user.user_preference_dynamics(np.array([0.6, 0.8]), 1, items).round(3)      # (0.6, 1.6) with length 1
    array([0.351, 0.936])
    """

    name = "biased assimilation"
    needs_equal_dims = True

    def __init__(self, *, alpha: float = 1.0, **settings: Any):
        super().__init__(**settings)
        self.alpha = float(validate_number("alpha", alpha, 0, 1))

    @property
    def n_draws(self) -> int:  # type: ignore[override]
        """1 if the reward is random, otherwise 0."""
        return int(self.reward_type == "binary" or bool(self.reward_std))

    def user_preference_dynamics(
        self, state: Array, action: Any, item_feature_vector: Array
    ) -> Array:
        return self._move_one(state, action, item_feature_vector)[1][0]

    def reward_function(
        self, state: Array, action: Any, item_feature_vector: Array
    ) -> float:
        engagement = self._move_one(state, action, item_feature_vector)[0].item()
        if self.reward_type == "binary":
            return float(self.random_.random() < sigmoid(engagement))
        if self.reward_std:
            return engagement + self.random_.normal(scale=self.reward_std)
        return engagement

    def respond(
        self, states: Array, actions: Array, item_feature_vector: Array, draws: Array
    ) -> Responses:
        engagement, next_states = self._move(states, actions, item_feature_vector)
        if self.reward_type == "binary":
            is_engaged = draws[:, 0] < sigmoid(engagement)
            return is_engaged.astype(float), next_states
        if self.reward_std:
            noise = standard_normal(draws[:, 0])
            return engagement + self.reward_std * noise, next_states
        return engagement, next_states

    def expected_step(
        self, states: Array, actions: Array, item_feature_vector: Array
    ) -> Responses:
        engagement, next_states = self._move(states, actions, item_feature_vector)
        if self.reward_type == "binary":
            engagement = sigmoid(engagement)
        return engagement, next_states

    def _move(self, states, actions, items):
        """Return engagement without noise (n,) and next states (n, state_dim)."""
        engagement = np.empty(len(states))
        next_states = np.empty_like(states)
        drift(states, actions, items, self.alpha, engagement, next_states)
        return engagement, next_states

    def _move_one(self, state, action, items):
        """Return the result of `_move` for one copy."""
        state = np.asarray(state, float)
        items = np.asarray(items, float)
        items[action] @ state[: items.shape[1]]  # raises if the shapes differ
        return self._move(state[None], np.array([action]).ravel(), items)


class NoDrift(UserModel):
    """A user whose preference doesn't change, as most recommenders assume.

    Reward:
        As in `UserModel`.

    Source:
        The stationary preferences of matrix factorisation: Koren, Bell & Volinsky (2009), Matrix factorization
        techniques for recommender systems, Computer 42(8), 30-37.
    """

    name = "no drift"

    def __init__(self, **settings: Any):
        super().__init__(**settings, alpha=0.0)

    def _move(self, states, actions, items):
        return (states * items[actions]).sum(axis=1), states.copy()


class Satiation(UserModel):
    """A user who tires of repeated items and recovers from them.

    The state is the preference, then the satiation with each item, which the agent doesn't observe.

    Args:
        satiation_retention: Fraction of the satiation that remains after a step, from 0 to below 1.
        weight: Reward lost by a satiation of 1.

    Reward:
        preference · item - weight × satiation with the item, then noise or a binary reward as in `UserModel`.

    Dynamics:
        Satiation with an item becomes `satiation_retention` × (satiation + 1) if it was shown, otherwise
        `satiation_retention` × satiation. The preference doesn't change.

    Source:
        Leqi, Kılınç-Karzan, Lipton & Montgomery (2021), Rebounding bandits for modeling satiation effects, NeurIPS 34,
        eqs. 1 and 2, without their noise in satiation. The two default values are not from the paper.
    """

    name = "satiation"

    def __init__(
        self, *, satiation_retention: float = 0.7, weight: float = 0.3, **settings: Any
    ):
        super().__init__(**settings, alpha=0.0)
        self.satiation_retention = float(
            validate_number("satiation_retention", satiation_retention, 0, below=1)
        )
        self.weight = float(validate_number("weight", weight, 0))

    def initial_state(self, preferences: Array, n_items: int) -> Array:
        return np.hstack([preferences, np.zeros((len(preferences), n_items))])

    def _move(self, states, actions, items):
        dim = items.shape[1]
        shown = np.arange(len(states)), dim + actions
        liking = (states[:, :dim] * items[actions]).sum(axis=1)
        engagement = liking - self.weight * states[shown]
        next_states = states.copy()
        next_states[shown] += 1
        next_states[:, dim:] *= self.satiation_retention
        return engagement, next_states


MODELS = {model.__name__: model for model in (UserModel, NoDrift, Satiation)}


def build_user_model(model: Any, random_state: int, **settings: Any) -> BaseUserModel:
    """Return a new user model for an environment.

    Args:
        model: Class, instance, name of a class in MODELS, or {"name": ..., argument: value}.
        random_state: Seed for a class.
        settings: The environment's values. They are the arguments of a class, and replace None in an instance.

    >>> build_user_model({"name": "UserModel", "alpha": 0.25}, 0, reward_type="binary", reward_std=0.0).alpha
    0.25
    """
    if isinstance(model, str):
        model = {"name": model}
    if isinstance(model, Mapping):
        arguments = dict(model)
        name = validate_choice(
            "the name of UserModel", arguments.pop("name", None), MODELS
        )
        model = construct(MODELS[name], arguments)
    if isinstance(model, type) and issubclass(model, BaseUserModel):
        model = model(**settings, random_state=random_state)
    if not isinstance(model, BaseUserModel):
        raise ValueError(
            f"UserModel must be a subclass or an instance of BaseUserModel; got {short_repr(model)}"
        )
    model = copy(model)
    for name, value in settings.items():
        own_value = getattr(model, name, None)
        if own_value is None:
            setattr(model, name, value)
        elif name.endswith("dim"):
            require(
                own_value == value,
                f"{name} of UserModel is {own_value}, in the environment {value}",
            )
    validate_choice("reward_type", model.reward_type, REWARD_TYPES)
    validate_number("reward_std", model.reward_std, 0)
    return model
