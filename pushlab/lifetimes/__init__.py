"""Lifetimes: syllabi of tasks, runs of agents through them, single-task experts, and reports."""
