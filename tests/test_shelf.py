"""Pictures of the recommender: they draw for every user model and size, and no words leave the sheet or meet."""


import gymnasium as gym
import numpy as np
import pandas as pd
import pytest

import pushlab  # noqa: F401
from pushlab.envs.rec.models import Satiation
from pushlab.plots import png
from pushlab.plots.estimates import estimator_intervals, estimator_spread
from pushlab.plots.shelf import item_places, plane, preference_map, shelf


def film(steps, seed=3, **kwargs):
    env = gym.make("pushlab/RECEnv-v0", **{"step_per_episode": max(steps, 1), **kwargs})
    env.action_space.seed(seed)
    env.reset(seed=seed)
    frames = [env.unwrapped.frame()]
    for _ in range(steps):
        env.step(env.action_space.sample())
        frames.append(env.unwrapped.frame())
    return frames


@pytest.mark.parametrize("steps, kwargs", [
    (0, {}), (1, {}), (10, {"reward_type": "binary"}), (30, {"n_items": 12, "reward_std": 0.5}),
    (150, {"n_items": 100, "item_feature_dim": 8, "user_feature_dim": 8}), (5, {"n_items": 1}),
    (5, {"item_feature_dim": 1, "user_feature_dim": 1}), (6, {"UserModel": Satiation, "n_items": 9}),
    (6, {"item_names": ["an item with a name far too long for any shelf " + "x" * 60] * 5}),
], ids=str)
def test_no_words_leave_the_shelf_or_meet(steps, kwargs, stray_words):
    for seed in (1, 3):
        figure = shelf(film(steps, seed, **kwargs), agent="an agent")
        assert stray_words(figure) == ([], [])
        assert len(png(figure)) < 150_000


def test_the_title_says_what_happened():
    frames = film(6)
    titles = {shelf(frames[:k]).axes[0].texts[0].get_text() for k in range(1, 8)}
    assert "User 8 arrives" in titles and len(titles) >= 3
    assert "Which item" in shelf(frames[:1], choosing=True).axes[0].texts[0].get_text()


def test_a_figure_is_used_again():
    frames = film(3)
    first = shelf(frames[:2])
    before = png(first)
    assert shelf(frames, figure=first) is first and png(first) != before
    assert png(shelf(frames[:2], figure=first)) == before


def test_the_plane_holds_the_longest_directions_and_keeps_two_features_as_they_are():
    items = np.random.default_rng(0).normal(size=(30, 6)) * [5, 4, 1, 0.1, 0.1, 0.1]
    axes = plane(items)
    assert axes @ axes.T == pytest.approx(np.eye(2), abs=1e-12)
    assert np.linalg.norm(items @ axes.T) > 0.95 * np.linalg.norm(items)
    assert plane(items[:, :2]).tolist() == [[1, 0], [0, 1]]
    assert np.linalg.norm(item_places(items), axis=1).max() <= 0.9 + 1e-12


def test_a_map_has_a_panel_for_each_agent(stray_words):
    rng = np.random.default_rng(0)
    paths = {name: rng.normal(size=(10, 4, 3)) for name in ("random", "greedy", "oracle")}
    paths = {name: path / np.linalg.norm(path, axis=2, keepdims=True) for name, path in paths.items()}
    figure = preference_map(paths, rng.normal(size=(4, 3)), item_names=["a", "bee", "cee", "dee"], lead="10 users")
    outside, touching = stray_words(figure)
    assert outside == [] and {"random", "greedy", "oracle"} <= {text.get_text() for text in figure.axes[0].texts}


@pytest.mark.parametrize("truth", [1.0, -3.0, None])
def test_estimates_are_drawn_around_the_truth(truth, stray_words):
    rng = np.random.default_rng(0)
    names = ["naive", "direct method", "importance sampling", "doubly robust"] * 50
    table = pd.DataFrame({"estimator": names, "value": rng.normal(size=200)})
    table = table.assign(low=table["value"] - 1, high=table["value"] + 1)
    pictures = [estimator_intervals(table[:4], truth)] + ([estimator_spread(table, truth)] if truth is not None else [])
    for axes in pictures:
        assert stray_words(axes.figure) == ([], [])
        if truth is not None:
            assert axes.get_xlim()[0] <= truth <= axes.get_xlim()[1]


def test_an_item_under_the_arrow_and_one_beside_it_are_named():
    angles = np.radians([0, 60, 120, 190])
    items = np.c_[np.cos(angles), np.sin(angles)] * [[0.3], [0.4], [1.0], [0.5]]
    names = ["news", "cooking", "sport", "film"]
    env = gym.make("pushlab/RECEnv-v0", n_items=4, item_names=names, item_feature_dim=2, item_feature_vector=items,
                   n_users=1, user_feature_dim=2, user_feature_vector=[[1.0, 0.0]])
    env.reset(seed=1)
    figure = shelf([env.unwrapped.frame()])
    words = {text.get_text(): text for text in figure.axes[0].texts}
    assert {*names, "preference now"} <= set(words)
    assert words["preference now"].get_position()[0] > words["film"].get_position()[0] + 100      # at the arrow's tip
    map_of = preference_map({"a": np.ones((1, 2, 2)), "b": np.ones((1, 2, 2))}, items, item_names=names)
    assert [text.get_text() for text in map_of.axes[0].texts].count("sport") == 2
