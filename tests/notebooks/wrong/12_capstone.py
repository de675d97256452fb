# %% 1 · never somebody new
def recognise(recent, known, surprise=5.0):
    likely = [log_likelihood(recent, one) for one in known]
    return max(range(len(known)), key=likely.__getitem__)
# %% 1 · somebody new as soon as that is a little likelier
def recognise(recent, known, surprise=5.0):
    likely = [log_likelihood(recent, one) for one in [*known, (0, 0)]]
    return max(range(len(likely)), key=likely.__getitem__)
# %% 1 · shares for likelihoods
def recognise(recent, known, surprise=5.0):
    if log_likelihood(recent, (0, 0)) > max(log_likelihood(recent, one) for one in known) + surprise:
        return len(known)
    share = recent[0] / max(sum(recent), 1)
    return min(range(len(known)), key=lambda user: abs(known[user][0] / max(sum(known[user]), 1) - share))
# %% 1 · surprise is always 5
def recognise(recent, known, surprise=5.0):
    likely = [log_likelihood(recent, one) for one in known]
    if log_likelihood(recent, (0, 0)) > max(likely) + 5:
        return len(known)
    return max(range(len(known)), key=likely.__getitem__)
# %% 2 · without the anchor
def fisher(features, noise):
    return (features**2).mean(axis=0) / noise


def penalty_gradient(weights, anchor, fisher, strength):
    return strength * fisher * weights
# %% 2 · all weights alike
def fisher(features, noise):
    return (features**2).mean(axis=0) / noise


def penalty_gradient(weights, anchor, fisher, strength):
    return strength * (weights - anchor)
# %% 2 · the wrong sign
def fisher(features, noise):
    return (features**2).mean(axis=0) / noise


def penalty_gradient(weights, anchor, fisher, strength):
    return strength * fisher * (anchor - weights)
# %% 2 · the penalty itself
def fisher(features, noise):
    return (features**2).mean(axis=0) / noise


def penalty_gradient(weights, anchor, fisher, strength):
    return strength / 2 * fisher * (weights - anchor)**2
# %% 2 · the variance of the features
def fisher(features, noise):
    return features.var(axis=0) / noise


def penalty_gradient(weights, anchor, fisher, strength):
    return strength * fisher * (weights - anchor)
# %% 2 · forgets the noise
def fisher(features, noise):
    return (features**2).mean(axis=0)


def penalty_gradient(weights, anchor, fisher, strength):
    return strength * fisher * (weights - anchor)
# %% 3 · keeps the first
class Reservoir:
    def __init__(self, size, rng):
        self.size, self.rng, self.items, self.met = size, rng, [], 0

    def add(self, item):
        self.met += 1
        if len(self.items) < self.size:
            self.items.append(item)
# %% 3 · every new item comes in
class Reservoir:
    def __init__(self, size, rng):
        self.size, self.rng, self.items, self.met = size, rng, [], 0

    def add(self, item):
        self.met += 1
        if len(self.items) < self.size:
            self.items.append(item)
        else:
            self.items[self.rng.integers(self.size)] = item
# %% 3 · the oldest goes
class Reservoir:
    def __init__(self, size, rng):
        self.size, self.rng, self.items, self.met = size, rng, [], 0

    def add(self, item):
        self.met += 1
        if len(self.items) < self.size:
            self.items.append(item)
        elif self.rng.random() < self.size / self.met:
            self.items = [*self.items[1:], item]
# %% 3 · keeps everything
class Reservoir:
    def __init__(self, size, rng):
        self.size, self.rng, self.items, self.met = size, rng, [], 0

    def add(self, item):
        self.met += 1
        self.items.append(item)
# %% 3 · counts one too few
class Reservoir:
    def __init__(self, size, rng):
        self.size, self.rng, self.items, self.met = size, rng, [], 0

    def add(self, item):
        self.met += 1
        if len(self.items) < self.size:
            self.items.append(item)
        elif self.rng.random() < self.size / (self.met - 1):
            self.items[self.rng.integers(self.size)] = item
# %% 3 · counts one too many
class Reservoir:
    def __init__(self, size, rng):
        self.size, self.rng, self.items, self.met = size, rng, [], 0

    def add(self, item):
        self.met += 1
        if len(self.items) < self.size:
            self.items.append(item)
        elif self.rng.random() < self.size / (self.met + 1):
            self.items[self.rng.integers(self.size)] = item
# %% 4 · learns nothing
class Mine(Wrapped):
    name = "mine"

    def learn(self, transition):
        pass
# %% 4 · begins anew at each change
class Mine(Wrapped):
    name = "mine"

    def begin_task(self, task, learning):
        if learning:
            self.learner = self.make()
# %% 4 · learns Mira only
class Mine(Wrapped):
    name = "mine"

    def begin_task(self, task, learning):
        self.task = task

    def learn(self, transition):
        if self.task == "mira":
            self.learner.learn(transition)
# %% 5 · the larger mean
def verdict(keeps, anew):
    return "keeps" if np.mean(keeps) > np.mean(anew) else "anew"
# %% 5 · two intervals that overlap or not
def verdict(keeps, anew):
    one, other = estimate.mean_interval(keeps), estimate.mean_interval(anew)
    return "keeps" if one.low > other.high else "anew" if one.high < other.low else "unsure"
# %% 5 · the difference the wrong way round
def verdict(keeps, anew):
    gap = estimate.paired_interval(anew, keeps)
    return "keeps" if gap.low > 0 else "anew" if gap.high < 0 else "unsure"
# %% 5 · two standard errors, however few seeds
def verdict(keeps, anew):
    gap = np.asarray(keeps) - np.asarray(anew)
    reach = 1.96 * gap.std(ddof=1) / len(gap) ** 0.5
    return "keeps" if gap.mean() > reach else "anew" if gap.mean() < -reach else "unsure"
