"""Small reference agents behind one protocol."""

from pushlab.agents.bandits import EpsilonGreedy, LinUCB, ThompsonSampling
from pushlab.agents.memory import BothAgent, EpisodicAgent, GivenAgent, SemanticAgent
from pushlab.agents.memory_policy import LearnedAgent
from pushlab.agents.protocol import Agent, FunctionAgent, Transition, as_agent
from pushlab.agents.push import MostOpened, OfflineModel, RandomCandidate, ReplayHistory
from pushlab.agents.random import RandomAgent
from pushlab.agents.rec import GreedyItem, LinearQ, LinUCBItem, Planner, SoftmaxItem

__all__ = [
    "Agent", "as_agent", "BothAgent", "EpisodicAgent", "EpsilonGreedy", "FunctionAgent", "GivenAgent",
    "GreedyItem", "LearnedAgent", "LinearQ", "LinUCB", "LinUCBItem", "MostOpened", "OfflineModel", "Planner",
    "RandomAgent", "RandomCandidate", "ReplayHistory", "SemanticAgent", "SoftmaxItem", "ThompsonSampling", "Transition",
]
