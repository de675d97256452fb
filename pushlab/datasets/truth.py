"""The truth of a synthetic user: the log-odds of opening that it was generated from (`truth.json`)."""

import json
import math

from pushlab.datasets.tables import take
from pushlab.ground.faults import BadData, Fault


def read_truth(source, name):
    """The dict of a truth.json, its shape checked, or None where there is none."""
    if not source.has(name):
        return None
    try:
        truth = json.loads(source.read(name))
    except ValueError as error:
        raise BadData([Fault(name, None, None, None, f"not JSON ({error})")]) from error
    faults = [Fault(name, None, None, None, wrong) for wrong in _wrong_in_truth(truth)]
    if faults:
        raise BadData(faults)
    return truth


def _wrong_in_truth(truth):
    """What keeps a truth from being log-odds, a text for each key."""
    def is_weight(number):
        return type(number) in (int, float) and math.isfinite(number)

    def is_pair(pair):
        return (isinstance(pair, list) and len(pair) == 5 and all(isinstance(word, str) for word in pair[:4])
                and is_weight(pair[4]))

    if not isinstance(truth, dict):
        return [f"the truth is an object with context, notification, pairs and intercept; got {truth!r:.60}"]
    wrong = []
    for key, kind in (("context", dict), ("notification", dict), ("pairs", list)):
        try:
            take(truth, key, kind, "the truth")
        except ValueError as error:
            wrong.append(str(error))
        else:
            if kind is dict and not all(isinstance(weights, dict) and all(map(is_weight, weights.values()))
                                        for weights in truth[key].values()):
                wrong.append(f"the truth: {key!r} holds a number for each value of a feature, "
                             '{"noise": {"low": 0.5}}')
            if kind is list and not all(map(is_pair, truth[key])):
                wrong.append(f'the truth: {key!r} lists such as ["time", "morning", "subject", "news", 1.6]')
    if not is_weight(truth.get("intercept")):
        found = f"is a number; got {truth['intercept']!r:.60}" if "intercept" in truth else "is missing"
        wrong.append(f"the truth: 'intercept' {found}")
    return wrong
