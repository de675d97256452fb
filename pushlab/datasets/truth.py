"""The truth of a synthetic user: the log-odds of opening that it was generated from (`truth.json`)."""

import json
from typing import Any

from pushlab.datasets.schema import take
from pushlab.datasets.tables import Source
from pushlab.ground.arguments import is_number
from pushlab.ground.faults import BadData, Fault, refuse


def read_truth(source: Source, name: str) -> dict | None:
    """The dict of a truth.json, its shape checked, or None where there is none."""
    if not source.has(name):
        return None
    try:
        truth = json.loads(source.read(name))
    except ValueError as error:
        raise BadData(Fault(name, right=f"not JSON ({error})")) from error
    refuse([Fault(name, right=wrong) for wrong in _wrong_in_truth(truth)])
    return truth


def _wrong_in_truth(truth: Any):
    """What keeps a truth from being log-odds, a text for each key."""
    if not isinstance(truth, dict):
        yield f"the truth is an object with context, notification, pairs and intercept; got {truth!r:.60}"
        return
    for key, kind in (("context", dict), ("notification", dict), ("pairs", list)):
        try:
            value = take(truth, key, kind, "the truth")
        except ValueError as error:
            yield str(error)
            continue
        if kind is dict and not all(isinstance(weights, dict) and all(map(is_number, weights.values()))
                                    for weights in value.values()):
            yield f'the truth: {key!r} holds a number for each value of a feature, {{"noise": {{"low": 0.5}}}}'
        if kind is list and not all(map(_is_pair, value)):
            yield f'the truth: {key!r} lists such as ["time", "morning", "subject", "news", 1.6]'
    if not is_number(truth.get("intercept")):
        found = f"is a number; got {truth['intercept']!r:.60}" if "intercept" in truth else "is missing"
        yield f"the truth: 'intercept' {found}"


def _is_pair(pair):
    return (isinstance(pair, list) and len(pair) == 5 and all(isinstance(word, str) for word in pair[:4])
            and is_number(pair[4]))
