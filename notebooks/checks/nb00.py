"""Checks of notebook 0: the reward, a policy, the loop, the paired interval."""

import gymnasium as gym
import numpy as np

from checks import Checks, is_close, reject_mistakes, require, returned
from pushlab.challenges.challenge import episode_uniforms
from pushlab.envs.evalumap import EvalUMAP1
from pushlab.metrics import estimate

check = Checks("0 · Start here")

# ---------------------------------------------------------------- 1 · the reward

POINTS = {(False, False): 0, (True, True): 1, (False, True): 2, (True, False): -1}


@check(1)
def reward_of_an_answer(reward_of):
    rewards = {(actual, opened): reward_of(actual, opened) for actual, opened in POINTS}
    require(
        all(np.asarray(value).dtype.kind in "biuf" for value in rewards.values()),
        "`reward_of` does not always return a number",
        "Return 2, 1, 0 or -1 in every branch of the function",
    )
    swapped = {(actual, opened): POINTS[opened, actual] for actual, opened in POINTS}
    require(
        rewards != swapped,
        "The two arguments are swapped",
        "`actual` is about the real notification, `opened` about ours",
    )
    for actual, opened in POINTS:
        require(
            rewards[actual, opened] == POINTS[actual, opened],
            f"With actual {actual} and opened {opened} it returns {rewards[actual, opened]}",
            "`actual` chooses the row of the table, `opened` its column: compare all four cases",
        )
    return "All four cases are right."


# ---------------------------------------------------------------- 2 · a policy

HEADLINES = {
    "postingApp": "org.pushlab.news",
    "category": "recommendation",
    "subject": "news",
    "numberOfUpdates": "none",
    "priority": "default",
    "ongoing": "False",
    "visibility": "private",
}
LINKED = ["postingApp", "category", "subject"]


@check(2, points=3)
def your_own_policy(my_policy, user):
    schema = user.schema.notification
    contexts = user.test.context_codes
    sent = [returned(my_policy(context.copy())) for context in contexts]
    require(
        all(np.shape(codes) == (len(schema.components),) for codes in sent),
        f"`my_policy` returned a {type(sent[0]).__name__}, not the codes of a notification",
        "End with `return schema.notification.encode_one(choice)`",
    )
    repeated = [my_policy(context.copy()) for context in contexts[::-1]][::-1]
    require(
        np.array_equal(sent, repeated),
        "It returned two different notifications for the same context",
        "Use the observation only: no random numbers and no counters",
    )
    codes = np.array(sent)
    _require_existing(schema.decode(codes), user)
    distinct, counts = np.unique(codes, axis=0, return_counts=True)
    require(
        len(distinct) > 1,
        "It sends the same notification in every context",
        "Find two cells of the table above with different best subjects, and distinguish them by `context[...]`. "
        f"The values of its time are {', '.join(user.schema.context['time'].words[:5])}",
    )
    rewards = _mean_rewards(user, codes)
    headlines = np.tile(schema.encode_one(HEADLINES), (len(codes), 1))
    gain = estimate.paired_interval(rewards, _mean_rewards(user, headlines))
    require(
        gain.mean > 0,
        f"It earns {-gain.mean:.3f} points per push less than the headlines",
        "In each time slot, send the most opened subject among cells with 30 notifications or more",
    )
    require(
        gain.low > 0,
        f"It earns {gain} points per push more than the headlines, and the interval includes zero",
        "Change the notification of a slot with many arrivals",
    )
    common = distinct[np.argsort(-counts)[:4]]
    constant = [_mean_rewards(user, np.tile(one, (len(codes), 1))) for one in common]
    best = int(np.mean(constant, axis=1).argmax())
    advantage = estimate.paired_interval(rewards, constant[best])
    words = schema.decode_one(common[best])
    name = f"{words['subject']} from {words['postingApp']}"
    require(
        advantage.low > 0,
        f"Sending {name} always {'earns more' if advantage.high < 0 else 'may earn as much'}: "
        f"your policy minus this is {advantage} points per push",
        "The gain comes from this notification, not yet from its time. In which slot is it opened least?",
        earned=2,
    )
    return f"{gain} points per push more than the headlines, over ten seeds that you have not seen."


def _require_existing(words, user):
    """Require known apps, categories and subjects that occur together in the history or catalogue."""
    for name in LINKED:
        require(
            not (words[name] == "other").any(),
            f"It sends a {name} that the data do not have",
            "Compare the spelling of your words with a row of `user.catalogue`",
        )
    history = user.schema.notification.decode(user.history.notification_codes)
    combinations = set()
    for table in (history, user.catalogue):
        combinations.update(map(tuple, table[LINKED].astype(str).values.tolist()))
    for row in map(tuple, words[LINKED].values.tolist()):
        require(
            row in combinations,
            f"No notification combines {' with '.join(map(repr, row))}",
            "Each app has its own categories and subjects: choose a row of `user.catalogue`",
        )


def _mean_rewards(user, codes, seeds=range(100, 110)):
    """Return the mean reward of these notifications in the test contexts, shape (seeds,)."""
    world = EvalUMAP1(user)
    rows = np.arange(len(codes))
    state = {"row": rows, "user": np.zeros(len(rows), np.int64)}
    means = []
    for seed in seeds:
        draws = episode_uniforms(seed, len(rows), world.uniforms)
        outcome = world.advance(state, codes, draws)[1]
        means.append(world.reward(outcome).mean())
    return np.array(means)


# ---------------------------------------------------------------- 3 · the loop


class Counter(gym.Env):
    """Environment that shows a number and rewards the action that repeats it.

    The reward is 1 in the first episode, 2 in the second, and so on, and twice as much in the last
    step. An episode ends after `end` steps, truncated if `is_truncated`, else terminated.
    """

    def __init__(self, end=1000, is_truncated=False):
        self.end = end
        self.is_truncated = is_truncated
        self.seeds = []
        self.steps_after_end = 0

    def reset(self, *, seed=None, options=None):
        self.seeds.append(seed)
        self.step_count = 0
        return np.array([100 * len(self.seeds)]), {}

    def step(self, action):
        episode = len(self.seeds)
        self.steps_after_end += self.step_count >= self.end
        reward = float(episode * (action == 100 * episode + self.step_count))
        self.step_count += 1
        over = self.step_count >= self.end
        reward *= 1 + over
        observation = np.array([100 * episode + self.step_count])
        terminated = over and not self.is_truncated
        return observation, reward, terminated, over and self.is_truncated, {}


def _repeat(observation):
    """Return the number that a Counter shows, the rewarded action."""
    require(
        not isinstance(observation, tuple),
        "The policy gets two values, the observation and `info`",
        "`reset` returns both: write `observation, info = env.reset(...)`",
    )
    return observation[0]


@check(3, points=2)
def the_loop_in_your_own_words(play):
    env = Counter()
    means = returned(play(env, _repeat, 40, 3, 6))
    require(
        np.shape(means) == (3,),
        f"Three episodes gave {means!r:.60}",
        "Return a list with one number per episode",
    )
    require(
        len(env.seeds) == 3,
        f"`reset` was called {len(env.seeds)} times for 3 episodes",
        "Call `reset` once per episode",
    )
    pushes = f"An episode had {env.step_count} pushes, not 6 as `steps` requires"
    require(
        env.step_count <= 6,
        pushes,
        "Stop after `steps` pushes, even if the environment goes on",
    )
    require(
        env.step_count == 6, pushes, "Call `env.step` in a loop, once for each push"
    )
    expected = np.array([1, 2, 3])  # reward per push in each episode
    require(
        not np.allclose(means, 6 * expected),
        "The result is the sum of the rewards, not their mean",
        "Divide by the number of pushes",
    )
    require(
        not np.allclose(means, expected / 6),
        "The policy gets the first observation at every step",
        "Assign the first value that `step` returns to `observation`, so that the policy gets it next",
        earned=1,
    )
    require(
        not np.allclose(means, expected.cumsum() / expected),
        "The mean includes rewards of earlier episodes",
        "Begin each episode with an empty list",
        earned=1,
    )
    require(
        np.allclose(means, expected),
        f"Episodes with rewards of 1, 2 and 3 per push have the means {np.round(means, 2)}",
        "Collect `reward` at each step",
    )
    require(
        env.seeds == [40, 41, 42],
        f"With seed 40 the episodes began with the seeds {env.seeds}",
        "Reset episode e with `seed + e`: with one seed all episodes are the same",
        earned=1,
    )
    for is_truncated, word in ((False, "terminated"), (True, "truncated")):
        env = Counter(4, is_truncated)
        means = play(env, _repeat, 0, 2, 6)
        require(
            not env.steps_after_end,
            f"It continues after `{word}` was True",
            f"Leave the loop when {word} is True",
            earned=1,
        )
        require(
            not np.allclose(means, expected[:2]),
            "The reward of the last push of an episode is missing",
            "Collect the reward before you leave the loop",
            earned=1,
        )
        require(
            np.allclose(means, 1.25 * expected[:2]),
            f"The mean of the rewards 1, 1, 1, 2 of an episode that ended early is {means[0]:.2f}",
            "Divide by the number of pushes before the end",
            earned=1,
        )
    return "It resets, acts, steps and stops as `rollout` does."


# ---------------------------------------------------------------- 4 · the paired interval


@check(4, points=2)
def a_paired_interval(paired):
    from scipy.stats import t

    rng = np.random.default_rng(4)
    for n in (30, 4):
        luck = rng.normal(0, 1, n)
        ours = luck + rng.normal(0.3, 0.2, n)
        theirs = luck + rng.normal(0, 0.2, n)
        expected = estimate.paired_interval(ours, theirs)
        differences = ours - theirs
        answer = returned(paired(ours, theirs))
        require(
            np.shape(answer) == (3,),
            "It does not return three numbers",
            "Return the mean, the lower and the upper end",
        )
        require(
            np.array_equal(ours - theirs, differences),
            "It changes an array that it was given",
            "Give the differences a name of their own: `d = ours - theirs`",
        )
        mean, low, high = answer
        half = (high - low) / 2
        require(
            low == mean or not is_close(low, expected.mean),
            "The mean comes second",
            "Return the mean first, then the lower and the upper end",
        )
        require(
            is_close(mean, expected.mean),
            f"The middle is {mean:.3f}, but the mean difference is {expected.mean:.3f}",
            "Subtract episode by episode, `ours - theirs`, then average",
        )
        require(
            half > 0,
            f"It runs from {low:.3f} to {high:.3f}",
            "Its ends are the mean minus, and then plus, half the width",
        )
        require(
            is_close(low + high, 2 * mean),
            "The mean is not in the middle",
            "Both ends must be equally far from the mean",
        )
        quantile = t.ppf(0.975, n - 1)
        unpaired = "The interval combines the two spreads, so it is not paired"
        cancels = "Take the standard deviation of the differences: shared luck cancels in them"
        spread = differences.std(ddof=1)
        both = np.var(ours) + np.var(theirs)
        mistakes = (
            ((both / n) ** 0.5, unpaired, cancels),
            ((both / (n - 1)) ** 0.5, unpaired, cancels),
            (
                spread,
                f"With {n} episodes it is as wide as with one",
                "Divide the standard deviation by the root of the number of episodes",
            ),
            (
                differences.std() / n**0.5,
                "The standard deviation divides by n",
                "Use `ddof=1`: the mean was estimated from the same numbers",
            ),
            (
                spread / n,
                f"With {n} episodes it reaches {half:.3f} up and down",
                "The spread of a mean falls with the *root* of the number of episodes",
            ),
        )
        reject_mistakes(half / quantile, mistakes, earned=1)
        require(
            is_close(half, expected.high - mean),
            f"Half the width is {half:.3f} with {n} episodes",
            "Use Student's t for 0.975 and n - 1: 1.96 is too small for few episodes, and 0.95 for two ends",
            earned=1,
        )
    return "It agrees with `estimate.paired_interval` for 30 episodes and for 4."
