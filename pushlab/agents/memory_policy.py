"""A policy, learned from rewards, for what to do with each thing seen: keep it as an episode, as a belief, or not."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any

import numpy as np

from pushlab.agents.memory import Belief, Episodic, Placement, Semantic, given_memory
from pushlab.agents.memory_agents import MemoryAgent
from pushlab.ground.arguments import number, one_of, whole

if TYPE_CHECKING:
    import pandas as pd

EPISODE, BELIEF, FORGET = 0, 1, 2
DECISIONS = ("keep as an episode", "make it a belief", "forget it")
MOMENTS = ("seen now", "oldest episode")
BELIEFS = ("none", "agrees", "differs")
AGES = (0, 1, 2, 4, 6, 8, 10, 12, 16, 24)  # where each class of ages begins, in steps


class LearnedAgent(MemoryAgent):
    """Learns what to do with each placement, when it is seen and again while it is the oldest episode.

    Both times it may keep it as an episode, count it as a belief (and no episode any more), or forget it. It decides
    by what it knows without naming anything, so that a policy learned in one room can be used in another:

    moment   seen now, or the oldest episode
    belief   what the semantic memory says about this thing: nothing, the same place, another place
    age      in steps, in classes that begin at AGES: of the episode; of what is seen now, that of the latest episode
             that puts this person's thing at another place, 0 if there is none

    Learning is Monte Carlo control with a table: the value of a decision in such a situation is the mean, over all
    times it was made, of the discounted rewards that followed, each less the usual reward. A decision about a laptop
    can only matter for questions about laptops, so only their rewards count; all others would be noise.

    capacity  most memories in all
    usual     "given" fills the semantic memory with the world's usual places, in up to half the capacity, as
              GivenAgent does; None begins with nothing, and half the capacity for each kind. Then learning is a
              matter of luck: what a belief is worth shows long after the horizon
    epsilon   how often it tries any decision while it explores
    discount  weight of a reward a step later
    horizon   steps after which a decision is judged
    Source    Sutton & Barto (2018), Reinforcement Learning, section 5.4, for every-visit Monte Carlo control
    """

    name = "learned"
    split = (0.5, 0.5)

    def __init__(
        self,
        capacity: int,
        usual: str | None = "given",
        epsilon: float = 0.1,
        discount: float = 0.8,
        horizon: int = 20,
        diary: bool = False,
    ) -> None:
        super().__init__(capacity, diary=diary)
        one_of("usual", usual, (None, "given"))
        self.usual, self.epsilon = usual, number("epsilon", epsilon, 0, 1)
        self.discount, self.horizon = (
            number("discount", discount, 0, 1),
            whole("horizon", horizon, 1),
        )
        shape = (len(MOMENTS), len(BELIEFS), len(AGES), len(DECISIONS))
        self.values, self.counts = np.zeros(shape), np.zeros(shape, np.int64)
        self.usually, self.answers = (
            0.0,
            0,
        )  # the reward of an answer, lately; how many there were
        self._class = np.searchsorted(
            AGES, np.arange(AGES[-1] + 1), side="right"
        ).tolist()

    def begin(self, env, seed):
        super().begin(env, seed)
        self._tried = deque()  # decisions not yet judged, oldest first
        self._about = defaultdict(list)  # the same by thing
        self._luck, self._at = self.chance.random(4096), 0

    def new_memory(self) -> tuple[Episodic, Semantic]:
        if self.usual == "given":
            return given_memory(self.world, self.capacity)
        return Episodic(self.capacity // 2), Semantic(
            self.capacity - self.capacity // 2
        )

    # ------------------------------------------------------------ deciding

    def act(self, observation, info, explore=True):
        self._explore = explore
        answer = super().act(observation, info, explore)
        self.propensity = (
            None if explore else self.propensity
        )  # what it tried to keep is one way of many
        return answer

    def recall(self, person: Any, thing: Any) -> Placement | Belief | None:
        self._asked = thing  # only rewards of questions about it count
        return super().recall(person, thing)

    def keep(
        self, placement: Placement, episodic: Episodic, semantic: Semantic
    ) -> Placement | Belief | None:
        now, gone = placement.time, None
        if episodic.items:
            oldest = episodic.items[0]
            choice = self._decide(1, oldest, semantic, now, now - oldest.time)
            if choice != EPISODE:
                gone = episodic.items.pop(0)
                if choice == BELIEF:
                    gone = semantic.strengthen(oldest.thing, oldest.place)
        before = episodic.recall(placement.person, placement.thing)
        against = before is not None and before.place != placement.place
        choice = self._decide(
            0, placement, semantic, now, now - before.time if against else 0
        )
        if choice == EPISODE:
            return episodic.store(placement) or gone
        if choice == BELIEF:
            return semantic.strengthen(placement.thing, placement.place) or gone
        return gone

    def _decide(self, moment, placement, semantic, now, age):
        belief = semantic.recall(placement.thing)
        known = 0 if belief is None else 1 if belief.place == placement.place else 2
        situation = moment, known, self._class[min(age, AGES[-1])] - 1
        if self._explore and self._chance() < self.epsilon:
            choice = int(self._chance() * 3)
        else:
            choice = self._best(situation)
        if self._explore:
            tried = [now, (*situation, choice), 0.0, placement.thing]
            self._tried.append(tried)
            self._about[placement.thing].append(tried)
        return choice

    def _best(self, situation):
        """The decision of the highest value; one that was never tried goes first while it explores."""
        counts, values = (
            self.counts[situation].tolist(),
            self.values[situation].tolist(),
        )
        if self._explore and 0 in counts:
            return counts.index(0)
        return values.index(max(values))

    def _chance(self):
        if self._at == len(self._luck):
            self._luck, self._at = self.chance.random(4096), 0
        self._at += 1
        return self._luck[self._at - 1]

    # ------------------------------------------------------------ learning

    def learn(self, transition):
        if not self._tried:
            return
        now = self._tried[-1][0]
        surprise = transition.reward - self.usually
        self.answers += 1
        self.usually += surprise / min(self.answers, 1000)
        for tried in self._about[self._asked]:
            tried[2] += surprise * self.discount ** (now - tried[0])
        while self._tried and (now - self._tried[0][0] >= self.horizon):
            _, where, reward, thing = tried = self._tried.popleft()
            self._about[thing].remove(tried)
            count, value = self.counts[where].item() + 1, self.values[where].item()
            self.counts[where], self.values[where] = (
                count,
                value + (reward - value) / min(count, 5000),
            )

    def state(self):
        return {
            "values": self.values.copy(),
            "counts": self.counts.copy(),
            "usually": self.usually,
            "answers": self.answers,
        }

    def load(self, state):
        if not state:
            return
        self.values, self.counts = (
            np.array(state["values"], float),
            np.array(state["counts"], np.int64),
        )
        self.usually, self.answers = float(state["usually"]), int(state["answers"])

    def table(self) -> pd.DataFrame:
        """What it would do now, a DataFrame: moment, belief, age (steps, from), decision, times tried."""
        import pandas as pd

        rows = []
        for moment, belief, age in np.ndindex(self.counts.shape[:3]):
            counts = self.counts[moment, belief, age]
            if counts.sum():
                best = int(
                    np.argmax(
                        np.where(counts > 0, self.values[moment, belief, age], -np.inf)
                    )
                )
                rows.append(
                    (
                        MOMENTS[moment],
                        BELIEFS[belief],
                        AGES[age],
                        DECISIONS[best],
                        int(counts.sum()),
                    )
                )
        return pd.DataFrame(
            rows, columns=["moment", "belief", "age", "decision", "tried"]
        )
