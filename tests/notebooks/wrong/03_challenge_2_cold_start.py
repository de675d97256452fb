# %% 1 · explores with probability 1 minus epsilon
def choose(values, epsilon, chance):
    return chance.integers(len(values)) if chance.random() > epsilon else values.argmax()

# %% 1 · any candidate but the best
def choose(values, epsilon, chance):
    if chance.random() < epsilon:
        return chance.choice([row for row in range(len(values)) if row != values.argmax()])
    return values.argmax()

# %% 1 · a generator of its own
def choose(values, epsilon, chance):
    chance = np.random.default_rng(0)
    return chance.integers(len(values)) if chance.random() < epsilon else values.argmax()

# %% 1 · explores in proportion to the values
def choose(values, epsilon, chance):
    if chance.random() < epsilon:
        return chance.choice(len(values), p=values / values.sum())
    return values.argmax()

# %% 1 · chance from elsewhere
def choose(values, epsilon, chance):
    return np.random.randint(len(values)) if np.random.rand() < epsilon else values.argmax()

# %% 2 · learns from opens alone
def update(A, b, x, reward):
    return A + reward * np.outer(x, x), b + reward * x

def upper_bounds(A, b, X, width):
    return X @ np.linalg.solve(A, b) + width * np.sqrt(((X @ np.linalg.inv(A)) * X).sum(axis=1))

# %% 2 · the diagonal only
def update(A, b, x, reward):
    return A + np.diag(x * x), b + reward * x

def upper_bounds(A, b, X, width):
    return X @ np.linalg.solve(A, b) + width * np.sqrt(((X @ np.linalg.inv(A)) * X).sum(axis=1))

# %% 2 · b forgets the reward
def update(A, b, x, reward):
    return A + np.outer(x, x), b + x

def upper_bounds(A, b, X, width):
    return X @ np.linalg.solve(A, b) + width * np.sqrt(((X @ np.linalg.inv(A)) * X).sum(axis=1))

# %% 2 · remembers the last answer alone
def update(A, b, x, reward):
    return np.eye(len(b)) + np.outer(x, x), reward * x

def upper_bounds(A, b, X, width):
    return X @ np.linalg.solve(A, b) + width * np.sqrt(((X @ np.linalg.inv(A)) * X).sum(axis=1))

# %% 2 · adds the variance
def update(A, b, x, reward):
    return A + np.outer(x, x), b + reward * x

def upper_bounds(A, b, X, width):
    return X @ np.linalg.solve(A, b) + width * ((X @ np.linalg.inv(A)) * X).sum(axis=1)

# %% 2 · no bound, an estimate
def update(A, b, x, reward):
    return A + np.outer(x, x), b + reward * x

def upper_bounds(A, b, X, width):
    return X @ np.linalg.solve(A, b)

# %% 2 · x times x
def update(A, b, x, reward):
    return A + x * x, b + reward * x

def upper_bounds(A, b, X, width):
    return X @ np.linalg.solve(A, b) + width * np.sqrt(((X @ np.linalg.inv(A)) * X).sum(axis=1))

# %% 2 · a number in every place of A
def update(A, b, x, reward):
    return A + x @ x, b + reward * x

def upper_bounds(A, b, X, width):
    return X @ np.linalg.solve(A, b) + width * np.sqrt(((X @ np.linalg.inv(A)) * X).sum(axis=1))

# %% 2 · returns A alone
def update(A, b, x, reward):
    return A + np.outer(x, x)

def upper_bounds(A, b, X, width):
    return X @ np.linalg.solve(A, b) + width * np.sqrt(((X @ np.linalg.inv(A)) * X).sum(axis=1))

# %% 2 · changes in place, returns nothing
def update(A, b, x, reward):
    A += np.outer(x, x)

def upper_bounds(A, b, X, width):
    return X @ np.linalg.solve(A, b) + width * np.sqrt(((X @ np.linalg.inv(A)) * X).sum(axis=1))

# %% 2 · a table of bounds
def update(A, b, x, reward):
    return A + np.outer(x, x), b + reward * x

def upper_bounds(A, b, X, width):
    return X @ np.linalg.solve(A, b) + width * np.sqrt(X @ np.linalg.inv(A) @ X.T)

# %% 3 · A in the place of its inverse
def draw(A, b, width, chance):
    return chance.multivariate_normal(np.linalg.solve(A, b), width**2 * A)

# %% 3 · width times the variance
def draw(A, b, width, chance):
    return chance.multivariate_normal(np.linalg.solve(A, b), width * np.linalg.inv(A))

# %% 3 · each weight by itself
def draw(A, b, width, chance):
    deviation = np.sqrt(np.diag(np.linalg.inv(A)))
    return np.linalg.solve(A, b) + width * deviation * chance.standard_normal(len(b))

# %% 3 · one number for all weights
def draw(A, b, width, chance):
    return np.linalg.solve(A, b) + width * chance.standard_normal()

# %% 3 · draws around b
def draw(A, b, width, chance):
    return chance.multivariate_normal(b, width**2 * np.linalg.inv(A))

# %% 3 · chance from elsewhere
def draw(A, b, width, chance):
    return np.random.multivariate_normal(np.linalg.solve(A, b), width**2 * np.linalg.inv(A))

# %% 4 · what was opened
def late_regret(log):
    last = log.iloc[-(len(log) // 4):]
    return float((last["info.best"] - last["info.opened"]).mean())

# %% 4 · the whole log
def late_regret(log):
    return float((log["info.best"] - log["info.probability"]).mean())

# %% 4 · the first quarter
def late_regret(log):
    first = log.iloc[:len(log) // 4]
    return float((first["info.best"] - first["info.probability"]).mean())

# %% 4 · a sum
def late_regret(log):
    last = log.iloc[-(len(log) // 4):]
    return float((last["info.best"] - last["info.probability"]).sum())

# %% 4 · the best of all contexts
def late_regret(log):
    last = log.iloc[-(len(log) // 4):]
    return float((log["info.best"].max() - last["info.probability"]).mean())

# %% 5 · a limit in place of an interval
def verdicts(ours, theirs):
    gaps = {user: (ours[user] - theirs[user]).mean() for user in ours}
    return {user: "less" if gap < -0.025 else "more" if gap > 0.025 else "unsure" for user, gap in gaps.items()}

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
        one, other = estimate.mean_interval(ours[user]), estimate.mean_interval(theirs[user])
        said[user] = "less" if one.high < other.low else "more" if one.low > other.high else "unsure"
    return said

# %% 5 · more where it is less
def verdicts(ours, theirs):
    gaps = estimate.simultaneous({user: ours[user] - theirs[user] for user in ours})
    return {user: "more" if gap.high < 0 else "less" if gap.low > 0 else "unsure" for user, gap in gaps.items()}

# %% 5 · never sure
def verdicts(ours, theirs):
    return {user: "unsure" for user in ours}

# %% 6 · rises
def epsilon_at(step):
    return step / 1000

# %% 6 · a small constant
def epsilon_at(step):
    return 0.05

# %% 6 · falls in a straight line
def epsilon_at(step):
    return 1 - step / 1000

# %% 6 · falls by half in 500 steps
def epsilon_at(step):
    return 0.2 / (1 + step / 500)

# %% 6 · above 1 at first
def epsilon_at(step):
    return 50 / (step + 1)

# %% 6 · one divided by the step
def epsilon_at(step):
    return 1 / step

# %% 6 · falls too soon
def epsilon_at(step):
    return 0.97**step
