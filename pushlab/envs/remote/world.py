"""What is known here of a phone that lives on a class's server: spaces, words, candidates; and what it answers."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from gymnasium.spaces import Dict, Discrete, MultiDiscrete
from gymnasium.vector.utils import concatenate, create_empty_array

from pushlab.datasets.schema import Schema
from pushlab.envs.push.story import words_of
from pushlab.envs.remote.link import Link, Refused
from pushlab.envs.world import World
from pushlab.ground.arguments import meant, one_of

GAMES = {
    "evalumap2": ("evalumap2-v0", "phone"),
    "push": ("push-v0", "inbox"),
}  # their names here, and pictures
KNOWN = ("url", "token", "game", "scored", "patience", "render_mode")
SAID = ("observation_names", "action_names", "actions", "fates", "weights", "horizon")
MOST_A_DAY = 256  # arrivals of a day for which info["fates"] has room, so that it is as long in every episode


class Remote(World):
    """A phone on the server of a class: the world of evalumap2-v0 or push-v0, told one answered step at a time.

    Observation, action, reward, end and info are those of the local world, which `name` names: in info what a phone
    would tell, of evalumap2-v0 "opened" and "actual"; of push-v0 "fates" is as long in each episode, with 0, ahead, for
    what never arrives. Nobody is told who the user is.

    Practice    each reset begins a new episode, with one of the class's practice users
    Scored      as many episodes as the lecturer set, each with another user, whom nobody else meets. What is begun
                counts: reset() takes an open one up where it stands, in another process too, with a warning that says
                where; contexts that were never answered earn nothing. `left` is how many may still be begun
    Chance      is the server's. A seed of reset() seeds the environment's own `np_random`, as Gymnasium wants it, and
                changes nothing that happens; the id is registered as `nondeterministic`
    Steps       have numbers. One whose answer was lost is asked again, and counts once; asked again with another action
                (by a second program with the same token, or after an interrupted step) it is refused: `Refused`, 409
    Batches     a step of all copies is one request. A copy that ends when no scored episode is left rests, terminated
                and with reward 0, until all have ended. options={"reset_mask": …} begins a new scored episode in a copy
                whose old one was not at its end; that one stays open
    Limits      of a team, if the lecturer has set no others: an episode begun a second, after a rest 64 at once (the
                most copies of a batch). What is too fast is asked again, with a warning if that takes long
    Logs        have the name of the local world, whose metrics and pictures they are for; task: scored or practice
    Attributes  link, game, scored, left; schema, candidates, observation_names, action_names, action_choices, labels;
                of push-v0 actions, fates, worths, weights, horizon. In a state "episode" and "step" are the server's
    """

    trail_of = ("told",)
    unlogged = ("fates",)
    exports, task = ("engagements",), ""
    actions: tuple[str, ...] | None  # of SAID
    fates: tuple[str, ...] | None
    horizon: int | None

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        game: str = "evalumap2",
        scored: bool = False,
        patience: float = 180.0,
        **unknown: Any,
    ):
        for name in unknown:  # no TypeError: gym.make would tell it with all arguments, and the token is one
            raise ValueError(
                f"pushlab/Remote-v0 has no argument {name!r}; it has {', '.join(KNOWN)}"
                f"{meant(name, KNOWN)}"
            )
        self.link = Link(url, token, patience)
        self.name, self.drawing = GAMES[one_of("game", game, GAMES)]
        self.game, self.scored, self.stands_for = (
            game,
            one_of("scored", scored, (False, True)),
            self.name,
        )
        self.task = f"{self.name}:{'scored' if scored else 'practice'}"
        told = self.link.ask("GET", f"/api/games/{game}")
        for name in SAID:
            setattr(self, name, _as_names(told[name]))
        self.schema = Schema.from_dict(told["schema"])
        self.observation_space, self.action_space = (
            _space(told["observation"]),
            _space(told["action"]),
        )
        self.action_choices = [*map(tuple, told["action_choices"])]
        self.candidates = told["candidates"] and np.array(told["candidates"], np.int64)
        self.worths = np.array(told["worths"] or [])
        self.labels = {
            **self.schema.context.labels(),
            **self.schema.notification.labels(),
        }
        self.left, self._copies, self._playing = None, 0, set()
        self._over: dict = {}  # the end of an episode, for copies that rest
        self._width = MOST_A_DAY * (self.horizon or 0)

    # ------------------------------------------------------------ asked of the server

    def initial(self, draws: np.ndarray, options: Mapping[str, Any]) -> dict:
        if len(draws) >= self._copies:  # all begin, so that nothing goes on
            self._copies, self._playing = len(draws), set()
        stands = self._begin(len(draws))
        return {
            **{
                key: np.array([one[key] for one in stands], np.int64)
                for key in ("episode", "step")
            },
            "told": np.array(stands, object),
        }

    def _begin(self, count):
        """How so many episodes stand. Scored ones that are left come first; where others go on, what is over rests."""
        held = sorted(self._playing) if self.scored else []  # other copies play these
        try:
            stands = self.link.ask(
                "POST",
                "/api/episodes",
                {
                    "game": self.game,
                    "scored": self.scored,
                    "count": count,
                    "held": held,
                },
            )["episodes"]
        except Refused as refusal:
            if "left" not in refusal.told or not self._playing or not self._over:
                raise
            return (
                [self._over]
                if count == 1
                else [one for _ in range(count) for one in self._begin(1)]
            )
        for stand in stands:
            self.left = stand["left"]
            self._playing.add(stand["episode"])
            if stand["step"]:
                warnings.warn(
                    f"episode {stand['episode']} is taken up where it stands, after {stand['step']} steps",
                    stacklevel=2,
                )
        return stands

    def advance(self, state: dict, action: Any, draws: np.ndarray) -> tuple[dict, dict]:
        steps = [
            *zip(state["episode"].tolist(), state["step"].tolist(), action.tolist())
        ]
        answers = self.link.ask("POST", "/api/steps", {"steps": steps})["answers"]
        for (episode, step, _), answer in zip(steps, answers):
            if answer["terminated"]:
                self._playing.discard(episode)
                self._over = {**answer, "episode": episode, "step": step + 1}
        told = np.array(answers, object)
        return (
            {"episode": state["episode"], "step": state["step"] + 1, "told": told},
            {
                "reward": np.array(
                    [answer["reward"] for answer in answers], np.float64
                ),
                "told": told,
            },
        )

    # ------------------------------------------------------------ the other questions of the shell

    def observe(self, state: dict) -> Any:
        empty = create_empty_array(self.observation_space, len(state["told"]))
        return concatenate(
            self.observation_space,
            [told["observation"] for told in state["told"]],
            empty,
        )

    def terminated(self, state: dict) -> np.ndarray:
        return np.array([told.get("terminated", False) for told in state["told"]])

    def mask(self, state: dict) -> np.ndarray | None:
        return (
            np.array([told["info"]["action_mask"] for told in state["told"]], np.int8)
            if self.actions
            else None
        )

    def info(self, state: dict, outcome: dict | None) -> dict:
        infos = [told["info"] for told in state["told"]]
        table = {
            key: np.array([one[key] for one in infos])
            for key in infos[0]
            if key not in ("fates", "action_mask")
        }
        if self.fates:
            fates = [one["fates"] for one in infos]
            self._width = max(self._width, *map(len, fates))
            table["fates"] = np.array(
                [one + [0] * (self._width - len(one)) for one in fates], np.int8
            )
        return table

    # ------------------------------------------------------------ words and pictures

    def decode_one(self, observation: Any) -> dict[str, str]:
        """What an agent of push-v0 sees, in words; see `pushlab.envs.push.world.Push.decode_one`."""
        return words_of(self, observation)

    def engagements(self, env: Any) -> pd.DataFrame:
        """Of evalumap2-v0: the engagements that this program saw in the episode, a row a notification, in words."""
        names, wide = (
            self.observation_names["last"],
            len(self.schema.context.components),
        )
        seen = np.array(
            [told["observation"]["last"] for (told,) in env.trail], np.int64
        ).reshape(-1, len(names))
        parts = [
            self.schema.context.decode(seen[:, :wide]),
            self.schema.notification.decode(seen[:, wide:-1]),
        ]
        return pd.concat(parts, axis=1).assign(
            action=np.where(seen[:, -1], "opened", "dismissed")
        )

    def frame(self, state: dict, outcome: dict | None, at: int = 0) -> dict:
        return self.link.ask("GET", f"/api/episodes/{state['episode'][at]}/frame")[
            "frame"
        ]


def _space(told):
    """The space that the server's numbers stand for."""
    if "n" in told:
        return Discrete(told["n"])
    return (
        MultiDiscrete(told["nvec"])
        if "nvec" in told
        else Dict({part: _space(one) for part, one in told.items()})
    )


def _as_names(told):
    """Lists as tuples, in a dict too."""
    if isinstance(told, dict):
        return {part: _as_names(names) for part, names in told.items()}
    return tuple(told) if isinstance(told, list) else told
