"""Users' histories and schemas: tables without issues, and the encoding of values."""

import zipfile

import numpy as np
import pandas as pd
import pytest

from pushlab import load_user
from pushlab.challenges.challenge import Challenge
from pushlab.datasets.reading import list_users, load_users
from pushlab.datasets.schema import Feature, Features, Schema

POSTING = "train/context_on_posting.csv"
REMOVAL = "train/context_on_removal.csv"
TEST = "test/notifications.csv"


# ------------------------------------------------------------------ finding users


def test_shipped_users_by_name_and_by_folder(ann, tmp_path, monkeypatch):
    assert list_users() == ["ines", "mira", "noor", "omar", "theo"]
    mira = load_user("mira")
    assert mira is load_user("mira") is load_user(mira)
    monkeypatch.chdir(tmp_path)
    ann.rename("mira")
    assert len(load_user("./mira").history) == 30
    with pytest.raises(FileNotFoundError, match="are ines, mira, .*mean 'mira'"):
        load_user("Mira")


# ------------------------------------------------------------------ EvalUMAP 2019


def test_rows_are_joined_by_id_and_spelled_in_several_ways(ann):
    before = load_user(ann).history
    originals = pd.read_csv(ann / REMOVAL, dtype=str)
    assert before.table["removal.noise"].tolist() == originals["noise"].tolist()
    first, *rows = (ann / REMOVAL).read_text().splitlines()
    text = "\r\n".join([first, *reversed(rows), ""]).replace("True", "true")
    (ann / REMOVAL).write_text("\ufeff" + text, encoding="utf-8", newline="")
    assert load_user(ann).history.engagements.equals(before.engagements)


def test_tags_and_new_values(ann):
    for file, old, new in (
        (POSTING, "TYPE_OTHER", "TYPE_BAR TYPE_OTHER TYPE_BAR"),
        (TEST, ",unknown,", ",alchemy,"),
    ):
        (ann / file).write_text((ann / file).read_text().replace(old, new, 1))
    user = load_user(ann)
    contexts = user.schema.context.decode(user.history.context_codes)
    assert contexts["place"][0] == "TYPE_BAR TYPE_OTHER"
    notifications = user.schema.notification.decode(user.test.notification_codes)
    assert notifications["subject"][0] == "other"
    count = (notifications["subject"] == "other").sum()
    assert f"subject: {count} rows with a value not in the history" in user.report()


# ------------------------------------------------------------------ EvalUMAP 2020


def rows_2020(count, app=0):
    """A file of the 2020 release, with one app that differs from file to file."""
    schema = Schema.load("evalumap2020")
    rows = np.arange(count)
    columns = {
        "userId": "0f",
        "action": np.where(rows % 3, "Opened", "Dismissed"),
        "time": [f"2020-01-{28 - row % 28:02d} 10:00:{row:02d}.5" for row in rows],
    }
    for feature in (*schema.notification, *schema.context):
        values = feature.values or ["msg"]
        columns[feature.name] = np.resize(values, count)
        if feature.kind == "integer":
            columns[feature.name] = rows
    columns["appPackage"] = np.where(rows % 2, "app.a", f"app.own{app}")
    return pd.DataFrame(columns).to_csv(index=False)


@pytest.fixture
def wheel(tmp_path):
    """A wheel in the layout of gym_push-0.0.21; user_8 has the validation file only."""
    data = "gym_push/envs/data"
    path = tmp_path / "gym_push-0.0.21-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for seed, kind in enumerate(("train", "validation", "test")):
            archive.writestr(f"{data}/user_1/{kind}_set.csv", rows_2020(40, seed))
        archive.writestr(f"{data}/user_8/validation_set.csv", rows_2020(41, 9))
        archive.writestr(f"{data}/user_1/model.joblib", "never opened")
    return path


def test_wheel_of_2020(wheel):
    assert list_users(wheel) == ["user_1", "user_8"]
    user = load_user(wheel, user="user_1")
    sizes = {name: len(period) for name, period in user.periods.items()}
    assert sizes == {"history": 40, "validation": 40, "test": 40}
    assert user.history.table["posted"].is_monotonic_increasing
    answers = user.history.notifications
    card = Challenge.load(user).evaluate(answers)
    points = answers["enticement"].map({"low": 0, "moderate": 0.5, "high": 1})
    assert card.metrics["enticement"] == points.mean()
    halved = load_user(wheel, user="user_8")
    assert (len(halved.history), len(halved.test)) == (20, 21)
    assert "first half is the history" in halved.report()
    with pytest.raises(ValueError, match="name one with user=: user_1, user_8"):
        load_user(wheel)
    # app.a, two apps of their own, and "other"
    together = load_users(wheel).values()
    assert [user.schema.notification.sizes[0] for user in together] == [4, 4]


# ------------------------------------------------------------------ encoding

FEATURES = Features(
    [
        Feature("noise", "closed", ("unknown", "low", "high")),
        Feature("charging", "closed", ("False", "True"), aliases={"true": "True"}),
        Feature("app", "open", ("chat", "mail"), aliases={"Chat": "chat"}),
        Feature("place", "set", ("A", "B", "C")),
        Feature("unlocks", "integer", edges=(0, 1, 4)),
    ]
)
VALUES = {
    "noise": "low",
    "charging": "true",
    "app": "Chat",
    "place": "C A",
    "unlocks": -1,
}


def test_values_are_encoded_and_decoded():
    rows = [VALUES, VALUES | {"app": "fax", "place": "unknown", "unlocks": 3.0}]
    codes = [[1, 1, 0, 1, 0, 1, 0], [1, 1, 2, 0, 0, 0, 2]]
    values = [
        ["low", "True", "chat", "A C", "below 0"],
        ["low", "True", "other", "unknown", "1 to 3"],
    ]
    assert FEATURES.encode(pd.DataFrame(rows)).tolist() == codes
    assert FEATURES.count_other(np.array(codes)) == {"app": 1}
    assert FEATURES.decode(codes).to_numpy().tolist() == values
    assert FEATURES.encode_one(VALUES).tolist() == codes[0]
    with pytest.warns(UserWarning, match="have no app 'mial'.*mean 'mail'"):
        FEATURES.encode_one(VALUES | {"app": "mial"})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nose": "low"}, "'nose' is not a feature; .*mean 'noise'"),
        ({"noise": "loud"}, "column noise.*'loud' is not one of unknown, low, high"),
        ({"unlocks": "3.5"}, "'3.5' is not a whole number"),
    ],
)
def test_invalid_values_are_errors(changes, message):
    with pytest.raises(ValueError, match=f"(?s){message}"):
        FEATURES.encode_one(VALUES | changes)
