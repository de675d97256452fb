# %% 1 · recovery after three
my_life = [
    ("test", {"A": [0, 0], "B": [4, 4]}),
    ("train", "A", [2, 4, 6, 8, 8, 8, 8, 8, 8, 8]),
    ("test", {"A": [8, 8], "B": [2, 2]}),
    ("train", "B", [2, 4, 6, 9, 9, 9, 9, 9, 9, 9]),
    ("test", {"A": [6, 6], "B": [9, 9]}),
    ("train", "A", [6, 6, 7, 8, 8, 8, 8, 8, 8, 8]),
    ("test", {"A": [8, 8], "B": [9, 9]}),
]

# %% 1 · maintenance from the last tests
my_life = [
    ("test", {"A": [0, 0], "B": [4, 4]}),
    ("train", "A", [2, 4, 6, 8, 8, 8, 8, 8, 8, 8]),
    ("test", {"A": [8, 8], "B": [2, 2]}),
    ("train", "B", [2, 4, 6, 9, 9, 9, 9, 9, 9, 9]),
    ("test", {"A": [8, 8], "B": [9, 9]}),
    ("train", "A", [6, 7, 8, 8, 8, 8, 8, 8, 8, 8]),
    ("test", {"A": [6, 6], "B": [9, 9]}),
]


# %% 2 · loss from the best test
def maintenance(blocks):
    tests = {}
    for kind, task, mean in blocks:
        if kind == "test":
            tests.setdefault(task, []).append(mean)
    return {
        task: means[-1] - max(means[:-1])
        for task, means in tests.items()
        if len(means) > 1
    }


# %% 2 · the first training stays the reference
def maintenance(blocks):
    learned = set()
    reference = {}
    differences = {}
    for kind, task, mean in blocks:
        if kind == "train":
            learned.add(task)
        elif task in learned and task not in reference:
            reference[task] = mean
        elif task in learned:
            differences.setdefault(task, []).append(mean - reference[task])
    return {task: sum(values) / len(values) for task, values in differences.items()}


# %% 3 · counts censored times as recoveries
def median_recovery(times, follow_up_time):
    return float(np.median(np.minimum(times, follow_up_time)))


# %% 3 · all stay at risk
def median_recovery(times, follow_up_time):
    for time in np.sort(times[np.isfinite(times)]):
        if (times <= time).mean() >= 0.5:
            return float(time)
    return np.inf


# %% 4 · gains cancel losses
@metric("recovery_loss", unit="points", better="lower")
def recovery_loss(life):
    """Reward missing until a task is as good as before."""
    losses = {}
    for task in life.tasks:
        rows = life.training(task).index
        for before, now in zip(rows, rows[1:]):
            level = life.regimes.at[before, "terminal"]
            loss = (level - life.curve(now)).sum()
            losses[task] = losses.get(task, 0.0) + loss
    return pd.Series(losses).reindex(life.tasks)


# %% 4 · below the highest level
@metric("recovery_loss", unit="points", better="lower")
def recovery_loss(life):
    """Reward missing until a task is as good as before."""
    losses = {}
    for task in life.tasks:
        rows = life.training(task).index
        for before, now in zip(rows, rows[1:]):
            level = life.regimes.at[before, "saturation"]
            loss = np.clip(level - life.curve(now), 0, None).sum()
            losses[task] = losses.get(task, 0.0) + loss
    return pd.Series(losses).reindex(life.tasks)


# %% 5 · restarts
mine = RestartingAgent(LinearQ)

# %% 5 · learns slowly
mine = LinearQ(rate=0.02)
