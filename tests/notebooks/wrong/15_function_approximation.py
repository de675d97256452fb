# %% 1 · swaps the two knots
def hats(level, knots):
    return np.array([np.interp(level, knots, row) for row in np.eye(len(knots))[::-1]])


# %% 1 · gives the farther knot more
def hats(level, knots):
    x = np.zeros(len(knots))
    right = min(np.searchsorted(knots, level, side="right"), len(knots) - 1)
    share = (level - knots[right - 1]) / (knots[right] - knots[right - 1])
    x[right - 1] = share
    x[right] = 1 - share
    return x


# %% 1 · takes the distances as equal
def hats(level, knots):
    spacing = (knots[-1] - knots[0]) / (len(knots) - 1)
    return np.maximum(0, 1 - abs(level - knots) / spacing)


# %% 1 · forgets the last knot
def hats(level, knots):
    x = np.zeros(len(knots))
    for j in range(len(knots) - 1):
        if knots[j] <= level < knots[j + 1]:
            x[j + 1] = (level - knots[j]) / (knots[j + 1] - knots[j])
            x[j] = 1 - x[j + 1]
    return x


# %% 1 · keeps the integer type
def hats(level, knots):
    x = np.zeros_like(knots)
    for j in range(len(knots) - 1):
        if knots[j] <= level <= knots[j + 1]:
            x[j] = (knots[j + 1] - level) / (knots[j + 1] - knots[j])
            x[j + 1] = (level - knots[j]) / (knots[j + 1] - knots[j])
    return x


# %% 1 · right: interpolates the rows of a table
def hats(level, knots):
    return [np.interp(level, knots, row) for row in np.eye(len(knots))]


# %% 1 · right: a loop with a list
def hats(level, knots):
    x = [0.0] * len(knots)
    for j in range(len(knots) - 1):
        if knots[j] <= level <= knots[j + 1]:
            x[j] = (knots[j + 1] - level) / (knots[j + 1] - knots[j])
            x[j + 1] = 1 - x[j]
    return np.array(x)


# %% 2 · follows the whole derivative
def td_step(w, x, r, x_next, alpha, gamma):
    delta = r + gamma * w @ x_next - w @ x
    w += alpha * delta * (x - gamma * x_next)
    return delta


# %% 2 · forgets the features
def td_step(w, x, r, x_next, alpha, gamma):
    delta = r + gamma * w @ x_next - w @ x
    w += alpha * delta
    return delta


# %% 2 · changes a copy
def td_step(w, x, r, x_next, alpha, gamma):
    delta = r + gamma * w @ x_next - w @ x
    w = w + alpha * delta * x
    return delta


# %% 2 · returns the error after the update
def td_step(w, x, r, x_next, alpha, gamma):
    w += alpha * (r + gamma * w @ x_next - w @ x) * x
    return r + gamma * w @ x_next - w @ x


# %% 2 · right: weight by weight
def td_step(w, x, r, x_next, alpha, gamma):
    value = sum(w * x)
    delta = r + gamma * sum(w * x_next) - value
    for j in range(len(w)):
        w[j] = w[j] + alpha * delta * x[j]
    return delta


# %% 3 · looks at A alone
def critical_discount(k, end):
    return 1 / k


# %% 3 · adds the errors, without the features
def critical_discount(k, end):
    return min((1 + k) / (k + k * (1 - end)), 1)


# %% 3 · never ends
def critical_discount(k, end):
    return min((1 + k**2) / (k + k**2), 1)


# %% 3 · goes above 1
def critical_discount(k, end):
    return (1 + k**2) / (k + k**2 * (1 - end))


# %% 3 · weights by the policy's visits
def critical_discount(k, end):
    return min((end + k**2) / (end * k + k**2 * (1 - end)), 1)


# %% 3 · right: by search
def critical_discount(k, end):
    x = np.array([1, k])
    for gamma in np.arange(0, 1, 0.001):
        target = gamma * np.array([k, (1 - end) * k])
        if x @ (target - x) > 0:
            return gamma
    return 1


# %% 3 · right: by halves, with runs
def critical_discount(k, end):
    low = 0
    high = 1
    for _ in range(12):
        gamma = (low + high) / 2
        w = 1.0
        for _ in range(20):
            from_a = gamma * k * w - w
            from_b = gamma * (1 - end) * k * w - k * w
            w += 0.001 * (from_a + k * from_b)
        if w > 1:
            high = gamma
        else:
            low = gamma
    return (low + high) / 2


# %% 4 · ignores the end
class LinearQ:
    def __init__(self, n_features, n_actions=2, alpha=0.1, gamma=0.95):
        self.weights = np.zeros((n_actions, n_features))
        self.alpha = alpha
        self.gamma = gamma

    def values(self, features):
        return self.weights @ features

    def update(self, features, action, reward, next_features, done):
        target = reward + self.gamma * self.values(next_features).max()
        delta = target - self.values(features)[action]
        self.weights[action] += self.alpha * delta * features


ignoring = LinearQ


# %% 4 · moves all actions
class LinearQ(ignoring):
    def update(self, features, action, reward, next_features, done):
        best = 0 if done else self.values(next_features).max()
        delta = reward + self.gamma * best - self.values(features)[action]
        self.weights += self.alpha * delta * features


# %% 4 · takes the same action next
class LinearQ(ignoring):
    def update(self, features, action, reward, next_features, done):
        following = 0 if done else self.values(next_features)[action]
        delta = reward + self.gamma * following - self.values(features)[action]
        self.weights[action] += self.alpha * delta * features


# %% 4 · returns at the end
class LinearQ(ignoring):
    def update(self, features, action, reward, next_features, done):
        if not done:
            super().update(features, action, reward, next_features, done)


# %% 4 · uses done the other way round
class LinearQ(ignoring):
    def update(self, features, action, reward, next_features, done):
        best = self.values(next_features).max() if done else 0
        delta = reward + self.gamma * best - self.values(features)[action]
        self.weights[action] += self.alpha * delta * features


# %% 4 · right: a new array, and an indicator of the action
class LinearQ(ignoring):
    def update(self, features, action, reward, next_features, done):
        best = max(self.weights @ next_features)
        delta = reward + (1 - done) * self.gamma * best
        delta -= self.weights[action] @ features
        taken = np.eye(len(self.weights))[action]
        self.weights = self.weights + self.alpha * delta * np.outer(taken, features)


# %% 5 · gradient of the probability, not its logarithm
def score(theta, x, a):
    p = softmax(theta @ x)
    return p[a] * np.outer(np.eye(len(theta))[a] - p, x)


# %% 5 · changes only the row of the action
def score(theta, x, a):
    gradient = np.zeros(theta.shape)
    gradient[a] = (1 - softmax(theta @ x)[a]) * x
    return gradient


# %% 5 · forgets the features
def score(theta, x, a):
    gradient = np.zeros(theta.shape) - softmax(theta @ x)[:, None]
    gradient[a] += 1
    return gradient


# %% 5 · takes the softmax over the features
def score(theta, x, a):
    gradient = -softmax(theta) * x
    gradient[a] += x
    return gradient


# %% 5 · right: by small steps
def score(theta, x, a):
    gradient = np.zeros(theta.shape)
    for index in np.ndindex(theta.shape):
        step = np.zeros(theta.shape)
        step[index] = 1e-6
        up = np.log(softmax((theta + step) @ x)[a])
        down = np.log(softmax((theta - step) @ x)[a])
        gradient[index] = (up - down) / 2e-6
    return gradient
