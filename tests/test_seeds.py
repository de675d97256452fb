"""Seeds of episodes and parts."""

from itertools import product

from pushlab.utils.seeds import episode_seed, part_seed


def test_seeds_of_episodes_and_parts_stay_the_same_in_every_release():
    later = [2688909353179744, 6175868026863796]
    assert [episode_seed(7, episode) for episode in range(3)] == [7, *later]
    assert part_seed(7, 1) == 7156218260726007


def test_no_two_episodes_or_parts_share_a_seed():
    seeds = {episode_seed(*pair) for pair in product(range(101), repeat=2)}
    assert len(seeds) == 101**2 and max(seeds) < 2**53
    paths = [(0, 1), (1, 0), (0, 1, 0), (0, 0), (0, 0, 1)]
    assert len({part_seed(*path) for path in paths}) == 5
