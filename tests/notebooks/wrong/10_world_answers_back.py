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

# %% 2 · many rounds
def settles_at(mu, epsilon):
    theta = mu
    for _ in range(100):
        theta = mu + epsilon * theta
    return theta if abs(epsilon) < 1 else None

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

# %% 5 · people do not answer the weights that are tried
def less_than_stable(risk, start):
    from scipy.optimize import minimize
    return minimize(lambda theta: risk(theta, start), 1.1 * start, method="BFGS").x

# %% 5 · people as they were
def less_than_stable(risk, start):
    from scipy.optimize import minimize
    return minimize(lambda theta: risk(theta, 0 * theta), start, method="BFGS").x

# %% 5 · less on what can be changed
def less_than_stable(risk, start):
    weights = start.copy()
    weights[CHANGEABLE] /= 2
    return weights

# %% 5 · a step that is too small
def less_than_stable(risk, start):
    slope = [(risk(start + step, start + step) - risk(start, start)) / 1e-5 for step in 1e-5 * np.eye(len(start))]
    return start - 0.05 * np.array(slope)

# %% 5 · the weights of this notebook
def less_than_stable(risk, start):
    return theta_best

# %% 5 · returns the risk
def less_than_stable(risk, start):
    from scipy.optimize import minimize
    return minimize(lambda theta: risk(theta, theta), start, method="BFGS").fun
