"""Small reference agents behind one protocol."""

from pushlab.agents.protocol import Agent, FunctionAgent, Transition, as_agent
from pushlab.agents.push import ReplayHistory
from pushlab.agents.random import RandomAgent

__all__ = ["Agent", "FunctionAgent", "RandomAgent", "ReplayHistory", "Transition", "as_agent"]
