"""What happens in a room, step by step: loops on plain arrays, for many rooms, and for one that lives alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pushlab.envs.chance import number
from pushlab.envs.shell import reader_of
from pushlab.ground.arguments import in_short
from pushlab.ground.compiled import compiled

RIGHT = 1.0  # what a right answer earns; a wrong one earns nothing
BLOCK = 256  # steps that a room alone is lived ahead
BEGIN = 1 << 30  # numbers from here on are for the beginning of an episode


# ---------------------------------------------------------------- people and their things


@compiled
def another(which, count, chance):
    """One of `count` that is not `which`, all others alike."""
    other = int(chance * (count - 1))
    return other + (other >= which)


@compiled
def place_for(home, locations, p_commonsense, chance, where):
    """Where somebody puts an object: at its usual place, or else at any other."""
    return home if chance < p_commonsense else another(home, locations, where)


@compiled
def leave(place, home, locations, p_commonsense, chance, where):
    """The rule of room-env 3: a placement is drawn again and again until it differs from where the object lies."""
    if place == home:
        return another(home, locations, where)
    elsewhere = (1 - p_commonsense) * (locations - 2) / (locations - 1)
    if chance * (p_commonsense + elsewhere) < p_commonsense:
        return home
    low, high = min(place, home), max(place, home)
    other = int(where * (locations - 2))  # all but these two
    other += other >= low
    return other + (other >= high)


# The functions below work on arrays with a leading axis of copies, in place: person, thing, place (n, people) say who
# stands at each spot, with which object, lying where; order (n, agents, people) in which order each agent goes round.


@compiled
def furnish(copy, thing, place, order, key, homes, locations, p_commonsense):
    """Fills a copy's room for the beginning: everybody holds a different object and places it; where each agent walks.

    homes (objects,) are the usual places; returns whose object is asked for.
    """
    people, objects, at = thing.shape[1], len(homes), BEGIN
    deck = np.arange(objects)
    for row in range(people):
        pick = row + int(number(key, at) * (objects - row))
        thing[copy, row], deck[pick] = deck[pick], deck[row]
        place[copy, row] = place_for(
            homes[thing[copy, row]],
            locations,
            p_commonsense,
            number(key, at + 1),
            number(key, at + 2),
        )
        at += 3
    for agent in range(order.shape[1]):
        for row in range(people):
            order[copy, agent, row] = row
        for row in range(people - 1):
            pick, last = (
                row + int(number(key, at) * (people - row)),
                order[copy, agent, row],
            )
            order[copy, agent, row], order[copy, agent, pick] = (
                order[copy, agent, pick],
                last,
            )
            at += 1
    return int(number(key, at) * people)


@compiled
def pass_a_step(
    copy,
    person,
    thing,
    place,
    key,
    time,
    homes,
    locations,
    p_commonsense,
    p_new_location,
    p_new_object,
    p_switch_person,
    forced,
):
    """One step of a copy's room, to `time`; returns whose object is asked for next.

    Everybody may get another object and place it; or else may place the same one again; then two people may switch
    spots.
    """
    people = person.shape[1]
    first = time * (4 * people + 4)
    either = p_new_object + (1 - p_new_object) * p_new_location
    for row in range(people):
        at = first + 4 * row
        event = number(key, at)
        if event < p_new_object:
            what = another(thing[copy, row], len(homes), number(key, at + 1))
            thing[copy, row] = what
            place[copy, row] = place_for(
                homes[what],
                locations,
                p_commonsense,
                number(key, at + 2),
                number(key, at + 3),
            )
        elif event < either:
            home, chance, where = (
                homes[thing[copy, row]],
                number(key, at + 2),
                number(key, at + 3),
            )
            if forced:
                place[copy, row] = leave(
                    place[copy, row], home, locations, p_commonsense, chance, where
                )
            else:
                place[copy, row] = place_for(
                    home, locations, p_commonsense, chance, where
                )
    at = first + 4 * people
    if number(key, at) < p_switch_person:
        one = int(number(key, at + 1) * people)
        two = another(one, people, number(key, at + 2))
        for spots in (person, thing, place):
            spots[copy, one], spots[copy, two] = spots[copy, two], spots[copy, one]
    return int(number(key, at + 3) * people)


@compiled
def look(copy, person, thing, place, order, time, asked, seen, line):
    """Fills a line of seen (…, 4 agents + 2): person, object, location, time in each agent's view; the question."""
    spot, agents = time % person.shape[1], order.shape[1]
    for agent in range(agents):
        row = order[copy, agent, spot]
        seen[line, 4 * agent], seen[line, 4 * agent + 1] = (
            person[copy, row],
            thing[copy, row],
        )
        seen[line, 4 * agent + 2], seen[line, 4 * agent + 3] = place[copy, row], time
    seen[line, 4 * agents], seen[line, 4 * agents + 1] = (
        person[copy, asked],
        thing[copy, asked],
    )


@compiled
def furnish_each(thing, place, order, asked, key, homes, locations, p_commonsense):
    """Every copy's room at the beginning; asked (n,) is filled too."""
    for copy in range(len(key)):
        asked[copy] = furnish(
            copy, thing, place, order, key[copy], homes, locations, p_commonsense
        )


@compiled
def pass_each(person, thing, place, asked, key, time, rules):
    """A step of every copy; time (n,) is that after the step."""
    for copy in range(len(key)):
        asked[copy] = pass_a_step(
            copy, person, thing, place, key[copy], time[copy], *rules
        )


@compiled
def look_each(person, thing, place, order, time, asked, seen):
    """What every copy sees, into seen (n, 4 agents + 2)."""
    for copy in range(len(time)):
        look(copy, person, thing, place, order, time[copy], asked[copy], seen, copy)


@compiled
def live_on(person, thing, place, order, key, time, asked, rules, seen, rights):
    """Steps of a single copy's room after `time`, as many as `seen` has lines; returns whose object is asked for last.

    seen (steps, 4 agents + 2) and rights (steps,) are filled: what is seen after each step, and the right answer.
    """
    for step in range(len(seen)):
        time += 1
        asked = pass_a_step(0, person, thing, place, key, time, *rules)
        look(0, person, thing, place, order, time, asked, seen, step)
        rights[step] = place[0, asked]
    return asked


# ---------------------------------------------------------------- a room alone


def in_small_letters(answer: str | None) -> str | None:
    """An answer as it is compared; None stays None."""
    if answer is None:
        return None
    if not isinstance(answer, str):
        raise TypeError(
            f"an answer is a word for a place, a str, or None for no answer; got {in_short(answer)}"
        )
    return answer.lower()


class RoomAlone:
    """One copy of the room for the Env: the same life as the batch functions give, lived ahead in blocks of steps.

    What happens in the room does not hang on the answers, so one compiled call lives a block of steps, and a step is
    a look into a list.
    """

    def __init__(self, world: Any):
        self.world = world
        self.indexed = world.encoding == "index"
        self.plain = not self.indexed and world.n_agents == 1
        self._read = reader_of(world)
        self.heads, self.relation, self.places = (
            world.heads,
            world.relation,
            world.locations,
        )
        self.start: dict | None = None

    def reset(self, draws: np.ndarray, options: Mapping[str, Any]) -> tuple[Any, dict]:
        """Begins an episode: observation and info."""
        self.start = self.world.initial(
            draws, options
        )  # the state at the beginning of the block
        self.at = self.length = 0  # steps taken of the block; steps in it
        self.action = None
        self.right = int(self.start["place"][0, self.start["asked"][0]])
        seen = self.world.codes_seen(self.start)[0]
        info = (
            {}
            if self.world.n_agents == 1
            else {"rewards": np.zeros(self.world.n_agents)}
        )
        return (seen if self.indexed else self.world.to_words(seen)), info

    def step(
        self, action: Any, draws: np.ndarray
    ) -> tuple[Any, float, bool, bool, dict]:
        """Judges the answer and goes on: observation, reward, terminated, truncated, info."""
        if self.plain:
            return self._step_in_words(action)
        answers = self._read(action, 1).reshape(-1)
        rewards = self.world.judge(answers, self.right)
        at = self._go_on(action)
        reward, info = (
            (rewards.item(), {})
            if len(rewards) == 1
            else (float(rewards.mean()), {"rewards": rewards})
        )
        seen = self.seen[at]
        return (
            (seen.copy() if self.indexed else self.world.to_words(seen)),
            reward,
            False,
            False,
            info,
        )

    def _step_in_words(self, action):
        """A step of one agent that is asked and answers in words, with as little work as can be."""
        said = action.lower() if type(action) is str else in_small_letters(action)
        reward = RIGHT if said == self.places[self.right] else 0.0
        at = self._go_on(action)
        person, thing, place, time, whose, what = self.rows[at]
        heads, relation = self.heads, self.relation
        return (
            (
                (heads[person][thing], relation, self.places[place], time),
                (heads[whose][what], relation),
            ),
            reward,
            False,
            False,
            {},
        )

    def _go_on(self, action):
        """Moves on by a step; returns its place in the block."""
        at = self.at
        if at == self.length:
            self._live_on()
            at = 0
        self.action, self.at, self.right = action, at + 1, self.rights[at]
        return at

    def _live_on(self):
        """Lives the next block of steps, from where the last one ended."""
        world, start = self.world, self._after(self.length)
        steps = min(BLOCK, world.max_step - int(start["time"][0]))
        world.check_clock(int(start["time"][0]) + 1)
        self.start, self.length = start, steps
        self.seen, rights = (
            np.empty((steps, 4 * world.n_agents + 2), np.int64),
            np.empty(steps, np.int64),
        )
        self._live(start, self.seen, rights)
        self.rights = rights.tolist()
        if self.plain:
            self.rows = self.seen.tolist()

    def _live(self, state, seen, rights):
        """What is seen in the steps after a state, and the state after the last of them."""
        room = {key: state[key].copy() for key in ("person", "thing", "place")}
        asked = live_on(
            *room.values(),
            state["order"],
            state["key"][0],
            state["time"][0],
            state["asked"][0],
            self.world.rules,
            seen,
            rights,
        )
        return {
            **state,
            **room,
            "asked": np.array([asked]),
            "time": state["time"] + len(seen),
        }

    def _after(self, steps):
        """The state so many steps into the block."""
        return self._live(
            self.start,
            np.empty((steps, 4 * self.world.n_agents + 2), np.int64),
            np.empty(steps, np.int64),
        )

    def now(self) -> tuple[dict | None, dict | None]:
        """State and outcome as the batch functions give them; None and None before the first reset."""
        if self.start is None:
            return None, None
        if self.action is None and self.at == 0:
            return self._after(0), None
        return self.world.advance(
            self._after(self.at - 1), self._read(self.action, 1), None
        )
