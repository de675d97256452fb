"""The EvalUMAP challenges: contexts, submissions, replays, scorecards and leaderboards."""
