# %% 1 · all or nothing
def my_rule(observation):
    treatment = float(observation[ILL] > 10)
    spray = float(observation[MOSQUITOES].sum() > 3000)
    return np.array([0.0, 0.0, treatment, spray])


# %% 1 · less where more is needed
def my_rule(observation):
    ill = observation[ILL]
    mosquitoes = observation[MOSQUITOES].sum()
    return np.array([0.0, 0.0, 1 - min(1, ill / 100), 1 - min(1, mosquitoes / 10_600)])


# %% 2 · checks the upper bound only
def settles_at(mu, epsilon):
    return mu / (1 - epsilon) if epsilon < 1 else None


# %% 2 · iterates
def settles_at(mu, epsilon):
    theta = mu
    for _ in range(100):
        theta = mu + epsilon * theta
    return theta if abs(epsilon) < 1 else None


# %% 3 · wrong direction
def one_round(theta, epsilon):
    moved = table.copy()
    moved[:, CHANGEABLE] += epsilon * theta[CHANGEABLE]
    return train(moved)


# %% 3 · the first three columns
def one_round(theta, epsilon):
    moved = table.copy()
    moved[:, :3] -= epsilon * theta[:3]
    return train(moved)


# %% 4 · returns weights that have not converged
def find_stable(epsilon, rounds=30, close=1e-6):
    theta = train(table)
    for _ in range(rounds):
        theta = one_round(theta, epsilon)
    return theta


# %% 4 · compares with the first weights only
def find_stable(epsilon, rounds=30, close=1e-6):
    first = train(table)
    theta = one_round(first, epsilon)
    return theta if np.linalg.norm(theta - first) < close else None


# %% 5 · people do not respond
def less_than_stable(risk, start):
    from scipy.optimize import minimize

    return minimize(lambda theta: risk(theta, 0 * theta), start, method="BFGS").x


# %% 5 · a step that is too small
def less_than_stable(risk, start):
    slope = [
        (risk(start + step, start + step) - risk(start, start)) / 1e-5
        for step in 1e-5 * np.eye(len(start))
    ]
    return start - 0.05 * np.array(slope)
