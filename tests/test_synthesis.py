"""The shipped users: the same bytes from the same seeds, complete, plausible, and true to their stated truth."""

import csv
import hashlib
import json
import math
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from pushlab.datasets.schema import Schema
from pushlab.ground.files import data_dir
from pushlab.users.synthesis import SHIPPED, build_user, headroom, make_user, write_all, write_user
from pushlab.users.synthesis.arrivals import APPS, arrivals
from pushlab.users.synthesis.day import DAY, SENSED, Stop, live, plan_day
from pushlab.users.synthesis.taste import fit_intercept, holds, log_odds, open_probability

PUSH = data_dir() / "push"
NAMES = tuple(name for name, _, _ in SHIPPED)
NOTIFICATION_HEADER = ",id,appPackage,category,numberUpdates,subject,priority,ongoing,visibility"
POSTING_HEADER = (",id,day,time,place,activity,noise,batteryLevel,charging,headphonesIn,musicActive,proximity,"
                  "ringerMode,lightIntensity")
REMOVAL_HEADER = (",id,activity,noise,batteryLevel,charging,contactSignificantContext,contactSignificantOverall,"
                  "decisionTime,headphonesIn,lightIntensity,musicActive,place,proximity,responseTime,ringerMode,"
                  "seenTime,action,timeAppLastUsed,postDate,removedDate")
TEST_HEADER = (",activityContextPosted,activityContextRemoved,appPackage,averageNoisePosted,averageNoiseRemoved,"
               "batteryLevelPosted,batteryLevelRemoved,category,chargingPosted,chargingRemoved,headphonesInPosted,"
               "headphonesInRemoved,lightIntensityPosted,lightIntensityRemoved,musicActivePosted,musicActiveRemoved,"
               "numberUpdates,ongoing,placeCategoryPosted,placeCategoryRemoved,priority,proximityPosted,"
               "proximityRemoved,ringerModePosted,ringerModeRemoved,subject,visibility,action,timeOfDayPosted,timeOfDayRemoved,"
               "dayOfWeekPosted,dayOfWeekRemoved")
HEADERS = {"train/notifications.csv": NOTIFICATION_HEADER, "train/context_on_posting.csv": POSTING_HEADER,
           "train/context_on_removal.csv": REMOVAL_HEADER, "test/notifications.csv": TEST_HEADER}
SLOT_OF_HOUR = ["early-morning"] * 6 + ["morning"] * 6 + ["afternoon"] * 5 + ["evening"] * 4 + ["night"] * 3


def read_rows(name, table):
    with open(PUSH / name / table, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_truth(name):
    return json.loads((PUSH / name / "truth.json").read_text(encoding="utf-8"))


def read_engagements(name, period):
    """Rows of one period as dicts by the schema's names, and whether each was opened; pushlab's readers not used."""
    layout = json.loads((PUSH / "schema.json").read_text(encoding="utf-8"))["layouts"][0]["periods"][period]
    rows = None
    for entry in layout:
        part = [{entry["columns"][column]: value for column, value in row.items() if entry["columns"][column]}
                for row in read_rows(name, entry["file"])]
        rows = part if rows is None else [before | more for before, more in zip(rows, part, strict=True)]
    return rows, np.array([row["action"] == "True" for row in rows])


def stated_probabilities(truth, rows):
    """The probability of each row by the formula in the datasheet, written out once more and in plain Python."""
    def weights(row, half):
        for feature, by_value in truth[half].items():
            for value in row[feature].split() if feature == "place" else [row[feature]]:
                yield by_value.get(value, 0.0)

    def pairs(row):
        for feature, value, name, word, weight in truth["pairs"]:
            held = row[feature].split() if feature == "place" else [row[feature]]
            if value in held and row[name] == word:
                yield weight

    odds = [truth["intercept"] + sum(weights(row, "context")) + sum(weights(row, "notification")) + sum(pairs(row))
            for row in rows]
    return np.array([1 / (1 + math.exp(-x)) for x in odds])


# ---------------------------------------------------------------- files

def test_write_all_gives_the_shipped_bytes(tmp_path):
    write_all(tmp_path)
    made = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    shipped = {path.relative_to(PUSH).as_posix() for path in PUSH.rglob("*") if path.is_file()}
    assert shipped - {"README.md"} == made
    assert [name for name in sorted(made) if (tmp_path / name).read_bytes() != (PUSH / name).read_bytes()] == []


def test_checksums_cover_every_made_file():
    stated = dict(reversed(line.split("  ")) for line in (PUSH / "SHA256SUMS").read_text().splitlines())
    files = {path.relative_to(PUSH).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
             for path in PUSH.rglob("*") if path.is_file() and path.name not in ("README.md", "SHA256SUMS")}
    assert stated == files
    assert list(stated) == sorted(stated)


def test_sizes_stay_small():
    sizes = [path.stat().st_size for path in PUSH.rglob("*") if path.is_file()]
    assert max(sizes) < 3_000_000
    assert sum(sizes) < 10_000_000


@pytest.mark.parametrize("name", NAMES)
def test_headers_and_line_ends_are_those_of_the_challenge(name):
    for table, header in HEADERS.items():
        raw = (PUSH / name / table).read_bytes()
        assert raw.split(b"\n", 1)[0].decode() == header
        assert b"\r" not in raw and raw.endswith(b"\n")


def test_schema_is_the_challenge_schema_with_the_values_of_the_catalogue():
    base = json.loads((data_dir() / "schemas" / "evalumap2019.json").read_text(encoding="utf-8"))
    ours = json.loads((PUSH / "schema.json").read_text(encoding="utf-8"))
    assert ours["name"] == "pushlab-users"
    with open(PUSH / "catalogue.csv", encoding="utf-8", newline="") as file:
        catalogue = list(csv.DictReader(file))
    assert 40 <= len(catalogue) <= 90
    filled = {entry["name"]: entry.pop("values") for entry in ours["notification"] if entry["kind"] == "open"}
    assert filled == {name: sorted({row[name] for row in catalogue}) for name in ("postingApp", "category", "subject")}
    assert not any("other" in values for values in filled.values())
    for key in ("name", "about"):
        ours.pop(key), base.pop(key)
    assert ours == base


# ---------------------------------------------------------------- tables

@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("period", ["history", "test"])
def test_every_value_is_in_the_schema_and_every_row_in_the_catalogue(name, period):
    schema = Schema.load(PUSH / "schema.json")
    rows, _ = read_engagements(name, period)
    columns = {key: [row[key] for row in rows] for key in rows[0]}
    codes = schema.notification.encode(columns)
    schema.context.encode(columns)
    assert not any(schema.notification.count_other(codes).values())
    with open(PUSH / "catalogue.csv", encoding="utf-8", newline="") as file:
        catalogue = {tuple(row.values()) for row in csv.DictReader(file)}
    assert {(row["postingApp"], row["category"], row["subject"]) for row in rows} <= catalogue
    removal = {key: [row.get(f"removal.{key}", row[key]) for row in rows] for key in schema.context.names}
    schema.context.encode(removal)


@pytest.mark.parametrize("name", NAMES)
def test_ids_count_up_and_agree(name):
    notifications, posting, removal = (read_rows(name, f"train/{table}.csv") for table in (
        "notifications", "context_on_posting", "context_on_removal"))
    expected = [str(number) for number in range(len(notifications))]
    for rows in (notifications, posting, removal):
        assert [row["id"] for row in rows] == [row[""] for row in rows] == expected
    test = read_rows(name, "test/notifications.csv")
    assert [row[""] for row in test] == [str(number) for number in range(len(test))]
    assert 1500 <= len(notifications) <= 3500 and 1500 <= len(test) <= 3500


@pytest.mark.parametrize("name", NAMES)
def test_dates_slots_and_durations_agree(name):
    posting, removal = read_rows(name, "train/context_on_posting.csv"), read_rows(name, "train/context_on_removal.csv")
    posted = [datetime.fromisoformat(row["postDate"]) for row in removal]
    assert all(earlier < later for earlier, later in pairwise(posted))
    assert datetime(2019, 2, 18) <= posted[0] and posted[-1] < datetime(2019, 5, 13)
    for moment, before, after in zip(posted, posting, removal, strict=True):
        assert before["day"] == str(moment.weekday())
        assert before["time"] == SLOT_OF_HOUR[moment.hour]
        response, seen, decision = (
            round(1e6 * float(after[key])) for key in ("responseTime", "seenTime", "decisionTime"))
        assert seen + decision == response and min(seen, decision) > 0
        assert moment + timedelta(microseconds=response) == datetime.fromisoformat(after["removedDate"])


@pytest.mark.parametrize("name", NAMES)
def test_unknown_places_are_few_enough_to_learn_from(name):
    rows, _ = read_engagements(name, "history")
    assert 0.08 < np.mean([row["place"] == "unknown" for row in rows]) < 0.17


def test_context_is_that_of_one_day_at_posting_and_removal():
    """What is removed within the minute it was posted in is removed where it was posted."""
    posting, removal = (read_rows("mira", f"train/context_on_{moment}.csv") for moment in ("posting", "removal"))
    same = [(before, after) for before, after in zip(posting, removal, strict=True)
            if after["postDate"][:16] == after["removedDate"][:16]]
    assert len(same) > 50
    for before, after in same:
        assert all(before[key] == after[key] for key in SENSED)


# ---------------------------------------------------------------- the truth

@pytest.mark.parametrize("name", NAMES)
def test_truth_names_only_what_exists(name):
    schema, truth = Schema.load(PUSH / "schema.json"), read_truth(name)
    assert truth["name"] == name and truth["schema"] == "evalumap2019"
    for half, features in (("context", schema.context), ("notification", schema.notification)):
        for feature, weights in truth[half].items():
            assert set(weights) <= set(features[feature].words)
    for feature, value, word_feature, word, weight in truth["pairs"]:
        assert value in schema.context[feature].words and word in schema.notification[word_feature].words
        assert 0.9 <= abs(weight) <= 2.5
    for feature in ("numberOfUpdates", "priority", "ongoing", "visibility"):
        assert all(abs(weight) <= 0.3 for weight in truth["notification"].get(feature, {}).values())
    numbers = [truth["intercept"], *(pair[-1] for pair in truth["pairs"])]
    assert all(round(number, 3) == number for number in numbers)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("period", ["history", "test"])
def test_outcomes_agree_with_the_stated_probabilities(name, period):
    truth = read_truth(name)
    rows, opened = read_engagements(name, period)
    probability = stated_probabilities(truth, rows)
    variance = probability * (1 - probability)
    assert truth["open_rate"][period] == round(opened.mean(), 4)
    assert abs(opened.sum() - probability.sum()) < 3 * math.sqrt(variance.sum())
    tenths = np.array_split(np.argsort(probability, kind="stable"), 10)
    chi_square = sum((opened[part].sum() - probability[part].sum()) ** 2 / variance[part].sum() for part in tenths)
    assert chi_square < 29.6        # the 0.999 quantile with ten degrees of freedom


def test_open_rates_spread():
    rates = {name: read_truth(name)["open_rate"] for name in NAMES}
    for period in ("history", "test"):
        found = sorted(rate[period] for rate in rates.values())
        assert np.allclose(found, [0.10, 0.27, 0.45, 0.66, 0.88], atol=0.025)


@pytest.mark.parametrize(("name", "clearly"), [(name, 0.02 if name == "omar" else 0.08) for name in NAMES])
def test_choosing_by_context_pays(name, clearly):
    rows, _ = read_engagements(name, "test")
    table = {key: [row[key] for row in rows] for key in rows[0]}
    means = headroom(read_truth(name), table)
    assert means["any_row"] + 0.05 < means["best_row"]
    assert means["best_row"] + clearly < means["best_each"]
    assert means["best_each"] >= 0.35


def test_what_mira_opens_in_the_evening_noor_dismisses():
    evening = {"day": ["1"], "time": ["evening"], "place": ["TYPE_OTHER"], "activity": ["still"], "noise": ["low"],
               "batteryLevel": ["high"], "charging": ["False"], "headphonesIn": ["False"], "musicActive": ["False"],
               "proximity": ["far"], "ringerMode": ["normal"]}
    message = {"postingApp": ["org.pushlab.chat"], "category": ["msg"], "subject": ["friends"],
               "numberOfUpdates": ["none"], "priority": ["high"], "ongoing": ["False"], "visibility": ["private"]}
    mira, noor = (open_probability(log_odds(read_truth(name), evening, message))[0] for name in ("mira", "noor"))
    assert mira > 0.85 and noor < 0.15


# ---------------------------------------------------------------- making users

def same_tables(one, other):
    return all(one.tables[name].equals(other.tables[name]) for name in one.tables)


def test_a_seed_decides_everything():
    one, again, other = (make_user(seed, "kim", per_quarter=400) for seed in (5, 5, 6))
    assert same_tables(one, again) and one.truth == again.truth
    assert not same_tables(one, other) and one.truth["pairs"] != other.truth["pairs"]


def test_an_unknown_period_is_refused():
    with pytest.raises(ValueError, match="period is one of history, test; got 'train'"):
        make_user(3, "kim", per_quarter=60).engagements("train")


def test_make_user_meets_what_it_is_asked():
    user = make_user(3, "kim", open_rate=0.3, per_quarter=1000)
    engagements = user.engagements("history")
    assert engagements.shape[1] == user.engagements("test").shape[1] == 19  # of what came of it only `action`
    assert 850 < len(engagements) < 1150
    both = [open_probability(log_odds(user.truth, table, table))
            for table in (engagements, user.engagements("test"))]
    assert abs(np.concatenate(both).mean() - 0.3) < 0.001
    assert {table: ",".join(["", *frame.columns]) for table, frame in user.tables.items()} == HEADERS


@pytest.mark.parametrize("seed", [1, 4, 9])
def test_strangers_too_reward_a_choice_by_context(seed):
    user = make_user(seed, "kim", open_rate=0.4, per_quarter=500)
    means = headroom(user.truth, user.engagements("history"))
    assert means["best_row"] + 0.05 < means["best_each"]


@pytest.mark.parametrize(("wrong", "word"), [
    ({"seed": -1}, "seed"), ({"seed": 1.5}, "seed"), ({"name": "Kim/../x"}, "name"), ({"open_rate": 1.0}, "open_rate"),
    ({"open_rate": "0.4"}, "open_rate"), ({"per_quarter": 3}, "per_quarter")])
def test_make_user_says_what_is_wrong(wrong, word):
    with pytest.raises(ValueError, match=f"^{word} is a whole number|^{word} is a number|^{word} is lower-case"):
        make_user(**{"seed": 1, "name": "kim"} | wrong)


def test_a_written_user_is_not_overwritten_unasked(tmp_path):
    user = make_user(2, "kim", per_quarter=100)
    folder = tmp_path / "kim"
    written = write_user(user, folder)
    assert sorted(path.relative_to(folder).as_posix() for path in written) == [
        "test/notifications.csv", "train/context_on_posting.csv", "train/context_on_removal.csv",
        "train/notifications.csv", "truth.json"]
    before = {path: path.read_bytes() for path in written}
    with pytest.raises(FileExistsError, match="not empty.*overwrite"):
        write_user(make_user(3, "kim", per_quarter=100), folder)
    assert {path: path.read_bytes() for path in written} == before
    write_user(make_user(3, "kim", per_quarter=100), folder, overwrite=True)
    assert json.loads((folder / "truth.json").read_text())["seed"] == 3
    assert {path for path in folder.rglob("*") if path.is_file()} == set(map(Path, written))    # nothing half-written


@pytest.mark.parametrize("after", [0, 2, 4, 7, 9])
def test_who_is_stopped_while_a_user_is_written_leaves_no_half_of_one(tmp_path, monkeypatch, after):
    """The private folder last: where it is, all is."""
    from pushlab.users.synthesis import user as module

    written, write = [], module.write_text

    def stopped(path, text):
        if len(written) == after:
            raise KeyboardInterrupt
        written.append(write(path, text))

    monkeypatch.setattr(module, "write_text", stopped)
    with pytest.raises(KeyboardInterrupt):
        module.write_private_user(make_user(2, "kim", per_quarter=100), tmp_path)
    assert not any((tmp_path / "kim").glob("*"))
    given = tmp_path / "handout" / "kim"
    assert not given.exists() or {path.name for path in given.iterdir()} == {"train", "contexts.csv"}


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "kim").write_text("mine")
    with pytest.raises(FileExistsError, match="is a file"):
        write_user(make_user(2, "kim", per_quarter=100), tmp_path / "kim", overwrite=True)
    assert (tmp_path / "kim").read_text() == "mine"


# ---------------------------------------------------------------- the parts

PLAN = (Stop("00:00", "asleep"), Stop("07:00", "home", 30), Stop("09:00", "gym", 60, 50), Stop("09:30", "office", 60))


@pytest.mark.parametrize("draw", [0.0, 0.3, 0.6, 0.999])
def test_a_planned_day_has_no_hole_and_no_overlap(draw):
    stops = plan_day(PLAN, np.full((len(PLAN), 2), draw))
    assert stops[0][1] == 0 and stops[-1][2] == DAY
    assert all(before[2] == after[1] for before, after in pairwise(stops))
    assert ("gym" in [setting for setting, _, _ in stops]) == (draw < 0.5)


def test_a_phone_stays_where_it_is_during_a_stop_and_charges():
    timeline = live((PLAN,) * 7, 7, seed=1)
    for _, start, end in timeline.stops:
        for feature in ("place", "ringerMode", "headphonesIn", "charging"):
            assert len(set(timeline.sensed[feature][start:end]) - {"unknown"}) <= 1
    night = timeline.at(np.arange(2 * DAY, 2 * DAY + 6 * 60))
    assert set(night["time"]) == {"early-morning"} and set(night["day"]) == {"2"}
    levels = set(timeline.sensed["batteryLevel"])
    assert levels >= {"medium", "high"}


def test_an_app_that_is_not_installed_sends_nothing():
    likings = dict.fromkeys(APPS, 10) | {"org.pushlab.chat": 0}
    times, columns = arrivals(84, 30.0, 1, likings, (10,) * 7)
    assert "org.pushlab.chat" not in columns["postingApp"]
    assert np.all(np.diff(times) >= 0) and abs(len(times) / 84 - 30) < 3


def test_a_tag_counts_when_it_is_in_the_set():
    places = {"place": ["TYPE_BAR TYPE_ATM", "TYPE_ATM", "unknown"]}
    assert holds(places, "place", "TYPE_BAR").tolist() == [1, 0, 0]
    assert holds({"activity": ["foot walking"]}, "activity", "foot").tolist() == [0]


def test_grid_and_rows_agree():
    name, seed, persona = SHIPPED[0]
    user = build_user(name, seed, persona)
    few = user.engagements("history").head(40)
    grid = log_odds(user.truth, few, few, grid=True)
    assert grid.shape == (40, 40)
    assert np.array_equal(np.diag(grid), log_odds(user.truth, few, few))


def test_the_intercept_meets_the_rate():
    taste = {"intercept": 0.0, "context": {}, "notification": {"category": {"msg": 2.0}}, "pairs": []}
    rows = {"day": ["0", "1"], "category": ["msg", "email"]}
    intercept = fit_intercept(taste, rows, rows, 0.5)       # by symmetry half of the weight, with the sign turned
    assert intercept == pytest.approx(-1.0, abs=0.001)
