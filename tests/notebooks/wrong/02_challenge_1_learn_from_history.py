# %% 1 · the squared error
def log_loss(p, opened):
    return float(np.mean((p - opened) ** 2))

# %% 1 · forgets the minus sign
def log_loss(p, opened):
    p = np.clip(p, 1e-15, 1 - 1e-15)
    return float(np.mean(np.where(opened, np.log(p), np.log(1 - p))))

# %% 1 · counts only what was opened
def log_loss(p, opened):
    return float(-np.log(np.clip(p, 1e-15, 1))[opened].mean())

# %% 1 · sums
def log_loss(p, opened):
    p = np.clip(p, 1e-15, 1 - 1e-15)
    return float(-np.where(opened, np.log(p), np.log(1 - p)).sum())

# %% 1 · infinite where a judge was sure and wrong
def log_loss(p, opened):
    with np.errstate(all="ignore"):
        return float(-np.log(np.where(opened, p, 1 - p)).mean())

# %% 1 · in bits
def log_loss(p, opened):
    p = np.clip(p, 1e-15, 1 - 1e-15)
    return float(-np.log2(np.where(opened, p, 1 - p)).mean())

# %% 1 · clips far too much
def log_loss(p, opened):
    p = np.clip(p, 0.02, 0.98)
    return float(-np.log(np.where(opened, p, 1 - p)).mean())

# %% 2 · the share of all for everybody
def recalibrated(p_past, opened_past, p_new):
    return np.full(len(p_new), opened_past.mean())

# %% 2 · shifts everything
def recalibrated(p_past, opened_past, p_new):
    return np.clip(p_new + opened_past.mean() - p_past.mean(), 0, 1)

# %% 2 · groups of equal width from 0 to 1
def recalibrated(p_past, opened_past, p_new):
    edges = np.linspace(0, 1, 11)[1:-1]
    past, share = np.digitize(p_past, edges), np.full(10, 0.5)
    for group in np.unique(past):
        share[group] = opened_past[past == group].mean()
    return share[np.digitize(p_new, edges)]

# %% 2 · the new ones make groups of their own
def recalibrated(p_past, opened_past, p_new):
    shares = [opened_past[group].mean() for group in np.array_split(np.argsort(p_past), 10)]
    new = np.empty(len(p_new))
    for group, share in zip(np.array_split(np.argsort(p_new), 10), shares):
        new[group] = share
    return new

# %% 2 · stretches from 0 to 1
def recalibrated(p_past, opened_past, p_new):
    return np.clip((p_new - p_past.min()) / (p_past.max() - p_past.min()), 0, 1)

# %% 2 · counts dismissals
def recalibrated(p_past, opened_past, p_new):
    edges = np.quantile(p_past, np.linspace(0, 1, 11)[1:-1])
    past = np.digitize(p_past, edges)
    share = np.array([1 - opened_past[past == group].mean() for group in range(10)])
    return share[np.digitize(p_new, edges)]

# %% 2 · eleven borders
def recalibrated(p_past, opened_past, p_new):
    borders = np.quantile(p_past, np.linspace(0, 1, 11))
    past, new = np.digitize(p_past, borders), np.digitize(p_new, borders)
    share = [opened_past[past == g].mean() if (past == g).any() else 0.5 for g in range(11)]
    return np.array(share)[new]

# %% 3 · every row of the diary
def candidates_from(history, least=2):
    return history

# %% 3 · each combination, however rare
def candidates_from(history, least=2):
    return history.drop_duplicates()

# %% 3 · counts every value by itself
def candidates_from(history, least=2):
    common = history.drop_duplicates()
    for name in history:
        counts = history[name].value_counts()
        common = common[common[name].map(counts) >= least]
    return common

# %% 3 · the commonest of each app
def candidates_from(history, least=2):
    counts = history.value_counts()
    common = counts[counts >= 3].index.to_frame(index=False)
    return common

# %% 3 · forgets the argument
def candidates_from(history, least=2):
    counts = history.value_counts()
    return counts[counts >= 2].index.to_frame(index=False)

# %% 4 · the best subject, always
def my_rule(observation):
    return half.encode_one({**plain, "postingApp": "org.pushlab.food", "category": "recommendation",
                            "subject": "food & drink"})

# %% 4 · a message from the shop about friends
def my_rule(observation):
    context = noor.schema.context.decode_one(observation)
    subject = "friends" if context["time"] == "morning" else "food & drink"
    return half.encode_one({**plain, "postingApp": "org.pushlab.shop", "category": "msg", "subject": subject})

# %% 4 · friends in the morning, work at other times
def my_rule(observation):
    context = noor.schema.context.decode_one(observation)
    friends = {**plain, "postingApp": "org.pushlab.chat", "category": "msg", "subject": "friends"}
    return half.encode_one(friends if context["time"] == "morning" else calendar)

# %% 4 · the family in the evening, as the truth would
def my_rule(observation):
    time = noor.schema.context.decode_one(observation)["time"]
    family = {**plain, "postingApp": "org.pushlab.chat", "category": "call", "subject": "family"}
    by_time = {"morning": ("org.pushlab.chat", "msg", "friends"),
               "night": ("org.pushlab.social", "recommendation", "humor")}
    app, category, subject = by_time.get(time, ("org.pushlab.food", "recommendation", "food & drink"))
    return half.encode_one(family if time == "evening" else
                           {**plain, "postingApp": app, "category": category, "subject": subject})

# %% 4 · asks the truth
def my_rule(observation):
    likes = judges["truth"].probability(np.tile(observation, (len(catalogue), 1)), catalogue)
    return catalogue[likes.argmax()]

# %% 4 · sends what "most opened" sends
table = {tuple(context): sent for context, sent in zip(contexts, codes["most opened"])}

def my_rule(observation):
    return table[tuple(observation)]

# %% 5 · one judge is enough
def agreed(weekly):
    return {pair for rates in weekly.values() for pair in permutations(rates, 2)
            if estimate.paired_interval(rates[pair[0]], rates[pair[1]]).low > 0}

# %% 5 · means alone
def agreed(weekly):
    agents = list(weekly[list(weekly)[0]])
    return {(one, other) for one, other in permutations(agents, 2)
            if all(np.mean(rates[one]) > np.mean(rates[other]) for rates in weekly.values())}

# %% 5 · intervals that do not touch
def agreed(weekly):
    agents = list(weekly[list(weekly)[0]])
    return {(one, other) for one, other in permutations(agents, 2)
            if all(estimate.mean_interval(rates[one]).low > estimate.mean_interval(rates[other]).high
                   for rates in weekly.values())}

# %% 5 · an interval that includes zero counts
def agreed(weekly):
    agents = list(weekly[list(weekly)[0]])
    return {(one, other) for one, other in permutations(agents, 2)
            if all(estimate.paired_interval(rates[one], rates[other]).high > 0 for rates in weekly.values())}
