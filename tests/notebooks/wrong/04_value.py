# %% 1 · forgets to discount
def returns(rewards, gamma):
    G = np.zeros(len(rewards))
    for t in range(len(rewards)):
        G[t] = sum(rewards[t:])
    return G

# %% 1 · goes forwards
def returns(rewards, gamma):
    G, total = np.zeros(len(rewards)), 0
    for t in range(len(rewards)):
        total += gamma**t * rewards[t]
        G[t] = total
    return G

# %% 1 · discounts the reward of now too
def returns(rewards, gamma):
    G, after = np.zeros(len(rewards)), 0.0
    for t in reversed(range(len(rewards))):
        after = G[t] = gamma * (rewards[t] + after)
    return G

# %% 1 · adds the next reward only
def returns(rewards, gamma):
    G = np.array(rewards, float)
    G[:-1] += gamma * np.array(rewards[1:])
    return G

# %% 1 · one return for the whole episode
def returns(rewards, gamma):
    return sum(gamma**t * r for t, r in enumerate(rewards))

# %% 1 · counts the discount from the first step
def returns(rewards, gamma):
    discounted = gamma ** np.arange(len(rewards)) * np.array(rewards)
    return discounted[::-1].cumsum()[::-1]

# %% 1 · whole numbers stay whole
def returns(rewards, gamma):
    G, after = np.zeros_like(rewards), 0.0
    for t in reversed(range(len(rewards))):
        after = G[t] = rewards[t] + gamma * after
    return G

# %% 2 · forgets to discount
def sweep(V, pi, P, R, gamma):
    return (pi * (R + P @ V)).sum(axis=1)

# %% 2 · takes the best action
def sweep(V, pi, P, R, gamma):
    return (R + gamma * P @ V).max(axis=1)

# %% 2 · ignores the policy
def sweep(V, pi, P, R, gamma):
    return (R + gamma * P @ V).mean(axis=1)

# %% 2 · overwrites the old values
def sweep(V, pi, P, R, gamma):
    for s in range(len(V)):
        V[s] = pi[s] @ (R[s] + gamma * P[s] @ V)
    return V

# %% 2 · has the arrows the wrong way round
def sweep(V, pi, P, R, gamma):
    return (pi * (R + gamma * np.einsum("tas,t->sa", P, V))).sum(axis=1)

# %% 2 · adds the reward once an arrow
def sweep(V, pi, P, R, gamma):
    V_new = np.zeros(len(V))
    for s in range(len(V)):
        for a in range(pi.shape[1]):
            for then in range(len(V)):
                V_new[s] += pi[s, a] * (R[s, a] + gamma * P[s, a, then] * V[then])
    return V_new

# %% 3 · one sweep
def value_iteration(P, R, gamma, close=1e-8):
    Q = R + gamma * P @ np.zeros(len(R))
    return Q.max(axis=1), Q.argmax(axis=1)

# %% 3 · the mean in place of the best
def value_iteration(P, R, gamma, close=1e-8):
    V = np.zeros(len(R))
    for _ in range(500):
        Q = R + gamma * P @ V
        V = Q.mean(axis=1)
    return V, Q.argmax(axis=1)

# %% 3 · right values, greedy for the reward of now
def value_iteration(P, R, gamma, close=1e-8):
    V = np.zeros(len(R))
    for _ in range(500):
        V = (R + gamma * P @ V).max(axis=1)
    return V, R.argmax(axis=1)

# %% 3 · hopes for the best next state
def value_iteration(P, R, gamma, close=1e-8):
    V = np.zeros(len(R))
    for _ in range(500):
        Q = R + gamma * ((P > 0) * V).max(axis=2)
        V = Q.max(axis=1)
    return V, Q.argmax(axis=1)

# %% 3 · stops after five sweeps
def value_iteration(P, R, gamma, close=1e-8):
    V = np.zeros(len(R))
    for _ in range(5):
        Q = R + gamma * P @ V
        V = Q.max(axis=1)
    return V, Q.argmax(axis=1)

# %% 3 · the best policy of this phone, by heart
def value_iteration(P, R, gamma, close=1e-8):
    return np.array([6.0, 4.0, 3.0, 0, 0])[:len(R)], np.array([1, 0, 0, 0, 0])[:len(R)]

# %% 3 · stops when nothing rises
def value_iteration(P, R, gamma, close=1e-8):
    V = np.zeros(len(R))
    while True:
        Q = R + gamma * P @ V
        V, before = Q.max(axis=1), V
        if (V - before).max() <= close:
            return V, Q.argmax(axis=1)

# %% 3 · lets a rise cancel a fall
def value_iteration(P, R, gamma, close=1e-8):
    V = np.zeros(len(R))
    while True:
        Q = R + gamma * P @ V
        V, before = Q.max(axis=1), V
        if abs((V - before).sum()) <= close:
            return V, Q.argmax(axis=1)

# %% 3 · looks at one state
def value_iteration(P, R, gamma, close=1e-8):
    V = np.zeros(len(R))
    while True:
        Q = R + gamma * P @ V
        V, before = Q.max(axis=1), V
        if abs(V[0] - before[0]) <= close:
            return V, Q.argmax(axis=1)

# %% 3 · a hundred sweeps
def value_iteration(P, R, gamma, close=1e-8):
    V = np.zeros(len(R))
    for _ in range(100):
        Q = R + gamma * P @ V
        V = Q.max(axis=1)
    return V, Q.argmax(axis=1)

# %% 3 · as many sweeps, whatever `close` is
def value_iteration(P, R, gamma, close=1e-8):
    V = np.zeros(len(R))
    for _ in range(5000):
        Q = R + gamma * P @ V
        V = Q.max(axis=1)
    return V, Q.argmax(axis=1)

# %% 4 · adds the target
def td_update(V, s, r, s_next, alpha, gamma):
    delta = r + gamma * V[s_next]
    V[s] += alpha * delta
    return delta

# %% 4 · moves the state we came to
def td_update(V, s, r, s_next, alpha, gamma):
    delta = r + gamma * V[s_next] - V[s]
    V[s_next] += alpha * delta
    return delta

# %% 4 · the error after the move
def td_update(V, s, r, s_next, alpha, gamma):
    V[s] += alpha * (r + gamma * V[s_next] - V[s])
    return r + gamma * V[s_next] - V[s]

# %% 4 · forgets to discount
def td_update(V, s, r, s_next, alpha, gamma):
    delta = r + V[s_next] - V[s]
    V[s] += alpha * delta
    return delta

# %% 4 · the wrong sign
def td_update(V, s, r, s_next, alpha, gamma):
    delta = V[s] - (r + gamma * V[s_next])
    V[s] += alpha * delta
    return delta

# %% 4 · goes all the way
def td_update(V, s, r, s_next, alpha, gamma):
    delta = r + gamma * V[s_next] - V[s]
    V[s] += delta
    return delta

# %% 4 · changes a copy
def td_update(V, s, r, s_next, alpha, gamma):
    delta = r + gamma * V[s_next] - V[s]
    V = V + alpha * delta
    return delta

# %% 5 · explores with probability 1 - epsilon
def choose(Q, s, epsilon, rng):
    return int(Q[s].argmax()) if rng.random() < epsilon else int(rng.integers(Q.shape[1]))

# %% 5 · looks at the whole table
def choose(Q, s, epsilon, rng):
    if rng.random() < epsilon:
        return int(rng.integers(Q.shape[1]))
    return int(Q.sum(axis=0).argmax())

# %% 5 · explores all but the best
def choose(Q, s, epsilon, rng):
    best = int(Q[s].argmax())
    if rng.random() < epsilon:
        return int(rng.choice([a for a in range(Q.shape[1]) if a != best]))
    return best

# %% 5 · two actions, as on the phone
def choose(Q, s, epsilon, rng):
    return int(rng.integers(2)) if rng.random() < epsilon else int(Q[s].argmax())

# %% 5 · chance of its own
def choose(Q, s, epsilon, rng):
    if np.random.default_rng().random() < epsilon:
        return int(np.random.default_rng().integers(Q.shape[1]))
    return int(Q[s].argmax())

# %% 5 · never explores
def choose(Q, s, epsilon, rng):
    return int(Q[s].argmax())

# %% 6 · the best of the state we left
def q_update(Q, s, a, r, s_next, alpha, gamma):
    Q[s, a] += alpha * (r + gamma * Q[s].max() - Q[s, a])

# %% 6 · takes the same action again
def q_update(Q, s, a, r, s_next, alpha, gamma):
    Q[s, a] += alpha * (r + gamma * Q[s_next, a] - Q[s, a])

# %% 6 · the mean over the next actions
def q_update(Q, s, a, r, s_next, alpha, gamma):
    Q[s, a] += alpha * (r + gamma * Q[s_next].mean() - Q[s, a])

# %% 6 · moves the whole row
def q_update(Q, s, a, r, s_next, alpha, gamma):
    Q[s] += alpha * (r + gamma * Q[s_next].max() - Q[s])

# %% 6 · forgets to discount
def q_update(Q, s, a, r, s_next, alpha, gamma):
    Q[s, a] += alpha * (r + Q[s_next].max() - Q[s, a])

# %% 6 · does not subtract
def q_update(Q, s, a, r, s_next, alpha, gamma):
    Q[s, a] += alpha * (r + gamma * Q[s_next].max())

# %% 6 · looks no further than the reward
def q_update(Q, s, a, r, s_next, alpha, gamma):
    Q[s, a] += alpha * (r - Q[s, a])

# %% 6 · the last action
def q_update(Q, s, a, r, s_next, alpha, gamma):
    Q[s, a] += alpha * (r + gamma * Q[s_next, -1] - Q[s, a])

# %% 7 · the probability, not its logarithm
def softmax(theta):
    e = np.exp(theta - theta.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def score(theta, s, a):
    gradient, p = np.zeros(theta.shape), softmax(theta[s])
    gradient[s] = -p * p[a]
    gradient[s, a] += p[a]
    return gradient

# %% 7 · all rows lose
def softmax(theta):
    e = np.exp(theta - theta.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def score(theta, s, a):
    gradient = -softmax(theta)
    gradient[s, a] += 1
    return gradient

# %% 7 · the wrong sign
def softmax(theta):
    e = np.exp(theta - theta.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def score(theta, s, a):
    gradient = np.zeros(theta.shape)
    gradient[s] = softmax(theta[s])
    gradient[s, a] -= 1
    return gradient

# %% 7 · only the entry of the action
def softmax(theta):
    e = np.exp(theta - theta.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def score(theta, s, a):
    gradient = np.zeros(theta.shape)
    gradient[s, a] = 1 - softmax(theta[s])[a]
    return gradient

# %% 8 · b as it is
def flip_at(b):
    return min(b * (7 - 33**0.5) / 2, 1.0)

# %% 8 · the other root, clipped
def flip_at(b):
    return min((4 + 3 * b + ((4 + 3 * b) ** 2 - 16 * b) ** 0.5) / 2, 1.0)

# %% 8 · in steps of a tenth
def flip_at(b):
    for gamma in np.arange(0, 1, 0.1):
        rewards = R.astype(float)
        rewards[BUSY, PUSH] = b
        V = solve(policies["patient"], P, rewards, gamma)
        if b + gamma * V[ANNOYED] <= V[BUSY]:
            return gamma

# %% 8 · forgets what annoyed is worth
def flip_at(b):
    return b / (1 + b)
