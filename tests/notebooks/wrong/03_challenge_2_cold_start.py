# %% 1 · never explores the best
def choose(values, epsilon, chance):
    best = values.argmax()
    if chance.random() < epsilon:
        return chance.choice([row for row in range(len(values)) if row != best])
    return best


# %% 1 · ignores the generator
def choose(values, epsilon, chance):
    return (
        np.random.randint(len(values))
        if np.random.rand() < epsilon
        else values.argmax()
    )


# %% 2 · adds the variance
def update(A, b, x, reward):
    return A + np.outer(x, x), b + reward * x


def upper_bounds(A, b, X, alpha):
    variance = ((X @ np.linalg.inv(A)) * X).sum(axis=1)
    return X @ np.linalg.solve(A, b) + alpha * variance


# %% 2 · b forgets the reward
def update(A, b, x, reward):
    return A + np.outer(x, x), b + x


def upper_bounds(A, b, X, alpha):
    variance = ((X @ np.linalg.inv(A)) * X).sum(axis=1)
    return X @ np.linalg.solve(A, b) + alpha * np.sqrt(variance)


# %% 3 · right: a factor of A
def draw(A, b, alpha, chance):
    factor = np.linalg.cholesky(A)
    normal = chance.standard_normal(len(b))
    return np.linalg.solve(A, b) + alpha * np.linalg.solve(factor.T, normal)


# %% 3 · A instead of its inverse
def draw(A, b, alpha, chance):
    return chance.multivariate_normal(np.linalg.solve(A, b), alpha**2 * A)


# %% 3 · draws each weight independently
def draw(A, b, alpha, chance):
    deviation = np.sqrt(np.diag(np.linalg.inv(A)))
    return np.linalg.solve(A, b) + alpha * deviation * chance.standard_normal(len(b))


# %% 4 · uses opens instead of probabilities
def late_regret(log):
    last = log.iloc[-(len(log) // 4) :]
    return float((last["info.best"] - last["info.opened"]).mean())


# %% 4 · the whole log
def late_regret(log):
    return float((log["info.best"] - log["info.probability"]).mean())


# %% 5 · one interval at a time
def verdicts(ours, theirs):
    words = {}
    for user in ours:
        gap = estimate.paired_interval(ours[user], theirs[user])
        words[user] = "unsure"
        if gap.high < 0:
            words[user] = "less"
        elif gap.low > 0:
            words[user] = "more"
    return words


# %% 5 · two intervals that overlap
def verdicts(ours, theirs):
    words = {}
    for user in ours:
        our_interval = estimate.mean_interval(ours[user])
        their_interval = estimate.mean_interval(theirs[user])
        words[user] = "unsure"
        if our_interval.high < their_interval.low:
            words[user] = "less"
        elif our_interval.low > their_interval.high:
            words[user] = "more"
    return words


# %% 6 · one side only
def slopes(loss, weights, step=1e-5):
    result = np.zeros_like(weights)
    for index in np.ndindex(weights.shape):
        up = weights.copy()
        up[index] += step
        result[index] = (loss(up) - loss(weights)) / step
    return result


# %% 6 · does not put the weight back
def slopes(loss, weights, step=1e-5):
    result = np.zeros_like(weights)
    for index in np.ndindex(weights.shape):
        weights[index] += step
        above = loss(weights)
        weights[index] -= 2 * step
        result[index] = (above - loss(weights)) / (2 * step)
    return result


# %% 6 · divides by step
def slopes(loss, weights, step=1e-5):
    result = np.zeros_like(weights)
    for index in np.ndindex(weights.shape):
        move = np.zeros_like(weights)
        move[index] = step
        result[index] = (loss(weights + move) - loss(weights - move)) / step
    return result


# %% 6 · moves all weights
def slopes(loss, weights, step=1e-5):
    slope = (loss(weights + step) - loss(weights - step)) / (2 * step)
    return np.full(weights.shape, slope)


# %% 6 · right: adds a move
def slopes(loss, weights, step=1e-5):
    found = []
    for move in step * np.eye(weights.size):
        move = move.reshape(weights.shape)
        found.append(loss(weights + move) - loss(weights - move))
    return np.reshape(found, weights.shape) / (2 * step)


# %% 7 · a small constant
def epsilon_at(step):
    return 0.05


# %% 7 · falls linearly
def epsilon_at(step):
    return 1 - step / 1000


# %% 7 · falls by half in 500 steps
def epsilon_at(step):
    return 0.2 / (1 + step / 500)
