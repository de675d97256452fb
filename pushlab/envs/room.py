"""The room: people place objects; an agent sees one placement and answers one question per step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete, MultiDiscrete, Text, Tuple

from pushlab.datasets.commonsense import (
    POSSESSIVE,
    all_places,
    read_facts,
    usual_places,
)
from pushlab.envs.env import SingleCopy, index_nested
from pushlab.envs.random_numbers import uniform_at
from pushlab.envs.world import World
from pushlab.utils.arguments import (
    error_context,
    require,
    require_probabilities,
    short_repr,
    validate_choice,
    validate_integer,
)
from pushlab.utils.compiled import compiled

SIZES = {"small": (10, 10, 10), "big": (20, 80, 49)}  # people, objects, locations
PEOPLE = (
    "james mary robert karen linda david susan thomas anna peter "
    "nina oscar irene victor helen frank emma george clara walter"
).split()
CORRECT_REWARD = 1.0  # reward of a right answer; a wrong one has 0
PRINTABLE = "".join(map(chr, range(32, 127)))
MAX_ANSWER_LENGTH = 64  # of the action space; a longer answer is wrong, but no error


class Room(World):
    """Remember where people put their things. Each step shows one placement and asks one question.

    Observation:
        (observation, question), in words: ("james's laptop", "atlocation", "desk", 42), the visible placement and the
        time; ("mary's cup", "atlocation"), the question. An agent visits the people's spots in an order drawn at the
        start, one per step. Space: Tuple(Tuple(Text, Text, Text, Discrete), Tuple(Text, Text)). With several agents,
        the observation is a Tuple of such quadruples; they share the question.

    Action:
        The answer in words, case ignored: Text; with several agents a Tuple of answers. Any word that isn't a location
        is wrong, and so is None (no answer). Other types raise TypeError.

    Reward:
        1 if the object in the question is there now, otherwise 0; with several agents their mean.

    Start:
        Each person has placed a different object.

    Dynamics:
        The answer is scored. Then each person gets another object with p_new_object and places it; otherwise the
        person places the same object again with p_new_location. Two people switch spots with p_switch_person. The
        next question asks for the object of a person drawn uniformly.

    End:
        Never terminated; truncated after `max_step` steps, or after 1,000 unless `max_episode_steps` is set.

    Info:
        Empty for one agent. For several, "rewards" of the last step, float64 (n_agents,), 0 before the first.

    Args:
        room_size: "small" (10 people, 10 objects, 10 locations) or "big" (20, 80, 49).
        n_people, n_objects, n_locations: Override the numbers of `room_size`. Objects are the first in the table.
            Locations are the objects' usual places, then others in the table.
        n_agents: Number of agents.
        p_commonsense: Probability that an object is put at its usual place; all other locations are equally likely.
        p_new_location: Probability that a person who keeps an object places it again.
        p_new_object: Probability that a person gets another object and places it.
        p_switch_person: Probability that two people switch spots.
        max_step: Last step of the clock, which ends an episode. More than 1,000 also need `max_episode_steps`.
        encoding: "text", or "index" for integers. Then the observation is MultiDiscrete, int64: person, object,
            location and time (for each agent), then person and object of the question. The action is Discrete, or
            MultiDiscrete for several agents. `world.to_words` translates observations, `world.locations` and
            `world.location_code` answers.
        commonsense: Table of usual places: "commonsense" (default), "elsewhere", a file, or facts.
        reference: None, or "room-env-3" for the original's rule: placing an object again always moves it.

    How often objects move. Each placement is drawn independently: the usual place with p = p_commonsense, and each of
    the other L - 1 locations with (1 - p) / (L - 1). So the share of objects at their usual place is p at every time.
    A placement repeats the last location with probability p**2 + (1 - p)**2 / (L - 1). So a kept object moves with
    p_new_location (1 - p**2 - (1 - p)**2 / (L - 1)) per step: 0.05 with the defaults of the small room.
    In room-env 3 placing an object again always moves it, also from its usual place. The stationary share x solves
    x = n p + (1 - n) (x (1 - m) + (1 - x) m q), with n = p_new_object, m = p_new_location and
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
        room_size: str = "small",
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
        people, objects, locations = SIZES[
            validate_choice("room_size", room_size, SIZES)
        ]
        self.encoding = validate_choice("encoding", encoding, ("text", "index"))
        validate_choice("reference", reference, (None, "room-env-3"))
        with error_context("commonsense", commonsense):
            facts = read_facts(commonsense)
        usual = usual_places(facts)
        places = all_places(facts)
        if n_people is not None:
            people = validate_integer("n_people", n_people, 2, len(PEOPLE))
        objects = validate_integer(
            "n_objects",
            objects if n_objects is None else n_objects,
            people,
            len(usual),
            unit="objects, at least one per person,",
        )
        self.people = tuple(PEOPLE[:people])
        self.objects = tuple(usual)[:objects]
        self.usual = {name: usual[name] for name in self.objects}
        needed = list(dict.fromkeys(self.usual.values()))
        locations = validate_integer(
            "n_locations",
            locations if n_locations is None else n_locations,
            max(2, len(needed)),
            len(places),
            unit=f"locations, including {len(needed)} usual ones,",
        )
        self.locations = tuple(dict.fromkeys([*needed, *places]))[:locations]
        self.n_agents = validate_integer("n_agents", n_agents, 1)
        self.max_step = self.max_steps = validate_integer("max_step", max_step, 1)
        probabilities = {
            "p_commonsense": p_commonsense,
            "p_new_location": p_new_location,
            "p_new_object": p_new_object,
            "p_switch_person": p_switch_person,
        }
        require_probabilities(probabilities)
        require(
            reference is None or 0 < p_commonsense < 1,
            "p_commonsense must be between 0 and 1, both excluded, for room-env-3, where placing an object again "
            f"always moves it; got {short_repr(p_commonsense)}",
        )
        self.location_code = {place: code for code, place in enumerate(self.locations)}
        usual_codes = map(self.location_code.get, self.usual.values())
        self.usual_codes = np.fromiter(usual_codes, np.int64)
        self._parameters = (
            self.usual_codes,
            locations,
            *map(float, probabilities.values()),
            reference is not None,
        )
        self.relation = facts[0].relation
        heads = [
            [f"{person}{POSSESSIVE}{name}" for name in self.objects]
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
        n_locations = len(self.locations)
        clock = self.max_step + 1
        if self.encoding == "index":
            self.action_space = Discrete(n_locations)
            if self.n_agents > 1:
                self.action_space = MultiDiscrete([n_locations] * self.n_agents)
            placement = [*sizes, n_locations, clock]
            self.observation_space = MultiDiscrete([*placement * self.n_agents, *sizes])
            names = []
            for agent in agents:
                for part in ("person", "object", "location", "time"):
                    names.append(f"{agent}.{part}".lstrip("."))
            self.observation_names = (*names, "asked.person", "asked.object")
        else:
            self.parse_action = self._parse_words
            head = _text_space(self._heads.ravel())
            relation = _text_space([self.relation])
            place = _text_space(self.locations)
            placement = Tuple((head, relation, place, Discrete(clock)))
            answer = Text(MAX_ANSWER_LENGTH, min_length=1, charset=PRINTABLE)
            if self.n_agents > 1:
                placement = Tuple((placement,) * self.n_agents)
                answer = Tuple((answer,) * self.n_agents)
            self.observation_space = Tuple((placement, Tuple((head, relation))))
            self.action_space = answer

    def initial(self, draws: np.ndarray, options: Mapping[str, Any]) -> dict:
        n = len(draws)
        spots = len(self.people)
        state = {
            "people": np.tile(np.arange(spots, dtype=np.int16), (n, 1)),
            "objects": np.empty((n, spots), np.int16),
            "locations": np.empty((n, spots), np.int16),
            "question": np.empty(n, np.int64),
            "routes": np.empty((n, self.n_agents, spots), np.int16),
            "key": draws[:, 0].copy(),
            "time": np.zeros(n, np.int64),
            "observation": np.empty((n, 4 * self.n_agents + 2), np.int64),
        }
        begin_rooms(*state.values(), self._parameters)
        return state

    def advance(self, state: dict, action: Any, draws: np.ndarray) -> tuple[dict, dict]:
        question = np.arange(len(state["time"])), state["question"]
        answer = action.reshape(-1, self.n_agents)
        right = state["locations"][question]
        rewards = CORRECT_REWARD * (answer == right[:, None])
        outcome = {
            "answer": answer,
            "right": right,
            "rewards": rewards,
            "reward": rewards.mean(axis=1),
            "person": state["people"][question],
            "object": state["objects"][question],
        }
        return self.simulate(state, 1)[0], outcome

    def simulate(self, state: dict, steps: int) -> tuple[dict, np.ndarray, np.ndarray]:
        """Advance by several steps. Answers don't matter, because they have no effect on the room.

        Returns:
            The state; the observations after each step, (n, steps, 4 n_agents + 2); and the right answers, (n, steps).
        """
        time = state["time"]
        if (time + steps).max() > self.max_step:
            raise ValueError(
                f"the clock of this room ends at step {self.max_step:,}; a longer episode needs a larger max_step"
            )
        n = len(time)
        observations = np.empty((n, steps, state["observation"].shape[1]), np.int64)
        answers = np.empty((n, steps), np.int64)
        changed = {
            key: state[key].copy()
            for key in ("people", "objects", "locations", "question")
        }
        simulate_rooms(
            *changed.values(),
            state["routes"],
            state["key"],
            time,
            observations,
            answers,
            self._parameters,
        )
        changed["time"] = time + steps
        changed["observation"] = observations[:, -1]
        return {**state, **changed}, observations, answers

    def observe(self, state: dict) -> Any:
        codes = state["observation"]
        if self.encoding == "index":
            return codes
        # A batch of Text spaces has tuples of arrays of str.
        return self._in_words(codes.T, np.full(len(codes), self.relation, object))

    def _in_words(self, codes, relation):
        """Return an observation in words. Each element of `codes` can be an integer or an array."""
        placements = []
        for start in range(0, 4 * self.n_agents, 4):
            person, thing, place, time = codes[start : start + 4]
            head = self._heads[person, thing]
            placements.append((head, relation, self._places[place], time))
        question = self._heads[codes[-2], codes[-1]], relation
        return (tuple(placements) if self.n_agents > 1 else placements[0]), question

    def truncated(self, state: dict) -> np.ndarray:
        return state["time"] >= self.max_step

    def info(self, state: dict, outcome: dict | None) -> dict:
        if self.n_agents == 1:
            return {}
        if outcome is None:
            return {"rewards": np.zeros((len(state["time"]), self.n_agents))}
        return {"rewards": outcome["rewards"]}

    def make_single_copy(self) -> SingleRoom:
        return SingleRoom(self)

    def frame(self, state: dict, outcome: dict | None, at: int = 0) -> dict:
        """Return the data that `pushlab.plots.room` draws, a plain dict.

        - `env`, `step`, `episode_length`: Name of the world, steps so far, and last step of the clock.
        - `locations`, `people`: All names, in order of their codes.
        - `placements`: A list of {person, object, location}, one for each spot.
        - `seen`: For each agent, the index of the visible spot.
        - `question`: {person, object} of the current question.
        - `last_answer`: {person, object, answers_by_agent (a list), right, reward} of the previous
          question; None after a reset.

        `frames_with_memory` adds "memory", the contents of a `MemoryAgent`'s memory.
        """
        time = int(state["time"][at])
        spots = zip(state["people"][at], state["objects"][at], state["locations"][at])
        placements = [
            {
                "person": self.people[person],
                "object": self.objects[thing],
                "location": self.locations[place],
            }
            for person, thing, place in spots
        ]
        question = dict(placements[state["question"][at]])
        del question["location"]
        last_answer = None
        if outcome is not None:
            codes = outcome["answer"][at].tolist()
            last_answer = {
                "person": self.people[outcome["person"][at]],
                "object": self.objects[outcome["object"][at]],
                "answers_by_agent": [
                    self.locations[x] if x >= 0 else None for x in codes
                ],
                "right": self.locations[outcome["right"][at]],
                "reward": float(outcome["reward"][at]),
            }
        return {
            "env": self.name,
            "step": time,
            "episode_length": self.max_step,
            "locations": self.locations,
            "people": self.people,
            "placements": placements,
            "question": question,
            "seen": [
                int(route[time % len(placements)]) for route in state["routes"][at]
            ],
            "last_answer": last_answer,
        }

    def to_words(self, codes: Iterable[int]) -> tuple:
        """Return an observation in words from one in integers, an array (4 n_agents + 2,).

        >>> room = Room()
        >>> room.to_words([0, 0, 0, 42, 1, 1])
        (("james's laptop", 'atlocation', 'desk', 42), ("mary's cup", 'atlocation'))
        """
        return self._in_words(list(map(int, codes)), self.relation)

    def _parse_words(self, action, n):
        """Return the codes (n, n_agents) of answers in words, -1 if a word isn't a location.

        An action has the answers of n copies; with several agents, it has a list of these for each agent.
        """
        codes = []
        for answers in action if self.n_agents > 1 else [action]:
            if not isinstance(answers, (list, tuple, np.ndarray)):
                answers = [answers]
            words = map(lower_case, answers)
            codes.append([self.location_code.get(word, -1) for word in words])
        if list(map(len, codes)) != [n] * self.n_agents:
            raise ValueError(
                f"an action needs {n} answers from each agent ({self.n_agents} in all); got {short_repr(action)}"
            )
        return np.array(codes, np.int64).T


def lower_case(answer: str | None) -> str | None:
    """Return an answer in lower case; raise TypeError unless it is a str or None."""
    if answer is None:
        return None
    if not isinstance(answer, str):
        raise TypeError(
            f"an answer must be a str, or None for no answer; got {short_repr(answer)}"
        )
    return answer.lower()


def _text_space(words):
    letters = "".join(sorted(set("".join(words))))
    return Text(max(map(len, words)), min_length=min(map(len, words)), charset=letters)


# ---------------------------------------------------------------- dynamics

# Uniform numbers of a stream from this position on are for the start of an episode.
START_POSITION = 1 << 30

# These functions change a room's arrays in place. people, objects and locations (spots,) are the codes at each spot;
# routes (agents, spots) has the order in which each agent visits the spots. Several arguments u are uniform numbers.


@compiled
def draw_other(excluded, count, u):
    """Return one of `count` codes other than `excluded`, all equally likely."""
    code = int(u * (count - 1))
    return code + (code >= excluded)


@compiled
def draw_location(usual, n_locations, p_commonsense, u, u_other):
    """Return the usual location with p_commonsense, otherwise any other."""
    if u < p_commonsense:
        return usual
    return draw_other(usual, n_locations, u_other)


@compiled
def draw_new_location(current, usual, n_locations, p_commonsense, u, u_other):
    """Return a location other than the current one, as in room-env 3: `draw_location`, repeated until it differs."""
    if current == usual:
        return draw_other(usual, n_locations, u_other)
    p_other = (1 - p_commonsense) * (n_locations - 2) / (n_locations - 1)
    if u * (p_commonsense + p_other) < p_commonsense:
        return usual
    code = int(u_other * (n_locations - 2))  # without the usual and the current one
    code += code >= min(current, usual)
    return code + (code >= max(current, usual))


@compiled
def begin_room(objects, locations, routes, key, parameters):
    """Give each person a different object at some location, and draw the routes; return the spot of the question."""
    usual, n_locations, p_commonsense = parameters[:3]
    spots = len(objects)
    position = START_POSITION
    deck = np.arange(len(usual))
    for spot in range(spots):
        pick = spot + int(uniform_at(key, position) * (len(usual) - spot))
        objects[spot] = deck[pick]
        deck[pick] = deck[spot]
        locations[spot] = draw_location(
            usual[objects[spot]],
            n_locations,
            p_commonsense,
            uniform_at(key, position + 1),
            uniform_at(key, position + 2),
        )
        position += 3
    for route in routes:
        for spot in range(spots):
            route[spot] = spot
        for spot in range(spots - 1):
            pick = spot + int(uniform_at(key, position) * (spots - spot))
            route[spot], route[pick] = route[pick], route[spot]
            position += 1
    return int(uniform_at(key, position) * spots)


@compiled
def advance_room(people, objects, locations, key, time, parameters):
    """Advance a room to `time`; return the spot of the next question."""
    (
        usual,
        n_locations,
        p_commonsense,
        p_new_location,
        p_new_object,
        p_switch_person,
        always_moves,
    ) = parameters
    spots = len(people)
    position = time * (4 * spots + 4)
    p_placement = p_new_object + (1 - p_new_object) * p_new_location
    for spot in range(spots):
        event = uniform_at(key, position)
        if event < p_placement:
            is_new = event < p_new_object
            if is_new:
                objects[spot] = draw_other(
                    objects[spot], len(usual), uniform_at(key, position + 1)
                )
            usual_location = usual[objects[spot]]
            u = uniform_at(key, position + 2)
            u_other = uniform_at(key, position + 3)
            if always_moves and not is_new:
                locations[spot] = draw_new_location(
                    locations[spot],
                    usual_location,
                    n_locations,
                    p_commonsense,
                    u,
                    u_other,
                )
            else:
                locations[spot] = draw_location(
                    usual_location, n_locations, p_commonsense, u, u_other
                )
        position += 4
    if uniform_at(key, position) < p_switch_person:
        first = int(uniform_at(key, position + 1) * spots)
        second = draw_other(first, spots, uniform_at(key, position + 2))
        for values in (people, objects, locations):
            values[first], values[second] = values[second], values[first]
    return int(uniform_at(key, position + 3) * spots)


@compiled
def write_observation(people, objects, locations, question, routes, time, observation):
    """Fill observation (4 agents + 2,): person, object, location and time for each agent, then the question."""
    start = 0
    for route in routes:
        spot = route[time % len(people)]
        observation[start] = people[spot]
        observation[start + 1] = objects[spot]
        observation[start + 2] = locations[spot]
        observation[start + 3] = time
        start += 4
    observation[start] = people[question]
    observation[start + 1] = objects[question]


@compiled
def begin_rooms(
    people,
    objects,
    locations,
    question,
    routes,
    key,
    time,
    observation,
    parameters,
):
    """Start an episode in every copy: fill all arrays but people, key and time."""
    for i in range(len(key)):
        question[i] = begin_room(
            objects[i], locations[i], routes[i], key[i], parameters
        )
        write_observation(
            people[i],
            objects[i],
            locations[i],
            question[i],
            routes[i],
            time[i],
            observation[i],
        )


@compiled
def simulate_rooms(
    people,
    objects,
    locations,
    question,
    routes,
    key,
    time,
    observations,
    answers,
    parameters,
):
    """Advance every copy; fill observations (n, steps, 4 agents + 2) and right answers (n, steps)."""
    for i in range(len(key)):
        for step in range(observations.shape[1]):
            now = time[i] + step + 1
            question[i] = advance_room(
                people[i], objects[i], locations[i], key[i], now, parameters
            )
            write_observation(
                people[i],
                objects[i],
                locations[i],
                question[i],
                routes[i],
                now,
                observations[i, step],
            )
            answers[i, step] = locations[i, question[i]]


# ---------------------------------------------------------------- one copy

BLOCK = 256  # steps simulated together


class SingleRoom(SingleCopy):
    """A single room, simulated ahead in blocks of steps. Answers have no effect on it."""

    def __init__(self, world: Room):
        super().__init__(world)
        self.is_text = world.encoding == "text"
        self.is_simple = self.is_text and world.n_agents == 1  # takes half the time
        self.heads = world._heads.tolist()
        self.relation = world.relation
        self.locations = world.locations
        self.max_step = world.max_step
        self.start: Any = None

    def reset(self, draws, options):
        self.start = self.world.initial(draws, options)  # the state before the block
        self.position = 0  # steps since then
        self.answers = []
        self.answer = int(self.start["locations"][0, self.start["question"][0]])
        info = self.world.info(self.start, None)
        observation = self._observation(self.start["observation"][0])
        return observation, index_nested(info, 0)

    def step(self, action, draws):
        info = {}
        if self.is_simple:
            word = action.lower() if type(action) is str else lower_case(action)
            reward = CORRECT_REWARD if word == self.locations[self.answer] else 0.0
        else:
            codes = self._parse(action, 1).ravel().tolist()
            rewards = [CORRECT_REWARD * (code == self.answer) for code in codes]
            reward = sum(rewards) / len(rewards)
            if len(rewards) > 1:
                info["rewards"] = np.array(rewards)
        position = self.position
        if position == len(self.answers):
            self._simulate_block()
            position = 0
        self.action = action
        self.position = position + 1
        self.answer = self.answers[position]
        row = self.rows[position]
        is_over = row[3] >= self.max_step
        if not self.is_simple:
            observation = self._observation(self.observations[position])
            return observation, reward, False, is_over, info
        person, thing, place, time, asked_person, asked_thing = row
        heads = self.heads
        relation = self.relation
        placement = heads[person][thing], relation, self.locations[place], time
        question = heads[asked_person][asked_thing], relation
        return (placement, question), reward, False, is_over, info

    def _observation(self, codes):
        return self.world.to_words(codes) if self.is_text else codes.copy()

    def _simulate_block(self):
        self.start = self._state_after(self.position)
        remaining = self.world.max_step - self.start["time"].item()
        _, observations, answers = self.world.simulate(
            self.start, max(1, min(BLOCK, remaining))
        )
        self.observations = observations[0]
        self.rows = self.observations.tolist()
        self.answers = answers[0].tolist()

    def _state_after(self, steps):
        """Return the state after so many steps of the block."""
        return self.world.simulate(self.start, steps)[0] if steps else self.start

    def snapshot(self):
        if self.start is None or self.position == 0:
            return self.start, None
        previous = self._state_after(self.position - 1)
        return self.world.advance(previous, self._parse(self.action, 1), None)
