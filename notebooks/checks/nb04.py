"""Checks of notebook 4: answers are tried on random decision problems, with other numbers of states and actions."""

import numpy as np

from checks import Checks, demand

check = Checks("4 · What is a state worth?")


def random_problem(seed):
    """P[s, a, s'], R[s, a], a policy pi[s, a] and values V[s] of five states and three actions, and a discount."""
    rng = np.random.default_rng(seed)
    P, pi = rng.dirichlet(np.full(5, 0.5), (5, 3)), rng.dirichlet(np.ones(3), 5)
    return P, rng.normal(size=(5, 3)), pi, rng.normal(size=5), rng.uniform(0.5, 0.9)


def close(answer, truth, within=1e-6):
    """Whether the numbers agree; False for shapes that differ."""
    answer = np.asarray(answer, float)
    return answer.shape == np.shape(truth) and bool(
        np.all(np.abs(answer - truth) < within)
    )


@check(1, points=1)
def the_return_of_every_step(returns):
    rewards, gamma = np.random.default_rng(1).normal(size=8), 0.7
    found = np.asarray(returns(rewards, gamma), float)
    demand(
        found.shape == (8,),
        f"For 8 rewards it gives shape {found.shape}",
        "A return for each step, array (8,).",
    )
    steps = np.arange(8)
    weights = np.triu(gamma ** np.abs(np.subtract.outer(steps, steps)))
    truth = weights @ rewards
    demand(
        not close(found, np.cumsum(gamma**steps * rewards)),
        "Each return adds up what came before its step",
        "A return looks ahead. Begin at the end, and go backwards.",
    )
    demand(
        not close(found, gamma * truth),
        "The reward of the step itself is discounted too",
        "What comes now counts in full; one step later it counts gamma.",
    )
    demand(
        not close(found, gamma**steps * truth),
        "Later returns are discounted from the first step of the episode",
        "Each return counts its discount from its own step.",
    )
    demand(
        close(found[-1], rewards[-1]),
        f"The last return is {found[-1]:.2f}, the last reward {rewards[-1]:.2f}",
        "After the last step nothing comes: begin there, and go backwards.",
    )
    demand(
        not close(found, np.triu(np.ones((8, 8))) @ rewards),
        "The sums are right, but nothing is discounted",
        "Each step further away counts gamma times as much.",
    )
    demand(
        not close(found, rewards + gamma * np.append(rewards[1:], 0)),
        "Only the next reward is in it, discounted",
        "After the next step more follows. What is the return there?",
    )
    demand(
        close(found, truth),
        f"The first return is {found[0]:.3f}; it should be {truth[0]:.3f}",
        "G of a step is its own reward, in full, and gamma times the G of the next.",
    )
    whole = np.asarray(returns(np.array([2, 1, 0, 2]), 0.5), float)
    demand(
        close(whole, [2.75, 1.5, 1.0, 2.0]),
        f"For the whole numbers 2, 1, 0, 2 it gives {whole.tolist()}",
        "An array made like whole numbers, with `zeros_like` for example, cuts off what stands behind the point.",
    )
    return "Each step: its own reward, and the discounted return of the next."


@check(2, points=2)
def one_sweep_of_policy_evaluation(sweep):
    P, R, pi, V, gamma = random_problem(2)
    before = V.copy()
    found = sweep(V, pi, P, R, gamma)
    demand(
        close(V, before),
        "`V` was changed",
        "Put the new values into an array of their own.",
    )
    demand(
        np.shape(found) == (5,),
        f"For 5 states it gives shape {np.shape(found)}",
        "One new value a state.",
    )
    demand(
        not close(found, np.zeros(5)),
        "All new values are 0",
        "Add up, for each s, what each action brings.",
    )
    demand(
        not close(found, (pi * (R + P @ V)).sum(axis=1)),
        "Nothing is discounted",
        "Where does gamma stand?",
    )
    demand(
        not close(found, (R + gamma * P @ V).max(axis=1)),
        "It takes the best action",
        "Here a policy is judged: what is the mean over its own actions?",
    )
    demand(
        not close(found, (R + gamma * P @ V).mean(axis=1)),
        "It takes all actions to be equally likely",
        "Weigh each action by how likely pi makes it.",
    )
    reward = (pi * R).sum(axis=1)
    demand(
        close(sweep(np.zeros(5), pi, P, R, gamma), reward),
        "From zeros it does not give the policy's mean reward",
        "With V = 0 only the rewards are left, weighed by pi.",
    )
    demand(
        close(found, reward + gamma * np.einsum("sa,sat,t->s", pi, P, V)),
        "The rewards are right; what follows is not",
        "P[s, a] holds the probabilities of all next states. Weigh V by them, and then by pi.",
        earned=1,
    )
    return "That is Bellman's equation, and it holds on a problem with five states and three actions."


@check(3, points=3)
def value_iteration_on_other_problems(value_iteration):
    for seed in (3, 4, 5):
        P, R, _, _, gamma = random_problem(seed)
        truth, mean, myopic = (
            iterate(P, R, gamma, np.max),
            iterate(P, R, gamma, np.mean),
            R.argmax(axis=1),
        )
        V, best = value_iteration(P, R, gamma)
        V, best = np.asarray(V, float), np.asarray(best)
        demand(
            V.shape == best.shape == (5,),
            f"Shapes {V.shape} and {best.shape} for 5 states",
            "Two arrays, (5,).",
        )
        demand(
            not close(V, np.zeros(5)),
            "All values are still 0",
            "Sweep, with the best action in place of the mean.",
        )
        demand(
            not close(V, R.max(axis=1)),
            "It stops after one sweep",
            "Go on until V hardly changes any more.",
        )
        demand(
            not close(V, mean, 1e-3),
            "These are the values of a coin",
            "Take the best action instead.",
        )
        demand(
            (V < truth + 1e-3).all(),
            f"On a random problem it promises {V.max():.2f}; no policy earns more than "
            f"{truth.max():.2f}",
            "P[s, a] says how likely each next state is: weigh by it.",
        )
        demand(
            close(V, truth, 1e-3),
            f"On a random problem a state is worth {truth[0]:.3f}; it gives {V[0]:.3f}",
            "Print V after each sweep. Does it stop too early? Is gamma where it belongs?",
        )
        Q = R + gamma * P @ truth
        demand(
            close(Q[np.arange(5), best], truth, 1e-3),
            "The values are right; the actions are not the best"
            + (
                ": they look at the reward of now alone"
                if (best == myopic).all()
                else ""
            ),
            "The best action has the largest Q, and Q counts what follows too.",
            earned=2,
        )
    it_stops_when_asked(value_iteration)
    return "Values and actions are right on three random problems, and it stops when it should."


def it_stops_when_asked(value_iteration):
    """A state that earns nothing and one that earns 1 or costs 1 for ever: after k sweeps it is worth 1 - gamma^k."""
    stay, gamma, wide, tight = (
        np.eye(2)[:, None],
        0.99,
        0.5,
        1e-6,
    )  # P[s, a, s'] with one action
    for reward in (-1.0, 1.0):
        V = {
            stop: float(
                np.asarray(
                    value_iteration(stay, np.array([[0.0], [reward]]), gamma, stop)[0],
                    float,
                )[1]
            )
            for stop in (wide, tight)
        }
        end = reward / (1 - gamma)
        demand(
            abs(V[tight] - end) < 0.01,
            f"A state with reward {reward:g} at every step, discount 0.99 and `close` "
            f"{tight:g}: it gives {V[tight]:.1f}; it should be {end:.0f}",
            "Go on as long as *any* value changes, up or down, by more than `close`: how many sweeps is that?",
            earned=2,
        )
        demand(
            abs(V[wide]) < 0.7 * abs(end),
            "With `close` at 0.5 it sweeps as long as with a small one",
            "`close` says when to stop: when no value changed by more in the last sweep.",
            earned=2,
        )
    V = np.asarray(
        value_iteration(stay, np.array([[1.0], [-1.0]]), 0.9, tight)[0], float
    )
    demand(
        close(V, [10.0, -10.0], 0.01),
        f"Where one value rises and the other falls it gives {V.round(1).tolist()}",
        "A rise must not cancel a fall: look at the largest change of all states, without its sign.",
        earned=2,
    )


def iterate(P, R, gamma, choose):
    """The fixed point of sweeps that take `choose` (np.max, np.mean) over the actions."""
    V = np.zeros(len(R))
    for _ in range(400):
        V = choose(R + gamma * P @ V, axis=1)
    return V


@check(4, points=2)
def the_td_update(td_update):
    V, s, s_next, r, alpha, gamma = (
        np.array([0.5, -2.0, 3.0, 1.5]),
        1,
        3,
        0.7,
        0.25,
        0.6,
    )
    table = V.copy()
    delta = td_update(table, s, r, s_next, alpha, gamma)
    truth, moved = (
        r + gamma * V[s_next] - V[s],
        np.flatnonzero(np.abs(table - V) > 1e-12),
    )
    demand(
        moved.size,
        "The table did not change",
        "Add to the entry of one state, in place.",
    )
    demand(
        s in moved or s_next not in moved,
        "It changes the state that we came to",
        "Which state's value did we expect, and now know better?",
    )
    demand(
        moved.tolist() == [s],
        f"It changes {moved.size} entries",
        "Only V[s] learns from this step.",
    )
    step = table[s] - V[s]
    demand(
        not close(step, alpha * (r + gamma * V[s_next])),
        "It adds the whole target",
        "What was expected already?",
    )
    demand(
        not close(step, alpha * (r + V[s_next] - V[s])),
        "What follows is not discounted",
        "Where is gamma?",
    )
    demand(
        not close(step, -alpha * truth),
        "It moves away from the target",
        "Which sign has target less value?",
    )
    demand(
        not close(step, truth),
        "It moves all the way to the target",
        "alpha says how far to go.",
    )
    demand(
        close(step, alpha * truth),
        f"V[s] moves by {step:.3f}; it should by {alpha * truth:.3f}",
        "Put in numbers: the reward, the discounted value of s_next, and the old value of s.",
    )
    demand(delta is not None, "It returns nothing", "Return delta.", earned=1)
    demand(
        close(delta, truth),
        f"V[s] is right, but delta is {delta:.3f} and should be {truth:.3f}",
        "Return the error as it was before the table moved, without alpha.",
        earned=1,
    )
    return "One entry moves, by alpha times the TD error."


@check(5, points=1)
def epsilon_greedy(choose):
    Q, rng = (
        np.array([[9.0, 0.0, 1.0, 2.0], [0.1, 0.4, 0.8, 0.3]]),
        np.random.default_rng(5),
    )
    greedy = [choose(Q, s, 0.0, rng) for s in (0, 1) for _ in range(20)]
    demand(
        set(greedy) <= {0, 1, 2, 3},
        f"It gives {greedy[0]!r}",
        "An action is a number from 0 to n - 1.",
    )
    demand(
        len(set(greedy[:20])) == 1,
        "With epsilon 0 it explores",
        "Explore when rng.random() is below epsilon.",
    )
    demand(
        greedy[:20] == [0] * 20,
        "With epsilon 0 it does not take the best action",
        "Which of Q[s] is the largest?",
    )
    demand(
        greedy[20:] == [2] * 20,
        "In another state it takes another than the best action",
        "Look at the row of state s, not at the whole table.",
    )
    drawn = [choose(Q, 1, 0.4, np.random.default_rng(seed)) for seed in range(1500)]
    share = np.bincount(drawn, minlength=4) / 1500
    demand(
        drawn
        == [choose(Q, 1, 0.4, np.random.default_rng(seed)) for seed in range(1500)],
        "The same generator gives other actions the second time",
        "Take all chance from `rng`.",
    )
    demand(
        share[2] < 0.99,
        "With epsilon 0.4 it never explores",
        "Draw a number first: rng.random().",
    )
    demand(
        share[[0, 1, 3]].min() > 0.06,
        "It explores some actions and not others",
        "Draw any of the n actions alike.",
    )
    demand(
        abs(share[2] - 0.6) > 0.03,
        "The greedy action comes with probability 1 - epsilon in all",
        "Exploring draws from all actions; the greedy one is among them.",
    )
    demand(
        abs(share[2] - 0.7) < 0.05,
        f"With epsilon 0.4 and four actions the greedy one comes in {share[2]:.0%}",
        "How often should it explore? And which actions can it draw then?",
    )
    return "The best action in 7 of 10, the others alike: right for epsilon 0.4 and four actions."


@check(6, points=3)
def the_q_update(q_update):
    Q = np.array(
        [
            [0.2, -0.5, 1.1, 0.6],
            [2.0, 0.3, -1.0, 0.7],
            [0.4, -0.7, 0.9, 0.1],
            [1.5, 3.0, 0.0, -0.2],
        ]
    )
    s, a, s_next, r, alpha, gamma = 2, 1, 0, 0.8, 0.3, 0.6
    table = Q.copy()
    q_update(table, s, a, r, s_next, alpha, gamma)
    moved = np.argwhere(np.abs(table - Q) > 1e-12).tolist()
    demand(
        moved,
        "The table did not change",
        "Change Q[s, a] in place, with Q[s, a] = … or +=.",
    )
    demand(
        moved == [[s, a]],
        f"It changes the entries {moved}",
        "Only the state and action of this step learn.",
    )
    now, old = table[s, a], Q[s, a]
    follows = {
        "the largest value of s and not of s_next": Q[s].max(),
        "the value of the same action": Q[s_next, a],
        "the largest value of the whole table": Q.max(),
        "the mean over the next actions": Q[s_next].mean(),
        "the first action": Q[s_next, 0],
        "the last action": Q[s_next, -1],
        "nothing": 0.0,
    }
    for what, value in follows.items():
        demand(
            not close(now, old + alpha * (r + gamma * value - old)),
            f"For what follows it takes {what}",
            "From s_next on, the best action is taken: which number of the table is that worth?",
            earned=1,
        )
    best = Q[s_next].max()
    demand(
        not close(now, old + alpha * (r + best - old)),
        "What follows is not discounted",
        "Where does gamma stand in the equation?",
        earned=1,
    )
    demand(
        not close(now, old + alpha * (r + gamma * best)),
        "The old value is not subtracted",
        "The error is the target less Q[s, a].",
        earned=1,
    )
    demand(
        close(now, old + alpha * (r + gamma * best - old)),
        f"Q[s, a] becomes {now:.3f}; it should be {old + alpha * (r + gamma * best - old):.3f}",
        "A part alpha of the way from the old value to the target, r + gamma * the best of s_next.",
    )
    rng = np.random.default_rng(6)
    for _ in range(20):
        Q, (s, s_next), a = (
            rng.normal(size=(5, 4)),
            rng.choice(5, 2, replace=False),
            rng.integers(4),
        )
        table, truth = Q.copy(), Q.copy()
        truth[s, a] += alpha * (r + gamma * Q[s_next].max() - Q[s, a])
        q_update(table, s, a, r, s_next, alpha, gamma)
        demand(
            close(table, truth),
            f"On a random table Q[s, a] becomes {table[s, a]:.3f}, not {truth[s, a]:.3f}",
            "The best action of s_next may stand in any column.",
            earned=1,
        )
    return "The target takes the best next action, whatever the agent does next."


@check(7, points=2)
def the_gradient_of_a_log_probability(score):
    theta, s, a = np.random.default_rng(7).normal(size=(3, 4)), 1, 2

    def log_probability(theta):
        return theta[s, a] - np.log(np.exp(theta[s]).sum())

    small = 1e-6 * np.eye(12).reshape(12, 3, 4)
    truth = (
        np.array(
            [log_probability(theta + d) - log_probability(theta - d) for d in small]
        ).reshape(3, 4)
        / 2e-6
    )
    found, share = (
        np.asarray(score(theta, s, a), float),
        np.exp(theta[s]) / np.exp(theta[s]).sum(),
    )
    demand(
        found.shape == (3, 4),
        f"For theta (3, 4) it gives {found.shape}",
        "One derivative an entry of theta.",
    )
    demand(
        not found[[0, 2]].any(),
        "Rows of other states are not 0",
        "Is theta of another state in the formula?",
    )
    demand(found[s].any(), "The row of s is 0", "theta(s, a) is in the formula twice.")
    demand(
        not close(found[s], np.eye(4)[a]),
        "The first term is right; the second is missing",
        "What is the derivative of the logarithm of a sum?",
    )
    demand(
        not close(found[s], share[a] * truth[s], 1e-5),
        "That is the gradient of the probability",
        "Asked is its logarithm: divide by the probability.",
        earned=1,
    )
    demand(
        not close(found, -truth, 1e-5),
        "All signs are the wrong way round",
        "Taking a must raise theta[s, a].",
    )
    demand(
        abs(found[s].sum()) < 1e-5,
        f"The row sums to {found[s].sum():.2f}",
        "To make one action more likely is to make the others less so: the row must sum to 0.",
    )
    demand(
        close(found, truth, 1e-5),
        "It differs from small steps in theta, in both directions",
        "Compare (log pi(theta + d) - log pi(theta - d)) / 2d with each entry of yours.",
    )
    return "It agrees with small steps in each entry of theta."


@check(8, points=3)
def where_it_flips(flip_at):
    values = np.array([0.25, 0.6, 1.0, 1.4, 1.9])
    found = np.array([float(flip_at(b)) for b in values])
    truth = (4 + 3 * values - np.sqrt((4 + 3 * values) ** 2 - 16 * values)) / 2
    demand(
        ((found >= 0) & (found <= 1)).all(),
        f"It gives {found.round(2).tolist()}",
        "A discount is from 0 to 1.",
    )
    demand(
        np.ptp(found) > 0.01,
        "It gives the same for every b",
        "Let the reward of a push in busy be b.",
    )
    demand(
        (np.diff(found) > 0).all(),
        "With a larger b it does not flip further right",
        "The more a push earns, the further ahead must one look to leave it.",
    )
    off = np.abs(found - truth).max()
    demand(
        off > 0.12 or off < 0.005,
        f"It is off by {off:.2f}; asked is 0.005",
        "Search in finer steps.",
        earned=1,
    )
    demand(
        abs(found[2] - truth[2]) < 0.005,
        f"For b = 1 it gives {found[2]:.3f}",
        "By hand we found about 0.63.",
    )
    demand(
        off < 0.005,
        f"For b = {values[4]} it gives {found[4]:.3f}, and the best action there says otherwise",
        "Change R[busy, push] alone, in a copy, and ask value_iteration for the action on both sides.",
        earned=1,
    )
    return "Right for five rewards. From a reward of 3 on, a push is best for any discount."
