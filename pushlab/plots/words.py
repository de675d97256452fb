"""Names and values of features as people say them, numbers as labels write them, and titles that say who is ahead.

No schema is known here: a feature with a familiar role on a phone (day, place, battery ...) is found by its name.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pushlab.metrics.estimate import leader
from pushlab.plots.sheet import plain

ROLES = {  # role: other names of the feature, in small letters only
    "day": ("dayofweek", "weekday"),
    "time": ("timeofday",),
    "place": ("placecategory", "location"),
    "activity": ("activitycontext",),
    "noise": ("averagenoise",),
    "proximity": (),
    "ringer": ("ringermode",),
    "battery": ("batterylevel",),
    "charging": (),
    "headphones": ("headphonesin",),
    "music": ("musicactive",),
}
ROLE_OF = {name: role for role, others in ROLES.items() for name in (role, *others)}
ICON_OF_WORD = {
    "unlock": "lock",
    "light": "light",
    "app": "apps",
    "apps": "apps",
    "day": "day",
    "month": "day",
    "date": "day",
    "week": "day",
    "time": "time",
    "hour": "time",
    "count": "count",
    "number": "count",
}
UNKNOWN = {"", "unknown", "none", "nan"}
TELLS_NOTHING = {"com", "org", "net", "io", "android", "app", "apps", "google"}


def spoken(name: Any) -> str:
    """A column's name as words.

    >>> spoken("uniqueAppsLaunched_prev2"), spoken("info.response_time"), spoken("ledARGB")
    ('unique apps launched prev2', 'response time', 'led argb')
    """
    name = plain(name).removeprefix("info.").removeprefix("obs.")
    return (
        re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).replace("_", " ").lower().strip()
    )


def role(feature: str) -> str | None:
    """The part a context feature plays on a phone, or None: role("dayOfWeek") is "day"."""
    key = (
        re.sub("[^a-z]", "", feature.lower())
        .removesuffix("posted")
        .removeprefix("posted")
    )
    return ROLE_OF.get(key)


def symbol(feature: str) -> str:
    """The icon for a context feature: that of its role, or of a word in its name, or the general one."""
    return role(feature) or next(
        (ICON_OF_WORD[w] for w in spoken(feature).split() if w in ICON_OF_WORD),
        "feature",
    )


def value_words(value: Any) -> str:
    """A value as people say it.

    >>> value_words("TYPE_ART_GALLERY TYPE_ATM TYPE_ATM"), value_words("True"), value_words("early-morning")
    ('art gallery, atm', 'yes', 'early morning')
    """
    words = plain(value)
    if words.startswith("TYPE_"):
        tags = dict.fromkeys(tag.removeprefix("TYPE_") for tag in words.split())
        return ", ".join(tag.replace("_", " ").lower() for tag in tags)
    if words.lower() in ("true", "false"):
        return "yes" if words.lower() == "true" else "no"
    return re.sub(r"(?<=[a-z])[-_](?=[a-z])", " ", words)


def chip_name(feature: str) -> str:
    """The name to show for a context feature: its role on a phone, or the column's name as words."""
    return role(feature) or spoken(feature)


def app_name(app: Any) -> str:
    """The name to show for an app: a package's last telling part, with a capital.

    >>> app_name("com.google.android.gm"), app_name("com.twitter.android"), app_name("org.pushlab.chat")
    ('Gm', 'Twitter', 'Chat')
    >>> app_name("android"), app_name("Bank"), app_name("BBC News")
    ('Android', 'Bank', 'BBC News')
    """
    name = plain(app)
    if " " not in name:
        parts = [part for part in name.replace("_", " ").split(".") if part]
        telling = [part for part in parts if part.lower() not in TELLS_NOTHING]
        name = (telling or parts or ["app"])[-1]
    return name[0].upper() + name[1:]


def short_number(value: float) -> str:
    """A number for a label: two decimals while it is small, separators of thousands when it is large.

    >>> [short_number(v) for v in (0.8, -3.25, 136, 52.04, 2040.4, 3.1e7, -0.001)]
    ['0.80', '−3.25', '136', '52.0', '2,040', '31.0 M', '0']
    >>> [short_number(v) for v in (1.5e6, -2.34e9, 3.1e12)]
    ['1.5 M', '−2.3 bn', '3.1e+12']
    """
    if not np.isfinite(value):
        return "none" if np.isnan(value) else "∞" if value > 0 else "\N{MINUS SIGN}∞"
    size = abs(value)
    text = (
        f"{value:.1e}"
        if size >= 1e12
        else f"{value / 1e9:.1f} bn"
        if size >= 1e9
        else f"{value / 1e6:.1f} M"
        if size >= 1e6
        else f"{value:,.0f}"
        if size >= 100
        else f"{value:.0f}"
        if value == int(value)
        else f"{value:.1f}"
        if size >= 10
        else f"{value:.2f}"
    )
    return (
        "0"
        if text in ("-0.00", "-0", "0.00")
        else text.replace("-", "\N{MINUS SIGN}", 1)
        if value < 0
        else text
    )


def alike_numbers(*values: float) -> list[str]:
    """Numbers of one label with the same decimals: two while they are small, and more where else they would look equal.

    >>> alike_numbers(1, 0.996, 1.004), alike_numbers(1.0, 1.0, 1.0), alike_numbers(136.2, -2040.4, 1e3)
    (['1.000', '0.996', '1.004'], ['1.00', '1.00', '1.00'], ['136', '−2,040', '1,000'])
    """
    finite = [value for value in values if np.isfinite(value)]
    size, width = (
        max(map(abs, finite), default=0),
        max(finite, default=0) - min(finite, default=0),
    )
    if len(finite) < len(values) or size >= 1e6 or 0 < width < 1e-5:
        return [short_number(value) for value in values]
    digits = 0 if size >= 100 else 1 if size >= 10 else 2
    while 0 < width < 1.5 * 10.0**-digits:
        digits += 1
    return [
        f"{round(value, digits) + 0:,.{digits}f}".replace("-", "\N{MINUS SIGN}")
        for value in values
    ]


def listed(words: Sequence[str], link: str = "and") -> str:
    """Words in a row.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return f" {link} ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def order_title(samples: Mapping[Any, Any], words: str, higher: bool = True) -> str:
    """The title of a picture that compares: who is ahead, where the intervals of the differences say so.

    samples  {name: one number a run}, at least two names
    words    what is said of the one that `pushlab.metrics.estimate.leader` names, such as "ends highest"

    >>> order_title({"a": [5, 6, 5], "b": [1, 2, 1]}, "ends highest")
    'a ends highest, at 5.33'
    >>> order_title({"a": [5, 1, 5], "b": [1, 5, 1]}, "ends highest"), order_title({"a": [5], "b": [1]}, "ends highest")
    ('Neither is surely ahead of the other', 'One run each does not tell who is ahead')
    """
    first = leader(samples, higher)
    if first is not None:
        return f"{plain(first)} {words}, at {short_number(np.mean(samples[first]))}"
    if min(map(len, samples.values())) < 2:
        return "One run each does not tell who is ahead"
    return (
        "Neither is surely ahead of the other"
        if len(samples) == 2
        else "Nobody is surely ahead of all others"
    )
