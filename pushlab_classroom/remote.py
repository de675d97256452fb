"""`pushlab/Remote-v0`: a phone on the server of a class, with the interface of the local environments."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from gymnasium.spaces import Dict, Discrete, MultiDiscrete
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import concatenate, create_empty_array

from pushlab.datasets.schema import Schema
from pushlab.envs.env import Env, SpecDescriptor
from pushlab.envs.push.decoding import decode_observation
from pushlab.envs.vector_env import VectorEnv
from pushlab.envs.world import World
from pushlab.utils.arguments import require, suggestion, validate_choice
from pushlab_classroom.client import Refused, ServerConnection

# Name of the local environment of each game, and of its drawing.
GAMES = {"evalumap2": ("evalumap2-v0", "phone"), "push": ("push-v0", "inbox")}
ARGUMENTS = "url token game scored patience render_mode".split()
# Attributes that the server's description has under the same names.
DESCRIBED = "observation_names action_names action_choices actions status_names weights horizon".split()
MAX_ARRIVALS = (
    256  # per day, so that info["statuses"] has the same length in all episodes
)


class Remote(World):
    """A phone on the server of a class: the world of `evalumap2-v0` or `push-v0`, played over HTTP.

    Observation, action, reward and end are those of the local world.

    Info:
        The entries of the local world: "opened" and "actual" in evalumap2-v0. In push-v0 those of full feedback, with
        "missed" and "spared", which no real phone observes. Its "statuses" has the same length in all episodes, with 0
        at the end for notifications that never arrive. The user is unknown.

    Start:
        Practice: each reset begins a new episode, with one of the class's practice users.

        Scored: the lecturer sets the number of episodes. Each has its own user, and every begun episode counts. reset()
        continues an unfinished episode, in another process too, with a warning that has its step. Contexts without an
        answer earn nothing. `episodes_left` is the number of episodes that can still be begun.

    Args:
        url, token: Address of the class and token of the team. None uses $PUSHLAB_URL and $PUSHLAB_TOKEN.
        game: "evalumap2" or "push".
        scored: False for practice, True for episodes that count.
        patience: Seconds for which a step is repeated if the connection drops or the server is down.

    Attributes:
        connection: The connection to the server.
        name: Name of the local world.
        game, scored, episodes_left: See above.
        schema, candidates, observation_names, action_names, action_choices, labels: As in the local world.
        actions, status_names, status_rewards, weights, horizon: In push-v0.

    Seeds: the server draws all random numbers. The seed of reset() only seeds the environment's own `np_random`, and
    the id is registered as `nondeterministic`.

    Steps are numbered. A step whose answer was lost is sent again and counts once. If it is sent again with another
    action (by a second program with the same token, or after an interrupted step), the server refuses it: `Refused`,
    status 409.

    Batches: a step of all copies is one request. If a copy ends and no scored episode is left, it stays terminated with
    reward 0 until all have ended. options={"reset_mask": …} begins a new scored episode in a copy whose episode is
    unfinished; that episode stays open.

    Limits of a team by default: one new episode per second, or 64 at once after a pause (the largest batch). Requests
    that come too fast are repeated, with a warning if that takes long. A team can play 128 practice episodes at once;
    reset() raises `Refused`, status 409, if it asks for more.

    Logs have the name of the local world, so its metrics and pictures apply. The task in the log is scored or practice.
    """

    unlogged_info = ("statuses",)
    task = ""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        game: str = "evalumap2",
        scored: bool = False,
        patience: float = 180.0,
        **unknown: Any,
    ):
        for name in unknown:  # a TypeError from gym.make would show the token
            raise ValueError(
                f"there is no argument {name!r}; arguments are {', '.join(ARGUMENTS)}{suggestion(name, ARGUMENTS)}"
            )
        self.connection = ServerConnection(url, token, patience)
        self.game = validate_choice("game", game, GAMES)
        self.scored = validate_choice("scored", scored, (False, True))
        self.name, self.drawing = GAMES[game]
        self.stands_for = self.name
        self.task = f"{self.name}:{'scored' if scored else 'practice'}"
        content = self.connection.request("GET", f"/api/games/{game}")
        for name in DESCRIBED:
            setattr(self, name, content[name])
        self.schema = Schema.from_dict(content["schema"])
        self.observation_space = _make_space(content["observation"])
        self.action_space = _make_space(content["action"])
        candidates = content["candidates"]
        self.candidates = candidates and np.array(candidates, np.int64)
        self.status_rewards = np.array(content["status_rewards"] or [])
        self.labels = self.schema.context.labels() | self.schema.notification.labels()
        self.episodes_left = None
        self._copies = 0
        self._playing: set[int] = set()
        self._last_answer: dict = {}  # the last end of an episode, for copies that wait
        self._n_statuses = MAX_ARRIVALS * (content["horizon"] or 0)

    # ------------------------------------------------------------ requests

    def initial(self, draws, options):
        if len(draws) >= self._copies:  # all copies begin
            self._copies = len(draws)
            self._playing = set()
        answers = self._begin(len(draws))
        return {
            "episode": np.array([answer["episode"] for answer in answers], np.int64),
            "step": np.array([answer["step"] for answer in answers], np.int64),
            "answer": np.array(answers, object),
        }

    def _begin(self, count):
        """Begin episodes, unfinished scored ones first. Copies wait if none is left while others still play."""
        request = {"game": self.game, "scored": self.scored, "count": count}
        request["held"] = sorted(self._playing) if self.scored else []
        try:
            answers = self.connection.request("POST", "/api/episodes", request)[
                "episodes"
            ]
        except Refused as refused:
            none_left = "left" in refused.content
            if not (none_left and self._playing and self._last_answer):
                raise
            if count == 1:
                return [self._last_answer]
            return [self._begin(1)[0] for _ in range(count)]
        for answer in answers:
            self.episodes_left = answer["left"]
            self._playing.add(answer["episode"])
            if answer["step"]:
                warnings.warn(
                    f"episode {answer['episode']} continues after {answer['step']} steps",
                    stacklevel=2,
                )
        return answers

    def advance(self, state, action, draws):
        episodes = state["episode"].tolist()
        steps = state["step"].tolist()
        request = {"steps": [*zip(episodes, steps, action.tolist())]}
        answers = self.connection.request("POST", "/api/steps", request)["answers"]
        for episode, step, answer in zip(episodes, steps, answers):
            if answer["terminated"]:
                self._playing.discard(episode)
                self._last_answer = {**answer, "episode": episode, "step": step + 1}
        content = np.array(answers, object)
        rewards = np.array([answer["reward"] for answer in answers], np.float64)
        state = {**state, "step": state["step"] + 1, "answer": content}
        return state, {"reward": rewards}

    def frame(self, state, outcome, at=0):
        episode = state["episode"][at]
        return self.connection.request("GET", f"/api/episodes/{episode}/frame")["frame"]

    # ------------------------------------------------------------ parts of answers

    def observe(self, state):
        observations = [answer["observation"] for answer in state["answer"]]
        empty = create_empty_array(self.observation_space, len(observations))
        return concatenate(self.observation_space, observations, empty)

    def terminated(self, state):
        answers = state["answer"]
        return np.array([answer.get("terminated", False) for answer in answers])

    def mask(self, state):
        if not self.actions:
            return None
        masks = [answer["info"]["action_mask"] for answer in state["answer"]]
        return np.array(masks, np.int8)

    def info(self, state, outcome):
        infos = [answer["info"] for answer in state["answer"]]
        keys = [key for key in infos[0] if key not in ("statuses", "action_mask")]
        table = {key: np.array([info[key] for info in infos]) for key in keys}
        if self.status_names:
            self._n_statuses = max(
                self._n_statuses, *[len(info["statuses"]) for info in infos]
            )
            table["statuses"] = np.zeros((len(infos), self._n_statuses), np.int8)
            for row, info in zip(table["statuses"], infos):
                row[: len(info["statuses"])] = info["statuses"]
        return table

    def decode_one(self, observation):
        """Return an observation of push-v0 as words; see `pushlab.envs.push.world.Push.decode_one`."""
        return decode_observation(self, observation)


def _make_space(content):
    if "n" in content:
        return Discrete(content["n"])
    if "nvec" in content:
        return MultiDiscrete(content["nvec"])
    return Dict({name: _make_space(space) for name, space in content.items()})


class TokenlessSpec(SpecDescriptor):
    """The attribute `spec` without the token. An environment created from it uses $PUSHLAB_TOKEN."""

    def __set__(self, env, spec):
        if spec is not None:
            kwargs = dict(spec.kwargs)
            kwargs.pop("token", None)
            spec = replace(spec, kwargs=kwargs)
        super().__set__(env, spec)


class RemoteEnv(Env):
    """A phone of a class. `env.unwrapped.world` is a `Remote`, which describes the environment.

    Neither repr nor spec has the token. copy.copy returns a second view of the same episode. copy.deepcopy and pickle
    raise TypeError.

    Args:
        url, token: Address of the class and token of the team. None uses $PUSHLAB_URL and $PUSHLAB_TOKEN.
        game: "evalumap2" or "push".
        scored: False for practice, True for episodes that count.
        patience: Seconds for which a step is repeated if the connection drops or the server is down. The default is
            180.
        render_mode: As in all environments of pushlab.
    """

    spec = TokenlessSpec()
    world: Remote

    def __init__(self, render_mode: str | None = None, **remote: Any):
        super().__init__(Remote(**remote), render_mode)

    def close(self) -> None:
        """Close the connection. The next reset() can continue a scored episode."""
        super().close()
        self.world.connection.close()


class RemoteVectorEnv(VectorEnv):
    """Several phones of a class, stepped with one request. The arguments are those of `RemoteEnv` and of all batches.

    A batch of scored episodes can begin only if there are at least as many left as copies. The mode SAME_STEP is only
    for practice (otherwise ValueError), since it begins the next episode without a reset.
    """

    spec = TokenlessSpec()
    world: Remote

    def __init__(
        self,
        num_envs: int = 1,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        **remote: Any,
    ):
        is_same_step = AutoresetMode(autoreset_mode) == AutoresetMode.SAME_STEP
        require(
            not remote.get("scored") or not is_same_step,
            "with scored=True, autoreset_mode must be NEXT_STEP or DISABLED; or use one copy: gym.make(…, scored=True)",
        )
        super().__init__(
            Remote(**remote), num_envs, max_episode_steps, autoreset_mode, render_mode
        )

    def close_extras(self, **options):
        """Close the connection."""
        self.world.connection.close()
