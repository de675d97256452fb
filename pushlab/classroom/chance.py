"""Where the chance of a class comes from: one secret, and words that say what it is for.

HMAC-SHA256 of the words under the secret gives whole numbers of 128 bits. Who has the secret can make every user and
every episode again; who has not learns from any number of them nothing of the others.

Source  HMAC: Krawczyk, Bellare & Canetti (1997), RFC 2104; as a generator of keys: NIST SP 800-108
"""

import hashlib
import hmac
import json
import secrets


def new_secret(seed: str | None = None) -> bytes:
    """32 bytes: from the operating system, or SHA-256 of a seed, which is as hard to guess as the seed is.

    >>> new_secret("rehearsal") == new_secret("rehearsal"), new_secret() == new_secret()
    (True, False)
    """
    return (
        secrets.token_bytes(32)
        if seed is None
        else hashlib.sha256(str(seed).encode("utf-8")).digest()
    )


def derived(secret: bytes, *words: str | int) -> int:
    """A whole number of 128 bits for these words; as JSON, so that no two lists of words are spelt alike.

    >>> derived(bytes(32), "life", 1, 23) == derived(bytes(32), "life", 12, 3)
    False
    """
    return int.from_bytes(
        hmac.digest(secret, json.dumps(words).encode("utf-8"), "sha256")[:16], "big"
    )


def shuffled(secret: bytes, count: int, *words: str | int) -> list[int]:
    """The numbers 0 to count - 1 in an order that the secret draws for these words.

    >>> sorted(shuffled(bytes(32), 5, "users of", "reds"))
    [0, 1, 2, 3, 4]
    """
    return sorted(range(count), key=lambda number: derived(secret, *words, number))
