"""Notebook 0: the reward, a policy of one's own, the loop, the paired interval."""

import gymnasium as gym
import numpy as np

from checks import Checks, demand
from pushlab.challenges.challenge import own_draws
from pushlab.envs.evalumap import EvalUMAP1
from pushlab.metrics import estimate

check = Checks("0 · Start here")

# ---------------------------------------------------------------- 1 · the reward

POINTS = {(False, False): 0, (True, True): 1, (False, True): 2, (True, False): -1}


@check(1)
def what_an_answer_is_worth(reward_of):
    got = {(actual, opened): reward_of(actual, opened) for actual, opened in POINTS}
    demand(
        all(isinstance(value, (int, float, np.number)) for value in got.values()),
        "`reward_of` does not always return a number",
        "Return 2, 1, 0 or -1 on every way through the function",
    )
    demand(
        len(set(got.values())) > 1,
        "The reward is always the same",
        "Look at both arguments",
    )
    swapped = {(actual, opened): POINTS[opened, actual] for actual, opened in POINTS}
    demand(
        got != swapped,
        "The two arguments have changed places",
        "`actual` is the real one, `opened` is ours",
    )
    demand(
        got[True, False] < 0,
        "Nothing is lost where the real one was opened and ours was not",
        "Look at the row *opened* and the column *ours was dismissed*",
    )
    demand(
        got[False, True] > got[True, True],
        "Two opens in a row are worth as much as a first one",
        "Look at the column *ours was opened*: its two rows differ",
    )
    wrong = [case for case in POINTS if abs(got[case] - POINTS[case]) > 1e-9]
    demand(
        not wrong,
        f"{len(wrong)} of the four cases differ from the table",
        "Compare case by case with the table",
    )
    return "All four cases are right."


# ---------------------------------------------------------------- 2 · a policy of one's own

HEADLINES = {
    "postingApp": "org.pushlab.news",
    "category": "recommendation",
    "subject": "news",
    "numberOfUpdates": "none",
    "priority": "default",
    "ongoing": "False",
    "visibility": "private",
}
TOGETHER = ["postingApp", "category", "subject"]


@check(2, points=3)
def your_own_policy(my_policy, user):
    half, contexts = user.schema.notification, user.test.context_codes
    sent = [my_policy(one.copy()) for one in contexts]
    demand(
        all(np.shape(one) == (len(half.components),) for one in sent),
        f"`my_policy` returned a {type(sent[0]).__name__} that is no notification in codes",
        "End with `return schema.notification.encode_one(choice)`",
    )
    again = [my_policy(one.copy()) for one in contexts[::-1]][::-1]
    demand(
        np.array_equal(sent, again),
        "Asked twice about one context, it answered two different things",
        "Let nothing but the observation decide: no chance, no counting",
    )
    codes = np.array(sent)
    _demand_sense(half.decode(codes), user)
    different, times = np.unique(codes, axis=0, return_counts=True)
    demand(
        len(different) > 1,
        "It sends the same notification whatever the context",
        "Find two cells of the table above that want different subjects, and tell them apart by `context[...]`. "
        f"Its times are called {', '.join(user.schema.context['time'].words[:5])}",
    )
    earned = _earned(user, codes)
    gain = estimate.paired_interval(
        earned, _earned(user, np.tile(half.encode_one(HEADLINES), (len(codes), 1)))
    )
    demand(
        gain.mean > 0,
        f"It earns {-gain.mean:.3f} points a push less than the headlines",
        "Send in each slot what was opened there most, of cells with 30 notifications or more",
    )
    demand(
        gain.low > 0,
        f"It earns {gain} points a push more than the headlines, and the interval includes zero",
        "Change what you send in a slot with many notifications",
    )
    best = max(
        (
            _earned(user, np.tile(one, (len(codes), 1)))
            for one in different[np.argsort(-times)[:4]]
        ),
        key=np.mean,
    )
    over = estimate.paired_interval(earned, best)
    demand(
        over.low > 0,
        f"One of its notifications, sent always, does as well: {over} points a push between them",
        "It gains by what it sends, and not yet by when: look where your best one is opened least",
        earned=2,
    )
    return f"{gain} points a push more than the headlines, over ten seeds that you have not seen."


def _demand_sense(words, user):
    """Demands that apps, categories and subjects are known, and go together, in history or catalogue."""
    for name in TOGETHER:
        demand(
            not (words[name] == "other").any(),
            f"It sends a {name} that the data do not know",
            "Read the warning above the verdict: it names the nearest word that is known",
        )
    history = user.schema.notification.decode(user.history.notification_codes)
    known = {
        tuple(row)
        for table in (history, user.catalogue)
        for row in table[TOGETHER].astype(str).values.tolist()
    }
    strange = [
        row
        for row in dict.fromkeys(map(tuple, words[TOGETHER].values.tolist()))
        if row not in known
    ]
    demand(
        not strange,
        f"No such thing exists as {' with '.join(map(repr, strange[0] if strange else ()))}",
        "An app has its categories and subjects: look for rows that go together in `user.catalogue`",
    )


def _earned(user, codes, seeds=range(100, 110)):
    """Mean reward of these answers to the test contexts, one for each seed (seeds,)."""
    world, rows = EvalUMAP1(user), np.arange(len(codes))
    state = {"row": rows, "user": np.zeros(len(rows), np.int64)}
    return np.array(
        [
            world.reward(
                world.advance(state, codes, own_draws(seed, len(rows), world.uniforms))[
                    1
                ]
            ).mean()
            for seed in seeds
        ]
    )


# ---------------------------------------------------------------- 3 · the loop


class Counter(gym.Env):
    """Shows its number; saying it earns 1 in the first episode, 2 in the second, and so on.

    Ends after `end` steps, terminated or (`cut`) truncated.
    """

    def __init__(self, end=1000, cut=False):
        self.end, self.cut, self.seeds, self.late = end, cut, [], 0

    def reset(self, *, seed=None, options=None):
        self.seeds.append(seed)
        self.step_count = 0
        return np.array([100 * len(self.seeds)]), {}

    def step(self, action):
        self.late += self.step_count >= self.end
        reward = float(
            len(self.seeds) * (action == 100 * len(self.seeds) + self.step_count)
        )
        self.step_count += 1
        over = self.step_count >= self.end
        return (
            np.array([100 * len(self.seeds) + self.step_count]),
            reward,
            over and not self.cut,
            over and self.cut,
            {},
        )


@check(3, points=2)
def the_loop_in_your_own_words(play):
    env = Counter()
    means = play(env, lambda observation: observation[0], 40, 3, 6)
    demand(
        np.shape(means) == (3,),
        f"Three episodes gave {means!r:.60}",
        "Return a list with a number an episode",
    )
    demand(
        len(env.seeds) == 3,
        f"`reset` was called {len(env.seeds)} times for 3 episodes",
        "Reset once an episode",
    )
    demand(
        env.step_count == 6,
        f"An episode had {env.step_count} steps; `steps` said 6",
        "Call `env.step` in a loop",
    )
    worth = np.array([1, 2, 3])  # of a push, in each episode
    demand(
        not np.allclose(means, 6 * worth),
        "The rewards were added and not averaged",
        "Divide by the number of pushes",
    )
    demand(
        not np.allclose(means, worth / 6),
        "The policy is asked about the first observation again and again",
        "Put what `step` returns first into `observation`, so that the policy sees it next",
        earned=1,
    )
    demand(
        not np.allclose(means, worth.cumsum() / worth),
        "Rewards of earlier episodes are in the mean as well",
        "Begin each episode with an empty list",
        earned=1,
    )
    demand(
        np.allclose(means, worth),
        f"Episodes that pay 1, 2 and 3 a push got {np.round(means, 2)}",
        "Collect `reward` at each step",
    )
    demand(
        env.seeds == [40, 41, 42],
        f"Seed 40 began the episodes with the seeds {env.seeds}",
        "Episode e is reset with `seed + e`: with one seed all episodes are the same",
        earned=1,
    )
    for cut, word in ((False, "terminated"), (True, "truncated")):
        env = Counter(4, cut)
        means = play(env, lambda observation: observation[0], 0, 2, 6)
        demand(
            not env.late,
            f"It goes on after `{word}` was True",
            f"Leave the loop when {word} is True",
            earned=1,
        )
        demand(
            np.allclose(means, worth[:2]),
            f"An episode that ended early got {means[0]:.2f} and not 1",
            "Divide by the pushes that there were",
            earned=1,
        )
    return "It resets, asks, steps and stops as `rollout` does."


# ---------------------------------------------------------------- 4 · the paired interval


@check(4, points=2)
def a_paired_interval(paired):
    from scipy.stats import t

    rng = np.random.default_rng(4)
    for n in (30, 4):
        luck = rng.normal(0, 1, n)
        ours, theirs = luck + rng.normal(0.3, 0.2, n), luck + rng.normal(0, 0.2, n)
        mean, low, high = paired(ours, theirs)
        right, gap, half = (
            estimate.paired_interval(ours, theirs),
            ours - theirs,
            (high - low) / 2,
        )
        demand(
            abs(mean - right.mean) < 1e-9,
            f"The middle is {mean:.3f}, the mean difference {right.mean:.3f}",
            "Subtract episode by episode, `ours - theirs`, then average",
        )
        demand(
            half > 0,
            "The interval has no width",
            "Low and high are the mean, less and plus half the width",
        )
        demand(
            abs(low + high - 2 * mean) < 1e-9,
            "The mean is not in the middle",
            "Go as far down as up",
        )
        wide = t.ppf(0.975, n - 1)
        apart = (np.var(ours, ddof=1) + np.var(theirs, ddof=1)) ** 0.5
        demand(
            abs(half - wide * apart / n**0.5) > 1e-6,
            "The spreads of both were put together, so it is not paired",
            "Take the standard deviation of the differences: the luck that both share drops out",
            earned=1,
        )
        demand(
            half < 0.99 * wide * gap.std(),
            f"With {n} episodes it is as wide as for one",
            "Divide the standard deviation by the root of the number of episodes",
            earned=1,
        )
        demand(
            abs(half / (wide * gap.std() / n**0.5) - 1) > 1e-6,
            "The standard deviation divides by n",
            "Say `ddof=1`: the mean was estimated from the same numbers",
            earned=1,
        )
        demand(
            abs(half / (wide * gap.std(ddof=1) / n) - 1) > 1e-6,
            f"With {n} episodes it is {half:.3f} up and down",
            "The spread of a mean falls with the *root* of the number of episodes",
            earned=1,
        )
        demand(
            abs(half - right.high + right.mean) < 1e-6,
            f"Half the width is {half:.3f} with {n} episodes",
            "With few episodes 1.96 is too little: take Student's t for 0.975 and n - 1",
            earned=1,
        )
    return "It agrees with `estimate.paired_interval` for 30 episodes and for 4."
