# %% 1 · the number by heart
def break_even(weights):
    return 0.375

# %% 1 · forgets what is missed
def break_even(weights):
    opened, dismissed, missed, spared = (weights[name] for name in ("opened", "dismissed", "missed", "spared"))
    return (spared - dismissed) / (opened - dismissed + spared)

# %% 1 · takes costs as they are
def break_even(weights):
    opened, dismissed, missed, spared = (abs(weights[name]) for name in ("opened", "dismissed", "missed", "spared"))
    return (spared - dismissed) / (opened - dismissed - missed + spared)

# %% 1 · forgets what is spared
def break_even(weights):
    return -weights["dismissed"] / (weights["opened"] - weights["dismissed"] - weights["missed"])

# %% 2 · one moment at a time
def plan(p, weights, wait):
    o, d, m, s = (weights[name] for name in ("opened", "dismissed", "missed", "spared"))
    show, dismiss = p * o + (1 - p) * d, p * m + (1 - p) * s
    return np.maximum(show, dismiss), ["show" if one > other else "dismiss" for one, other in zip(show, dismiss)]

# %% 2 · goes forwards
def plan(p, weights, wait):
    o, d, m, s = (weights[name] for name in ("opened", "dismissed", "missed", "spared"))
    V, best = np.zeros(len(p)), [""] * len(p)
    for t in range(len(p)):
        worth = {"show": p[t] * o + (1 - p[t]) * d, "dismiss": p[t] * m + (1 - p[t]) * s}
        if t + 1 < len(p):
            worth["cache"] = wait + V[t + 1]
        best[t] = max(worth, key=worth.get)
        V[t] = worth[best[t]]
    return V, best

# %% 2 · subtracts the cost
def plan(p, weights, wait):
    o, d, m, s = (weights[name] for name in ("opened", "dismissed", "missed", "spared"))
    V, best = np.zeros(len(p)), [""] * len(p)
    for t in reversed(range(len(p))):
        worth = {"show": p[t] * o + (1 - p[t]) * d, "dismiss": p[t] * m + (1 - p[t]) * s}
        if t + 1 < len(p):
            worth["cache"] = V[t + 1] - wait
        best[t] = max(worth, key=worth.get)
        V[t] = worth[best[t]]
    return V, best

# %% 2 · puts off at midnight
def plan(p, weights, wait):
    o, d, m, s = (weights[name] for name in ("opened", "dismissed", "missed", "spared"))
    V, best = np.zeros(len(p) + 1), [""] * len(p)
    for t in reversed(range(len(p))):
        worth = {"show": p[t] * o + (1 - p[t]) * d, "dismiss": p[t] * m + (1 - p[t]) * s, "cache": wait + V[t + 1]}
        best[t] = max(worth, key=worth.get)
        V[t] = worth[best[t]]
    return V[:-1], best

# %% 2 · never dismisses
def plan(p, weights, wait):
    o, d = weights["opened"], weights["dismissed"]
    V, best = np.zeros(len(p)), [""] * len(p)
    for t in reversed(range(len(p))):
        worth = {"show": p[t] * o + (1 - p[t]) * d}
        if t + 1 < len(p):
            worth["cache"] = wait + V[t + 1]
        best[t] = max(worth, key=worth.get)
        V[t] = worth[best[t]]
    return V, best

# %% 2 · right values, always shows
def plan(p, weights, wait):
    o, d, m, s = (weights[name] for name in ("opened", "dismissed", "missed", "spared"))
    V = np.maximum(p * o + (1 - p) * d, p * m + (1 - p) * s)
    for t in reversed(range(len(p) - 1)):
        V[t] = max(V[t], wait + V[t + 1])
    return V, ["show"] * len(p)

# %% 2 · dismissed and missed in each other's place
def plan(p, weights, wait):
    o, m, d, s = (weights[name] for name in ("opened", "dismissed", "missed", "spared"))
    V, best = np.zeros(len(p)), [""] * len(p)
    for t in reversed(range(len(p))):
        worth = {"show": p[t] * o + (1 - p[t]) * d, "dismiss": p[t] * m + (1 - p[t]) * s}
        if t + 1 < len(p):
            worth["cache"] = wait + V[t + 1]
        best[t] = max(worth, key=worth.get)
        V[t] = max(worth.values())
    return V, best

# %% 2 · the weights by heart
def plan(p, weights, wait):
    o, d, m, s = 1.0, -1.0, -1.0, 0.2
    V, best = np.zeros(len(p)), [""] * len(p)
    for t in reversed(range(len(p))):
        worth = {"show": p[t] * o + (1 - p[t]) * d, "dismiss": p[t] * m + (1 - p[t]) * s}
        if t + 1 < len(p):
            worth["cache"] = wait + V[t + 1]
        best[t] = max(worth, key=worth.get)
        V[t] = max(worth.values())
    return V, best

# %% 2 · waiting is free
def plan(p, weights, wait):
    o, d, m, s = (weights[name] for name in ("opened", "dismissed", "missed", "spared"))
    V, best = np.zeros(len(p)), [""] * len(p)
    for t in reversed(range(len(p))):
        worth = {"show": p[t] * o + (1 - p[t]) * d, "dismiss": p[t] * m + (1 - p[t]) * s}
        if t + 1 < len(p):
            worth["cache"] = V[t + 1]
        best[t] = max(worth, key=worth.get)
        V[t] = max(worth.values())
    return V, best

# %% 2 · numbers for the actions
def plan(p, weights, wait):
    o, d, m, s = (weights[name] for name in ("opened", "dismissed", "missed", "spared"))
    V, best = np.zeros(len(p)), [""] * len(p)
    for t in reversed(range(len(p))):
        worth = {"show": p[t] * o + (1 - p[t]) * d, "dismiss": p[t] * m + (1 - p[t]) * s}
        if t + 1 < len(p):
            worth["cache"] = wait + V[t + 1]
        best[t] = (SHOW, DISMISS, CACHE)[list(worth).index(max(worth, key=worth.get))]
        V[t] = max(worth.values())
    return V, best

# %% 3 · only the mean of the moment, to those who answered
def credit(Q, decided, answers, alpha):
    together = sum(answers.values()) / len(answers)
    for number in answers:
        x, action = decided.pop(number)
        Q[x][action] += alpha * (together - Q[x][action])


def put_off(Q, before, now, cost, alpha):
    for number, x in before.items():
        Q[x][CACHE] += alpha * (cost + max(Q[now[number]]) - Q[x][CACHE])

# %% 3 · every answer is for showing
def credit(Q, decided, answers, alpha):
    for number, worth in answers.items():
        x, action = decided.pop(number)
        Q[x][SHOW] += alpha * (worth - Q[x][SHOW])


def put_off(Q, before, now, cost, alpha):
    for number, x in before.items():
        Q[x][CACHE] += alpha * (cost + max(Q[now[number]]) - Q[x][CACHE])

# %% 3 · answered, and still decided
def credit(Q, decided, answers, alpha):
    for number, worth in answers.items():
        x, action = decided[number]
        Q[x][action] += alpha * (worth - Q[x][action])


def put_off(Q, before, now, cost, alpha):
    for number, x in before.items():
        Q[x][CACHE] += alpha * (cost + max(Q[now[number]]) - Q[x][CACHE])

# %% 3 · waiting costs nothing
def credit(Q, decided, answers, alpha):
    for number, worth in answers.items():
        x, action = decided.pop(number)
        Q[x][action] += alpha * (worth - Q[x][action])


def put_off(Q, before, now, cost, alpha):
    for number, x in before.items():
        Q[x][CACHE] += alpha * (max(Q[now[number]]) - Q[x][CACHE])

# %% 3 · looks at the situation of before
def credit(Q, decided, answers, alpha):
    for number, worth in answers.items():
        x, action = decided.pop(number)
        Q[x][action] += alpha * (worth - Q[x][action])


def put_off(Q, before, now, cost, alpha):
    for number, x in before.items():
        Q[x][CACHE] += alpha * (cost + max(Q[x]) - Q[x][CACHE])

# %% 3 · the situation of now learns
def credit(Q, decided, answers, alpha):
    for number, worth in answers.items():
        x, action = decided.pop(number)
        Q[x][action] += alpha * (worth - Q[x][action])


def put_off(Q, before, now, cost, alpha):
    for number, x in before.items():
        Q[now[number]][CACHE] += alpha * (cost + max(Q[now[number]]) - Q[x][CACHE])

# %% 3 · sets and does not move
def credit(Q, decided, answers, alpha):
    for number, worth in answers.items():
        x, action = decided.pop(number)
        Q[x][action] = worth


def put_off(Q, before, now, cost, alpha):
    for number, x in before.items():
        Q[x][CACHE] = cost + max(Q[now[number]])

# %% 3 · puts off again, no maximum
def credit(Q, decided, answers, alpha):
    for number, worth in answers.items():
        x, action = decided.pop(number)
        Q[x][action] += alpha * (worth - Q[x][action])


def put_off(Q, before, now, cost, alpha):
    for number, x in before.items():
        Q[x][CACHE] += alpha * (cost + Q[now[number]][CACHE] - Q[x][CACHE])

# %% 3 · shows it next, no maximum
def credit(Q, decided, answers, alpha):
    for number, worth in answers.items():
        x, action = decided.pop(number)
        Q[x][action] += alpha * (worth - Q[x][action])


def put_off(Q, before, now, cost, alpha):
    for number, x in before.items():
        Q[x][CACHE] += alpha * (cost + Q[now[number]][SHOW] - Q[x][CACHE])

# %% 3 · the mean over the three
def credit(Q, decided, answers, alpha):
    for number, worth in answers.items():
        x, action = decided.pop(number)
        Q[x][action] += alpha * (worth - Q[x][action])


def put_off(Q, before, now, cost, alpha):
    for number, x in before.items():
        Q[x][CACHE] += alpha * (cost + sum(Q[now[number]]) / 3 - Q[x][CACHE])

# %% 4 · shows nothing
def my_rule(observation, info):
    return DISMISS if info["action_mask"][DISMISS] else STAND_BY

# %% 4 · show, whatever is in hand
def my_rule(observation, info):
    return SHOW

# %% 4 · do not disturb itself
quiet_hours = DoNotDisturb()
quiet_hours.begin(judged, 0)


def my_rule(observation, info):
    return quiet_hours.act(observation, info)

# %% 4 · the rule of the day by hand: ahead, but the interval includes zero
my_rule = after_work

# %% 4 · a little later than do not disturb
def my_rule(observation, info):
    allowed, late = info["action_mask"], info["time"] >= 9 * 60
    if allowed[SHOW]:
        return SHOW if late else CACHE
    return CHECK if allowed[CHECK] and late else STAND_BY

# %% 4 · after ten at night
def my_rule(observation, info):
    allowed, late = info["action_mask"], info["time"] >= 22 * 60
    if allowed[SHOW]:
        return SHOW if late else CACHE
    return CHECK if allowed[CHECK] and late else STAND_BY

# %% 5 · answers with one weight
changes = {"opens": "more", "interruptions": "more", "delay": "unsure", "missed": "less"}

# %% 5 · halves in place of doubling
MISSED = (-1.0, -0.5)
trained = {}
for missed in MISSED:
    train, test = (gym.make("pushlab/push-v0", user=ines, days=part, missed=missed) for part in ("train", "test"))
    for seed in range(4):
        anxious = QTable()
        rollout(train, anxious, episodes=10, seed=seed, progress=False)
        trained[missed, seed] = study.judge(test, anxious, seed)
means = pd.DataFrame(trained).T.rename_axis(["missed costs", "seed"])[["opens", "interruptions", "delay", "missed"]]
changes = {"opens": "less", "interruptions": "less", "delay": "unsure", "missed": "more"}

# %% 5 · trains twice with the usual weight
train, test = (gym.make("pushlab/push-v0", user=ines, days=part) for part in ("train", "test"))
trained = {}
for seed in range(4):
    anxious = QTable()
    rollout(train, anxious, episodes=10, seed=seed, progress=False)
    trained[-1.0, seed] = trained[-2.0, seed] = study.judge(test, anxious, seed)
means = pd.DataFrame(trained).T.rename_axis(["missed costs", "seed"])[["opens", "interruptions", "delay", "missed"]]
changes = {"opens": "more", "interruptions": "more", "delay": "unsure", "missed": "less"}

# %% 5 · reads the mean delay and not its interval
MISSED = (-1.0, -2.0)

trained = {}
for missed in MISSED:
    train, test = (gym.make("pushlab/push-v0", user=ines, days=part, missed=missed) for part in ("train", "test"))
    for seed in range(4):
        anxious = QTable()
        rollout(train, anxious, episodes=80, seed=seed, progress=False)
        trained[missed, seed] = study.judge(test, anxious, seed)
means = pd.DataFrame(trained).T.rename_axis(["missed costs", "seed"])[["opens", "interruptions", "delay", "missed"]]
changes = {"opens": "more", "interruptions": "more", "delay": "less", "missed": "less"}
