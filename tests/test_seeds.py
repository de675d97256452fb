"""Seeds of episodes and of parts: the same every time, never shared, and independent enough for an interval."""

import numpy as np
import pytest

from pushlab.ground.seeds import SEEDINGS, episode_seed, part_seed
from pushlab.metrics.estimate import mean_interval

EPISODES, RUNS, STUDIES = 100, 10, 100


def returns(seeds):
    """What an episode earns: a number of its reset seed alone, in effect normal about 0, an array as `seeds`.

    Source  Steele, Lea & Flood (2014), Fast splittable pseudorandom number generators, OOPSLA: the mixing
    """
    mixed = np.asarray(seeds, np.uint64)
    with np.errstate(over="ignore"):
        mixed = mixed * np.uint64(0x9E3779B97F4A7C15)
        for shift, times in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(times)
        mixed ^= mixed >> np.uint64(31)
    return mixed / 2.0**64 - 0.5


def coverage(seeding):
    """Share of intervals over RUNS seeds, EPISODES episodes each, that hold the truth, 0: in STUDIES studies."""
    holds = 0
    for study in range(STUDIES):
        first = study * 1000                                     # the seeds 0 to 9, of somebody who began elsewhere
        seeds = [[episode_seed(first + run, episode, seeding) for episode in range(EPISODES)] for run in range(RUNS)]
        _, low, high = mean_interval(returns(seeds).mean(axis=1))
        holds += low <= 0 <= high
    return holds / STUDIES


# 0.95 of 100 has a standard error of 0.022: a right rule fails once in 30,000 times.
def test_intervals_over_the_seeds_0_to_9_hold_the_truth_as_often_as_they_say():
    assert coverage("independent") > 0.95 - 4 * 0.022


def test_counted_up_they_hold_it_one_time_in_ten():
    assert 0 < coverage("counted") < 0.25


def test_no_two_episodes_of_two_hundred_runs_share_a_seed():
    seeds = {episode_seed(seed, episode) for seed in range(201) for episode in range(201)}
    assert len(seeds) == 201 * 201
    assert all(0 <= seed < 2**53 for seed in seeds)


def test_the_first_episode_is_that_of_a_plain_reset_and_the_rest_stay_what_they_are():
    assert [episode_seed(7, 0), episode_seed(7, 3, "counted")] == [7, 10]
    kept = [2688909353179744, 6175868026863796, 7156218260726007]           # logs hold only the run's seed
    assert [episode_seed(7, 1), episode_seed(7, 2), part_seed(7, 1)] == kept
    assert episode_seed(np.int64(7), np.int64(1)) == kept[0]


def test_parts_have_seeds_of_their_own():
    named = [(0, 1), (1, 0), (0, 1, 0), (0, 0), (0, 0, 1)]
    parts = {part_seed(seed, *numbers) for seed, *numbers in named}
    assert len(parts | {episode_seed(0, 1), episode_seed(1, 1)}) == len(named) + 2


def test_a_seeding_that_is_not_known_is_refused():
    with pytest.raises(ValueError, match=f"{', '.join(SEEDINGS)}; got 'random'"):
        episode_seed(0, 1, "random")
