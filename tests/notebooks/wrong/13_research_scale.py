# ruff: noqa
# %% 1 · stops at the first failure
def run_all(cells, run, finished):
    failed = []
    try:
        for cell in cells:
            if cell not in finished:
                finished[cell] = run(cell)
    except Exception:
        failed.append(cell)
    return failed

# %% 1 · runs everything again
def run_all(cells, run, finished):
    failed = []
    for cell in cells:
        try:
            finished[cell] = run(cell)
        except Exception:
            failed.append(cell)
    return failed

# %% 1 · keeps a failure as finished
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
            except:
                failed.append(cell)
    return failed

# %% 2 · does not sort
def middle_half(scores):
    values = np.ravel(scores)
    cut = len(values) // 4
    return values[cut:len(values) - cut].mean()

# %% 2 · each user separately
def middle_half(scores):
    table = np.sort(np.asarray(scores), axis=0)
    cut = len(table) // 4
    return table[cut:len(table) - cut].mean()

# %% 2 · clips in place of leaving out
def middle_half(scores):
    values = np.sort(np.ravel(scores))
    cut = len(values) // 4
    return np.clip(values, values[cut], values[-cut - 1]).mean()

# %% 2 · the median
def middle_half(scores):
    return np.median(np.ravel(scores))

# %% 3 · without replacement
def bootstrap_interval(scores, statistic, rng, resamples=1000):
    scores = np.asarray(scores)
    results = [statistic(rng.permuted(scores, axis=0)) for _ in range(resamples)]
    return np.quantile(results, [0.025, 0.975])

# %% 3 · whole rows
def bootstrap_interval(scores, statistic, rng, resamples=1000):
    scores = np.asarray(scores)
    results = [statistic(scores[rng.integers(len(scores), size=len(scores))]) for _ in range(resamples)]
    return np.quantile(results, [0.025, 0.975])

# %% 3 · mixes the users
def bootstrap_interval(scores, statistic, rng, resamples=1000):
    scores = np.asarray(scores)
    results = [statistic(rng.choice(scores.ravel(), size=scores.shape)) for _ in range(resamples)]
    return np.quantile(results, [0.025, 0.975])

# %% 3 · five per cent at either end
def bootstrap_interval(scores, statistic, rng, resamples=1000):
    scores = np.asarray(scores)
    seeds, users = scores.shape
    results = [statistic(scores[rng.integers(seeds, size=(seeds, users)), np.arange(users)]) for _ in range(resamples)]
    return np.quantile(results, [0.05, 0.95])

# %% 3 · chance of its own
def bootstrap_interval(scores, statistic, rng, resamples=1000):
    scores, own = np.asarray(scores), np.random.default_rng()
    seeds, users = scores.shape
    results = [statistic(scores[own.integers(seeds, size=(seeds, users)), np.arange(users)]) for _ in range(resamples)]
    return np.quantile(results, [0.025, 0.975])

# %% 4 · one side only
def simulated_power(difference, spread, seeds, rng, studies=2000):
    values = rng.normal(difference, spread, size=(studies, seeds))
    return (values.mean(axis=1) > estimate.half_width(values.std(axis=1, ddof=1), seeds)).mean()

# %% 4 · 1.96 for few seeds
def simulated_power(difference, spread, seeds, rng, studies=2000):
    values = rng.normal(difference, spread, size=(studies, seeds))
    return (np.abs(values.mean(axis=1)) > 1.96 * values.std(axis=1, ddof=1) / np.sqrt(seeds)).mean()

# %% 4 · the spread of all studies together, of single values
def simulated_power(difference, spread, seeds, rng, studies=2000):
    values = rng.normal(difference, spread, size=(studies, seeds))
    return (np.abs(values.mean(axis=1)) > 1.96 * spread).mean()

# %% 4 · forgets the difference
def simulated_power(difference, spread, seeds, rng, studies=2000):
    values = rng.normal(0, spread, size=(studies, seeds))
    return (np.abs(values.mean(axis=1)) > estimate.half_width(values.std(axis=1, ddof=1), seeds)).mean()

# %% 5 · without a margin
def users_needed(difference, by_user):
    return estimate.runs_needed(difference, np.std(by_user, ddof=1))

# %% 5 · a power of one half
def users_needed(difference, by_user):
    return estimate.runs_needed(difference, estimate.pilot_spread(by_user), wanted=0.5)

# %% 5 · one too many
def users_needed(difference, by_user):
    return estimate.runs_needed(difference, estimate.pilot_spread(by_user)) + 1

# %% 5 · the number of this pilot
def users_needed(difference, by_user):
    return 44

# %% 6 · one end only
def reachable(runs):
    return 1 - (runs["regret_last"] - runs["floor_last"])

survives = {"Thompson minus LinUCB": True, "Thompson minus eps-greedy": False}

# %% 6 · the wrong end is 1
def reachable(runs):
    random = runs["user"].map(chance)
    return (runs["regret_last"] - runs["floor_last"]) / (random - runs["floor_last"])

survives = {"Thompson minus LinUCB": True, "Thompson minus eps-greedy": False}

# %% 6 · everything survives
def reachable(runs):
    random = runs["user"].map(chance)
    return (random - runs["regret_last"]) / (random - runs["floor_last"])

survives = {"Thompson minus LinUCB": True, "Thompson minus eps-greedy": True}

# %% 6 · squares the way
def reachable(runs):
    random = runs["user"].map(chance)
    return ((random - runs["regret_last"]) / (random - runs["floor_last"])) ** 2

survives = {"Thompson minus LinUCB": True, "Thompson minus eps-greedy": False}

# %% 6 · speaks of one lead only
def reachable(runs):
    random = runs["user"].map(chance)
    return (random - runs["regret_last"]) / (random - runs["floor_last"])

survives = {"Thompson minus LinUCB": True}
