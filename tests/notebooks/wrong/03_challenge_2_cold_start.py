# %% 1 · never explores the best
def choose(values, epsilon, chance):
    if chance.random() < epsilon:
        return chance.choice(
            [row for row in range(len(values)) if row != values.argmax()]
        )
    return values.argmax()


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


def upper_bounds(A, b, X, width):
    return X @ np.linalg.solve(A, b) + width * ((X @ np.linalg.inv(A)) * X).sum(axis=1)


# %% 2 · b forgets the reward
def update(A, b, x, reward):
    return A + np.outer(x, x), b + x


def upper_bounds(A, b, X, width):
    return X @ np.linalg.solve(A, b) + width * np.sqrt(
        ((X @ np.linalg.inv(A)) * X).sum(axis=1)
    )


# %% 3 · A instead of its inverse
def draw(A, b, width, chance):
    return chance.multivariate_normal(np.linalg.solve(A, b), width**2 * A)


# %% 3 · draws each weight independently
def draw(A, b, width, chance):
    deviation = np.sqrt(np.diag(np.linalg.inv(A)))
    return np.linalg.solve(A, b) + width * deviation * chance.standard_normal(len(b))


# %% 4 · uses opens instead of probabilities
def late_regret(log):
    last = log.iloc[-(len(log) // 4) :]
    return float((last["info.best"] - last["info.opened"]).mean())


# %% 4 · the whole log
def late_regret(log):
    return float((log["info.best"] - log["info.probability"]).mean())


# %% 5 · one interval at a time
def verdicts(ours, theirs):
    said = {}
    for user in ours:
        gap = estimate.paired_interval(ours[user], theirs[user])
        said[user] = "less" if gap.high < 0 else "more" if gap.low > 0 else "unsure"
    return said


# %% 5 · two intervals that overlap
def verdicts(ours, theirs):
    said = {}
    for user in ours:
        one, other = (
            estimate.mean_interval(ours[user]),
            estimate.mean_interval(theirs[user]),
        )
        said[user] = (
            "less"
            if one.high < other.low
            else "more"
            if one.low > other.high
            else "unsure"
        )
    return said


# %% 6 · a small constant
def epsilon_at(step):
    return 0.05


# %% 6 · falls linearly
def epsilon_at(step):
    return 1 - step / 1000


# %% 6 · falls by half in 500 steps
def epsilon_at(step):
    return 0.2 / (1 + step / 500)
