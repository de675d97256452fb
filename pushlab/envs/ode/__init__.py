"""The dynamical systems: `pushlab/ODE-…`, integrated from one intervention to the next."""
