"""Simulate teams on a class's server, to test whether the ranking is right and whether cheating pays.

`make benchmarks ARGS=classroom` writes data/class/teams.csv, in five minutes on two cores. Eight honest and four
cheating teams play Challenge 2 on a server. The true value of an honest team is its agent's local share for 120 other
people, made by the same generator from another secret.
"""

import sys
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
from pushlab.metrics.estimate import mean_interval, paired_interval
from pushlab.users.judges import fit_judge
from pushlab.utils.files import data_dir
from pushlab_classroom import (
    ClassDatabase,
    Refused,
    close_class,
    new_class,
    running_server,
)
from pushlab_classroom.private_users import derive, new_secret, private_user
from pushlab_classroom.standings import standings, team_earnings

sys.path.append(str(Path(__file__).parents[2] / "studies"))  # for workers too
from class_precision import share

SEED = "a simulated class"
EPISODES = 20
PER_QUARTER = 300
PEOPLE = 120  # people per true value
PRACTICE = 40  # practice episodes of teams that search a lucky seed or the optima
LIMITS = {"requests": 1e6, "begins": 1e6}


class TimeOnly(ThompsonSampling):
    """Thompson sampling that uses only the time of day."""

    context_features = ["time"]


HONEST = {
    "random": RandomCandidate,
    "most opened": MostOpened,
    "eps-greedy 0.2": EpsilonGreedy,
    "eps-greedy 0.5": lambda: EpsilonGreedy(0.5),
    "LinUCB 0.3": lambda: LinUCB(0.3),
    "LinUCB 1.5": lambda: LinUCB(1.5),
    "Thompson": ThompsonSampling,
    "Thompson, time only": TimeOnly,
}
CHEATS = ["judge of the hand-out", "lucky seed", "optima of practice", "tricks"]


class Tricks(ThompsonSampling):
    """Thompson sampling that also sends invalid requests, and counts how many are accepted and refused."""

    accepted = 0
    refused = 0

    def begin(self, env, seed):
        super().begin(env, seed)
        self.env = env.unwrapped

    def act(self, observation, info, explore=True):
        episode, step = (int(self.env.state[key][0]) for key in ("episode", "step"))
        if step % 10 == 1:
            last = self.last_action.tolist()
            other = [(last[0] + 1) % 12, *last[1:]]
            for request in (
                {"steps": [[episode, step - 1, other]]},  # an earlier step
                {"steps": [[episode + 1, step, last]]},  # another team's episode
                {"steps": [[episode, step, last]], "expected": 1e6},
            ):
                try:
                    self.env.world.connection.request("POST", "/api/steps", request)
                    Tricks.accepted += 1
                except Refused:
                    Tricks.refused += 1
        self.last_action = super().act(observation, info, explore)
        return self.last_action


def play(team, folder, url, token, episodes):
    """Play a team's scored episodes, and return how many tricks were accepted and refused."""

    def make_env(scored):
        arguments = {"url": url, "token": token, "scored": scored}
        return gym.make("pushlab/Remote-v0", **arguments)

    def practise(agent, seed):
        return rollout(make_env(False), agent, seed=seed, episodes=1, progress=False)

    make = HONEST.get(team, ThompsonSampling)
    first = 0
    if team == "judge of the hand-out":
        judge = fit_judge(load_user(folder / "handout", user="robin").history)
        make = lambda: OfflineModel(judge)  # noqa: E731
    if team == "tricks":
        make = Tricks
    if team == "lucky seed":
        seeds = range(100, 100 + PRACTICE)
        rewards = {seed: practise(make(), seed)["reward"].mean() for seed in seeds}
        first = max(rewards, key=rewards.get)
    agent = None
    if team == "optima of practice":
        agent = make()
        for seed in range(PRACTICE):
            practise(agent, seed)
    for number in range(episodes):
        player = make()
        if agent is not None:
            player.load(agent.state())
        rollout(make_env(True), player, seed=first + number, episodes=1, progress=False)
    return Tricks.accepted, Tricks.refused


def true_shares(number):
    """Return the share of each honest team for one person of another class."""
    secret = new_secret("another class")
    settings = {"secret": secret.hex(), "episodes": PEOPLE, "per_quarter": PER_QUARTER}
    person = private_user(settings, "anybody", "evalumap2", True, number)
    user = person.simulate(derive(secret, "life", number), 84)
    return {team: share(user, make(), number) for team, make in HONEST.items()}


def main(quick=False):
    """Run the simulation and write teams.csv; a quick run is shorter and only printed."""
    episodes = 2 if quick else EPISODES
    names = [*HONEST, *CHEATS]
    pool = ProcessPoolExecutor(2, get_context("spawn"))
    with TemporaryDirectory() as temporary, pool:
        folder = Path(temporary) / "class"
        tokens = new_class(folder, names, SEED, episodes, PER_QUARTER)
        with running_server(folder, **LIMITS) as url:
            jobs = {
                name: pool.submit(play, name, folder, url, tokens[name], episodes)
                for name in reversed(names)
            }
            counts = {name: job.result() for name, job in jobs.items()}
        people = range(0, PEOPLE, 40 if quick else 1)
        true = pd.DataFrame(list(pool.map(true_shares, people)))
        close_class(folder)
        database = ClassDatabase(folder)
        board = standings(database).query("game == 'evalumap2'").set_index("team")
        shares = team_earnings(database, "evalumap2")

    table = team_table(board, shares, true)
    print(table.to_string(index=False))
    honest = table[: len(HONEST)]
    covers = honest["true"].between(honest["low"], honest["high"])
    correlation = honest["score"].corr(honest["true"], method="spearman")
    print(f"intervals with the true value: {covers.sum()} of {len(covers)}")
    print("tricks taken and refused:", *counts["tricks"])
    print(f"rank correlation of scores and true values: {correlation:.2f}")
    if not quick:
        path = data_dir() / "class" / "teams.csv"
        table.to_csv(path, index=False, lineterminator="\n")
    return 0


def team_table(board, shares, true):
    """Return the rows of teams.csv.

    Args:
        board: Standings, indexed by team.
        shares: Shares of each team in each episode.
        true: Shares of each honest team for other people.
    """
    level = 1 - 0.05 / len(CHEATS)
    rows = []
    for team in (*HONEST, *CHEATS):
        is_honest = team in HONEST
        row = {"team": team, "kind": "honest" if is_honest else "cheat"}
        row |= board.loc[team, ["score", "low", "high", "first", "last"]]
        if is_honest:
            name = "true"
            interval = mean_interval(true[team])
        else:
            name = "difference"
            pair = shares.loc[[team, "Thompson"]].to_numpy()
            interval = paired_interval(*pair, level=level)
        row |= dict(zip((name, f"{name}_low", f"{name}_high"), interval))
        rows.append(row)
    return pd.DataFrame(rows).round(4).astype({"first": int, "last": int})
