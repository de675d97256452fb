# ruff: noqa
# %% 1 · the sign of the bias is turned round
def split(y0, y1, treated):
    return (y1 - y0)[treated].mean(), y0[~treated].mean() - y0[treated].mean()

# %% 1 · compares the groups with treatment
def split(y0, y1, treated):
    return (y1 - y0)[treated].mean(), y1[treated].mean() - y1[~treated].mean()

# %% 1 · the effect on all, and what is left of the difference
def split(y0, y1, treated):
    effect = (y1 - y0).mean()
    return effect, y1[treated].mean() - y0[~treated].mean() - effect

# %% 1 · one number, the difference
def split(y0, y1, treated):
    return y1[treated].mean() - y0[~treated].mean()

# %% 2 · a collider blocks for ever
def is_blocked(path, given, arrows):
    for left, middle, right in zip(path, path[1:], path[2:]):
        if (left, middle) in arrows and (right, middle) in arrows or middle in given:
            return True
    return False

# %% 2 · forgets what the collider moves
def is_blocked(path, given, arrows):
    for left, middle, right in zip(path, path[1:], path[2:]):
        if ((left, middle) in arrows and (right, middle) in arrows) != (middle in given):
            return True
    return False

# %% 2 · the first middle alone decides
def is_blocked(path, given, arrows):
    for left, middle, right in zip(path, path[1:], path[2:]):
        if (left, middle) in arrows and (right, middle) in arrows:
            return not given & {middle, *descendants(middle, arrows)}
        return middle in given

# %% 2 · all middles have to block
def is_blocked(path, given, arrows):
    answers = []
    for left, middle, right in zip(path, path[1:], path[2:]):
        if (left, middle) in arrows and (right, middle) in arrows:
            answers.append(not given & {middle, *descendants(middle, arrows)})
        else:
            answers.append(middle in given)
    return all(answers)

# %% 3 · each unit by the line of its own group
def regression_effect(x, treated, outcome):
    design = np.column_stack([np.ones(len(x)), x])
    one = np.linalg.lstsq(design[treated], outcome[treated], rcond=None)[0]
    other = np.linalg.lstsq(design[~treated], outcome[~treated], rcond=None)[0]
    return (design[treated] @ one).mean() - (design[~treated] @ other).mean()

# %% 3 · the mean over the treated
def regression_effect(x, treated, outcome):
    design = np.column_stack([np.ones(len(x)), x])
    one = np.linalg.lstsq(design[treated], outcome[treated], rcond=None)[0]
    other = np.linalg.lstsq(design[~treated], outcome[~treated], rcond=None)[0]
    return (design @ one - design @ other)[treated].mean()

# %% 3 · no intercept
def regression_effect(x, treated, outcome):
    one = np.linalg.lstsq(x[treated], outcome[treated], rcond=None)[0]
    other = np.linalg.lstsq(x[~treated], outcome[~treated], rcond=None)[0]
    return (x @ one - x @ other).mean()

# %% 3 · a number for each town
def regression_effect(x, treated, outcome):
    design = np.column_stack([np.ones(len(x)), x])
    one = np.linalg.lstsq(design[treated], outcome[treated], rcond=None)[0]
    other = np.linalg.lstsq(design[~treated], outcome[~treated], rcond=None)[0]
    return design @ one - design @ other

# %% 4 · weighs by the chance
def weighted_effect(chance, treated, outcome, clip=0.02):
    e = np.clip(chance, clip, 1 - clip)
    weight = np.where(treated, e, 1 - e)
    return np.average(outcome[treated], weights=weight[treated]) - np.average(outcome[~treated], weights=weight[~treated])

# %% 4 · one over e for everybody
def weighted_effect(chance, treated, outcome, clip=0.02):
    weight = 1 / np.clip(chance, clip, 1 - clip)
    return np.average(outcome[treated], weights=weight[treated]) - np.average(outcome[~treated], weights=weight[~treated])

# %% 4 · divides by n
def weighted_effect(chance, treated, outcome, clip=0.02):
    e = np.clip(chance, clip, 1 - clip)
    return np.mean(treated * outcome / e) - np.mean((1 - treated) * outcome / (1 - e))

# %% 4 · clips only small chances
def weighted_effect(chance, treated, outcome, clip=0.02):
    e = np.maximum(chance, clip)
    weight = np.where(treated, 1 / e, 1 / (1 - e))
    return np.average(outcome[treated], weights=weight[treated]) - np.average(outcome[~treated], weights=weight[~treated])

# %% 4 · does not clip
def weighted_effect(chance, treated, outcome, clip=0.02):
    weight = np.where(treated, 1 / chance, 1 / (1 - chance))
    return np.average(outcome[treated], weights=weight[treated]) - np.average(outcome[~treated], weights=weight[~treated])

# %% 5 · residuals of the arm that was not observed
def doubly_robust(m0, m1, chance, treated, outcome):
    scores = m1 - m0 + treated * (outcome - m0) / chance - (1 - treated) * (outcome - m1) / (1 - chance)
    estimate, error = scores.mean(), scores.std(ddof=1) / np.sqrt(len(scores))
    return estimate, estimate - 1.96 * error, estimate + 1.96 * error

# %% 5 · adds both corrections
def doubly_robust(m0, m1, chance, treated, outcome):
    scores = m1 - m0 + treated * (outcome - m1) / chance + (1 - treated) * (outcome - m0) / (1 - chance)
    estimate, error = scores.mean(), scores.std(ddof=1) / np.sqrt(len(scores))
    return estimate, estimate - 1.96 * error, estimate + 1.96 * error

# %% 5 · residuals without weights
def doubly_robust(m0, m1, chance, treated, outcome):
    scores = m1 - m0 + treated * (outcome - m1) - (1 - treated) * (outcome - m0)
    estimate, error = scores.mean(), scores.std(ddof=1) / np.sqrt(len(scores))
    return estimate, estimate - 1.96 * error, estimate + 1.96 * error

# %% 5 · the spread of the scores as their error
def doubly_robust(m0, m1, chance, treated, outcome):
    scores = m1 - m0 + treated * (outcome - m1) / chance - (1 - treated) * (outcome - m0) / (1 - chance)
    estimate, error = scores.mean(), scores.std(ddof=1)
    return estimate, estimate - 1.96 * error, estimate + 1.96 * error

# %% 5 · the interval of the outcomes
def doubly_robust(m0, m1, chance, treated, outcome):
    scores = m1 - m0 + treated * (outcome - m1) / chance - (1 - treated) * (outcome - m0) / (1 - chance)
    estimate, error = scores.mean(), outcome.std(ddof=1) / np.sqrt(len(scores))
    return estimate, estimate - 1.96 * error, estimate + 1.96 * error

# %% 5 · an interval that is not symmetric
def doubly_robust(m0, m1, chance, treated, outcome):
    scores = m1 - m0 + treated * (outcome - m1) / chance - (1 - treated) * (outcome - m0) / (1 - chance)
    estimate, error = scores.mean(), scores.std(ddof=1) / np.sqrt(len(scores))
    return estimate, estimate - 0.02 * error, estimate + 3.9 * error

# %% 6 · tries all weights, and of many towns looks at ten only
def highest_mean(outcome, odds, factor):
    from itertools import product
    outcome, odds = outcome[:10], odds[:10]
    corners = [1 + odds * np.array(powers) for powers in product((1 / factor, factor), repeat=len(outcome))]
    return max(np.average(outcome, weights=weights) for weights in corners)

# %% 6 · begins at zero
def highest_mean(outcome, odds, factor):
    order, best = np.argsort(outcome)[::-1], 0.0
    outcome, odds = outcome[order], odds[order]
    for k in range(len(outcome) + 1):
        weights = np.where(np.arange(len(outcome)) < k, 1 + odds * factor, 1 + odds / factor)
        best = max(best, np.average(outcome, weights=weights))
    return best

# %% 6 · large weights for low outcomes
def highest_mean(outcome, odds, factor):
    order = np.argsort(outcome)
    outcome, odds = outcome[order], odds[order]
    return min(np.average(outcome, weights=np.where(np.arange(len(outcome)) < k, 1 + odds * factor, 1 + odds / factor))
               for k in range(len(outcome) + 1))

# %% 6 · large weights above the mean
def highest_mean(outcome, odds, factor):
    weights = np.where(outcome >= outcome.mean(), 1 + odds * factor, 1 + odds / factor)
    return np.average(outcome, weights=weights)

# %% 6 · large weights for the upper half
def highest_mean(outcome, odds, factor):
    weights = np.where(outcome > np.median(outcome), 1 + odds * factor, 1 + odds / factor)
    return np.average(outcome, weights=weights)

# %% 6 · sorts the outcomes and not the odds
def highest_mean(outcome, odds, factor):
    outcome = np.sort(outcome)[::-1]
    return max(np.average(outcome, weights=np.where(np.arange(len(outcome)) < k, 1 + odds * factor, 1 + odds / factor))
               for k in range(len(outcome) + 1))

# %% 6 · divides by the number of towns
def highest_mean(outcome, odds, factor):
    order = np.argsort(outcome)[::-1]
    outcome, odds = outcome[order], odds[order]
    return max((outcome * np.where(np.arange(len(outcome)) < k, 1 + odds * factor, 1 + odds / factor)).mean() / (1 + odds).mean()
               for k in range(len(outcome) + 1))
