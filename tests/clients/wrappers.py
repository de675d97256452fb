"""Functions for table.py that wrap an environment in each of Gymnasium's wrappers."""

import tempfile

import gymnasium.wrappers as single
import gymnasium.wrappers.vector as batch
import numpy as np
from gymnasium.spaces import Box, Dict


class DoesNotApply(Exception):
    """A client does not apply to an environment, for the reason in the message."""


def needs(condition, reason):
    if not condition:
        raise DoesNotApply(reason)


def with_images(env):
    return single.AddRenderObservation(env, render_only=True)


def with_box_observations(env):
    space = getattr(env, "single_observation_space", env.observation_space)
    needs(isinstance(space, Box), "takes Box observations")
    return env


def with_box_actions(env):
    space = getattr(env, "single_action_space", env.action_space)
    needs(isinstance(space, Box), "takes Box actions")
    return env


def with_dict_observations(env):
    needs(isinstance(env.observation_space, Dict), "takes Dict observations")
    return env


def not_applicable(requirement):
    def refuse(env):
        raise DoesNotApply(f"needs {requirement}")

    return refuse


def identity(env):
    return {"func": lambda array: array, "observation_space": env.observation_space}


WRAPPERS = {
    "AtariPreprocessing": not_applicable("an Atari game"),
    "DelayObservation": lambda env: single.DelayObservation(env, delay=2),
    "DtypeObservation": lambda env: single.DtypeObservation(
        with_box_observations(env), np.float32
    ),
    "DiscretizeObservation": lambda env: single.DiscretizeObservation(
        with_box_observations(env), bins=4
    ),
    "FilterObservation": lambda env: single.FilterObservation(
        with_dict_observations(env), list(env.observation_space)[:1]
    ),
    "FlattenObservation": single.FlattenObservation,
    "FrameStackObservation": lambda env: single.FrameStackObservation(env, 3),
    "GrayscaleObservation": lambda env: single.GrayscaleObservation(with_images(env)),
    "TransformObservation": lambda env: single.TransformObservation(
        env, **identity(env)
    ),
    "MaxAndSkipObservation": lambda env: single.MaxAndSkipObservation(
        with_box_observations(env), skip=2
    ),
    "NormalizeObservation": lambda env: single.NormalizeObservation(
        with_box_observations(env)
    ),
    "AddRenderObservation": with_images,
    "ResizeObservation": lambda env: single.ResizeObservation(
        with_images(env), (84, 84)
    ),
    "ReshapeObservation": lambda env: single.ReshapeObservation(
        with_box_observations(env), (1, *env.observation_space.shape)
    ),
    "RescaleObservation": lambda env: single.RescaleObservation(
        with_box_observations(env), np.float64(0), np.float64(1)
    ),
    "TimeAwareObservation": lambda env: single.TimeAwareObservation(
        with_time_limit(env)
    ),
    "ClipAction": lambda env: single.ClipAction(with_box_actions(env)),
    "DiscretizeAction": lambda env: single.DiscretizeAction(
        with_box_actions(env), bins=3
    ),
    "TransformAction": lambda env: single.TransformAction(
        env, lambda action: action, env.action_space
    ),
    "RescaleAction": lambda env: single.RescaleAction(with_box_actions(env), -1.0, 1.0),
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
        with_images(env), probability_of_noise_per_pixel=0.1
    ),
    "ObstructView": lambda env: single.ObstructView(
        with_images(env), obstructed_pixels_ratio=0.1, obstruction_width=20
    ),
    "RenderCollection": single.RenderCollection,
    "RecordVideo": lambda env: single.RecordVideo(
        with_library("moviepy", env), tempfile.mkdtemp()
    ),
    "HumanRendering": lambda env: single.HumanRendering(with_library("pygame", env)),
    "ArrayConversion": lambda env: single.ArrayConversion(
        with_library("torch", env), env_xp=np, target_xp=torch()
    ),
    "JaxToNumpy": not_applicable("an environment in JAX"),
    "JaxToTorch": not_applicable("an environment in JAX"),
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
        with_box_observations(envs), single.FlattenObservation
    ),
    "VectorizeTransformAction": lambda envs: batch.VectorizeTransformAction(
        with_box_actions(envs), single.ClipAction
    ),
    "VectorizeTransformReward": lambda envs: batch.VectorizeTransformReward(
        envs, single.ClipReward, min_reward=-1.0, max_reward=1.0
    ),
    "DictInfoToList": batch.DictInfoToList,
    "TransformObservation": lambda envs: batch.TransformObservation(
        envs, lambda observation: observation
    ),
    "FilterObservation": lambda envs: batch.FilterObservation(
        with_dict_observations(envs), list(envs.observation_space)[:1]
    ),
    "FlattenObservation": batch.FlattenObservation,
    "GrayscaleObservation": not_applicable("images as observations"),
    "ResizeObservation": not_applicable("images as observations"),
    "ReshapeObservation": lambda envs: batch.ReshapeObservation(
        with_box_observations(envs), (1, *envs.single_observation_space.shape)
    ),
    "RescaleObservation": lambda envs: batch.RescaleObservation(
        with_box_observations(envs), np.float64(0), np.float64(1)
    ),
    "DtypeObservation": lambda envs: batch.DtypeObservation(
        with_box_observations(envs), np.float32
    ),
    "NormalizeObservation": lambda envs: batch.NormalizeObservation(
        with_box_observations(envs)
    ),
    "TransformAction": lambda envs: batch.TransformAction(
        envs, lambda actions: actions
    ),
    "ClipAction": lambda envs: batch.ClipAction(with_box_actions(envs)),
    "RescaleAction": lambda envs: batch.RescaleAction(
        with_box_actions(envs), -1.0, 1.0
    ),
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
    "JaxToNumpy": not_applicable("an environment in JAX"),
    "JaxToTorch": not_applicable("an environment in JAX"),
    "NumpyToTorch": lambda envs: batch.NumpyToTorch(with_library("torch", envs)),
}


def torch():
    import torch

    return torch


def with_library(library, env):
    __import__(library)
    return env


def with_time_limit(env):
    needs(
        env.spec.max_episode_steps or env.unwrapped.spec.max_episode_steps,
        "its episodes have no fixed end",
    )
    return env
