"""The EvalUMAP challenges as a contest: contexts, answers, submissions, replays, scorecards, the board."""
