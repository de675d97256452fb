"""Uniform numbers for a batch: every copy's own stream, whatever the others do."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pushlab.envs.chance import BLOCK, Chance

COPIES = 3
calls = st.lists(st.one_of(st.tuples(st.just("all"), st.integers(1, 2 * BLOCK)),
                           st.tuples(st.just("some"), st.sets(st.integers(0, COPIES - 1), min_size=1)),
                           st.tuples(st.just("seed"), st.integers(0, COPIES - 1))), max_size=12)


@given(calls)
def test_each_copy_gets_its_own_stream_in_its_own_order(schedule):
    chance, streams, seeds = Chance(COPIES, 2), {}, iter(range(100, 200))

    def seed(row):
        number = next(seeds)
        chance.seed(row, np.random.default_rng(number))
        streams[row] = np.random.default_rng(number)

    def expect(rows, draws):
        assert np.array_equal(draws, [streams[row].random(2) for row in rows])

    for row in range(COPIES):
        seed(row)
    for kind, value in schedule:
        if kind == "seed":
            seed(value)
        elif kind == "some":
            expect(sorted(value), chance.take(np.array(sorted(value))))
        else:
            for _ in range(value):
                expect(range(COPIES), chance.take())


def test_the_same_generator_again_is_no_new_seed():
    chance, generator = Chance(1, 1), np.random.default_rng(1)
    chance.seed(0, generator)
    first = chance.take().copy()
    chance.seed(0, generator)
    assert chance.take() != first


def test_a_world_without_chance_draws_nothing():
    chance = Chance(4, 0)
    assert chance.take().shape == (4, 0) and chance.take(np.array([1, 2])).shape == (2, 0)
