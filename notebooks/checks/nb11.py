"""Checks of notebook 11: lifetimes, a metric of one's own, and recovery that is not always seen."""

import numpy as np

from checks import Checks, demand
from pushlab import Settings, lifelong_report
from pushlab.lifetimes.live import run_syllabi
from pushlab.metrics.estimate import paired_interval
from pushlab.metrics.lifelong import log_of

check = Checks("11 · Did it keep what it learned?")
PLAIN = Settings(smoothing="none", normalization="none")
MAINTENANCE = "performance_maintenance_mrlep"


@check(1, points=2)
def a_lifetime_by_hand(my_life):
    report = lifelong_report(log_of(*my_life), syllabus_type="ANT_B", settings=PLAIN)
    kept = (
        report.tasks[MAINTENANCE].get("A", np.nan)
        if MAINTENANCE in report.tasks
        else np.nan
    )
    demand(
        np.isfinite(kept),
        "A is not tested again after B was learned",
        "keep the blocks, and change their rewards",
    )
    demand(
        abs(kept + 2) < 1e-9,
        f"the maintenance of A is {kept:g}, not −2",
        "compare the test of A after B with the test of A just before B",
    )
    back = report.tasks["recovery_time"]["A"]
    demand(
        abs(back - 2) < 1e-9,
        f"the recovery time of A is {back:g}, not 2",
        "count the episodes of A's second training that are below the end of its first",
        earned=1,
    )
    pairs = report.pairs[report.pairs["metric"] == "forward_transfer_ratio"]
    ratio = pairs.loc[(pairs["learned"] == "A") & (pairs["tested"] == "B"), "value"]
    demand(
        len(ratio) == 1,
        "there is no forward transfer from A to B",
        "test B before A is learned and after, and learn B only then",
        earned=1,
    )
    demand(
        abs(ratio.iloc[0] - 0.5) < 1e-9,
        f"forward transfer from A to B is {ratio.iloc[0]:.3g}, not 0.5",
        "learning A has to halve what B is tested at, before B was ever learned",
        earned=1,
    )
    return "It forgets 2, comes back after 2 episodes, and A stands in the way of B."


@check(2, points=3)
def maintenance_from_its_definition(maintenance):
    def differs(*blocks):
        mine = maintenance([(kind, task, float(mean)) for kind, task, mean in blocks])
        demand(
            isinstance(mine, dict),
            f"it returns a {type(mine).__name__}",
            "return a dict: task to number",
        )
        log = log_of(*((kind, task, [mean]) for kind, task, mean in blocks))
        told = (
            lifelong_report(log, metrics=[MAINTENANCE], settings=PLAIN)
            .tasks[MAINTENANCE]
            .dropna()
            .to_dict()
        )
        right = mine.keys() == told.keys() and all(
            abs(mine[task] - told[task]) < 1e-9 for task in told
        )
        return (
            None
            if right
            else f"it gives { ({task: round(float(one), 3) for task, one in mine.items()}) }"
        )

    train, test = ("train", "A", 9), ("train", "B", 9)
    once = differs(train, ("test", "A", 8), test, ("test", "A", 5))
    demand(
        once is None,
        f"A is tested at 8 after its training, and at 5 after B's: {once}",
        "a later test less the first test after the training: 5 − 8, under the name A; B has no test, so no entry",
    )
    twice = differs(
        train, ("test", "A", 8), test, ("test", "A", 5), test, ("test", "A", 4)
    )
    demand(
        twice is None,
        f"tests of A at 8, 5 and 4: {twice}",
        "the mean over the later tests, −3 and −4; the first "
        "test is what they are compared with, and is none of them",
        earned=1,
    )
    again = differs(
        train,
        ("test", "A", 8),
        test,
        ("test", "A", 5),
        train,
        ("test", "A", 6),
        test,
        ("test", "A", 7),
    )
    demand(
        again is None,
        f"A learned again, tested at 8, 5, then 6, 7: {again}",
        "after each training of a task the next test of it is the new one to compare with",
        earned=2,
    )
    early = differs(
        ("test", "A", 1),
        ("test", "B", 2),
        train,
        ("test", "B", 3),
        ("test", "A", 8),
        test,
        ("test", "A", 5),
        ("test", "B", 9),
    )
    demand(
        early is None,
        f"with tests before the first training: {early}",
        "what is tested before a task was learned says nothing of what was kept of it",
        earned=2,
    )
    return "It agrees with the library's, also where tasks are learned again."


def kaplan_meier(times, watched):
    """The median, written out: the first time at which the product of the shares that stay falls to one half."""
    least, share = np.minimum(times, watched), 1.0
    for time in np.unique(times[np.isfinite(times)]):
        share *= 1 - (times == time).sum() / (least >= time).sum()
        if share <= 0.5 + 1e-9:
            return time
    return np.inf


@check(3, points=3)
def a_median_with_censoring(median_recovery):
    def asked(times, watched):
        times, watched = np.array(times, float), np.array(watched, float)
        return float(median_recovery(times.copy(), watched.copy())), kaplan_meier(
            times, watched
        )

    never = np.inf
    mine, right = asked([3, 5, 9, 4, 7], [20] * 5)
    demand(
        abs(mine - right) < 1e-9,
        f"all recovered, after 3, 4, 5, 7 and 9: {mine:g}",
        "then it is the median, 5",
    )
    mine, right = asked([2, 4, 6, 8], [20] * 4)
    demand(
        abs(mine - right) < 1e-9,
        f"all recovered, after 2, 4, 6 and 8: {mine:g}, and after 4 half are still out",
        "one half *or less*: compare with `<=`, at 0.5 + 1e-9",
    )
    mine, _ = asked([3, never, never, never], [20] * 4)
    demand(
        np.isinf(mine),
        f"one of four recovered: {mine:g}",
        "three of four are still out at the end: nobody knows the median, so return inf",
    )
    mine, right = asked([4, never, never, 10, 12], [30, 5, 6, 30, 30])
    demand(
        abs(mine - right) < 1e-9,
        f"recovered after 4, 10, 12; not by 5 and 6, when one stopped looking: {mine:g} "
        "for 10",
        "at 4 five are at risk and four stay; at 10 only two are still looked at: 4/5 · 1/2",
        earned=1,
    )
    mine, right = asked([4, 10, never, 12, 20, never], [30, 30, 10, 30, 30, 5])
    demand(
        abs(mine - right) < 1e-9,
        f"one recovers at 10 and another is last looked at at 10: {mine:g}, not {right:g}",
        "who is looked at until 10 is still at risk at 10",
        earned=2,
    )
    rng = np.random.default_rng(11)
    for _ in range(40):
        true, watched = rng.geometric(0.05, 25), rng.integers(5, 60, 25)
        mine, right = asked(np.where(true <= watched, true, np.inf), watched)
        demand(
            mine == right or abs(mine - right) < 1e-9,
            f"in a simulated study of 25 it is {mine:g}, not {right:g}",
            "multiply 1 − recovered / at risk over the times, and stop where that is 0.5 or less",
            earned=2,
        )
    return "The median, whoever stopped looking when."


@check(4, points=2)
def what_coming_back_costs(recovery_loss):
    def loss(*trainings):
        log = log_of(*(("train", task, values) for task, values in trainings))
        return lifelong_report(log, metrics=[recovery_loss], settings=PLAIN).tasks[
            "recovery_loss"
        ]["A"]

    first, other = ("A", [0, 4, 8]), ("B", [1, 1])
    mine = loss(first, other, ("A", [5, 6, 8]))
    demand(
        abs(mine - 5) < 1e-9,
        f"left at 8 and back with 5, 6, 8: {mine:g} for 3 + 2 + 0",
        "add up level − curve, episode by episode",
    )
    mine = loss(first, other, ("A", [5, 9, 9]))
    demand(
        abs(mine - 3) < 1e-9,
        f"left at 8 and back with 5, 9, 9: {mine:g} for 3",
        "an episode above the level costs nothing, and pays nothing back",
        earned=1,
    )
    mine = loss(("A", [0, 9, 7]), other, ("A", [6, 8]))
    demand(
        abs(mine - 1) < 1e-9,
        f"after a training 0, 9, 7, back with 6, 8: {mine:g} for 1",
        "what counts is the level at which the task was left, not the highest",
        earned=1,
    )
    mine = loss(first, other, ("A", [7, 8]), other, ("A", [4, 8]), other, ("A", [8, 8]))
    demand(
        abs(mine - 5) < 1e-9,
        f"three returns that cost 1, 4 and 0 give {mine:g}",
        "add up over all returns of the task",
        earned=1,
    )
    return "It counts what is missing, and only that."


@check(5, points=2)
def an_agent_that_forgets_less(mine, short, usual_logs):
    my_logs = run_syllabi(short, [mine], seeds=len(usual_logs), progress=False)[
        mine.name
    ]
    names, plain = (
        (MAINTENANCE, "mean_evaluation_performance"),
        Settings(normalization="none"),
    )
    read = {
        who: [
            lifelong_report(log, metrics=names, settings=plain).lifetime for log in logs
        ]
        for who, logs in (("mine", my_logs), ("usual", usual_logs))
    }
    kept, served = (
        paired_interval(
            *([one[name] for one in read[who]] for who in ("mine", "usual"))
        )
        for name in names
    )
    lazy = np.std([log["reward"].mean() for log in my_logs]) < 1e-9 or served.high < 0
    demand(
        not lazy,
        f"it serves both towns worse than linear Q: {served} reward an episode in its tests",
        "who learns nothing forgets nothing; begin with an agent that learns",
    )
    demand(
        kept.low > 0,
        f"it does not surely forget less than linear Q: {kept}, which has to lie above 0",
        "what has the south to do with the weights of the north? Think of a learner for each",
    )
    demand(
        served.low > 0,
        f"it forgets less, but does not surely earn more in its tests: {served}",
        "keep all of what linear Q learns, and not only what lasts",
        earned=1,
    )
    return f"Less forgotten, {kept}, and more earned in tests, {served}."
