"""stable-baselines3 and sb3-contrib: a native batch as their VecEnv, and their algorithms as agents."""

from __future__ import annotations

import copy
import threading
import warnings
import weakref
from functools import partial
from queue import SimpleQueue
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from pushlab.agents.protocol import Agent, Transition
from pushlab.envs.batch import VectorEnv
from pushlab.envs.shell import Alone, Env, at_row
from pushlab.ground.arguments import bring, demand

TELLING = {
    "PPO",
    "A2C",
    "TRPO",
    "MaskablePPO",
}  # what tells the chance of an action that is counted
_Above: Any = (
    object  # of Copies, beside which DummyVecEnv comes where stable-baselines3 is there
)


def to_sb3_vec(
    envs: Any, num_envs: int = 1, scale: bool = False, **arguments: Any
) -> Any:
    """A native batch as a VecEnv of stable-baselines3, for whatever takes one: models, VecNormalize, evaluate_policy.

    envs       the id of an environment, or a batch: `gym.make_vec(id, num_envs=n, autoreset_mode="SameStep")`, in
               Gymnasium's vector wrappers too (those of observations take no batch in this mode)
    num_envs   how many copies of an id
    scale      actions in [-1, 1] in place of the world's own units, by Gymnasium's RescaleAction; for a Box of actions
    arguments  of `gym.make_vec`, with an id: the world's own and render_mode

    Copy i under seed s is `gym.make(id)` reset with s + i, and goes on with its own chance when an episode ends, as in
    a DummyVecEnv; n copies are one array and step at once. Spaces are those of one copy. Rewards are float32; infos are
    a dict for each copy, with `terminal_observation` where an episode ended and `TimeLimit.truncated`. `get_attr` and
    `env_method` answer for each copy as it is now, but copies keep no `trail`, and none is reset or stepped alone;
    `set_attr` leaves a note, and changes no world. A reset option is the same for all copies.

    Raises ImportError without stable-baselines3, ValueError for a batch in another mode of autoreset, arguments beside
    a batch and observations that are tuples (the room needs `encoding="index"`), and what RescaleAction raises.
    """
    if isinstance(envs, str):
        envs, num_envs, arguments = (
            gym.make_vec(envs, num_envs, autoreset_mode="SameStep", **arguments),
            1,
            {},
        )
    native: Any = getattr(envs, "unwrapped", None)
    demand(
        isinstance(native, VectorEnv) and native.autoreset_mode.value == "SameStep",
        "to_sb3_vec takes an id, or a batch that begins an episode anew in the step in which one ended: "
        f"gym.make_vec(id, num_envs=n, autoreset_mode='SameStep'); got {getattr(native, 'autoreset_mode', envs)}",
    )
    demand(
        num_envs in (1, native.num_envs) and not arguments,
        f"a batch of {native.num_envs} copies takes no num_envs "
        f"and no arguments, which are for gym.make_vec; got {dict(num_envs=num_envs) | arguments}",
    )
    demand(
        not isinstance(envs.single_observation_space, spaces.Tuple),
        "stable-baselines3 takes no observations that "
        'are tuples; those of the room are arrays with encoding="index"',
    )
    if scale:
        envs = gym.wrappers.vector.RescaleAction(envs, -1.0, 1.0)
    above = bring("stable_baselines3.common.vec_env:DummyVecEnv", "to_sb3_vec")
    return type("NativeVecEnv", (Copies, above), {})(envs)


class Copies(_Above):
    """A DummyVecEnv that steps a native batch; its own `envs` show what each copy is now, and are never stepped."""

    def __init__(self, batch: Any) -> None:
        self.batch, self.spec = batch, batch.spec
        super().__init__(
            [partial(Env, batch.unwrapped.world, batch.render_mode)] * batch.num_envs
        )
        self.observation_space, self.action_space = (
            batch.single_observation_space,
            batch.single_action_space,
        )

    def __reduce__(self) -> tuple:
        return (
            to_sb3_vec,
            (self.batch,),
            {key: vars(self)[key] for key in ("_seeds", "_options", "reset_infos")},
        )

    def reset(self) -> Any:
        """Begins an episode in every copy, with the seeds and options given since the last time; observations."""
        demand(
            self._options.count(self._options[0]) == self.num_envs,
            "copies of a batch begin with the same options",
        )
        seeds = None if self._seeds[0] is None else self._seeds
        observation, infos = self.batch.reset(seed=seeds, options=self._options[0])
        self.reset_infos = _apart(infos, np.arange(self.num_envs))
        self._reset_seeds()
        self._reset_options()
        return observation

    def step_wait(self) -> tuple[Any, np.ndarray, np.ndarray, list[dict]]:
        """Observations, rewards float32 (n,), dones bool (n,), and an info for each copy."""
        observation, reward, terminated, truncated, told = self.batch.step(self.actions)
        done, last, final = (
            terminated | truncated,
            told.pop("final_obs", None),
            told.pop("final_info", {}),
        )
        infos, over = _apart(told, np.arange(self.num_envs)), np.flatnonzero(done)
        for row, info in zip(over.tolist(), _apart(final, over)):
            self.reset_infos[row] = {
                key: infos[row][key] for key in info
            }  # the rest is of wrappers, on what ended
            infos[row] |= info | {"terminal_observation": last[row]}
        for info, cut in zip(infos, (truncated & ~terminated).tolist()):
            info["TimeLimit.truncated"] = cut
        return observation, reward.astype(np.float32), done, infos

    def env_method(
        self,
        method_name: str,
        *method_args: Any,
        indices: Any = None,
        **method_kwargs: Any,
    ) -> list:
        """What a method gives of each copy as it is now; ValueError for `reset` and `step`."""
        demand(
            method_name not in ("reset", "step"),
            f"the copies of a batch {method_name} together, by its own method",
        )
        if method_name == "action_masks":
            return list(
                self.batch.unwrapped.action_masks()[list(self._get_indices(indices))]
            )
        return super().env_method(
            method_name, *method_args, indices=indices, **method_kwargs
        )

    def _get_target_envs(self, indices: Any) -> list:
        native, envs = self.batch.unwrapped, super()._get_target_envs(indices)
        for row, env in zip(self._get_indices(indices), envs):
            env._copy = now = Alone(native.world)
            now.state = native.state and at_row(native.state, [row])
            now.outcome = (
                at_row(native.outcome, [row]) if native._elapsed[row] else None
            )
            vars(env).update(
                _spec=native.spec,
                _np_random=native._chance.generators[row],
                _frames=native._frames[row],
            )
            vars(env).pop("trail", None)  # which a batch does not keep
        return envs

    def get_images(self) -> Any:
        """The picture of each copy, uint8 (height, width, 3); None without render_mode="rgb_array"."""
        return self.batch.render() or [None] * self.num_envs


def _apart(infos: dict, rows: np.ndarray) -> list[dict]:
    """Infos in Gymnasium's vector form as a dict for each of the rows, of what they tell of it: numbers, or arrays.

    >>> _apart({"time": np.array([1.0, 2.0]), "_time": np.array([True, True])}, np.array([1]))
    [{'time': 2.0}]
    """
    names = [name for name in infos if not name.startswith("_")]
    parts = [
        _apart(part, rows)
        if isinstance(part, dict)
        else part[rows].tolist()
        if part.ndim == 1
        else part[rows]
        for part in map(infos.__getitem__, names)
    ]
    told = [dict(zip(names, row)) for row in zip(*parts)] or [{} for _ in rows]
    for name in names:
        if not (there := infos.get(f"_{name}", rows == rows)).all():
            for row in np.flatnonzero(~there[rows]):
                del told[row][name]
    return told


class SB3Agent(Agent):
    """An algorithm of stable-baselines3 or sb3-contrib as an agent: it acts, and learns step by step in any loop.

    algorithm  its name ("PPO", "DQN", "MaskablePPO", …), its class, or a model that has been trained; one that was
               trained on several copies at once only acts, and warns once when it is to learn
    policy     the network's name in that library; "MultiInputPolicy" for observations that are dicts
    steps      over which rates of learning and exploration fall, as `total_timesteps` of `model.learn`; it goes on
               learning after them, by the last rates
    name       in logs
    settings   of the algorithm; without `seed` it takes the one of its first episode, without `device` the CPU

    `model` is the library's own object, made when the first episode begins. What learns is `model.learn` itself: it
    runs in a thread and stands still until the loop outside has what it waits for, so that every algorithm learns as in
    its library, with memory, masks and hindsight, and ends with the same parameters. It takes in a step when the next
    action is asked for, and the last step of an episode when the next one begins. An episode that is broken off counts
    as cut by a limit. `act(explore=False)` gives the best known action, and such a step is not learned from. After
    exploring in a test PPO and its kin gather anew what they had not yet learned from. A model in whose environment is
    a VecNormalize sees by that; one loaded without its environment does not know of it.

    `propensity` is told for actions that are counted: 1 without exploring, and by PPO and its kin, without memory, what
    they took it with. `state()` holds the networks and how many steps there were: optimisers and buffers begin anew. A
    pickle or a copy, as lifetimes make for tests, of one that has begun only acts.

    Raises ImportError without the library, ValueError for a name that it does not have and, when an episode begins, for
    a model of other observations or actions; and whatever `model.learn` raises.
    Source     Raffin et al. (2021), Stable-Baselines3: Reliable Reinforcement Learning Implementations, JMLR 22(268)
    """

    _loop: Any = None
    _left: Any = None  # a step of the last action, which the loop was not told of

    def __init__(
        self,
        algorithm: Any,
        policy: Any = "MlpPolicy",
        steps: int = 100_000,
        name: str | None = None,
        **settings: Any,
    ) -> None:
        if isinstance(algorithm, str):
            algorithm = getattr(
                bring("stable_baselines3", algorithm), algorithm, None
            ) or getattr(bring("sb3_contrib", algorithm), algorithm, algorithm)
            demand(
                not isinstance(algorithm, str),
                f"neither stable_baselines3 nor sb3_contrib has {algorithm}",
            )
        self.model, kind = (
            (None, algorithm)
            if isinstance(algorithm, type)
            else (algorithm, type(algorithm))
        )
        self._new = partial(kind, policy, **{"device": "cpu"} | settings)
        self.steps, self.name = steps, name or kind.__name__
        self._kinds, self._given = {one.__name__ for one in kind.__mro__}, {}
        self._warned = self._waits = self._mine = (
            False  # it has warned; the loop waits; the last action was its own
        )

    def begin(self, env: gym.Env, seed: int) -> None:
        if self.model is None:
            self.model = self._new(
                env=env, **{"seed": seed % 2**32, **self._new.keywords}
            )
            self.load(self._given)
        seen, mine, told = (
            self.model.observation_space,
            self.model.action_space,
            env.observation_space,
        )
        if (
            type(seen) is not type(told)
            or spaces.flatdim(seen) != spaces.flatdim(told)
            or mine != env.action_space
        ):
            raise ValueError(
                f"the model takes {seen} and gives {mine}, the environment {told} and {env.action_space}; "
                "what learned with scale=True acts in gym.wrappers.RescaleAction(env, -1.0, 1.0)"
            )
        if self._left:
            self._loop.told.put((*self._left[:3], True, self._left[4]))
        self._env, self._memory, self._left = env, None, None
        if self._loop:
            self._loop.env = env

    def act(self, observation: Any, info: Any, explore: bool = True) -> Any:
        model, self._mine = (
            self.model,
            explore and self.model.n_envs == 1 and not self._waits,
        )
        masks = (
            {"action_masks": info["action_mask"]}
            if "MaskablePPO" in self._kinds and "action_mask" in info
            else {}
        )
        if self._mine:
            if self._loop is None:
                self._loop = _Handed(self._env)
                self._loop.asked, self._loop.told = SimpleQueue(), SimpleQueue()
                if around := copy.copy(model.get_vec_normalize_env()):
                    around.set_venv(model._wrap_env(self._loop))
                model.set_env(around or self._loop)
                weakref.finalize(self, self._loop.told.put, None)
                threading.Thread(
                    target=_go_on, args=(model, self._loop, self.steps), daemon=True
                ).start()
            self._loop.told.put(self._left or (observation, dict(info)))
            action, self._waits, self._left = self._loop.asked.get(), True, None
            if isinstance(action, BaseException):
                raise action
        else:
            action, self._memory = model.predict(
                self._seen(observation), self._memory, None, not explore, **masks
            )
        counted = not isinstance(model.action_space, spaces.Box)
        self.propensity = 1.0 if counted and not explore else None
        if counted and explore and self._kinds & TELLING:
            likely = model.policy.get_distribution(
                model.policy.obs_to_tensor(self._seen(observation))[0], **masks
            )
            self.propensity = float(
                likely.log_prob(bring("torch:as_tensor", self.name)(action)[None])
                .detach()
                .exp()
            )
        return (
            int(action) if isinstance(model.action_space, spaces.Discrete) else action
        )

    def probabilities(
        self, observations: np.ndarray, masks: np.ndarray | None = None
    ) -> np.ndarray:
        """How likely each action is while exploring, float32 (rows, actions): `off_policy(log, agent)` asks for it.

        observations  (rows, features), as a log's columns `obs.…`
        masks         bool (rows, actions), for MaskablePPO; None where all is allowed

        Raises ValueError for any but PPO and its kin, without memory, and before the first episode begins.
        """
        model = self.model
        demand(
            model
            and self._kinds & TELLING
            and isinstance(model.action_space, spaces.Discrete)
            and not isinstance(model.observation_space, spaces.Dict),
            f"{self.name} tells no probabilities: only "
            f"{', '.join(sorted(TELLING))} do, once begun, of numbered actions, where observations are no dicts",
        )
        seen = model.policy.obs_to_tensor(
            self._seen(np.reshape(observations, (-1, *model.observation_space.shape)))
        )[0]
        likely = model.policy.get_distribution(
            seen, **{} if masks is None else {"action_masks": masks}
        )
        return likely.distribution.probs.detach().cpu().numpy()

    def _seen(self, observation):
        around = self.model.get_vec_normalize_env()
        return around.normalize_obs(observation) if around else observation

    def learn(self, transition: Transition) -> None:
        _, _, _, reward, after, info, terminated, truncated = transition
        if self._mine:
            step, over = (
                (after, reward, terminated, truncated, dict(info)),
                terminated or truncated,
            )
            self._waits, self._left = False, None if over else step
            if over:
                self._loop.told.put(step)
        elif (
            self._waits and self._loop
        ):  # what the loop chose came to nothing: it begins anew
            self._loop.told.put(None)
            self._loop, self._waits = None, False
        elif not self._warned and (self._waits or self.model.n_envs > 1):
            self._warned = True
            warnings.warn(
                f"{self.name} only acts: it is a copy, or learned on several copies at once",
                stacklevel=2,
            )

    def state(self) -> dict:
        return (
            self._given
            if self.model is None
            else {
                "num_timesteps": self.model.num_timesteps,
                "policy": {
                    name: part.cpu().numpy().copy()
                    for name, part in self.model.policy.state_dict().items()
                },
            }
        )

    def load(self, state: dict) -> None:
        self._given = state
        if self.model is not None and state:
            tensor, self.model.num_timesteps = (
                bring("torch:tensor", self.name),
                state["num_timesteps"],
            )
            self.model.policy.load_state_dict(
                {name: tensor(part) for name, part in state["policy"].items()}
            )

    def __getstate__(self) -> dict:
        model = copy.copy(
            self.model
        )  # what acts, without what learns: buffers are of gigabytes, perhaps
        if model is not None:
            left_out = {*model._excluded_save_params(), "_total_timesteps"} - {
                "policy",
                "device",
                "_vec_normalize_env",
            }
            vars(model).update(dict.fromkeys(left_out))
        return vars(self) | {
            "model": model,
            "_env": None,
            "_loop": None,
            "_left": None,
            "_waits": model is not None,
        }

    def __deepcopy__(self, memo: dict) -> SB3Agent:
        twin = copy.copy(self)
        if (
            self.model is not None
        ):  # PyTorch copies no results of a graph, as what was drawn from last is
            memo |= {
                id(part.action_dist): copy.copy(part.action_dist)
                for part in self.model.policy.modules()
                if hasattr(part, "action_dist")
            }
            for name in ("policy", "_vec_normalize_env"):
                setattr(
                    twin.model, name, copy.deepcopy(getattr(self.model, name), memo)
                )
        return twin


class _Handed(gym.Wrapper):
    """An environment that is stepped elsewhere: who steps it here says so in a queue and waits for another."""

    def reset(self, **_):
        return self.told.get()

    def step(self, action):
        self.asked.put(action)
        return self.told.get()


def _go_on(model, handed, steps):
    """The library's own loop, until it is told None; what goes wrong is handed over in place of an action."""

    class Total(
        int
    ):  # where rates end; the present step once that is later: they fall no further
        def __add__(
            self, _
        ):  # counted from the first step on, whenever learning goes on
            return self

        def __float__(self):
            return float(max(int(self), model.num_timesteps))

    try:
        while True:
            model.learn(
                Total(max(steps, model.num_timesteps + 1)), reset_num_timesteps=False
            )
    except BaseException as error:
        handed.asked.put(error)
