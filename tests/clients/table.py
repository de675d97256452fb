"""Try every client with every environment, and write the results to data/clients/table.csv.

- make clients-rl clients-l2 clients-obp clients-eco: the virtual environments of the libraries

for name in rl l2 obp eco; do PYTHONPATH=. .venv-$name/bin/python -W ignore tests/clients/table.py;
done

Each run tries the installed libraries and leaves the rows of the other libraries unchanged. The column `how` has the
additional argument or line that a client needs, the reason why it does not apply to an environment, or its error. A
trained client must have finite parameters; its score is not checked.
"""

import copy
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib import metadata
from pathlib import Path

import gymnasium as gym
import gymnasium.wrappers as single
import gymnasium.wrappers.vector as batch
import numpy as np
import pandas as pd
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete
from wrappers import BATCHED, DRAWN, WRAPPERS, DoesNotApply, needs  # in this folder

import pushlab  # noqa: F401  the ids
from pushlab import agents, rollout
from pushlab.envs import ENVIRONMENTS
from pushlab.utils.files import write_text

FILE = Path(__file__).parents[2] / "data" / "clients" / "table.csv"
PAGE = FILE.with_name("README.md")
BEGIN = "<!-- table.csv: written by tests/clients/table.py -->"
END = "<!-- end of table.csv -->"
FAMILIES = {
    "evalumap": "EvalUMAP",
    "push-": "push-v0",
    "RECEnv": "RECEnv",
    "RoomEnv": "RoomEnv",
    "ODE-": "ODE",
    "Credit": "Credit",
}
IDS = [name for name, *_ in ENVIRONMENTS]
STEPS = 256
CLIENTS: dict[tuple[str, str], Callable] = {}


def client(name: str, library: str) -> Callable:
    """Register a function of an id and its arguments that raises an error if the client fails."""

    def register(function):
        CLIENTS[name, library] = function
        return function

    return register


def variants(name):
    """Yield arguments of an environment: none first, then those that change its spaces."""
    yield {}
    if "RoomEnv" in name:
        yield {"encoding": "index"}
    if "/ODE-" in name:
        yield {"actions": "box"}


def try_it(function, name):
    """Return (result, how) of a client with the first variant of an environment that it accepts."""
    reasons = []
    errors = []
    for settings in variants(name):
        try:
            line = function(name, **settings)
            how = [f"{key}={value!r}" for key, value in settings.items()]
            if line:
                how.append(line)
            return ("glue" if how else "works"), "; ".join(how)
        except DoesNotApply as reason:
            reasons.append(str(reason))
        except (ImportError, gym.error.DependencyNotInstalled) as error:
            reasons.append(f"needs a library that is not there: {error}")
        except Exception as error:  # libraries raise errors of many types
            message = " ".join(str(error).split())[:150]
            errors.append(f"{type(error).__name__}: {message}")
    return ("fails", errors[0]) if errors else ("does not apply", reasons[0])


def play(env, steps=30):
    """Take random actions, with resets, and return the last observation."""
    env.action_space.seed(0)
    observation, _ = env.reset(seed=0)
    for _ in range(steps):
        observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
        is_batch = np.ndim(terminated) > 0  # a batch resets itself
        if not is_batch and (terminated or truncated):
            observation, _ = env.reset()
    env.close()
    return observation


# ---------------------------------------------------------------- Gymnasium


@client("check_env", "gymnasium")
def check(name, **settings):
    from gymnasium.utils.env_checker import check_env

    check_env(gym.make(name, **settings).unwrapped, skip_render_check=True)


@client("pickle, copy, deepcopy", "gymnasium")
def pickled(name, **settings):
    env = gym.make(name, **settings)
    env.action_space.seed(0)
    env.reset(seed=0)
    env.step(env.action_space.sample())
    others = pickle.loads(pickle.dumps(env)), copy.deepcopy(env)
    action = env.action_space.sample()
    expected = env.step(action)[1]
    assert all(other.step(action)[1] == expected for other in others)


@client("make_vec, native batch", "gymnasium")
def native(name, **settings):
    play(gym.make_vec(name, num_envs=3, **settings))


@client("SyncVectorEnv", "gymnasium")
def sync(name, **settings):
    play(gym.make_vec(name, num_envs=2, vectorization_mode="sync", **settings))


@client("AsyncVectorEnv, spawn", "gymnasium")
def spawned(name, **settings):
    play(
        gym.make_vec(
            name,
            num_envs=2,
            vectorization_mode="async",
            vector_kwargs={"context": "spawn"},
            **settings,
        )
    )


def wrapped(wrapper, is_drawn, name, **settings):
    if is_drawn:
        settings["render_mode"] = "rgb_array"
    env = gym.make(name, **settings)
    play(WRAPPERS[wrapper](env), 3 if is_drawn else 30)


def batch_wrapped(wrapper, is_drawn, name, **settings):
    if is_drawn:
        settings["render_mode"] = "rgb_array"
    envs = gym.make_vec(name, num_envs=3, **settings)
    play(BATCHED[wrapper](envs), 3 if is_drawn else 30)


for kind in single.__all__:
    if kind != "vector":
        CLIENTS[f"wrappers.{kind}", "gymnasium"] = partial(wrapped, kind, kind in DRAWN)
for kind in batch.__all__:
    CLIENTS[f"wrappers.vector.{kind}", "gymnasium"] = partial(
        batch_wrapped, kind, kind in DRAWN
    )


# ---------------------------------------------------------------- stable-baselines3 and sb3-contrib


def train(algorithm, env, policy="MlpPolicy", **options):
    """Train for STEPS steps with small networks and buffers; return the model and check its parameters."""
    if isinstance(env.observation_space, Dict):
        policy = policy.replace("Mlp", "MultiInput")
    # Bounds of some of the worlds are far from 1, and the networks of the library do not scale.
    model = algorithm(policy, env, device="cpu", seed=0, **options)
    model.learn(STEPS)
    parameters = model.policy.state_dict().values()
    is_finite = all(bool(values.isfinite().all()) for values in parameters)
    assert is_finite, "parameters are not finite after training"
    env.close()
    return model


ON_POLICY = {"n_steps": 64}
OFF_POLICY = {"learning_starts": 50, "buffer_size": 1000, "batch_size": 32}


def sb3(library, algorithm, kinds, options, policy, name, /, **settings):
    import importlib

    env = gym.make(name, **settings)
    names = " or ".join(kind.__name__ for kind in kinds)
    needs(isinstance(env.action_space, kinds), f"takes {names} actions")
    learner = getattr(importlib.import_module(library), algorithm)
    space = env.observation_space
    spaces = [space, *getattr(space, "spaces", {}).values()]
    has_codes = any(isinstance(space, MultiDiscrete) for space in spaces)
    if algorithm == "RecurrentPPO" and has_codes:
        # Its LSTM needs the number of features as an int, but gets a NumPy sum.
        train(learner, single.FlattenObservation(env), policy, **options)
        return "FlattenObservation(env)"
    train(learner, env, policy, **options)


for library, algorithm, kinds, options, policy in (
    (
        "stable_baselines3",
        "A2C",
        (Discrete, MultiDiscrete, Box),
        {"n_steps": 16},
        "MlpPolicy",
    ),
    (
        "stable_baselines3",
        "PPO",
        (Discrete, MultiDiscrete, Box),
        ON_POLICY,
        "MlpPolicy",
    ),
    ("stable_baselines3", "DQN", (Discrete,), OFF_POLICY, "MlpPolicy"),
    ("stable_baselines3", "SAC", (Box,), OFF_POLICY, "MlpPolicy"),
    ("stable_baselines3", "TD3", (Box,), OFF_POLICY, "MlpPolicy"),
    ("sb3_contrib", "MaskablePPO", (Discrete, MultiDiscrete), ON_POLICY, "MlpPolicy"),
    (
        "sb3_contrib",
        "RecurrentPPO",
        (Discrete, MultiDiscrete, Box),
        ON_POLICY,
        "MlpLstmPolicy",
    ),
):
    CLIENTS[algorithm, library.replace("_", "-")] = partial(
        sb3, library, algorithm, kinds, options, policy
    )


@client("check_env", "stable-baselines3")
def sb3_check(name, **settings):
    from stable_baselines3.common.env_checker import check_env

    env = gym.make(name, **settings)
    if has_goals(env):
        check_env(env.unwrapped)  # Gymnasium's wrappers do not forward compute_reward
        return "env.unwrapped"
    check_env(env)


def has_goals(env):
    space = env.observation_space
    return isinstance(space, Dict) and "desired_goal" in space.spaces


@client("DQN with HerReplayBuffer", "stable-baselines3")
def hindsight(name, **settings):
    from stable_baselines3 import DQN, SAC, HerReplayBuffer

    env = gym.make(name, max_episode_steps=40, **settings)
    needs(has_goals(env), "has no goals")
    kind = SAC if isinstance(env.action_space, Box) else DQN
    train(
        kind,
        env,
        replay_buffer_class=HerReplayBuffer,
        **{**OFF_POLICY, "learning_starts": 100},
    )


@client("PPO on to_sb3_vec", "stable-baselines3")
def sb3_batch(name, **settings):
    from stable_baselines3 import PPO

    from pushlab.clients import to_sb3_vec

    train(PPO, to_sb3_vec(name, num_envs=4, **settings), n_steps=16)


@client("MaskablePPO on to_sb3_vec", "sb3-contrib")
def masked_batch(name, **settings):
    from sb3_contrib import MaskablePPO

    from pushlab.clients import to_sb3_vec

    envs = to_sb3_vec(name, num_envs=4, **settings)
    needs(
        isinstance(envs.action_space, Discrete | MultiDiscrete),
        "takes Discrete or MultiDiscrete actions",
    )
    train(MaskablePPO, envs, n_steps=16)


# ---------------------------------------------------------------- logs


def log_of(name, episodes=2, steps=40, **settings):
    """Return a log of random actions, and its environment."""
    env = gym.make(name, max_episode_steps=steps, **settings)
    return random_log(env, episodes=episodes), env


def random_log(env, **options):
    return rollout(env, agents.RandomAgent(), seed=0, progress=False, **options)


@client("DataCollector(record_infos=True)", "minari")
def collected(name, **settings):
    import minari

    env = minari.DataCollector(
        gym.make(name, max_episode_steps=20, **settings), record_infos=True
    )
    play(env)


@client("to_minari and from_minari", "minari")
def both_ways(name, **settings):
    from pushlab.clients import from_minari, to_minari

    os.environ["MINARI_DATASETS_PATH"] = tempfile.mkdtemp()
    log, env = log_of(name, **settings)
    dataset = to_minari(log, env, f"pushlab/{name.split('/')[1].lower()}-v0")
    pd.testing.assert_frame_equal(from_minari(dataset), log)


@client("DiscreteCQL or CQL on a log", "d3rlpy")
def cql(name, **settings):
    import d3rlpy

    env = gym.make(name, **settings)
    if isinstance(env.action_space, Box):
        kind = d3rlpy.algos.CQLConfig
        log, _ = log_of(name, **settings)
        how = ""
        action_size = log.filter(regex=r"^action").shape[1]
    else:
        kind = d3rlpy.algos.DiscreteCQLConfig
        log, how = discrete_log(name, **settings)
        action_size = log["action"].max() + 1
    config = kind(
        batch_size=16,
        observation_scaler=d3rlpy.preprocessing.StandardObservationScaler(),
    )
    is_last = log["step"].shift(-1, fill_value=0) == 0
    dataset = d3rlpy.dataset.MDPDataset(
        log.filter(regex=r"^obs(\.|$)").to_numpy(np.float32),
        log.filter(regex=r"^action").to_numpy(),
        log["reward"].to_numpy(np.float32),
        log["terminated"].to_numpy(),
        is_last & ~log["terminated"],
        action_size=action_size,
    )
    config.create(device="cpu:0").fit(
        dataset,
        n_steps=20,
        n_steps_per_epoch=20,
        show_progress=False,
        experiment_name=None,
        logger_adapter=d3rlpy.logging.NoopAdapterFactory(),
    )
    return how


def uniform_probabilities(log, n_actions):
    """Return equal probabilities of all actions, one row per step."""
    return np.full((len(log), n_actions), 1 / n_actions)


@client("IPS on a log", "obp")
def bandit(name, **settings):
    from obp.ope import InverseProbabilityWeighting, OffPolicyEvaluation

    log, how = discrete_log(name, **settings)
    n_actions = log["action"].max() + 1
    feedback = {
        "n_rounds": len(log),
        "n_actions": n_actions,
        "context": log.filter(regex=r"^obs(\.|$)").to_numpy(float),
        "action": log["action"].to_numpy(),
        "reward": log["reward"].to_numpy(float),
        "pscore": log["propensity"].to_numpy(float),
        "position": None,
        "expected_reward": None,
    }
    evaluation = OffPolicyEvaluation(feedback, [InverseProbabilityWeighting()])
    probabilities = uniform_probabilities(log, n_actions)
    values = evaluation.estimate_policy_values(action_dist=probabilities[:, :, None])
    assert np.isfinite(values["ipw"])
    return how


@client("PDIS on a log", "scope-rl")
def trajectories(name, **settings):
    from scope_rl.ope.discrete import PerDecisionImportanceSampling

    log, how = discrete_log(name, **settings)
    if log["step"].max() >= 100:  # the product of many probabilities becomes 0
        log = log[log["step"] < 8]
        how += '; log[log["step"] < 8]'
    value = PerDecisionImportanceSampling().estimate_policy_value(
        step_per_trajectory=log["step"].max() + 1,
        action=log["action"].to_numpy(),
        reward=log["reward"].to_numpy(float),
        pscore=log["propensity"].to_numpy(float),
        evaluation_policy_action_dist=uniform_probabilities(
            log, log["action"].max() + 1
        ),
    )
    assert np.isfinite(value)
    return how


def discrete_log(name, **settings):
    """Return a log with single numbers as actions and their propensities, and the line that code actions need."""
    from pushlab.logs.collect import collect

    env = gym.make(name, max_episode_steps=8, **settings)
    needs(
        isinstance(env.action_space, Discrete | MultiDiscrete),
        "takes one number as action",
    )
    if isinstance(env.action_space, Discrete):
        return random_log(env, episodes=4), ""
    codes = env.unwrapped.world.candidates[:20]

    def policy(observations):
        return uniform_probabilities(observations, len(codes))

    log = collect(gym.make(name, **settings), policy, 1, actions=codes)
    return log, "collect(id, policy, episodes, actions=candidates)"


# ---------------------------------------------------------------- lifetimes and causal effects


@client("MetricsReport", "l2metrics")
def l2(name, **settings):
    from l2metrics.report import MetricsReport

    from pushlab.logs.files import write_log

    env = gym.make(name, max_episode_steps=8, **settings)
    log = random_log(env, episodes=4, record="episodes")
    blocks = []
    for number, kind in enumerate(("test", "train", "test", "train", "test")):
        block = log.assign(
            block=number,
            block_type=kind,
            task="world_one",
            params="{}",
            phase=f"{number}.{kind}",
        )
        blocks.append(block)
    lifetime = pd.concat(blocks, ignore_index=True)
    lifetime["episode"] = range(len(lifetime))
    folder = write_log(lifetime, Path(tempfile.mkdtemp()) / "life")
    report = MetricsReport(log_dir=folder)
    report.calculate()


SIMULATORS = {
    "HIV": "hiv",
    "LotkaVolterra": "lotka_volterra",
    "Opioid": "opioid",
    "Zika": "zika",
    "World3": "world3",
    "Credit": "credit",
}


def observational(name):
    """Return confounded data from the simulator of an environment."""
    from pushlab import causal

    for part, model in SIMULATORS.items():
        if part in name:
            return causal.confounded(model, n=300, seed=0)
    raise DoesNotApply("no experiment with a known effect in this world")


@client("LinearDML on pushlab.causal", "econml")
def econml(name, **settings):
    from econml.dml import LinearDML

    data = observational(name)
    learner = LinearDML(discrete_treatment=True, random_state=0)
    learner.fit(data.outcome, data.treated, X=None, W=data.covariates)
    assert np.isfinite(learner.ate())


@client("CausalModel on pushlab.causal", "dowhy")
def dowhy(name, **settings):
    from dowhy import CausalModel

    data = observational(name)
    model = CausalModel(
        data.frame(),
        treatment="treated",
        outcome="outcome",
        common_causes=list(data.covariates),
    )
    estimate = model.estimate_effect(
        model.identify_effect(), method_name="backdoor.linear_regression"
    )
    assert np.isfinite(estimate.value)


# ---------------------------------------------------------------- the run


def summary(table):
    """Return the table as Markdown: one row per client or group of wrappers, one column per family."""
    families = []
    for name in table["id"]:
        families.append(next(FAMILIES[part] for part in FAMILIES if part in name))
    groups = table["client"].replace(
        {
            r"^wrappers\.vector\..*": "wrappers of batches, those that apply",
            r"^wrappers\.[A-Z].*": "wrappers, those that apply",
        },
        regex=True,
    )
    table = table.assign(family=families, group=groups)
    titles = [*FAMILIES.values()]
    lines = [
        "| library | client | " + " | ".join(titles) + " |",
        "|---" * (len(titles) + 2) + "|",
    ]
    keys = ["library", "version", "group"]
    for (library, version, group), rows in table.groupby(keys, sort=False):
        cells = [cell_text(rows[rows["family"] == title]) for title in titles]
        lines.append(f"| {library} {version} | {group} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def write_page(table):
    """Write the summary of the table into the page beside it."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    write_text(PAGE, f"{before}{BEGIN}\n\n{summary(table)}\n{END}{after}")


def cell_text(rows):
    """Return the result of a client in a family: "yes" or a count, and additional arguments or lines."""
    applicable = rows[rows["result"] != "does not apply"]
    if not len(applicable):
        return "–"
    good = applicable[applicable["result"] != "fails"]
    has_one_client = applicable["client"].nunique() == 1
    count = "yes"
    if len(good) < len(applicable) or not has_one_client:
        count = f"{len(good)} of {len(applicable)}"
    glue = good[good["how"] != ""]
    needs_ids = has_one_client and set(glue["id"]) != set(good["id"])
    parts = []
    for how, group in glue.groupby("how"):
        ids = ", ".join(name.split("/")[1] for name in group["id"].unique())
        parts.append(f"`{how}` for {ids}" if needs_ids else f"`{how}`")
    if count != "yes" or needs_ids or not parts:
        parts.insert(0, count)
    return ", ".join(parts)


def read_table():
    if FILE.exists():
        return pd.read_csv(FILE, keep_default_na=False)
    return pd.DataFrame(columns=["client", "library", "version", "id", "result", "how"])


def try_clients(patterns):
    """Return rows for the installed clients whose names contain one of the patterns, or for all of them."""
    rows = []
    for (name, library), function in CLIENTS.items():
        version = installed_version(library)
        if version is None:
            continue
        if library == "gymnasium" and not installed_version("stable-baselines3"):
            continue  # one virtual environment is enough
        label = f"{library} {name}"
        if patterns and not any(pattern in label for pattern in patterns):
            continue
        for env_id in IDS:
            result, how = try_it(function, env_id)
            rows.append(
                {
                    "client": name,
                    "library": library,
                    "version": version,
                    "id": env_id,
                    "result": result,
                    "how": how,
                }
            )
            if result == "fails":
                print(f"{label} {env_id}: {how}", flush=True)
    return pd.DataFrame(rows)


def main() -> None:
    start = time.process_time()
    stored = read_table()
    new = try_clients(sys.argv[1:])
    keys = ["client", "library"]
    is_replaced = stored.set_index(keys).index.isin(new.set_index(keys).index)
    table = pd.concat([stored[~is_replaced], new], ignore_index=True)
    order = {key: place for place, key in enumerate(CLIENTS)}
    table["place"] = [order.get(key) for key in zip(table["client"], table["library"])]
    table = table[table["place"].notna() & table["id"].isin(IDS)]
    table = table.sort_values("place", kind="stable").drop(columns="place")
    write_text(FILE, table.to_csv(index=False, lineterminator="\n"))
    write_page(table)
    counts = new.groupby(["library", "client"])["result"].value_counts()
    print(counts.unstack(fill_value=0).to_string())
    print(f"{time.process_time() - start:.0f} CPU seconds")


def installed_version(library):
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return None


if __name__ == "__main__":
    main()
