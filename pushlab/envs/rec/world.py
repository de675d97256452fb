"""RECEnv: a recommender whose user's preference drifts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete

from pushlab.envs.env import SingleCopy
from pushlab.envs.rec import models
from pushlab.envs.world import World
from pushlab.utils.arguments import (
    short_repr,
    validate_array,
    validate_choice,
    validate_integer,
    validate_number,
)
from pushlab.utils.compiled import compiled_in_place

ITEM_NAMES = (
    "news jazz sport cooking travel garden film chess science fashion history games "
    "poetry cars theatre nature crafts fitness finance comics"
).split()


class RECEnv(World):
    """Recommend items to a user whose preference drifts towards recommended items.

    Observation:
        Box(user_feature_dim,), float64 in [-1, 1]: the user's preference, a vector of length 1, plus normal noise of
        standard deviation obs_std, clipped.

    Action:
        Discrete(n_items): the item to show, an int or an array of shape (1,).

    Reward:
        Engagement with the item, computed from the preference before the item is shown. "continuous": preference · item
        plus normal noise of standard deviation reward_std. "binary": 1 with probability sigmoid(preference · item),
        otherwise 0.

    Dynamics:
        The preference becomes preference + alpha (preference · item) item, divided by its length. Other user models are
        in `pushlab.envs.rec.models` (NoDrift, Satiation), and your own can be passed as `UserModel`.

    Start:
        One of n_users users, all equally likely, or options={"user_id": ...}. In a batch this can be a list with a user
        for each copy.

    End:
        Truncated after step_per_episode steps, never terminated.

    Info:
        "user_id", int; "state", float64: the user's true state, which begins with the preference. Both are for analysis
        only: agents should not read them.

    Args:
        step_per_episode: Steps in an episode.
        n_items, n_users: Numbers of items and users.
        item_feature_dim, user_feature_dim: Numbers of features; equal for the standard user model.
        item_feature_vector: Array (n_items, item_feature_dim). None draws it uniformly from [-1, 1). Both feature
            matrices are divided by their spectral norm.
        user_feature_vector: Array (n_users, user_feature_dim). None draws it likewise.
        reward_type: "continuous" or "binary".
        reward_std, obs_std: Standard deviations of the noise. The first is for continuous rewards only.
        UserModel: Class, instance, name, or {"name": ..., argument: value} of a user model. An instance's own
            reward_type and reward_std override the environment's.
        random_state: Seed of the items and users, as in RECGym; None means 0. `reset(seed=...)` controls everything
            else.
        item_names: Labels for pictures and buttons; None takes invented ones.
        reference: "recgym-0.2.1" starts episodes from unnormalised preferences, as RECGym does.

    Source:
        Dean & Morgenstern (2022), Preference dynamics under personalized recommendations, EC '22;
        RECGym in scope-rl 0.2.1 (Kiyohara et al. 2023), whose `RECEnv` this follows

    RECGym has faults that this environment doesn't have. There, binary rewards raise an error; `step` resets at the end
    of an episode and returns the next user's first observation; the step limit is reported as terminated; reset(seed)
    doesn't seed the reward's noise; item -1 is accepted; unequal feature dimensions fail at the first step;
    random_state=None is an error, and n_items is documented as 100 and is 5. There, an episode also begins with a
    preference much shorter than the length 1 that it has after the first step. Here it has length 1 from the start,
    which changes only the first observation and the first reward of an episode. `reference="recgym-0.2.1"` restores
    this rule.

    >>> import gymnasium as gym, pushlab
    >>> env = gym.make("pushlab/RECEnv-v0", random_state=12345)
    >>> observation, info = env.reset(seed=7, options={"user_id": 26})
    >>> observation.round(3)
    array([-0.059, -0.784,  0.324,  0.362,  0.383])
    >>> observation, reward, terminated, truncated, info = env.step(2)
    >>> round(reward, 3), info["user_id"]
    (0.202, 26)
    """

    name = "RECEnv-v0"
    drawing = "shelf"
    options = ("user_id",)

    def __init__(
        self,
        step_per_episode: int = 10,
        n_items: int = 5,
        n_users: int = 100,
        item_feature_dim: int = 5,
        user_feature_dim: int = 5,
        item_feature_vector: Any = None,
        user_feature_vector: Any = None,
        reward_type: str = "continuous",
        reward_std: float = 0.0,
        obs_std: float = 0.0,
        UserModel: Any = models.UserModel,
        random_state: int | None = None,
        item_names: Sequence[str] | None = None,
        reference: str | None = None,
    ):
        self.step_per_episode = self.max_steps = validate_integer(
            "step_per_episode", step_per_episode, 1
        )
        self.n_items = validate_integer("n_items", n_items, 1)
        self.n_users = validate_integer("n_users", n_users, 1)
        item_dim = validate_integer("item_feature_dim", item_feature_dim, 1)
        user_dim = validate_integer("user_feature_dim", user_feature_dim, 1)
        self.user_feature_dim = user_dim
        self.obs_std = validate_number("obs_std", obs_std, 0)
        validate_choice("reference", reference, (None, "recgym-0.2.1"))
        seed = validate_integer("random_state", random_state or 0, 0)

        # RECGym draws users before items from NumPy's legacy generator; the same seed
        # gives the same users and items here.
        legacy_rng = np.random.RandomState(seed)
        user_shape = (self.n_users, user_dim)
        item_shape = (self.n_items, item_dim)
        self.users = feature_matrix(
            "user_feature_vector", user_feature_vector, user_shape, legacy_rng
        )
        self.items = feature_matrix(
            "item_feature_vector", item_feature_vector, item_shape, legacy_rng
        )
        self.item_names = self._validate_item_names(item_names)

        self.user_model = models.build_user_model(
            UserModel,
            seed,
            user_feature_dim=user_dim,
            item_feature_dim=item_dim,
            reward_type=reward_type,
            reward_std=reward_std,
        )
        if self.user_model.needs_equal_dims and user_dim != item_dim:
            raise ValueError(
                f"user model {type(self.user_model).__name__} needs user_feature_dim and item_feature_dim to be equal; "
                f"got {user_dim} and {item_dim}"
            )
        self.reward_type = self.user_model.reward_type
        self.initial_states = self._initial_states(is_normalised=reference is None)

        self._noise_column = max(1, self.user_model.n_draws)
        self.uniforms = self._noise_column + (user_dim if self.obs_std else 0)
        self.observation_space = Box(-1.0, 1.0, (user_dim,), np.float64)
        self.action_space = Discrete(self.n_items)
        self.action_choices = [("item", list(self.item_names))]

    def make_single_copy(self) -> SingleCopy:
        model = self.user_model
        is_plain = type(model) is models.UserModel and not model.n_draws
        return (SingleRECEnv if is_plain and not self.obs_std else SingleCopy)(self)

    def initial(self, draws: np.ndarray, options: Mapping[str, Any]) -> dict:
        users = (draws[:, 0] * self.n_users).astype(np.int64)
        if "user_id" in options:
            users = self._requested_users(options["user_id"], len(draws))
        steps = np.zeros(len(draws), np.int64)
        return self._with_noise(
            {
                "user": users,
                "step": steps,
                "state": self.initial_states[users],
            },
            draws,
        )

    def advance(self, state: dict, action: Any, draws: np.ndarray) -> tuple[dict, dict]:
        reward, user_state = self.user_model.respond(
            state["state"], action, self.items, draws
        )
        state = {
            "user": state["user"],
            "step": state["step"] + 1,
            "state": user_state,
        }
        return self._with_noise(state, draws), {"action": action, "reward": reward}

    def observe(self, state: dict) -> np.ndarray:
        observations = state["noisy" if self.obs_std else "state"]
        clipped = np.empty((len(observations), self.user_feature_dim))
        clip_each(observations, clipped)
        return clipped

    def truncated(self, state: dict) -> np.ndarray:
        return state["step"] >= self.step_per_episode

    def info(self, state: dict, outcome: dict | None) -> dict:
        return {"user_id": state["user"], "state": state["state"]}

    def expected_step(
        self, states: np.ndarray, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return expected rewards (n,) and next states (n, state_dim), for planners."""
        return self.user_model.expected_step(states, actions, self.items)

    def frame(self, state: dict, outcome: dict | None, at: int = 0) -> dict:
        """Return the data that `pushlab.plots.shelf` draws, a plain dict.

        - `env`, `user`, `step`, `episode_length`: Name of the world, index of the user, steps so far, and number
          of steps.
        - `preference`: The user's current true preference, a list (user_feature_dim,).
        - `items`, `item_names`: Features (n_items, item_feature_dim) and names, lists.
        - `reward_type`: "continuous" or "binary".
        - `action`, `reward`: The item shown in the last step and its reward; None after a reset.
        """
        return {
            "env": self.name,
            "user": int(state["user"][at]),
            "step": int(state["step"][at]),
            "episode_length": self.step_per_episode,
            "preference": state["state"][at, : self.user_feature_dim].tolist(),
            "items": self.items.tolist(),
            "item_names": list(self.item_names),
            "reward_type": self.reward_type,
            "action": None if outcome is None else int(outcome["action"][at]),
            "reward": None if outcome is None else float(outcome["reward"][at]),
        }

    def _with_noise(self, state, draws):
        if self.obs_std:
            noise = models.standard_normal(draws[:, self._noise_column :])
            preferences = state["state"][:, : self.user_feature_dim]
            state["noisy"] = preferences + self.obs_std * noise
        return state

    def _initial_states(self, is_normalised):
        """Return the initial state of each user, (n_users, state_dim)."""
        lengths = np.linalg.norm(self.users, axis=1, keepdims=True)
        if not lengths.all():
            raise ValueError(
                f"user_feature_vector: row {np.argmin(lengths)} is all zeros, so it has no direction"
            )
        preferences = self.users / lengths if is_normalised else self.users
        states = self.user_model.initial_state(preferences, self.n_items)
        return np.ascontiguousarray(states, float)

    def _validate_item_names(self, names):
        """Return names of all items; None takes ITEM_NAMES, then numbered names."""
        if names is None:
            numbered = [f"item {row}" for row in range(len(ITEM_NAMES), self.n_items)]
            return (*ITEM_NAMES[: self.n_items], *numbered)
        if not isinstance(names, (list, tuple)) or len(names) != self.n_items:
            raise ValueError(
                f"item_names must be a list of {self.n_items} names, one for each item; got {short_repr(names)}"
            )
        return tuple(map(str, names))

    def _requested_users(self, user_id, n_copies):
        """Return the user of each copy, int64 (n_copies,)."""
        users = np.asarray(user_id)
        if users.dtype.kind not in "iu" or users.shape not in ((), (n_copies,)):
            raise ValueError(
                f"user_id must be an integer, or one for each of the {n_copies} copies; got {short_repr(user_id)}"
            )
        if users.min() < 0 or users.max() >= self.n_users:
            raise ValueError(
                f"user_id must be from 0 to {self.n_users - 1}; got {short_repr(user_id)}"
            )
        return np.full(n_copies, users, np.int64)


class SingleRECEnv(SingleCopy):
    """A single copy with a standard user and no noise, which needs no random numbers after the reset."""

    def reset(self, draws, options):
        result = super().reset(draws, options)
        self.user = self.state["user"].item()
        self.preference = self.state["state"]
        self.steps = 0
        return result

    def step(self, action, draws):
        world = self.world
        self.action = self._parse(action, 1)
        self.reward, self.preference = world.user_model._move(
            self.preference, self.action, world.items
        )
        self.steps += 1
        preference = self.preference[0]
        return (
            preference.copy(),
            self.reward.item(),
            False,
            self.steps == world.step_per_episode,
            {"user_id": self.user, "state": preference.copy()},
        )

    def snapshot(self):
        if not self.state or not self.steps:
            return self.state, None
        state = {
            "user": self.state["user"],
            "step": np.array([self.steps]),
            "state": self.preference,
        }
        return state, {"action": self.action, "reward": self.reward}


@compiled_in_place
def clip_each(values, clipped):
    """Fill `clipped` (n, width) with the first columns of `values`, clipped to [-1, 1]."""
    rows, width = clipped.shape
    for row in range(rows):
        for k in range(width):
            clipped[row, k] = min(max(values[row, k], -1.0), 1.0)


def feature_matrix(
    name: str, value: Any, shape: tuple[int, int], rng: np.random.RandomState
) -> np.ndarray:
    """Return a read-only feature matrix divided by its spectral norm.

    Args:
        name: Name of the argument, for messages.
        value: The matrix; None draws it uniformly from [-1, 1).
        shape: Shape of the matrix.
        rng: Generator for a drawn matrix.
    """
    if value is None:
        matrix = rng.uniform(-1.0, 1.0, shape)
    else:
        matrix = validate_array(name, value, shape)
    norm = np.linalg.norm(matrix, ord=2)
    if norm == 0:
        raise ValueError(f"{name} is all zeros, so it cannot be normalised")
    matrix /= norm
    matrix.flags.writeable = False
    return matrix
