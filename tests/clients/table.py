"""Which client takes which environment: every pair is tried, and data/clients/table.csv says what
came of it.

- make clients-rl clients-l2 clients-obp clients-eco: # the environments of the libraries

for one in rl l2 obp eco; do PYTHONPATH=. .venv-$one/bin/python -W ignore tests/clients/table.py;
done

Each run tries what its environment has installed and leaves the other rows as they are. `how` says
which argument or line is needed beyond the defaults, why a client is not for an environment, or
with which error it failed. A client that was trained is held to finite parameters; whether it
learned anything is not asked here.
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
from types import SimpleNamespace

import gymnasium as gym
import gymnasium.wrappers as single
import gymnasium.wrappers.vector as batch
import numpy as np
import pandas as pd
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete
from wrappers import BATCHED, DRAWN, WRAPPERS, NotForIt, needs  # beside this file

import pushlab  # noqa: F401  the ids
from pushlab import agents, rollout
from pushlab.envs import TABLE
from pushlab.ground.files import write_text

FILE = Path(__file__).parents[2] / "data" / "clients" / "table.csv"
PAGE = FILE.with_name("README.md")
BEGIN, END = (
    "<!-- table.csv: written by tests/clients/table.py -->",
    "<!-- end of table.csv -->",
)
FAMILIES = {
    "evalumap": "EvalUMAP",
    "push-": "push-v0",
    "RECEnv": "RECEnv",
    "RoomEnv": "RoomEnv",
    "ODE-": "ODE",
    "Credit": "Credit",
}
IDS = [name for name, *_ in TABLE]
STEPS = 256
CLIENTS: dict[tuple[str, str], Callable] = {}


def client(name: str, library: str) -> Callable:
    """Registers a function of an id and arguments for it, which raises where the client fails."""

    def register(function):
        CLIENTS[name, library] = function
        return function

    return register


def variants(name):
    """Arguments of an environment: none first, then those that put it into another form."""
    yield {}
    if "RoomEnv" in name:
        yield {"encoding": "index"}
    if "/ODE-" in name:
        yield {"actions": "box"}


def try_it(function, name):
    """(result, how) of one client and environment: the first form of it that the client takes."""
    reasons, errors = [], []
    for settings in variants(name):
        try:
            line = function(name, **settings)
            how = [
                *(f"{key}={value!r}" for key, value in settings.items()),
                *filter(None, [line]),
            ]
            return ("glue" if how else "works"), "; ".join(how)
        except NotForIt as reason:
            reasons.append(str(reason))
        except (ImportError, gym.error.DependencyNotInstalled) as error:
            reasons.append(f"needs a library that is not there: {error}")
        except Exception as error:  # whatever a library raises
            errors.append(
                f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"
            )
    return ("fails", errors[0]) if errors else ("does not apply", reasons[0])


def play(env, steps=30):
    """Plays at random through resets, every observation in its space."""
    env.action_space.seed(0)
    observation, _ = env.reset(seed=0)
    for _ in range(steps):
        observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if np.ndim(terminated) == 0 and (
            terminated or truncated
        ):  # a batch begins anew by itself
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


def wrapped(wrapper, drawn, name, **settings):
    env = gym.make(name, **settings, **({"render_mode": "rgb_array"} if drawn else {}))
    play(WRAPPERS[wrapper](env), 3 if drawn else 30)


def batch_wrapped(wrapper, drawn, name, **settings):
    envs = gym.make_vec(
        name, num_envs=3, **settings, **({"render_mode": "rgb_array"} if drawn else {})
    )
    play(BATCHED[wrapper](envs), 3 if drawn else 30)


for kind in single.__all__:
    if kind != "vector":
        CLIENTS[f"wrappers.{kind}", "gymnasium"] = partial(wrapped, kind, kind in DRAWN)
for kind in batch.__all__:
    CLIENTS[f"wrappers.vector.{kind}", "gymnasium"] = partial(
        batch_wrapped, kind, kind in DRAWN
    )


# ---------------------------------------------------------------- stable-baselines3 and sb3-contrib


def train(algorithm, env, policy="MlpPolicy", **more):
    """Trains for STEPS steps with small networks and buffers; the model, whose parameters are finite."""
    policy = (
        policy.replace("Mlp", "MultiInput")
        if isinstance(env.observation_space, Dict)
        else policy
    )
    # Bounds of some of the worlds are far from 1, and the networks of the library do not scale.
    model = algorithm(policy, env, device="cpu", seed=0, **more)
    model.learn(STEPS)
    finite = all(
        bool(values.isfinite().all()) for values in model.policy.state_dict().values()
    )
    assert finite, "parameters are not finite after training"
    env.close()
    return model


ON_POLICY, OFF_POLICY = (
    {"n_steps": 64},
    {"learning_starts": 50, "buffer_size": 1000, "batch_size": 32},
)


def sb3(library, algorithm, kinds, more, policy, name, /, **settings):
    import importlib

    env = gym.make(name, **settings)
    needs(
        isinstance(env.action_space, kinds),
        "takes " + " or ".join(kind.__name__ for kind in kinds) + " actions",
    )
    made = getattr(importlib.import_module(library), algorithm)
    spaces = [
        env.observation_space,
        *getattr(env.observation_space, "spaces", {}).values(),
    ]
    if algorithm == "RecurrentPPO" and any(
        isinstance(space, MultiDiscrete) for space in spaces
    ):
        # Its LSTM wants the number of features as an int, and gets what NumPy summed up.
        train(made, single.FlattenObservation(env), policy, **more)
        return "FlattenObservation(env)"
    train(made, env, policy, **more)


for library, algorithm, kinds, more, policy in (
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
        sb3, library, algorithm, kinds, more, policy
    )


@client("check_env", "stable-baselines3")
def sb3_check(name, **settings):
    from stable_baselines3.common.env_checker import check_env

    env = gym.make(name, **settings)
    if (
        isinstance(env.observation_space, Dict)
        and "desired_goal" in env.observation_space.spaces
    ):
        check_env(env.unwrapped)  # Gymnasium's wrappers hand on no compute_reward
        return "env.unwrapped"
    check_env(env)


@client("DQN with HerReplayBuffer", "stable-baselines3")
def hindsight(name, **settings):
    from stable_baselines3 import DQN, SAC, HerReplayBuffer

    env = gym.make(name, max_episode_steps=40, **settings)
    needs(
        isinstance(env.observation_space, Dict)
        and "desired_goal" in env.observation_space.spaces,
        "has no goals",
    )
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
    """A log of random play, and its environment."""
    env = gym.make(name, max_episode_steps=steps, **settings)
    return rollout(
        env, agents.RandomAgent(), episodes=episodes, seed=0, progress=False
    ), env


@client("DataCollector(record_infos=True)", "minari")
def collected(name, **settings):
    import minari

    env = minari.DataCollector(
        gym.make(name, max_episode_steps=20, **settings), record_infos=True
    )
    play(env.unwrapped and env)


@client("to_minari and from_minari", "minari")
def both_ways(name, **settings):
    from pushlab.clients import from_minari, to_minari

    os.environ["MINARI_DATASETS_PATH"] = tempfile.mkdtemp()
    log, env = log_of(name, **settings)
    back = from_minari(to_minari(log, env, f"pushlab/{name.split('/')[1].lower()}-v0"))
    pd.testing.assert_frame_equal(back, log)


@client("DiscreteCQL or CQL on a log", "d3rlpy")
def cql(name, **settings):
    import d3rlpy

    env = gym.make(name, **settings)
    continuous = isinstance(env.action_space, Box)
    log, how = (
        (log_of(name, **settings)[0], "")
        if continuous
        else discrete_log(name, **settings)
    )
    config = (d3rlpy.algos.CQLConfig if continuous else d3rlpy.algos.DiscreteCQLConfig)(
        batch_size=16,
        observation_scaler=d3rlpy.preprocessing.StandardObservationScaler(),
    )
    config.create(device="cpu:0").fit(
        d3rlpy.dataset.MDPDataset(
            log.filter(regex=r"^obs(\.|$)").to_numpy(np.float32),
            log.filter(regex=r"^action").to_numpy(),
            log["reward"].to_numpy(np.float32),
            log["terminated"].to_numpy(),
            (log["step"].shift(-1, fill_value=0) == 0) & ~log["terminated"],
            action_size=log.filter(regex=r"^action").shape[1]
            if continuous
            else log["action"].max() + 1,
        ),
        n_steps=20,
        n_steps_per_epoch=20,
        show_progress=False,
        experiment_name=None,
        logger_adapter=d3rlpy.logging.NoopAdapterFactory(),
    )
    return how


def chances(log, actions):
    """Every action as likely as any other, one row a step."""
    return np.full((len(log), actions), 1 / actions)


@client("IPS on a log", "obp")
def bandit(name, **settings):
    from obp.ope import InverseProbabilityWeighting, OffPolicyEvaluation

    log, how = discrete_log(name, **settings)
    feedback = {
        "n_rounds": len(log),
        "n_actions": log["action"].max() + 1,
        "context": log.filter(regex=r"^obs(\.|$)").to_numpy(float),
        "action": log["action"].to_numpy(),
        "reward": log["reward"].to_numpy(float),
        "pscore": log["propensity"].to_numpy(float),
        "position": None,
        "expected_reward": None,
    }
    values = OffPolicyEvaluation(
        feedback, [InverseProbabilityWeighting()]
    ).estimate_policy_values(
        action_dist=chances(log, feedback["n_actions"])[:, :, None]
    )
    assert np.isfinite(values["ipw"])
    return how


@client("PDIS on a log", "scope-rl")
def trajectories(name, **settings):
    from scope_rl.ope.discrete import PerDecisionImportanceSampling

    log, how = discrete_log(name, **settings)
    if (
        log["step"].max() >= 100
    ):  # it multiplies the chances of all steps, which comes to 0 / 0
        log, how = log[log["step"] < 8], how + '; log[log["step"] < 8]'
    value = PerDecisionImportanceSampling().estimate_policy_value(
        step_per_trajectory=log["step"].max() + 1,
        action=log["action"].to_numpy(),
        reward=log["reward"].to_numpy(float),
        pscore=log["propensity"].to_numpy(float),
        evaluation_policy_action_dist=chances(log, log["action"].max() + 1),
    )
    assert np.isfinite(value)
    return how


def discrete_log(name, **settings):
    """A log with one number as action and its propensity, and the line it takes to get it where actions are codes."""
    from pushlab.logs.collect import collect

    env = gym.make(name, max_episode_steps=8, **settings)
    needs(
        isinstance(env.action_space, Discrete | MultiDiscrete),
        "takes one number as action",
    )
    if isinstance(env.action_space, Discrete):
        return rollout(
            env, agents.RandomAgent(), episodes=4, seed=0, progress=False
        ), ""
    codes = env.unwrapped.world.candidates[:20]
    return collect(
        name,
        lambda seen: np.full((len(seen), len(codes)), 1 / len(codes)),
        1,
        actions=codes,
        **settings,
    ), "collect(id, policy, episodes, actions=candidates)"


# ---------------------------------------------------------------- lifetimes and causal effects


@client("MetricsReport", "l2metrics")
def l2(name, **settings):
    from l2metrics.report import MetricsReport

    from pushlab.logs.folders import write_log

    first = rollout(
        gym.make(name, max_episode_steps=8, **settings),
        agents.RandomAgent(),
        episodes=4,
        seed=0,
        record="episodes",
        progress=False,
    )
    life = pd.concat(
        [
            first.assign(
                block=at,
                block_type=kind,
                task="world_one",
                params="{}",
                phase=f"{at}.{kind}",
            )
            for at, kind in enumerate(("test", "train", "test", "train", "test"))
        ],
        ignore_index=True,
    )
    folder = write_log(
        life.assign(episode=range(len(life))), Path(tempfile.mkdtemp()) / "life"
    )
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
    """Units of the simulator behind an id, whose treatment was confounded."""
    from pushlab import causal

    model = next((model for part, model in SIMULATORS.items() if part in name), None)
    needs(model, "no experiment with a known effect in this world")
    return causal.confounded(model, n=300, seed=0)


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
    found = model.estimate_effect(
        model.identify_effect(), method_name="backdoor.linear_regression"
    )
    assert np.isfinite(found.value)


# ---------------------------------------------------------------- the run


def in_short(table):
    """The table as Markdown: a row a client, wrappers together, a column a family of environments."""
    family = [
        next(title for part, title in FAMILIES.items() if part in name)
        for name in table["id"]
    ]
    group = table["client"].replace(
        {
            r"^wrappers\.vector\..*": "wrappers of batches, those that apply",
            r"^wrappers\.[A-Z].*": "wrappers, those that apply",
        },
        regex=True,
    )
    table, lines = table.assign(family=family, group=group), []
    titles = [*FAMILIES.values()]
    lines = [
        "| library | client | " + " | ".join(titles) + " |",
        "|---" * (len(titles) + 2) + "|",
    ]
    for (library, version, client_), rows in table.groupby(
        ["library", "version", "group"], sort=False
    ):
        cells = [cell(rows[rows["family"] == title]) for title in titles]
        lines.append(f"| {library} {version} | {client_} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def write_page(table):
    """Writes the table in short into the page beside it."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    write_text(
        PAGE, f"{before}{BEGIN}\n\n{in_short(table)}\n{END}{rest.partition(END)[2]}"
    )


def cell(rows):
    """What became of a client in a family: yes, with which argument or line, in how many of how many; – for neither."""
    meant = rows[rows["result"] != "does not apply"]
    if not len(meant):
        return "–"
    good = meant[meant["result"] != "fails"]
    how = {
        one: [*rows["id"].unique()]
        for one, rows in good[good["how"] != ""].groupby("how")
    }
    count = (
        f"{len(good)} of {len(meant)}"
        if len(good) < len(meant) or meant["client"].nunique() > 1
        else "yes"
    )
    some = meant["client"].nunique() == 1 and {*sum(how.values(), [])} != {*good["id"]}
    told = [
        f"`{one}`"
        + (" for " + ", ".join(name.split("/")[1] for name in names) if some else "")
        for one, names in how.items()
    ]
    return ", ".join([*([count] if count != "yes" or some or not how else []), *told])


def main() -> None:
    told = (
        pd.read_csv(FILE, keep_default_na=False)
        if FILE.exists()
        else pd.DataFrame(
            columns=["client", "library", "version", "id", "result", "how"]
        )
    )
    chosen = sys.argv[1:]
    rows, begun = [], time.process_time()
    for (name, library), function in CLIENTS.items():
        try:
            version = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
        if library == "gymnasium" and not metadata_has("stable-baselines3"):
            continue  # once is enough
        if chosen and not any(one in f"{library} {name}" for one in chosen):
            continue
        for one in IDS:
            result, how = try_it(function, one)
            rows.append(
                SimpleNamespace(
                    client=name,
                    library=library,
                    version=version,
                    id=one,
                    result=result,
                    how=how,
                ).__dict__
            )
            if result == "fails":
                print(f"{library} {name} {one}: {how}", flush=True)
    new = pd.DataFrame(rows)
    kept = told[
        ~told.set_index(["client", "library"]).index.isin(
            new.set_index(["client", "library"]).index
        )
    ]
    order = {key: at for at, key in enumerate(CLIENTS)}
    table = pd.concat([kept, new], ignore_index=True)
    table = table[
        [
            (client_, library) in order and name in IDS
            for client_, library, name in table[["client", "library", "id"]].itertuples(
                index=False
            )
        ]
    ]
    table["at"] = [order[key] for key in zip(table["client"], table["library"])]
    table = table.sort_values("at", kind="stable").drop(columns="at")
    write_text(FILE, table.to_csv(index=False, lineterminator="\n"))
    write_page(table)
    print(
        new.groupby(["library", "client"])["result"]
        .value_counts()
        .unstack(fill_value=0)
        .to_string()
    )
    print(f"{time.process_time() - begun:.0f} CPU seconds")


def metadata_has(library):
    try:
        return bool(metadata.version(library))
    except metadata.PackageNotFoundError:
        return False


if __name__ == "__main__":
    main()
