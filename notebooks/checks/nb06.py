"""What the exercises of notebook 6 ask for."""

import gymnasium as gym
import numpy as np

from checks import Checks, demand
from pushlab.metrics import rec

check = Checks("6 · A recommender whose user drifts")


def close(one, other):
    return np.shape(one) == np.shape(other) and np.allclose(one, other, atol=1e-8)


def directions(count, seed):
    """Preferences of length 1, (count, 2)."""
    angle = np.random.default_rng(seed).uniform(0, 2 * np.pi, count)
    return np.c_[np.cos(angle), np.sin(angle)]


@check(1, points=1)
def what_an_item_does(moved):
    item, alpha = np.array([0.6, -0.3]), 0.5
    for preference in directions(20, seed=1):
        found, liking = moved(preference, item, alpha), preference @ item
        demand(
            np.shape(found) == (2,),
            f"`moved` returns {found!r:.60}, no vector of length 2",
            "Begin with the preference and add a multiple of the item",
        )
        demand(
            not close(found, preference),
            "The preference stays where it was",
            "The user has to move: write the numerator of the equation",
        )
        length = np.linalg.norm(found)
        demand(
            close(length, 1.0),
            f"The new preference has length {length:.2f}",
            "A preference is a direction: divide by the length of the sum, at the very end",
        )
        nearer = found @ item - liking
        demand(
            nearer * liking > 0,
            f"An item of engagement {liking:.2f} changed its own engagement by {nearer:+.2f}",
            "What is liked draws nearer, what is disliked pushes off: which factor has that sign?",
        )
        sum_of = preference + alpha * liking * item
        demand(
            close(found, sum_of / np.linalg.norm(sum_of)),
            "The direction is right, the distance is not",
            "Is the step alpha times the engagement times the whole item, with the item as long as it is?",
        )
    return "Liked items draw nearer, disliked ones push off, and the length stays 1."


@check(2, points=2)
def a_user_of_your_own(Contrary):
    items = np.array([[0.3, 0.0], [0.2, 0.35], [-0.5, 0.87], [-0.49, -0.09]])
    model = Contrary()
    for preference in directions(40, seed=2):
        for item in range(4):
            after = model.user_preference_dynamics(preference.copy(), item, items)
            demand(
                close(np.linalg.norm(after), 1.0),
                f"A preference has length {np.linalg.norm(after):.2f} afterwards",
                "Divide by the length after the move",
            )
            liked, then = preference @ items[item], after @ items[item]
            demand(
                then < liked - 1e-6 or liked < -0.99 * np.linalg.norm(items[item]),
                f"An item of engagement {liked:.2f} gained {then - liked:+.2f} by being shown",
                "Contrary to every item: the item is subtracted, whether the user liked it or not",
            )
            rewards = [
                model.reward_function(preference.copy(), item, items) for _ in range(20)
            ]
            demand(
                abs(np.mean(rewards) - liked) < 0.1,
                f"The reward is {np.mean(rewards):.2f} on average, "
                f"and preference · item is {liked:.2f}",
                "Leave the reward as it is: only the drift changes",
            )
    lost = greedy_return(None, items) - greedy_return(model, items)
    demand(
        lost > 1,
        f"The greedy agent loses {lost:.2f} an episode, not 1",
        "Turn the user further at each item",
        earned=1,
    )
    return f"They turn away from everything, and the greedy agent earns {lost:.1f} less an episode."


def greedy_return(model, items, steps=20):
    """Mean expected return of always showing what is liked best; model None is a user whom nothing moves."""
    states, total = directions(40, seed=3), 0.0
    for _ in range(steps):
        chosen = (states @ items.T).argmax(axis=1)
        total += (states * items[chosen]).sum(axis=1).mean()
        if model is not None:
            states = np.array(
                [
                    model.user_preference_dynamics(state, item, items)
                    for state, item in zip(states, chosen)
                ]
            )
    return total


def made_up_log(seed, episodes=200, steps=3):
    """Rewards, ratios, values of what was done and of the observations, each (episodes, steps)."""
    chance = np.random.default_rng(seed)
    rewards, taken, values = chance.normal(1, 1, (3, episodes, steps))
    return (
        rewards,
        chance.choice([0.25, 0.5, 1.5, 2.0], (episodes, steps)),
        taken,
        values,
    )


@check(3, points=2)
def importance_sampling(weights_of, weighted_mean):
    rewards, ratios, *_ = made_up_log(seed=3)
    weights, right = np.asarray(weights_of(ratios), float), ratios.prod(axis=1)
    demand(
        weights.shape == (200,),
        f"The weights have shape {weights.shape}",
        "One weight an episode: axis=1",
    )
    demand(
        not close(weights, np.ones(200)),
        "Every episode weighs the same",
        "An episode that the new policy makes twice as likely stands for two",
    )
    demand(
        not close(weights, ratios.sum(axis=1))
        and not close(weights, ratios.mean(axis=1)),
        "The ratios of an episode are added",
        "How likely are two independent choices together?",
    )
    demand(
        not close(weights, ratios[:, -1]) and not close(weights, ratios[:, 0]),
        "One step decides the weight alone",
        "All the choices of an episode count",
    )
    demand(
        close(weights, right),
        "These are not the weights",
        "Multiply the ratios of an episode, and nothing else",
    )
    found, returns = weighted_mean(right, rewards.sum(axis=1)), rewards.sum(axis=1)
    demand(
        not close(found, (right * returns).mean()),
        "The mean is not self-normalised",
        "Divide by the sum of the weights, not by the number of episodes",
        earned=1,
    )
    demand(
        not close(found, returns.mean()),
        "The weights make no difference",
        "Multiply each return by the weight of its episode",
        earned=1,
    )
    demand(
        close(found, (right * returns).sum() / right.sum()),
        f"The weighted mean is {found!r:.20}",
        "Try two episodes: weights 3 and 1, returns 1 and 0; the mean is 3/4",
        earned=1,
    )
    return "Each episode counts by how much likelier the new policy makes it."


@check(4, points=2)
def the_direct_method(fitted_values):
    chance = np.random.default_rng(4)
    seen, actions = chance.normal(size=(300, 2, 2)), chance.integers(2, size=(300, 2))
    rewards = actions * [
        1.0,
        2.0,
    ]  # action 1 earns 1 in the first step and 2 in the second
    target = np.tile([[0.7, 0.3], [0.1, 0.9]], (300, 1, 1))
    taken, values = fitted_values(seen, actions, rewards, target)
    demand(
        np.shape(taken) == np.shape(values) == (300, 2),
        "Two arrays are wanted, both (episodes, steps)",
        "Return taken, values as they were laid out",
    )
    last, first = np.mean(values, axis=0)[::-1]
    demand(
        not close(last, 2.0),
        "The last step's value is that of the best action",
        "The new policy does not always do what is best: weigh the actions by its probabilities",
    )
    demand(
        abs(last - 1.0) > 0.15,
        "The last step's value is that of an even choice, or of the old policy",
        "In which argument stands what the new policy would do?",
    )
    demand(
        close(last, 1.8),
        f"Action 1 earns 2 in the last step, and is chosen with 0.9; your value is {last:.2f}",
        "Sum over the actions: probability times Q",
    )
    demand(
        not close(first, 0.3),
        "The first step's value stops at its own reward",
        "What does the step lead to? Add the next step's value to the aim",
        earned=1,
    )
    demand(
        close(first, 2.1),
        f"The first step's value is {first:.2f}, not 0.3 × 1 + 0.9 × 2",
        "The aim is the reward and the next step's value under the new policy",
        earned=1,
    )
    demand(
        close(np.asarray(taken)[:, 1], rewards[:, 1]),
        "Q of what was done is off",
        "Leave the line of `taken`",
        earned=1,
    )
    return "From the last step backwards: reward, and what the new policy would get from there."


@check(5, points=3)
def doubly_robust(doubly_robust):
    rewards, ratios, taken, values = made_up_log(seed=5)
    found = np.asarray(doubly_robust(rewards, ratios, taken, values), float)
    demand(
        found.shape == (200,),
        f"The shape is {found.shape}",
        "One number an episode comes out",
    )
    demand(
        not close(found, values[:, 0]),
        "This is the direct method alone",
        "Add the weighted residual, step by step",
    )
    nothing, first = (
        np.zeros_like(taken),
        (rewards[:, :1], ratios[:, :1], taken[:, :1], values[:, :1]),
    )
    alone = doubly_robust(*first)
    demand(
        not close(alone, values[:, 0] + rewards[:, 0] - taken[:, 0]),
        "The residuals are not weighted",
        "The ratio says how often the new policy would have done this",
    )
    demand(
        not close(alone, values[:, 0] + ratios[:, 0] * rewards[:, 0]),
        "The reward is added whole",
        "The model has foreseen a part of it already: subtract what it said of this action",
    )
    demand(
        not close(alone, ratios[:, 0] * rewards[:, 0]),
        "This is importance sampling without a model",
        "Begin with the model's value of what was seen",
    )
    demand(
        close(alone, values[:, 0] + ratios[:, 0] * (rewards[:, 0] - taken[:, 0])),
        "With one step it should be: value + ratio × (reward - Q of the action taken)",
        "Look at the signs, and at which of the two arrays of the model stands where",
    )
    without = doubly_robust(rewards, ratios, nothing, nothing)
    demand(
        close(without, (ratios.cumprod(axis=1) * rewards).sum(axis=1)),
        "With a model that says 0 everywhere, weighting alone should remain",
        "What follows a step (the estimate so far) belongs inside the bracket, beside the reward",
        earned=1,
    )
    right = np.zeros(200)
    for step in reversed(range(3)):
        right = values[:, step] + ratios[:, step] * (
            rewards[:, step] + right - taken[:, step]
        )
    demand(
        close(found, right),
        "With several steps it is off",
        "Each step corrects its own value: go backwards",
        earned=1,
    )
    return "The model's value, and the weighted residual of every step."


@check(6, points=2)
def how_sharp_is_too_sharp(effective_size, too_sharp, weights_at):
    even, lone, uneven = (
        effective_size(np.array(w)) for w in ([2.0] * 4, [8.0, 0, 0, 0], [3.0, 1.0])
    )
    demand(
        close(even, 4.0),
        f"Four equal weights count as {even:.3g}",
        "The square of the sum stands on top",
    )
    demand(
        close(lone, 1.0),
        f"One heavy episode of four counts as {lone:.3g}",
        "The square of the sum, divided by the sum of the squares",
    )
    demand(
        close(uneven, 1.6), f"Weights 3 and 1 give {uneven:.3g}", "(3 + 1)² / (3² + 1²)"
    )
    sizes = {}
    for sharpness in range(1, 12):
        weights = weights_at(sharpness)
        sizes[sharpness] = weights.sum() ** 2 / (weights**2).sum()
    for fewest in (700, 300, 20):
        right, found = (
            min(sharp for sharp, size in sizes.items() if size < fewest),
            too_sharp(fewest),
        )
        demand(
            found == right,
            f"Below {fewest} episodes: you say from sharpness {found} on; there it leaves "
            f"{sizes.get(found, np.nan):.0f}, and one step less sharp {sizes.get(found - 1, np.nan):.0f}",
            "Count upwards from 1 and stop at the first size below `fewest`",
            earned=1,
        )
    return "The sharper the new policy, the fewer episodes speak for it."


@check(7, points=3)
def a_wider_shelf(choose):
    envs = gym.make_vec("pushlab/RECEnv-v0", num_envs=60, step_per_episode=30)
    items = envs.unwrapped.world.items
    seen, _ = envs.reset(seed=4321)
    earned, shown = 0.0, [[] for _ in seen]
    for _ in range(30):
        for one, past in zip(seen, shown):
            past.append(choose(one.copy(), items.copy(), list(past)))
            demand(
                past[-1] in range(5),
                f"`choose` returned {past[-1]!r:.30}",
                "Return an item's number, 0 to 4",
            )
        before = seen
        seen, reward, *_ = envs.step(np.array([past[-1] for past in shown], int))
        earned += reward.mean()
    narrow = rec.polarisation(before, items).mean()
    told = f"Return {earned:.1f}, polarisation {narrow:.2f}"
    demand(
        earned >= 4,
        f"{told}: the users are not served",
        "Begin with the item that is liked best, and depart "
        "from it where it makes the user narrow",
    )
    demand(
        narrow <= 0.9,
        f"{told}: the users get too narrow",
        "Work out where each item would turn the user, and how "
        "polarised they were then; take that off the engagement",
    )
    demand(
        earned >= 10,
        f"{told}: the users stay wide, but the return is too low",
        "What weight has the reward, and what weight the polarisation?",
        earned=2,
    )
    return f"{told}: both objectives are met."
