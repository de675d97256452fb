from .exchange import from_minari as from_minari
from .exchange import observations_of as observations_of
from .exchange import to_bandit_feedback as to_bandit_feedback
from .exchange import to_d3rlpy as to_d3rlpy
from .exchange import to_minari as to_minari
from .exchange import to_scope_rl as to_scope_rl
from .sb3 import SB3Agent as SB3Agent
from .sb3 import to_sb3_vec as to_sb3_vec
