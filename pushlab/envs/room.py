"""The room: people place objects, an agent sees one placement a step and answers one question a step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete, MultiDiscrete, Text, Tuple

from pushlab.datasets.commonsense import OWNS, all_places, read_facts, usual_places
from pushlab.envs.chance import number
from pushlab.envs.shell import reader_of
from pushlab.envs.world import World
from pushlab.ground.arguments import chances, demand, in_short, naming, one_of, whole
from pushlab.ground.compiled import compiled

SIZES = {"small": (10, 10, 10), "big": (20, 80, 49)}  # people, objects, locations
PEOPLE = (
    "james mary robert karen linda david susan thomas anna peter "
    "nina oscar irene victor helen frank emma george clara walter"
).split()
RIGHT = 1.0  # reward of a right answer; a wrong one has none
PRINTABLE = "".join(map(chr, range(32, 127)))
LONGEST_ANSWER = 64  # of the action space only: longer answers are wrong, but no error


class Room(World):
    """Remember where people put their things, seeing one placement a step, and answer one question a step.

    Observation:
        (observation, question), in words: ("james's laptop", "atlocation", "desk", 42), the placement in view and the
        time; ("mary's cup", "atlocation"), the question. An agent walks round the people's spots in an order drawn at
        the start, one a step. Space: Tuple(Tuple(Text, Text, Text, Discrete), Tuple(Text, Text)). With several agents,
        a Tuple of such quadruples replaces the one; they share the question.

    Action:
        The answer in words, case ignored: Text; with several agents a Tuple of answers. A word that is no place, or
        None for no answer, is wrong. Anything but a str raises TypeError.

    Reward:
        1 if the object asked for lies there now, else 0; with several agents their mean.

    Start:
        Everybody holds a different object and has placed it.

    Dynamics:
        The answer is judged. Then everybody gets another object with p_new_object and places it, or else places the
        same one again with p_new_location; two people switch spots with p_switch_person. The next placement is seen and
        the next question asked; each person's object is equally likely.

    End:
        Never terminates; registered with 1,000 steps.

    Info:
        Empty for one agent; for several "rewards" of the last step, float64 (n_agents,), 0 before the first.

    Args:
        size: "small" (10 people, 10 objects, 10 locations) or "big" (20, 80, 49).
        n_people, n_objects, n_locations: Other numbers than the size's. Objects are the first of the table, locations
            their usual places first, then others of the table.
        n_agents: Number of agents that look round the room.
        p_commonsense: Probability that an object is put at its usual place; else any other is as likely.
        p_new_location: Probability that somebody who keeps the object places it again.
        p_new_object: Probability that somebody gets another object, and places it.
        p_switch_person: Probability that two people switch spots.
        max_step: The last step that the clock can show; a longer episode needs a larger one.
        encoding: "text", or "index" for the same world in integers. The observation is MultiDiscrete, int64: person,
            object, location, time (for each agent), then person and object asked for. The action is Discrete, or
            MultiDiscrete for several agents. `world.to_words` translates observations, `world.locations` and
            `world.location_code` answers.
        commonsense: Table of usual places: "commonsense" (default), "elsewhere", a file, or facts.
        reference: None; "room-env-3" for the original's rule: placing again always moves the object.

    How often things move. A placement is drawn afresh each time, with p = p_commonsense at the usual place and any of
    the other L - 1 locations with (1 - p) / (L - 1). So at every time an object lies at its usual place with
    probability p exactly: the share of common-sense placements is p_commonsense. An object placed again is placed
    where it already lay with p**2 + (1 - p)**2 / (L - 1). So a kept object is seen to move with
    p_new_location (1 - p**2 - (1 - p)**2 / (L - 1)) a step: 0.05 with the defaults of the small room.
    In room-env 3 placing again always moves the object. One at its usual place must leave it, and the stationary
    share x solves x = n p + (1 - n) (x (1 - m) + (1 - x) m q), with n = p_new_object, m = p_new_location and
    q = p / (p + (1 - p) (L - 2) / (L - 1)): 0.53 in place of 0.7.

    Source:
        Kim, Cochez, François-Lavet, Neerincx & Vossen (2022), A Machine With Human-Like Memory Systems, arXiv
        2204.01611; room-env 3.0.6, RoomEnv-v0

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

    name = "RoomEnv-v0"
    drawing = "room"
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
        self.encoding = one_of("encoding", encoding, ("text", "index"))
        one_of("reference", reference, (None, "room-env-3"))
        with naming("commonsense", commonsense):
            facts = read_facts(commonsense)
        usual = usual_places(facts)
        places = all_places(facts)
        if n_people is not None:
            people = whole("n_people", n_people, 2, len(PEOPLE))
        objects = whole(
            "n_objects",
            objects if n_objects is None else n_objects,
            people,
            len(usual),
            of="objects, a different one for each of the people,",
        )
        self.people = tuple(PEOPLE[:people])
        self.objects = tuple(usual)[:objects]
        self.usual = {thing: usual[thing] for thing in self.objects}
        needed = list(dict.fromkeys(self.usual.values()))
        locations = whole(
            "n_locations",
            locations if n_locations is None else n_locations,
            max(2, len(needed)),
            len(places),
            of=f"locations, for the objects have {len(needed)} usual places,",
        )
        self.locations = tuple(dict.fromkeys([*needed, *places]))[:locations]
        self.n_agents = whole("n_agents", n_agents, 1)
        self.max_step = whole("max_step", max_step, 1)
        probabilities = {
            "p_commonsense": p_commonsense,
            "p_new_location": p_new_location,
            "p_new_object": p_new_object,
            "p_switch_person": p_switch_person,
        }
        chances(probabilities)
        demand(
            reference is None or 0 < p_commonsense < 1,
            "for room-env-3, in which placing again moves the object, p_commonsense lies between 0 and 1, "
            f"both excluded; got {in_short(p_commonsense)}",
        )
        self.location_code = {place: code for code, place in enumerate(self.locations)}
        self.homes = np.array(
            [self.location_code[place] for place in self.usual.values()], np.int64
        )
        self.rules = (
            self.homes,
            locations,
            *map(float, probabilities.values()),
            reference is not None,
        )
        self.relation = facts[0].relation
        heads = [
            [f"{person}{OWNS}{thing}" for thing in self.objects]
            for person in self.people
        ]
        self._heads = np.array(heads, object)
        self._places = np.array(self.locations, object)
        self._set_spaces()

    def _set_spaces(self):
        agents = range(self.n_agents) if self.n_agents > 1 else [""]
        self.action_choices = [
            (f"answer {agent}".rstrip(), list(self.locations)) for agent in agents
        ]
        sizes = [len(self.people), len(self.objects)]
        clock = self.max_step + 1
        if self.encoding == "index":
            codes = Discrete(len(self.locations))
            if self.n_agents > 1:
                codes = MultiDiscrete([len(self.locations)] * self.n_agents)
            self.action_space = codes
            seen = [*sizes, len(self.locations), clock]
            self.observation_space = MultiDiscrete([*seen * self.n_agents, *sizes])
            names = [
                f"{agent}.{part}".lstrip(".")
                for agent in agents
                for part in ("person", "object", "location", "time")
            ]
            self.observation_names = (*names, "asked.person", "asked.object")
        else:
            self.read_action = self._read_words
            head, relation, place = map(
                _text_space, (self._heads.ravel(), [self.relation], self.locations)
            )
            seen = Tuple((head, relation, place, Discrete(clock)))
            answer = Text(LONGEST_ANSWER, min_length=1, charset=PRINTABLE)
            if self.n_agents > 1:
                seen = Tuple((seen,) * self.n_agents)
                answer = Tuple((answer,) * self.n_agents)
            self.observation_space = Tuple((seen, Tuple((head, relation))))
            self.action_space = answer

    def initial(self, draws: np.ndarray, options: Mapping[str, Any]) -> dict:
        n = len(draws)
        people = len(self.people)
        state = {
            "person": np.tile(np.arange(people, dtype=np.int16), (n, 1)),
            "thing": np.empty((n, people), np.int16),
            "place": np.empty((n, people), np.int16),
            "asked": np.empty(n, np.int64),
            "order": np.empty((n, self.n_agents, people), np.int16),
            "key": draws[:, 0].copy(),
            "time": np.zeros(n, np.int64),
            "seen": np.empty((n, 4 * self.n_agents + 2), np.int64),
        }
        begin_each(*state.values(), self.rules)
        return state

    def advance(self, state: dict, action: Any, draws: np.ndarray) -> tuple[dict, dict]:
        asked = np.arange(len(state["time"])), state["asked"]
        answer = action.reshape(-1, self.n_agents)
        right = state["place"][asked]
        rewards = RIGHT * (answer == right[:, None])
        outcome = {
            "answer": answer,
            "right": right,
            "rewards": rewards,
            "reward": rewards.mean(axis=1),
            "person": state["person"][asked],
            "thing": state["thing"][asked],
        }
        return self.live(state, 1)[0], outcome

    def live(self, state: dict, steps: int) -> tuple[dict, np.ndarray, np.ndarray]:
        """Return the state after so many steps, whatever is answered.

        Returns:
            The state, and after each step what is seen, (n, steps, 4 n_agents + 2), and the right answer, (n, steps).
        """
        time = state["time"]
        if (time + steps).max() > self.max_step:
            raise ValueError(
                f"the clock of this room ends at step {self.max_step:,}; a longer episode needs a larger max_step"
            )
        n = len(time)
        seen = np.empty((n, steps, state["seen"].shape[1]), np.int64)
        right = np.empty((n, steps), np.int64)
        changes = ("person", "thing", "place", "asked")
        room = {key: state[key].copy() for key in changes}
        live_each(
            *room.values(), state["order"], state["key"], time, seen, right, self.rules
        )
        state = {**state, **room, "time": time + steps, "seen": seen[:, -1]}
        return state, seen, right

    def observe(self, state: dict) -> Any:
        seen = state["seen"]
        if self.encoding == "index":
            return seen
        # As the text spaces of a batch have them: tuples of arrays of str.
        return self._in_words(seen.T, np.full(len(seen), self.relation, object))

    def _in_words(self, seen, relation):
        """Return an observation in words for one in integers; each of its components can be an array."""
        quadruples = tuple(
            (self._heads[who, what], relation, self._places[place], time)
            for who, what, place, time in zip(*[iter(seen[:-2])] * 4)
        )
        question = self._heads[seen[-2], seen[-1]], relation
        return (quadruples if self.n_agents > 1 else quadruples[0]), question

    def info(self, state: dict, outcome: dict | None) -> dict:
        if self.n_agents == 1:
            return {}
        if outcome is None:
            return {"rewards": np.zeros((len(state["time"]), self.n_agents))}
        return {"rewards": outcome["rewards"]}

    def solo(self) -> RoomAlone:
        return RoomAlone(self)

    def frame(self, state: dict, outcome: dict | None, at: int = 0) -> dict:
        """Return the data that `pushlab.plots.room` draws, a plain dict.

        - `env`, `step`, `of`: Name of the world, steps so far, and the last that the clock shows.
        - `locations`, `people`: The words, in their order.
        - `placed`: A list of {person, object, location}, one for each spot.
        - `seen`: For each agent, the number of the spot in its view.
        - `question`: {person, object} asked for now.
        - `answered`: {person, object, said (a list), right, reward} of the question before; None
          after a reset.

        `with_memory` adds "memory", what a `MemoryAgent` held.
        """
        time = int(state["time"][at])
        spots = zip(*(state[key][at] for key in ("person", "thing", "place")))
        placed = [
            {
                "person": self.people[person],
                "object": self.objects[thing],
                "location": self.locations[place],
            }
            for person, thing, place in spots
        ]
        asked = placed[state["asked"][at]]
        answered = None
        if outcome is not None:
            codes = outcome["answer"][at].tolist()
            answered = {
                "person": self.people[outcome["person"][at]],
                "object": self.objects[outcome["thing"][at]],
                "said": [self.locations[x] if x >= 0 else None for x in codes],
                "right": self.locations[outcome["right"][at]],
                "reward": float(outcome["reward"][at]),
            }
        return {
            "env": self.name,
            "step": time,
            "of": self.max_step,
            "locations": self.locations,
            "people": self.people,
            "placed": placed,
            "question": {key: asked[key] for key in ("person", "object")},
            "seen": [int(order[time % len(placed)]) for order in state["order"][at]],
            "answered": answered,
        }

    def to_words(self, codes: Iterable[int]) -> tuple:
        """Return an observation in words for one in integers, an array (4 n_agents + 2,).

        >>> room = Room()
        >>> room.to_words([0, 0, 0, 42, 1, 1])
        (("james's laptop", 'atlocation', 'desk', 42), ("mary's cup", 'atlocation'))
        """
        return self._in_words(list(map(int, codes)), self.relation)

    def _read_words(self, action, n):
        """Answers in words of n copies, or a list of them for each agent, as codes (n, n_agents); -1 for no place."""
        codes = []
        for answers in action if self.n_agents > 1 else [action]:
            if not isinstance(answers, (list, tuple, np.ndarray)):
                answers = [answers]
            words = map(lower_case, answers)
            codes.append([self.location_code.get(word, -1) for word in words])
        if list(map(len, codes)) != [n] * self.n_agents:
            raise ValueError(
                f"an action is made of {n} answers from each agent, of whom there are {self.n_agents}; "
                f"got {in_short(action)}"
            )
        return np.array(codes, np.int64).T


def lower_case(answer: str | None) -> str | None:
    """Return an answer as it is compared; TypeError for anything but a str or None."""
    if answer is None:
        return None
    if not isinstance(answer, str):
        raise TypeError(
            f"an answer is a word for a place, a str, or None for no answer; got {in_short(answer)}"
        )
    return answer.lower()


def _text_space(words):
    letters = "".join(sorted(set("".join(words))))
    return Text(max(map(len, words)), min_length=min(map(len, words)), charset=letters)


# ---------------------------------------------------------------- what happens in a room

BEGIN = 1 << 30  # numbers of a stream from here on are for the start of an episode

# The functions below work in place on spots (people,): which person is at each, with which
# object (thing), lying where (place). order (agents, people) is the way each agent walks.


@compiled
def another(which, count, chance):
    """Return one of `count` that is not `which`, all others equally likely."""
    other = int(chance * (count - 1))
    return other + (other >= which)


@compiled
def place_for(home, locations, p_commonsense, chance, where):
    """Return where somebody puts an object: at its usual place, or else at any other."""
    return home if chance < p_commonsense else another(home, locations, where)


@compiled
def leave(place, home, locations, p_commonsense, chance, where):
    """Return a place by the rule of room-env 3: one is drawn until it differs from where the object lies."""
    if place == home:
        return another(home, locations, where)
    elsewhere = (1 - p_commonsense) * (locations - 2) / (locations - 1)
    if chance * (p_commonsense + elsewhere) < p_commonsense:
        return home
    other = int(where * (locations - 2))  # all but these two
    other += other >= min(place, home)
    return other + (other >= max(place, home))


@compiled
def begin(thing, place, order, key, rules):
    """Let everybody hold and place a different object, and draw each agent's way; return whose object is asked for."""
    homes, locations, p_commonsense = rules[:3]
    people = len(thing)
    at = BEGIN
    deck = np.arange(len(homes))
    for row in range(people):
        pick = row + int(number(key, at) * (len(homes) - row))
        thing[row], deck[pick] = deck[pick], deck[row]
        home = homes[thing[row]]
        chance, where = number(key, at + 1), number(key, at + 2)
        place[row] = place_for(home, locations, p_commonsense, chance, where)
        at += 3
    for way in order:
        for row in range(people):
            way[row] = row
        for row in range(people - 1):
            pick = row + int(number(key, at) * (people - row))
            way[row], way[pick] = way[pick], way[row]
            at += 1
    return int(number(key, at) * people)


@compiled
def pass_step(person, thing, place, key, time, rules):
    """Advance a room to `time`; return whose object is asked for next.

    Everybody can get another object and place it, or else place the same one again; then two people can switch spots.
    """
    homes, locations, p_commonsense, p_new_location, p_new_object, p_switch, forced = (
        rules
    )
    people = len(person)
    at = time * (4 * people + 4)
    either = p_new_object + (1 - p_new_object) * p_new_location
    for row in range(people):
        event = number(key, at)
        if event < either:
            is_new = event < p_new_object
            if is_new:
                thing[row] = another(thing[row], len(homes), number(key, at + 1))
            home = homes[thing[row]]
            chance, where = number(key, at + 2), number(key, at + 3)
            if forced and not is_new:
                place[row] = leave(
                    place[row], home, locations, p_commonsense, chance, where
                )
            else:
                place[row] = place_for(home, locations, p_commonsense, chance, where)
        at += 4
    if number(key, at) < p_switch:
        one = int(number(key, at + 1) * people)
        two = another(one, people, number(key, at + 2))
        for spots in (person, thing, place):
            spots[one], spots[two] = spots[two], spots[one]
    return int(number(key, at + 3) * people)


@compiled
def look(person, thing, place, asked, order, time, seen):
    """Fill seen (4 agents + 2,): person, object, location, time in each agent's view; the question."""
    at = 0
    for way in order:
        row = way[time % len(person)]
        seen[at] = person[row]
        seen[at + 1] = thing[row]
        seen[at + 2] = place[row]
        seen[at + 3] = time
        at += 4
    seen[at] = person[asked]
    seen[at + 1] = thing[asked]


@compiled
def begin_each(person, thing, place, asked, order, key, time, seen, rules):
    """Start an episode in every copy; fills everything but person, key and time."""
    for i in range(len(key)):
        asked[i] = begin(thing[i], place[i], order[i], key[i], rules)
        look(person[i], thing[i], place[i], asked[i], order[i], time[i], seen[i])


@compiled
def live_each(person, thing, place, asked, order, key, time, seen, right, rules):
    """Advance every copy by the steps of seen (n, steps, 4 agents + 2) and right (n, steps), which are filled."""
    for i in range(len(key)):
        for step in range(seen.shape[1]):
            now = time[i] + step + 1
            asked[i] = pass_step(person[i], thing[i], place[i], key[i], now, rules)
            look(person[i], thing[i], place[i], asked[i], order[i], now, seen[i, step])
            right[i, step] = place[i, asked[i]]


# ---------------------------------------------------------------- one room alone

BLOCK = 256  # steps that a room alone is lived ahead


class RoomAlone:
    """One room, lived ahead in blocks of steps, because nothing depends on the answers."""

    def __init__(self, world: Room):
        self.world = world
        self.is_text = world.encoding == "text"
        self.is_plain = self.is_text and world.n_agents == 1  # in half the time
        self.heads = world._heads.tolist()
        self.relation = world.relation
        self.locations = world.locations
        self._read = reader_of(world)
        self.start: Any = None

    def reset(self, draws: np.ndarray, options: Mapping[str, Any]) -> tuple[Any, dict]:
        """Start an episode; return observation and info."""
        self.start = self.world.initial(draws, options)  # the state before the block
        self.at = 0  # steps since then
        self.rights: list[int] = []
        self.right = int(self.start["place"][0, self.start["asked"][0]])
        info = self.world.info(self.start, None)
        return self._words(self.start["seen"][0]), {key: info[key][0] for key in info}

    def step(
        self, action: Any, draws: np.ndarray
    ) -> tuple[Any, float, bool, bool, dict]:
        """Return observation, reward, terminated, truncated and info."""
        info = {}
        if self.is_plain:
            answer = action.lower() if type(action) is str else lower_case(action)
            reward = RIGHT if answer == self.locations[self.right] else 0.0
        else:
            answers = self._read(action, 1).ravel().tolist()
            rewards = [RIGHT * (answer == self.right) for answer in answers]
            reward = sum(rewards) / len(rewards)
            if len(rewards) > 1:
                info["rewards"] = np.array(rewards)
        at = self.at
        if at == len(self.rights):
            self._live_on()
            at = 0
        self.action = action
        self.at = at + 1
        self.right = self.rights[at]
        if not self.is_plain:
            return self._words(self.seen[at]), reward, False, False, info
        who, what, place, time, whose, which = self.rows[at]
        heads = self.heads
        relation = self.relation
        placement = heads[who][what], relation, self.locations[place], time
        question = heads[whose][which], relation
        return (placement, question), reward, False, False, info

    def _words(self, seen):
        return self.world.to_words(seen) if self.is_text else seen.copy()

    def _live_on(self):
        self.start = self._after(self.at)
        left = self.world.max_step - self.start["time"].item()
        _, seen, rights = self.world.live(self.start, max(1, min(BLOCK, left)))
        self.seen = seen[0]
        self.rows = self.seen.tolist()
        self.rights = rights[0].tolist()

    def _after(self, steps):
        """Return the state after so many steps of the block."""
        return self.world.live(self.start, steps)[0] if steps else self.start

    def now(self) -> tuple[dict | None, dict | None]:
        """Return state and outcome as the methods for batches do; both are None before the first reset."""
        if self.start is None or self.at == 0:
            return self.start, None
        before = self._after(self.at - 1)
        return self.world.advance(before, self._read(self.action, 1), None)
