# %% 1 · forgets the age
def best_guess(place, age, habit):
    return habit if place is None else place


# %% 1 · None for an object never seen
def best_guess(place, age, habit):
    return place if age <= 8 else habit


# %% 2 · divides among all places
def crossing(p_commonsense, p_new_location, places):
    back = (1 - p_commonsense) / places
    untouched = (p_commonsense - back) / (1 + p_commonsense - back)
    return np.log(untouched) / np.log(1 - p_new_location)


# %% 2 · a constant probability of 0.9
def crossing(p_commonsense, p_new_location, places):
    back = (1 - p_commonsense) / (places - 1)
    untouched = (p_commonsense - back) / (1 + p_commonsense - back)
    return np.log(untouched) / np.log(0.9)


# %% 3 · redundant ones before replaced ones
def my_rule(memory, usual):
    for position, placement in enumerate(memory):
        if usual[placement.thing] == placement.place:
            return position
    return 0


# %% 3 · removes the episode itself
def my_rule(memory, usual):
    for position, placement in enumerate(memory):
        if usual[placement.thing] == placement.place:
            memory.pop(position)
            return position
    return 0


# %% 3 · right: also keeps a person's other objects
def my_rule(memory, usual):
    for position, old in enumerate(memory):
        for new in memory[position + 1 :]:
            if (new.person, new.thing) == (old.person, old.thing):
                return position
    return np.argmin([usual[old.thing] != old.place for old in memory])


# %% 4 · nearly all
EPISODES = 20


class MyAgent(PrefilledMemoryAgent):
    name = "mine"

    def new_memory(self):
        _, semantic = super().new_memory()
        return EpisodicMemory(EPISODES), semantic


# %% 4 · EPISODES differs from the agent's capacity
EPISODES = 8
MyAgent = PrefilledMemoryAgent


# %% 5 · ignores the penalty
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
