# %% 1 · counts the discount from the first step
def returns(rewards, gamma):
    discounted = gamma ** np.arange(len(rewards)) * np.array(rewards)
    return discounted[::-1].cumsum()[::-1]


# %% 1 · right: in place
def returns(rewards, gamma):
    G = np.asarray(rewards, float)
    for t in reversed(range(len(G) - 1)):
        G[t] += gamma * G[t + 1]
    return G


# %% 1 · keeps the integer type
in_place = returns


def returns(rewards, gamma):
    return in_place(rewards, gamma).astype(np.array(rewards).dtype)


# %% 2 · overwrites the old values
def sweep(V, pi, P, R, gamma):
    for s in range(len(V)):
        V[s] = pi[s] @ (R[s] + gamma * P[s] @ V)
    return V


# %% 2 · transposes the transition probabilities
def sweep(V, pi, P, R, gamma):
    return (pi * (R + gamma * np.einsum("tas,t->sa", P, V))).sum(axis=1)


# %% 3 · right values, greedy for the immediate reward
def value_iteration(P, R, gamma, close=1e-8):
    V = np.zeros(len(R))
    for _ in range(500):
        V = (R + gamma * P @ V).max(axis=1)
    return V, R.argmax(axis=1)


# %% 3 · stops if no value rises
def value_iteration(P, R, gamma, close=1e-8):
    V = np.zeros(len(R))
    while True:
        Q = R + gamma * P @ V
        before = V
        V = Q.max(axis=1)
        if (V - before).max() <= close:
            return V, Q.argmax(axis=1)


# %% 3 · policy iteration
def value_iteration(P, R, gamma, close=1e-8):
    best = R.argmax(axis=1)
    while True:
        pi = np.eye(R.shape[1])[best]
        V = np.zeros(len(R))
        while abs((pi * (R + gamma * P @ V)).sum(axis=1) - V).max() > close:
            V = (pi * (R + gamma * P @ V)).sum(axis=1)
        better = (R + gamma * P @ V).argmax(axis=1)
        if (better == best).all():
            return V, best
        best = better


# %% 4 · returns the error after the update
def td_update(V, s, r, s_next, alpha, gamma):
    V[s] += alpha * (r + gamma * V[s_next] - V[s])
    return r + gamma * V[s_next] - V[s]


# %% 4 · changes a copy
def td_update(V, s, r, s_next, alpha, gamma):
    delta = r + gamma * V[s_next] - V[s]
    V = V + alpha * delta
    return delta


# %% 5 · takes the same action again
def q_update(Q, s, a, r, s_next, alpha, gamma):
    Q[s, a] += alpha * (r + gamma * Q[s_next, a] - Q[s, a])


# %% 5 · does not subtract the old value
def q_update(Q, s, a, r, s_next, alpha, gamma):
    Q[s, a] += alpha * (r + gamma * Q[s_next].max())


# %% 6 · b as it is
def flip_at(b):
    return min(b * (7 - 33**0.5) / 2, 1.0)


# %% 6 · in steps of a tenth
def flip_at(b):
    for gamma in np.arange(0, 1, 0.1):
        rewards = R.astype(float)
        rewards[BUSY, PUSH] = b
        V = solve(policies["patient"], P, rewards, gamma)
        if b + gamma * V[ANNOYED] <= V[BUSY]:
            return gamma
