"""What the exercises of notebook 7 ask for."""

import functools

import gymnasium as gym
import numpy as np

from checks import Checks, demand
from pushlab import rollout
from pushlab.agents import GivenAgent
from pushlab.agents.memory import Placement
from pushlab.metrics import estimate

check = Checks("7 · The room: memory decides")

P, Q, MOVES = 0.7, 0.3 / 9, 0.1  # p_commonsense, back where it was seen, p_new_location


@functools.cache
def room(seed=2024, runs=12):
    """A room and how it is played: a function from a policy to right answers, (runs,), on runs nobody has seen."""
    env = gym.make("pushlab/RoomEnv-v0")
    env.reset(seed=seed)
    return env.unwrapped.world.usual, lambda policy: rollout(
        env, policy, runs, seed=seed, record="episodes", progress=False
    )["return"].to_numpy()


def from_diary(answer, usual):
    """A policy that hands (place last seen or None, age, usual place) to `answer`."""
    diary = {}

    def policy(observation):
        (head, _, place, now), (asked, _) = observation
        if now == 0:
            diary.clear()
        diary[head] = place, now
        place, when = diary.get(asked, (None, 0))
        return answer(place, now - when, usual[asked.split("'s ")[1]])

    return policy


@check(1, points=1)
def trust_young_memories(best_guess):
    said = best_guess(None, 0, "table")
    demand(
        said == "table",
        f"Asked for something never seen, it says {said!r}",
        "Without a memory only habit is left",
    )
    for age in (0, 1, 4, 6):
        said = best_guess("desk", age, "table")
        demand(
            said == "desk",
            f"Seen on the desk {age} steps ago, and it says {said!r}",
            "Where in the picture is the blue line above the orange one?",
        )
    for age in (12, 30, 500):
        said = best_guess("desk", age, "table")
        demand(
            said == "table",
            f"Seen on the desk {age} steps ago, and it still says {said!r}",
            "An old memory is worth less than the habit: the age has to matter",
        )
    usual, play = room(runs=6)
    mine = play(from_diary(best_guess, usual))
    alone = {
        "last seen": lambda place, age, habit: place,
        "usual place": lambda place, age, habit: habit,
    }
    for name, other in alone.items():
        ahead = estimate.paired_interval(mine, play(from_diary(other, usual)))
        demand(
            ahead.low > 0,
            f"On six new runs it is not surely ahead of {name}: {ahead}",
            "Move the limit of the age",
        )
    return f"{mine.mean():.0f} of 1,000 on new runs, ahead of both."


@check(2, points=2)
def other_rooms_other_crossings(crossing):
    ours = np.log(0.4) / np.log(0.9)
    for p, moves, places in (
        (0.7, 0.1, 10),
        (0.7, 0.02, 10),
        (0.7, 0.5, 10),
        (0.4, 0.1, 10),
        (0.9, 0.1, 3),
    ):
        found, back = crossing(p, moves, places), (1 - p) / (places - 1)
        named = f"p_commonsense {p}, p_new_location {moves}, {places} places"
        right, careless = (
            np.log(u) / np.log(1 - moves)
            for u in ((p - back) / (1 + p - back), p / (1 + p))
        )
        demand(
            np.isclose(right, ours) or not np.isclose(found, ours),
            f"{named}: the crossing is that of our room",
            "0.4 and 0.9 are to be worked out from the arguments",
        )
        demand(
            not np.isclose(found, careless),
            f"{named}: {found:.2f} steps is a little off",
            "A moved object may also come back to where you saw it: where is q?",
        )
        demand(
            found > 0,
            f"{named}: the crossing lies at {found:.2f} steps",
            "Look at the signs of the logarithms",
        )
        u = (1 - moves) ** found
        one, other = u + (1 - u) * back, (1 - u) * p
        demand(
            np.isclose(one, other),
            f"{named}: after {found:.2f} steps last seen is right with {one:.3f}, "
            f"the usual place with {other:.3f}",
            "Which u solves the equation here, and which k gives that u?",
        )
    return "How often things move, how strong habits are, how many places there are: all three count."


@functools.cache
def right_with(rule, slots=4):
    """Right answers of an agent that forgets by a rule, on new runs."""
    usual, play = room()
    memory = []

    def policy(observation):
        (head, _, place, now), (asked, _) = observation
        if now == 0:
            memory.clear()
        memory.append(Placement(*head.split("'s "), place, now))
        if len(memory) > slots:
            del memory[rule(list(memory), usual)]
        person, thing = asked.split("'s ")
        known = [
            one.place for one in memory if one.person == person and one.thing == thing
        ]
        return known[-1] if known else usual[thing]

    return play(policy)


def forget_oldest(memory, usual):
    return 0


@check(3, points=3)
def a_memory_rule(my_rule):
    usual = {"laptop": "desk", "cup": "table", "book": "shelf"}
    memory = [
        Placement("mary", "cup", "floor", 1),
        Placement("james", "laptop", "desk", 2),
        Placement("anna", "book", "bed", 3),
        Placement("linda", "cup", "sofa", 4),
        Placement("david", "cup", "bed", 5),
    ]
    kept = list(memory)
    found = my_rule(memory, usual)
    demand(
        isinstance(found, int | np.integer) and 0 <= found < 5,
        f"It returned {found!r:.40}",
        "A position in the memory is wanted, 0 to 4 for five episodes",
    )
    demand(
        memory == kept,
        "The rule has changed the memory",
        "Only say which one goes; the agent removes it",
    )
    demand(
        found != 4,
        "It forgets what it has just seen",
        "Young memories are the good ones",
    )
    demand(
        found == 1,
        f"Of five episodes it forgets {memory[found]}",
        "Four of these tell something that the usual places do not. Which one does not?",
    )
    memory[2] = Placement("mary", "laptop", "bed", 3)
    found = my_rule(memory, usual)
    demand(
        found == 0,
        f"Mary had the cup, then the laptop; it forgets {memory[found]}",
        "Each person holds one object at a time: which episode is replaced by a later one?",
        earned=1,
    )
    gain = estimate.paired_interval(right_with(my_rule), right_with(forget_oldest))
    demand(
        gain.low > 0,
        f"With four slots, on 12 new runs, it gains {gain} over forgetting the oldest",
        "In which order do your conditions come? What if nothing is redundant?",
        earned=2,
    )
    return (
        f"With four slots, on 12 new runs, it gains {gain} over forgetting the oldest."
    )


@check(4, points=2)
def share_out_32_slots(EPISODES, MyAgent):
    demand(
        isinstance(EPISODES, int | np.integer) and EPISODES > 0,
        f"{EPISODES!r:.20} slots for episodes",
        "Take a whole number from 1 to 22",
    )
    demand(
        EPISODES <= 22,
        f"{EPISODES} slots and ten for common sense are more than 32",
        "At most 22 are left",
    )
    agent = MyAgent(32)
    mine = room()[1](agent)
    demand(
        agent.memories[0][0].capacity == EPISODES
        and agent.memories[0][1].capacity == 10,
        "The agent has other memories than `EPISODES` says",
        "Leave the class as it is, and run the cell again",
    )
    gain = estimate.paired_interval(mine, with_22_slots())
    worse = (
        "too few: memories go before they are out of date"
        if EPISODES < 6
        else "old memories are trusted too long"
    )
    demand(
        gain.low > 0 and gain.mean >= 4,
        f"{EPISODES} slots gain {gain} over 22, on 12 new runs; {worse}",
        "How old is the oldest of so many episodes, at one a step? Where is the crossing?",
    )
    return f"{EPISODES} slots gain {gain} over 22, on 12 new runs: an empty slot can be better than an old memory."


@functools.cache
def with_22_slots():
    return room()[1](GivenAgent(32))


def chances(place, age, habit):
    """How likely each answer is right, {answer: probability}."""
    untouched = (1 - MOVES) ** age
    if place is None:
        return {habit: P}
    if place == habit:
        return {habit: untouched + (1 - untouched) * P}
    return {place: untouched + (1 - untouched) * Q, habit: (1 - untouched) * P}


@check(5, points=3)
def i_do_not_know(say):
    for penalty, points in ((0, 0), (1, 0), (0.5, 1), (3, 1), (9, 2)):
        for place, age in [("desk", age) for age in (0, 2, 4, 6, 9, 14, 20)] + [
            ("table", 6),
            ("table", 30),
            (None, 0),
        ]:
            likely, found = (
                chances(place, age, "table"),
                say(place, age, "table", penalty),
            )
            best = max(likely, key=likely.get)
            gain = likely[best] - (1 - likely[best]) * penalty
            if abs(gain) < 0.05:
                continue  # too close to call
            case = (
                f"Penalty {penalty}, habit table, "
                + (
                    "never seen"
                    if place is None
                    else f"seen at the {place} {age} steps ago"
                )
                + f": it says {found!r}"
            )
            demand(
                found is not None or gain < 0,
                case,
                f"An answer would be right with {likely[best]:.2f}: it pays",
                earned=points,
            )
            demand(
                found is None or gain > 0,
                case,
                f"The best answer is right with {likely[best]:.2f}: work out what "
                "it earns on average",
                earned=points,
            )
            demand(
                gain < 0
                or found == best
                or min(
                    abs(likely[best] - other)
                    for name, other in likely.items()
                    if name != best
                )
                < 0.05,
                case,
                "Of two answers take the one that is right more often",
                earned=points,
            )
    return "It answers where that pays, and is silent where it does not."
