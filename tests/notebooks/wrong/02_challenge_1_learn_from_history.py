# %% 1 · returns the sum
def log_loss(p, opened):
    p = np.clip(p, 1e-15, 1 - 1e-15)
    return float(-np.where(opened, np.log(p), np.log(1 - p)).sum())


# %% 1 · infinite if a judge is sure and wrong
def log_loss(p, opened):
    with np.errstate(all="ignore"):
        return float(-np.log(np.where(opened, p, 1 - p)).mean())


# %% 2 · shifts all probabilities
def recalibrated(p_past, opened_past, p_new):
    return np.clip(p_new + opened_past.mean() - p_past.mean(), 0, 1)


# %% 2 · makes groups from the new probabilities
def recalibrated(p_past, opened_past, p_new):
    shares = [
        opened_past[group].mean() for group in np.array_split(np.argsort(p_past), 10)
    ]
    new = np.empty(len(p_new))
    for group, share in zip(np.array_split(np.argsort(p_new), 10), shares):
        new[group] = share
    return new


# %% 3 · each combination, however rare
def candidates_from(history, min_count=2):
    return history.drop_duplicates()


# %% 3 · the commonest of each app
def candidates_from(history, min_count=2):
    counts = history.value_counts()
    common = counts[counts >= 3].index.to_frame(index=False)
    return common


# %% 4 · more opens by one judge only
def my_rule(observation):
    time = noor.schema.context.decode_one(observation)["time"]
    family = {
        **plain,
        "postingApp": "org.pushlab.chat",
        "category": "call",
        "subject": "family",
    }
    by_time = {
        "morning": ("org.pushlab.chat", "msg", "friends"),
        "night": ("org.pushlab.social", "recommendation", "humor"),
    }
    app, category, subject = by_time.get(
        time, ("org.pushlab.food", "recommendation", "food & drink")
    )
    if time == "evening":
        return half.encode_one(family)
    return half.encode_one(
        {**plain, "postingApp": app, "category": category, "subject": subject}
    )


# %% 4 · asks the truth
def my_rule(observation):
    contexts = np.tile(observation, (len(catalogue), 1))
    probabilities = judges["truth"].probability(contexts, catalogue)
    return catalogue[probabilities.argmax()]


# %% 5 · one judge is enough
def agreed(weekly):
    pairs = set()
    for rates in weekly.values():
        for better, worse in permutations(rates, 2):
            if estimate.paired_interval(rates[better], rates[worse]).low > 0:
                pairs.add((better, worse))
    return pairs


# %% 5 · compares means without intervals
def agreed(weekly):
    agents = list(weekly[list(weekly)[0]])
    return {
        (better, worse)
        for better, worse in permutations(agents, 2)
        if all(
            np.mean(rates[better]) > np.mean(rates[worse]) for rates in weekly.values()
        )
    }
