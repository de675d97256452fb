"""The truth of a synthetic user: the log-odds of opening that it was generated from (`truth.json`)."""

from typing import Any

from pushlab.datasets.schema import take
from pushlab.datasets.tables import Source
from pushlab.ground._old_reading import read_json
from pushlab.ground.arguments import is_number
from pushlab.ground.faults import Fault, refuse

LARGEST_WEIGHT = 1e6  # log-odds; nobody is surer, and sums of them stay numbers


def read_truth(source: Source, name: str) -> dict | None:
    """The dict of a truth.json, its shape checked, or None where there is none."""
    if not source.has(name):
        return None
    truth = read_json(source.read(name), name=name, kind=object)
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
        if kind is dict and not all(
            isinstance(weights, dict) and all(map(_is_weight, weights.values()))
            for weights in value.values()
        ):
            yield (
                f"the truth: {key!r} holds a number, {LARGEST_WEIGHT:,.0f} at most, for each value of a feature, "
                '{"noise": {"low": 0.5}}'
            )
        if kind is list and not all(map(_is_pair, value)):
            yield f'the truth: {key!r} lists such as ["time", "morning", "subject", "news", 1.6]'
    if not _is_weight(truth.get("intercept")):
        yield "the truth: 'intercept' " + (
            f"is a number, {LARGEST_WEIGHT:,.0f} at most; got {truth['intercept']!r:.60}"
            if "intercept" in truth
            else "is missing"
        )


def _is_pair(pair):
    return (
        isinstance(pair, list)
        and len(pair) == 5
        and all(isinstance(word, str) for word in pair[:4])
        and _is_weight(pair[4])
    )


def _is_weight(value):
    return is_number(value) and abs(value) <= LARGEST_WEIGHT
