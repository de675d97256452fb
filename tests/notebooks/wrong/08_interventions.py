# ruff: noqa
# %% 1 · pauses both drugs together
def my_rule(observation):
    return 3 if observation[4] > 1000 else 0

# %% 1 · the protease inhibitor alone, and nothing while the virus is low
def my_rule(observation):
    return 1 if observation[4] > 1000 else 0

# %% 1 · never treats
def my_rule(observation):
    return 0

# %% 1 · gives the RT inhibitor alone, always
def my_rule(observation):
    return 2

# %% 1 · says it in words
def my_rule(observation):
    return "both" if observation[4] > 1000 else "none"

# %% 2 · forgets to discount
def one_iteration(Q, steps, discount=0.98, actions=2):
    states, taken, rewards, following = steps
    targets = rewards + Q(following).max(axis=1)
    fitted = [regress(states[taken == a], targets[taken == a]) for a in range(actions)]
    return lambda states: np.stack([one(states) for one in fitted], axis=1)

# %% 2 · asks Q about the state before the action
def one_iteration(Q, steps, discount=0.98, actions=2):
    states, taken, rewards, following = steps
    targets = rewards + discount * Q(states).max(axis=1)
    fitted = [regress(states[taken == a], targets[taken == a]) for a in range(actions)]
    return lambda states: np.stack([one(states) for one in fitted], axis=1)

# %% 2 · one maximum over all steps
def one_iteration(Q, steps, discount=0.98, actions=2):
    states, taken, rewards, following = steps
    targets = rewards + discount * Q(following).max()
    fitted = [regress(states[taken == a], targets[taken == a]) for a in range(actions)]
    return lambda states: np.stack([one(states) for one in fitted], axis=1)

# %% 2 · one regression for all actions
def one_iteration(Q, steps, discount=0.98, actions=2):
    states, taken, rewards, following = steps
    fitted = regress(states, rewards + discount * Q(following).max(axis=1))
    return lambda states: np.stack([fitted(states)] * actions, axis=1)

# %% 2 · the next action is this one
def one_iteration(Q, steps, discount=0.98, actions=2):
    states, taken, rewards, following = steps
    targets = rewards + discount * Q(following)[np.arange(len(taken)), taken]
    fitted = [regress(states[taken == a], targets[taken == a]) for a in range(actions)]
    return lambda states: np.stack([one(states) for one in fitted], axis=1)

# %% 2 · the mean over the next actions
def one_iteration(Q, steps, discount=0.98, actions=2):
    states, taken, rewards, following = steps
    targets = rewards + discount * Q(following).mean(axis=1)
    fitted = [regress(states[taken == a], targets[taken == a]) for a in range(actions)]
    return lambda states: np.stack([one(states) for one in fitted], axis=1)

# %% 3 · more of the teacher's own states
def one_round(states, answers, teacher, learner, starts):
    new_states = states_of(teacher, starts)
    states, answers = np.vstack([states, new_states]), np.append(answers, teacher(new_states))
    return states, answers, fit_tree(states, answers)

# %% 3 · the learner labels himself
def one_round(states, answers, teacher, learner, starts):
    new_states = states_of(learner, starts)
    states, answers = np.vstack([states, new_states]), np.append(answers, learner(new_states))
    return states, answers, fit_tree(states, answers)

# %% 3 · forgets the rounds before
def one_round(states, answers, teacher, learner, starts):
    new_states = states_of(learner, starts)
    return new_states, teacher(new_states), fit_tree(new_states, teacher(new_states))

# %% 3 · does not fit anew
def one_round(states, answers, teacher, learner, starts):
    new_states = states_of(learner, starts)
    return np.vstack([states, new_states]), np.append(answers, teacher(new_states)), learner

# %% 3 · fits to the new examples only
def one_round(states, answers, teacher, learner, starts):
    new_states = states_of(learner, starts)
    new_answers = teacher(new_states)
    return np.vstack([states, new_states]), np.append(answers, new_answers), fit_tree(new_states, new_answers)

# %% 4 · changes what comes after as well
def worth(simulate, schedule, at, instead):
    changed = schedule[:at] + [instead] * (len(schedule) - at)
    return simulate(schedule)["E"].iloc[-1] - simulate(changed)["E"].iloc[-1]

# %% 4 · the sign is the wrong way round
def worth(simulate, schedule, at, instead):
    changed = list(schedule)
    changed[at] = instead
    return simulate(changed)["E"].iloc[-1] - simulate(schedule)["E"].iloc[-1]

# %% 4 · counts from 1
def worth(simulate, schedule, at, instead):
    changed = list(schedule)
    changed[at - 1] = instead
    return simulate(schedule)["E"].iloc[-1] - simulate(changed)["E"].iloc[-1]

# %% 4 · changes the schedule itself
def worth(simulate, schedule, at, instead):
    lived = simulate(schedule)["E"].iloc[-1]
    was, schedule[at] = schedule[at], instead
    return lived - simulate(schedule)["E"].iloc[-1]

# %% 4 · stops at the decision
def worth(simulate, schedule, at, instead):
    return simulate(schedule)["E"].iloc[-1] - simulate(schedule[:at] + [instead])["E"].iloc[-1]

# %% 5 · does not square the dose
def gained(old_price, new_price, dose, decisions, discount):
    return (old_price - new_price) * dose * (1 - discount**decisions) / (1 - discount)

# %% 5 · never ends
def gained(old_price, new_price, dose, decisions, discount):
    return (old_price - new_price) * dose**2 / (1 - discount)

# %% 5 · discounts the first step
def gained(old_price, new_price, dose, decisions, discount):
    return (old_price - new_price) * dose**2 * sum(discount**step for step in range(1, decisions + 1))

# %% 5 · reads the number off
def gained(old_price, new_price, dose, decisions, discount):
    return 79_600

# %% 6 · forgets the drugs
def my_reward(table):
    return np.log10(table["E"]) - 1e-6 * table["V"] - 1e-4 * np.maximum(table["V"] - 100_000, 0)

# %% 6 · outbreaks cost a little
def my_reward(table):
    drugs = table["epsilon_1"]**2 + table["epsilon_2"]**2
    return 1000 * table["E"] - 0.1 * table["V"] - 20_000 * drugs - 1000 * (table["V"] > 100_000)

# %% 6 · outbreaks cost more than everything
def my_reward(table):
    drugs = table["epsilon_1"]**2 + table["epsilon_2"]**2
    return np.log10(table["E"]) - 1e-6 * table["V"] - 0.1 * drugs - 1.0 * np.maximum(table["V"] - 100_000, 0)

# %% 6 · one number for all rows
def my_reward(table):
    return float(np.log10(table["E"].iloc[-1]))

# %% 6 · little virus is free
def my_reward(table):
    drugs = table["epsilon_1"]**2 + table["epsilon_2"]**2
    return np.log10(table["E"]) - 0.1 * drugs - 1e-4 * np.maximum(table["V"] - 100_000, 0)
