# %% 1 · ignores the surprise
def recognise(recent, known, surprise=5.0):
    likelihoods = [log_likelihood(recent, counts) for counts in [*known, (0, 0)]]
    return int(np.argmax(likelihoods))


# %% 1 · surprise is always 5
def recognise(recent, known, surprise=5.0):
    likelihoods = [log_likelihood(recent, counts) for counts in known]
    if log_likelihood(recent, (0, 0)) > max(likelihoods) + 5:
        return len(known)
    return int(np.argmax(likelihoods))


# %% 2 · without the anchor
def fisher(features, noise):
    return (features**2).mean(axis=0) / noise


def penalty_gradient(weights, anchor, fisher, strength):
    return strength * fisher * weights


# %% 2 · ignores the Fisher information
def fisher(features, noise):
    return (features**2).mean(axis=0) / noise


def penalty_gradient(weights, anchor, fisher, strength):
    return strength * (weights - anchor)


# %% 3 · stores every new item
class Reservoir:
    def __init__(self, size, rng):
        self.size = size
        self.rng = rng
        self.items = []
        self.count = 0

    def add(self, item):
        self.count += 1
        if len(self.items) < self.size:
            self.items.append(item)
        else:
            self.items[self.rng.integers(self.size)] = item


# %% 3 · counts one too few
class Reservoir:
    def __init__(self, size, rng):
        self.size = size
        self.rng = rng
        self.items = []
        self.count = 0

    def add(self, item):
        self.count += 1
        if len(self.items) < self.size:
            self.items.append(item)
        elif self.rng.random() < self.size / (self.count - 1):
            self.items[self.rng.integers(self.size)] = item


# %% 4 · restarts at each change
class Mine(LifelongAgent):
    name = "mine"

    def begin_task(self, task, learning):
        if learning:
            self.learner = self.make()


# %% 4 · learns Mira only
class Mine(LifelongAgent):
    name = "mine"

    def begin_task(self, task, learning):
        self.task = task

    def learn(self, transition):
        if self.task == "mira":
            self.learner.learn(transition)
