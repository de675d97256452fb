# %% 1 · forgets to divide by the length
def moved(preference, item, alpha):
    after = preference + alpha * (preference @ item) * item
    return after

# %% 1 · goes towards every item, liked or not
def moved(preference, item, alpha):
    after = preference + alpha * item
    return after / np.linalg.norm(after)

# %% 1 · makes the item a unit vector
def moved(preference, item, alpha):
    after = preference + alpha * (preference @ item) * item / np.linalg.norm(item)
    return after / np.linalg.norm(after)

# %% 1 · multiplies entry by entry
def moved(preference, item, alpha):
    after = preference + alpha * preference * item * item
    return after / np.linalg.norm(after)

# %% 1 · forgets alpha
def moved(preference, item, alpha):
    after = preference + (preference @ item) * item
    return after / np.linalg.norm(after)

# %% 1 · gets the sign wrong
def moved(preference, item, alpha):
    after = preference - alpha * (preference @ item) * item
    return after / np.linalg.norm(after)

# %% 2 · goes towards what is shown
class Contrary(BaseUserModel):
    def user_preference_dynamics(self, state, action, item_feature_vector):
        item = item_feature_vector[action]
        moved = state + 0.3 * item
        return moved / np.linalg.norm(moved)

    def reward_function(self, state, action, item_feature_vector):
        return state @ item_feature_vector[action] + self.random_.normal(scale=0.05)

# %% 2 · is bored, so that disliked items draw nearer
class Contrary(BaseUserModel):
    def user_preference_dynamics(self, state, action, item_feature_vector):
        item = item_feature_vector[action]
        moved = state - 0.6 * (state @ item) * item
        return moved / np.linalg.norm(moved)

    def reward_function(self, state, action, item_feature_vector):
        return state @ item_feature_vector[action] + self.random_.normal(scale=0.05)

# %% 2 · turns too little to matter
class Contrary(BaseUserModel):
    def user_preference_dynamics(self, state, action, item_feature_vector):
        item = item_feature_vector[action]
        moved = state - 0.002 * item
        return moved / np.linalg.norm(moved)

    def reward_function(self, state, action, item_feature_vector):
        return state @ item_feature_vector[action] + self.random_.normal(scale=0.05)

# %% 2 · changes the reward instead
class Contrary(BaseUserModel):
    def user_preference_dynamics(self, state, action, item_feature_vector):
        item = item_feature_vector[action]
        moved = state + 0.0 * item
        return moved / np.linalg.norm(moved)

    def reward_function(self, state, action, item_feature_vector):
        return -state @ item_feature_vector[action] - self.random_.normal(scale=0.05)

# %% 2 · is contrary and earns less on top
class Contrary(BaseUserModel):
    def user_preference_dynamics(self, state, action, item_feature_vector):
        item = item_feature_vector[action]
        moved = state - 0.3 * item
        return moved / np.linalg.norm(moved)

    def reward_function(self, state, action, item_feature_vector):
        return state @ item_feature_vector[action] + self.random_.normal(scale=0.05) - 1

# %% 2 · forgets to divide by the length
class Contrary(BaseUserModel):
    def user_preference_dynamics(self, state, action, item_feature_vector):
        item = item_feature_vector[action]
        moved = state - 0.3 * item
        return moved

    def reward_function(self, state, action, item_feature_vector):
        return state @ item_feature_vector[action] + self.random_.normal(scale=0.05)

# %% 3 · adds the ratios
def weights_of(ratios):
    return ratios.sum(axis=1)

def weighted_mean(weights, returns):
    return (weights * returns).sum() / weights.sum()

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

# %% 3 · averages the ratios
def weights_of(ratios):
    return ratios.mean(axis=1)

def weighted_mean(weights, returns):
    return (weights * returns).sum() / weights.sum()

# %% 3 · turns the ratio round
def weights_of(ratios):
    return (1 / ratios).prod(axis=1)

def weighted_mean(weights, returns):
    return (weights * returns).sum() / weights.sum()

# %% 3 · one weight for the whole log
def weights_of(ratios):
    return ratios.prod()

def weighted_mean(weights, returns):
    return (weights * returns).sum() / weights.sum()

# %% 3 · leaves the weights out of the sum
def weights_of(ratios):
    return ratios.prod(axis=1)

def weighted_mean(weights, returns):
    return returns.mean()

# %% 4 · stops at the next reward
def fitted_values(seen, actions, rewards, target):
    episode = np.arange(len(rewards))
    taken, values = np.zeros((2, *rewards.shape))
    following = np.zeros(len(rewards))
    for step in reversed(range(rewards.shape[1])):
        aims = rewards[:, step]
        q = regression(seen[:, step], actions[:, step], aims)
        taken[:, step] = q[episode, actions[:, step]]
        values[:, step] = (target[:, step] * q).sum(axis=1)
        following = values[:, step]
    return taken, values

# %% 4 · asks for the best action
def fitted_values(seen, actions, rewards, target):
    episode = np.arange(len(rewards))
    taken, values = np.zeros((2, *rewards.shape))
    following = np.zeros(len(rewards))
    for step in reversed(range(rewards.shape[1])):
        aims = rewards[:, step] + following
        q = regression(seen[:, step], actions[:, step], aims)
        taken[:, step] = q[episode, actions[:, step]]
        values[:, step] = q.max(axis=1)
        following = values[:, step]
    return taken, values

# %% 4 · takes an even choice
def fitted_values(seen, actions, rewards, target):
    episode = np.arange(len(rewards))
    taken, values = np.zeros((2, *rewards.shape))
    following = np.zeros(len(rewards))
    for step in reversed(range(rewards.shape[1])):
        aims = rewards[:, step] + following
        q = regression(seen[:, step], actions[:, step], aims)
        taken[:, step] = q[episode, actions[:, step]]
        values[:, step] = q.mean(axis=1)
        following = values[:, step]
    return taken, values

# %% 4 · evaluates the old policy
def fitted_values(seen, actions, rewards, target):
    episode = np.arange(len(rewards))
    taken, values = np.zeros((2, *rewards.shape))
    following = np.zeros(len(rewards))
    for step in reversed(range(rewards.shape[1])):
        aims = rewards[:, step] + following
        q = regression(seen[:, step], actions[:, step], aims)
        taken[:, step] = q[episode, actions[:, step]]
        values[:, step] = taken[:, step]
        following = values[:, step]
    return taken, values

# %% 4 · uses the last step's policy everywhere
def fitted_values(seen, actions, rewards, target):
    episode = np.arange(len(rewards))
    taken, values = np.zeros((2, *rewards.shape))
    following = np.zeros(len(rewards))
    for step in reversed(range(rewards.shape[1])):
        aims = rewards[:, step] + following
        q = regression(seen[:, step], actions[:, step], aims)
        taken[:, step] = q[episode, actions[:, step]]
        values[:, step] = (target[:, -1] * q).sum(axis=1)
        following = values[:, step]
    return taken, values

# %% 5 · does not weight the residual
def doubly_robust(rewards, ratios, taken, values):
    corrected = np.zeros(len(rewards))
    for step in reversed(range(rewards.shape[1])):
        corrected = values[:, step] + rewards[:, step] + corrected - taken[:, step]
    return corrected

# %% 5 · adds the whole reward
def doubly_robust(rewards, ratios, taken, values):
    corrected = np.zeros(len(rewards))
    for step in reversed(range(rewards.shape[1])):
        corrected = values[:, step] + ratios[:, step] * (rewards[:, step] + corrected)
    return corrected

# %% 5 · forgets what follows
def doubly_robust(rewards, ratios, taken, values):
    corrected = np.zeros(len(rewards))
    for step in reversed(range(rewards.shape[1])):
        corrected = values[:, step] + ratios[:, step] * (rewards[:, step] - taken[:, step])
    return corrected

# %% 5 · weights what follows not at all
def doubly_robust(rewards, ratios, taken, values):
    corrected = np.zeros(len(rewards))
    for step in reversed(range(rewards.shape[1])):
        corrected = values[:, step] + ratios[:, step] * (rewards[:, step] - taken[:, step]) + corrected
    return corrected

# %% 5 · subtracts the model's value of the state
def doubly_robust(rewards, ratios, taken, values):
    corrected = np.zeros(len(rewards))
    for step in reversed(range(rewards.shape[1])):
        corrected = values[:, step] + ratios[:, step] * (rewards[:, step] + corrected - values[:, step])
    return corrected

# %% 5 · importance sampling without a model
def doubly_robust(rewards, ratios, taken, values):
    corrected = np.zeros(len(rewards))
    for step in reversed(range(rewards.shape[1])):
        corrected = ratios[:, step] * (rewards[:, step] + corrected)
    return corrected

# %% 6 · finds the number by trying, for one threshold
def weights_at(sharpness):
    return offpolicy.episodes_of(log, SoftmaxItem(world.items, sharpness, floor=0.1)).ratios.prod(axis=1)

def effective_size(weights):
    return weights.sum() ** 2 / (weights**2).sum()

def too_sharp(fewest):
    return 5

# %% 6 · counts the weights above zero
def weights_at(sharpness):
    return offpolicy.episodes_of(log, SoftmaxItem(world.items, sharpness, floor=0.1)).ratios.prod(axis=1)

def effective_size(weights):
    return (weights > 0).sum()

def too_sharp(fewest):
    sharpness = 1
    while effective_size(weights_at(sharpness)) >= fewest:
        sharpness += 1
        if sharpness > 6:
            break
    return sharpness

# %% 6 · forgets to square the sum
def weights_at(sharpness):
    return offpolicy.episodes_of(log, SoftmaxItem(world.items, sharpness, floor=0.1)).ratios.prod(axis=1)

def effective_size(weights):
    return weights.sum() / (weights**2).sum()

def too_sharp(fewest):
    sharpness = 1
    while effective_size(weights_at(sharpness)) >= fewest:
        sharpness += 1
    return sharpness

# %% 6 · stops one step too early
def weights_at(sharpness):
    return offpolicy.episodes_of(log, SoftmaxItem(world.items, sharpness, floor=0.1)).ratios.prod(axis=1)

def effective_size(weights):
    return weights.sum() ** 2 / (weights**2).sum()

def too_sharp(fewest):
    sharpness = 1
    while effective_size(weights_at(sharpness)) >= fewest:
        sharpness += 1
    return sharpness - 1

# %% 6 · divides by the sum
def weights_at(sharpness):
    return offpolicy.episodes_of(log, SoftmaxItem(world.items, sharpness, floor=0.1)).ratios.prod(axis=1)

def effective_size(weights):
    return (weights**2).sum() / weights.sum()

def too_sharp(fewest):
    return 5

# %% 7 · shows the two best in turn
def choose(preference, items, shown):
    best = np.argsort(-(items @ preference))
    return int(best[len(shown) % 2])

# %% 7 · never the same twice in a row, of three
def choose(preference, items, shown):
    best = np.argsort(-(items @ preference))
    return int(best[len(shown) % 3])

# %% 7 · by chance
def choose(preference, items, shown):
    return int(np.random.default_rng(len(shown)).integers(len(items)))

# %% 7 · weighs the width too much
def choose(preference, items, shown):
    scores = []
    for item in items:
        after = moved(preference, item, alpha=1.0)
        scores.append(preference @ item - 20 * rec.polarisation(after, items))
    return int(np.argmax(scores))

# %% 7 · numbers the items from 1
def choose(preference, items, shown):
    return int((items @ preference).argmax()) + 1
