"""A lifetime as metrics see it: prepared curves, regimes with what was measured in each, and experts."""

import json
from functools import cached_property

import numpy as np
import pandas as pd

from pushlab.metrics.lifelong.experts import mean_curve, read_experts
from pushlab.metrics.lifelong.rows import ABOUT, TEST, TRAIN, read_rows, run_starts
from pushlab.metrics.lifelong.scales import find_scales
from pushlab.metrics.lifelong.smoothing import (
    first_reached,
    release_saturation,
    release_smooth,
    saturation,
    smooth,
)

TERMINAL = 0.1              # share of a training block that its terminal performance is the mean of


class Missing(ValueError):
    """A metric has not what it needs: raise it in a metric with the reason, in plain words."""


class Lifetime:
    """One lifetime, ready for metrics.

    log         DataFrame, a row an experience in the order lived, with columns
                  raw         as measured
                  smoothed    training smoothed; tests as they are, unless settings.smooth_tests
                  normalized  smoothed, clamped, and brought to 0 … 100: what metrics are read from
                  for_ratios  smoothed and clamped, in the measure's unit, counted from its natural floor: what may be
                              divided by one another
    regimes     DataFrame, a row a regime (a stretch of one block, task and parameters): regime, block, block_type,
                block_subtype, task, variant, params, start, count, mean, saturation, time_to_saturation, terminal,
                time_to_terminal, used (tests while awake are not, where there are tests asleep)
    tasks       list of names, those learned first, in the order learned
    settings    Settings
    measure     name of the column that was measured
    runs        {task: list of ExpertRun}, prepared as the log; `expert_saturations` {task: value} where that is all
                there is

    A task learned under several parameters is one task in several variants, `variant` names them: what was kept or
    carried over is asked of variants, what was learned of tasks.
    """

    def __init__(self, log, experts=None, measure=None, settings=None):
        from pushlab.metrics.lifelong.settings import Settings

        self.settings = settings or Settings()
        rows, self.measure = read_rows(log, measure, self.settings)
        self._starts = run_starts(rows["regime"].to_numpy())
        self._ends = np.append(self._starts[1:], len(rows))
        first = rows.iloc[self._starts]
        self.regimes = first[["regime", *ABOUT]].reset_index(drop=True)
        self.regimes["task"] = self.regimes["task"].astype(str)
        self.regimes["start"], self.regimes["count"] = self._starts, self._ends - self._starts
        self.tasks = _in_order_learned(self.regimes)
        self.runs, self.expert_saturations = read_experts(experts, self.tasks, self.measure, self.settings)
        self.log = rows
        self._prepare()
        self._columns = {}
        self.regimes["variant"] = name_variants(self.regimes, self.settings)
        self.regimes["used"] = _without_tests_awake(self.regimes)
        self._describe_regimes()
        self.gaps = []

    # ------------------------------------------------------------ preparing

    def _prepare(self):
        """Smooths, clamps and normalises log and experts; the columns of the log and `runs`, `scales` follow."""
        raw, shape, window = self.log["raw"].to_numpy(), self.settings.smoothing, self.settings.window
        change = release_smooth if self.settings.is_release else smooth
        smoothed = raw.copy()
        for start, end, kind in zip(self._starts, self._ends, self.regimes["block_type"]):
            if kind == TRAIN or self.settings.smooth_tests:
                smoothed[start:end] = change(raw[start:end], window, shape)
        self.runs = {task: [run.map(lambda piece: change(piece, window, shape)) for run in runs]
                     for task, runs in self.runs.items()}
        values = {task: [smoothed[start:end] for start, end in self._spans(task)] for task in self.tasks}
        for task, arrays in values.items():
            arrays += [run.curve() for run in self.runs.get(task, [])]
            arrays += [np.array([self.expert_saturations[task]])] if task in self.expert_saturations else []
        self.scales = find_scales(values, self.settings)
        normalized, for_ratios = np.empty(len(raw)), np.empty(len(raw))
        for start, end, task in zip(self._starts, self._ends, self.regimes["task"]):
            normalized[start:end] = self.normalise(smoothed[start:end], task)
            for_ratios[start:end] = self.scale_for_ratios(smoothed[start:end], task)
        self.log = self.log.assign(smoothed=smoothed, normalized=normalized, for_ratios=for_ratios)

    def _spans(self, task):
        chosen = (self.regimes["task"] == task).to_numpy()
        return zip(self._starts[chosen], self._ends[chosen])

    def normalise(self, values, task):
        """Values of a task on 0 … 100."""
        return self.scales[task].normalise(self.scales[task].clamp(values), self.settings)

    def scale_for_ratios(self, values, task):
        """Values of a task on a scale on which they may be divided."""
        return self.scales[task].for_ratios(self.scales[task].clamp(values), self.settings)

    def _describe_regimes(self):
        told = [self._describe(row) for row in range(len(self.regimes))]
        columns = ["mean", "saturation", "time_to_saturation", "terminal", "time_to_terminal"]
        self.regimes[columns] = np.array(told, float).reshape(-1, len(columns))

    def _describe(self, row):
        values, test = self.curve(row), self.regimes["block_type"].iat[row] == TEST
        by_episode = self._by_episode(values, self.curve(row, "episode"))
        mean, found, share = known_mean(values), self.saturation(by_episode), 1.0 if test else TERMINAL
        if np.isnan(mean):
            return np.nan, *found, np.nan, np.nan
        told = self.regimes["used"].iat[row] or not self.settings.is_release
        return (mean if told else np.nan, *found, terminal_performance(by_episode, share),
                int((1 - share / 2) * len(by_episode)))

    def _by_episode(self, values, episodes):
        """One value an experience; only the rows of release 3.1.0 may hold several of one."""
        if not self.settings.is_release or episodes is None or (np.diff(episodes) > 0).all():
            return values
        return pd.Series(values).groupby(episodes).mean().to_numpy()

    # ------------------------------------------------------------ for metrics

    def curve(self, row, column="normalized"):
        """A column of the log over one regime, by its row in `regimes`, an array."""
        if column not in self._columns:
            self._columns[column] = self.log[column].to_numpy()
        return self._columns[column][self._starts[row]:self._ends[row]]

    def learning(self, task, column="normalized"):
        """All that was learned of a task, one block after the other, an array."""
        rows = self.training(task).index
        return np.concatenate([np.zeros(0), *(self.curve(row, column) for row in rows)])

    def training(self, task=None):
        """Rows of `regimes` that train (a task), awake."""
        chosen = (self.regimes["block_type"] == TRAIN) & (self.regimes["block_subtype"] == "wake")
        return self.regimes[chosen if task is None else chosen & (self.regimes["task"] == task)]

    def of_variant(self, variant, kind):
        """Row numbers, an array, of the regimes of one variant that train or test it."""
        chosen = (self.regimes["variant"] == variant) & (self.regimes["block_type"] == kind) & self.regimes["used"]
        return np.flatnonzero(chosen)

    @cached_property
    def variants(self):
        """Names of the variants, in the order met."""
        return list(dict.fromkeys(self.regimes.loc[self.regimes["used"], "variant"]))

    def saturation(self, values, episodes=None):
        """Saturation of a curve, by the rule of the settings; `episodes` numbers its experiences."""
        if self.settings.is_release:
            return release_saturation(self._by_episode(values, episodes))
        return saturation(values, self.settings.saturation_share)

    def expert_curves(self, task, for_ratios=False):
        """Curves of a task's experts, prepared as the log: a list of (array, numbers of its experiences or None).

        for_ratios  on the scale on which values may be divided, and averaged over time if the settings say so
        """
        curves, scaled = [], self.scale_for_ratios if for_ratios else self.normalise
        for run in self.runs.get(task, []):
            own = run.name if self.settings.is_release and run.name in self.scales else task
            curves.append((scaled(run.curve(), own), run.episodes))
        if curves and for_ratios and self.settings.expert_averaging == "time":
            return [(mean_curve([curve for curve, _ in curves]), None)]
        return curves

    def mean_by_task(self, column, rows):
        """The mean of a column of some rows of `regimes` for each task, a Series; NaN for tasks without a value."""
        means = rows.groupby("task", sort=False)[column].mean()
        return means.reindex(self.tasks).astype(float)

    @cached_property
    def expert_saturations_for_ratios(self):
        """{task: its experts' saturation value, their mean} on the scale on which values may be divided."""
        found = {task: float(self.scale_for_ratios(np.array([value]), task)[0])
                 for task, value in self.expert_saturations.items()}
        for task in self.runs:
            found[task] = float(np.mean([self.saturation(*known).value for known in self.expert_curves(task, True)]))
        return found

    def tests_before_learning(self, task):
        """Row numbers of the tests of a task that come after the training of others and before its own."""
        trained = (self.regimes["block_type"] == TRAIN).to_numpy()
        of_task, number = (self.regimes["task"] == task).to_numpy(), np.arange(len(self.regimes))
        others, own = number[trained & ~of_task], number[trained & of_task]
        if not len(others):
            return others
        tested = of_task & ~trained & self.regimes["used"].to_numpy()
        return number[tested & (number > others[0]) & (number < (own[0] if len(own) else len(number)))]

    def gap(self, reason):
        """To be called by a metric that has no value for some task: why, in plain words."""
        self.gaps.append(reason)

    @cached_property
    def expert_table(self):
        """Each task against each of its experts, see `versus.expert_table`."""
        from pushlab.metrics.lifelong.versus import expert_table

        return expert_table(self)

    @cached_property
    def recovery_times(self):
        """For each training block of a task learned before, how long it took to be as good as at the end of the last.

        returns  Series of `regimes`' rows; where it was not reached within the block inf, since nobody knows when it
                 would have been: at least `count`. To the release one more than the block has experiences
        """
        times, exactly = {}, self.settings.is_release
        for task in self.tasks:
            rows = self.training(task).index
            for before, row in zip(rows, rows[1:]):
                level = self.regimes.at[before, "terminal"]
                values = self._by_episode(self.curve(row), self.curve(row, "episode"))
                if np.isnan(level) or not np.isfinite(values).any():
                    continue
                time = first_reached(values, level, exactly)
                never = float(self.regimes.at[row, "count"] + 1) if exactly else np.inf
                times[row] = never if np.isnan(time) else time
        return pd.Series(times, dtype=float)


def terminal_performance(values, share=TERMINAL):
    """The mean of the last `share` of a curve, missing values aside; NaN if there are none.

    Source  l2metrics 3.1; New et al. (2022), Lifelong Learning Metrics, arXiv 2201.08278.

    >>> terminal_performance([0, 1, 2, 3, 4, 5, 6, 7, 8, 10], share=0.2)
    9.0
    """
    values = np.asarray(values, float)
    return known_mean(values[int((1 - share) * len(values)):])


def known_mean(values):
    """The mean of an array, missing values aside; NaN if there are no others.

    >>> known_mean(np.array([1.0, np.nan, 3.0]))
    2.0
    """
    values = values[np.isfinite(values)]
    return float(values.mean()) if len(values) else np.nan


def name_variants(regimes, settings):
    """What is learned, and asked for in tests, by one name: the task, or of several parameters the task with them.

    A task falls into variants if it is trained under several parameters and its tests tell them apart.

    >>> from pushlab.metrics.lifelong.settings import Settings
    >>> regimes = pd.DataFrame({"task": "shelf", "block_type": ["train", "train", "test", "test"],
    ...                         "params": ['{"n": 4, "drift": 0}', '{"n": 4, "drift": 1}'] * 2})
    >>> list(name_variants(regimes, Settings()))
    ['shelf drift=0', 'shelf drift=1', 'shelf drift=0', 'shelf drift=1']
    """
    names = regimes["task"].astype(object).copy()
    if settings.is_release or settings.variant_mode == "agnostic":
        return names
    params = regimes["params"].fillna("").astype(str)
    for task in dict.fromkeys(names):
        own = regimes["task"] == task
        trained = set(params[own & (regimes["block_type"] == TRAIN)])
        tested = set(params[own & (regimes["block_type"] == TEST)])
        if len(trained) > 1 and (not tested or tested & trained):
            words = _words_that_differ(trained | tested)
            names[own] = [f"{task} {words[text]}".strip() for text in params[own]]
    return names


def _words_that_differ(texts):
    """{JSON text of parameters: those that are not the same in all of them, as "key=value"}."""
    read = {text: _read_params(text) for text in sorted(texts)}
    keys = list(dict.fromkeys(key for values in read.values() for key in values))
    differing = [key for key in keys if len({json.dumps(v.get(key), sort_keys=True) for v in read.values()}) > 1]
    words = {text: ", ".join(f"{key}={json.dumps(values[key], ensure_ascii=False)}" for key in differing
                             if key in values) for text, values in read.items()}
    return words if len(set(words.values())) == len(words) else {text: text for text in words}


def _read_params(text):
    try:
        values = json.loads(text)
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def _in_order_learned(regimes):
    """Names of the tasks, those trained first, in the order of their blocks; then those only tested."""
    kinds = regimes.sort_values(["block_type", "block"], ascending=[False, True], kind="stable")
    return list(dict.fromkeys(kinds["task"]))


def _without_tests_awake(regimes):
    """Which regimes are used: all, or where there are blocks asleep, all but the tests taken awake."""
    if not (regimes["block_subtype"] == "sleep").any():
        return pd.Series(True, regimes.index)
    return ~((regimes["block_type"] == TEST) & (regimes["block_subtype"] == "wake"))
