"""Dynamical systems, `pushlab/ODE-…`: simulators that are integrated from one action to the next."""
