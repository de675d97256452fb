# %% 1 · a constant
def break_even(weights):
    return 0.375


# %% 1 · uses absolute values
def break_even(weights):
    opened, dismissed, missed, spared = (
        abs(weights[name]) for name in ("opened", "dismissed", "missed", "spared")
    )
    return (spared - dismissed) / (opened - dismissed - missed + spared)


# %% 2 · never defers
def plan(p, weights, wait):
    o, d, m, s = (weights[name] for name in ("opened", "dismissed", "missed", "spared"))
    show = p * o + (1 - p) * d
    dismiss = p * m + (1 - p) * s
    best = np.where(show > dismiss, "show", "dismiss")
    return np.maximum(show, dismiss), list(best)


# %% 2 · right values, always shows
def plan(p, weights, wait):
    o, d, m, s = (weights[name] for name in ("opened", "dismissed", "missed", "spared"))
    V = np.maximum(p * o + (1 - p) * d, p * m + (1 - p) * s)
    for t in reversed(range(len(p) - 1)):
        V[t] = max(V[t], wait + V[t + 1])
    return V, ["show"] * len(p)


# %% 3 · credits the mean of the moment
def credit(Q, decided, answers, alpha):
    mean = sum(answers.values()) / len(answers)
    for number in answers:
        x, action = decided.pop(number)
        Q[x][action] += alpha * (mean - Q[x][action])


def put_off(Q, previous, current, cost, alpha):
    for number, x in previous.items():
        Q[x][CACHE] += alpha * (cost + max(Q[current[number]]) - Q[x][CACHE])


# %% 3 · deferring costs nothing
def credit(Q, decided, answers, alpha):
    for number, reward in answers.items():
        x, action = decided.pop(number)
        Q[x][action] += alpha * (reward - Q[x][action])


def put_off(Q, previous, current, cost, alpha):
    for number, x in previous.items():
        Q[x][CACHE] += alpha * (max(Q[current[number]]) - Q[x][CACHE])


# %% 4 · ahead, but the interval includes zero
my_rule = after_work


# %% 4 · a little later than do not disturb
def my_rule(observation, info):
    allowed = info["action_mask"]
    late = info["time"] >= 9 * 60
    if allowed[SHOW]:
        return SHOW if late else CACHE
    return CHECK if allowed[CHECK] and late else STAND_BY


# %% 5 · trains with one weight
changes = {
    "opens": "more",
    "interruptions": "more",
    "delay": "unsure",
    "missed": "less",
}

# %% 5 · trains once with each weight
costs = pd.MultiIndex.from_product([[-1.0, -2.0], [0]])
means = pd.DataFrame(
    {name: [1.0, 2.0] for name in ("opens", "interruptions", "delay", "missed")}, costs
)
changes = {
    "opens": "more",
    "interruptions": "more",
    "delay": "unsure",
    "missed": "less",
}

# %% 5 · trains twice with the usual weight
train, test = (
    gym.make("pushlab/push-v0", user=ines, days=part) for part in ("train", "test")
)
trained = {}
for seed in range(4):
    anxious = QTable()
    rollout(train, anxious, episodes=10, seed=seed, progress=False)
    trained[-1.0, seed] = trained[-2.0, seed] = evaluate_agent(test, anxious, seed)
means = pd.DataFrame(trained).T.rename_axis(["missed costs", "seed"])[
    ["opens", "interruptions", "delay", "missed"]
]
changes = {
    "opens": "more",
    "interruptions": "more",
    "delay": "unsure",
    "missed": "less",
}


# %% 6 · counts since the full hour
def at_most(policy, per_hour):
    shown = []

    def limited(observation, info):
        hour = info["time"] // 60
        action = policy(observation, info)
        if shown.count(hour) >= per_hour:
            return {SHOW: CACHE, CHECK: STAND_BY}.get(action, action)
        if action == SHOW:
            shown.append(hour)
        return action

    return limited


# %% 6 · dismisses instead of caching
def at_most(policy, per_hour):
    shown = []

    def limited(observation, info):
        now = info["time"]
        action = policy(observation, info)
        if sum(now - 60 < minute <= now for minute in shown) >= per_hour:
            return {SHOW: DISMISS, CHECK: STAND_BY}.get(action, action)
        if action == SHOW:
            shown.append(now)
        return action

    return limited


# %% 6 · still checks the cache while the hour is full
def at_most(policy, per_hour):
    shown = []

    def limited(observation, info):
        now = info["time"]
        action = policy(observation, info)
        if action == SHOW:
            if sum(now - 60 < minute <= now for minute in shown) >= per_hour:
                return CACHE
            shown.append(now)
        return action

    return limited


# %% 6 · remembers yesterday
def at_most(policy, per_hour):
    shown = []

    def limited(observation, info):
        now = info["time"]
        action = policy(observation, info)
        if sum(minute > now - 60 for minute in shown) >= per_hour:
            return {SHOW: CACHE, CHECK: STAND_BY}.get(action, action)
        if action == SHOW:
            shown.append(now)
        return action

    return limited


# %% 6 · keeps a distance instead of counting
def at_most(policy, per_hour):
    last = [-60.0]

    def limited(observation, info):
        now = info["time"]
        if now < last[0]:
            last[0] = -60.0
        action = policy(observation, info)
        if now - last[0] < 60 / per_hour:
            return {SHOW: CACHE, CHECK: STAND_BY}.get(action, action)
        if action == SHOW:
            last[0] = now
        return action

    return limited


# %% 6 · right: an object that counts exactly 60 minutes
class at_most:
    def __init__(self, policy, per_hour):
        self.policy = policy
        self.per_hour = per_hour
        self.shown = []

    def __call__(self, observation, info):
        now = info["time"]
        if self.shown and self.shown[-1] > now:
            self.shown = []
        recent = [minute for minute in self.shown if now - minute <= 60]
        action = self.policy(observation, info)
        if len(recent) >= self.per_hour:
            return {SHOW: CACHE, CHECK: STAND_BY}.get(action, action)
        if action == SHOW:
            self.shown.append(now)
        return action


# %% 6 · right: a queue of the last ones
def at_most(policy, per_hour):
    from collections import deque

    latest = deque(maxlen=per_hour)

    def limited(observation, info):
        now = info["time"]
        if latest and latest[-1] > now:
            latest.clear()
        action = policy(observation, info)
        is_full = len(latest) == per_hour and now - latest[0] < 60
        if is_full and action == SHOW:
            return CACHE
        if is_full and action == CHECK:
            return STAND_BY
        if action == SHOW:
            latest.append(now)
        return action

    return limited
