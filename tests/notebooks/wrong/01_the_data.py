# %% 1 · the normal approximation
def opening_rate(opened):
    n = len(opened)
    p = np.mean(opened)
    z = 1.96
    half = z * (p * (1 - p) / n) ** 0.5
    return p, p - half, p + half


# %% 1 · forgets to divide the width
def opening_rate(opened):
    n = len(opened)
    p = np.mean(opened)
    z = 1.96
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * (p * (1 - p) / n + z**2 / (4 * n**2)) ** 0.5
    return p, centre - half, centre + half


# %% 2 · raw shares
def most_disputed(first_user, second_user, time):
    rates = []
    for name in (first_user, second_user):
        diary = users[name].history.engagements
        diary = diary[diary["time"] == time]
        opened = diary["action"].eq("opened")
        table = opened.groupby(diary["subject"]).agg(["mean", "size"])
        rates.append(table.loc[table["size"] >= 15, "mean"])
    return (rates[0] - rates[1]).abs().idxmax()


# %% 2 · includes rare subjects
def most_disputed(first_user, second_user, time):
    rates = []
    for name in (first_user, second_user):
        diary = users[name].history.engagements
        diary = diary[diary["time"] == time]
        opened = diary["action"].eq("opened")
        rates.append(opened.groupby(diary["subject"]).mean() - opened.mean())
    return (rates[0] - rates[1]).abs().idxmax()


# %% 3 · weights each place equally
def within(diary, feature, baseline, value, by):
    opened = diary["action"].eq("opened")
    table = opened.groupby([diary[by], diary[feature]]).mean().unstack()
    return (table[value] - table[baseline]).mean()


# %% 3 · weights include medium noise
def within(diary, feature, baseline, value, by):
    gaps = []
    weights = []
    for _, group in diary.groupby(by):
        opened = group["action"].eq("opened")
        first = opened[group[feature] == baseline]
        second = opened[group[feature] == value]
        if len(first) and len(second):
            gaps.append(second.mean() - first.mean())
            weights.append(len(group))
    return np.average(gaps, weights=weights)


# %% 4 · a closed list of apps
columns = {"program": "app", "hour": "hour", "answer": "action"}
schema = {
    "name": "phone export",
    "notification": [{"name": "app", "kind": "closed", "values": ["mail", "chat"]}],
    "context": [{"name": "hour", "kind": "integer", "edges": [6, 12, 17, 21]}],
    "action": {"opened": ["tapped"], "dismissed": ["swiped"]},
    "layouts": [
        {
            "root": "",
            "periods": {
                "history": [{"file": "autumn.csv", "columns": columns}],
                "test": [{"file": "winter.csv", "columns": columns}],
            },
        }
    ],
}

# %% 4 · too few edges
columns = {"program": "app", "hour": "hour", "answer": "action"}
schema = {
    "name": "phone export",
    "notification": [{"name": "app", "kind": "open"}],
    "context": [{"name": "hour", "kind": "integer", "edges": [10, 22]}],
    "action": {"opened": ["tapped"], "dismissed": ["swiped"]},
    "layouts": [
        {
            "root": "",
            "periods": {
                "history": [{"file": "autumn.csv", "columns": columns}],
                "test": [{"file": "winter.csv", "columns": columns}],
            },
        }
    ],
}


# %% 5 · trusts the order of the table
def split(diary, share):
    cut = round(share * len(diary))
    return diary.iloc[:cut], diary.iloc[cut:]


# %% 5 · by days, not by notifications
def split(diary, share):
    first = diary["posted"].min()
    last = diary["posted"].max()
    early = diary["posted"] < first + share * (last - first)
    return diary[early], diary[~early]
