"""Numbers counted out of a stream: for worlds whose steps need now more and now fewer of them."""

from pushlab.ground.compiled import compiled


@compiled
def number(key, at):
    """Number `at` of the stream with the given key, uniform on [0, 1); key is one of the shell's uniform numbers.

    A room needs a different count of numbers at each step, and a phone one for each notification. Counting them out
    of a stream, instead of drawing all that might be needed, makes a step depend on nothing but key and time. Place
    and key are mixed as hash functions do it, by shifting and multiplying 32-bit words; as no product leaves 63 bits,
    plain Python counts the same.
    """
    bits = int(key * 9007199254740992.0)  # 2**53: all that such a number holds
    word = (at * 0x9E3779B1 + (bits & 0x7FFFFFF)) & 0xFFFFFFFF
    word = ((word ^ (word >> 16)) * 0x45D9F3B + (bits >> 27)) & 0xFFFFFFFF
    word = ((word ^ (word >> 15)) * 0x45D9F3B) & 0xFFFFFFFF
    word = ((word ^ (word >> 16)) * 0x2C1B3C6D) & 0xFFFFFFFF
    return (word ^ (word >> 15)) * 2.0**-32
