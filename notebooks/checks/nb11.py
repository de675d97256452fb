"""Checks of notebook 11: lifetimes, a new metric, and recovery times with censoring."""

import numpy as np

from checks import Checks, require
from pushlab.lifetimes.runner import run_syllabi
from pushlab.metrics.estimate import paired_interval
from pushlab.metrics.lifelong import Settings, lifelong_report, log_from_blocks

check = Checks("11 · Did it keep what it learned?")
PLAIN = Settings(smoothing="none", normalization="none")
MAINTENANCE = "performance_maintenance_mrlep"
EVALUATION = "mean_evaluation_performance"


@check(1, points=2)
def a_lifetime_by_hand(my_life):
    report = lifelong_report(
        log_from_blocks(*my_life), syllabus_type="ANT_B", settings=PLAIN
    )
    maintenance = np.nan
    if MAINTENANCE in report.tasks:
        maintenance = report.tasks[MAINTENANCE].get("A", np.nan)
    require(
        np.isfinite(maintenance),
        "A is not tested again after B was learned",
        "Keep the blocks, and change their rewards",
    )
    require(
        abs(maintenance + 2) < 1e-9,
        f"The maintenance of A is {maintenance:g}, not −2",
        "Compare the test of A after B with the test of A just before B",
    )
    recovery = report.tasks["recovery_time"]["A"]
    require(
        abs(recovery - 2) < 1e-9,
        f"The recovery time of A is {recovery:g}, not 2",
        "Count the episodes of A's second training that are below the end of its first",
        earned=1,
    )
    pairs = report.pairs[report.pairs["metric"] == "forward_transfer_ratio"]
    ratio = pairs.loc[(pairs["learned"] == "A") & (pairs["tested"] == "B"), "value"]
    require(
        len(ratio) == 1,
        "There is no forward transfer from A to B",
        "Test B before and after A is learned, and learn B only then",
        earned=1,
    )
    require(
        abs(ratio.iloc[0] - 0.5) < 1e-9,
        f"The forward transfer from A to B is {ratio.iloc[0]:.3g}, not 0.5",
        "Learning A must halve the test of B, before B was ever learned",
        earned=1,
    )
    return "It forgets 2, recovers after 2 episodes, and learning A makes B worse."


@check(2, points=3)
def maintenance_from_its_definition(maintenance):
    def mistake(*blocks):
        """Return the wrong answer for a lifetime in words, or None if it is right."""
        answer = maintenance([(kind, task, float(mean)) for kind, task, mean in blocks])
        require(
            isinstance(answer, dict),
            f"It returns a {type(answer).__name__}",
            "Return a dict: task to number",
        )
        log = log_from_blocks(*((kind, task, [mean]) for kind, task, mean in blocks))
        report = lifelong_report(log, metrics=[MAINTENANCE], settings=PLAIN)
        expected = report.tasks[MAINTENANCE].dropna().to_dict()
        if answer.keys() == expected.keys() and all(
            abs(answer[task] - expected[task]) < 1e-9 for task in expected
        ):
            return None
        rounded = {task: round(float(value), 3) for task, value in answer.items()}
        return f"it gives {rounded}"

    train_A = ("train", "A", 9)
    train_B = ("train", "B", 9)
    text = mistake(train_A, ("test", "A", 8), train_B, ("test", "A", 5))
    require(
        text is None,
        f"A is tested at 8 after its training, and at 5 after B's: {text}",
        "Subtract the first test after the training from a later test: 5 − 8, under the name A. "
        "B has no test, so no entry",
    )
    text = mistake(
        train_A, ("test", "A", 8), train_B, ("test", "A", 5), train_B, ("test", "A", 4)
    )
    require(
        text is None,
        f"Tests of A at 8, 5 and 4: {text}",
        "Take the mean over the later tests, −3 and −4; the first test is the reference, not one of them",
        earned=1,
    )
    text = mistake(
        train_A,
        ("test", "A", 8),
        train_B,
        ("test", "A", 5),
        train_A,
        ("test", "A", 6),
        train_B,
        ("test", "A", 7),
    )
    require(
        text is None,
        f"A is learned again, with tests at 8, 5, then 6, 7: {text}",
        "After each training of a task its next test is the new reference",
        earned=2,
    )
    text = mistake(
        ("test", "A", 1),
        ("test", "B", 2),
        train_A,
        ("test", "B", 3),
        ("test", "A", 8),
        train_B,
        ("test", "A", 5),
        ("test", "B", 9),
    )
    require(
        text is None,
        f"With tests before the first training: {text}",
        "A test before a task was learned does not measure its maintenance",
        earned=2,
    )
    return "It agrees with the library's metric, also if tasks are learned again."


def kaplan_meier_median(times, follow_up_time):
    """Return the Kaplan-Meier median of recovery times.

    It is the first time at which the product of the shares that stay falls to one half.
    """
    last_seen = np.minimum(times, follow_up_time)
    share = 1.0
    for time in np.unique(times[np.isfinite(times)]):
        share *= 1 - (times == time).sum() / (last_seen >= time).sum()
        if share <= 0.5 + 1e-9:
            return time
    return np.inf


@check(3, points=3)
def a_median_with_censoring(median_recovery):
    def medians(times, follow_up_time):
        """Return the answer and the expected median."""
        times = np.array(times, float)
        follow_up_time = np.array(follow_up_time, float)
        answer = float(median_recovery(times.copy(), follow_up_time.copy()))
        return answer, kaplan_meier_median(times, follow_up_time)

    never = np.inf
    answer, expected = medians([3, 5, 9, 4, 7], [20] * 5)
    require(
        abs(answer - expected) < 1e-9,
        f"All recovered, after 3, 4, 5, 7 and 9: {answer:g}",
        "Then it is the usual median, 5",
    )
    answer, expected = medians([2, 4, 6, 8], [20] * 4)
    require(
        abs(answer - expected) < 1e-9,
        f"All recovered, after 2, 4, 6 and 8: {answer:g}, and after 4 half have not recovered yet",
        "One half *or less*: compare with `<=`, at 0.5 + 1e-9",
    )
    answer, _ = medians([3, never, never, never], [20] * 4)
    require(
        np.isinf(answer),
        f"One of four recovered: {answer:g}",
        "Three of four have not recovered at the end: the median is unknown, so return inf",
    )
    answer, expected = medians([4, never, never, 10, 12], [30, 5, 6, 30, 30])
    require(
        abs(answer - expected) < 1e-9,
        f"Recovered after 4, 10, 12; two not recovered when their observation ended at 5 and 6: {answer:g} for 10",
        "At 4 five are at risk and four remain; at 10 only two are still observed: 4/5 · 1/2",
        earned=1,
    )
    answer, expected = medians([4, 10, never, 12, 20, never], [30, 30, 10, 30, 30, 5])
    require(
        abs(answer - expected) < 1e-9,
        f"One recovers at 10, and the observation of another ends at 10: {answer:g}, not {expected:g}",
        "An agent observed until 10 is still at risk at 10",
        earned=2,
    )
    rng = np.random.default_rng(11)
    for _ in range(40):
        true_times = rng.geometric(0.05, 25)
        follow_up_time = rng.integers(5, 60, 25)
        times = np.where(true_times <= follow_up_time, true_times, np.inf)
        answer, expected = medians(times, follow_up_time)
        require(
            answer == expected or abs(answer - expected) < 1e-9,
            f"In a simulated study of 25 it is {answer:g}, not {expected:g}",
            "Multiply 1 − recovered / at risk over the times, and stop when the product is 0.5 or less",
            earned=2,
        )
    return "The median, whenever observations end."


@check(4, points=2)
def the_cost_of_coming_back(recovery_loss):
    def loss(*trainings):
        log = log_from_blocks(*(("train", task, values) for task, values in trainings))
        report = lifelong_report(log, metrics=[recovery_loss], settings=PLAIN)
        return report.tasks["recovery_loss"]["A"]

    first = ("A", [0, 4, 8])
    other = ("B", [1, 1])
    answer = loss(first, other, ("A", [5, 6, 8]))
    require(
        abs(answer - 5) < 1e-9,
        f"Left at 8, and then 5, 6, 8: {answer:g} instead of 3 + 2 + 0",
        "Add up level − curve, episode by episode",
    )
    answer = loss(first, other, ("A", [5, 9, 9]))
    require(
        abs(answer - 3) < 1e-9,
        f"Left at 8, and then 5, 9, 9: {answer:g} instead of 3",
        "An episode above the level costs nothing, and pays nothing back",
        earned=1,
    )
    answer = loss(("A", [0, 9, 7]), other, ("A", [6, 8]))
    require(
        abs(answer - 1) < 1e-9,
        f"After a training 0, 9, 7, and then 6, 8: {answer:g} instead of 1",
        "Use the last level of the training, not the highest",
        earned=1,
    )
    answer = loss(
        first, other, ("A", [7, 8]), other, ("A", [4, 8]), other, ("A", [8, 8])
    )
    require(
        abs(answer - 5) < 1e-9,
        f"Three returns that cost 1, 4 and 0 give {answer:g}",
        "Add up over all returns of the task",
        earned=1,
    )
    return "It counts the missing reward, and nothing else."


@check(5, points=2)
def an_agent_that_forgets_less(mine, short, usual_logs):
    logs_by_agent = run_syllabi(short, [mine], seeds=len(usual_logs), progress=False)
    my_logs = logs_by_agent[mine.name]
    settings = Settings(normalization="none")
    names = (MAINTENANCE, EVALUATION)

    def lifetime_metrics(logs):
        return [
            lifelong_report(log, metrics=names, settings=settings).lifetime
            for log in logs
        ]

    my_lifetimes = lifetime_metrics(my_logs)
    usual_lifetimes = lifetime_metrics(usual_logs)
    maintenance, evaluation = (
        paired_interval(
            [life[name] for life in my_lifetimes],
            [life[name] for life in usual_lifetimes],
        )
        for name in names
    )
    is_constant = np.std([log["reward"].mean() for log in my_logs]) < 1e-9
    require(
        not (is_constant or evaluation.high < 0),
        f"In the tests of both towns it is worse than linear Q: {evaluation} reward per episode",
        "An agent that learns nothing forgets nothing; begin with an agent that learns",
    )
    require(
        maintenance.low > 0,
        f"It may forget as much as linear Q: the interval {maintenance} must be above 0",
        "Why should the south change the weights of the north? Think of a learner for each",
    )
    require(
        evaluation.low > 0,
        f"It forgets less, but the gain in its tests may be zero: {evaluation}",
        "Keep everything that linear Q learns, not only a part",
        earned=1,
    )
    return f"Less forgotten, {maintenance}, and more earned in tests, {evaluation}."
