"""Simulated users and judges, candidate notifications, users' days, and the generator of synthetic users."""
