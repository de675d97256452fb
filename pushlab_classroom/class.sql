-- Tables of a class. Times are seconds since 1970.

-- closed: time of closing. The class is closing until all open episodes of push are settled, and closed afterwards.
CREATE TABLE class (name TEXT NOT NULL, episodes INTEGER NOT NULL, per_quarter INTEGER NOT NULL, days INTEGER NOT NULL,
                    seeded INTEGER NOT NULL, made REAL NOT NULL, closed REAL, secret TEXT NOT NULL);

CREATE TABLE teams (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, token TEXT NOT NULL UNIQUE);    -- its SHA-256

-- steps, total and expected are sums so far; "of" and best describe the whole episode. began: the answer to reset().
-- settled: return of an episode of push that was open when the class was closed.
CREATE TABLE episodes (id INTEGER PRIMARY KEY, team INTEGER NOT NULL REFERENCES teams, game TEXT NOT NULL,
                       scored INTEGER NOT NULL, number INTEGER NOT NULL, user INTEGER NOT NULL,
                       begun REAL NOT NULL, finished REAL, steps INTEGER NOT NULL DEFAULT 0,
                       total REAL NOT NULL DEFAULT 0, expected REAL NOT NULL DEFAULT 0,
                       "of" INTEGER, best REAL, began TEXT, settled REAL, UNIQUE (team, game, scored, number));

CREATE TABLE steps (episode INTEGER NOT NULL REFERENCES episodes ON DELETE CASCADE, step INTEGER NOT NULL,
                    action TEXT NOT NULL, reward REAL NOT NULL, expected REAL, best REAL, at REAL NOT NULL, answer TEXT NOT NULL,
                    PRIMARY KEY (episode, step)) WITHOUT ROWID;

-- points: one row per context, [half, expected, best]. file and points are compressed.
CREATE TABLE uploads (id INTEGER PRIMARY KEY, team INTEGER NOT NULL REFERENCES teams, number INTEGER NOT NULL,
                      at REAL NOT NULL, sha256 TEXT NOT NULL, file BLOB NOT NULL, points BLOB NOT NULL,
                      public REAL NOT NULL, public_low REAL NOT NULL, public_high REAL NOT NULL, private REAL NOT NULL,
                      private_low REAL NOT NULL, private_high REAL NOT NULL, UNIQUE (team, number));
