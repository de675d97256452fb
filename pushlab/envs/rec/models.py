"""User models of the recommender: how a user answers an item, and what the item makes of the user.

A model is one class of two methods, `user_preference_dynamics` and `reward_function`, with RECGym's names and
signatures. A third, `respond`, answers a whole batch at once; a model without it is asked copy by copy.
"""

import warnings
from abc import ABC, abstractmethod

import numpy as np

from pushlab.ground.compiled import compiled

REWARD_TYPES = ("continuous", "binary")
SMALLEST = 2.0**-54     # stands in for a uniform number of 0, whose normal quantile would be minus infinity


def sigmoid(x):
    """The logistic function 1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


def standard_normal(uniforms):
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
    draws = 1           # uniform numbers that `respond` needs for one copy
    equal_dims = False  # whether users and items must have as many features

    def __init__(self, user_feature_dim=None, item_feature_dim=None, reward_type=None, reward_std=None,
                 random_state=None):
        self.user_feature_dim, self.item_feature_dim = user_feature_dim, item_feature_dim
        self.reward_type, self.reward_std = reward_type, reward_std
        self.random_ = np.random.default_rng(0 if random_state is None else random_state)

    @abstractmethod
    def user_preference_dynamics(self, state, action, item_feature_vector):
        """The state after item number `action` was shown; item_feature_vector (n_items, item_feature_dim)."""

    @abstractmethod
    def reward_function(self, state, action, item_feature_vector):
        """The engagement with item number `action`, judged by the state before it was shown."""

    def initial_state(self, preferences, n_items):
        """The states in which users begin, (n_users, …), from their preferences (n_users, user_feature_dim)."""
        return preferences

    def respond(self, states, actions, item_feature_vector, draws):
        """Rewards (n,) and next states (n, …) of n users at once; draws (n, self.draws) uniform on [0, 1).

        This one asks the two methods copy by copy; a model that writes its own is served some hundred times faster.
        """
        rewards, following = np.empty(len(states)), np.empty_like(states)
        legacy = isinstance(getattr(self, "random_", None), np.random.RandomState)
        for copy, (state, action) in enumerate(zip(states, actions.tolist())):
            bits = np.random.PCG64(int(draws[copy, 0] * 2**53))
            self.random_ = np.random.RandomState(bits) if legacy else np.random.Generator(bits)
            reward = self.reward_function(state.copy(), action, item_feature_vector=item_feature_vector)
            moved = self.user_preference_dynamics(state.copy(), action, item_feature_vector=item_feature_vector)
            rewards[copy] = _checked(self, "reward_function", reward, ())
            following[copy] = _checked(self, "user_preference_dynamics", moved, state.shape)
        return rewards, following

    def expect(self, states, actions, item_feature_vector):
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
        raise ValueError(f"{type(model).__name__}.{method} must return {wanted}; got {value!r}")
    return array


def has_batch_method(model):
    """Whether the model's `respond` was written for what its two methods do.

    It was not where a class has none of its own, or changes one of the two below the class that `respond` is from.
    """
    line = type(model).__mro__
    place = {name: next((at for at, kind in enumerate(line) if name in vars(kind)), len(line))
             for name in ("respond", "user_preference_dynamics", "reward_function")}
    if place["respond"] == len(line) or line[place["respond"]] is BaseUserModel:
        return False
    return place["respond"] <= min(place["user_preference_dynamics"], place["reward_function"])


def batch_method(model):
    """The model's `respond`, or one that asks the model copy by copy and says so once."""
    if has_batch_method(model):
        return model.respond
    said = []

    def one_by_one(states, actions, item_feature_vector, draws):
        if len(states) > 1 and not said:
            said.append(True)
            warnings.warn(f"user model {type(model).__name__} has no batch method `respond` for what it does, so the "
                          f"{len(states):,} copies are asked one after the other", stacklevel=2)
        return BaseUserModel.respond(model, states, actions, item_feature_vector, draws)

    return one_by_one


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

    def __init__(self, user_feature_dim=None, item_feature_dim=None, reward_type=None, reward_std=None,
                 random_state=None, alpha=1.0):
        if not 0 <= alpha <= 1:
            raise ValueError(f"alpha is a number from 0 to 1; got {alpha!r}")
        super().__init__(user_feature_dim, item_feature_dim, reward_type, reward_std, random_state)
        self.alpha = float(alpha)

    @property
    def draws(self):
        """One number for a reward that chance has a part in, else none."""
        return int(self.reward_type == "binary" or bool(self.reward_std))

    def user_preference_dynamics(self, state, action, item_feature_vector, alpha=None):
        alpha, item = self.alpha if alpha is None else alpha, _shown(item_feature_vector, action)
        moved = state + alpha * (state @ item) * item
        return moved / np.linalg.norm(moved)

    def reward_function(self, state, action, item_feature_vector):
        liked = float(state @ _shown(item_feature_vector, action))
        if self.reward_type == "binary":
            return float(self.random_.random() < sigmoid(liked))
        return liked + (float(self.random_.normal(scale=self.reward_std)) if self.reward_std else 0.0)

    def respond(self, states, actions, item_feature_vector, draws):
        engagement, following = self._move(states, actions, item_feature_vector)
        return self._answer(engagement, draws), following

    def expect(self, states, actions, item_feature_vector):
        engagement, following = self._move(states, actions, item_feature_vector)
        return sigmoid(engagement) if self.reward_type == "binary" else engagement, following

    def _move(self, states, actions, items):
        """Engagement before noise (n,), and next states."""
        engagement, following = np.empty(len(states)), np.empty_like(states)
        drift(states, actions, items, self.alpha, engagement, following)
        return engagement, following

    def _answer(self, engagement, draws):
        """Rewards (n,) out of engagement: noisy, or a yes or no."""
        if self.reward_type == "binary":
            return (draws[:, 0] < sigmoid(engagement)).astype(float)
        return engagement + self.reward_std * standard_normal(draws[:, 0]) if self.reward_std else engagement


def _shown(items, action):
    """Row `action` of the items; action is an int or an array of shape (1,)."""
    return items[np.asarray(action).item()]


# ---------------------------------------------------------------- two others

class NoDrift(UserModel):
    """A user who stays as they are, whatever is shown: what most recommenders assume. Rewards as in `UserModel`.

    Source  the stationary preferences of matrix factorisation: Koren, Bell & Volinsky (2009), Matrix factorization
            techniques for recommender systems, Computer 42(8), 30-37.
    """

    name = "no drift"

    def __init__(self, user_feature_dim=None, item_feature_dim=None, reward_type=None, reward_std=None,
                 random_state=None):
        super().__init__(user_feature_dim, item_feature_dim, reward_type, reward_std, random_state, alpha=0.0)

    def user_preference_dynamics(self, state, action, item_feature_vector):
        return state.copy()

    def respond(self, states, actions, item_feature_vector, draws):
        return super().respond(states, actions, item_feature_vector, draws)

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

    def __init__(self, user_feature_dim=None, item_feature_dim=None, reward_type=None, reward_std=None,
                 random_state=None, keep=0.7, weight=0.3):
        if not 0 <= keep < 1:
            raise ValueError(f"keep is a number from 0 to below 1; got {keep!r}")
        if not 0 <= weight < np.inf:
            raise ValueError(f"weight is 0 or more, and finite; got {weight!r}")
        super().__init__(user_feature_dim, item_feature_dim, reward_type, reward_std, random_state, alpha=0.0)
        self.keep, self.weight = float(keep), float(weight)

    def initial_state(self, preferences, n_items):
        return np.hstack([preferences, np.zeros((len(preferences), n_items))])

    def user_preference_dynamics(self, state, action, item_feature_vector):
        return self._move(state[None], np.array([action]).ravel(), item_feature_vector)[1][0]

    def reward_function(self, state, action, item_feature_vector):
        engagement = self._move(state[None], np.array([action]).ravel(), item_feature_vector)[0]
        return float(self._answer(engagement, self.random_.random((1, 1)))[0])

    def respond(self, states, actions, item_feature_vector, draws):
        return super().respond(states, actions, item_feature_vector, draws)

    def _move(self, states, actions, items):
        features, copies = items.shape[1], np.arange(len(states))
        liked = (states[:, :features] * items[actions]).sum(axis=1)
        engagement = liked - self.weight * states[copies, features + actions]
        following = states.copy()
        following[copies, features + actions] += 1
        following[:, features:] *= self.keep
        return engagement, following


def named_model(told):
    """The user model that a name, or {"name": …, its arguments}, stands for: a class, or an instance.

    >>> named_model({"name": "UserModel", "alpha": 0.25}).alpha
    0.25
    """
    models = {model.__name__: model for model in (UserModel, NoDrift, Satiation)}
    arguments = dict(told) if isinstance(told, dict) else {"name": told}
    name = arguments.pop("name", None)
    if name not in models:
        raise ValueError(f"UserModel is one of {', '.join(models)} by name; got {name!r}")
    return models[name](**arguments) if arguments else models[name]
