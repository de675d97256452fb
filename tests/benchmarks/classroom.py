"""Simulated teams on a class's server: is the order right, and does cheating pay?

`make benchmarks ARGS=classroom` writes data/class/teams.csv (five minutes on two
cores). Eight honest teams and four that cheat play Challenge 2 on a server. The true
value of an honest team is what its agent earns locally with 120 other people, made by
the same generator from another secret.
"""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import gymnasium as gym
import pandas as pd

from pushlab import load_user, rollout
from pushlab.agents import (
    EpsilonGreedy,
    LinUCB,
    MostOpened,
    OfflineModel,
    RandomCandidate,
    ThompsonSampling,
)
from pushlab.ground.files import data_dir
from pushlab.metrics.estimate import mean_interval, paired_interval
from pushlab.metrics.push import expected_points
from pushlab.users.judges import fit_judge
from pushlab_classroom import ClassDatabase, Refused, close_class, new_class, running
from pushlab_classroom.private_users import derive, new_secret, private_user
from pushlab_classroom.standings import earned, standings

SEED = "a simulated class"
EPISODES = 20
PER_QUARTER = 300
PEOPLE = 120  # of a true value
PRACTICE = 40  # episodes of a team that looks for a lucky seed, or for the optima
LIMITS = {"requests": 1e6, "begins": 1e6}


class TimeOnly(ThompsonSampling):
    """Looks at the time of day alone."""

    crossed = ["time"]


HONEST = {
    "random": RandomCandidate,
    "most opened": MostOpened,
    "eps-greedy 0.2": EpsilonGreedy,
    "eps-greedy 0.5": lambda: EpsilonGreedy(0.5),
    "LinUCB 0.3": lambda: LinUCB(0.3),
    "LinUCB 1.5": LinUCB,
    "Thompson": ThompsonSampling,
    "Thompson, time only": TimeOnly,
}
CHEATS = ["judge of the hand-out", "lucky seed", "optima of practice", "tricks"]


class Tricks(ThompsonSampling):
    """Sends the server what it should refuse, and counts its answers."""

    taken = 0
    refused = 0

    def begin(self, env, seed):
        super().begin(env, seed)
        self.env = env.unwrapped

    def act(self, observation, info, explore=True):
        episode, step = (int(self.env.state[key][0]) for key in ("episode", "step"))
        if step % 10 == 1:
            made = self.made.tolist()
            other = [(made[0] + 1) % 12, *made[1:]]
            for request in (
                {"steps": [[episode, step - 1, other]]},  # a made step again
                {"steps": [[episode + 1, step, made]]},  # an episode of another team
                {"steps": [[episode, step, made]], "expected": 1e6},
            ):
                try:
                    self.env.world.connection.request("POST", "/api/steps", request)
                    Tricks.taken += 1
                except Refused:
                    Tricks.refused += 1
        self.made = super().act(observation, info, explore)
        return self.made


def play(team, folder, url, token, episodes):
    """Play a team's scored episodes; return how often a trick was taken and refused."""

    def env(scored):
        arguments = {"url": url, "token": token, "scored": scored}
        return gym.make("pushlab/Remote-v0", **arguments)

    def practised(agent, seed):
        return rollout(env(False), agent, seed=seed, episodes=1, progress=False)

    make = HONEST.get(team, ThompsonSampling)
    first = 0
    if team == "judge of the hand-out":
        judge = fit_judge(load_user(folder / "handout", user="robin").history)
        make = lambda: OfflineModel(judge)  # noqa: E731
    if team == "tricks":
        make = Tricks
    if team == "lucky seed":
        logs = {seed: practised(make(), seed) for seed in range(100, 100 + PRACTICE)}
        first = max(logs, key=lambda seed: logs[seed]["reward"].mean())
    agent = None
    if team == "optima of practice":
        agent = make()
        for seed in range(PRACTICE):
            practised(agent, seed)
    for number in range(episodes):
        player = make()
        if agent is not None:
            player.load(agent.state())
        rollout(env(True), player, seed=first + number, episodes=1, progress=False)
    return Tricks.taken, Tricks.refused


def share(user, agent, seed):
    """What an agent earns of what the catalogue's best would earn, in expected points."""
    env = gym.make("pushlab/evalumap2-v0", user=user, reveal=True)
    log = rollout(env, agent, seed=seed, progress=False)
    points = [
        expected_points(log["info.actual"], log[f"info.{name}"]).sum()
        for name in ("probability", "best")
    ]
    return points[0] / points[1]


def true_shares(number):
    """{honest team: its share} with one person of another class."""
    secret = new_secret("another class")
    settings = {"secret": secret.hex(), "episodes": PEOPLE, "per_quarter": PER_QUARTER}
    person = private_user(settings, "anybody", "evalumap2", True, number)
    user = person.simulate(derive(secret, "life", number), 84)
    return {team: share(user, make(), number) for team, make in HONEST.items()}


def main(quick=False):
    episodes = 2 if quick else EPISODES
    names = [*HONEST, *CHEATS]
    pool = ProcessPoolExecutor(2, get_context("spawn"))
    with TemporaryDirectory() as place, pool:
        folder = Path(place) / "class"
        tokens = new_class(folder, names, SEED, episodes, PER_QUARTER)
        with running(folder, **LIMITS) as url:
            jobs = {
                name: pool.submit(play, name, folder, url, tokens[name], episodes)
                for name in reversed(names)
            }
            counts = {name: job.result() for name, job in jobs.items()}
        people = range(0, PEOPLE, 40 if quick else 1)
        truth = pd.DataFrame(list(pool.map(true_shares, people)))
        close_class(folder)
        book = ClassDatabase(folder)
        board = standings(book).query("game == 'evalumap2'").set_index("team")
        shares = earned(book, "evalumap2")

    rows = []
    for team in names:
        row = {"team": team, "kind": "honest" if team in HONEST else "cheat"}
        row |= board.loc[team, ["score", "low", "high", "first", "last"]]
        if team in HONEST:
            name = "true"
            interval = mean_interval(truth[team])
        else:
            name = "difference"
            level = 1 - 0.05 / len(CHEATS)
            both = shares.loc[[team, "Thompson"]].to_numpy()
            interval = paired_interval(*both, level=level)
        rows.append(row | dict(zip((name, f"{name}_low", f"{name}_high"), interval)))
    table = pd.DataFrame(rows).round(4).astype({"first": int, "last": int})
    print(table.to_string(index=False))
    honest = table[: len(HONEST)]
    held = honest["true"].between(honest["low"], honest["high"])
    print(f"intervals with the true value: {held.sum()} of {len(held)}")
    correlation = honest["score"].corr(honest["true"], method="spearman")
    print("tricks taken and refused:", *counts["tricks"])
    print(f"rank correlation of scores and true values: {correlation:.2f}")
    if not quick:
        path = data_dir() / "class" / "teams.csv"
        table.to_csv(path, index=False, lineterminator="\n")
    return 0
