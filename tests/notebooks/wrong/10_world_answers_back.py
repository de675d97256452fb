# ruff: noqa
# %% 1 · all or nothing
def my_rule(observation):
    return np.array([0.0, 0.0, float(observation[ILL] > 10), float(observation[MOSQUITOES].sum() > 3000)])

# %% 1 · all of all measures
def my_rule(observation):
    return np.ones(4)

# %% 1 · less where more is needed
def my_rule(observation):
    ill, mosquitoes = observation[ILL], observation[MOSQUITOES].sum()
    return np.array([0.0, 0.0, 1 - min(1, ill / 100), 1 - min(1, mosquitoes / 10_600)])

# %% 1 · counts in place of shares
def my_rule(observation):
    return np.array([0.0, 0.0, observation[ILL] / 50, observation[MOSQUITOES].sum() / 5000])

# %% 2 · always a number
def settles_at(mu, epsilon):
    return mu / (1 - epsilon) if epsilon != 1 else None

# %% 2 · only from above
def settles_at(mu, epsilon):
    return mu / (1 - epsilon) if epsilon < 1 else None

# %% 2 · wrong sign
def settles_at(mu, epsilon):
    return mu / (1 + epsilon) if abs(epsilon) < 1 else None

# %% 2 · avoiding crowds never settles
def settles_at(mu, epsilon):
    return mu / (1 - epsilon) if 0 <= epsilon < 1 else None

# %% 3 · moves with the weights
def one_round(theta, epsilon):
    moved = table.copy()
    moved[:, CHANGEABLE] += epsilon * theta[CHANGEABLE]
    return train(moved)

# %% 3 · moves everything
def one_round(theta, epsilon):
    return train(table - epsilon * theta)

# %% 3 · forgets epsilon
def one_round(theta, epsilon):
    moved = table.copy()
    moved[:, CHANGEABLE] -= theta[CHANGEABLE]
    return train(moved)

# %% 3 · the first three columns
def one_round(theta, epsilon):
    moved = table.copy()
    moved[:, :3] -= epsilon * theta[:3]
    return train(moved)

# %% 4 · two rounds
def find_stable(epsilon, rounds=30, close=1e-6):
    return one_round(one_round(train(table), epsilon), epsilon)

# %% 4 · the last weights, whatever they are
def find_stable(epsilon, rounds=30, close=1e-6):
    theta = train(table)
    for _ in range(rounds):
        theta = one_round(theta, epsilon)
    return theta

# %% 4 · looks at the bias alone
def find_stable(epsilon, rounds=30, close=1e-6):
    theta = train(table)
    for _ in range(rounds):
        last, theta = theta, one_round(theta, epsilon)
        if abs(theta[-1] - last[-1]) < 0.01:
            return theta
    return None

# %% 4 · does not ask again
def find_stable(epsilon, rounds=30, close=1e-6):
    theta = train(table)
    last, theta = theta, one_round(theta, epsilon)
    return theta if np.linalg.norm(theta - last) < close else None

# %% 5 · the weights of the past
my_weights = fit(table, behind, gaming)

# %% 5 · less on what can be changed
my_weights = theta_stable.copy()
my_weights[CHANGEABLE] /= 2

# %% 5 · one more round
my_weights = retrain(people, theta_stable, gaming)

# %% 5 · a step in the direction of nothing
my_weights = 0.99 * theta_stable

# %% 5 · what the library found
my_weights = theta_best.copy()
