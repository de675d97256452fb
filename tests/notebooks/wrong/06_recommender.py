# %% 1 · moves towards every item
def next_preference(preference, item, alpha):
    after = preference + alpha * item
    return after / np.linalg.norm(after)


# %% 1 · normalises the item
def next_preference(preference, item, alpha):
    after = preference + alpha * (preference @ item) * item / np.linalg.norm(item)
    return after / np.linalg.norm(after)


# %% 2 · turns too little to matter
class Contrary(BaseUserModel):
    def user_preference_dynamics(self, state, action, item_feature_vector):
        item = item_feature_vector[action]
        new_state = state - 0.002 * item
        return new_state / np.linalg.norm(new_state)

    def reward_function(self, state, action, item_feature_vector):
        return state @ item_feature_vector[action] + self.random_.normal(scale=0.05)


# %% 2 · changes the reward instead
class Contrary(BaseUserModel):
    def user_preference_dynamics(self, state, action, item_feature_vector):
        item = item_feature_vector[action]
        new_state = state + 0.0 * item
        return new_state / np.linalg.norm(new_state)

    def reward_function(self, state, action, item_feature_vector):
        return -state @ item_feature_vector[action] - self.random_.normal(scale=0.05)


# %% 3 · takes the last ratio only
def weights_of(ratios):
    return ratios[:, -1]


def weighted_mean(weights, returns):
    return (weights * returns).sum() / weights.sum()


# %% 3 · is not normalised
def weights_of(ratios):
    return ratios.prod(axis=1)


def weighted_mean(weights, returns):
    return (weights * returns).mean()


# %% 4 · asks for the best action
def fitted_values(observations, actions, rewards, target):
    episode = np.arange(len(rewards))
    action_values, state_values = np.zeros((2, *rewards.shape))
    next_values = np.zeros(len(rewards))
    for step in reversed(range(rewards.shape[1])):
        targets = rewards[:, step] + next_values
        q = regression(observations[:, step], actions[:, step], targets)
        action_values[:, step] = q[episode, actions[:, step]]
        state_values[:, step] = q.max(axis=1)
        next_values = state_values[:, step]
    return action_values, state_values


# %% 4 · uses the last step's policy everywhere
def fitted_values(observations, actions, rewards, target):
    episode = np.arange(len(rewards))
    action_values, state_values = np.zeros((2, *rewards.shape))
    next_values = np.zeros(len(rewards))
    for step in reversed(range(rewards.shape[1])):
        targets = rewards[:, step] + next_values
        q = regression(observations[:, step], actions[:, step], targets)
        action_values[:, step] = q[episode, actions[:, step]]
        state_values[:, step] = (target[:, -1] * q).sum(axis=1)
        next_values = state_values[:, step]
    return action_values, state_values


# %% 5 · ignores later steps
def doubly_robust(rewards, ratios, action_values, state_values):
    corrected = np.zeros(len(rewards))
    for step in reversed(range(rewards.shape[1])):
        residual = rewards[:, step] - action_values[:, step]
        corrected = state_values[:, step] + ratios[:, step] * residual
    return corrected


# %% 5 · subtracts the model's value of the state
def doubly_robust(rewards, ratios, action_values, state_values):
    corrected = np.zeros(len(rewards))
    for step in reversed(range(rewards.shape[1])):
        residual = rewards[:, step] + corrected - state_values[:, step]
        corrected = state_values[:, step] + ratios[:, step] * residual
    return corrected


# %% 5 · multiplies the ratios up to the step in the recursion
def doubly_robust(rewards, ratios, action_values, state_values):
    weights = ratios.cumprod(axis=1)
    corrected = np.zeros(len(rewards))
    for step in reversed(range(rewards.shape[1])):
        residual = rewards[:, step] + corrected - action_values[:, step]
        corrected = state_values[:, step] + weights[:, step] * residual
    return corrected


# %% 5 · right: a sum with the ratios up to the step
def doubly_robust(rewards, ratios, action_values, state_values):
    weights = ratios.cumprod(axis=1)
    next_values = np.hstack([state_values[:, 1:], np.zeros((len(rewards), 1))])
    residuals = rewards + next_values - action_values
    return state_values[:, 0] + (weights * residuals).sum(axis=1)


# %% 6 · right for one threshold
def weights_at(sharpness):
    policy = SoftmaxItem(world.items, sharpness, floor=0.1)
    return offpolicy.episodes_from_log(log, policy).ratios.prod(axis=1)


def effective_size(weights):
    return weights.sum() ** 2 / (weights**2).sum()


def too_sharp(min_size):
    return 5


# %% 6 · counts the weights above zero
def weights_at(sharpness):
    policy = SoftmaxItem(world.items, sharpness, floor=0.1)
    return offpolicy.episodes_from_log(log, policy).ratios.prod(axis=1)


def effective_size(weights):
    return (weights > 0).sum()


def too_sharp(min_size):
    sharpness = 1
    while effective_size(weights_at(sharpness)) >= min_size:
        sharpness += 1
        if sharpness > 6:
            break
    return sharpness


# %% 7 · shows the two best in turn
def choose(preference, items, shown):
    best = np.argsort(-(items @ preference))
    return int(best[len(shown) % 2])


# %% 7 · shows the three best in turn
def choose(preference, items, shown):
    best = np.argsort(-(items @ preference))
    return int(best[len(shown) % 3])


# %% 7 · cares about polarisation only
def choose(preference, items, shown):
    directions = items / np.linalg.norm(items, axis=1, keepdims=True)
    after = [next_preference(preference, item, alpha=1.0) for item in items]
    return int(abs(after @ directions.T).max(axis=1).argmin())
