"""Episodes of a class, played one step at a time."""
