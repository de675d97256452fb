"""RECEnv: a recommender whose user drifts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete

from pushlab.envs.rec import models
from pushlab.envs.world import World
from pushlab.ground.arguments import in_short, naming, number, numbers, one_of, whole
from pushlab.ground.compiled import compiled_in_place

WORDS = (
    "news",
    "jazz",
    "sport",
    "cooking",
    "travel",
    "garden",
    "film",
    "chess",
    "science",
    "fashion",
    "history",
    "games",
    "poetry",
    "cars",
    "theatre",
    "nature",
    "crafts",
    "fitness",
    "finance",
    "comics",
)
REFERENCES = (None, "recgym-0.2.1")
MOST, MOST_FEATURES, MOST_STEPS = (
    1_000_000,
    1000,
    10_000_000,
)  # items or users; of one; in an episode
ONE = np.array(
    1
)  # beside a small array an array takes half as long as a number of Python's


class RECEnv(World):
    """Choose which item to show a user whose preference moves with what is shown.

    Observation  Box (user_feature_dim,) float64 in [-1, 1]: the user's preference, a vector of length 1, plus normal
                 noise of deviation obs_std, clipped
    Action       Discrete(n_items): the item to show, an int or an array of shape (1,)
    Reward       the engagement with the item, by the preference before it was shown: preference · item plus normal
                 noise of deviation reward_std; or, if reward_type is "binary", 1 with probability
                 sigmoid(preference · item), else 0
    Dynamics     the preference becomes preference + alpha (preference · item) item, divided by its length; other user
                 models in `pushlab.envs.rec.models` (NoDrift, Satiation), and one's own as `UserModel`
    Start        one of n_users users, all equally likely, or options={"user_id": …} (in a batch also a list, one for
                 each copy)
    End          truncated after step_per_episode steps, never terminated
    Info         "user_id", int; "state", float64: the user's true state, the preference first (user models may keep
                 more behind it). Neither is meant for the agent.
    Arguments    step_per_episode     steps in an episode, 10
                 n_items, n_users     5 and 100
                 item_feature_dim, user_feature_dim      5 and 5; equal for the standard user model
                 item_feature_vector  array (n_items, item_feature_dim); None draws it, uniform on [-1, 1)
                 user_feature_vector  array (n_users, user_feature_dim); None draws it likewise
                 reward_type          "continuous" or "binary"
                 reward_std, obs_std  deviations of the noise, 0 and 0; the first only of continuous rewards
                 UserModel            class or instance of a BaseUserModel; an instance's own reward_type and reward_std
                                      go before the environment's. For files also the name of one of pushlab's, or
                                      {"name": "UserModel", "alpha": 0.5}, a name and its arguments
                 random_state         int that fixes catalogue and users, as in RECGym; None means 0. reset(seed)
                                      governs who comes, and all noise
                 item_names           words for pictures and buttons; None takes made-up ones
                 reference            "recgym-0.2.1" begins episodes with the users' features as they are, see below
                 Both feature matrices are divided by their spectral norm.
    Source       Dean & Morgenstern (2022), Preference dynamics under personalized recommendations, EC '22;
                 RECGym in scope-rl 0.2.1 (Kiyohara et al. 2023), whose `RECEnv` this follows

    Where RECGym is wrong this is right. There, binary rewards raise an error; `step` resets at the end of an episode
    and returns the next user's first observation; the step limit is reported as an end of the world (terminated);
    reset(seed) leaves the reward's noise unseeded; item -1 is accepted; unequal feature dimensions fail at the first
    step; random_state=None is an error, and n_items is said to be 100 and is 5. And an episode begins with a preference
    much shorter than the length 1 it has from the first step on. Here it has length 1 from the start, which
    changes the first observation and the first reward of an episode and nothing after them; `reference="recgym-0.2.1"`
    brings that one rule back.

    >>> import gymnasium as gym, pushlab
    >>> env = gym.make("pushlab/RECEnv-v0", random_state=12345)
    >>> observation, info = env.reset(seed=7, options={"user_id": 26})
    >>> observation.round(3)
    array([-0.059, -0.784,  0.324,  0.362,  0.383])
    >>> observation, reward, terminated, truncated, info = env.step(2)
    >>> round(reward, 3), info["user_id"]
    (0.202, 26)
    """

    name, drawing = "RECEnv-v0", "shelf"
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
        self.step_per_episode = self.most_steps = whole(
            "step_per_episode", step_per_episode, 1, MOST_STEPS
        )
        self._length = np.array(self.step_per_episode)  # see ONE
        self.n_items, self.n_users = (
            whole("n_items", n_items, 1, MOST),
            whole("n_users", n_users, 1, MOST),
        )
        self.item_feature_dim = whole(
            "item_feature_dim", item_feature_dim, 1, MOST_FEATURES
        )
        self.user_feature_dim = whole(
            "user_feature_dim", user_feature_dim, 1, MOST_FEATURES
        )
        one_of("reward_type", reward_type, models.REWARD_TYPES)
        self.obs_std = float(number("obs_std", obs_std, 0, MOST))
        reward_std = float(number("reward_std", reward_std, 0, MOST))
        one_of("reference", reference, REFERENCES)
        seed = (
            0
            if random_state is None
            else whole("random_state", random_state, 0, 2**32 - 1)
        )
        # Users before items, out of NumPy's frozen old stream: a random_state gives RECGym's users and items.
        stream = np.random.RandomState(seed)
        self.users = features(
            "user_feature_vector",
            user_feature_vector,
            (self.n_users, self.user_feature_dim),
            "(n_users, user_feature_dim)",
            stream,
        )
        self.items = features(
            "item_feature_vector",
            item_feature_vector,
            (self.n_items, self.item_feature_dim),
            "(n_items, item_feature_dim)",
            stream,
        )
        self.item_names = self._names(item_names)
        self.user_model = self._model(UserModel, reward_type, reward_std, random_state)
        self.reward_type = getattr(self.user_model, "reward_type", reward_type)
        self._respond = models.batch_method(self.user_model)
        self.starts = self._first_states(
            as_they_are=reference is not None
        )  # (n_users, …)
        self._noise_from = max(1, getattr(self.user_model, "draws", 1))
        self.uniforms = self._noise_from + (
            self.user_feature_dim if self.obs_std else 0
        )
        self.observation_space = Box(-1.0, 1.0, (self.user_feature_dim,), np.float64)
        self.action_space = Discrete(self.n_items)
        self.action_choices = [("item", list(self.item_names))]

    def _names(self, names):
        if names is None:
            return WORDS[: self.n_items] + tuple(
                f"item {at}" for at in range(len(WORDS), self.n_items)
            )
        if not isinstance(names, (list, tuple)) or len(names) != self.n_items:
            raise ValueError(
                f"item_names is a list of a name for each of the {self.n_items} items; got "
                f"{in_short(names)}"
            )
        return tuple(map(str, names))

    def _model(self, model, reward_type, reward_std, random_state):
        """The user model of this world alone, told what the environment says where it says nothing itself."""
        told = {
            "user_feature_dim": self.user_feature_dim,
            "item_feature_dim": self.item_feature_dim,
            "reward_type": reward_type,
            "reward_std": reward_std,
        }
        with naming("UserModel", model):
            model = (
                models.named_model(model) if isinstance(model, (str, dict)) else model
            )
        for method in ("user_preference_dynamics", "reward_function"):
            if not callable(getattr(model, method, None)):
                raise ValueError(
                    f"UserModel is a class or an instance with the methods user_preference_dynamics and "
                    f"reward_function, as a BaseUserModel has; {in_short(model)} lacks {method}"
                )
        if isinstance(model, type):
            model = model(
                **told, random_state=0 if random_state is None else random_state
            )
        else:
            model = copy(model)
        for name, value in told.items():
            if getattr(model, name, None) is None:
                setattr(model, name, value)
            elif (
                name.endswith("dim")
                and whole(f"{name} of UserModel", getattr(model, name)) != value
            ):
                raise ValueError(
                    f"UserModel has {name} {getattr(model, name)}, and the environment has {value}"
                )
        one_of("reward_type of UserModel", model.reward_type, models.REWARD_TYPES)
        number("reward_std of UserModel", model.reward_std, 0, MOST)
        if (
            getattr(model, "equal_dims", False)
            and self.user_feature_dim != self.item_feature_dim
        ):
            raise ValueError(
                f"user_feature_dim {self.user_feature_dim} and item_feature_dim {self.item_feature_dim} "
                f"must be equal for the user model {type(model).__name__}, which multiplies the two"
            )
        return model

    def _first_states(self, as_they_are):
        """The state in which each user begins, (n_users, …)."""
        lengths = np.linalg.norm(self.users, axis=1, keepdims=True)
        if not lengths.all():
            raise ValueError(
                f"user_feature_vector is all 0 in row {int(np.argmin(lengths))}: a user without a "
                "preference has no direction to drift from"
            )
        preferences = self.users if as_they_are else self.users / lengths
        begin = getattr(
            self.user_model, "initial_state", lambda preferences, n_items: preferences
        )
        return np.ascontiguousarray(begin(preferences, self.n_items), float)

    # ------------------------------------------------------------ the questions that a world answers

    def initial(self, draws: np.ndarray, options: Mapping[str, Any]) -> dict:
        users = (draws[:, 0] * self.n_users).astype(np.int64)
        if "user_id" in options:
            users = self._chosen(options["user_id"], len(draws))
        state = {
            "user": users,
            "step": np.zeros(len(draws), np.int64),
            "state": self.starts[users],
        }
        if self.obs_std:
            state["seen"] = self.seen(state["state"], draws)
        return state

    def advance(self, state: dict, action: Any, draws: np.ndarray) -> tuple[dict, dict]:
        reward, following = self._respond(state["state"], action, self.items, draws)
        state = {"user": state["user"], "step": state["step"] + ONE, "state": following}
        if self.obs_std:
            state["seen"] = self.seen(following, draws)
        return state, {"action": action, "reward": reward}

    def expect(
        self, states: np.ndarray, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """What planners ask: expected rewards (n,) and next states (n, …) of true states (n, …) and items (n,)."""
        model = self.user_model
        ask = (
            model.expect
            if models.has_batch_method(model)
            else partial(models.BaseUserModel.expect, model)
        )
        return ask(states, actions, self.items)

    def observe(self, state: dict) -> np.ndarray:
        values = state["seen" if self.obs_std else "state"]
        seen = np.empty((len(values), self.user_feature_dim))
        clip_each(values, seen)
        return seen

    def truncated(self, state: dict) -> np.ndarray:
        return state["step"] >= self._length

    def info(self, state: dict, outcome: dict | None) -> dict:
        return {"user_id": state["user"], "state": state["state"]}

    def frame(self, state: dict, outcome: dict | None, at: int = 0) -> dict:
        """Return what `pushlab.plots.shelf` draws, a plain dict.

        env, user, step, of  Name of the world, number of the user, steps so far, and the number of steps.
        preference           The user's true preference now, a list (user_feature_dim,).
        items, item_names    A list (n_items, item_feature_dim), and a name each.
        reward_type          "continuous" or "binary".
        action, reward       The item shown in the last step and its reward; None after a reset.
        """
        return {
            "env": self.name,
            "user": int(state["user"][at]),
            "step": int(state["step"][at]),
            "of": self.step_per_episode,
            "preference": state["state"][at, : self.user_feature_dim].tolist(),
            "items": self.items.tolist(),
            "item_names": list(self.item_names),
            "reward_type": self.reward_type,
            "action": None if outcome is None else int(outcome["action"][at]),
            "reward": None if outcome is None else float(outcome["reward"][at]),
        }

    # ------------------------------------------------------------ parts

    def seen(self, states: np.ndarray, draws: np.ndarray) -> np.ndarray:
        """What noise makes of the preference in true states, (n, user_feature_dim), before it is clipped."""
        return states[
            :, : self.user_feature_dim
        ] + self.obs_std * models.standard_normal(draws[:, self._noise_from :])

    def _chosen(self, user_id, n):
        """The users asked for at reset, int64 (n,)."""
        with naming("user_id", user_id):
            users = np.asarray(user_id)
        if users.dtype.kind not in "iu" or users.shape not in ((), (n,)):
            raise ValueError(
                f"user_id is a whole number, or one for each of the {n} copies; got {in_short(user_id)}"
            )
        if (users < 0).any() or (users >= self.n_users).any():
            raise ValueError(
                f"user_id is from 0 to {self.n_users - 1}; got {in_short(user_id)}"
            )
        return np.full(n, users, np.int64)


@compiled_in_place
def clip_each(values, clipped):
    """Fills clipped (n, width) with the first columns of the values (n, width or more), within -1 and 1."""
    rows, width = clipped.shape
    for row in range(rows):
        for k in range(width):
            clipped[row, k] = min(max(values[row, k], -1.0), 1.0)


def features(
    name: str, given: Any, shape: tuple, meaning: str, stream: np.random.RandomState
) -> np.ndarray:
    """A feature matrix divided by its spectral norm, read-only; drawn uniform on [-1, 1) where none is given."""
    if given is None:
        matrix = stream.uniform(-1.0, 1.0, shape)
    else:
        matrix = numbers(name, given, shape, of=meaning)
    norm = np.linalg.norm(matrix, ord=2)
    if norm == 0:
        raise ValueError(f"{name} is all 0, so that it cannot be scaled")
    matrix = matrix / norm
    matrix.flags.writeable = False
    return matrix
