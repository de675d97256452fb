-- What a class keeps, in one file. Times are seconds since 1970.

CREATE TABLE class (name TEXT NOT NULL, episodes INTEGER NOT NULL, per_quarter INTEGER NOT NULL, days INTEGER NOT NULL,
                    seeded INTEGER NOT NULL, made REAL NOT NULL, closed REAL, secret TEXT NOT NULL);

CREATE TABLE teams (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, token TEXT NOT NULL UNIQUE);    -- its SHA-256

-- steps, total and expected are of what was answered so far; "of" and best are of the whole episode. began is what reset
-- told. settled is the total of an episode of push that was left open, once the class is closed.
CREATE TABLE episodes (id INTEGER PRIMARY KEY, team INTEGER NOT NULL REFERENCES teams, game TEXT NOT NULL,
                       scored INTEGER NOT NULL, number INTEGER NOT NULL, user INTEGER NOT NULL,
                       begun REAL NOT NULL, finished REAL, steps INTEGER NOT NULL DEFAULT 0,
                       total REAL NOT NULL DEFAULT 0, expected REAL NOT NULL DEFAULT 0,
                       "of" INTEGER, best REAL, began TEXT, settled REAL, UNIQUE (team, game, scored, number));

CREATE TABLE steps (episode INTEGER NOT NULL REFERENCES episodes ON DELETE CASCADE, step INTEGER NOT NULL,
                    action TEXT NOT NULL, reward REAL NOT NULL, expected REAL, best REAL, at REAL NOT NULL, answer TEXT NOT NULL,
                    PRIMARY KEY (episode, step)) WITHOUT ROWID;

-- points has a row a context, [half, expected, best]; file and points are compressed.
CREATE TABLE uploads (id INTEGER PRIMARY KEY, team INTEGER NOT NULL REFERENCES teams, number INTEGER NOT NULL,
                      at REAL NOT NULL, sha256 TEXT NOT NULL, file BLOB NOT NULL, points BLOB NOT NULL,
                      public REAL NOT NULL, public_low REAL NOT NULL, public_high REAL NOT NULL, private REAL NOT NULL,
                      private_low REAL NOT NULL, private_high REAL NOT NULL, UNIQUE (team, number));

-- An upload as boards and exports see it.
CREATE VIEW handed AS
SELECT teams.name AS team, number, at, public, public_low, public_high, iif(closed, private, NULL) AS private,
       iif(closed, private_low, NULL) AS private_low, iif(closed, private_high, NULL) AS private_high
FROM uploads JOIN teams ON teams.id = team JOIN class ORDER BY uploads.id;

-- All that an episode follows from, beside the secret.
CREATE VIEW lived AS
SELECT episodes.*, teams.name FROM episodes JOIN teams ON teams.id = team;

-- An episode as boards and exports see it.
CREATE VIEW told AS
SELECT episodes.id, teams.name AS team, game, scored, episodes.number, user, begun, finished, steps,
       "of", iif(game = 'push', NULL, total) AS points, iif(game = 'push', NULL, expected) AS expected, best,
       coalesce(settled, total) AS "return"
FROM episodes JOIN teams ON teams.id = team ORDER BY episodes.id;
