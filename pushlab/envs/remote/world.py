"""What is known here of a phone that lives on a class's server: spaces, words, candidates; and what it answers."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from gymnasium.spaces import Dict, Discrete, MultiDiscrete

from pushlab.datasets.schema import Schema
from pushlab.envs.push.view import words_of
from pushlab.envs.remote.link import Link, Refused
from pushlab.envs.world import World
from pushlab.ground.arguments import one_of

GAMES = {"evalumap2": ("evalumap2-v0", "phone"), "push": ("push-v0", "inbox")}      # their names here, and pictures


class Remote(World):
    """A phone on the server of a class: the world of evalumap2-v0 or push-v0, told one answered step at a time.

    Observation, action, reward, end and info are those of the local world, which `name` names: in info what a phone
    would tell, of evalumap2-v0 "opened" and "actual". Nobody is told who the user is.

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

    trail_of = ("before", "action", "after")
    unlogged = ("fates",)
    exports, task = ("engagements",), ""

    def __init__(self, link: Link, game: str = "evalumap2", scored: bool = False):
        self.name, self.drawing = GAMES[one_of("game", game, GAMES)]
        self.link, self.game, self.scored = link, game, one_of("scored", scored, (False, True))
        told = link.ask("GET", f"/api/games/{game}")
        for name in ("actions", "fates", "weights", "horizon", "observation_names", "action_names"):
            setattr(self, name, _as_names(told.get(name)))
        self.schema, self.stands_for = Schema.from_dict(told["schema"]), self.name
        self.observation_space, self.action_space = _space(told["observation"]), _space(told["action"])
        self.action_choices = [(feature, list(values)) for feature, values in told["action_choices"]]
        self.candidates = np.array(told["candidates"], np.int64) if told.get("candidates") else None
        self.worths, self.most_steps = np.array(told.get("worths", [])), told["episode"].get("steps")
        self.task = f"{self.name}:{'scored' if scored else 'practice'}"
        self.labels = {**self.schema.context.labels(), **self.schema.notification.labels()}
        self.left, self._copies, self._playing, self._width = None, 0, set(), 0
        self._over: dict | None = None          # the end of an episode, for copies that rest

    # ------------------------------------------------------------ asked of the server

    def initial(self, draws: np.ndarray, options: Mapping[str, Any]) -> dict:
        if len(draws) >= self._copies:          # all begin, so that nothing goes on
            self._copies, self._playing, self._width = len(draws), set(), 0
        if not self._playing or not self.scored:
            stands = self._begin(len(draws))
        else:
            stands = [self._begin_or_rest() for _ in draws]
        return {**{key: np.array([one[key] for one in stands], np.int64) for key in ("episode", "step")},
                "told": np.array(stands, object)}

    def _begin(self, count):
        held = sorted(self._playing) if self.scored else []         # other copies play these
        stands = self.link.ask("POST", "/api/episodes", {"game": self.game, "scored": self.scored, "count": count,
                                                         "held": held})["episodes"]
        for stand in stands:
            self.left = stand["left"]
            self._playing.add(stand["episode"])
            self._width = max(self._width, len(stand["info"].get("fates", "")))
            if stand["step"]:
                warnings.warn(f"episode {stand['episode']} is taken up where it stands, after {stand['step']} steps",
                              stacklevel=2)
        return stands

    def _begin_or_rest(self):
        """One more scored episode, or, where none is left, the end of one that is over, once more."""
        try:
            return self._begin(1)[0]
        except Refused as refusal:
            if "left" not in refusal.told or not self._over:
                raise
            return self._over

    def advance(self, state: dict, action: Any, draws: np.ndarray) -> tuple[dict, dict]:
        steps = [*zip(state["episode"].tolist(), state["step"].tolist(), action.tolist())]
        answers = self.link.ask("POST", "/api/steps", {"steps": steps})["answers"]
        for (episode, step, _), answer in zip(steps, answers):
            if answer["terminated"]:
                self._playing.discard(episode)
                self._over = {**answer, "episode": episode, "step": step + 1}
        told = np.array(answers, object)
        return ({"episode": state["episode"], "step": state["step"] + 1, "told": told},
                {"action": action, "reward": np.array([answer["reward"] for answer in answers], np.float64),
                 "before": state["told"], "after": told})

    # ------------------------------------------------------------ the other questions of the shell

    def observe(self, state: dict) -> Any:
        seen = [told["observation"] for told in state["told"]]
        if isinstance(self.observation_space, Dict):
            return {part: np.array([one[part] for one in seen], np.int64) for part in self.observation_space}
        return np.array(seen, np.int64)

    def terminated(self, state: dict) -> np.ndarray:
        return np.array([told.get("terminated", False) for told in state["told"]])

    def mask(self, state: dict) -> np.ndarray | None:
        if self.game != "push":
            return None
        return np.array([told["info"]["action_mask"] for told in state["told"]], np.int8)

    def info(self, state: dict, outcome: dict | None) -> dict:
        infos = [told["info"] for told in state["told"]]
        table = {key: np.array([one[key] for one in infos]) for key in infos[0] if key not in ("fates", "action_mask")}
        if self.game == "push":             # copies whose days have fewer arrivals get 0, ahead, at the end
            table["fates"] = np.zeros((len(infos), self._width), np.int8)
            for row, one in zip(table["fates"], infos):
                row[:len(one["fates"])] = one["fates"]
        return table

    # ------------------------------------------------------------ words and pictures

    def decode_one(self, observation: Any) -> dict[str, str]:
        """What an agent of push-v0 sees, in words; see `pushlab.envs.push.world.Push.decode_one`."""
        return words_of(self, observation)

    def engagements(self, env: Any) -> pd.DataFrame:
        """Of evalumap2-v0: the engagements that this program saw in the episode, a row a notification, in words."""
        context, opened = ([one["observation"]["context"] for (one,), _, _ in env.trail],
                           [one["info"]["opened"] for _, _, (one,) in env.trail])
        sent = [action for _, (action,), _ in env.trail]
        parts = [half.decode(np.array(codes, np.int64).reshape(len(sent), -1)) for half, codes in (
            (self.schema.context, context), (self.schema.notification, sent))]
        return pd.concat(parts, axis=1).assign(action=np.where(opened, "opened", "dismissed"))

    def frame(self, state: dict, outcome: dict | None, at: int = 0) -> dict:
        return self.link.ask("GET", f"/api/episodes/{state['episode'][at]}/frame")["frame"]


def _space(told):
    """The space that the server's numbers stand for."""
    if "n" in told:
        return Discrete(told["n"])
    return MultiDiscrete(told["nvec"]) if "nvec" in told else Dict({part: _space(one) for part, one in told.items()})


def _as_names(told):
    """Lists as tuples, in a dict too."""
    if isinstance(told, dict):
        return {part: _as_names(names) for part, names in told.items()}
    return tuple(told) if isinstance(told, list) else told
