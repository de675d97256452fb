"""Names to codes and back, and what the kinds of features allow."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pushlab.datasets.features import OTHER, Feature, Features
from pushlab.datasets.schema import Schema
from pushlab.ground.faults import BadData

CLOSED = Feature("noise", "closed", ("unknown", "low", "high"))
FLAG = Feature("charging", "closed", ("False", "True"), aliases={"true": "True"})
OPEN = Feature("app", "open", ("chat", "mail"))
PLACE = Feature("place", "set", ("A", "B", "C"))
COUNT = Feature("unlocks", "integer", edges=(0, 1, 4))
HALF = Features((CLOSED, FLAG, OPEN, PLACE, COUNT))


def values():
    return st.fixed_dictionaries({
        "noise": st.sampled_from(CLOSED.values), "charging": st.sampled_from(["True", "False", "true"]),
        "app": st.sampled_from(["chat", "mail", "never seen"]), "unlocks": st.integers(-5, 50),
        "place": st.lists(st.sampled_from(PLACE.values), max_size=5).map(lambda tags: " ".join(tags) or "unknown")})


@given(values())
def test_what_is_decoded_encodes_to_the_same_codes(row):
    codes = HALF.encode_one(row)
    assert HALF.space.contains(codes)
    words = HALF.decode_one(codes)
    assert np.array_equal(HALF.encode_one(words), codes)
    assert words["noise"] == row["noise"]
    assert words["app"] == (row["app"] if row["app"] in OPEN.values else OTHER)
    assert set(words["place"].split()) == set(row["place"].split())


@given(st.lists(values(), min_size=1, max_size=20))
def test_a_table_encodes_as_its_rows_do(rows):
    table = pd.DataFrame(rows)
    codes = HALF.encode(table)
    assert np.array_equal(codes, [HALF.encode_one(row) for row in rows])
    assert HALF.decode(codes).to_dict("records") == [HALF.decode_one(code) for code in codes]


@given(st.integers(-10, 30))
def test_a_whole_number_falls_into_the_bin_that_its_name_says(number):
    word = COUNT.word(COUNT.code(str(number)))
    assert word == ("below 0" if number < 0 else "0" if number == 0 else "1 to 3" if number < 4 else "4 or more")


def test_components_name_every_number_of_an_array():
    assert HALF.components == ("noise", "charging", "app", "place.A", "place.B", "place.C", "unlocks")
    assert HALF.sizes.tolist() == [3, 2, 3, 2, 2, 2, 4]
    assert HALF.starts.tolist() == [0, 3, 5, 8, 10, 12, 14]


@pytest.mark.parametrize("feature, text", [
    (CLOSED, "loud"), (CLOSED, ""), (CLOSED, "nan"), (FLAG, "yes"), (OPEN, ""), (OPEN, "NaN"), (PLACE, "A D"),
    (PLACE, ""), (COUNT, "3.5"), (COUNT, "many"), (COUNT, "--3"), (COUNT, "²"),
])
def test_a_value_outside_its_feature_is_an_error_that_says_what_is_right(feature, text):
    with pytest.raises(BadData) as caught:
        Features([feature]).encode({feature.name: [text]})
    assert feature.right in str(caught.value) and repr(text) in str(caught.value)


def test_every_wrong_value_is_listed_with_its_row():
    table = {"noise": ["low", "loud", "low", "shrill"], "charging": ["True", "True", "maybe", "False"]}
    with pytest.raises(BadData) as caught:
        Features([CLOSED, FLAG]).encode(table, file="mine.csv", rows=[2, 3, 4, 5])
    assert [(fault.file, fault.row, fault.column, fault.value) for fault in caught.value.faults] == [
        ("mine.csv", 3, "noise", "loud"), ("mine.csv", 5, "noise", "shrill"), ("mine.csv", 4, "charging", "maybe")]


def test_a_missing_column_is_named():
    with pytest.raises(BadData, match="charging: the column is missing"):
        HALF.encode({"noise": ["low"], "app": ["chat"], "place": ["A"], "unlocks": [1]})


def test_numbers_and_truth_values_read_as_the_files_spell_them():
    day = Features([Feature("day", "closed", ("0", "1"))])
    assert day.encode({"day": [0, 1.0]}).ravel().tolist() == [0, 1]
    assert Features([FLAG]).encode({"charging": [True, False]}).ravel().tolist() == [1, 0]


def test_an_open_feature_has_to_be_fitted_first():
    half = Features([Feature("app", "open")])
    with pytest.raises(ValueError, match="fit the schema on data first"):
        half.encode({"app": ["chat"]})


def test_other_is_counted_only_where_it_occurs():
    codes = HALF.encode({"noise": ["low"] * 3, "charging": ["True"] * 3, "app": ["chat", "new", "newer"],
                         "place": ["A"] * 3, "unlocks": [1] * 3})
    assert HALF.count_other(codes) == {"app": 2}


def test_the_challenge_keeps_its_feature_names():
    schema = Schema.load("evalumap2019")
    assert schema.notification.names == ("postingApp", "category", "numberOfUpdates", "subject", "priority", "ongoing",
                                         "visibility")
    assert schema.context.names == ("day", "time", "place", "activity", "noise", "batteryLevel", "charging",
                                    "headphonesIn", "musicActive", "proximity", "ringerMode")


def test_an_unknown_schema_names_those_there_are():
    with pytest.raises(ValueError, match="evalumap2019, evalumap2020"):
        Schema.load("evalumap2018")


@pytest.mark.parametrize("text", ["{", "[]", '{"name": "x"}',
                                  '{"name": "x", "notification": [{"name": "a", "kind": "odd"}]}'])
def test_a_file_that_is_no_schema_is_refused_by_name(tmp_path, text):
    (tmp_path / "mine.json").write_text(text)
    with pytest.raises(ValueError, match="mine.json is not a schema file"):
        Schema.load(tmp_path / "mine.json")


TEA = {"name": "tea", "notification": [{"name": "cup", "kind": "closed", "values": ["small", "big"]}],
       "context": [{"name": "weather", "kind": "open"}], "action": {"opened": ["drunk"], "dismissed": ["left"]},
       "layouts": [{"root": "", "periods": {"history": [
           {"file": "then.csv", "columns": {"Cup": "cup", "Sky": "weather", "end": "action", "n": None}}]}}]}
PARTS = [{"file": "a.csv", "columns": {"nr": "id", "Cup": "cup"}},
         {"file": "b.csv", "columns": {"nr": "id", "Sky": "weather", "end": "action"}}]


def changed(path, value):
    """TEA as JSON with something else at this path of keys; a value of None takes the key away."""
    schema = json.loads(json.dumps(TEA))
    *way, last = path
    inner = schema
    for key in way:
        inner = inner[key]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return schema


@pytest.mark.parametrize("path, value, message", [
    (("name",), 3, "'name' is a text; got 3"),
    (("notification",), {}, "'notification' is a list; got {}"),
    (("notification",), ["cup"], "notification, feature 1 is an object, {…}; got 'cup'"),
    (("notification", 0, "kind"), None, "notification, feature 1: 'kind' is missing"),
    (("notification", 0, "colour"), "red", "feature cup: 'colour' is not one of name, kind, values"),
    (("notification", 0, "values"), "small", "feature cup: 'values' takes text"),
    (("notification", 0, "values"), [1, 2], "feature cup: 'values' takes text"),
    (("context", 0, "name"), "cup", "feature cup: a feature has a name of its own"),
    (("context", 0, "name"), "action", "feature action: a feature has a name of its own"),
    (("action",), None, "'action' is missing"),
    (("action", "opened"), "drunk", "'opened' is a list; got 'drunk'"),
    (("action", "opened"), [], "'opened' lists texts, at least one"),
    (("action", "dismissed"), ["left", "drunk"], "both spelt 'drunk'"),
    (("layouts",), {}, "'layouts' is a list; got {}"),
    (("layouts",), [{}], "layout 1: 'root' is missing"),
    (("layouts", 0, "periods"), {}, "'periods' are some of history, validation, test; got none"),
    (("layouts", 0, "periods"), {"histroy": []}, "got histroy"),
    (("layouts", 0, "periods", "history"), [], "layout 1, history: no column is 'cup'"),
    (("layouts", 0, "periods", "history"), {}, "'history' is a list; got {}"),
    (("layouts", 0, "periods", "history", 0, "file"), None, "'file' is missing"),
    (("layouts", 0, "periods", "history", 0, "columns"), ["Cup"], "'columns' is an object"),
    (("layouts", 0, "periods", "history", 0, "columns", "Cup"), "cap", "then.csv: 'cap' is no feature"),
    (("layouts", 0, "periods", "history", 0, "columns", "Cup"), None, "no column is 'cup'"),
    (("layouts", 0, "periods", "history", 0, "columns", "n"), "cup", "more than one column is 'cup'"),
    (("layouts", 0, "periods", "history"), [PARTS[0] | {"columns": {"Cup": "cup"}}, PARTS[1]], "no column is the"),
    (("layouts", 0, "sort"), "posted", "'sort' is a column; got 'posted'"),
])
def test_a_schema_file_is_refused_with_the_place_that_is_wrong(tmp_path, path, value, message):
    (tmp_path / "tea.json").write_text(json.dumps(changed(path, value)))
    with pytest.raises(ValueError) as caught:
        Schema.load(tmp_path / "tea.json")
    assert str(caught.value).startswith("tea.json is not a schema file: ") and message in str(caught.value)


def test_a_schema_that_is_whole_is_read():
    assert Schema.from_dict(TEA).notification["cup"].values == ("small", "big")
    assert Schema.from_dict(changed(("layouts", 0, "periods", "history"), PARTS)).layouts[0]["root"] == ""


@pytest.mark.parametrize("feature, message", [
    (dict(kind="closed", values=("a", "b", "a")), "the value 'a' is there twice"),
    (dict(kind="open", values=("a", "other")), "'other' is kept"),
    (dict(kind="closed", values=("a", "b"), neutral="c"), "the neutral value 'c' is not one of a, b"),
    (dict(kind="closed", values=("0", "1"), neutral=0), "'neutral' takes text"),
    (dict(kind="set", values=("a", "b"), neutral="a c"), "the neutral value 'a c' is not one or several of a, b"),
    (dict(kind="integer", edges=(0, 2), neutral="few"), "the neutral value 'few' is not a whole number"),
    (dict(kind="integer", edges=(0, "2")), "'edges' are whole numbers"),
    (dict(kind="closed", values=("a", "b"), aliases={"x": "c"}), "the alias 'x' means 'c', which is no value"),
    (dict(kind="closed", values=("a", "b"), aliases={"a": "b"}), "the alias 'a' is a value itself"),
    (dict(kind="open", aliases={"x": "y", "y": "z"}), "the alias 'x' means 'y', which is no value"),
    (dict(kind="closed", values=("a", "b"), aliases=["x"]), "'aliases' takes text"),
    (dict(kind="set", values=("a", "b"), aliases={"x": "a"}), "a set feature has no aliases"),
    (dict(kind="set", values=("a", "b c")), "'b c' is not one word"),
    (dict(kind="set", values=("a", "unknown")), "'unknown' means no tag"),
    (dict(kind="closed", values=("a", "b"), labels=("A",)), "1 labels and 2 values"),
])
def test_a_feature_that_no_value_could_be_read_by_is_refused(feature, message):
    with pytest.raises(ValueError) as caught:
        Feature("cup", **feature)
    assert str(caught.value).startswith("feature cup: ") and message in str(caught.value)


@pytest.mark.parametrize("feature, word", [
    (CLOSED, "unknown"), (PLACE, "unknown"), (COUNT, "below 0"), (OPEN, "chat"),
    (Feature("noise", "closed", ("unknown", "low"), neutral="low"), "low"),
    (Feature("place", "set", ("A", "B"), empty="nowhere"), "nowhere"),
    (Feature("place", "set", ("A", "B"), neutral="B A"), "B A"),
    (Feature("unlocks", "integer", edges=(0, 2), neutral="7"), "7"),
])
def test_the_neutral_value_is_the_one_named_or_the_first_or_no_tag(feature, word):
    assert feature.neutral_word == word and feature.allows(word)


def test_an_alias_of_a_value_that_the_data_never_had_is_other():
    feature = Feature("app", "open", aliases={"Chat": "chat", "E-Mail": "mail"})
    schema = Schema.from_dict({**TEA, "context": [], "notification": [], "layouts": []})
    fitted = Features([feature])
    schema = type(schema)("x", fitted, schema.context, ("1",), ("0",), ()).fit({"app": ["Chat", "chat", "news"]})
    assert schema.notification["app"].values == ("chat", "news")
    codes = schema.notification.encode({"app": ["chat", "Chat", "E-Mail", "mail"]}).ravel()
    assert [schema.notification["app"].words[code] for code in codes] == ["chat", "chat", OTHER, OTHER]
