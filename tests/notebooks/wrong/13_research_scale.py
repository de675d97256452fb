# %% 1 · stores a failure as finished
def run_all(cells, run, finished):
    failed = []
    for cell in cells:
        if cell not in finished:
            try:
                finished[cell] = run(cell)
            except Exception:
                finished[cell] = None
                failed.append(cell)
    return failed


# %% 1 · takes Ctrl-C for a failure
def run_all(cells, run, finished):
    failed = []
    for cell in cells:
        if cell not in finished:
            try:
                finished[cell] = run(cell)
            except BaseException:
                failed.append(cell)
    return failed


# %% 2 · a seed of its own for each user
def bootstrap_interval(scores, statistic, rng, resamples=1000):
    scores = np.asarray(scores)
    seeds, users = scores.shape
    results = [
        statistic(scores[rng.integers(seeds, size=(seeds, users)), np.arange(users)])
        for _ in range(resamples)
    ]
    return np.quantile(results, [0.025, 0.975])


# %% 2 · 5 % at either end
def bootstrap_interval(scores, statistic, rng, resamples=1000):
    scores = np.asarray(scores)
    results = [
        statistic(rng.choice(scores, size=len(scores))) for _ in range(resamples)
    ]
    return np.quantile(results, [0.05, 0.95])


# %% 3 · one side only
def simulated_power(difference, spread, seeds, rng, studies=2000):
    values = rng.normal(difference, spread, size=(studies, seeds))
    half = estimate.half_width(values.std(axis=1, ddof=1), seeds)
    return (values.mean(axis=1) > half).mean()


# %% 3 · knows the true spread
def simulated_power(difference, spread, seeds, rng, studies=2000):
    values = rng.normal(difference, spread, size=(studies, seeds))
    half = estimate.half_width(spread, seeds)
    return (np.abs(values.mean(axis=1)) > half).mean()


# %% 4 · without a margin
def users_needed(difference, by_user):
    return estimate.runs_needed(difference, np.std(by_user, ddof=1))


# %% 4 · a constant
def users_needed(difference, by_user):
    return 101


# %% 5 · one end only
def reachable(runs):
    return 1 - (runs["regret_last"] - runs["floor_last"])


sure = {
    "LinUCB minus Thompson": True,
    "LinUCB minus eps-greedy": False,
    "Thompson minus eps-greedy": False,
}


# %% 5 · new seeds instead of new users
def reachable(runs):
    random = runs["user"].map(chance)
    return (random - runs["regret_last"]) / (random - runs["floor_last"])


sure = {
    "LinUCB minus Thompson": True,
    "LinUCB minus eps-greedy": True,
    "Thompson minus eps-greedy": False,
}
