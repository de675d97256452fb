"""The readers: what they make of good tables, and what they say of bad ones."""

import csv
import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest

from pushlab.datasets.reading import list_users, load_user, load_users
from pushlab.datasets.schema import Schema
from pushlab.datasets.tables import Source, read_rows
from pushlab.ground.faults import BadData
from pushlab.ground.files import data_dir

ROWS = 30
TABLES = ("train/notifications.csv", "train/context_on_posting.csv", "train/context_on_removal.csv",
          "test/notifications.csv")
COLUMNS_2020 = ("unlockCount_prev2", "uniqueAppsLaunched_prev2", "enticement", "sentiment", "appPackage", "category",
                "ledARGB", "priority", "vibrate", "visibility", "subject", "action", "timeAppLastUsed", "timeOfDay",
                "dayOfMonth", "dayOfWeek", "time", "userId")


@pytest.fixture
def folder(tmp_path):
    """A user's folder in the layout of EvalUMAP 2019, 30 rows a table, without schema, catalogue or truth."""
    for table in TABLES:
        lines = (data_dir() / "push" / "mira" / table).read_text(encoding="utf-8").splitlines(keepends=True)
        (tmp_path / "ann" / table).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "ann" / table).write_text("".join(lines[:ROWS + 1]), encoding="utf-8", newline="")
    return tmp_path / "ann"


def rows_2020(count, seed=0):
    """Rows of one file of the 2020 release: its columns, its spelling, one app that differs from file to file."""
    rng = np.random.default_rng(seed)
    schema = Schema.load("evalumap2020")
    texts = io.StringIO(newline="")
    table = csv.writer(texts, lineterminator="\r\n")
    table.writerow(COLUMNS_2020)
    for row in range(count):
        values = {feature.name: rng.choice(feature.values) for half in (schema.notification, schema.context)
                  for feature in half if feature.kind == "closed"}
        values |= {"appPackage": f"app.{'a' if row % 2 else f'own{seed}'}", "category": "msg", "ledARGB": "green",
                   "vibrate": "0200200200", "subject": "tv & video", "unlockCount_prev2": row - 1,
                   "uniqueAppsLaunched_prev2": row, "dayOfMonth": 1 + row % 31, "userId": "0f",
                   "action": "Opened" if rng.random() < 0.5 else "Dismissed",
                   "time": f"2020-01-{28 - row % 28:02d} 10:00:{row % 60:02d}.5"}
        table.writerow([values[column] for column in COLUMNS_2020])
    return texts.getvalue()


def write_wheel(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


@pytest.fixture
def wheel(tmp_path):
    """A wheel in the layout of gym_push-0.0.21: one user with three files, one with the validation file only."""
    members = {f"gym_push/envs/data/user_1/{kind}_set.csv": rows_2020(40, seed)
               for seed, kind in enumerate(("train", "validation", "test"))}
    members |= {"gym_push/envs/data/user_8/validation_set.csv": rows_2020(41, 9), "gym_push/__init__.py": "",
                "gym_push/envs/data/user_1/model.joblib": "never opened",
                "gym_push/envs/data/notifications.csv": "other"}
    return write_wheel(tmp_path / "gym_push-0.0.21-py3-none-any.whl", members)


def edit(path, change):
    text = path.read_bytes().decode("utf-8")
    path.write_bytes(change(text).encode("utf-8"))


def faults_of(where, **arguments):
    with pytest.raises(BadData) as caught:
        load_user(where, **arguments)
    return caught.value.faults


# ---------------------------------------------------------------- good tables

def test_the_shipped_users_are_there_and_whole():
    users = load_users()
    assert len(users) >= 5 and set(users) == set(list_users())
    rates = sorted(user.history.opened.mean() for user in users.values())
    assert rates[0] < 0.15 and rates[-1] > 0.85
    for user in users.values():
        assert 1500 <= len(user.history) <= 5000 and 1500 <= len(user.test) <= 5000
        assert user.truth is not None and user.catalogue is not None
        assert user.history.table["posted"].is_monotonic_increasing


def test_the_shipped_users_share_one_vocabulary():
    sizes = {tuple(load_user(name).schema.notification.sizes) for name in list_users()}
    assert len(sizes) == 1


def test_a_user_is_read_by_name_by_folder_and_out_of_a_folder_of_users():
    by_name = load_user("mira")
    by_folder = load_user(data_dir() / "push" / "mira")
    out_of_all = load_user(data_dir() / "push", user="mira")
    for user in (by_folder, out_of_all):
        assert user.name == "mira" and np.array_equal(user.test.context_codes, by_name.test.context_codes)
        pd.testing.assert_frame_equal(user.history.engagements, by_name.history.engagements)


def test_a_shipped_name_means_that_user_whatever_lies_in_the_working_directory(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mira").write_text("id,day\n")
    folder.rename(tmp_path / "theo")
    for name in ("mira", "theo"):
        assert load_user(name) is load_user(name, user=name) and len(load_user(name).history) > ROWS
        assert list_users(name) == [name] and list(load_users(name)) == [name]
    assert len(load_user("./theo").history) == len(load_user(tmp_path / "theo").history) == ROWS
    with pytest.raises(BadData, match="neither a folder of users nor a wheel"):
        load_user("./mira", user="mira")


def test_a_schema_is_applied_to_a_shipped_user():
    user = load_user("mira", schema="evalumap2019")
    assert user.schema.name == "evalumap2019" and user.history.table.equals(load_user("mira").history.table)
    assert load_user("mira").schema.name != "evalumap2019"


def test_a_user_who_was_read_is_given_back_and_nobody_else(folder):
    user = load_user(folder)
    assert load_user(user) is load_user(user, user="ann") is user
    with pytest.raises(ValueError, match="this is user ann, not mira"):
        load_user(user, user="mira")
    with pytest.raises(ValueError, match="was read with the schema evalumap2019"):
        load_user(user, schema="evalumap2019")


def test_a_shipped_user_holds_no_other():
    with pytest.raises(ValueError, match="mira is one shipped user and no folder"):
        load_user("mira", user="theo")


def test_the_2019_layout_gives_the_challenges_names(folder):
    user = load_user(folder)
    raw = pd.read_csv(folder / TABLES[0], dtype=str, keep_default_na=False)
    assert user.schema.name == "evalumap2019" and len(user.history) == len(user.test) == ROWS
    assert user.history.notifications["postingApp"].tolist() == raw["appPackage"].tolist()
    assert user.history.notifications["numberOfUpdates"].tolist() == raw["numberUpdates"].tolist()
    test = pd.read_csv(folder / TABLES[3], dtype=str, keep_default_na=False)
    assert user.test.contexts["time"].tolist() == test["timeOfDayPosted"].tolist()
    assert user.test.contexts["ringerMode"].tolist() == test["ringerModePosted"].tolist()
    assert user.test.opened.tolist() == (test["action"] == "True").tolist()
    assert "posted" in user.history.table and "posted" not in user.test.table


def test_tables_are_joined_by_id_whatever_the_order_of_their_rows(folder):
    before = load_user(folder).history.engagements
    header, *rows = (folder / TABLES[2]).read_text().splitlines(keepends=True)
    (folder / TABLES[2]).write_text(header + "".join(reversed(rows)))
    pd.testing.assert_frame_equal(load_user(folder).history.engagements, before)


def test_other_spellings_of_true_and_false_are_read_as_what_they_mean(folder):
    plain = load_user(folder).history
    edit(folder / TABLES[2], lambda text: text.replace("True", "true").replace("False", "false"))
    edit(folder / TABLES[1], lambda text: text.replace("False", "false"))
    again = load_user(folder).history
    assert np.array_equal(again.opened, plain.opened) and np.array_equal(again.context_codes, plain.context_codes)


def test_a_place_is_a_set_of_tags(folder):
    edit(folder / TABLES[1], lambda text: replace_field(text, 0, "place", "TYPE_BAR TYPE_OTHER TYPE_BAR"))
    user = load_user(folder)
    codes = dict(zip(user.schema.context.components, user.history.context_codes[0]))
    there = [name for name, code in codes.items() if name.startswith("place.") and code]
    assert there == ["place.TYPE_BAR", "place.TYPE_OTHER"]


def replace_field(text, row, column, value):
    rows = list(csv.reader(io.StringIO(text)))
    rows[row + 1][rows[0].index(column)] = value
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def test_a_value_first_met_in_the_test_is_other_and_counted(folder):
    known = (folder / TABLES[0]).read_text().splitlines()[1].split(",")[5]      # a subject of the history
    for row, subject in enumerate(("alchemy", "magic", *[known] * (ROWS - 2))):
        edit(folder / TABLES[3], lambda text, row=row, subject=subject: replace_field(text, row, "subject", subject))
    user = load_user(folder)
    assert user.schema.notification.decode(user.test.notification_codes[:2])["subject"].tolist() == ["other", "other"]
    assert "subject: 2 rows with a value not in the history" in user.report()


def test_fields_with_commas_and_quotes_and_unicode_survive(folder):
    edit(folder / TABLES[0], lambda text: replace_field(text, 3, "subject", 'art, "modern" & schön'))
    assert load_user(folder).history.notifications["subject"][3] == 'art, "modern" & schön'


def test_a_byte_order_mark_is_not_part_of_the_first_column(folder):
    raw = (folder / TABLES[0]).read_bytes()
    (folder / TABLES[0]).write_bytes(b"\xef\xbb\xbf" + raw)
    assert len(load_user(folder).history) == ROWS


def test_the_2020_wheel_is_read_as_it_is(wheel):
    assert list_users(wheel) == ["user_1", "user_8"]
    user = load_user(wheel, user="user_1")
    assert user.schema.name == "evalumap2020" and {name: len(period) for name, period in user.periods.items()} == {
        "history": 40, "validation": 40, "test": 40}
    assert user.history.table["posted"].is_monotonic_increasing
    assert user.test.notifications["vibrate"].eq("0200200200").all()
    counts = user.history.contexts["unlockCount_prev2"].astype(int)
    bins = user.schema.context["unlockCount_prev2"].words
    codes = user.history.context_codes[:, user.schema.context.components.index("unlockCount_prev2")]
    assert [bins[code] for code in codes] == [
        "below 0" if n < 0 else "0" if n < 1 else "1" if n < 2 else "2 to 3" if n < 4 else "4 to 6" if n < 7
        else "7 to 10" if n < 11 else "11 to 20" if n < 21 else "21 or more" for n in counts]


def test_a_wheel_is_open_only_while_it_is_read(wheel, monkeypatch):
    made = []

    class Watched(zipfile.ZipFile):
        def __init__(self, *arguments, **others):
            super().__init__(*arguments, **others)
            made.append(self)

    monkeypatch.setattr(zipfile, "ZipFile", Watched)
    Source(wheel).read("gym_push/envs/data/user_1/test_set.csv")
    assert made and all(archive.filename is None for archive in made)       # unpacked from memory


def test_a_user_with_one_file_is_halved_by_time(wheel):
    user = load_user(wheel, user="user_8")
    assert (len(user.history), len(user.test)) == (20, 21)
    assert user.history.table["posted"].max() <= user.test.table["posted"].min()
    assert "its first half is the history" in user.report()


def test_the_unpacked_wheel_reads_the_same(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "unpacked")
    packed, unpacked = (load_user(where, user="user_1") for where in (wheel, tmp_path / "unpacked"))
    pd.testing.assert_frame_equal(packed.test.table, unpacked.test.table)
    by_folder = load_user(tmp_path / "unpacked/gym_push/envs/data/user_1")
    assert by_folder.test.opened.tolist() == packed.test.opened.tolist()


def test_users_read_together_share_their_spaces(wheel):
    apart = load_users(wheel, shared=False)
    together = load_users(wheel)
    assert apart["user_1"].schema.notification.sizes[0] == apart["user_8"].schema.notification.sizes[0] == 3
    assert {user.schema.notification.sizes[0] for user in together.values()} == {4}    # a, own0, own9 and other


def test_another_data_set_is_another_schema_file(tmp_path):
    """A made-up data set with names and kinds of its own, read without new code."""
    columns = {"Cup": "cup", "Sky": "weather", "n": "guests", "end": "action"}
    schema = {"name": "tea", "notification": [{"name": "cup", "kind": "closed", "values": ["small", "big"]}],
              "context": [{"name": "weather", "kind": "open"}, {"name": "guests", "kind": "integer", "edges": [1, 3]}],
              "action": {"opened": ["drunk"], "dismissed": ["left"]},
              "layouts": [{"root": "", "periods": {"history": [{"file": "then.csv", "columns": columns}],
                                                   "test": [{"file": "now.csv", "columns": columns}]}}]}
    (tmp_path / "ann").mkdir()
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    (tmp_path / "ann" / "then.csv").write_text("Cup,Sky,n,end\nsmall,rain,0,drunk\nbig,sun,2,left\n")
    (tmp_path / "ann" / "now.csv").write_text("Cup,Sky,n,end\nbig,snow,7,drunk\n")
    user = load_user(tmp_path / "ann")
    assert user.test.context_codes.tolist() == [[2, 2]] and user.test.opened.tolist() == [True]
    assert user.schema.context["guests"].words == ("below 1", "1 to 2", "3 or more")


def test_nothing_is_changed_for_others_by_writing_into_what_one_got():
    user = load_user("mira")
    mine = user.history.engagements
    mine["action"] = "opened"
    assert 0 < load_user("mira").history.opened.mean() < 1
    with pytest.raises(ValueError, match="read-only"):
        user.history.context_codes[0] = 0


# ---------------------------------------------------------------- bad tables

def test_a_misspelt_column_is_named_with_the_one_meant(folder):
    edit(folder / TABLES[0], lambda text: text.replace("appPackage", "appPackge", 1))
    faults = faults_of(folder)
    assert {(fault.column, fault.row) for fault in faults} == {("appPackge", 1), ("appPackage", 1)}
    assert any("is 'appPackage' meant?" in fault.right for fault in faults)
    assert all(fault.file == "ann/train/notifications.csv" for fault in faults)


def test_missing_extra_and_doubled_columns_are_all_listed(folder):
    def change(text):
        header, rest = text.split("\n", 1)
        return header.replace("subject", "weather").replace("visibility", "ongoing") + "\n" + rest

    edit(folder / TABLES[0], change)
    edit(folder / TABLES[3], lambda text: text.replace("action", "Action", 1))
    said = {(fault.file.split("/", 1)[1], fault.column) for fault in faults_of(folder)}
    assert said >= {(TABLES[0], "weather"), (TABLES[0], "subject"), (TABLES[0], "visibility"), (TABLES[0], "ongoing"),
                    (TABLES[3], "Action"), (TABLES[3], "action")}


@pytest.mark.parametrize("table, column, value", [
    (TABLES[0], "priority", "urgent"), (TABLES[1], "noise", "deafening"), (TABLES[1], "time", "noon"),
    (TABLES[1], "day", "7"), (TABLES[1], "place", "TYPE_MOON"), (TABLES[2], "action", "maybe"),
    (TABLES[2], "postDate", "yesterday"), (TABLES[2], "responseTime", "-3"), (TABLES[2], "seenTime", "soon"),
    (TABLES[3], "ringerModePosted", "loud"), (TABLES[2], "ringerMode", "loud"),
    (TABLES[1], "charging", ""), (TABLES[0], "subject", ""), (TABLES[0], "subject", "NaN"),
    (TABLES[2], "responseTime", "nan"), (TABLES[2], "postDate", ""),
])
def test_a_wrong_or_missing_value_is_named_with_file_row_and_column(folder, table, column, value):
    edit(folder / table, lambda text: replace_field(text, 4, column, value))
    fault, = faults_of(folder)
    assert (fault.file, fault.row, fault.column, fault.value) == (f"ann/{table}", 6, column, value)
    assert fault.right


def test_every_fault_of_every_table_is_in_one_error(folder):
    for row in (0, 7):
        edit(folder / TABLES[0], lambda text, row=row: replace_field(text, row, "priority", "urgent"))
    edit(folder / TABLES[1], lambda text: replace_field(text, 2, "noise", "deafening"))
    edit(folder / TABLES[3], lambda text: replace_field(text, 3, "action", "perhaps"))
    with pytest.raises(BadData) as caught:
        load_user(folder)
    assert len(caught.value.faults) == 4
    assert "rows 2, 9: 'urgent' is not one of unknown, min, low, default, high, max" in str(caught.value)
    assert "deafening" in str(caught.value) and "perhaps" in str(caught.value)


def test_an_empty_file_and_a_table_without_rows(folder):
    (folder / TABLES[0]).write_text("")
    edit(folder / TABLES[3], lambda text: text.split("\n", 1)[0] + "\n")
    assert {fault.right for fault in faults_of(folder)} == {
        "the file is empty; a CSV table with a header is meant", "the table has a header and no rows"}


def test_a_torn_last_line_is_refused(folder):
    edit(folder / TABLES[1], lambda text: text[:-25])
    fault, = faults_of(folder)
    assert fault.row == ROWS + 1 and "may be torn off" in fault.right


def test_an_open_quote_is_refused(folder):
    edit(folder / TABLES[0], lambda text: text + '99,99,"app,unknown')
    assert any("not a CSV row" in fault.right for fault in faults_of(folder))


def test_a_folder_in_a_files_place(folder):
    (folder / TABLES[1]).unlink()
    (folder / TABLES[1]).mkdir()
    fault, = faults_of(folder)
    assert "this is a folder" in fault.right and fault.file == f"ann/{TABLES[1]}"


def test_a_file_in_a_folders_place(folder):
    with pytest.raises(BadData, match="neither a folder of users nor a wheel"):
        load_user(folder / TABLES[0])


def test_a_table_that_is_missing(folder):
    (folder / TABLES[2]).unlink()
    fault, = faults_of(folder)
    assert fault.right == "the file is missing" and fault.file == f"ann/{TABLES[2]}"


def test_a_period_that_is_missing(folder):
    (folder / TABLES[3]).unlink()
    user = load_user(folder)        # one period alone is halved, and the report says so
    assert len(user.history) == ROWS // 2 and "first half is the history" in user.report()


def test_a_folder_without_any_table_says_what_was_looked_for(tmp_path):
    fault, = faults_of(tmp_path)
    assert "train/notifications.csv" in fault.right and "train_set.csv" in fault.right


def test_ids_that_disagree_are_named_on_both_sides(folder):
    edit(folder / TABLES[1], lambda text: replace_field(text, 4, "id", "4711"))
    said = {(fault.file.split("/", 1)[1], fault.row, fault.value) for fault in faults_of(folder)}
    assert said == {(TABLES[1], 6, "4711"), (TABLES[0], 6, "4")}


def test_ids_that_stand_there_twice_are_named(folder):
    edit(folder / TABLES[2], lambda text: replace_field(text, 4, "id", "5"))
    assert any(fault.row == 7 and "stands there twice" in fault.right for fault in faults_of(folder))


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_another_encoding_is_named_with_its_place(folder, encoding):
    text = replace_field((folder / TABLES[0]).read_text(), 3, "subject", "schön")
    (folder / TABLES[0]).write_bytes(text.encode(encoding))
    fault, = faults_of(folder)
    assert "not UTF-8" in fault.right and fault.row == (5 if encoding == "latin-1" else 1)


def test_bytes_that_are_no_text(folder):
    (folder / TABLES[0]).write_bytes(bytes(range(256)))
    assert faults_of(folder)


def test_a_wheel_that_is_no_zip(tmp_path):
    (tmp_path / "gym_push.whl").write_bytes(b"not a zip at all")
    fault, = faults_of(tmp_path / "gym_push.whl", user="user_1")
    assert "nor a wheel (a zip file)" in fault.right


@pytest.mark.parametrize("name", ["../outside.csv", "/etc/outside.csv", "a/../../outside.csv", "C:/outside.csv",
                                  "..\\outside.csv"])
def test_a_wheel_whose_paths_leave_it_is_refused_whole(tmp_path, name):
    path = write_wheel(tmp_path / "bad.whl", {"gym_push/envs/data/user_1/train_set.csv": rows_2020(5), name: "x"})
    fault, = faults_of(path, user="user_1")
    assert "points outside the archive" in fault.right and not (tmp_path.parent / "outside.csv").exists()


def test_a_torn_wheel(wheel):
    raw = bytearray(wheel.read_bytes())
    at = raw.index(b"unlockCount_prev2")
    raw[at:at + 5] = b"XXXXX"        # the member no longer has its checksum
    wheel.write_bytes(raw)
    assert any("cannot be unpacked" in fault.right for fault in faults_of(wheel, user="user_1"))


def test_a_wheel_of_users_needs_to_be_told_which(wheel):
    with pytest.raises(ValueError, match="name one with user=: user_1, user_8"):
        load_user(wheel)


def test_a_user_who_is_not_there(wheel):
    fault, = faults_of(wheel, user="user_2")
    assert "no table of user 'user_2'" in fault.right


def test_numbers_of_the_2020_kind_that_are_none(tmp_path):
    text = replace_field(rows_2020(6), 2, "dayOfMonth", "first")
    path = write_wheel(tmp_path / "a.whl", {"gym_push/envs/data/user_1/validation_set.csv": text})
    fault, = faults_of(path, user="user_1")
    assert (fault.row, fault.column, fault.value, fault.right) == (4, "dayOfMonth", "first", "a whole number")


def test_a_schema_beside_the_data_that_is_none(folder):
    (folder.parent / "schema.json").write_text("{}")
    fault, = faults_of(folder)
    assert fault.file == "schema.json" and "not a schema file" in fault.right


@pytest.mark.parametrize("change, message", [
    ({"layouts": [{}]}, "layout 1: 'root' is missing"),
    ({"layouts": [{"root": "", "periods": {"history": []}}]}, "layout 1, history: no column is 'postingApp'"),
    ({"layouts": {}}, "'layouts' is a list"),
])
def test_a_schema_beside_the_data_with_layouts_that_are_none(folder, change, message):
    schema = json.loads((data_dir() / "schemas" / "evalumap2019.json").read_text(encoding="utf-8"))
    (folder.parent / "schema.json").write_text(json.dumps(schema | change))
    fault, = faults_of(folder)
    assert fault.file == "schema.json" and message in fault.right


def test_a_truth_that_is_no_json(folder):
    (folder / "truth.json").write_text("{")
    fault, = faults_of(folder)
    assert fault.file == "ann/truth.json"


@pytest.mark.parametrize("text, right", [
    ("[]", "the truth is an object"),
    ('{"context": {}, "notification": {}, "pairs": []}', "'intercept' is missing"),
    ('{"intercept": NaN, "context": {}, "notification": {}, "pairs": []}', "NaN is no number of JSON"),
    ('{"intercept": 1e7, "context": {}, "notification": {}, "pairs": []}', "'intercept' is a number, 1,000"),
    ('{"intercept": 0, "notification": {}, "pairs": []}', "'context' is missing"),
    ('{"intercept": 0, "context": {}, "pairs": []}', "'notification' is missing"),
    ('{"intercept": 0, "context": {}, "notification": {}}', "'pairs' is missing"),
    ('{"intercept": 0, "context": {"noise": 1}, "notification": {}, "pairs": []}', "'context' holds a number, "),
    ('{"intercept": 0, "context": {}, "notification": {"subject": {"art": "2"}}, "pairs": []}', "'notification' holds"),
    ('{"intercept": 0, "context": {}, "notification": {}, "pairs": [["time", "morning", 1]]}', "'pairs' lists such as"),
])
def test_a_truth_that_is_no_truth_is_named_with_the_key(folder, text, right):
    (folder / "truth.json").write_text(text)
    fault, = faults_of(folder)
    assert fault.file == "ann/truth.json" and right in fault.right


def test_a_truth_lists_every_key_that_is_missing(folder):
    (folder / "truth.json").write_text("{}")
    assert len(faults_of(folder)) == 4


@pytest.mark.parametrize("rows", [[4], range(ROWS)])
def test_a_date_with_a_time_zone_is_named_with_its_cell(folder, rows):
    dates = [row["postDate"] for row in csv.DictReader((folder / TABLES[2]).open(newline=""))]
    for row in rows:
        edit(folder / TABLES[2], lambda text, row=row: replace_field(text, row, "postDate", f"{dates[row]}+01:00"))
    faults = faults_of(folder)
    assert [(fault.row, fault.column, fault.value) for fault in faults] == [
        (row + 2, "postDate", f"{dates[row]}+01:00") for row in rows]
    assert all("without a time zone" in fault.right and fault.file == f"ann/{TABLES[2]}" for fault in faults)


def test_time_zones_that_differ_and_a_date_that_is_none_are_all_named(folder):
    for row, date in ((1, "2019-01-05T10:00:00+01:00"), (2, "2019-01-05T10:00:00Z"), (5, "yesterday")):
        edit(folder / TABLES[2], lambda text, row=row, date=date: replace_field(text, row, "postDate", date))
    assert [fault.row for fault in faults_of(folder)] == [3, 4, 7]


@pytest.mark.parametrize("date", ["2019-01-05T06Z", "2019-01-05T06+01:00", "20190105T060226Z", "20190105T060226+0100"])
def test_a_time_zone_without_a_colon_before_it_is_refused_too(folder, date):
    edit(folder / TABLES[2], lambda text: replace_field(text, 1, "postDate", date))
    assert [(fault.row, fault.value) for fault in faults_of(folder)] == [(3, date)]


@pytest.mark.parametrize("text, told", [
    ("\na,b\n1,2\n", "row 1: the first line is blank; it should be the header"),
    ("  \n \n", "the file is empty"), ("", "the file is empty"),
])
def test_a_table_without_a_header_is_told_from_an_empty_one(text, told):
    with pytest.raises(BadData, match=told):
        read_rows(io.BytesIO(text.encode()), "a.csv")


def test_a_catalogue_with_a_quoted_header_is_read(folder):
    (folder.parent / "catalogue.csv").write_text('"postingApp","category"\n"org.pushlab.chat","msg"\n')
    assert load_user(folder).catalogue.to_dict("list") == {"postingApp": ["org.pushlab.chat"], "category": ["msg"]}


def test_a_catalogue_whose_header_is_no_csv(folder):
    (folder.parent / "catalogue.csv").write_text('"postingApp\n')
    assert {fault.file for fault in faults_of(folder)} == {"catalogue.csv"}


def test_a_catalogue_with_a_column_of_its_own(folder):
    (folder.parent / "catalogue.csv").write_text("postingApp,colour\norg.pushlab.chat,red\n")
    fault, = faults_of(folder)
    assert fault.column == "colour" and fault.file == "catalogue.csv"


def test_nothing_there_at_all():
    with pytest.raises(FileNotFoundError, match="no folder or file 'nowhere/at/all'.*mira"):
        load_user("nowhere/at/all")
