"""Checks of notebook 4: answers are tried on random decision problems of other sizes."""

import numpy as np

from checks import Checks, is_close, reject_mistakes, require, returned

check = Checks("4 · What is a state worth?")


def random_problem(seed):
    """Return a random decision problem with five states and three actions.

    Returns:
        P[s, a, s'], R[s, a], a policy pi[s, a], values V[s], and a discount.
    """
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(5, 0.5), (5, 3))
    pi = rng.dirichlet(np.ones(3), 5)
    return P, rng.normal(size=(5, 3)), pi, rng.normal(size=5), rng.uniform(0.5, 0.9)


def with_five_states(function, *arguments):
    """Return the result of a function that must work for any number of states and actions."""
    try:
        return returned(function(*arguments))
    except (IndexError, ValueError) as error:
        require(
            False,
            f"With five states and three actions it fails: {error}",
            "Take these numbers from the arrays, P[s, a, s_next] and R[s, a], and look at your axes; "
            "the phone's numbers are only an example",
        )


@check(1, points=1)
def the_return_of_every_step(returns):
    rewards = np.random.default_rng(1).normal(size=8)
    gamma = 0.7
    answer = np.asarray(returned(returns(rewards.copy(), gamma)), float)
    require(
        answer.shape == (8,),
        f"For 8 rewards it gives shape {answer.shape}",
        "Return one number per step, array (8,).",
    )
    steps = np.arange(8)
    weights = np.triu(gamma ** np.abs(np.subtract.outer(steps, steps)))
    expected = weights @ rewards
    mistakes = (
        (
            weights.T @ rewards,
            "Each return adds up the rewards before its step",
            "A return looks ahead. Begin at the end, and go backwards.",
        ),
        (
            expected[::-1],
            "The last return comes first",
            "You went backwards: turn the list round at the end.",
        ),
        (
            (expected - rewards) / gamma,
            "The reward of the step itself is missing",
            "G of a step begins with its own reward, in full.",
        ),
        (
            gamma * expected,
            "The reward of the step itself is discounted, too",
            "The reward of this step counts in full; one step later it counts gamma.",
        ),
        (
            gamma**steps * expected,
            "Later returns are discounted from the first step of the episode",
            "Discount each return from its own step.",
        ),
        (
            np.triu(np.ones((8, 8))) @ rewards,
            "The sums are right, but nothing is discounted",
            "Each step further away counts gamma times as much.",
        ),
        (
            rewards + gamma * np.append(rewards[1:], 0),
            "It includes only the next reward, discounted",
            "More rewards follow the next step. What is the return there?",
        ),
    )
    reject_mistakes(answer, mistakes)
    require(
        is_close(answer[-1], rewards[-1]),
        f"The last return is {answer[-1]:.2f}, but the last reward is {rewards[-1]:.2f}",
        "Nothing follows the last step: its return is its own reward, in full.",
    )
    require(
        is_close(answer, expected),
        f"The first return is {answer[0]:.3f}; it should be {expected[0]:.3f}",
        "G of a step is its own reward, in full, plus gamma times the G of the next.",
    )
    answer = np.asarray(returns(np.array([2, 1, 0, 2]), 0.5), float)
    require(
        is_close(answer, [2.75, 1.5, 1.0, 2.0]),
        f"For the integers 2, 1, 0, 2 it gives {answer.tolist()}",
        "An integer array, from `zeros_like` for example, cuts off the decimals.",
    )
    return "Each step: its own reward, plus the discounted return of the next."


@check(2, points=2)
def one_sweep_of_policy_evaluation(sweep):
    P, R, pi, V, gamma = random_problem(2)
    before = V.copy()
    answer = with_five_states(sweep, V, pi, P, R, gamma)
    require(
        is_close(V, before),
        "`V` was changed",
        "Write the new values into a new array.",
    )
    require(
        np.shape(answer) == (5,),
        f"For 5 states it gives shape {np.shape(answer)}",
        "Return one new value per state.",
    )
    Q = R + gamma * P @ V
    reward = (pi * R).sum(axis=1)
    expected = (pi * Q).sum(axis=1)
    in_place = V.copy()
    for s in range(5):
        in_place[s] = pi[s] @ (R[s] + gamma * P[s] @ in_place)
    mistakes = (
        (
            np.zeros(5),
            "All new values are 0",
            "For each s, add up the contributions of all actions.",
        ),
        (
            in_place,
            "Later states use the new values of earlier ones",
            "Read all values from V, and write into another array.",
        ),
        (
            V + expected,
            "The new values are added to the old ones",
            "Begin each sum with 0.",
        ),
        (
            (pi * (R + P @ V)).sum(axis=1),
            "Nothing is discounted",
            "Where does gamma stand?",
        ),
        (
            gamma * (pi * (R + P @ V)).sum(axis=1),
            "The reward is discounted, too",
            "Where does gamma stand?",
        ),
        (
            Q.max(axis=1),
            "It takes the best action",
            "Here a policy is evaluated: what is the mean over its own actions?",
        ),
    )
    reject_mistakes(answer, mistakes)
    require(
        is_close(sweep(np.zeros(5), pi, P, R, gamma), reward),
        "From zeros, with five states and three actions, it does not give the policy's mean reward",
        "With V = 0 only the rewards of all actions remain, weighted by pi.",
    )
    require(
        is_close(answer, expected),
        "The rewards are right; the values of the next states are not",
        "P[s, a] holds the probabilities of all next states. Weight V by them, and then by pi.",
        earned=1,
    )
    return "This is Bellman's equation, and it holds on a problem with five states and three actions."


@check(3, points=3)
def value_iteration_on_other_problems(value_iteration):
    for seed in (3, 4, 5):
        P, R, _, _, gamma = random_problem(seed)
        expected = fixed_point(P, R, gamma, np.max)
        V, actions = with_five_states(value_iteration, P, R, gamma)
        V = np.asarray(V, float)
        require(
            V.shape == np.shape(actions) == (5,),
            f"The shapes are {V.shape} and {np.shape(actions)} for 5 states",
            "Return two arrays, (5,).",
        )
        mistakes = (
            (
                np.zeros(5),
                "All values are still 0",
                "Sweep, with the best action instead of the mean.",
            ),
            (
                R.max(axis=1),
                "It stops after one sweep",
                "Continue until V hardly changes any more.",
            ),
            (
                fixed_point(P, R, gamma, np.mean),
                "These are the values of random actions",
                "Take the best action instead.",
            ),
            (
                gamma * expected,
                "The reward is discounted, too",
                "gamma belongs to the values of the next states only.",
            ),
        )
        reject_mistakes(V, mistakes, tolerance=1e-3)
        require(
            not is_close(actions, expected, 1e-3),
            "The values come second",
            "Return the values first, and then the actions.",
        )
        require(
            (V < expected + 1e-3).all(),
            f"On a random problem it promises {V.max():.2f}; no policy earns more than "
            f"{expected.max():.2f}",
            "Weight the values of the next states by P[s, a] and by gamma.",
        )
        require(
            is_close(V, expected, 1e-3),
            f"On a random problem the value of a state is {expected[0]:.3f}; it gives {V[0]:.3f}",
            "Print V after each sweep. Does it stop too early (after `old = V` both names mean the same "
            "array), or is gamma in the wrong place?",
        )
        Q = R + gamma * P @ expected
        actions = np.asarray(actions, int)
        detail = ""
        if (actions == R.argmax(axis=1)).all():
            detail = ": they maximise the immediate reward only"
        require(
            is_close(Q[np.arange(5), actions], expected, 1e-3),
            "The values are right; the actions are not the best" + detail,
            "The best action has the largest Q, and Q includes the next values, too.",
            earned=2,
        )
    _require_stopping(value_iteration)
    _require_the_maximum_in_every_sweep(value_iteration)
    return "Values and actions are right on three random problems, and it stops when it should."


def _require_stopping(value_iteration):
    """Require that value iteration goes on until no value changes, on states that stay as they are."""
    for rewards in ([0, -1], [0, 1], [1, -1]):
        R = np.array(rewards, float)[:, None]
        V = value_iteration(np.eye(2)[:, None], R, 0.99, 1e-6)[0]
        V = np.asarray(V, float)
        require(
            is_close(V, 100 * R[:, 0], 0.01),
            f"Two states earn {rewards} at every step and stay as they are; with discount 0.99 "
            f"and `close` 1e-6 it gives {V.round(1).tolist()} instead of 100 times these rewards",
            "Continue until no value changes by more than `close`, up or down: a fixed number of sweeps "
            "isn't enough, and a rise must not cancel a fall",
            earned=2,
        )


def _require_the_maximum_in_every_sweep(value_iteration):
    """Require the values of value iteration from zeros, stopped early.

    In state 0 action 1 earns 10 once, and action 0 earns 1 at every step. State 1 earns 30 at
    every step, so 111 sweeps pass until no value changes by more than 10. The maximum has taken
    the 10 at first, which no single policy does.
    """
    P = np.zeros((3, 2, 3))
    P[[0, 1, 1, 2, 2], [0, 0, 1, 0, 1], [0, 1, 1, 2, 2]] = 1
    P[0, 1, 2] = 1
    R = np.array([[1.0, 10.0], [30.0, 30.0], [0.0, 0.0]])
    gamma = 0.99
    V = value_iteration(P, R, gamma, 10.0)[0]
    expected = fixed_point(P, R, gamma, np.max, 111)
    require(
        V[1] < 2500,
        "With `close` at 10 its values are as exact as with a small one",
        "`close` defines when to stop: when no value changed by more in the last sweep.",
        earned=2,
    )
    require(
        abs(V[0] - expected[0]) < 1.5,
        f"Stopped early, it gives a state {V[0]:.0f}; sweeps with the maximum give {expected[0]:.0f}",
        "Begin with zeros, and take the maximum in *every* sweep. Policy iteration, which "
        "evaluates one policy after the other, finds the best one too; this exercise is the other way.",
        earned=2,
    )


def fixed_point(P, R, gamma, choose, sweeps=400):
    """Return the values after sweeps that take `choose` (np.max, np.mean) over the actions."""
    V = np.zeros(len(R))
    for _ in range(sweeps):
        V = choose(R + gamma * P @ V, axis=1)
    return V


@check(4, points=2)
def the_td_update(td_update):
    V = np.array([0.5, -2.0, 3.0, 1.5])
    s = 1
    s_next = 3
    r = 0.7
    alpha = 0.25
    gamma = 0.6
    table = V.copy()
    delta = td_update(table, s, r, s_next, alpha, gamma)
    expected = r + gamma * V[s_next] - V[s]
    changed = np.flatnonzero(np.abs(table - V) > 1e-12)
    require(
        changed.size,
        "The table did not change",
        "Change one entry in place, with V[s] = … or +=.",
    )
    require(
        s in changed or s_next not in changed,
        "It changes the value of the next state",
        "For which state did we have an expectation that we can now improve?",
    )
    require(
        changed.tolist() == [s],
        f"It changes {changed.size} entries",
        "Only V[s] learns from this step.",
    )
    step = table[s] - V[s]
    next_value = gamma * V[s_next]
    mistakes = (
        (
            alpha * (r + next_value),
            "It adds the full target",
            "Which part of it was expected already?",
        ),
        (
            alpha * (r + V[s_next] - V[s]),
            "The value of the next state is not discounted",
            "Where is gamma?",
        ),
        (
            alpha * (r + next_value - gamma * V[s]),
            "The old value is discounted, too",
            "gamma belongs to the value of the next state only.",
        ),
        (
            alpha * (next_value - V[s]),
            "The reward of this step is missing",
            "The target is the reward plus the discounted value of s_next.",
        ),
        (
            -alpha * expected,
            "It moves away from the target",
            "Which sign has target minus value?",
        ),
        (
            expected,
            "It moves all the way to the target",
            "alpha sets how far to go.",
        ),
    )
    reject_mistakes(step, mistakes)
    require(
        is_close(step, alpha * expected),
        f"V[s] moves by {step:.3f}; it should move by {alpha * expected:.3f}",
        "Insert numbers: the reward, the discounted value of s_next, and the old value of s.",
    )
    require(delta is not None, "It returns nothing", "Return delta.", earned=1)
    require(
        is_close(delta, expected),
        f"V[s] is right, but delta is {delta:.3f} and should be {expected:.3f}",
        "Return target minus old value, from before the table changed, and without alpha.",
        earned=1,
    )
    return "One entry moves, by alpha times the TD error."


@check(5, points=3)
def the_q_update(q_update):
    Q = np.array(
        [
            [0.2, -0.5, 0.6, 1.1],
            [4.0, 0.3, -1.0, 0.7],
            [0.9, -0.7, 0.4, 0.1],
            [1.5, 2.6, 0.0, -0.2],
        ]
    )
    s = 2
    a = 1
    s_next = 0
    r = 0.8
    alpha = 0.3
    gamma = 0.6
    table = Q.copy()
    q_update(table, s, a, r, s_next, alpha, gamma)
    changed = np.argwhere(np.abs(table - Q) > 1e-12).tolist()
    require(
        changed,
        "The table did not change",
        "Change Q[s, a] in place, with Q[s, a] = … or +=.",
    )
    require(
        changed == [[s, a]],
        f"It changes the entries {changed}",
        "Only the state and action of this step learn.",
    )
    new = table[s, a]
    old = Q[s, a]
    values = {
        "the largest value of s, not of s_next": Q[s].max(),
        "the value of the same action": Q[s_next, a],
        "the value of the action that is best in s": Q[s_next, Q[s].argmax()],
        "the largest value of the same action": Q[:, a].max(),
        "the largest value of the whole table": Q.max(),
        "the mean over the next actions": Q[s_next].mean(),
        "the number of the best action": Q[s_next].argmax(),
        "nothing": 0.0,
    }
    for mistake, value in values.items():
        require(
            not is_close(new, old + alpha * (r + gamma * value - old)),
            f"As the value of s_next it takes {mistake}",
            "From s_next on, the best action is taken: which number of the table is its value?",
            earned=1,
        )
    best = Q[s_next].max()
    error = r + gamma * best - old
    sign = "The error is the target minus Q[s, a]."
    mistakes = (
        (
            old + alpha * (r + best - old),
            "The value of s_next is not discounted",
            "Where does gamma stand in the equation?",
        ),
        (
            old + alpha * (r + gamma * best),
            "The old value is not subtracted",
            sign,
        ),
        (
            old + alpha * (error + old - Q[s].max()),
            "The largest value of s is subtracted",
            sign,
        ),
        (old - alpha * error, "It moves away from the target", sign),
        (
            old + error,
            "It moves all the way to the target",
            "alpha sets how far to go.",
        ),
        (
            alpha * error,
            "The old value is overwritten",
            "Add to Q[s, a], with +=.",
        ),
    )
    reject_mistakes(new, mistakes, earned=1)
    expected = old + alpha * error
    require(
        is_close(new, expected),
        f"Q[s, a] becomes {new:.3f}; it should be {expected:.3f}",
        "Move by alpha of the way from the old value to the target, r + gamma * the best of s_next.",
    )
    return "The target takes the best next action, whatever the agent does next."


@check(6, points=3)
def the_discount_of_the_flip(flip_at):
    values = np.array([0.25, 0.6, 1.0, 1.4, 1.9])
    answer = np.array([float(returned(flip_at(b))) for b in values])

    def flip(b):
        return (4 + 3 * b - np.sqrt((4 + 3 * b) ** 2 - 16 * b)) / 2

    expected = flip(values)
    require(
        ((answer >= 0) & (answer <= 1)).all(),
        f"It gives {answer.round(2).tolist()}",
        "A discount lies between 0 and 1.",
    )
    require(
        np.ptp(answer) > 0.01,
        "It gives the same for every b",
        "Let b be the reward of a push in busy. Of two roots take the smaller one.",
    )
    require(
        not is_close(answer, flip(np.floor(values)), 0.005),
        "It rounds b down",
        "R holds integers: change a copy with decimals, R.astype(float).",
        earned=1,
    )
    require(
        (np.diff(answer) > 0).all(),
        "With a larger b it does not flip further right",
        "The more a push in busy earns, the further ahead you must look to give it up.",
    )
    error = np.abs(answer - expected).max()
    require(
        error > 0.12 or error < 0.005,
        f"The error is {error:.2f}; it must be below 0.005",
        "Search in finer steps.",
        earned=1,
    )
    require(
        abs(answer[2] - expected[2]) < 0.005,
        f"For b = 1 it gives {answer[2]:.3f}",
        "By hand we found about 0.63.",
    )
    require(
        error < 0.005,
        f"For b = {values[4]} it gives {answer[4]:.3f}, but the best action there disagrees",
        "Change only R[busy, push], in a copy, and compute the best action on both sides with value_iteration.",
        earned=1,
    )
    return "Right for five rewards. From a reward of 3 on, a push is best for any discount."
