"""Checks of notebook 6: drift, a user model, off-policy estimators, and a wider shelf."""

import gymnasium as gym
import numpy as np

from checks import Checks, require
from pushlab.metrics import rec

check = Checks("6 · A recommender whose user drifts")


def is_close(answer, expected):
    """Return whether numbers agree; False if their shapes differ."""
    return np.shape(answer) == np.shape(expected) and np.allclose(
        answer, expected, atol=1e-8
    )


def random_preferences(count, seed):
    """Return preferences of length 1, (count, 2)."""
    angle = np.random.default_rng(seed).uniform(0, 2 * np.pi, count)
    return np.c_[np.cos(angle), np.sin(angle)]


@check(1, points=1)
def effect_of_an_item(next_preference):
    item = np.array([0.6, -0.3])
    alpha = 0.5
    for preference in random_preferences(20, seed=1):
        answer = next_preference(preference, item, alpha)
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
            after = model.user_preference_dynamics(preference.copy(), item, items)
            require(
                is_close(np.linalg.norm(after), 1.0),
                f"A preference has length {np.linalg.norm(after):.2f} afterwards",
                "Divide by the length after the move",
            )
            engagement = preference @ items[item]
            if engagement > -0.99 * np.linalg.norm(items[item]):
                gains[engagement] = after @ items[item] - engagement
            rewards = [
                model.reward_function(preference.copy(), item, items) for _ in range(20)
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


def random_log(seed, episodes=200, steps=3):
    """Return rewards, ratios, action values and state values, each (episodes, steps)."""
    rng = np.random.default_rng(seed)
    rewards, action_values, state_values = rng.normal(1, 1, (3, episodes, steps))
    ratios = rng.choice([0.25, 0.5, 1.5, 2.0], (episodes, steps))
    return rewards, ratios, action_values, state_values


@check(3, points=2)
def importance_sampling(weights_of, weighted_mean):
    rewards, ratios, *_ = random_log(seed=3)
    weights = np.asarray(weights_of(ratios), float)
    expected = ratios.prod(axis=1)
    require(
        weights.shape == (200,),
        f"The weights have shape {weights.shape}",
        "Return one weight per episode: axis=1",
    )
    require(
        not is_close(weights, np.ones(200)),
        "Every episode has the same weight",
        "An episode that is twice as likely under the new policy counts twice",
    )
    require(
        not is_close(weights, ratios.sum(axis=1))
        and not is_close(weights, ratios.mean(axis=1)),
        "The ratios of an episode are added",
        "What is the joint probability of two independent choices?",
    )
    require(
        not is_close(weights, ratios[:, -1]) and not is_close(weights, ratios[:, 0]),
        "The weight depends on one step only",
        "All choices of an episode count",
    )
    require(
        is_close(weights, expected),
        "The weights are wrong",
        "Multiply the ratios of an episode, and nothing else",
    )
    returns = rewards.sum(axis=1)
    answer = weighted_mean(expected, returns)
    require(
        not is_close(answer, (expected * returns).mean()),
        "The mean is not self-normalised",
        "Divide by the sum of the weights, not by the number of episodes",
        earned=1,
    )
    require(
        not is_close(answer, returns.mean()),
        "The weights have no effect",
        "Multiply each return by the weight of its episode",
        earned=1,
    )
    require(
        is_close(answer, (expected * returns).sum() / expected.sum()),
        f"The weighted mean is {np.round(answer, 3)}",
        "Try two episodes: with weights 3 and 1 and returns 1 and 0 the mean is 3/4",
        earned=1,
    )
    return "Each episode counts by its ratio of probabilities under the new and the old policy."


@check(4, points=2)
def the_direct_method(fitted_values):
    rng = np.random.default_rng(4)
    observations = rng.normal(size=(300, 2, 2))
    actions = rng.integers(2, size=(300, 2))
    rewards = actions * [
        1.0,
        2.0,
    ]  # action 1 earns 1 in the first step, 2 in the second
    target = np.tile([[0.7, 0.3], [0.1, 0.9]], (300, 1, 1))
    action_values, state_values = fitted_values(observations, actions, rewards, target)
    require(
        np.shape(action_values) == np.shape(state_values) == (300, 2),
        "The result is not two arrays (episodes, steps)",
        "Return action_values, state_values with their original shapes",
    )
    last, first = np.mean(state_values, axis=0)[::-1]
    require(
        not is_close(last, 2.0),
        "The last step has the value of the best action",
        "The new policy does not always take the best action: weight the actions by its probabilities",
    )
    require(
        not is_close(last, 0.9),
        "The values of the actions are weighted and then divided by their number",
        "The probabilities add up to 1 already: sum, not mean",
    )
    require(
        not is_close(last, 2.1),
        "The last step has the value of the step before it",
        "Nothing follows the last step: begin there and go backward",
    )
    require(
        abs(last - 1.0) > 0.15,
        "The last step has the value of uniform choice, or of the old policy",
        "Which argument holds the probabilities of the new policy?",
    )
    require(
        is_close(last, 1.8),
        f"Action 1 earns 2 in the last step and has probability 0.9; your value is {last:.2f}",
        "Sum over the actions: probability times Q",
    )
    require(
        not is_close(first, 0.3),
        "The value of the first step stops at its own reward",
        "Where does the step lead? Add the value of the next step to the target",
        earned=1,
    )
    require(
        is_close(first, 2.1),
        f"The value of the first step is {first:.2f}, not 0.3 × 1 + 0.9 × 2",
        "The target is the reward plus the value of the next step under the new policy",
        earned=1,
    )
    require(
        is_close(np.asarray(action_values)[:, 1], rewards[:, 1]),
        "Q of the actions in the log is wrong",
        "Do not change the line of `action_values`",
        earned=1,
    )
    return "From the last step backward: the reward, plus the value of the next step under the new policy."


def backward(rewards, weights, action_values, state_values):
    """Return the doubly robust value of each episode if `weights` stand for the ratios."""
    corrected = np.zeros(len(rewards))
    for step in reversed(range(rewards.shape[1])):
        residual = rewards[:, step] + corrected - action_values[:, step]
        corrected = state_values[:, step] + weights[:, step] * residual
    return corrected


def mistakes_of_one_step(reward, ratio, action_value, state_value):
    """Return wrong values of episodes of one step, each with a reason and a hint."""
    residual = reward - action_value
    return [
        (
            state_value,
            "This is the direct method alone",
            "Add the weighted residual, step by step",
        ),
        (
            state_value + residual,
            "The residuals are not weighted",
            "The ratio compares the probabilities of this action under the new and the old policy",
        ),
        (
            state_value + residual / ratio,
            "The residuals are divided by the ratios",
            "What the new policy does more often counts more: multiply",
        ),
        (
            state_value + ratio * reward,
            "The reward is added in full",
            "The model has already predicted a part of it: subtract its value of this action",
        ),
        (
            ratio * reward,
            "This is importance sampling without a model",
            "Begin with the model's value of the observation",
        ),
        (
            ratio * (state_value + residual),
            "The ratio multiplies the model's value, too",
            "It weights the bracket only: the value of the observation stands before it",
        ),
        (
            state_value - ratio * residual,
            "The correction has the wrong sign",
            "The residual is what came out, less what the model said",
        ),
        (
            state_value + ratio * (reward - state_value),
            "The residual subtracts V, the model's value of the observation",
            "The reward belongs to the action that was taken: subtract Q, `action_values`",
        ),
        (
            action_value + ratio * residual,
            "It begins with Q of the action taken",
            "Begin with V, `state_values`: what the new policy is expected to get",
        ),
        (
            action_value + ratio * (reward - state_value),
            "The two arrays of the model have changed places",
            "V, `state_values`, stands before the bracket and Q, `action_values`, inside",
        ),
    ]


def mistakes_of_several_steps(rewards, ratios, action_values, state_values):
    """Return wrong values of episodes, right for one step, each with a reason and a hint."""
    cumulative = ratios.cumprod(axis=1)
    later = ratios[:, ::-1].cumprod(axis=1)[:, ::-1]
    product = np.repeat(cumulative[:, -1:], ratios.shape[1], axis=1)
    next_values = np.hstack([state_values[:, 1:], np.zeros((len(rewards), 1))])
    errors = rewards - action_values
    residuals = errors + next_values
    first = state_values[:, 0]
    arrays = (rewards, ratios, action_values, state_values)
    forward = backward(*[array[:, ::-1] for array in arrays])
    own_ratio = (
        "Take the ratio of this step alone. The corrected value goes back to the step "
        "before, which multiplies it by its own ratio: the product arises by itself"
    )
    bracket = "What came out is the reward and the corrected value of the later steps: both stand in the bracket"
    return [
        (
            backward(rewards, cumulative, action_values, state_values),
            "Each step has the product of all ratios up to it, so early ratios count several times",
            own_ratio,
        ),
        (
            backward(rewards, later, action_values, state_values),
            "Each step has the product of all ratios from it on, so late ratios count several times",
            own_ratio,
        ),
        (
            backward(rewards, product, action_values, state_values),
            "Each step has the weight of the complete episode, so ratios count several times",
            own_ratio,
        ),
        (
            first + (ratios * residuals).sum(axis=1),
            "In your sum each residual has the ratio of its own step only",
            "Earlier choices count, too: multiply the ratios up to this step, or go backward as in the equation",
        ),
        (
            first + (product * residuals).sum(axis=1),
            "In your sum each residual has the weight of the complete episode",
            "A residual does not depend on later choices: multiply the ratios up to this step only",
        ),
        (
            first + product[:, 0] * (rewards.sum(axis=1) - action_values[:, 0]),
            "The complete return is corrected at once",
            "Correct each step by its own residual, from the last step backward",
        ),
        (
            first + (cumulative * errors).sum(axis=1),
            "The residuals leave out what follows the reward",
            bracket,
        ),
        (
            first + ratios[:, 0] * errors[:, 0],
            "Only the first step is corrected, and by its reward alone",
            bracket,
        ),
        (
            first + ratios[:, 0] * residuals[:, 0],
            "The next step has the model's value, not the corrected one",
            "In the bracket stands the estimate of the later steps that the loop has just computed",
        ),
        (
            (state_values + ratios * errors).sum(axis=1),
            "The later steps are added outside the bracket",
            "They belong inside, beside the reward: the ratio weights them, and Q predicts them, too",
        ),
        (
            forward,
            "It goes forward, from the first step to the last",
            "A step needs the value of the one after it: begin with the last",
        ),
    ]


@check(5, points=3)
def doubly_robust(doubly_robust):
    arrays = random_log(seed=5)
    answer = np.asarray(doubly_robust(*arrays), float)
    require(
        answer.shape == (200,),
        f"The shape is {answer.shape}",
        "Return one number per episode",
    )
    first_step = [part[:, :1] for part in arrays]
    one_step = doubly_robust(*first_step)
    for mistaken, reason, hint in mistakes_of_one_step(*first_step):
        require(not is_close(one_step, mistaken[:, 0]), reason, hint)
    require(
        is_close(one_step, backward(*first_step)),
        "With one step it should be: value + ratio × (reward - Q of the action taken)",
        "Check the signs, and the places of the model's two arrays",
    )
    for mistaken, reason, hint in mistakes_of_several_steps(*arrays):
        require(not is_close(answer, mistaken), reason, hint, earned=1)
    require(
        is_close(answer, backward(*arrays)),
        "It is right for one step and wrong for several",
        "Work out two steps by hand, from the last one backward, and compare",
        earned=1,
    )
    return "The model's value, plus the weighted residual of every step."


@check(6, points=2)
def how_sharp_is_too_sharp(effective_size, too_sharp, weights_at):
    equal = effective_size(np.array([2.0] * 4))
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
        weights = weights_at(sharpness)
        sizes[sharpness] = weights.sum() ** 2 / (weights**2).sum()
    for min_size in (700, 300, 20):
        expected = min(
            sharpness for sharpness, size in sizes.items() if size < min_size
        )
        answer = too_sharp(min_size)
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
            item = choose(observation.copy(), items.copy(), list(past))
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
