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


# %% 3 · the new policy's probabilities alone
def weights_of(target, actions, propensities):
    return target[np.arange(len(actions)), actions]


def weighted_mean(weights, rewards):
    return (weights * rewards).sum() / weights.sum()


# %% 3 · all rows for each action
def weights_of(target, actions, propensities):
    return target[:, actions] / propensities


def weighted_mean(weights, rewards):
    return (weights * rewards).sum() / weights.sum()


# %% 3 · old over new
def weights_of(target, actions, propensities):
    return propensities / target[np.arange(len(actions)), actions]


def weighted_mean(weights, rewards):
    return (weights * rewards).sum() / weights.sum()


# %% 3 · is not normalised
def weights_of(target, actions, propensities):
    return target[np.arange(len(actions)), actions] / propensities


def weighted_mean(weights, rewards):
    return (weights * rewards).mean()


# %% 3 · right: an average of the library, and take_along_axis
def weights_of(target, actions, propensities):
    return np.take_along_axis(target, actions[:, None], axis=1)[:, 0] / propensities


def weighted_mean(weights, rewards):
    return np.average(rewards, weights=weights)


# %% 4 · asks for the best action
def model_values(target, predictions):
    return predictions.max(axis=1)


# %% 4 · the mean of the products
def model_values(target, predictions):
    return (target * predictions).mean(axis=1)


# %% 4 · the new policy's favourite only
def model_values(target, predictions):
    return predictions[np.arange(len(target)), target.argmax(axis=1)]


# %% 4 · right: np.average
def model_values(target, predictions):
    return np.average(predictions, axis=1, weights=target)


# %% 5 · leaves the residuals unweighted
def doubly_robust(rewards, ratios, action_values, state_values):
    return state_values + rewards - action_values


# %% 5 · subtracts the model's value of the context
def doubly_robust(rewards, ratios, action_values, state_values):
    return state_values + ratios * (rewards - state_values)


# %% 5 · weights the model's value, too
def doubly_robust(rewards, ratios, action_values, state_values):
    return ratios * (state_values + rewards - action_values)


# %% 5 · right: importance sampling, corrected by the model
def doubly_robust(rewards, ratios, action_values, state_values):
    return ratios * rewards - (ratios * action_values - state_values)


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
