# %% 1 · forgets four
my_life = [
    ("test", {"A": [0, 0], "B": [4, 4]}),
    ("train", "A", [2, 4, 6, 8, 8, 8, 8, 8, 8, 8]),
    ("test", {"A": [8, 8], "B": [2, 2]}),
    ("train", "B", [2, 4, 6, 9, 9, 9, 9, 9, 9, 9]),
    ("test", {"A": [4, 4], "B": [9, 9]}),
    ("train", "A", [4, 6, 8, 8, 8, 8, 8, 8, 8, 8]),
    ("test", {"A": [8, 8], "B": [9, 9]})]
# %% 1 · comes back after three
my_life = [
    ("test", {"A": [0, 0], "B": [4, 4]}),
    ("train", "A", [2, 4, 6, 8, 8, 8, 8, 8, 8, 8]),
    ("test", {"A": [8, 8], "B": [2, 2]}),
    ("train", "B", [2, 4, 6, 9, 9, 9, 9, 9, 9, 9]),
    ("test", {"A": [6, 6], "B": [9, 9]}),
    ("train", "A", [6, 6, 7, 8, 8, 8, 8, 8, 8, 8]),
    ("test", {"A": [8, 8], "B": [9, 9]})]
# %% 1 · A helps B
my_life = [
    ("test", {"A": [0, 0], "B": [4, 4]}),
    ("train", "A", [2, 4, 6, 8, 8, 8, 8, 8, 8, 8]),
    ("test", {"A": [8, 8], "B": [8, 8]}),
    ("train", "B", [8, 8, 8, 9, 9, 9, 9, 9, 9, 9]),
    ("test", {"A": [6, 6], "B": [9, 9]}),
    ("train", "A", [6, 7, 8, 8, 8, 8, 8, 8, 8, 8]),
    ("test", {"A": [8, 8], "B": [9, 9]})]
# %% 1 · the loss is in the last tests, after A was learned again
my_life = [
    ("test", {"A": [0, 0], "B": [4, 4]}),
    ("train", "A", [2, 4, 6, 8, 8, 8, 8, 8, 8, 8]),
    ("test", {"A": [8, 8], "B": [2, 2]}),
    ("train", "B", [2, 4, 6, 9, 9, 9, 9, 9, 9, 9]),
    ("test", {"A": [8, 8], "B": [9, 9]}),
    ("train", "A", [6, 7, 8, 8, 8, 8, 8, 8, 8, 8]),
    ("test", {"A": [6, 6], "B": [9, 9]})]
# %% 2 · from the best test
def maintenance(blocks):
    tests = {}
    for kind, task, mean in blocks:
        if kind == "test":
            tests.setdefault(task, []).append(mean)
    return {task: some[-1] - max(some[:-1]) for task, some in tests.items() if len(some) > 1}
# %% 2 · from the training
def maintenance(blocks):
    level, differences = {}, {}
    for kind, task, mean in blocks:
        if kind == "train":
            level[task] = mean
        elif task in level:
            differences.setdefault(task, []).append(mean - level[task])
    return {task: sum(some) / len(some) for task, some in differences.items()}
# %% 2 · the reference counts as a test without a loss
def maintenance(blocks):
    learned, reference, differences = set(), {}, {}
    for kind, task, mean in blocks:
        if kind == "train":
            learned.add(task)
            reference.pop(task, None)
        elif task in learned:
            reference.setdefault(task, mean)
            differences.setdefault(task, []).append(mean - reference[task])
    return {task: sum(some) / len(some) for task, some in differences.items()}
# %% 2 · only the last test
def maintenance(blocks):
    learned, reference, differences = set(), {}, {}
    for kind, task, mean in blocks:
        if kind == "train":
            learned.add(task)
            reference.pop(task, None)
        elif task in learned and task not in reference:
            reference[task] = mean
        elif task in learned:
            differences[task] = mean - reference[task]
    return differences
# %% 2 · the first training stays the reference
def maintenance(blocks):
    learned, reference, differences = set(), {}, {}
    for kind, task, mean in blocks:
        if kind == "train":
            learned.add(task)
        elif task in learned and task not in reference:
            reference[task] = mean
        elif task in learned:
            differences.setdefault(task, []).append(mean - reference[task])
    return {task: sum(some) / len(some) for task, some in differences.items()}
# %% 2 · tests before learning count
def maintenance(blocks):
    reference, differences = {}, {}
    for kind, task, mean in blocks:
        if kind == "train":
            reference.pop(task, None)
        elif task not in reference:
            reference[task] = mean
        else:
            differences.setdefault(task, []).append(mean - reference[task])
    for task in {task for kind, task, _ in blocks if kind == "test"} - set(differences):
        differences[task] = 0.0
    return {task: (sum(some) / len(some) if some else 0.0) if isinstance(some, list) else some
            for task, some in differences.items()}
# %% 3 · takes the end of the look for a recovery
def median_recovery(times, watched):
    return float(np.median(np.minimum(times, watched)))
# %% 3 · takes those not recovered for never
def median_recovery(times, watched):
    return float(np.median(times))
# %% 3 · all stay at risk
def median_recovery(times, watched):
    for time in np.sort(times[np.isfinite(times)]):
        if (times <= time).mean() >= 0.5:
            return float(time)
    return np.inf
# %% 3 · who was last looked at now is no longer at risk
def median_recovery(times, watched):
    recovered, share = np.isfinite(times), 1.0
    for time in np.unique(times[recovered]):
        at_risk = (np.where(recovered, times, watched - 1) >= time).sum()
        share *= 1 - (times == time).sum() / at_risk
        if share <= 0.5 + 1e-9:
            return float(time)
    return np.inf
# %% 3 · less than one half
def median_recovery(times, watched):
    last_seen, share = np.minimum(times, watched), 1.0
    for time in np.unique(times[np.isfinite(times)]):
        share *= 1 - (times == time).sum() / (last_seen >= time).sum()
        if share < 0.5 - 1e-9:
            return float(time)
    return np.inf
# %% 4 · what is above the level pays back
@metric("recovery_loss", unit="points", better="lower")
def recovery_loss(life):
    """What is missing."""
    losses = {}
    for task in life.tasks:
        rows = life.training(task).index
        for before, now in zip(rows, rows[1:]):
            level, curve = life.regimes.at[before, "terminal"], life.curve(now)
            losses[task] = losses.get(task, 0.0) + (level - curve).sum()
    return pd.Series(losses).reindex(life.tasks)
# %% 4 · only the last return
@metric("recovery_loss", unit="points", better="lower")
def recovery_loss(life):
    """What is missing."""
    losses = {}
    for task in life.tasks:
        rows = life.training(task).index
        for before, now in zip(rows, rows[1:]):
            level, curve = life.regimes.at[before, "terminal"], life.curve(now)
            losses[task] = np.clip(level - curve, 0, None).sum()
    return pd.Series(losses).reindex(life.tasks)
# %% 4 · below the highest level
@metric("recovery_loss", unit="points", better="lower")
def recovery_loss(life):
    """What is missing."""
    losses = {}
    for task in life.tasks:
        rows = life.training(task).index
        for before, now in zip(rows, rows[1:]):
            level, curve = life.regimes.at[before, "saturation"], life.curve(now)
            losses[task] = losses.get(task, 0.0) + np.clip(level - curve, 0, None).sum()
    return pd.Series(losses).reindex(life.tasks)
# %% 4 · counts episodes
@metric("recovery_loss", unit="points", better="lower")
def recovery_loss(life):
    """What is missing."""
    losses = {}
    for task in life.tasks:
        rows = life.training(task).index
        for before, now in zip(rows, rows[1:]):
            level, curve = life.regimes.at[before, "terminal"], life.curve(now)
            losses[task] = losses.get(task, 0.0) + (curve < level).sum()
    return pd.Series(losses).reindex(life.tasks)
# %% 5 · begins anew
mine = Restarting(LinearQ)
# %% 5 · weighs all alike
mine = LinUCBItem()
# %% 5 · learns slowly
mine = LinearQ(rate=0.02)
