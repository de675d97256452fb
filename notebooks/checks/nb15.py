"""Checks of notebook 15: answers are tried on random features, steps and examples."""

import numpy as np

from checks import Checks, is_close, reject_mistakes, require, returned

check = Checks("15 · When a table is too small")


@check(1, points=2)
def hats_between_knots(hats):
    knots = np.array([0, 10, 40, 100])
    for level in (4, 10, 31, 52, 0, 90, 100):
        answer = np.asarray(returned(hats(level, knots.copy())))
        x = answer.astype(float)
        require(
            x.shape == (4,),
            f"For 4 knots it gives shape {x.shape}",
            "Return one feature per knot.",
        )
        expected = np.array([np.interp(level, knots, row) for row in np.eye(4)])
        nearest = np.eye(4)[abs(knots - level).argmin()]
        swapped = np.zeros(4)
        swapped[np.flatnonzero(expected)] = expected[expected > 0][::-1]
        distances = np.where(expected > 0, abs(knots - level), 0)
        equal_spacing = np.maximum(0, 1 - abs(knots - level) / (100 / 3))
        if not is_close(x, expected):
            require(
                answer.dtype.kind != "i",
                f"At level {level} the features are whole numbers",
                "An integer array, from `zeros_like` for example, cuts off the decimals.",
            )
            reject_mistakes(
                x,
                (
                    (
                        np.zeros(4),
                        f"Level {level} has no feature above 0",
                        "Its left and its right knot share a total of 1.",
                    ),
                    (
                        nearest,
                        f"Level {level} has only the feature of its nearest knot",
                        "Between two knots both have a share.",
                    ),
                    (
                        swapped,
                        f"At level {level} the two shares are swapped",
                        "The nearer knot has the larger feature.",
                    ),
                    (
                        distances,
                        f"At level {level} the features are distances",
                        "Divide by the distance between the two knots, and let the nearer one have more.",
                    ),
                    (
                        equal_spacing,
                        "It takes all distances between knots as equal",
                        "Divide by the distance of the two knots that the level lies between.",
                    ),
                ),
            )
        require(
            abs(x.sum() - 1) < 1e-6,
            f"At level {level} the features sum to {x.sum():.2f}",
            "The two shares sum to 1. At a knot, its own feature is 1.",
        )
        require(
            is_close(x, expected),
            f"At level {level} and knots {knots.tolist()} it gives {x.round(2).tolist()}",
            f"Which two knots are next to {level}, and how far is it from the left one?",
        )
    return "Right between the knots, at the knots, and at both ends."


@check(2, points=2)
def the_semi_gradient_step(td_step):
    rng = np.random.default_rng(2)
    w = rng.normal(size=5)
    x = rng.uniform(0.2, 1, size=5)
    x_next = rng.uniform(0.2, 1, size=5)
    r = 0.7
    alpha = 0.25
    gamma = 0.6
    weights = w.copy()
    delta = td_step(weights, x.copy(), r, x_next.copy(), alpha, gamma)
    expected = r + gamma * w @ x_next - w @ x
    step = weights - w
    require(
        np.abs(step).max() > 1e-12,
        "The weights did not change",
        "Change `w` itself: w += …, not w = w + ….",
    )
    mistakes = (
        (
            alpha * expected * (x - gamma * x_next),
            "The next state's features are in the step, too",
            "This is the whole derivative. The semi-gradient leaves the part of the target out.",
        ),
        (
            alpha * expected * (gamma * x_next - x),
            "The derivative of the whole error is in the step, with the wrong sign",
            "The semi-gradient has the features of this state only.",
        ),
        (
            np.full(5, alpha * expected),
            "All weights move by the same amount",
            "Each weight moves in proportion to its feature.",
        ),
        (
            alpha * expected * w,
            "The weights move in proportion to themselves",
            "What is the derivative of w · x with respect to w?",
        ),
        (
            alpha * expected * x_next,
            "It moves by the features of the next state",
            "Which state's value is corrected?",
        ),
        (
            -alpha * expected * x,
            "It moves away from the target",
            "Which sign has target minus value?",
        ),
        (expected * x, "It takes the whole step", "Where is alpha?"),
        (
            alpha * (r + gamma * w @ x_next) * x,
            "The old value is not subtracted",
            "The error is the target less the value w · x.",
        ),
        (
            alpha * (r + w @ x_next - w @ x) * x,
            "The value of the next state is not discounted",
            "Where is gamma?",
        ),
        (
            alpha * (r - w @ x) * x,
            "The value of the next state is missing",
            "The target is r plus the discounted value of the next state.",
        ),
    )
    reject_mistakes(step, mistakes)
    require(
        is_close(step, alpha * expected * x),
        f"The first weight moves by {step[0]:.3f}; it should move by {alpha * expected * x[0]:.3f}",
        "Compute delta from both values first; then add alpha * delta * x.",
    )
    require(
        delta is not None,
        "The weights are right, but `td_step` returns nothing",
        "End it with `return delta`.",
        earned=1,
    )
    require(
        is_close(delta, expected),
        f"The weights are right, but delta is {np.round(delta, 3)} and should be {expected:.3f}",
        "Return target minus old value, from before the weights changed, and without alpha.",
        earned=1,
    )
    return "Each weight moves by alpha times the TD error times its feature."


@check(3, points=3)
def the_discount_of_divergence(critical_discount):
    cases = np.array([[2, 0.1], [3, 0.1], [2, 0.2], [4, 0.05], [1.5, 0.02], [5, 0.3]])
    k, end = cases.T
    answer = np.array([float(returned(critical_discount(*case))) for case in cases])
    uncapped = (1 + k**2) / (k + k**2 * (1 - end))
    expected = np.minimum(uncapped, 1)
    tolerance = 0.005
    require(
        np.isfinite(answer).all() and ((answer > 0) & (answer < 2)).all(),
        f"It gives {answer.round(2).tolist()}",
        "A discount lies between 0 and 1.",
    )
    require(
        (answer < 0.995).any(),
        "It gives 1 in all examples: w would never grow",
        "A and B are updated equally often, the target of A is the value of B, "
        "and B follows B with probability 1 - end.",
    )
    require(
        np.ptp(answer) > 0.01,
        f"It gives about {answer[0]:.2f} for every k and end",
        "Write down the steps from A and from B; both contain k, and the one from B contains `end`.",
    )
    mistakes = (
        (
            1 / k,
            "From there on the step from A is upwards, but the one from B is downwards",
            "w grows when the two steps together are upwards.",
        ),
        (
            np.minimum((1 + k) / (k + k * (1 - end)), 1),
            "It adds the errors of A and B",
            "A step is the error times the feature, and the feature of B is k.",
        ),
        (
            np.minimum((1 + k**2) / (k + k**2), 1),
            "It does not depend on `end`",
            "From B the next state is B again with probability 1 - end; after the end nothing comes.",
        ),
    )
    reject_mistakes(answer, mistakes, tolerance=tolerance)
    require(
        not is_close(answer, uncapped, tolerance),
        f"For k = {k[-1]:g} and end = {end[-1]:g} it gives {answer[-1]:.3f}",
        "If no discount below 1 is enough, return 1.",
        earned=2,
    )
    error = np.abs(answer - expected)
    worst = error.argmax()
    require(
        error.max() < tolerance or error.max() > 0.02,
        f"For k = {k[worst]:g} and end = {end[worst]:g} it is off by {error.max():.3f}",
        f"It has to be within {tolerance}: search in finer steps.",
        earned=2,
    )
    require(
        error.max() < tolerance,
        f"For k = {k[worst]:g} and end = {end[worst]:g} it gives {answer[worst]:.3f}",
        "Put your discount into the step from A plus the step from B: just above it the sum "
        "must be above 0, and just below it must be below 0.",
    )
    alone = float(critical_discount(1, 0.1))
    require(
        is_close(alone, 1, tolerance),
        f"For k = 1 it gives {alone:.3f}",
        "If no discount below 1 is enough, return 1.",
        earned=2,
    )
    return "Right for all examples. The two states need values that differ, but not too much."


@check(4, points=3)
def linear_q_learning(LinearQ):
    # Action 0 is the best one at x, action 2 at x_next, and action 1 is taken.
    before = np.array(
        [[1.0, 0.2, 0.1, 0.3], [0.4, -0.3, 0.5, 0.2], [-0.6, 0.9, 0.3, 0.8]]
    )
    x = np.array([1.0, 0.2, 0.3, 0.4])
    x_next = np.array([0.1, 0.9, 0.4, 0.5])
    action = 1
    r = 0.8
    alpha = 0.3
    gamma = 0.6

    def step(done):
        agent = LinearQ(4, n_actions=3, alpha=alpha, gamma=gamma)
        agent.weights = before.copy()
        agent.update(x.copy(), action, r, x_next.copy(), done)
        return np.asarray(agent.weights, float) - before

    change = step(done=False)
    require(
        np.abs(change).max() > 1e-12,
        "The weights did not change",
        "Change self.weights[action], with +=.",
    )
    require(
        not np.abs(np.delete(change, action, axis=0)).max() > 1e-12,
        "Weights of other actions change",
        "Only the row of the action that was taken learns: self.weights[action].",
    )
    row = change[action]
    old = before[action] @ x
    next_values = before @ x_next
    best = next_values.max()
    delta = r + gamma * best - old
    require(
        not (
            is_close(row, alpha * (r - old) * x)
            and is_close(step(done=True)[action], alpha * delta * x)
        ),
        "It counts the next state when the episode is over, and not before",
        "`done` is true after the last step, which no next state follows.",
        earned=2,
    )
    values = {
        "the value of the same action": next_values[action],
        "the best value of this state": (before @ x).max(),
        "the value of the action that is best in this state": next_values[
            (before @ x).argmax()
        ],
        "the mean over the next actions": next_values.mean(),
        "the number of the best action": next_values.argmax(),
        "nothing": 0.0,
    }
    for mistake, value in values.items():
        require(
            not is_close(row, alpha * (r + gamma * value - old) * x),
            f"As the value of the next state it takes {mistake}",
            "From the next state on, the best action is taken: the largest of self.values(next_features).",
            earned=1,
        )
    mistakes = (
        (
            np.full(4, alpha * delta),
            "All weights of the row move by the same amount",
            "Multiply by the features.",
        ),
        (
            alpha * delta * x_next,
            "It moves by the features of the next state",
            "Which state's value is corrected?",
        ),
        (
            alpha * delta * (x - gamma * x_next),
            "The next state's features are in the step, too",
            "The semi-gradient leaves the part of the target out.",
        ),
        (
            alpha * (r + best - old) * x,
            "The value of the next state is not discounted",
            "Where is gamma?",
        ),
        (
            alpha * (r + gamma * best) * x,
            "The old value is not subtracted",
            "The error is the target less the value of the action that was taken.",
        ),
        (
            alpha * (r + gamma * best - (before @ x).max()) * x,
            "The largest value of this state is subtracted",
            "The error is the target less the value of the action that was taken.",
        ),
        (-alpha * delta * x, "It moves away from the target", "target minus value"),
        (delta * x, "It takes the whole step", "self.alpha sets how far to go."),
        (
            alpha * delta * x - before[action],
            "The old weights are overwritten",
            "Add to them, with +=.",
        ),
    )
    reject_mistakes(row, mistakes, earned=1)
    worst = abs(row - alpha * delta * x).argmax()
    require(
        is_close(row, alpha * delta * x),
        f"Weight {worst} of the row moves by {row[worst]:.3f}; it should move by {(alpha * delta * x)[worst]:.3f}",
        "Compute the error once, from the old weights; then add alpha * error * features to the row of the action.",
        earned=1,
    )
    end = step(done=True)[action]
    require(
        not is_close(end, row),
        "When the episode is over, it still counts the next state",
        "Use `done`: then the target is the reward alone.",
        earned=2,
    )
    require(
        np.abs(end).max() > 1e-12,
        "It learns nothing from the last step of an episode",
        "Also the last step has a reward, and it is the whole target.",
        earned=2,
    )
    require(
        is_close(end, alpha * (r - old) * x),
        f"At the end of an episode the first weight moves by {end[0]:.3f}; "
        f"it should move by {alpha * (r - old) * x[0]:.3f}",
        "At the end the target is the reward alone; the old value is subtracted as always.",
        earned=2,
    )
    return "Right for steps within an episode, and for its last one."


@check(5, points=2)
def the_gradient_of_a_log_probability(score):
    rng = np.random.default_rng(5)
    theta = rng.normal(size=(3, 4))
    x = rng.uniform(0.2, 1, size=4)
    a = 2

    def log_probability(theta):
        z = theta @ x
        return z[a] - np.log(np.exp(z).sum())

    small_steps = 1e-6 * np.eye(12).reshape(12, 3, 4)
    differences = [
        log_probability(theta + step) - log_probability(theta - step)
        for step in small_steps
    ]
    expected = np.array(differences).reshape(3, 4) / 2e-6
    answer = np.asarray(returned(score(theta.copy(), x.copy(), a)), float)
    probabilities = np.exp(theta @ x) / np.exp(theta @ x).sum()
    require(
        answer.shape == (3, 4),
        f"For theta (3, 4) it gives {answer.shape}",
        "Return one derivative per entry of theta.",
    )
    taken = np.eye(3)[a]
    softmax_of_features = np.exp(theta) / np.exp(theta).sum(axis=1, keepdims=True)
    mistakes = (
        (
            np.outer(taken, x),
            "The first term is right; the second is missing",
            "What is the derivative of the logarithm of a sum?",
        ),
        (
            -np.outer(probabilities, x),
            "The second term is right; the first is missing",
            "theta_a · x is in the formula, too: what is its derivative?",
        ),
        (
            -expected,
            "All signs are wrong",
            "The gradient must make action a more likely.",
        ),
        (
            np.outer(taken * (1 - probabilities), x),
            "Only the row of the action that was taken is right",
            "The sum in the second term contains the weights of all actions.",
        ),
        (
            np.outer(taken - 1 / 3, x),
            "It takes all actions as equally likely",
            "Weight by the softmax of theta @ x.",
        ),
        (
            np.outer(taken, x) - softmax_of_features * x,
            "It takes the softmax over the features",
            "The probabilities are the softmax of theta @ x, one for each action.",
        ),
        (
            np.outer(taken - probabilities, np.ones(4)),
            "It does not depend on the features",
            "The derivative of theta_a · x with respect to theta_a is x.",
        ),
    )
    reject_mistakes(answer, mistakes, tolerance=1e-5)
    require(
        not is_close(answer, probabilities[a] * expected, 1e-5),
        "This is the gradient of the probability",
        "Return the gradient of its logarithm: divide by the probability.",
        earned=1,
    )
    require(
        np.abs(answer.sum(axis=0)).max() < 1e-5,
        f"A column sums to {answer.sum(axis=0)[0]:.2f}",
        "Making one action more likely makes the others less likely: over the actions it must sum to 0.",
    )
    require(
        is_close(answer, expected, 1e-5),
        "It differs from the result of small steps in theta, in both directions",
        "Compare (log pi(theta + d) - log pi(theta - d)) / 2d with each of your entries.",
    )
    return "It agrees with small steps in each entry of theta."
