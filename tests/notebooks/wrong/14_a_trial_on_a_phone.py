# %% 1 · right: by min and max
def push_probability(left, expected):
    return max(0.2, min(left / expected, 0.8))


# %% 1 · upside down
def push_probability(left, expected):
    return np.clip(expected / left, 0.2, 0.8)


# %% 1 · may be a foregone conclusion
def push_probability(left, expected):
    return min(left / expected, 1.0)


# %% 1 · clips at one end only
def push_probability(left, expected):
    return max(left / expected, 0.2)


# %% 2 · right: normal equations
def excursion_effect(Y, A, p, p_tilde, f, g):
    W = A * p_tilde / p + (1 - A) * (1 - p_tilde) / (1 - p)
    X = np.hstack([g, (A - p_tilde)[:, None] * f])
    return np.linalg.solve(X.T @ (W[:, None] * X), X.T @ (W * Y))[g.shape[1] :]


# %% 2 · right: the sides exchanged, moderators first
def excursion_effect(Y, A, p, p_tilde, f, g):
    root = np.where(A > 0, p_tilde / p, (1 - p_tilde) / (1 - p)) ** 0.5
    X = np.column_stack([(A - p_tilde)[:, None] * f, g])
    return np.linalg.lstsq(X * root[:, None], Y * root, rcond=None)[0][: f.shape[1]]


# %% 2 · weights without centring
def excursion_effect(Y, A, p, p_tilde, f, g):
    W = np.where(A == 1, p_tilde / p, (1 - p_tilde) / (1 - p))
    X = np.column_stack([g, A[:, None] * f])
    root = np.sqrt(W)
    return np.linalg.lstsq(root[:, None] * X, root * Y, rcond=None)[0][g.shape[1] :]


# %% 2 · centring without weights
def excursion_effect(Y, A, p, p_tilde, f, g):
    X = np.column_stack([g, (A - p_tilde)[:, None] * f])
    return np.linalg.lstsq(X, Y, rcond=None)[0][g.shape[1] :]


# %% 2 · centred at p
def excursion_effect(Y, A, p, p_tilde, f, g):
    W = np.where(A == 1, p_tilde / p, (1 - p_tilde) / (1 - p))
    X = np.column_stack([g, (A - p)[:, None] * f])
    root = np.sqrt(W)
    return np.linalg.lstsq(root[:, None] * X, root * Y, rcond=None)[0][g.shape[1] :]


# %% 2 · squared weights
def excursion_effect(Y, A, p, p_tilde, f, g):
    W = np.where(A == 1, p_tilde / p, (1 - p_tilde) / (1 - p))
    X = np.column_stack([g, (A - p_tilde)[:, None] * f])
    return np.linalg.lstsq(W[:, None] * X, W * Y, rcond=None)[0][g.shape[1] :]


# %% 2 · returns the controls, too
def excursion_effect(Y, A, p, p_tilde, f, g):
    W = np.where(A == 1, p_tilde / p, (1 - p_tilde) / (1 - p))
    X = np.column_stack([g, (A - p_tilde)[:, None] * f])
    root = np.sqrt(W)
    return np.linalg.lstsq(root[:, None] * X, root * Y, rcond=None)[0]


# %% 2 · puts its own p_tilde in
def excursion_effect(Y, A, p, p_tilde, f, g):
    p_tilde = A.mean()
    W = np.where(A == 1, p_tilde / p, (1 - p_tilde) / (1 - p))
    X = np.column_stack([g, (A - p_tilde)[:, None] * f])
    root = np.sqrt(W)
    return np.linalg.lstsq(root[:, None] * X, root * Y, rcond=None)[0][g.shape[1] :]


# %% 2 · forgets the [0] of lstsq
def excursion_effect(Y, A, p, p_tilde, f, g):
    root = np.sqrt(np.where(A == 1, p_tilde / p, (1 - p_tilde) / (1 - p)))
    X = np.column_stack([g, (A - p_tilde)[:, None] * f])
    return np.linalg.lstsq(root[:, None] * X, root * Y, rcond=None)[g.shape[1] :]


# %% 3 · right: a loop over people
def standard_errors(X, W, residual, person):
    B = X.T @ (W[:, None] * X)
    middle = np.zeros_like(B)
    for who in set(person):
        rows = person == who
        M = X[rows].T @ (W[rows] * residual[rows])
        middle += np.outer(M, M)
    inverse = np.linalg.inv(B)
    return np.diag(inverse @ middle @ inverse) ** 0.5


# %% 3 · right: a small-sample factor
def standard_errors(X, W, residual, person):
    names, number = np.unique(person, return_inverse=True)
    M = np.zeros((len(names), X.shape[1]))
    np.add.at(M, number, (W * residual)[:, None] * X)
    B = np.linalg.inv(X.T @ (W[:, None] * X))
    n = len(names)
    return np.sqrt(n / (n - 1) * np.diag(B @ M.T @ M @ B))


# %% 3 · averages a person's rows
def standard_errors(X, W, residual, person):
    scores = pd.DataFrame((W * residual)[:, None] * X)
    M = scores.groupby(person).mean().to_numpy()
    B = np.linalg.inv(X.T @ (W[:, None] * X))
    return np.sqrt(np.diag(B @ M.T @ M @ B))


# %% 3 · variances
def standard_errors(X, W, residual, person):
    scores = pd.DataFrame((W * residual)[:, None] * X)
    M = scores.groupby(person).sum().to_numpy()
    B = np.linalg.inv(X.T @ (W[:, None] * X))
    return np.diag(B @ M.T @ M @ B)


# %% 3 · without the weights
def standard_errors(X, W, residual, person):
    scores = pd.DataFrame(residual[:, None] * X)
    M = scores.groupby(person).sum().to_numpy()
    B = np.linalg.inv(X.T @ (W[:, None] * X))
    return np.sqrt(np.diag(B @ M.T @ M @ B))


# %% 4 · right: the product of the ends
def power(interval, people, trials, rng):
    found = 0
    for _ in range(trials):
        low, high = interval(people, rng)
        found += low * high > 0
    return found / trials


people_needed = 20


# %% 4 · counts only effects above zero
def power(interval, people, trials, rng):
    return np.mean([interval(people, rng)[0] > 0 for _ in range(trials)])


people_needed = 20


# %% 4 · counts what finds nothing
def power(interval, people, trials, rng):
    ends = np.array([interval(people, rng) for _ in range(trials)])
    return np.mean((ends[:, 0] < 0) & (ends[:, 1] > 0))


people_needed = 20


# %% 4 · takes the largest
def power(interval, people, trials, rng):
    ends = np.array([interval(people, rng) for _ in range(trials)])
    return np.mean((ends[:, 0] > 0) | (ends[:, 1] < 0))


people_needed = 32


# %% 4 · takes a number with too little power
def power(interval, people, trials, rng):
    ends = np.array([interval(people, rng) for _ in range(trials)])
    return np.mean((ends[:, 0] > 0) | (ends[:, 1] < 0))


people_needed = 12


# %% 5 · right: a loop
def gain_curve(score, effect):
    curve = [0.0]
    for k in sorted(range(len(score)), key=lambda k: score[k], reverse=True):
        curve.append(curve[-1] + effect[k] / len(effect))
    return curve


# %% 5 · the least promising first
def gain_curve(score, effect):
    order = np.argsort(score)
    return np.append(0, np.cumsum(effect[order])) / len(effect)


# %% 5 · peeks at the effects
def gain_curve(score, effect):
    return np.append(0, np.cumsum(np.sort(effect)[::-1])) / len(effect)


# %% 5 · a mean over the pushes
def gain_curve(score, effect):
    sums = np.cumsum(effect[np.argsort(-score)])
    return np.append(0, sums / np.arange(1, len(effect) + 1))


# %% 5 · no beginning
def gain_curve(score, effect):
    return np.cumsum(effect[np.argsort(-score)]) / len(effect)


# %% 5 · sorts in place
def gain_curve(score, effect):
    effect[:] = effect[np.argsort(-score)]
    return np.append(0, effect.cumsum()) / len(effect)


# %% 6 · right: halves per four hours
def may_push(dose, n):
    return np.asarray(dose) <= n * 0.5 ** (1 / 4)


# %% 6 · forgets that the dose decays
def may_push(dose, n):
    return dose < n


# %% 6 · half of a push is left after an hour
def may_push(dose, n):
    return dose < n / 2


# %% 6 · hours in place of minutes
def may_push(dose, n):
    return dose < n * 2 ** (-1 / 240)
