"""The simulated class of forty (`make benchmarks ARGS=classroom`): what its tables have to show."""

import sys
from pathlib import Path

import pandas as pd
import pytest

DATA = Path(__file__).parents[1] / "data" / "class"
TEAMS, CHEATS = pd.read_csv(DATA / "teams.csv"), pd.read_csv(DATA / "cheats.csv")
ORDER = pd.read_csv(DATA / "order.csv").set_index(["game", "quantity"])


def test_forty_teams_played_and_each_cheat_is_held_against_an_honest_team():
    assert len(TEAMS) == 40 and TEAMS["score"].notna().all() and TEAMS["kind"].eq("cheat").sum() == 14
    kinds = TEAMS.set_index("team")["kind"]
    assert kinds[CHEATS["made_from"]].eq("honest").all()
    assert set(CHEATS["cheat"]) == set(kinds[kinds == "cheat"].index)


def test_no_cheat_is_ahead_of_the_honest_team_it_is_made_from():
    assert not (CHEATS["low"] > 0).any()


def of(game, quantity):
    value, count = ORDER.loc[(game, quantity), ["value", "of"]]
    return float(value), float(count)


@pytest.mark.parametrize("game, least", [("evalumap1", 5), ("evalumap2", 15)])
def test_what_the_board_tells_apart_surely_is_ordered_as_true_values(game, least):
    right, sure = of(game, "pairs that the board says are surely apart, and ordered as their true values")
    assert right == sure >= least
    right, clear = of(game, "of those whose true values are 0.1 apart or more")
    assert right >= 0.95 * clear and of(game, "rank correlation of scores and true values")[0] > 0.8


def test_intervals_hold_true_values_and_true_differences():
    for quantity in ("intervals of scores that hold the true value",
                     "intervals of the difference to Thompson that hold the true difference",
                     "intervals over 20 of those people that hold the mean of the others"):
        held, count = of("evalumap2", quantity)
        assert held >= 0.85 * count
    assert of("evalumap2", "scored episodes played again from the book, the same to the digit") == (31, 31)


def test_classes_of_other_secrets_are_as_hard():
    secrets, true = pd.read_csv(DATA / "secrets.csv"), TEAMS.set_index("team").loc["random", "true"]
    assert len(secrets) == 8 and secrets["score"].std() < 0.02      # users drawn without regard to it: 0.04
    assert ((secrets["low"] < true) & (true < secrets["high"])).all()


def test_scores_are_the_means_of_what_was_earned_with_each_user():
    users, people = pd.read_csv(DATA / "users.csv"), pd.read_csv(DATA / "people.csv")
    scores = TEAMS.set_index("team")
    for name in users.columns.drop("user"):
        assert users[name].mean() == pytest.approx(scores.loc[name, "score"], abs=1e-4) and len(users) == 20
    for name in people.columns.drop("person"):
        assert people[name].mean() == pytest.approx(scores.loc[name, "true"], abs=1e-4) and len(people) == 120


def test_every_trick_met_a_refusal_or_nothing():
    """Counted while they played: no step was made twice, no episode begun anew, none of another's, no row was taken."""
    met = " ".join(TEAMS["met"].dropna())
    for words in ("began anew", "made twice", ": taken:"):
        assert words not in met
    for words in ("info has no probability", "taken up where it stood", "second connection: 409", "guessed token: 401",
                  "another's episode: 404", "points of its own: 422", "seeds that fit: 0", "no answers", "no file"):
        assert words in met


@pytest.fixture
def teams(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "benchmarks"))
    import teams

    yield teams
    sys.modules.pop("teams")


def test_the_tables_are_of_the_teams_that_there_are(teams):
    assert TEAMS["team"].tolist() == teams.NAMES
    assert [team.made_from for team in teams.CHEATS] + ["Thompson"] == CHEATS["made_from"].tolist()[:len(
        teams.CHEATS) + 1]
