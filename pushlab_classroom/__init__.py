"""A class that plays the challenges on its lecturer's machine: teams, private users, a server, a
board.

An application on pushlab, which does not import it. Its commands are `pushlab class`, `pushlab
serve` and `pushlab hand-in`.

- `private_users`, `episode`: the users that a class's secret draws, and one episode with one of
  them
- `database`, `folder`: the class on disk, its tokens, its hand-out
- `room`: episodes, played one step at a time, and uploads to Challenge 1
- `service`, `server`: the room over HTTP, and the process that serves it
- `standings`, `board`: scores and ranks, and the page that shows them
- `export`: logs of a class, and replays
- `client`, `remote`: a team's side: requests to the server, and `pushlab/Remote-v0`

`__init__.pyi` lists the public names.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
