"""Checks of notebook 6: drift, a user model, off-policy estimators, and a wider shelf."""

import gymnasium as gym
import numpy as np

from checks import Checks, is_close, reject_mistakes, require, returned
from pushlab.metrics import rec

check = Checks("6 · A recommender whose user drifts")


def random_preferences(count, seed):
    """Return preferences of length 1, (count, 2)."""
    angle = np.random.default_rng(seed).uniform(0, 2 * np.pi, count)
    return np.c_[np.cos(angle), np.sin(angle)]


@check(1, points=1)
def effect_of_an_item(next_preference):
    item = np.array([0.6, -0.3])
    alpha = 0.5
    for preference in random_preferences(20, seed=1):
        answer = returned(next_preference(preference, item, alpha))
        engagement = preference @ item
        require(
            np.shape(answer) == (2,),
            f"`next_preference` returns {answer!r:.60}, not a vector of length 2",
            "Begin with the preference and add a multiple of the item",
        )
        require(
            not is_close(answer, preference),
            "The preference does not change",
            "The user has to move: write the numerator of the equation",
        )
        length = np.linalg.norm(answer)
        require(
            is_close(length, 1.0),
            f"The new preference has length {length:.2f}",
            "A preference is a direction: divide by the length of the sum, at the very end",
        )
        change = answer @ item - engagement
        require(
            change * engagement > 0,
            f"An item of engagement {engagement:.2f} changed its own engagement by {change:+.2f}",
            "Liked items attract, disliked ones repel: which factor has that sign?",
        )
        expected = preference + alpha * engagement * item
        require(
            is_close(answer, expected / np.linalg.norm(expected)),
            "The direction of the step is right, its length is not",
            "Is the step alpha times the engagement times the item, and is the item not normalised?",
        )
    return "Liked items attract, disliked ones repel, and the length stays 1."


@check(2, points=2)
def a_user_of_your_own(Contrary):
    items = np.array([[0.3, 0.0], [0.2, 0.35], [-0.5, 0.87], [-0.49, -0.09]])
    model = Contrary()
    gains = {}  # gain of an item from being shown, by its engagement before
    for preference in random_preferences(40, seed=2):
        for item in range(4):
            after = returned(
                model.user_preference_dynamics(preference.copy(), item, items)
            )
            require(
                is_close(np.linalg.norm(after), 1.0),
                f"A preference has length {np.linalg.norm(after):.2f} afterwards",
                "Divide by the length after the move",
            )
            engagement = preference @ items[item]
            if engagement > -0.99 * np.linalg.norm(items[item]):
                gains[engagement] = after @ items[item] - engagement
            rewards = [
                returned(model.reward_function(preference.copy(), item, items))
                for _ in range(20)
            ]
            require(
                abs(np.mean(rewards) - engagement) < 0.1,
                f"The mean reward is {np.mean(rewards):.2f}, "
                f"but preference · item is {engagement:.2f}",
                "Leave the reward as it is: only the drift changes",
            )
    require(
        np.ptp(list(gains.values())) > 1e-6,
        "The user ignores what is shown",
        "Subtract a part of the item from the state",
    )
    engagement = max(gains, key=gains.get)
    gain = gains[engagement]
    remedy = "subtract the item, and do not add it"
    if engagement < 0:
        remedy = "without the factor preference · item, disliked items repel, too"
    require(
        gain < -1e-6,
        f"An item of engagement {engagement:.2f} has {engagement + gain:.2f} after it was shown, which is not less",
        f"The user turns away from everything: {remedy}",
    )
    lost = greedy_return(None, items) - greedy_return(model, items)
    require(
        lost > 1,
        f"The greedy agent loses {lost:.2f} per episode, not 1",
        "Turn the user further at each item",
        earned=1,
    )
    return f"They turn away from everything, and the greedy agent earns {lost:.1f} less per episode."


def greedy_return(model, items, steps=20):
    """Return the mean expected return of the greedy agent; with model None no user moves."""
    states = random_preferences(40, seed=3)
    total = 0.0
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


def random_log(seed, rows=200, actions=3):
    """Return target (rows, actions), actions and propensities (rows,) of two random policies."""
    rng = np.random.default_rng(seed)
    old = rng.dirichlet(np.ones(actions), rows) * 0.7 + 0.1
    target = rng.dirichlet(np.ones(actions), rows)
    drawn = (rng.random(rows)[:, None] > old.cumsum(axis=1)).sum(axis=1)
    return target, drawn, old[np.arange(rows), drawn]


def mistaken_weights(target, actions, propensities):
    """Return wrong weights of a log, each with a reason and a hint."""
    chosen = target[np.arange(len(actions)), actions]
    weights = chosen / propensities
    return [
        (
            np.ones(len(actions)),
            "Every row has the same weight",
            "A row counts twice if the new policy makes its action twice as likely",
        ),
        (
            chosen,
            "The weights are the new policy's probabilities",
            "The log has more rows of the old policy's frequent actions: divide by the propensity",
        ),
        (
            1 / propensities,
            "The weights are the same for every new policy",
            "The numerator is the new policy's probability of the logged action",
        ),
        (
            1 / weights,
            "The ratio is upside down",
            "An action that the new policy takes more often counts more: new over old",
        ),
        (
            chosen * propensities,
            "The two probabilities are multiplied",
            "The weight is a ratio: new over old",
        ),
        (
            target.max(axis=1) / propensities,
            "The numerator is the probability of the new policy's favourite",
            "Take the probability of the action in the log: column `actions[i]` of row i",
        ),
        (
            weights / weights.mean(),
            "The weights are divided by their mean",
            "Return the plain ratios; `weighted_mean` divides",
        ),
        (
            weights / weights.sum(),
            "The weights are divided by their sum",
            "Return the plain ratios; `weighted_mean` divides",
        ),
    ]


@check(3, points=2)
def importance_sampling(weights_of, weighted_mean):
    target, actions, propensities = random_log(seed=3)
    expected = target[np.arange(200), actions] / propensities
    weights = np.asarray(
        returned(weights_of(target.copy(), actions.copy(), propensities.copy())), float
    )
    require(
        weights.shape != (200, 200),
        "The weights have a row and a column for each row of the log",
        "`target[:, actions]` takes all rows for each action; give a number for each row, too",
    )
    require(
        weights.shape != (200, 3),
        "The weights have a column for each action",
        "Only the logged action counts: take column `actions[i]` of row i",
    )
    require(
        weights.shape == (200,),
        f"The weights have shape {weights.shape}",
        "Return one weight per row",
    )
    reject_mistakes(weights, mistaken_weights(target, actions, propensities))
    require(
        is_close(weights, expected),
        "The weights are wrong",
        "Try one row by hand: probability 0.6 under the new policy and 0.2 under the old one is a weight of 3",
    )
    rewards = np.random.default_rng(4).normal(1, 1, 200)
    answer = returned(weighted_mean(expected.copy(), rewards.copy()))
    require(
        np.ndim(answer) == 0,
        f"The weighted mean has shape {np.shape(answer)}",
        "Return one number for the log",
        earned=1,
    )
    mistakes = (
        (
            (expected * rewards).mean(),
            "The mean is not self-normalised",
            "Divide by the sum of the weights, not by the number of rows",
        ),
        (
            (expected * rewards).sum(),
            "It is a sum, not a mean",
            "Divide by the sum of the weights",
        ),
        (
            rewards.mean(),
            "The weights have no effect",
            "Multiply each reward by the weight of its row",
        ),
        (
            (expected * rewards).mean() / expected.sum(),
            "It is divided twice, by the number of rows and by the sum of the weights",
            "Divide the sum of the products by the sum of the weights",
        ),
    )
    reject_mistakes(answer, mistakes, earned=1)
    require(
        is_close(answer, (expected * rewards).sum() / expected.sum()),
        f"The weighted mean is {np.round(answer, 3)}",
        "Try two rows: with weights 3 and 1 and rewards 1 and 0 the mean is 3/4",
        earned=1,
    )
    return "Each row counts by the ratio of its probabilities under the new and the old policy."


@check(4, points=1)
def the_direct_method(model_values):
    target, *_ = random_log(seed=4)
    predictions = np.random.default_rng(5).normal(1, 1, target.shape)
    values = (target * predictions).sum(axis=1)
    favourite = predictions[np.arange(200), target.argmax(axis=1)]
    answer = np.asarray(
        returned(model_values(target.copy(), predictions.copy())), float
    )
    require(
        not is_close(answer, values.mean()),
        "You return the mean over all contexts",
        "Return one value per context, (rows,): sum over the actions, axis=1",
    )
    require(
        answer.shape == (200,),
        f"The values have shape {answer.shape}",
        "Return one value per context: sum over the actions, axis=1",
    )
    mistakes = (
        (
            predictions.mean(axis=1),
            "Every action has the same probability",
            "Which argument holds the probabilities of the new policy?",
        ),
        (
            predictions.max(axis=1),
            "This is the value of the best action",
            "The new policy does not always take the best action: weight the actions by its probabilities",
        ),
        (
            favourite,
            "Only the likeliest action of the new policy counts",
            "It takes the others, too: weight all actions by its probabilities",
        ),
        (
            (target * predictions).mean(axis=1),
            "The predictions are weighted and then divided by the number of actions",
            "The probabilities add up to 1 already: sum, not mean",
        ),
        (
            predictions.sum(axis=1),
            "The predictions are added without the probabilities",
            "Multiply each prediction by the new policy's probability of its action",
        ),
    )
    reject_mistakes(answer, mistakes)
    require(
        is_close(answer, values),
        "The values are wrong",
        "With probabilities 0.9 and 0.1 and predictions 2 and 1 the value is 1.9",
    )
    return "The mean of the model's predictions under the new policy."


def mistakes_of_doubly_robust(rewards, ratios, action_values, state_values):
    """Return wrong values of rows, each with a reason and a hint."""
    residuals = rewards - action_values
    return [
        (
            state_values,
            "This is the direct method alone",
            "Add the weighted residual of each row",
        ),
        (
            state_values + residuals,
            "The residuals are not weighted",
            "The ratio compares the probabilities of this action under the new and the old policy",
        ),
        (
            state_values + residuals / ratios,
            "The residuals are divided by the ratios",
            "Actions that the new policy takes more often count more: multiply",
        ),
        (
            state_values + ratios * rewards,
            "The reward is added in full",
            "The model has already predicted a part of it: subtract its value of this action",
        ),
        (
            ratios * rewards,
            "This is importance sampling without a model",
            "Begin with the model's value of the context",
        ),
        (
            ratios * residuals,
            "This is the weighted residual alone",
            "Add it to the model's value of the context",
        ),
        (
            state_values + ratios * rewards - action_values,
            "The ratio multiplies the reward only",
            "It weights the residual: put brackets around reward minus prediction",
        ),
        (
            ratios * (state_values + residuals),
            "The ratio multiplies the model's value, too",
            "It weights the bracket only: the value of the context stands before it",
        ),
        (
            state_values - ratios * residuals,
            "The correction has the wrong sign",
            "The residual is the reward minus the prediction",
        ),
        (
            state_values + ratios * (rewards - state_values),
            "The residual subtracts V, the model's value of the context",
            "The reward belongs to the action that was taken: subtract Q, `action_values`",
        ),
        (
            action_values + ratios * residuals,
            "It begins with Q of the action taken",
            "Begin with V, `state_values`: the expected reward under the new policy",
        ),
        (
            action_values + ratios * (rewards - state_values),
            "The two arrays of the model have changed places",
            "V, `state_values`, stands before the bracket and Q, `action_values`, inside",
        ),
        (
            state_values + ratios / ratios.mean() * residuals,
            "The ratios are divided by their mean",
            "Use them as they are: the equation has no sum of weights",
        ),
        (
            state_values + ratios / ratios.sum() * residuals,
            "The ratios are divided by their sum",
            "Use them as they are: the equation has no sum of weights",
        ),
    ]


@check(5, points=2)
def doubly_robust(doubly_robust):
    rng = np.random.default_rng(5)
    rewards, action_values, state_values = rng.normal(1, 1, (3, 200))
    ratios = rng.choice([0.25, 0.5, 1.5, 2.0], 200)
    arrays = (rewards, ratios, action_values, state_values)
    expected = state_values + ratios * (rewards - action_values)
    answer = returned(doubly_robust(*[array.copy() for array in arrays]))
    answer = np.asarray(answer, float)
    require(
        not is_close(answer, expected.mean()),
        "You return the mean over the log",
        "Return the value of each row: the last line of the cell takes the mean",
        earned=1,
    )
    require(
        answer.shape == (200,),
        f"The shape is {answer.shape}",
        "Return one number per row",
    )
    reject_mistakes(answer, mistakes_of_doubly_robust(*arrays))
    require(
        is_close(answer, expected),
        "It should be: value + ratio × (reward - Q of the action taken)",
        "Check the signs, and the places of the model's two arrays",
    )
    return "The model's value, plus the weighted residual."


@check(6, points=2)
def how_sharp_is_too_sharp(effective_size, too_sharp, weights_at):
    equal = returned(effective_size(np.array([2.0] * 4)))
    single = effective_size(np.array([8.0, 0, 0, 0]))
    unequal = effective_size(np.array([3.0, 1.0]))
    require(
        is_close(equal, 4.0),
        f"Four equal weights count as {equal:.3g}",
        "The numerator is the square of the sum",
    )
    require(
        is_close(single, 1.0),
        f"One heavy episode of four counts as {single:.3g}",
        "Divide the square of the sum by the sum of the squares",
    )
    require(
        is_close(unequal, 1.6),
        f"Weights 3 and 1 give {unequal:.3g}",
        "(3 + 1)² / (3² + 1²)",
    )
    sizes = {}
    for sharpness in range(1, 12):
        weights = returned(weights_at(sharpness))
        sizes[sharpness] = weights.sum() ** 2 / (weights**2).sum()
    for min_size in (700, 300, 20):
        expected = min(
            sharpness for sharpness, size in sizes.items() if size < min_size
        )
        answer = returned(too_sharp(min_size))
        require(
            answer == expected,
            f"Below {min_size} episodes: your answer is sharpness {answer}, which has {sizes.get(answer, np.nan):.0f}; "
            f"one step less sharp has {sizes.get(answer - 1, np.nan):.0f}",
            "Count upwards from 1 and stop at the first size below `min_size`",
            earned=1,
        )
    return "The sharper the new policy, the fewer episodes count for it."


@check(7, points=3)
def a_wider_shelf(choose):
    envs = gym.make_vec("pushlab/RECEnv-v0", num_envs=60, step_per_episode=30)
    items = envs.unwrapped.world.items
    observations, _ = envs.reset(seed=4321)
    earned = 0.0
    shown = [[] for _ in observations]
    for _ in range(30):
        for observation, past in zip(observations, shown):
            item = returned(choose(observation.copy(), items.copy(), list(past)))
            require(
                np.ndim(item) == 0 and item in range(5),
                f"`choose` returned {item!r:.30}",
                "Return the number of an item, 0 to 4",
            )
            past.append(item)
        before = observations
        actions = np.array([past[-1] for past in shown], int)
        observations, reward, *_ = envs.step(actions)
        earned += reward.mean()
    polarisation = rec.polarisation(before, items).mean()
    result = f"Return {earned:.1f}, polarisation {polarisation:.2f}"
    require(
        polarisation <= 0.9 or earned >= 10,
        f"{result}: the return is too low, and the users get too polarised",
        "Begin with the item that is liked best, and choose another one when it would polarise the user",
    )
    require(
        polarisation <= 0.9,
        f"{result}: the users get too polarised",
        "Compute where each item would turn the user, and the polarisation there; subtract it from the engagement",
    )
    require(
        earned >= 10,
        f"{result}: the polarisation is low enough, but the return is too low",
        "Which weight has the reward, and which the polarisation? Give the polarisation less",
        earned=2 if earned >= 4 else 0,
    )
    return f"{result}: both objectives are met."
