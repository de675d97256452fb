"""The Env and the VectorEnv of a class's server: those of all worlds, around a world that asks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode

from pushlab.envs.batch import VectorEnv
from pushlab.envs.remote.world import Remote
from pushlab.envs.shell import Env, Spec
from pushlab.ground.arguments import demand


class DiscreetSpec(Spec):
    """The attribute `spec`, without the token: what is made again from a spec takes it from $PUSHLAB_TOKEN."""

    def __set__(self, env: Any, spec: EnvSpec | None) -> None:
        super().__set__(
            env,
            spec
            and replace(
                spec,
                kwargs={
                    key: value for key, value in spec.kwargs.items() if key != "token"
                },
            ),
        )


class RemoteEnv(Env):
    """One phone of a class; `env.unwrapped.world` is a `Remote`, whose docstring is the page.

    url, token   of the class and the team; None takes $PUSHLAB_URL and $PUSHLAB_TOKEN
    game         "evalumap2" (default) or "push"
    scored       False (default): practice; True: an episode that counts
    patience     seconds for which a step is asked again when the connection drops or the server is away, 180 by default
    render_mode  as in every environment here

    Neither repr nor spec has the token. copy.copy gives a second view of the same episode; copy.deepcopy and pickle
    raise TypeError.
    """

    spec = DiscreetSpec()
    world: Remote

    def __init__(self, render_mode: str | None = None, **remote: Any):
        super().__init__(Remote(**remote), render_mode)

    def close(self) -> None:
        """Hangs up. A scored episode stays open for the next reset()."""
        super().close()
        self.world.link.close()


class RemoteVectorEnv(VectorEnv):
    """Several phones of a class, stepped with one request; arguments as `RemoteEnv`, and those of every batch here.

    Of scored episodes as many are left as there are copies, or none begins. Where one ends, the mode SAME_STEP would
    begin another unasked: it is for practice (ValueError).
    """

    spec = DiscreetSpec()
    world: Remote

    def __init__(
        self,
        num_envs: int = 1,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        **remote: Any,
    ):
        demand(
            not remote.get("scored")
            or AutoresetMode(autoreset_mode) != AutoresetMode.SAME_STEP,
            "with scored=True autoreset_mode is NEXT_STEP or DISABLED; or play one copy: gym.make(…, scored=True)",
        )
        super().__init__(
            Remote(**remote), num_envs, max_episode_steps, autoreset_mode, render_mode
        )

    def close_extras(self, **how: Any) -> None:
        """Hangs up."""
        self.world.link.close()
