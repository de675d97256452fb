"""Checks of notebook 7: memory rules and answers are tried on new runs of the room."""

import functools

import gymnasium as gym
import numpy as np

from checks import Checks, reject_mistakes, require, returned
from pushlab import rollout
from pushlab.agents import PrefilledMemoryAgent
from pushlab.agents.memory import Placement
from pushlab.metrics import estimate

check = Checks("7 · The room: memory decides")

P_COMMONSENSE = 0.7
P_NEW_LOCATION = 0.1
P_SAME_LOCATION = 0.3 / 9  # a moved object is back at its last seen place


@functools.cache
def room(seed=2024, runs=12):
    """Return the usual places of a room, and a function that plays a policy there.

    The function returns the right answers of each run, shape (runs,). The notebook has other runs.
    """
    env = gym.make("pushlab/RoomEnv-v0")
    env.reset(seed=seed)

    def play(policy):
        episodes = rollout(
            env, policy, runs, seed=seed, record="episodes", progress=False
        )
        return episodes["return"].to_numpy()

    return env.unwrapped.world.usual, play


def diary_policy(answer, usual):
    """Return a policy that calls `answer` with a place (or None), its age, and the usual place."""
    diary = {}

    def policy(observation):
        (head, _, place, now), (question, _) = observation
        if now == 0:
            diary.clear()
        diary[head] = place, now
        place, time = diary.get(question, (None, 0))
        return answer(place, now - time, usual[question.split("'s ")[1]])

    return policy


@check(1, points=1)
def trust_young_memories(best_guess):
    returned(best_guess("desk", 0, "table"))
    answer = best_guess(None, 0, "table")
    require(
        answer == "table",
        f"For an object that was never seen, it answers {answer!r}",
        "Without a memory only the habit remains",
    )
    for age in (0, 1, 4, 6):
        answer = best_guess("desk", age, "table")
        require(
            answer == "desk",
            f"The object was seen on the desk {age} steps ago, and it answers {answer!r}",
            "At which ages is “last seen” above “usual place” in the picture?",
        )
    for age in (12, 30, 500):
        answer = best_guess("desk", age, "table")
        require(
            answer == "table",
            f"The object was seen on the desk {age} steps ago, and it still answers {answer!r}",
            "An old memory is worse than the habit: the age has to matter",
        )
    usual, play = room(runs=6)
    returns = play(diary_policy(best_guess, usual))
    baselines = {
        "last seen": lambda place, age, habit: place,
        "usual place": lambda place, age, habit: habit,
    }
    for name, baseline in baselines.items():
        advantage = estimate.paired_interval(
            returns, play(diary_policy(baseline, usual))
        )
        require(
            advantage.low > 0,
            f"On six new runs its lead over {name} is not above zero: {advantage}",
            "Change the age limit",
        )
    return f"{returns.mean():.0f} of 1,000 on new runs, ahead of both."


@check(2, points=2)
def other_rooms_other_crossings(crossing):
    our_crossing = np.log(0.4) / np.log(0.9)
    for p, moves, places in (
        (0.7, 0.02, 10),
        (0.7, 0.5, 10),
        (0.4, 0.1, 10),
        (0.9, 0.1, 3),
    ):
        answer = returned(crossing(p, moves, places))
        case = f"p_commonsense {p}, p_new_location {moves}, {places} places: {answer:.2f} steps"
        back = (1 - p) / (places - 1)
        without_return, all_places = (
            np.log((p - share) / (1 + p - share)) / np.log(1 - moves)
            for share in (0, (1 - p) / places)
        )
        mistakes = (
            (
                our_crossing,
                f"{case} is the crossing of our room",
                "Compute 0.4 and 0.9 from the arguments",
            ),
            (
                without_return,
                f"{case} is slightly wrong",
                "A moved object may also come back to its last seen place: where is q?",
            ),
            (
                all_places,
                f"{case} is slightly wrong",
                "q divides 1 - p among the *other* places: how many are there?",
            ),
        )
        reject_mistakes(answer, mistakes)
        require(
            answer > 0,
            case,
            "Is u between 0 and 1? Then both logarithms are negative",
        )
        untouched = (1 - moves) ** answer
        last_seen = untouched + (1 - untouched) * back
        usual_place = (1 - untouched) * p
        require(
            np.isclose(last_seen, usual_place),
            f"{case}; there last seen is right with {last_seen:.3f}, the usual place with {usual_place:.3f}",
            "Compute q from these arguments. Which u solves the equation, and which k gives that u?",
        )
    return "How often objects move, how strong habits are, how many places there are: all three count."


@functools.cache
def returns_with(rule, slots=4):
    """Return the right answers of an agent with this memory rule, on new runs."""
    usual, play = room()
    memory = []

    def policy(observation):
        (head, _, place, now), (question, _) = observation
        if now == 0:
            memory.clear()
        memory.append(Placement(*head.split("'s "), place, now))
        if len(memory) > slots:
            del memory[returned(rule(list(memory), usual))]
        person, thing = question.split("'s ")
        places = [
            placement.place
            for placement in memory
            if placement.person == person and placement.thing == thing
        ]
        return places[-1] if places else usual[thing]

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
    replaced = list(memory)
    replaced[2] = Placement("mary", "laptop", "bed", 3)
    for episodes in (memory, replaced, [memory[0], *memory[2:]]):
        before = list(episodes)
        answer = returned(my_rule(episodes, usual))
        require(
            episodes == before,
            "The rule has changed the memory",
            "Only return a position; the agent removes the episode",
        )
        require(
            isinstance(answer, int | np.integer) and 0 <= answer < len(before),
            f"With {len(before)} episodes it returned {answer!r:.40}",
            "Return a position in every case, the oldest episode's being 0",
        )
    gain = estimate.paired_interval(returns_with(my_rule), returns_with(forget_oldest))
    if gain.low > 0:
        return f"With four slots, on 12 new runs, it gains {gain} over forgetting the oldest."
    answer = my_rule(memory, usual)
    require(
        answer == 1,
        f"It gains {gain}. Of five episodes it forgets {memory[answer]}",
        "Each person has a cup of their own. Which episode gives the same answer as the usual place?",
    )
    answer = my_rule(replaced, usual)
    require(
        answer == 0,
        f"It gains {gain}. Mary had the cup, then the laptop; it forgets {replaced[answer]}",
        "Each person holds one object at a time: which episode is replaced by a later one?",
        earned=1,
    )
    require(
        False,
        f"With four slots, on 12 new runs, it gains {gain} over forgetting the oldest",
        "In which order do your conditions come, and does the rule handle a memory without redundant episodes?",
        earned=2,
    )


@check(4, points=2)
def share_out_32_slots(EPISODES, MyAgent):
    require(
        isinstance(EPISODES, int | np.integer) and EPISODES > 0,
        f"{EPISODES!r:.20} slots for episodes",
        "Use an integer from 1 to 22",
    )
    require(
        EPISODES <= 22,
        f"{EPISODES} slots and ten for common sense are more than 32",
        "At most 22 remain",
    )
    agent = MyAgent(32)
    returns = room()[1](agent)
    require(
        agent.memories[0][0].capacity == EPISODES
        and agent.memories[0][1].capacity == 10,
        "The capacities of the agent's memories differ from `EPISODES` and 10",
        "Do not change the class, and run the cell again",
    )
    gain = estimate.paired_interval(returns, returns_with_22_slots())
    problem = "old memories are trusted too long"
    if EPISODES < 8:
        problem = "memories are removed before they are out of date"
    require(
        gain.low > 0 and gain.mean >= 4,
        f"{EPISODES} slots gain {gain} over 22, on 12 new runs: {problem}",
        "How old is the oldest of so many episodes, at one per step? Where is the crossing?",
    )
    return f"{EPISODES} slots gain {gain} over 22, on 12 new runs: an empty slot can be better than an old memory."


@functools.cache
def returns_with_22_slots():
    return room()[1](PrefilledMemoryAgent(32))


def answer_probabilities(place, age, habit):
    """Return {answer: probability that it is right}."""
    untouched = (1 - P_NEW_LOCATION) ** age
    if place is None:
        return {habit: P_COMMONSENSE}
    if place == habit:
        return {habit: untouched + (1 - untouched) * P_COMMONSENSE}
    return {
        place: untouched + (1 - untouched) * P_SAME_LOCATION,
        habit: (1 - untouched) * P_COMMONSENSE,
    }


MEMORIES = (
    *(("desk", age) for age in (0, 2, 4, 6, 9, 14, 20)),
    ("table", 6),
    ("table", 30),
    (None, 0),
)


@check(5, points=3)
def i_do_not_know(say):
    for penalty, points in ((0, 0), (1, 0), (0.5, 1), (3, 1), (9, 2)):
        for place, age in MEMORIES:
            probabilities = answer_probabilities(place, age, "table")
            answer = say(place, age, "table", penalty)
            best = max(probabilities, key=probabilities.get)
            gain = probabilities[best] - (1 - probabilities[best]) * penalty
            require(
                answer in (None, place, "table"),
                f"It answers {answer!r}",
                "Return `place` or `habit`, or None for no answer",
                earned=points,
            )
            if abs(gain) < 0.05:
                continue  # silence and the best answer earn nearly the same
            seen = "never seen"
            if place is not None:
                seen = f"seen at the {place} {age} steps ago"
            case = f"Penalty {penalty}, habit table, {seen}: it answers {answer!r}"
            require(
                answer is not None or gain < 0,
                case,
                f"An answer would be right with probability {probabilities[best]:.2f}: it pays",
                earned=points,
            )
            require(
                answer is None or gain > 0,
                case,
                f"The best answer is right with probability {probabilities[best]:.2f}: what does it earn on average?",
                earned=points,
            )
            require(
                answer is None or probabilities[best] - probabilities[answer] < 0.05,
                case,
                "Of two answers take the one that is right more often",
                earned=points,
            )
    return "It answers if that pays, and is silent otherwise."
