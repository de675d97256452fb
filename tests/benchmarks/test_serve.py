"""What `make benchmarks ARGS=serve` does, in small: a real server, its book compared with what clients were told."""

import json
import sqlite3

import serve


def test_a_small_class_under_load_loses_and_doubles_nothing(tmp_path):
    row = serve.load(tmp_path / "class", clients=6, steps=25, every=0.01, per_quarter=100)
    assert list(row) == serve.COLUMNS
    assert (row["lost"], row["doubled"]) == (0, 0) and row["answered_per_second"] > 0
    with sqlite3.connect(tmp_path / "class" / "class.db") as book:
        rows = book.execute("SELECT episode, step, action, reward FROM steps").fetchall()
    told = [[(episode, step, json.loads(action), reward) for episode, step, action, reward in rows]]
    assert len(rows) == 150 and serve.lost_and_doubled(tmp_path / "class", told) == (0, 0)
    assert serve.lost_and_doubled(tmp_path / "class", [told[0][1:]]) == (0, 1)
    wrong = [(*told[0][0][:3], told[0][0][3] + 1)]
    assert serve.lost_and_doubled(tmp_path / "class", [wrong + told[0][1:]]) == (1, 0)
    assert serve.lost_and_doubled(tmp_path / "class", [told[0] + [(10_000, 0, [0], 0.0)]])[0] == 1
