"""Types in a user's script. mypy checks this file, where an ignored line without an error is an error."""

from typing import Any, assert_type

from pushlab import collect, rollout


def use_logs(env: Any, agent: Any) -> None:
    _, films = rollout(env, agent, record="frames")
    assert_type(films, list[list[Any]])
    rollout(env, agent, record="frame")  # type: ignore[call-overload]
    rollout(env, agent, colour="red")  # type: ignore[call-overload]
    collect(env, agent, 10, step_per_episode=3)  # type: ignore[call-arg]
