"""Draw the pictures of the environments' pages with `render`, after some steps of a policy.

The book draws them (docs/extensions/environments.py), and redraws them after any change of pushlab.
"""

from pathlib import Path

from matplotlib import image

from pushlab import agents, rollout

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "environments" / "pictures"


def interrupted(observation, info):
    """Alternate between forty days of both drugs and twenty days without drugs."""
    return 3 if info["time"] % 60 < 40 else 0


# {name: (function of the world that returns a policy, number of steps)}
POLICIES = {
    "evalumap1-v0": (lambda world: agents.MostOpened(world.user.history), 60),
    "evalumap2-v0": (lambda world: agents.MostOpened(), 60),
    "RoomEnv-v0": (lambda world: agents.EpisodicSemanticAgent(16), 40),
    "RECEnv-v0": (lambda world: agents.GreedyItem(), 9),
    "ODE-HIV-v0": (lambda world: interrupted, 120),
    "ODE-HIV-Goal-v0": (lambda world: interrupted, 60),
    "ODE-LotkaVolterra-v1": (
        lambda world: lambda observation: int(observation[1] <= 15),
        160,
    ),
    "ODE-Opioid-v0": (lambda world: agents.Constant(3), 18),
    "ODE-Zika-v0": (lambda world: agents.Constant(3), 40),
    "ODE-World3-v1": (lambda world: agents.Constant(0), 150),
    "Credit-v0": (lambda world: agents.Constant(1), 4),
    "push-v0": (lambda world: agents.DoNotDisturb(), 60),
}
RANDOM = (lambda world: agents.RandomAgent(), 40)


def draw(env, name):
    """Save the picture of an environment, unless the saved one is newer than all sources."""
    path = FOLDER / f"{name}.png"
    sources = [Path(__file__), *ROOT.glob("pushlab/**/*.py")]
    newest = max(source.stat().st_mtime for source in sources)
    if path.is_file() and path.stat().st_mtime > newest:
        return
    policy, steps = POLICIES.get(name, RANDOM)
    agent = policy(env.unwrapped.world)
    rollout(env, agent, seed=7, steps=steps, progress=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    image.imsave(path, env.render())
