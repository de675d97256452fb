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
my_life[4], my_life[6] = my_life[6], my_life[4]


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
    return {task: np.mean(values) for task, values in differences.items()}


# %% 2 · the reference counts as a difference of 0
def maintenance(blocks):
    learned = set()
    reference = {}
    differences = {}
    for kind, task, mean in blocks:
        if kind == "train":
            learned.add(task)
            reference.pop(task, None)
        elif task in learned:
            first = reference.setdefault(task, mean)
            differences.setdefault(task, []).append(mean - first)
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


# %% 3 · less than one half
def median_recovery(times, follow_up_time):
    last_seen = np.minimum(times, follow_up_time)
    share = 1.0
    for time in np.unique(times[np.isfinite(times)]):
        at_risk = (last_seen >= time).sum()
        share *= 1 - (times == time).sum() / at_risk
        if share < 0.5 - 1e-9:
            return float(time)
    return np.inf


# %% 3 · not at risk at the end of the observation
def median_recovery(times, follow_up_time):
    share = 1.0
    for time in np.unique(times[np.isfinite(times)]):
        at_risk = ((times >= time) & (follow_up_time > time)).sum()
        share *= 1 - (times == time).sum() / at_risk
        if share <= 0.5 + 1e-9:
            return float(time)
    return np.inf


# %% 4 · gains cancel losses
def losses(life, loss_of):
    result = {}
    for task in life.tasks:
        rows = life.training(task).index
        for before, now in zip(rows, rows[1:]):
            loss = loss_of(life.regimes, rows[0], before, life.curve(now))
            result[task] = result.get(task, 0.0) + loss.sum()
    return pd.Series(result).reindex(life.tasks)


@metric("recovery_loss", unit="points", better="lower")
def recovery_loss(life):
    """Reward missing until a task is as good as before."""
    return losses(
        life, lambda table, first, before, curve: table.at[before, "terminal"] - curve
    )


# %% 4 · below the highest level
@metric("recovery_loss", unit="points", better="lower")
def recovery_loss(life):
    """Reward missing until a task is as good as before."""
    return losses(
        life,
        lambda table, first, before, curve: np.clip(
            table.at[before, "saturation"] - curve, 0, None
        ),
    )


# %% 4 · below the first level
@metric("recovery_loss", unit="points", better="lower")
def recovery_loss(life):
    """Reward missing until a task is as good as before."""
    return losses(
        life,
        lambda table, first, before, curve: np.clip(
            table.at[first, "terminal"] - curve, 0, None
        ),
    )


# %% 5 · restarts
mine = RestartingAgent(LinearQ)


# %% 5 · learns slowly
mine = LinearQ(rate=0.02)


# %% 5 · a regression on all experience
mine = LinUCBItem()
