"""A class that plays the challenges on its lecturer's machine: teams, private users, a server, a board.

    chance, lives     what the secret draws: people, and stretches of their lives that nobody has seen
    book, folder      the class on disk, its tokens, its hand-out
    room              episodes, played one step at a time; lived is one of them, uploads are those of Challenge 1
    service, limits   the room over HTTP; serving is its process
    page, standings   the board

`__init__.pyi` lists what there is.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
