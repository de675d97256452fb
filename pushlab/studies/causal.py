"""How far the estimators of `pushlab.causal` can be trusted: many data sets from each simulator, each estimated.

    python -m pushlab.studies.causal --out data/causal

For each simulator's own experiment and each kind of data set 200 are drawn, of 500 units, each with a seed of its own,
and the four standard estimators are asked for the average effect: `kinds.csv` tells how far off they are and how often
their 95 % intervals hold the truth. `sizes.csv` tells the same of confounded data sets of other sizes, 100 of each.
`clips.csv` tells it of inverse weighting on one simulator, 200 of 400 units, where the decision goes by the confounder
more and less strictly and propensities are clipped more and less. `policies.csv` tells what policies reach that are
learned from 100 logs which show the confounder, and from the same logs without it. About twenty minutes on one core.
"""

from pathlib import Path
from typing import Annotated

import typer

from pushlab.ground.files import write_text

MODELS = ("hiv", "lotka_volterra", "opioid", "zika", "world3", "credit")
RIGHT = "doubly robust"         # the estimator that ought to be right in both of
KEPT = ("randomised", "confounded")
SIZES = (50, 100, 200, 400, 800, 1600)
UNITS, DRAWS, FEWER = 500, 200, 100
LOGGED, JUDGED = 1000, 2000         # units of a log to learn from; fresh units on which policies are judged
ONE, STRENGTHS, CLIPS, CLIPPED_UNITS = "zika", (1.0, 3.0), (0.0, 0.005, 0.02, 0.05, 0.1), 400
DIGITS = "%.5g"


def kinds_of(model, n=UNITS, draws=DRAWS, jobs=1, **more):
    """`pushlab.causal.summary` for each kind of data set from a simulator, a DataFrame."""
    import pandas as pd

    from pushlab.causal import KINDS, repeat, summary

    table = pd.concat([repeat(model, kind, n, draws, jobs=jobs, **more) for kind in KINDS], ignore_index=True)
    return summary(table).assign(model=model)


def sizes_of(model, sizes=SIZES, draws=FEWER, jobs=1):
    """`pushlab.causal.by_size` for confounded data sets from a simulator, a DataFrame."""
    from pushlab.causal import by_size

    return by_size(model, sizes, draws=draws, jobs=jobs).assign(model=model)


def clips_of(model=ONE, strengths=STRENGTHS, clips=CLIPS, n=CLIPPED_UNITS, draws=DRAWS, jobs=1, **more):
    """`pushlab.causal.summary` of inverse weighting for strengths of the confounder and clips, a DataFrame."""
    import pandas as pd

    from pushlab.causal import InverseWeighting, experiment, repeat, summary

    tables = []
    for strength in strengths:
        trial = experiment(model, strength=strength)
        for clip in clips:
            table = repeat(trial, "confounded", n, draws, [InverseWeighting(clip=clip)], jobs=jobs, **more)
            tables.append(table.assign(model=model, strength=strength, clip=clip))
    return summary(pd.concat(tables, ignore_index=True), by=("strength", "clip", "n", "estimator")).assign(model=model)


def policies_of(model=ONE, n=LOGGED, draws=FEWER, jobs=1):
    """What learned policies reach, `pushlab.causal.policy_values` for each log and learner, a DataFrame."""
    import pandas as pd
    from joblib import Parallel, delayed
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        tables = Parallel(jobs)(delayed(_policies_of_log)(model, kind, n, log)
                                for kind in ("confounded", "unobserved") for log in range(draws))
    return pd.concat(tables, ignore_index=True).assign(model=model)


def _policies_of_log(model, kind, n, log):
    from pushlab.causal import KINDS, learn_policy, policy_values
    from pushlab.causal.policies import LEARNERS
    from pushlab.ground.seeds import episode_seed

    data = KINDS[kind](model, n, episode_seed(0, log))
    table = policy_values(model, [learn_policy(data, scores) for scores in LEARNERS], n=JUDGED)
    return table[table["policy"].isin(LEARNERS)].assign(kind=kind, log=log)


def main(out: Annotated[Path, typer.Option(help="folder for the four CSV files")] = Path("data/causal"),
         jobs: Annotated[int, typer.Option(help="processes")] = 1,
         models: Annotated[str, typer.Option(help="simulators, with commas between them")] = ",".join(MODELS)):
    """Runs the study, writes its tables and prints how often the right estimator's intervals hold the truth."""
    import pandas as pd

    out.mkdir(parents=True, exist_ok=True)
    tables = {"kinds": [], "sizes": [], "clips": [], "policies": []}
    for model in models.split(","):
        tables["kinds"].append(kinds_of(model, jobs=jobs))
        tables["sizes"].append(sizes_of(model, jobs=jobs))
        if model == ONE:
            tables["clips"].append(clips_of(jobs=jobs))
            tables["policies"].append(policies_of(jobs=jobs))
        for name, parts in tables.items():
            if parts:
                table = pd.concat(parts, ignore_index=True)
                table.insert(0, "model", table.pop("model"))
                write_text(out / f"{name}.csv", table.to_csv(index=False, float_format=DIGITS, lineterminator="\n"))
        found = tables["kinds"][-1]
        right = found[(found["estimator"] == RIGHT) & found["kind"].isin(KEPT)]
        print(model, {line.kind: line.covers for line in right.itertuples()}, flush=True)


if __name__ == "__main__":
    typer.run(main)
