# ruff: noqa
# %% 1 · counts opens
def reward_of(actual, opened):
    return 1 if opened else 0

# %% 1 · the arguments swapped
def reward_of(opened, actual):
    if opened:
        return 1 if actual else 2
    return -1 if actual else 0

# %% 1 · costs nothing
def reward_of(actual, opened):
    return max(0, 2 * opened - actual)

# %% 1 · rewards what is the same
def reward_of(actual, opened):
    return 1 if actual == opened else -1

# %% 1 · says nothing when dismissed
def reward_of(actual, opened):
    if opened:
        return 1 if actual else 2

# %% 2 · a typo
other = {**headlines, "postingApp": "org.pushlab.chat", "category": "msg", "subject": "freinds"}

def my_policy(observation):
    context = schema.context.decode_one(observation)
    choice = other if context["time"] in ("evening", "night") else headlines
    return schema.notification.encode_one(choice)

# %% 2 · ignores the context
other = {**headlines, "postingApp": "org.pushlab.chat", "category": "msg", "subject": "friends"}

def my_policy(observation):
    return schema.notification.encode_one(other)

# %% 2 · a pair that does not exist
other = {**headlines, "subject": "friends"}

def my_policy(observation):
    context = schema.context.decode_one(observation)
    choice = other if context["time"] in ("evening", "night") else headlines
    return schema.notification.encode_one(choice)

# %% 2 · dice
other = {**headlines, "postingApp": "org.pushlab.chat", "category": "msg", "subject": "friends"}
dice = np.random.default_rng(0)

def my_policy(observation):
    return schema.notification.encode_one(other if dice.random() < 0.5 else headlines)

# %% 2 · looks, and sends the better one at the wrong time
other = {**headlines, "postingApp": "org.pushlab.chat", "category": "msg", "subject": "friends"}

def my_policy(observation):
    context = schema.context.decode_one(observation)
    choice = other if context["time"] in ("morning", "afternoon") else headlines
    return schema.notification.encode_one(choice)

# %% 2 · gains by what it sends and not by when
other = {**headlines, "postingApp": "org.pushlab.chat", "category": "msg", "subject": "friends"}

def my_policy(observation):
    context = schema.context.decode_one(observation)
    choice = headlines if context["time"] == "evening" and context["noise"] == "high" else other
    return schema.notification.encode_one(choice)

# %% 2 · a dict and no codes
other = {**headlines, "postingApp": "org.pushlab.chat", "category": "msg", "subject": "friends"}

def my_policy(observation):
    context = schema.context.decode_one(observation)
    return other if context["time"] in ("evening", "night") else headlines

# %% 2 · a time that is not called so
other = {**headlines, "postingApp": "org.pushlab.chat", "category": "msg", "subject": "friends"}

def my_policy(observation):
    context = schema.context.decode_one(observation)
    choice = other if context["time"] == "Evening" else headlines
    return schema.notification.encode_one(choice)

# %% 3 · sees the first observation for ever
def play(env, policy, seed, episodes, steps):
    means = []
    for episode in range(episodes):
        first, info = env.reset(seed=seed + episode)
        rewards = []
        for step in range(steps):
            _, reward, terminated, truncated, info = env.step(policy(first))
            rewards.append(reward)
            if terminated or truncated:
                break
        means.append(np.mean(rewards))
    return means

# %% 3 · goes on when time is over
def play(env, policy, seed, episodes, steps):
    means = []
    for episode in range(episodes):
        observation, info = env.reset(seed=seed + episode)
        rewards = []
        for step in range(steps):
            observation, reward, terminated, truncated, info = env.step(policy(observation))
            rewards.append(reward)
            if terminated:
                break
        means.append(np.mean(rewards))
    return means

# %% 3 · the same seed for all episodes
def play(env, policy, seed, episodes, steps):
    means = []
    for episode in range(episodes):
        observation, info = env.reset(seed=seed)
        rewards = []
        for step in range(steps):
            observation, reward, terminated, truncated, info = env.step(policy(observation))
            rewards.append(reward)
            if terminated or truncated:
                break
        means.append(np.mean(rewards))
    return means

# %% 3 · sums
def play(env, policy, seed, episodes, steps):
    means = []
    for episode in range(episodes):
        observation, info = env.reset(seed=seed + episode)
        total = 0
        for step in range(steps):
            observation, reward, terminated, truncated, info = env.step(policy(observation))
            total += reward
            if terminated or truncated:
                break
        means.append(total)
    return means

# %% 3 · divides by the steps that were planned
def play(env, policy, seed, episodes, steps):
    means = []
    for episode in range(episodes):
        observation, info = env.reset(seed=seed + episode)
        total = 0
        for step in range(steps):
            observation, reward, terminated, truncated, info = env.step(policy(observation))
            total += reward
            if terminated or truncated:
                break
        means.append(total / steps)
    return means

# %% 3 · the rewards of all episodes in one list
def play(env, policy, seed, episodes, steps):
    means, rewards = [], []
    for episode in range(episodes):
        observation, info = env.reset(seed=seed + episode)
        for step in range(steps):
            observation, reward, terminated, truncated, info = env.step(policy(observation))
            rewards.append(reward)
            if terminated or truncated:
                break
        means.append(np.mean(rewards))
    return means

# %% 4 · not paired
def paired(ours, theirs):
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    half = t.ppf(0.975, len(ours) - 1) * ((ours.var(ddof=1) + theirs.var(ddof=1)) / len(ours)) ** 0.5
    mean = ours.mean() - theirs.mean()
    return mean, mean - half, mean + half

# %% 4 · 1.96
def paired(ours, theirs):
    gap = np.asarray(ours) - np.asarray(theirs)
    half = 1.96 * gap.std(ddof=1) / len(gap) ** 0.5
    return gap.mean(), gap.mean() - half, gap.mean() + half

# %% 4 · forgets the root of n
def paired(ours, theirs):
    gap = np.asarray(ours) - np.asarray(theirs)
    half = t.ppf(0.975, len(gap) - 1) * gap.std(ddof=1)
    return gap.mean(), gap.mean() - half, gap.mean() + half

# %% 4 · divides by n in the standard deviation
def paired(ours, theirs):
    gap = np.asarray(ours) - np.asarray(theirs)
    half = t.ppf(0.975, len(gap) - 1) * gap.std() / len(gap) ** 0.5
    return gap.mean(), gap.mean() - half, gap.mean() + half

# %% 4 · divided by n
def paired(ours, theirs):
    gap = np.asarray(ours) - np.asarray(theirs)
    half = t.ppf(0.975, len(gap) - 1) * gap.std(ddof=1) / len(gap)
    return gap.mean(), gap.mean() - half, gap.mean() + half
