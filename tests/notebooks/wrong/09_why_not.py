# %% 1 · compares the groups with treatment
def split(y0, y1, treated):
    return (y1 - y0)[treated].mean(), y1[treated].mean() - y1[~treated].mean()


# %% 1 · effect on all units
def split(y0, y1, treated):
    effect = (y1 - y0).mean()
    return effect, y1[treated].mean() - y0[~treated].mean() - effect


# %% 2 · a collider always blocks
def is_blocked(path, given, arrows):
    for left, middle, right in zip(path, path[1:], path[2:]):
        is_collider = (left, middle) in arrows and (right, middle) in arrows
        if is_collider or middle in given:
            return True
    return False


# %% 2 · ignores descendants of a collider
def is_blocked(path, given, arrows):
    for left, middle, right in zip(path, path[1:], path[2:]):
        is_collider = (left, middle) in arrows and (right, middle) in arrows
        if is_collider != (middle in given):
            return True
    return False


# %% 3 · the mean over the treated
def regression_effect(x, treated, outcome):
    design = np.column_stack([np.ones(len(x)), x])
    treated_line = np.linalg.lstsq(design[treated], outcome[treated], rcond=None)[0]
    other_line = np.linalg.lstsq(design[~treated], outcome[~treated], rcond=None)[0]
    return (design @ treated_line - design @ other_line)[treated].mean()


# %% 3 · no intercept
def regression_effect(x, treated, outcome):
    treated_line = np.linalg.lstsq(x[treated], outcome[treated], rcond=None)[0]
    other_line = np.linalg.lstsq(x[~treated], outcome[~treated], rcond=None)[0]
    return (x @ treated_line - x @ other_line).mean()


# %% 4 · weights the untreated by 1 / e
def weighted_effect(chance, treated, outcome, clip=0.02):
    weight = 1 / np.clip(chance, clip, 1 - clip)
    treated_mean = np.average(outcome[treated], weights=weight[treated])
    return treated_mean - np.average(outcome[~treated], weights=weight[~treated])


# %% 4 · clips only small chances
def weighted_effect(chance, treated, outcome, clip=0.02):
    e = np.maximum(chance, clip)
    weight = np.where(treated, 1 / e, 1 / (1 - e))
    treated_mean = np.average(outcome[treated], weights=weight[treated])
    return treated_mean - np.average(outcome[~treated], weights=weight[~treated])


# %% 4 · ignores the argument clip
def weighted_effect(chance, treated, outcome, clip=0.02):
    e = np.clip(chance, 0.02, 0.98)
    weight = np.where(treated, 1 / e, 1 / (1 - e))
    return np.average(outcome[treated], weights=weight[treated]) - np.average(
        outcome[~treated], weights=weight[~treated]
    )


# %% 5 · residuals without weights
def doubly_robust(m0, m1, chance, treated, outcome):
    scores = m1 - m0 + treated * (outcome - m1) - (1 - treated) * (outcome - m0)
    estimate = scores.mean()
    error = scores.std(ddof=1) / np.sqrt(len(scores))
    return estimate, estimate - 1.96 * error, estimate + 1.96 * error


# %% 5 · the interval of the outcomes
def doubly_robust(m0, m1, chance, treated, outcome):
    scores = m1 - m0
    scores = scores + treated * (outcome - m1) / chance
    scores = scores - (1 - treated) * (outcome - m0) / (1 - chance)
    estimate = scores.mean()
    error = outcome.std(ddof=1) / np.sqrt(len(scores))
    return estimate, estimate - 1.96 * error, estimate + 1.96 * error


# %% 6 · weights by the chance of treatment
def stabilised_weights(treated, given_all, given_drugs):
    return np.prod(given_drugs / given_all, axis=1)


# %% 6 · only the last visit
def stabilised_weights(treated, given_all, given_drugs):
    ratio = np.where(
        treated, given_drugs / given_all, (1 - given_drugs) / (1 - given_all)
    )
    return ratio[:, -1]


# %% 6 · forgets the numerator
def stabilised_weights(treated, given_all, given_drugs):
    got = np.where(treated, given_all, 1 - given_all)
    return 1 / np.prod(got, axis=1)


# %% 6 · right: by logarithms
def stabilised_weights(treated, given_all, given_drugs):
    sign = 2 * treated - 1
    e = (1 - treated) + sign * given_all
    p = (1 - treated) + sign * given_drugs
    return np.exp(np.log(p).sum(axis=1) - np.log(e).sum(axis=1))
