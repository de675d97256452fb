"""Forty teams of a class that is simulated: honest learners of several kinds, and one team for each way to cheat.

A team of Challenge 2 has an agent, which may have practised, and perhaps a trick that is tried while it plays. A team
of Challenge 1 has a way to answer contexts from the hand-out. Each cheat is made from an honest team, and plays as that
one does wherever its trick fails.
"""

import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from pushlab import agents
from pushlab.agents.features import candidates_of, context_of
from pushlab.agents.protocol import Agent, Transition
from pushlab.challenges.hand_in import hand_in
from pushlab.envs.remote.link import Link, Refused
from pushlab.users.candidates import catalogue_candidates
from pushlab.users.judges import fit_judge

SOME, MANY = 6, 67          # episodes of practice; up to 0.5.0 so many told every optimum
EVERY = 10                  # steps between two tries of a trick that is tried again and again


class Team(NamedTuple):
    """name; make(history) → agent; episodes of practice; trick(table); the honest team that it is made from."""

    name: str
    make: Callable[[Any], Agent]
    practice: int = 0
    trick: Callable | None = None
    made_from: str | None = None


# ---------------------------------------------------------------- agents that the library has not

class OneThing(Agent):
    """Sends the first candidate, whatever the context."""

    name = "one thing"

    def begin(self, env, seed):
        self._first = candidates_of(env)[0]

    def act(self, observation, info, explore=True):
        return self._first.copy()


class ReadsInfo(agents.ThompsonSampling):
    """Learns from info["probability"] where there is one, and so without noise."""

    def learn(self, transition):
        told = transition.next_info
        try:
            told = {**told, "opened": told["probability"]}
        except KeyError:
            tricks["info has no probability"] += 1
        super().learn(transition._replace(next_info=told))


class Optima(agents.RandomCandidate):
    """Practises at random, keeps what was opened in which context, and then sends what was opened most often there."""

    def __init__(self):
        self.seen: dict = {}
        self.learning = True

    def act(self, observation, info, explore=True):
        times = self.seen.get(int(context_of(observation)[1]))
        if self.learning or times is None:
            return super().act(observation, info, explore)
        return self.candidates[((times[1] + 1) / (times[0] + 2)).argmax()].copy()

    def learn(self, transition):
        if not self.learning:
            return
        count = self.seen.setdefault(int(context_of(transition.observation)[1]), np.zeros((2, len(self.candidates))))
        row = (self.candidates == transition.action).all(axis=1).argmax()
        count[:, row] += 1, transition.next_info["opened"]

    def state(self):
        return {str(time): counts.copy() for time, counts in self.seen.items()}

    def load(self, state):
        self.seen, self.learning = {int(time): counts for time, counts in state.items()}, False


# ---------------------------------------------------------------- playing

tricks: Counter = Counter()     # what was tried and what came of it, of the team that plays in this process


class Table(NamedTuple):
    """Where a team plays: address, its token, those of others are not its own."""

    url: str
    token: str

    def env(self, scored: bool) -> Any:
        return gym.make("pushlab/Remote-v0", url=self.url, token=self.token, scored=scored, disable_env_checker=True)


def live(env: Any, agent: Agent, seed: int, trick: Callable | None = None) -> list[tuple[float, float]]:
    """One episode; returns of a local world (expected points, best) of each step, of a remote one nothing."""
    observation, info = env.reset(seed=seed)
    agent.begin(env, seed)
    worth, over, step = [], False, 0
    while not over:
        if trick is not None:
            env, observation, info = trick(env, step, observation, info) or (env, observation, info)
        action = agent.act(observation, info)
        following, reward, terminated, truncated, told = env.step(action)
        agent.learn(Transition(observation, info, action, reward, following, told, terminated, truncated))
        outcome = env.unwrapped.outcome
        if "probability" in outcome:
            worth.append([outcome[key][0] for key in ("actual", "probability", "best")])
        observation, info, over, step = following, told, terminated or truncated, step + 1
    return worth


def play(team: Team, table: Table, history: Any, episodes: int) -> dict[str, int]:
    """Practice, then all scored episodes of a team; what its trick met, as counts."""
    warnings.simplefilter("ignore")
    tricks.clear()
    practised, first = practise(team, table.env(False), history), 0
    if team.trick is best_seed:
        first = best_seed(table, team.make(history))
    trick = team.trick and team.trick is not best_seed and team.trick(table)
    env = table.env(True)
    for number in range(episodes):
        agent = team.make(history)
        if practised:
            agent.load(practised)
        live(env, agent, first + number, trick or None)
    return dict(tricks)


def practise(team: Team, env: Any, history: Any) -> dict:
    """What a team's agent has learned after its practice."""
    agent = team.make(history)
    for number in range(team.practice):
        live(env, agent, 1000 + number)
    return agent.state() if team.practice else {}


# ---------------------------------------------------------------- tricks: trick(table) → at(env, step, seen, info)

def best_seed(table: Table, agent: Agent) -> int:
    """The seed of the agent that earned most in practice, of forty."""
    earned, env = [], table.env(False)
    for seed in range(40):
        observation, info = env.reset()
        agent = type(agent)()
        agent.begin(env, 10_000 + seed)
        total, over = 0.0, False
        while not over:
            action = agent.act(observation, info)
            following, reward, over, truncated, told = env.step(action)
            agent.learn(Transition(observation, info, action, reward, following, told, over, truncated))
            observation, info, total = following, told, total + reward
        earned.append(total)
    tricks["practice episodes tried"] += len(earned)
    return 10_000 + int(np.argmax(earned))


def starts_anew(table: Table) -> Callable:
    """Resets in the middle of an episode, to begin a better one."""
    def at(env, step, observation, info):
        if step != 100:
            return None
        seen, told = env.reset()
        tricks["reset: taken up where it stood" if env.unwrapped.state["step"][0] == step else "reset: began anew"] += 1
        return env, seen, told
    return at


def hangs_up(table: Table) -> Callable:
    """Closes the connection in the middle, and comes back as if new."""
    def at(env, step, observation, info):
        if step != 100:
            return None
        env.close()
        fresh = table.env(True)
        seen, told = fresh.reset()
        same = fresh.unwrapped.state["step"][0] == step
        tricks["new connection: taken up where it stood" if same else "new connection: began anew"] += 1
        return fresh, seen, told
    return at


def two_at_once(table: Table) -> Callable:
    """A second connection tries a random notification, so that the first could do better knowing what came."""
    def at(env, step, observation, info):
        if step % 100 != 50:
            return None
        other = table.env(True)
        other.reset()
        other.step(candidates_of(other)[step % 7])
        try:
            env.step(candidates_of(env)[0])
            tricks["second connection: the step was made twice"] += 1
        except Refused as refusal:
            tricks[f"second connection: {refusal.status}"] += 1
        return env, *env.reset()
    return at


def plays_again(table: Table) -> Callable:
    """Sends a step that is made already once more, with another notification."""
    link = Link(table.url, table.token)

    def at(env, step, observation, info):
        if step % EVERY == 1 and not info["opened"]:
            episode = env.unwrapped.state["episode"][0].item()
            made = env.unwrapped.trail[-1][1][0]
            other = next(one for one in candidates_of(env)[step % 7:] if not np.array_equal(one, made)).tolist()
            asked(link, "a made step with another action", "POST", "/api/steps",
                  {"steps": [[episode, step - 1, other]]})
    return at


def as_another(table: Table) -> Callable:
    """Plays in episodes of others, with its own token and with guessed ones."""
    mine, guessed = Link(table.url, table.token), Link(table.url, "0" * len(table.token))

    def at(env, step, observation, info):
        if step % EVERY == 0:
            other = env.unwrapped.state["episode"][0].item() % 40 + 1 + step
            if other != env.unwrapped.state["episode"][0]:
                asked(mine, "another's episode", "POST", "/api/steps", {"steps": [[other, 0, [0] * 7]]})
        if step == 0:
            asked(guessed, "a guessed token", "GET", "/api/me")
    return at


def types_a_row(table: Table) -> Callable:
    """Sends its own points along with a step."""
    link = Link(table.url, table.token)

    def at(env, step, observation, info):
        if step % EVERY == 0:
            episode = env.unwrapped.state["episode"][0].item()
            asked(link, "points of its own", "POST", "/api/steps",
                  {"steps": [[episode, step, [0] * 7]], "expected": 1e6, "best": 1})
            return env, *env.reset()        # had it been taken, the step would be made
        return None
    return at


def asked(link: Link, what: str, *question: Any) -> None:
    """Asks, and counts what was answered."""
    try:
        link.ask(*question)
        tricks[f"{what}: taken"] += 1
    except Refused as refusal:
        tricks[f"{what}: {refusal.status}"] += 1


# ---------------------------------------------------------------- Challenge 2

def thompson(history: Any) -> Agent:
    return agents.ThompsonSampling()


HONEST = (
    Team("one thing", lambda history: OneThing()),
    Team("random features", lambda history: agents.RandomAgent()),
    Team("random", lambda history: agents.RandomCandidate()),
    Team("most opened", lambda history: agents.MostOpened()),
    Team("most opened, hand-out", lambda history: agents.MostOpened(history)),
    Team("hand-out again", lambda history: agents.ReplayHistory(history, shuffle=True)),
    Team("eps-greedy 0.05", lambda history: agents.EpsilonGreedy(0.05)),
    Team("eps-greedy 0.2", lambda history: agents.EpsilonGreedy()),
    Team("eps-greedy 0.5", lambda history: agents.EpsilonGreedy(0.5)),
    Team("eps-greedy 0.8, kept", lambda history: agents.EpsilonGreedy(0.8, None)),
    Team("LinUCB 0.3", lambda history: agents.LinUCB(0.3)),
    Team("LinUCB 1.5", lambda history: agents.LinUCB()),
    Team("LinUCB 5", lambda history: agents.LinUCB(5.0)),
    Team("Thompson", thompson),
    Team("Thompson, time only", lambda history: agents.ThompsonSampling(crossed=["time"])),
    Team("Thompson, place only", lambda history: agents.ThompsonSampling(crossed=["place"])),
    Team("Thompson, wide prior", lambda history: agents.ThompsonSampling(single=3.0, pair=3.0)),
    Team("Thompson, narrow prior", lambda history: agents.ThompsonSampling(single=0.03, pair=0.03)),
    Team("Thompson, practised", thompson, SOME),
    Team("Thompson, practised long", thompson, MANY),
    Team("eps-greedy, practised", lambda history: agents.EpsilonGreedy(), SOME),
)
CHEATS = (
    Team("reads info", lambda history: ReadsInfo(), made_from="Thompson"),
    Team("judge of hand-out", lambda history: agents.OfflineModel(fit_judge(history)), made_from="Thompson"),
    Team("optima of practice", lambda history: Optima(), MANY, made_from="Thompson, practised long"),
    Team("best seed of forty", thompson, trick=best_seed, made_from="Thompson"),
    Team("starts anew", thompson, trick=starts_anew, made_from="Thompson"),
    Team("hangs up", thompson, trick=hangs_up, made_from="Thompson"),
    Team("two at once", thompson, trick=two_at_once, made_from="Thompson"),
    Team("plays a step again", thompson, trick=plays_again, made_from="Thompson"),
    Team("as another team", thompson, trick=as_another, made_from="Thompson"),
    Team("types its points", thompson, trick=types_a_row, made_from="Thompson"),
)


# ---------------------------------------------------------------- Challenge 1: make(user) → policy(contexts) → codes

def any_candidate(user: Any) -> Callable:
    candidates = catalogue_candidates(user)
    return lambda contexts: candidates[np.random.default_rng(1).integers(len(candidates), size=len(contexts))]


def usual_one(user: Any) -> Callable:
    """What was opened most often in the hand-out, at all."""
    rows, times = np.unique(user.history.notification_codes[user.history.opened], axis=0, return_counts=True)
    return lambda contexts: np.repeat(rows[times.argmax()][None], len(contexts), axis=0)


def modelled(kind: str) -> Callable:
    """The candidate that a model of the hand-out says is opened."""
    def make(user):
        judge, candidates = fit_judge(user.history, kind), catalogue_candidates(user)

        def policy(contexts):
            chances = [judge.probability(contexts, np.repeat(one[None], len(contexts), axis=0)) for one in candidates]
            return candidates[np.argmax(chances, axis=0)]
        return policy
    return make


ANSWERS = {"answers: random": any_candidate, "answers: usual one": usual_one, "answers: plain": modelled("plain"),
           "answers: tree": modelled("tree"), "answers: logistic": modelled("logistic")}


def fits_on_test(user: Any, upload: Callable) -> Callable | None:
    """Fits on the test contexts' notifications and answers, which were in hand-outs up to 0.5.0."""
    try:
        judge = fit_judge(user.test)
    except ValueError:
        tricks["the hand-out's test period has no answers"] += 1
        return None
    return lambda contexts: judge


def guesses_seed(user: Any, upload: Callable) -> Callable | None:
    """Looks for the seed of the hand-out's user among 0 to 10,000: whose apps are like theirs, and their first moment.

    Of all seeds the likings of apps are compared; the 500 likeliest live, as that takes a hundred times as long.
    """
    from pushlab.users.synthesis.strangers import draw_persona
    from pushlab.users.synthesis.user import FIRST_DAY, QUARTER, live_and_receive

    apps = user.history.notifications["postingApp"].str.rpartition(".")[2].value_counts()
    posted = user.history.table["posted"].to_numpy("datetime64[us]").min() - np.datetime64(FIRST_DAY, "us")
    people = [draw_persona(seed, per_quarter=PER_QUARTER) for seed in range(10_001)]
    likings = np.array([[one.likings[app] for app in apps.index] for one in people], float) + 1e-9
    fit = (np.log(likings) - np.log(likings.sum(axis=1, keepdims=True))) @ apps.to_numpy()
    tricks["seeds compared"] += len(people)
    for seed in np.argsort(-fit)[:500].tolist():
        begins = live_and_receive(seed, people[seed], 2 * QUARTER)[1].min()
        tricks["seeds that fit"] += bool(abs(int(begins) - posted.astype(int)) < 1_000_000)
    return None


def links(user: Any, upload: Callable) -> Callable | None:
    """Hands in a link to another's file."""
    with tempfile.TemporaryDirectory() as folder:
        alice, bob = Path(folder, "alice.csv"), Path(folder, "bob.csv")
        alice.write_text("id,postingApp\n")
        bob.symlink_to(alice)
        try:
            upload(bob)
        except ValueError:
            tricks["a link is no file to hand in"] += 1
    return None


def types_a_score(user: Any, upload: Callable) -> Callable | None:
    """Hands in a row of the board in place of answers."""
    with tempfile.TemporaryDirectory() as folder:
        typed = Path(folder, "board.csv")
        typed.write_text("team,score,low,high\ntypes a score,1.0,1.0,1.0\n")
        try:
            upload(typed)
        except (ValueError, Refused):
            tricks["a row of the board is no answer"] += 1
    return None


UPLOAD_CHEATS = {"fits on test": fits_on_test, "guesses the seed": guesses_seed, "hands in a link": links,
                 "types a score": types_a_score}
BEST_ANSWER = "answers: logistic"       # which these are made from
PER_QUARTER = 300


def hand_all_in(name: str, table: Table, user: Any) -> dict[str, int]:
    """The upload of a team of Challenge 1; what its trick met, as counts."""
    tricks.clear()
    policy = None
    if name in UPLOAD_CHEATS:
        policy = UPLOAD_CHEATS[name](user, lambda path: hand_in(path, table.url, table.token))
    policy = policy or ANSWERS.get(name, ANSWERS[BEST_ANSWER])(user)
    answers = user.schema.notification.decode(policy(user.test.context_codes))
    answers.insert(0, "id", np.arange(len(answers)))
    hand_in(answers, table.url, table.token)
    return dict(tricks)


UPLOADS = [*ANSWERS, *UPLOAD_CHEATS]
NAMES = [team.name for team in (*HONEST, *CHEATS)] + UPLOADS
