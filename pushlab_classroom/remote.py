"""`pushlab/Remote-v0`: a phone on the server of a class, as an environment like the local ones."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from gymnasium.spaces import Dict, Discrete, MultiDiscrete
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import concatenate, create_empty_array

from pushlab.datasets.schema import Schema
from pushlab.envs.batch import VectorEnv
from pushlab.envs.push.story import words_of
from pushlab.envs.shell import Env, Spec
from pushlab.envs.world import World
from pushlab.ground.arguments import demand, meant, one_of
from pushlab_classroom.client import Link, Refused

# Local name of each game, and of its picture.
GAMES = {"evalumap2": ("evalumap2-v0", "phone"), "push": ("push-v0", "inbox")}
ARGUMENTS = "url token game scored patience render_mode".split()
# Attributes that the server describes.
NAMES = "observation_names action_names action_choices actions fates weights horizon".split()
MAX_ARRIVALS = 256  # per day, for which info["fates"] has room in every episode


class Remote(World):
    """A phone on the server of a class: the world of `evalumap2-v0` or `push-v0`, one answered step at a time.

    Observation, action, reward and end are those of the local world.

    Info:
        What a phone would show: "opened" and "actual" in evalumap2-v0. In push-v0 "fates" has the same length in all
        episodes, with 0, ahead, for notifications that never arrive. The user is not known.

    Start:
        Practice: each reset begins a new episode, with one of the class's practice users.

        Scored: there are as many episodes as the lecturer set, each with its own user. An episode that is begun
        counts: reset() resumes an open one, in another process too, with a warning that gives its step. Contexts that
        are never answered earn nothing. `left` is the number of episodes that can still be begun.

    Args:
        url, token: Of the class and of the team; None takes them from $PUSHLAB_URL and $PUSHLAB_TOKEN.
        game: "evalumap2" or "push".
        scored: False for practice, True for episodes that count.
        patience: Seconds for which a step is repeated if the connection drops or the server is away.

    Attributes:
        link: The connection.
        name: Name of the local world.
        game, scored, left: See above.
        schema, candidates, observation_names, action_names, action_choices, labels: As in the local world.
        actions, fates, worths, weights, horizon: In push-v0.

    Seeds: the server decides what happens. A seed of reset() only seeds the environment's own `np_random`, and the id
    is registered as `nondeterministic`.

    Steps have numbers. A step whose answer was lost is asked again, and counts once. Asked again with another action
    (by a second program with the same token, or after an interrupted step) it is refused: `Refused`, 409.

    Batches: a step of all copies is one request. If a copy ends and no scored episode is left, it rests, terminated and
    with reward 0, until all have ended. options={"reset_mask": …} begins a new scored episode in a copy whose old one
    was not at its end; that one stays open.

    Limits of a team, unless the lecturer set others: one episode begun per second, after a rest 64 at once (the most
    copies of a batch). Requests that come too fast are repeated, with a warning if that takes long.

    Logs have the name of the local world, so its metrics and pictures apply; their task is scored or practice.
    """

    unlogged = ("fates",)
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
        for name in unknown:  # gym.make would show all arguments of a TypeError
            raise ValueError(
                f"pushlab/Remote-v0 has no argument {name!r}; it has {', '.join(ARGUMENTS)}{meant(name, ARGUMENTS)}"
            )
        self.link = Link(url, token, patience)
        self.game = one_of("game", game, GAMES)
        self.scored = one_of("scored", scored, (False, True))
        self.name, self.drawing = GAMES[game]
        self.stands_for = self.name
        self.task = f"{self.name}:{'scored' if scored else 'practice'}"
        content = self.link.ask("GET", f"/api/games/{game}")
        for name in NAMES:
            setattr(self, name, content[name])
        self.schema = Schema.from_dict(content["schema"])
        self.observation_space = _make_space(content["observation"])
        self.action_space = _make_space(content["action"])
        candidates = content["candidates"]
        self.candidates = candidates and np.array(candidates, np.int64)
        self.worths = np.array(content["worths"] or [])
        self.labels = self.schema.context.labels() | self.schema.notification.labels()
        self.left = None
        self._copies = 0
        self._playing: set[int] = set()
        self._last_answer: dict = {}  # of an episode's end, for copies that rest
        self._n_fates = MAX_ARRIVALS * (content["horizon"] or 0)

    # ------------------------------------------------------------ requests

    def initial(self, draws, options):
        if len(draws) >= self._copies:  # all copies begin
            self._copies = len(draws)
            self._playing = set()
        answers = self._begin(len(draws))
        return {
            "episode": np.array([one["episode"] for one in answers], np.int64),
            "step": np.array([one["step"] for one in answers], np.int64),
            "answer": np.array(answers, object),
        }

    def _begin(self, count):
        """Begin episodes, open scored ones first; copies rest if none is left and others are still playing."""
        request = {"game": self.game, "scored": self.scored, "count": count}
        request["held"] = sorted(self._playing) if self.scored else []
        try:
            answers = self.link.ask("POST", "/api/episodes", request)["episodes"]
        except Refused as refused:
            is_used_up = "left" in refused.content
            if not (is_used_up and self._playing and self._last_answer):
                raise
            if count == 1:
                return [self._last_answer]
            return [answer for _ in range(count) for answer in self._begin(1)]
        for answer in answers:
            self.left = answer["left"]
            self._playing.add(answer["episode"])
            if answer["step"]:
                warnings.warn(
                    f"episode {answer['episode']} is taken up where it stands, after {answer['step']} steps",
                    stacklevel=2,
                )
        return answers

    def advance(self, state, action, draws):
        episodes = state["episode"].tolist()
        steps = state["step"].tolist()
        request = {"steps": [*zip(episodes, steps, action.tolist())]}
        answers = self.link.ask("POST", "/api/steps", request)["answers"]
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
        return self.link.ask("GET", f"/api/episodes/{episode}/frame")["frame"]

    # ------------------------------------------------------------ parts of answers

    def observe(self, state):
        observations = [answer["observation"] for answer in state["answer"]]
        empty = create_empty_array(self.observation_space, len(observations))
        return concatenate(self.observation_space, observations, empty)

    def terminated(self, state):
        return np.array([one.get("terminated", False) for one in state["answer"]])

    def mask(self, state):
        if not self.actions:
            return None
        masks = [answer["info"]["action_mask"] for answer in state["answer"]]
        return np.array(masks, np.int8)

    def info(self, state, outcome):
        infos = [answer["info"] for answer in state["answer"]]
        keys = [key for key in infos[0] if key not in ("fates", "action_mask")]
        table = {key: np.array([info[key] for info in infos]) for key in keys}
        if self.fates:
            self._n_fates = max(self._n_fates, *[len(info["fates"]) for info in infos])
            table["fates"] = np.zeros((len(infos), self._n_fates), np.int8)
            for row, info in zip(table["fates"], infos):
                row[: len(info["fates"])] = info["fates"]
        return table

    def decode_one(self, observation):
        """Return an observation of push-v0 in words; see `pushlab.envs.push.world.Push.decode_one`."""
        return words_of(self, observation)


def _make_space(content):
    if "n" in content:
        return Discrete(content["n"])
    if "nvec" in content:
        return MultiDiscrete(content["nvec"])
    return Dict({part: _make_space(space) for part, space in content.items()})


class TokenlessSpec(Spec):
    """The attribute `spec`, without the token. An environment made from a spec takes it from $PUSHLAB_TOKEN."""

    def __set__(self, env, spec):
        if spec is not None:
            kwargs = dict(spec.kwargs)
            kwargs.pop("token", None)
            spec = replace(spec, kwargs=kwargs)
        super().__set__(env, spec)


class RemoteEnv(Env):
    """A phone of a class; `env.unwrapped.world` is a `Remote`, whose docstring is the page.

    Neither repr nor spec has the token. copy.copy gives a second view of the same episode; copy.deepcopy and pickle
    raise TypeError.

    Args:
        url, token: Of the class and the team; None takes $PUSHLAB_URL and $PUSHLAB_TOKEN.
        game: "evalumap2" or "push".
        scored: False: practice; True: an episode that counts.
        patience: Seconds for which a step is repeated if the connection drops or the server is away, 180 by default.
        render_mode: As in every environment here.
    """

    spec = TokenlessSpec()
    world: Remote

    def __init__(self, render_mode: str | None = None, **remote: Any):
        super().__init__(Remote(**remote), render_mode)

    def close(self) -> None:
        """Close the connection. A scored episode stays open for the next reset()."""
        super().close()
        self.world.link.close()


class RemoteVectorEnv(VectorEnv):
    """Several phones of a class, stepped with one request; arguments as `RemoteEnv`, and those of every batch here.

    A batch of scored episodes begins only if there are as many left as copies. At the end of one, the mode SAME_STEP
    would begin another without being asked: it is for practice (ValueError).
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
        demand(
            not remote.get("scored") or not is_same_step,
            "with scored=True autoreset_mode is NEXT_STEP or DISABLED; or play one copy: gym.make(…, scored=True)",
        )
        super().__init__(
            Remote(**remote), num_envs, max_episode_steps, autoreset_mode, render_mode
        )

    def close_extras(self, **options):
        """Close the connection."""
        self.world.link.close()
