# %% 1 · the arguments swapped
def reward_of(opened, actual):
    if opened:
        return 1 if actual else 2
    return -1 if actual else 0


# %% 1 · equal answers are rewarded
def reward_of(actual, opened):
    return 1 if actual == opened else -1


# %% 1 · right: of arrays
def reward_of(actual, opened):
    return np.where(opened, 2, 0) - actual


# %% 2 · ignores the context
other = {
    **headlines,
    "postingApp": "org.pushlab.chat",
    "category": "msg",
    "subject": "friends",
}


def my_policy(observation):
    return schema.notification.encode_one(other)


# %% 2 · chooses by chance
rng = np.random.default_rng(0)


def my_policy(observation):
    return schema.notification.encode_one(other if rng.random() < 0.5 else headlines)


# %% 2 · gains by the notification, not by its time
def my_policy(observation):
    context = schema.context.decode_one(observation)
    choice = (
        headlines
        if context["time"] == "evening" and context["noise"] == "high"
        else other
    )
    return schema.notification.encode_one(choice)


# %% 3 · ignores steps
def rewards_of(env, policy, seed, episodes, is_over):
    rewards = []
    for episode in range(episodes):
        observation, info = env.reset(seed=seed + episode)
        rewards.append([])
        flags = [False, False]
        while not is_over(len(rewards[-1]), *flags):
            observation, reward, *flags, info = env.step(policy(observation))
            rewards[-1].append(reward)
    return rewards


def play(env, policy, seed, episodes, steps):
    rewards = rewards_of(
        env, policy, seed, episodes, lambda step, ended, cut: ended or cut
    )
    return [np.mean(row) for row in rewards]


# %% 3 · ignores truncated
def play(env, policy, seed, episodes, steps):
    rewards = rewards_of(
        env, policy, seed, episodes, lambda step, ended, cut: ended or step == steps
    )
    return [np.mean(row) for row in rewards]


# %% 3 · the rewards of all episodes in one list
def play(env, policy, seed, episodes, steps):
    rewards = rewards_of(
        env, policy, seed, episodes, lambda step, *flags: step == steps or any(flags)
    )
    return [np.mean(sum(rewards[:end], [])) for end in range(1, episodes + 1)]


# %% 3 · takes both values of reset for the observation
def play(env, policy, seed, episodes, steps):
    means = []
    for episode in range(episodes):
        observation = env.reset(seed=seed + episode)
        rewards = []
        for step in range(steps):
            observation, reward, *over, info = env.step(policy(observation))
            rewards.append(reward)
            if any(over):
                break
        means.append(np.mean(rewards))
    return means


# %% 4 · not paired
def paired(ours, theirs):
    ours = np.asarray(ours)
    theirs = np.asarray(theirs)
    variance = (ours.var(ddof=1) + theirs.var(ddof=1)) / len(ours)
    half = t.ppf(0.975, len(ours) - 1) * variance**0.5
    mean = ours.mean() - theirs.mean()
    return mean, mean - half, mean + half


# %% 4 · returns the mean and half the width
def paired(ours, theirs):
    gap = ours - theirs
    return gap.mean(), t.ppf(0.975, len(gap) - 1) * gap.std(ddof=1) / len(gap) ** 0.5


# %% 4 · subtracts in place
def paired(ours, theirs):
    ours -= theirs
    half = t.ppf(0.975, len(ours) - 1) * ours.std(ddof=1) / len(ours) ** 0.5
    return ours.mean(), ours.mean() - half, ours.mean() + half


# %% 4 · uses 1.96 for few episodes
def paired(ours, theirs):
    gap = np.asarray(ours) - np.asarray(theirs)
    half = 1.96 * gap.std(ddof=1) / len(gap) ** 0.5
    return gap.mean(), gap.mean() - half, gap.mean() + half
