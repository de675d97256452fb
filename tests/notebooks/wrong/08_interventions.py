# %% 1 · pauses both drugs together
def my_rule(observation):
    return 3 if observation[4] > 1000 else 0


# %% 1 · gives the RT inhibitor alone, always
def my_rule(observation):
    return 2


# %% 2 · asks Q about the state before the action
def one_iteration(Q, steps, discount=0.98, actions=2):
    states, taken, rewards, following = steps
    targets = rewards + discount * Q(states).max(axis=1)
    fitted = [regress(states[taken == a], targets[taken == a]) for a in range(actions)]
    return lambda states: np.stack([predict(states) for predict in fitted], axis=1)


# %% 2 · one maximum over all steps
def one_iteration(Q, steps, discount=0.98, actions=2):
    states, taken, rewards, following = steps
    targets = rewards + discount * Q(following).max()
    fitted = [regress(states[taken == a], targets[taken == a]) for a in range(actions)]
    return lambda states: np.stack([predict(states) for predict in fitted], axis=1)


# %% 3 · the learner labels
def one_round(states, answers, teacher, learner, starts):
    new_states = states_of(learner, starts)
    states = np.vstack([states, new_states])
    answers = np.append(answers, learner(new_states))
    return states, answers, fit_tree(states, answers)


# %% 3 · fits to the new examples only
def one_round(states, answers, teacher, learner, starts):
    new_states = states_of(learner, starts)
    new_answers = teacher(new_states)
    tree = fit_tree(new_states, new_answers)
    return np.vstack([states, new_states]), np.append(answers, new_answers), tree


# %% 3 · right: labels all states again
def one_round(states, answers, teacher, learner, starts):
    states = np.vstack([states, states_of(learner, starts)])
    return states, teacher(states), fit_tree(states, teacher(states))


# %% 4 · changes later decisions as well
def decision_effect(simulate, schedule, position, alternative):
    changed = schedule[:position] + [alternative] * (len(schedule) - position)
    return simulate(schedule)["E"].iloc[-1] - simulate(changed)["E"].iloc[-1]


# %% 4 · wrong sign
def decision_effect(simulate, schedule, position, alternative):
    changed = list(schedule)
    changed[position] = alternative
    return simulate(changed)["E"].iloc[-1] - simulate(schedule)["E"].iloc[-1]


# %% 4 · compares right after the decision
def decision_effect(simulate, schedule, position, alternative):
    changed = list(schedule)
    changed[position] = alternative
    gap = simulate(schedule)["E"] - simulate(changed)["E"]
    return gap.iloc[position + 1]


# %% 5 · outbreaks cost too little
def my_reward(table):
    drugs = table["epsilon_1"] ** 2 + table["epsilon_2"] ** 2
    return (
        1000 * table["E"]
        - 0.1 * table["V"]
        - 20_000 * drugs
        - 1000 * (table["V"] > 100_000)
    )


# %% 5 · outbreaks cost too much
def my_reward(table):
    drugs = table["epsilon_1"] ** 2 + table["epsilon_2"] ** 2
    return (
        np.log10(table["E"])
        - 1e-6 * table["V"]
        - 0.1 * drugs
        - 1.0 * np.maximum(table["V"] - 100_000, 0)
    )


# %% 5 · drugs are free
def my_reward(table):
    outbreak = np.maximum(table["V"] - 100_000, 0)
    return np.log10(table["E"]) - 1e-6 * table["V"] - 1e-4 * outbreak


# %% 5 · right: a fixed price for each day of an outbreak
def my_reward(table):
    drugs = table["epsilon_1"] ** 2 + table["epsilon_2"] ** 2
    outbreak = table["V"] > 100_000
    return np.log(table["E"]) - 1e-6 * table["V"] - 0.1 * drugs - 20 * outbreak
