"""Words for the features, values and apps of phones and their notifications.

No schema is known here. A feature with a familiar role on a phone (day, place, battery ...) is found by its name.
"""

import json
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from pushlab.plots.style import plain, spoken

_WORDS = json.loads(files("pushlab.plots").joinpath("phone_words.json").read_text())
ROLE_OF = _WORDS["roles"]  # {name of a feature in small letters: role}
ICON_OF_WORD = _WORDS["icons"]
UNKNOWN = {"", "unknown", "none", "nan"}
COMMON_PARTS = {"com", "org", "net", "io", "android", "app", "apps", "google"}


def role(feature: str) -> str | None:
    """Return the role of a context feature on a phone, or None: the role of "dayOfWeek" is "day"."""
    letters = re.sub("[^a-z]", "", feature.lower())
    return ROLE_OF.get(letters.removesuffix("posted").removeprefix("posted"))


def symbol(feature: str) -> str:
    """Return the name of the icon of a context feature: its role, or that of a word in its name."""
    icons = [ICON_OF_WORD.get(word) for word in spoken(feature).split()]
    return role(feature) or next(filter(None, icons), "feature")


def value_words(value: Any) -> str:
    """Return a value as people say it.

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


def app_name(app: Any) -> str:
    """Return the name of an app: the last distinctive part of its package, with a capital.

    >>> app_name("com.google.android.gm"), app_name("com.twitter.android"), app_name("org.pushlab.chat")
    ('Gm', 'Twitter', 'Chat')
    >>> app_name("android"), app_name("Bank"), app_name("BBC News")
    ('Android', 'Bank', 'BBC News')
    """
    name = plain(app)
    if " " not in name:
        parts = [part for part in name.replace("_", " ").split(".") if part]
        distinctive = [part for part in parts if part.lower() not in COMMON_PARTS]
        name = (distinctive or parts or ["app"])[-1]
    return name[0].upper() + name[1:]


def words_of(features: Mapping, labels: Mapping) -> dict[str, str]:
    """Return the features of a context or a notification as {feature: words}.

    Args:
        labels: Friendlier words, {feature: {value: words}}.
    """
    return {
        feature: value_words(labels.get(feature, {}).get(str(value), value))
        for feature, value in features.items()
    }


def words_by_role(context: Mapping, labels: Mapping) -> dict[str, str]:
    """Return the known values of the features that have a role as {role: words}."""
    found = {}
    for feature, words in words_of(context, labels).items():
        if role(feature) and words.lower() not in UNKNOWN:
            found[role(feature)] = words
    return found


def app_of(notification: Mapping) -> Any:
    """Return the value of the first feature that names an app, or ""."""
    apps = [notification[name] for name in notification if "app" in name.lower()]
    return apps[0] if apps else ""


def topic(notification: Mapping, labels: Mapping) -> str:
    """Return the words of a notification's subject or category, else of its first other feature; or ""."""
    words = words_of(notification, labels)
    names = [name for name in ("subject", "category") if name in words]
    others = [n for n in words if n != "priority" and "app" not in n.lower()]
    known = [words[name] for name in names or others]
    known = [said for said in known if said.lower() not in UNKNOWN]
    return known[0] if known else ""
