"""Which notifications an agent chooses from.

The action space is the product of all features, millions of combinations that mostly make no sense. An agent looks
at a list of candidates instead: what the user's history holds, or a published catalogue of what exists.
"""

import numpy as np

from pushlab.datasets.features import encode_column


def history_candidates(period):
    """The distinct notifications of a Period, int64 (k, notification components), in order of their codes."""
    return np.unique(period.notification_codes, axis=0)


def catalogue_candidates(user):
    """The rows of a user's catalogue with every other feature at its neutral value, int64 (k, components).

    Without a catalogue (`catalogue.csv`) the combinations of open features in the history take its place: which
    notifications there are, and nothing about what became of them.
    """
    half = user.schema.notification
    rows = np.array(user.catalogue_codes)
    if user.catalogue is None:
        named = [at for at, name in enumerate(half.components) if name in half.names and half[name].kind == "open"]
        rows = np.full((len(user.history), len(half.components)), -1)
        rows[:, named] = user.history.notification_codes[:, named]
    return np.unique(np.where(rows < 0, neutral_codes(half), rows), axis=0)


def neutral_codes(half):
    """The codes of a notification that has every feature at its neutral value, int64 (components,)."""
    return np.concatenate([encode_column(feature, [feature.neutral_word])[0][0] for feature in half])


def candidates_for(user, which):
    """Candidates by name ("history" or "catalogue"), or an array of codes, checked, as it is."""
    if isinstance(which, str):
        if which not in ("history", "catalogue"):
            raise ValueError(f"candidates are 'history', 'catalogue' or an array of codes; got {which!r}")
        return history_candidates(user.history) if which == "history" else catalogue_candidates(user)
    codes, half = np.asarray(which), user.schema.notification
    if codes.ndim != 2 or codes.shape[1] != len(half.sizes) or not len(codes) or codes.dtype.kind not in "iu":
        raise ValueError(f"candidates are whole numbers of shape (k, {len(half.sizes)}); "
                         f"got {codes.dtype} {codes.shape}")
    if (codes < 0).any() or (codes >= half.sizes).any():
        row = int(np.flatnonzero(((codes < 0) | (codes >= half.sizes)).any(axis=1))[0])
        raise ValueError(f"candidate {row} is {codes[row].tolist()}; codes run from 0 to {(half.sizes - 1).tolist()}")
    return codes.astype(np.int64)
