"""Small reference agents behind one protocol."""

from pushlab.agents.arrivals import DismissAll, DoNotDisturb, LinearArrivalQ, QTable, ShowAll
from pushlab.agents.bandits import EpsilonGreedy, LinUCB, ThompsonSampling
from pushlab.agents.lifelong import Recognising, Restarting, Told
from pushlab.agents.memory import BothAgent, EpisodicAgent, GivenAgent, SemanticAgent
from pushlab.agents.memory_policy import LearnedAgent
from pushlab.agents.planning import BangBang, Constant, FittedQIteration
from pushlab.agents.protocol import Agent, FunctionAgent, Transition, as_agent
from pushlab.agents.push import MostOpened, OfflineModel, RandomCandidate, ReplayHistory
from pushlab.agents.random import RandomAgent
from pushlab.agents.rec import GreedyItem, LinearQ, LinUCBItem, Planner, SoftmaxItem
from pushlab.agents.scorers import Foresighted, GradientStep, Retrained, TrainedOnce

__all__ = [
    "Agent", "as_agent", "BangBang", "BothAgent", "Constant", "DismissAll", "DoNotDisturb", "EpisodicAgent",
    "EpsilonGreedy", "FittedQIteration", "Foresighted", "FunctionAgent", "GivenAgent", "GradientStep", "GreedyItem",
    "LearnedAgent", "LinearArrivalQ", "LinearQ", "LinUCB", "LinUCBItem", "MostOpened", "OfflineModel", "Planner",
    "QTable", "RandomAgent", "RandomCandidate", "Recognising", "ReplayHistory", "Restarting", "Retrained",
    "SemanticAgent", "ShowAll", "SoftmaxItem", "ThompsonSampling", "Told", "TrainedOnce", "Transition",
]
