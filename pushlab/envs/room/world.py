"""The room: people place objects, an agent sees one placement a step and is asked one question a step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete, MultiDiscrete, Text, Tuple

from pushlab.datasets.commonsense import OWNS, all_places, read_facts, usual_places
from pushlab.envs.room.rules import (
    RIGHT,
    RoomAlone,
    furnish_each,
    in_small_letters,
    look_each,
    pass_each,
)
from pushlab.envs.world import World
from pushlab.ground.arguments import chances, demand, in_short, naming, one_of, whole

SIZES = {"small": (10, 10, 10), "big": (20, 80, 49)}  # people, objects, locations
PEOPLE = (
    "james",
    "mary",
    "robert",
    "karen",
    "linda",
    "david",
    "susan",
    "thomas",
    "anna",
    "peter",
    "nina",
    "oscar",
    "irene",
    "victor",
    "helen",
    "frank",
    "emma",
    "george",
    "clara",
    "walter",
)
REFERENCES = (None, "room-env-3")
PRINTABLE = "".join(map(chr, range(32, 127)))
LONGEST_ANSWER = (
    64  # characters; only for the action space, longer answers are wrong and no error
)


class Room(World):
    """Remember where people put their things, seeing one placement a step, and answer one question a step.

    Observation  (observation, question), in words: ("james's laptop", "atlocation", "desk", 42), the placement in view
                 and the time; ("mary's cup", "atlocation"), what is asked. An agent walks round the people's spots in
                 an order drawn at the start, one a step. Space: Tuple(Tuple(Text, Text, Text, Discrete), Tuple(Text,
                 Text)). With several agents, a Tuple of such quadruples in place of one; they share the question.
    Action       the answer in words, case ignored: Text; with several agents a Tuple of answers. A word that is no
                 place, or None for no answer, is wrong; what is not a str raises TypeError
    Reward       1 if the object asked for lies there now, else 0; with several agents their mean
    Start        everybody holds a different object and has placed it
    Step         the answer is judged; then everybody gets another object with p_new_object and places it, or else
                 places the same one again with p_new_location; two people switch spots with p_switch_person; the next
                 placement is seen and the next question asked, each person's object being equally likely
    End          never terminates; registered with 1,000 steps
    Info         nothing for one agent; for several "rewards" of the last step, float64 (n_agents,), 0 before the first
    Arguments    size             "small" (10 people, 10 objects, 10 locations) or "big" (20, 80, 49)
                 n_people, n_objects, n_locations   other numbers than the size's; objects are the table's first ones,
                                  locations their usual places first, then others of the table
                 n_agents         how many look round the room
                 p_commonsense    0.7, how likely an object is put at its usual place; else any other is as likely
                 p_new_location   0.1, how likely somebody who keeps the object places it again
                 p_new_object     0.1, how likely somebody gets another object, and places it
                 p_switch_person  0.5, how likely two people switch spots
                 max_step         1000, the last step that the clock can show; a longer episode needs a larger one
                 encoding         "text", or "index" for the same world in integers: observation MultiDiscrete, int64,
                                  person, object, location, time (for each agent), then person and object asked for;
                                  action Discrete, or MultiDiscrete for several agents. `world.to_words` and
                                  `world.to_codes` translate observations, `world.locations` and
                                  `world.location_code` answers
                 commonsense      table of usual places: "commonsense" (default), "elsewhere", a file, or facts
                 reference        None; "room-env-3" for the original's rule: placing again always moves the object

    How often things move. A placement is drawn afresh each time, with p = p_commonsense at the usual place and any of
    the other L - 1 locations with (1 - p) / (L - 1). So at every time an object lies at its usual place with
    probability p exactly: the share of common-sense placements is p_commonsense. An object placed again is placed
    where it already lay with p**2 + (1 - p)**2 / (L - 1). So a kept object is seen to move with
    p_new_location (1 - p**2 - (1 - p)**2 / (L - 1)) a step: 0.05 with the defaults of the small room.
    In room-env 3 placing again always moves the object. One at its usual place must leave it, and the stationary
    share x solves x = n p + (1 - n) (x (1 - m) + (1 - x) m q), with n = p_new_object, m = p_new_location and
    q = p / (p + (1 - p) (L - 2) / (L - 1)): 0.53 in place of 0.7.

    Source       Kim, Cochez, François-Lavet, Neerincx & Vossen (2022), A Machine With Human-Like Memory Systems,
                 arXiv 2204.01611; room-env 3.0.6, RoomEnv-v0

    >>> import gymnasium as gym, pushlab
    >>> env = gym.make("pushlab/RoomEnv-v0")
    >>> (observation, question), info = env.reset(seed=7)
    >>> observation
    ("robert's clock", 'atlocation', 'wall', 0)
    >>> question
    ("mary's cat", 'atlocation')
    >>> (observation, question), reward, terminated, truncated, info = env.step("This is my answer!")
    >>> reward
    0.0
    """

    name, drawing = "RoomEnv-v0", "room"
    uniforms = 1

    def __init__(
        self,
        size: str = "small",
        n_people: int | None = None,
        n_objects: int | None = None,
        n_locations: int | None = None,
        n_agents: int = 1,
        p_commonsense: float = 0.7,
        p_new_location: float = 0.1,
        p_new_object: float = 0.1,
        p_switch_person: float = 0.5,
        max_step: int = 1000,
        encoding: str = "text",
        commonsense: Any = "commonsense",
        reference: str | None = None,
    ):
        people, objects, locations = SIZES[one_of("size", size, SIZES)]
        self.encoding, forced = (
            one_of("encoding", encoding, ("text", "index")),
            reference is not None,
        )
        one_of("reference", reference, REFERENCES)
        with naming("commonsense", commonsense):
            self.facts = read_facts(commonsense)
        usual, known = usual_places(self.facts), all_places(self.facts)
        people = whole(
            "n_people", people if n_people is None else n_people, 2, len(PEOPLE)
        )
        objects = whole(
            "n_objects",
            objects if n_objects is None else n_objects,
            people,
            len(usual),
            of="objects, a different one for each of the people,",
        )
        self.people, self.objects = PEOPLE[:people], tuple(usual)[:objects]
        self.usual = {thing: usual[thing] for thing in self.objects}
        needed = list(dict.fromkeys(self.usual.values()))
        locations = whole(
            "n_locations",
            locations if n_locations is None else n_locations,
            max(2, len(needed)),
            len(known),
            of=f"locations, for the objects have {len(needed)} usual places,",
        )
        self.n_agents, self.max_step = (
            whole("n_agents", n_agents, 1, 1000),
            whole("max_step", max_step, 1, 10_000_000),
        )
        self.locations = tuple(dict.fromkeys([*needed, *known]))[:locations]
        self.relation = self.facts[0].relation
        self.location_code = {place: code for code, place in enumerate(self.locations)}
        self.homes = np.array(
            [self.location_code[place] for place in self.usual.values()], np.int64
        )
        likely = {
            "p_commonsense": p_commonsense,
            "p_new_location": p_new_location,
            "p_new_object": p_new_object,
            "p_switch_person": p_switch_person,
        }
        chances(likely)
        demand(
            not forced or 0 < p_commonsense < 1,
            "where every placing again moves the object, p_commonsense lies "
            f"between 0 and 1, both excluded; got {in_short(p_commonsense)}",
        )
        self.rules = (self.homes, locations, *map(float, likely.values()), forced)
        self.heads = [
            [f"{person}{OWNS}{thing}" for thing in self.objects]
            for person in self.people
        ]
        self._head_code = {
            head: (person, thing)
            for person, row in enumerate(self.heads)
            for thing, head in enumerate(row)
        }
        self._set_spaces()
        if encoding == "text":
            self.read_action = self.answer_codes

    # ------------------------------------------------------------ spaces and words

    def _set_spaces(self):
        one = (
            len(self.people),
            len(self.objects),
            len(self.locations),
            self.max_step + 1,
        )
        several, places = self.n_agents > 1, len(self.locations)
        agents = range(self.n_agents) if several else [""]
        self.action_choices = [
            (f"answer {agent}".rstrip(), list(self.locations)) for agent in agents
        ]
        if self.encoding == "index":
            self.observation_space = MultiDiscrete([*one * self.n_agents, *one[:2]])
            self.action_space = (
                MultiDiscrete([places] * self.n_agents) if several else Discrete(places)
            )
            self.observation_names = (
                *(
                    f"{agent}.{part}".lstrip(".")
                    for agent in agents
                    for part in ("person", "object", "location", "time")
                ),
                "asked.person",
                "asked.object",
            )
        else:
            head, relation, place = map(
                _text_space, (self._head_code, [self.relation], self.locations)
            )
            quadruple = Tuple((head, relation, place, Discrete(self.max_step + 1)))
            answer = Text(LONGEST_ANSWER, min_length=1, charset=PRINTABLE)
            self.observation_space = Tuple(
                (
                    Tuple((quadruple,) * self.n_agents) if several else quadruple,
                    Tuple((head, relation)),
                )
            )
            self.action_space = Tuple((answer,) * self.n_agents) if several else answer

    def to_words(self, codes: Iterable[int]) -> tuple:
        """The observation in words of one in integers, an array (4 n_agents + 2,); codes of many steps row by row.

        >>> room = Room()
        >>> room.to_words([0, 0, 0, 42, 1, 1])
        (("james's laptop", 'atlocation', 'desk', 42), ("mary's cup", 'atlocation'))
        """
        *seen, person, thing = map(int, codes)
        quadruples = tuple(
            (self.heads[who][what], self.relation, self.locations[place], time)
            for who, what, place, time in zip(*[iter(seen)] * 4)
        )
        return (quadruples if self.n_agents > 1 else quadruples[0]), (
            self.heads[person][thing],
            self.relation,
        )

    def to_codes(self, words: tuple) -> np.ndarray:
        """The observation in integers of one in words: `to_words` backwards. KeyError names a word unknown here.

        >>> room = Room()
        >>> room.to_codes((("james's laptop", "atlocation", "desk", 42), ("mary's cup", "atlocation"))).tolist()
        [0, 0, 0, 42, 1, 1]
        """
        observation, question = words
        quadruples = observation if self.n_agents > 1 else (observation,)
        codes = [
            code
            for head, _, place, time in quadruples
            for code in (*self._head_code[head], self.location_code[place], time)
        ]
        return np.array([*codes, *self._head_code[question[0]]], np.int64)

    def answer_codes(self, action: Any, n: int) -> np.ndarray:
        """Answers in words of n copies as codes (n, n_agents), -1 for what is no place."""
        rows = action.tolist() if isinstance(action, np.ndarray) else action
        rows = [rows] if n == 1 and isinstance(rows, (str, type(None))) else rows
        several, lists = self.n_agents > 1, (list, tuple, np.ndarray)
        if several and isinstance(rows, lists):  # of a batch, the answers of each agent
            alone = n == 1 and all(
                isinstance(answer, (str, type(None))) for answer in rows
            )
            each = all(
                isinstance(one, lists) and getattr(one, "ndim", 1) for one in rows
            )
            rows = [rows] if alone else list(zip(*rows)) if each else None
        if not isinstance(rows, lists) or len(rows) != n:
            raise ValueError(
                f"expected {n} answers{' of each agent' * several}, one for each copy; got "
                f"{in_short(action)}"
            )
        return np.array(
            [self._codes_of(answer if several else (answer,)) for answer in rows],
            np.int64,
        )

    def _codes_of(self, answers):
        if len(answers) != self.n_agents:
            raise ValueError(
                f"{self.n_agents} agents give as many answers; got {in_short(answers)}"
            )
        return [
            self.location_code.get(in_small_letters(answer), -1) for answer in answers
        ]

    # ------------------------------------------------------------ what every world answers

    def initial(self, draws: np.ndarray, options: Mapping[str, Any]) -> dict:
        n, people, agents = len(draws), len(self.people), self.n_agents
        state = {
            "person": np.tile(np.arange(people, dtype=np.int16), (n, 1)),
            "thing": np.empty((n, people), np.int16),
            "place": np.empty((n, people), np.int16),
            "order": np.empty((n, agents, people), np.int16),
            "asked": np.empty(n, np.int64),
            "time": np.zeros(n, np.int64),
            "key": draws[:, 0].copy(),
        }
        furnish_each(
            state["thing"],
            state["place"],
            state["order"],
            state["asked"],
            state["key"],
            *self.rules[:3],
        )
        return state

    def advance(self, state: dict, action: Any, draws: np.ndarray) -> tuple[dict, dict]:
        copies = np.arange(len(state["time"]))
        answer = action.reshape(len(copies), self.n_agents)
        right = state["place"][copies, state["asked"]]
        rewards = self.judge(answer, right[:, None])
        outcome = {
            "answer": answer,
            "right": right,
            "rewards": rewards,
            "reward": rewards.mean(axis=1),
            "person": state["person"][copies, state["asked"]],
            "thing": state["thing"][copies, state["asked"]],
        }
        time = state["time"] + 1
        self.check_clock(time.max())
        following = {
            **state,
            "time": time,
            **{key: state[key].copy() for key in ("person", "thing", "place", "asked")},
        }
        pass_each(
            following["person"],
            following["thing"],
            following["place"],
            following["asked"],
            state["key"],
            time,
            self.rules,
        )
        return following, outcome

    def judge(self, answers: np.ndarray, right: Any) -> np.ndarray:
        """What answers (…, n_agents) earn, by the codes of their places."""
        return RIGHT * (answers == right)

    def check_clock(self, time: int) -> None:
        """ValueError once an episode is longer than the clock can show."""
        if time > self.max_step:
            raise ValueError(
                f"the clock of this room ends at step {self.max_step:,}; a longer episode needs a larger "
                "max_step"
            )

    def observe(self, state: dict) -> Any:
        seen = self.codes_seen(state)
        if self.encoding == "index":
            return seen
        # As the text spaces of a batch have them: tuples of arrays of str.
        heads, places = np.array(self.heads, object), np.array(self.locations, object)
        relation = np.full(len(seen), self.relation, object)
        quadruples = tuple(
            (
                heads[seen[:, at], seen[:, at + 1]],
                relation,
                places[seen[:, at + 2]],
                seen[:, at + 3],
            )
            for at in range(0, 4 * self.n_agents, 4)
        )
        return (quadruples if self.n_agents > 1 else quadruples[0]), (
            heads[seen[:, -2], seen[:, -1]],
            relation,
        )

    def codes_seen(self, state: dict) -> np.ndarray:
        """Observations in integers, (n, 4 n_agents + 2)."""
        seen = np.empty((len(state["time"]), 4 * self.n_agents + 2), np.int64)
        look_each(
            state["person"],
            state["thing"],
            state["place"],
            state["order"],
            state["time"],
            state["asked"],
            seen,
        )
        return seen

    def info(self, state: dict, outcome: dict | None) -> dict:
        if self.n_agents == 1:
            return {}
        return {
            "rewards": np.zeros((len(state["time"]), self.n_agents))
            if outcome is None
            else outcome["rewards"]
        }

    def solo(self) -> RoomAlone:
        return RoomAlone(self)

    # ------------------------------------------------------------ pictures

    def frame(self, state: dict, outcome: dict | None, at: int = 0) -> dict:
        """Return what `pushlab.plots.room` draws, a plain dict.

        env, step, of      Name of the world, steps so far, and the last that the clock shows.
        locations, people  The words, in their order.
        placed             A list of {person, object, location}, a spot each.
        seen               For each agent, the number of the spot in its view.
        question           {person, object} asked for now.
        answered           {person, object, said (a list), right, reward} of the question before; None after a reset.

        `with_memory` adds "memory", what a `MemoryAgent` held.
        """
        person, thing, place = (
            state[key][at].tolist() for key in ("person", "thing", "place")
        )
        time, asked = int(state["time"][at]), int(state["asked"][at])
        placed = [
            {
                "person": self.people[p],
                "object": self.objects[o],
                "location": self.locations[x],
            }
            for p, o, x in zip(person, thing, place)
        ]
        return {
            "env": self.name,
            "step": time,
            "of": self.max_step,
            "locations": self.locations,
            "people": self.people,
            "placed": placed,
            "question": {key: placed[asked][key] for key in ("person", "object")},
            "seen": [int(order[time % len(person)]) for order in state["order"][at]],
            "answered": None if outcome is None else self._answered(outcome, at),
        }

    def _answered(self, outcome, at):
        """What became of the last question: who was asked for, what was said, what would have been right."""
        said = [
            self.locations[code] if code >= 0 else None
            for code in outcome["answer"][at].tolist()
        ]
        return {
            "person": self.people[outcome["person"][at]],
            "object": self.objects[outcome["thing"][at]],
            "said": said,
            "right": self.locations[outcome["right"][at]],
            "reward": float(outcome["reward"][at]),
        }


def _text_space(words):
    """The space of these words."""
    letters = "".join(sorted(set("".join(words))))
    return Text(max(map(len, words)), min_length=min(map(len, words)), charset=letters)
