"""A class that plays the challenges on its lecturer's machine: teams, private users, a server and a leaderboard.

This package is an application on pushlab; pushlab doesn't import it. It adds the commands `pushlab class`,
`pushlab serve` and `pushlab hand-in`.

- `private_users`, `episode`: users generated from the secret of a class, and an episode with one of them
- `database`, `administration`: the stored class; creating it, its tokens and hand-out, closing it
- `session`: episodes played one step at a time, and uploads to Challenge 1
- `service`, `server`: the session over HTTP, and the process that serves it
- `standings`, `board`: scores and ranks, and the page that shows them
- `export`: logs of a class, and replays
- `client`, `remote`: the client of a team, and `pushlab/Remote-v0`

`__init__.pyi` lists the public names.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
