# Public names of pushlab, each loaded at its first use.
from . import agents as agents
from . import causal as causal
from . import envs as envs
from . import experiments as experiments
from . import metrics as metrics
from . import plots as plots
from .challenges.challenge import Challenge as Challenge
from .challenges.submissions import hand_in as hand_in
from .challenges.submissions import score_file as score_file
from .datasets.reading import list_users as list_users
from .datasets.reading import load_user as load_user
from .datasets.reading import load_users as load_users
from .envs import register as register
from .envs.world import World as World
from .experiments.sweep import sweep as sweep
from .lifetimes.experts import Experts as Experts
from .lifetimes.runner import run_experts as run_experts
from .lifetimes.runner import run_syllabi as run_syllabi
from .lifetimes.runner import run_syllabus as run_syllabus
from .lifetimes.syllabi import read_syllabus as read_syllabus
from .logs.collect import collect as collect
from .logs.files import read_log as read_log
from .logs.files import write_log as write_log
from .logs.rollout import rollout as rollout
from .users.judges import judge_for as judge_for
from .users.simulated import SimulatedUser as SimulatedUser
from .utils.files import data_dir as data_dir
from .utils.issues import BadData as BadData
from .utils.seeds import episode_seed as episode_seed
from .utils.seeds import part_seed as part_seed

__version__: str
