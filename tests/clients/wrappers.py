"""How table.py makes each of Gymnasium's wrappers around an environment, or says why it is not for it."""

import tempfile

import gymnasium.wrappers as single
import gymnasium.wrappers.vector as batch
import numpy as np
from gymnasium.spaces import Box, Dict


class NotForIt(Exception):
    """A client is not meant for such an environment; the message says why."""


def needs(condition, why):
    if not condition:
        raise NotForIt(why)


def is_image(env):
    return single.AddRenderObservation(env, render_only=True)


def boxed(env):
    needs(
        isinstance(
            getattr(env, "single_observation_space", env.observation_space), Box
        ),
        "takes Box observations",
    )
    return env


def acting(env):
    needs(
        isinstance(getattr(env, "single_action_space", env.action_space), Box),
        "takes Box actions",
    )
    return env


def keyed(env):
    needs(isinstance(env.observation_space, Dict), "takes Dict observations")
    return env


def no_library(library):
    def give_up(env):
        raise NotForIt(f"needs {library}")

    return give_up


def same_box(env):
    return {"func": lambda array: array, "observation_space": env.observation_space}


WRAPPERS = {
    "AtariPreprocessing": no_library("an Atari game"),
    "DelayObservation": lambda env: single.DelayObservation(env, delay=2),
    "DtypeObservation": lambda env: single.DtypeObservation(boxed(env), np.float32),
    "DiscretizeObservation": lambda env: single.DiscretizeObservation(
        boxed(env), bins=4
    ),
    "FilterObservation": lambda env: single.FilterObservation(
        keyed(env), list(env.observation_space)[:1]
    ),
    "FlattenObservation": single.FlattenObservation,
    "FrameStackObservation": lambda env: single.FrameStackObservation(env, 3),
    "GrayscaleObservation": lambda env: single.GrayscaleObservation(is_image(env)),
    "TransformObservation": lambda env: single.TransformObservation(
        env, **same_box(env)
    ),
    "MaxAndSkipObservation": lambda env: single.MaxAndSkipObservation(
        boxed(env), skip=2
    ),
    "NormalizeObservation": lambda env: single.NormalizeObservation(boxed(env)),
    "AddRenderObservation": is_image,
    "ResizeObservation": lambda env: single.ResizeObservation(is_image(env), (84, 84)),
    "ReshapeObservation": lambda env: single.ReshapeObservation(
        boxed(env), (1, *env.observation_space.shape)
    ),
    "RescaleObservation": lambda env: single.RescaleObservation(
        boxed(env), np.float64(0), np.float64(1)
    ),
    "TimeAwareObservation": lambda env: single.TimeAwareObservation(timed(env)),
    "ClipAction": lambda env: single.ClipAction(acting(env)),
    "DiscretizeAction": lambda env: single.DiscretizeAction(acting(env), bins=3),
    "TransformAction": lambda env: single.TransformAction(
        env, lambda action: action, env.action_space
    ),
    "RescaleAction": lambda env: single.RescaleAction(acting(env), -1.0, 1.0),
    "StickyAction": lambda env: single.StickyAction(env, 0.25),
    "RepeatAction": lambda env: single.RepeatAction(env, 2),
    "ClipReward": lambda env: single.ClipReward(env, -1, 1),
    "TransformReward": lambda env: single.TransformReward(
        env, lambda reward: reward / 10
    ),
    "NormalizeReward": single.NormalizeReward,
    "TimeLimit": lambda env: single.TimeLimit(env, 7),
    "Autoreset": single.Autoreset,
    "PassiveEnvChecker": single.PassiveEnvChecker,
    "OrderEnforcing": single.OrderEnforcing,
    "RecordEpisodeStatistics": single.RecordEpisodeStatistics,
    "AddWhiteNoise": lambda env: single.AddWhiteNoise(
        is_image(env), probability_of_noise_per_pixel=0.1
    ),
    "ObstructView": lambda env: single.ObstructView(
        is_image(env), obstructed_pixels_ratio=0.1, obstruction_width=20
    ),
    "RenderCollection": single.RenderCollection,
    "RecordVideo": lambda env: single.RecordVideo(
        with_library("moviepy", env), tempfile.mkdtemp()
    ),
    "HumanRendering": lambda env: single.HumanRendering(with_library("pygame", env)),
    "ArrayConversion": lambda env: single.ArrayConversion(
        with_library("torch", env), env_xp=np, target_xp=torch()
    ),
    "JaxToNumpy": no_library("an environment in JAX"),
    "JaxToTorch": no_library("an environment in JAX"),
    "NumpyToTorch": lambda env: single.NumpyToTorch(with_library("torch", env)),
}
DRAWN = {
    "GrayscaleObservation",
    "AddRenderObservation",
    "ResizeObservation",
    "AddWhiteNoise",
    "ObstructView",
    "RenderCollection",
    "RecordVideo",
    "HumanRendering",
}
BATCHED = {
    "VectorizeTransformObservation": lambda envs: batch.VectorizeTransformObservation(
        boxed(envs), single.FlattenObservation
    ),
    "VectorizeTransformAction": lambda envs: batch.VectorizeTransformAction(
        acting(envs), single.ClipAction
    ),
    "VectorizeTransformReward": lambda envs: batch.VectorizeTransformReward(
        envs, single.ClipReward, min_reward=-1.0, max_reward=1.0
    ),
    "DictInfoToList": batch.DictInfoToList,
    "TransformObservation": lambda envs: batch.TransformObservation(
        envs, lambda observation: observation
    ),
    "FilterObservation": lambda envs: batch.FilterObservation(
        keyed(envs), list(envs.observation_space)[:1]
    ),
    "FlattenObservation": batch.FlattenObservation,
    "GrayscaleObservation": no_library("images as observations"),
    "ResizeObservation": no_library("images as observations"),
    "ReshapeObservation": lambda envs: batch.ReshapeObservation(
        boxed(envs), (1, *envs.single_observation_space.shape)
    ),
    "RescaleObservation": lambda envs: batch.RescaleObservation(
        boxed(envs), np.float64(0), np.float64(1)
    ),
    "DtypeObservation": lambda envs: batch.DtypeObservation(boxed(envs), np.float32),
    "NormalizeObservation": lambda envs: batch.NormalizeObservation(boxed(envs)),
    "TransformAction": lambda envs: batch.TransformAction(
        envs, lambda actions: actions
    ),
    "ClipAction": lambda envs: batch.ClipAction(acting(envs)),
    "RescaleAction": lambda envs: batch.RescaleAction(acting(envs), -1.0, 1.0),
    "TransformReward": lambda envs: batch.TransformReward(
        envs, lambda rewards: rewards / 10
    ),
    "ClipReward": lambda envs: batch.ClipReward(envs, -1, 1),
    "NormalizeReward": batch.NormalizeReward,
    "RecordEpisodeStatistics": batch.RecordEpisodeStatistics,
    "RecordVideo": lambda envs: batch.RecordVideo(
        with_library("moviepy", envs), tempfile.mkdtemp()
    ),
    "HumanRendering": lambda envs: batch.HumanRendering(with_library("pygame", envs)),
    "ArrayConversion": lambda envs: batch.ArrayConversion(
        with_library("torch", envs), env_xp=np, target_xp=torch()
    ),
    "JaxToNumpy": no_library("an environment in JAX"),
    "JaxToTorch": no_library("an environment in JAX"),
    "NumpyToTorch": lambda envs: batch.NumpyToTorch(with_library("torch", envs)),
}


def torch():
    import torch

    return torch


def with_library(library, env):
    __import__(library)
    return env


def timed(env):
    needs(
        env.spec.max_episode_steps or env.unwrapped.spec.max_episode_steps,
        "its episodes have no fixed end",
    )
    return env
