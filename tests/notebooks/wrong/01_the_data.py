# ruff: noqa
# %% 1 · the plain interval
def opening_rate(opened):
    n, p, z = len(opened), np.mean(opened), 1.96
    half = z * (p * (1 - p) / n) ** 0.5
    return p, p - half, p + half

# %% 1 · Wilson's width around the share
def opening_rate(opened):
    n, p, z = len(opened), np.mean(opened), 1.96
    half = z * (p * (1 - p) / n + z**2 / (4 * n**2)) ** 0.5 / (1 + z**2 / n)
    return p, p - half, p + half

# %% 1 · forgets to divide the width
def opening_rate(opened):
    n, p, z = len(opened), np.mean(opened), 1.96
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * (p * (1 - p) / n + z**2 / (4 * n**2)) ** 0.5
    return p, centre - half, centre + half

# %% 1 · counts in place of shares
def opening_rate(opened):
    n, k, z = len(opened), np.sum(opened), 1.96
    return k, k - z * k**0.5, k + z * k**0.5

# %% 1 · the centre in place of the share
def opening_rate(opened):
    n, p, z = len(opened), np.mean(opened), 1.96
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * (p * (1 - p) / n + z**2 / (4 * n**2)) ** 0.5 / (1 + z**2 / n)
    return centre, centre - half, centre + half

# %% 2 · raw shares
def most_disputed(one, other, time):
    rates = []
    for name in (one, other):
        diary = users[name].history.engagements
        diary = diary[diary["time"] == time]
        opened = diary["action"].eq("opened")
        table = opened.groupby(diary["subject"]).agg(["mean", "size"])
        rates.append(table.loc[table["size"] >= 15, "mean"])
    return (rates[0] - rates[1]).abs().idxmax()

# %% 2 · the mean, and the whole day
def most_disputed(one, other, time):
    rates = []
    for name in (one, other):
        diary = users[name].history.engagements
        opened = diary["action"].eq("opened")
        table = opened.groupby(diary["subject"]).agg(["mean", "size"])
        rates.append(table.loc[table["size"] >= 15, "mean"] - opened.mean())
    return (rates[0] - rates[1]).abs().idxmax()

# %% 2 · only what the first opens more
def most_disputed(one, other, time):
    rates = []
    for name in (one, other):
        diary = users[name].history.engagements
        diary = diary[diary["time"] == time]
        opened = diary["action"].eq("opened")
        table = opened.groupby(diary["subject"]).agg(["mean", "size"])
        rates.append(table.loc[table["size"] >= 15, "mean"] - opened.mean())
    return (rates[0] - rates[1]).idxmax()

# %% 2 · subjects that hardly came
def most_disputed(one, other, time):
    rates = []
    for name in (one, other):
        diary = users[name].history.engagements
        diary = diary[diary["time"] == time]
        opened = diary["action"].eq("opened")
        rates.append(opened.groupby(diary["subject"]).mean() - opened.mean())
    return (rates[0] - rates[1]).abs().idxmax()

# %% 2 · the answer for one pair
def most_disputed(one, other, time):
    return "online video"

# %% 3 · every place counts the same
def within(diary, feature, one, other, by):
    opened = diary["action"].eq("opened")
    table = opened.groupby([diary[by], diary[feature]]).mean().unstack()
    return (table[other] - table[one]).mean()

# %% 3 · the other way round
def within(diary, feature, one, other, by):
    table = diary["action"].eq("opened").groupby([diary[by], diary[feature]]).agg(["mean", "size"]).unstack()
    table = table.dropna(subset=[("mean", one), ("mean", other)])
    weights = table["size"][one] + table["size"][other]
    return np.average(table["mean"][one] - table["mean"][other], weights=weights)

# %% 3 · weighted by the loud ones only
def within(diary, feature, one, other, by):
    table = diary["action"].eq("opened").groupby([diary[by], diary[feature]]).agg(["mean", "size"]).unstack()
    table = table.dropna(subset=[("mean", one), ("mean", other)])
    return np.average(table["mean"][other] - table["mean"][one], weights=table["size"][other])

# %% 3 · a place that is always loud makes it nan
def within(diary, feature, one, other, by):
    table = diary["action"].eq("opened").groupby([diary[by], diary[feature]]).agg(["mean", "size"]).unstack()
    weights = table["size"].fillna(0)[one] + table["size"].fillna(0)[other]
    return np.average(table["mean"][other] - table["mean"][one], weights=weights)

# %% 3 · weights of the whole group
def within(diary, feature, one, other, by):
    gaps, weights = [], []
    for _, group in diary.groupby(by):
        opened = group["action"].eq("opened")
        here, there = opened[group[feature] == one], opened[group[feature] == other]
        if len(here) and len(there):
            gaps.append(there.mean() - here.mean())
            weights.append(len(group))
    return np.average(gaps, weights=weights)

# %% 3 · for noise and places alone
def within(diary, feature, one, other, by):
    gaps, weights = [], []
    for _, group in diary.groupby("place"):
        opened = group["action"].eq("opened")
        here, there = opened[group["noise"] == "low"], opened[group["noise"] == "high"]
        if len(here) and len(there):
            gaps.append(there.mean() - here.mean())
            weights.append(len(here) + len(there))
    return np.average(gaps, weights=weights)

# %% 4 · tapped and swiped the wrong way round
columns = {"program": "app", "hour": "hour", "answer": "action"}
schema = {
    "name": "phone export", "notification": [{"name": "app", "kind": "open"}],
    "context": [{"name": "hour", "kind": "integer", "edges": [6, 12, 17, 21]}],
    "action": {"opened": ["swiped"], "dismissed": ["tapped"]},
    "layouts": [{"root": "", "periods": {"history": [{"file": "autumn.csv", "columns": columns}],
                                         "test": [{"file": "winter.csv", "columns": columns}]}}]}

# %% 4 · lists the apps of this export
columns = {"program": "app", "hour": "hour", "answer": "action"}
schema = {
    "name": "phone export", "notification": [{"name": "app", "kind": "closed", "values": ["mail", "chat"]}],
    "context": [{"name": "hour", "kind": "integer", "edges": [6, 12, 17, 21]}],
    "action": {"opened": ["tapped"], "dismissed": ["swiped"]},
    "layouts": [{"root": "", "periods": {"history": [{"file": "autumn.csv", "columns": columns}],
                                         "test": [{"file": "winter.csv", "columns": columns}]}}]}

# %% 4 · the future is learned from
columns = {"program": "app", "hour": "hour", "answer": "action"}
schema = {
    "name": "phone export", "notification": [{"name": "app", "kind": "open"}],
    "context": [{"name": "hour", "kind": "integer", "edges": [6, 12, 17, 21]}],
    "action": {"opened": ["tapped"], "dismissed": ["swiped"]},
    "layouts": [{"root": "", "periods": {"history": [{"file": "winter.csv", "columns": columns}],
                                         "test": [{"file": "autumn.csv", "columns": columns}]}}]}

# %% 4 · one edge
columns = {"program": "app", "hour": "hour", "answer": "action"}
schema = {
    "name": "phone export", "notification": [{"name": "app", "kind": "open"}],
    "context": [{"name": "hour", "kind": "integer", "edges": [12]}],
    "action": {"opened": ["tapped"], "dismissed": ["swiped"]},
    "layouts": [{"root": "", "periods": {"history": [{"file": "autumn.csv", "columns": columns}],
                                         "test": [{"file": "winter.csv", "columns": columns}]}}]}

# %% 4 · the hour is part of the notification
columns = {"program": "app", "hour": "hour", "answer": "action"}
schema = {
    "name": "phone export",
    "notification": [{"name": "app", "kind": "open"}, {"name": "hour", "kind": "integer", "edges": [6, 12, 17, 21]}],
    "context": [],
    "action": {"opened": ["tapped"], "dismissed": ["swiped"]},
    "layouts": [{"root": "", "periods": {"history": [{"file": "autumn.csv", "columns": columns}],
                                         "test": [{"file": "winter.csv", "columns": columns}]}}]}

# %% 4 · two edges
columns = {"program": "app", "hour": "hour", "answer": "action"}
schema = {
    "name": "phone export",
    "notification": [{"name": "app", "kind": "open"}],
    "context": [{"name": "hour", "kind": "integer", "edges": [10, 22]}],
    "action": {"opened": ["tapped"], "dismissed": ["swiped"]},
    "layouts": [{"root": "", "periods": {
        "history": [{"file": "autumn.csv", "columns": columns}],
        "test": [{"file": "winter.csv", "columns": columns}]}}]}

# %% 4 · edges an hour late
columns = {"program": "app", "hour": "hour", "answer": "action"}
schema = {
    "name": "phone export",
    "notification": [{"name": "app", "kind": "open"}],
    "context": [{"name": "hour", "kind": "integer", "edges": [7, 13, 18, 22]}],
    "action": {"opened": ["tapped"], "dismissed": ["swiped"]},
    "layouts": [{"root": "", "periods": {
        "history": [{"file": "autumn.csv", "columns": columns}],
        "test": [{"file": "winter.csv", "columns": columns}]}}]}

# %% 4 · every hour by itself
columns = {"program": "app", "hour": "hour", "answer": "action"}
schema = {
    "name": "phone export",
    "notification": [{"name": "app", "kind": "open"}],
    "context": [{"name": "hour", "kind": "open"}],
    "action": {"opened": ["tapped"], "dismissed": ["swiped"]},
    "layouts": [{"root": "", "periods": {
        "history": [{"file": "autumn.csv", "columns": columns}],
        "test": [{"file": "winter.csv", "columns": columns}]}}]}

# %% 5 · trusts the order of the table
def split(diary, share):
    cut = round(share * len(diary))
    return diary.iloc[:cut], diary.iloc[cut:]

# %% 5 · the later part first
def split(diary, share):
    ordered = diary.sort_values("posted", ascending=False)
    cut = round(share * len(ordered))
    return ordered.iloc[:cut], ordered.iloc[cut:]

# %% 5 · judges by what it has learned from
def split(diary, share):
    ordered = diary.sort_values("posted")
    return ordered.iloc[:round(share * len(ordered))], ordered

# %% 5 · the share is the later part's
def split(diary, share):
    ordered = diary.sort_values("posted")
    cut = round((1 - share) * len(ordered))
    return ordered.iloc[:cut], ordered.iloc[cut:]

# %% 5 · by days, not by notifications
def split(diary, share):
    first, last = diary["posted"].min(), diary["posted"].max()
    early = diary["posted"] < first + share * (last - first)
    return diary[early], diary[~early]
