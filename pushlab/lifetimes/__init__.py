"""Syllabi of tasks, agents that live them, single-task experts, and the command that measures both."""
