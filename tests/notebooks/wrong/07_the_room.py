# %% 1 · forgets the age
def best_guess(place, age, habit):
    return habit if place is None else place

# %% 1 · always the habit
def best_guess(place, age, habit):
    return habit

# %% 1 · the two the wrong way round
def best_guess(place, age, habit):
    if place is None or age < 8:
        return habit
    return place

# %% 1 · trusts for a hundred steps
def best_guess(place, age, habit):
    return place if place is not None and age < 100 else habit

# %% 1 · says nothing of what was never seen
def best_guess(place, age, habit):
    return place if age <= 8 else habit

# %% 1 · trusts for three steps only
def best_guess(place, age, habit):
    return place if place is not None and age <= 3 else habit

# %% 2 · forgets that a moved object may come back
def crossing(p_commonsense, p_new_location, places):
    back = 0
    untouched = p_commonsense / (1 + p_commonsense)
    return np.log(untouched) / np.log(1 - p_new_location)

# %% 2 · divides among all places
def crossing(p_commonsense, p_new_location, places):
    back = (1 - p_commonsense) / places
    untouched = (p_commonsense - back) / (1 + p_commonsense - back)
    return np.log(untouched) / np.log(1 - p_new_location)

# %% 2 · logarithm of the wrong probability
def crossing(p_commonsense, p_new_location, places):
    back = (1 - p_commonsense) / (places - 1)
    untouched = (p_commonsense - back) / (1 + p_commonsense - back)
    return np.log(untouched) / np.log(p_new_location)

# %% 2 · keeps the 0.9
def crossing(p_commonsense, p_new_location, places):
    back = (1 - p_commonsense) / (places - 1)
    untouched = (p_commonsense - back) / (1 + p_commonsense - back)
    return np.log(untouched) / np.log(0.9)

# %% 2 · sets last seen to one half
def crossing(p_commonsense, p_new_location, places):
    back = 0
    untouched = 0.5
    return np.log(untouched) / np.log(1 - p_new_location)

# %% 2 · forgets to solve for u
def crossing(p_commonsense, p_new_location, places):
    back = (1 - p_commonsense) / (places - 1)
    untouched = p_commonsense - back
    return np.log(untouched) / np.log(1 - p_new_location)

# %% 3 · forgets what was just seen
def my_rule(memory, usual):
    return len(memory) - 1
def played(rule, slots=4):
    return rollout(env, with_rule(rule, slots), 5, seed=SEED, record="episodes", progress=False)["return"]

# %% 3 · redundant first, whatever it replaced
def my_rule(memory, usual):
    for position, one in enumerate(memory):
        if usual[one.thing] == one.place:
            return position
    return 0
def played(rule, slots=4):
    return rollout(env, with_rule(rule, slots), 5, seed=SEED, record="episodes", progress=False)["return"]

# %% 3 · replaced only
def my_rule(memory, usual):
    for position, one in enumerate(memory):
        if any(later.person == one.person for later in memory[position + 1:]):
            return position
    return 0
def played(rule, slots=4):
    return rollout(env, with_rule(rule, slots), 5, seed=SEED, record="episodes", progress=False)["return"]

# %% 3 · forgets what differs from habit
def my_rule(memory, usual):
    for position, one in enumerate(memory):
        if usual[one.thing] != one.place:
            return position
    return 0
def played(rule, slots=4):
    return rollout(env, with_rule(rule, slots), 5, seed=SEED, record="episodes", progress=False)["return"]

# %% 3 · returns the episode, not its position
def my_rule(memory, usual):
    return memory[0]
def played(rule, slots=4):
    return rollout(env, with_rule(rule, slots), 5, seed=SEED, record="episodes", progress=False)["return"]

# %% 3 · same person and same object only
def my_rule(memory, usual):
    for position, one in enumerate(memory):
        if any(later[:2] == one[:2] for later in memory[position + 1:]):
            return position
    for position, one in enumerate(memory):
        if usual[one.thing] == one.place:
            return position
    return 0
def played(rule, slots=4):
    return rollout(env, with_rule(rule, slots), 5, seed=SEED, record="episodes", progress=False)["return"]

# %% 3 · removes it by itself
def my_rule(memory, usual):
    for position, one in enumerate(memory):
        if usual[one.thing] == one.place:
            memory.pop(position)
            return position
    return 0
def played(rule, slots=4):
    return rollout(env, with_rule(rule, slots), 5, seed=SEED, record="episodes", progress=False)["return"]

# %% 4 · more than there are
EPISODES = 32

class MyAgent(GivenAgent):
    name = "mine"

    def new_memory(self):
        _, semantic = super().new_memory()
        return Episodic(EPISODES), semantic

# %% 4 · nearly all
EPISODES = 20

class MyAgent(GivenAgent):
    name = "mine"

    def new_memory(self):
        _, semantic = super().new_memory()
        return Episodic(EPISODES), semantic

# %% 4 · too few
EPISODES = 2

class MyAgent(GivenAgent):
    name = "mine"

    def new_memory(self):
        _, semantic = super().new_memory()
        return Episodic(EPISODES), semantic

# %% 4 · none
EPISODES = 0

class MyAgent(GivenAgent):
    name = "mine"

    def new_memory(self):
        _, semantic = super().new_memory()
        return Episodic(EPISODES), semantic

# %% 4 · says one thing and does another
EPISODES = 8

class MyAgent(GivenAgent):
    name = "mine"

    def new_memory(self):
        _, semantic = super().new_memory()
        return Episodic(22), semantic

# %% 5 · is never silent
def say(place, age, habit, penalty):
    return best_guess(place, age, habit)

# %% 5 · is silent about all that is old
def say(place, age, habit, penalty):
    return place if place is not None and age <= 6 else None

# %% 5 · does not look at the penalty
def say(place, age, habit, penalty):
    if place is None or place == habit:
        return habit
    best = place if last_seen_right(age) > usual_right(age) else habit
    return best if max(last_seen_right(age), usual_right(age)) > 0.5 else None

# %% 5 · forgets that agreement is surer
def say(place, age, habit, penalty):
    right = max(last_seen_right(age), usual_right(age)) if place is not None else p
    best = habit if place is None or usual_right(age) > last_seen_right(age) else place
    return best if right - (1 - right) * penalty > 0 else None

# %% 5 · takes the share of right answers for the gain
def say(place, age, habit, penalty):
    if place is None:
        return habit if p > penalty else None
    answers = {place: last_seen_right(age), habit: usual_right(age)}
    best = max(answers, key=answers.get)
    return best if answers[best] > penalty else None
