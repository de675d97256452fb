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
from pushlab.envs.env import INTEGER_TYPES, SingleCopy, index_nested
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
from pushlab.utils.compiled import (
    compiled_helper,
    compiled_helper_in_place,
    compiled_in_place,
)

SIZES = {"small": (10, 10, 10), "big": (20, 80, 49)}  # people, objects, locations
PEOPLE = (
    "james mary robert karen linda david susan thomas anna peter "
    "nina oscar irene victor helen frank emma george clara walter"
).split()
SEQUENCES = (list, tuple, np.ndarray)
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
        self._longest = max(map(len, self.locations))  # a longer answer is wrong
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
            "time": np.full(n, -1),
        }
        return self.simulate(state, 1)[0]

    def advance(self, state: dict, action: Any, draws: np.ndarray) -> tuple[dict, dict]:
        answer = action.reshape(-1, self.n_agents)
        rewards = CORRECT_REWARD * (answer == state["right"][:, None])
        outcome = {
            "answer": answer,
            "right": state["right"],
            "rewards": rewards,
            "reward": rewards.mean(axis=1),
            "asked": state["observation"][:, -2:],
        }
        return self.simulate(state, 1)[0], outcome

    def simulate(self, state: dict, steps: int) -> tuple[dict, np.ndarray, np.ndarray]:
        """Advance by several steps. Answers don't matter, because they have no effect on the room.

        Returns:
            The state; the observations after each step, (n, steps, 4 n_agents + 2); and the right answers, (n, steps).
        """
        time = state["time"]
        if time.max() + steps > self.max_step:
            raise ValueError(
                f"the clock of this room ends at step {self.max_step:,}; a longer episode needs a larger max_step"
            )
        n = len(time)
        observations = np.empty((n, steps, 4 * self.n_agents + 2), np.int64)
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
            np.empty(4 * len(self.people) + 4),
            np.empty_like(self.usual_codes),
            self._parameters,
        )
        changed["time"] = time + steps
        changed["observation"] = observations[:, -1]
        changed["right"] = answers[:, -1]
        return {**state, **changed}, observations, answers

    def observe(self, state: dict) -> Any:
        codes = state["observation"].copy()
        return codes if self.encoding == "index" else self._in_words(codes)

    def _in_words(self, codes):
        """Return observations in words, tuples of arrays (n,) of str, from codes (n, 4 n_agents + 2)."""
        relation = np.array([self.relation], object).repeat(len(codes))
        columns = codes.T
        placements = []
        for start in range(0, 4 * self.n_agents, 4):
            person, thing, place, time = columns[start : start + 4]
            head = self._heads[person, thing]
            placements.append((head, relation, self._places[place], time))
        question = self._heads[columns[-2], columns[-1]], relation
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
            person, thing = outcome["asked"][at]
            last_answer = {
                "person": self.people[person],
                "object": self.objects[thing],
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
        return unbatch(self._in_words(np.array([[*codes]])))[0]

    def _parse_words(self, action, n):
        """Return the codes (n, n_agents) of answers in words, -1 if a word isn't a location.

        An action has the answers of n copies; with several agents, it has a list of these for each agent.
        """
        codes = []
        code_of = self.location_code.get
        longest = self._longest
        several = self.n_agents > 1 and isinstance(action, SEQUENCES)
        for answers in action if several else [action]:
            if not isinstance(answers, SEQUENCES):
                answers = [answers]
            try:
                # Faster than a check of each answer's type.
                "".join(answers)
            except TypeError:  # None, or an invalid answer
                answers = list(map(lower_case, answers))
            codes.append(
                [
                    code_of(answer.lower(), -1) if len(answer) <= longest else -1
                    for answer in answers
                ]
            )
        if list(map(len, codes)) != [n] * self.n_agents:
            raise ValueError(
                f"an action needs one answer per agent ({self.n_agents}) and copy ({n}); got {short_repr(action)}"
            )
        return np.array(codes, np.int64).T


def lower_case(answer: str | None) -> str:
    """Return an answer in lower case, "" for None; raise TypeError for other types."""
    if answer is None:
        return ""
    if not isinstance(answer, str):
        raise TypeError(
            f"an answer must be a str, or None for no answer; got {short_repr(answer)}"
        )
    return answer.lower()


def unbatch(values: Any) -> list:
    """Return a list of n tuples from a tuple of arrays (n,) or of such tuples."""
    if isinstance(values, tuple):
        return list(zip(*map(unbatch, values)))
    return values.tolist()


def _text_space(words):
    letters = "".join(sorted(set("".join(words))))
    return Text(max(map(len, words)), min_length=min(map(len, words)), charset=letters)


# ---------------------------------------------------------------- dynamics

# Uniform numbers of a stream from this position on are for the start of an episode.
START_POSITION = 1 << 30

# These functions change a room's arrays in place. people, objects and locations (spots,) are the codes at each spot;
# routes (agents, spots) has the order in which each agent visits the spots. Several arguments u are uniform numbers.


@compiled_helper
def draw_other(excluded, count, u):
    """Return one of `count` codes other than `excluded`, all equally likely."""
    code = int(u * (count - 1))
    return code + (code >= excluded)


@compiled_helper
def draw_location(usual, n_locations, p_commonsense, u, u_other):
    """Return the usual location with p_commonsense, otherwise any other."""
    other = draw_other(usual, n_locations, u_other)
    return usual if u < p_commonsense else other


@compiled_helper
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


@compiled_helper_in_place
def begin_room(objects, locations, routes, deck, key, parameters):
    """Give each person a different object at some location, and draw the routes; return the spot of the question.

    deck (objects,) is working memory.
    """
    usual, n_locations, p_commonsense = parameters[:3]
    spots = len(objects)
    position = START_POSITION
    for code in range(len(usual)):
        deck[code] = code
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


@compiled_helper_in_place
def advance_room(people, objects, locations, numbers, key, time, parameters):
    """Advance a room to `time`; return the spot of the next question. numbers (4 spots + 4,) is working memory."""
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
    position = time * len(numbers)
    # Drawing all numbers in one vectorised loop is quicker than drawing those that the step needs.
    for index in range(len(numbers)):
        numbers[index] = uniform_at(key, position + index)
    p_placement = p_new_object + (1 - p_new_object) * p_new_location
    for spot in range(spots):
        event = numbers[4 * spot]
        if event < p_placement:
            is_new = event < p_new_object
            thing = objects[spot]
            other = draw_other(thing, len(usual), numbers[4 * spot + 1])
            thing = other if is_new else thing
            objects[spot] = thing
            place = usual[thing]
            u = numbers[4 * spot + 2]
            u_other = numbers[4 * spot + 3]
            if always_moves and not is_new:
                locations[spot] = draw_new_location(
                    locations[spot], place, n_locations, p_commonsense, u, u_other
                )
            else:
                locations[spot] = draw_location(
                    place, n_locations, p_commonsense, u, u_other
                )
    if numbers[-4] < p_switch_person:
        first = int(numbers[-3] * spots)
        second = draw_other(first, spots, numbers[-2])
        for values in (people, objects, locations):
            values[first], values[second] = values[second], values[first]
    return int(numbers[-1] * spots)


@compiled_helper_in_place
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


@compiled_in_place
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
    numbers,
    deck,
    parameters,
):
    """Advance every copy; fill observations (n, steps, 4 agents + 2) and right answers (n, steps).

    An episode starts with the step from time -1, which sets objects, locations and routes.
    """
    for i in range(len(key)):
        for step in range(observations.shape[1]):
            now = time[i] + step + 1
            if now == 0:
                spot = begin_room(
                    objects[i], locations[i], routes[i], deck, key[i], parameters
                )
            else:
                spot = advance_room(
                    people[i],
                    objects[i],
                    locations[i],
                    numbers,
                    key[i],
                    now,
                    parameters,
                )
            question[i] = spot
            write_observation(
                people[i],
                objects[i],
                locations[i],
                spot,
                routes[i],
                now,
                observations[i, step],
            )
            answers[i, step] = locations[i, spot]


# ---------------------------------------------------------------- one copy

BLOCK = 256  # steps simulated together


class SingleRoom(SingleCopy):
    """A single room, simulated ahead in blocks of steps. Answers have no effect on it."""

    def __init__(self, world: Room):
        super().__init__(world)
        self.is_text = world.encoding == "text"
        self.n_locations = len(world.locations)
        self.is_single = world.n_agents == 1
        self.start: Any = None

    def reset(self, draws, options):
        self.start = self.world.initial(draws, options)  # the state before the block
        self.position = 0  # steps since then
        self.observations = []  # after each step of the block
        self.answers = self._readable_answers(self.start["right"])
        info = self.world.info(self.start, None)
        observation = self._readable(self.start["observation"].copy())[0]
        return observation, index_nested(info, 0)

    def step(self, action, draws):
        info = {}
        if not self.is_single:
            answer = self._parse(action, 1)[0]
        elif self.is_text:
            answer = action.lower() if type(action) is str else lower_case(action)
        else:
            answer = int(action) if type(action) in INTEGER_TYPES else -1
            if not 0 <= answer < self.n_locations:
                answer = self._parse(action, 1)[0]
        if self.position == len(self.observations):
            self._simulate_block()
        position = self.position
        right = self.answers[position]
        if self.is_single:
            reward = CORRECT_REWARD if answer == right else 0.0
        else:
            info["rewards"] = CORRECT_REWARD * (answer == right)
            reward = info["rewards"].mean().item()
        self.action = action
        self.position = position + 1
        is_over = self.position == self.remaining
        return self.observations[position], reward, False, is_over, info

    def _simulate_block(self):
        self.start = self._state_after(self.position)
        self.position = 0
        self.remaining = self.world.max_step - self.start["time"].item()
        _, observations, answers = self.world.simulate(
            self.start, max(1, min(BLOCK, self.remaining))
        )
        self.observations = self._readable(observations[0])
        self.answers = self._readable_answers(
            np.append(self.start["right"], answers[0])
        )

    def _readable(self, codes):
        return unbatch(self.world._in_words(codes)) if self.is_text else codes

    def _readable_answers(self, codes):
        """Return right answers as words or codes."""
        if self.is_text and self.is_single:
            codes = self.world._places[codes]
        return codes.tolist()

    def _state_after(self, steps):
        """Return the state after so many steps of the block."""
        return self.world.simulate(self.start, steps)[0] if steps else self.start

    def snapshot(self):
        if self.start is None or self.position == 0:
            return self.start, None
        previous = self._state_after(self.position - 1)
        return self.world.advance(previous, self._parse(self.action, 1), None)
