"""Checks of notebook 11: lifetimes, a new metric, and recovery times with censoring."""

import numpy as np

from checks import Checks, is_close, require, returned
from pushlab.lifetimes.runner import run_syllabi
from pushlab.metrics.estimate import paired_interval
from pushlab.metrics.lifelong import (
    Lifetime,
    Settings,
    lifelong_report,
    log_from_blocks,
)

check = Checks("11 · Did it keep what it learned?")
PLAIN = Settings(smoothing="none", normalization="none")
MAINTENANCE = "performance_maintenance_mrlep"
EVALUATION = "mean_evaluation_performance"


@check(1, points=2)
def a_lifetime_by_hand(my_life):
    report = lifelong_report(
        log_from_blocks(*my_life), syllabus_type="ANT_B", settings=PLAIN
    )

    def metric_of_A(name):
        return report.tasks.get(name, {}).get("A", np.nan)

    maintenance = metric_of_A(MAINTENANCE)
    require(
        abs(maintenance + 2) < 1e-9,
        f"The maintenance of A is {maintenance:g}, not −2",
        "Keep the blocks, and compare the test of A after B with the test of A just before B",
    )
    recovery = metric_of_A("recovery_time")
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
            isinstance(returned(answer), dict),
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
        "The first test itself gives no difference, and B has no test, so no entry",
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
        ("test", "A", 4),
        train_A,
        ("test", "A", 6),
        train_B,
        ("test", "A", 7),
    )
    require(
        text is None,
        f"A is learned again, with tests at 8, 5, 4, then 6, 7: {text}",
        "After each training of a task its next test is the new reference. All differences count alike: −3, −4 and 1",
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


never = np.inf
AT_RISK = "An agent is at risk if it has not recovered before this time and is observed at least until then"
STUDIES = (  # times, ends of observation, median, points of an answer that fails, description, hint
    (
        [3, 5, 9, 4, 7],
        [20] * 5,
        5,
        0,
        "All recovered, after 3, 4, 5, 7 and 9",
        "Then it is the usual median, 5: agents that have recovered are no longer at risk",
    ),
    (
        [11, never, 4, 2, never, 3, 17, never, never],
        [18, 9, 15, 13, 8, 22, 17, 8, 5],
        11,
        0,
        "Five of nine recovered, after 2, 3, 4, 11 and 17",
        AT_RISK,
    ),
    (
        [3, never, never, never],
        [20] * 4,
        never,
        0,
        "One of four recovered",
        "Three of four have not recovered at the end: the median is unknown, so return inf",
    ),
    (
        [2, 4, 6, 8],
        [20] * 4,
        4,
        1,
        "All recovered, after 2, 4, 6 and 8: after 4 one half is still out",
        "One half *or less*: compare with `<=`, at 0.5 + 1e-9",
    ),
    (
        [4, 10, never, 12, never],
        [30, 30, 10, 30, 5],
        12,
        2,
        "One recovers at 10, and the observation of another ends at 10",
        "An agent observed until 10 is still at risk at 10",
    ),
    (
        [3, 3, 8, 9, 10],
        [20] * 5,
        8,
        2,
        "Two of five recover at 3",
        "Go through the different times, and count how many recover at each",
    ),
)
MISTAKES = {  # medians of the second study
    4: ". You left out the agents that were not seen to recover",
    8: ". You took the end of observation for a recovery",
    17: ". You kept agents at risk that are no longer observed",
}


@check(3, points=3)
def a_median_with_censoring(median_recovery):
    for times, follow_up_time, median, earned, description, hint in STUDIES:
        answer = median_recovery(
            np.array(times, float), np.array(follow_up_time, float)
        )
        mistake = MISTAKES.get(answer, "") if median == 11 else ""
        require(
            is_close(returned(answer), median),
            f"{description}: the median is {median:g}, not {answer:g}{mistake}",
            hint,
            earned,
        )
    return "The median, whenever observations end."


@check(4, points=2)
def the_cost_of_coming_back(recovery_loss):
    def loss(*trainings):
        log = log_from_blocks(*(("train", task, values) for task, values in trainings))
        returned(recovery_loss(Lifetime(log, settings=PLAIN)))
        report = lifelong_report(log, metrics=[recovery_loss], settings=PLAIN)
        return report.tasks["recovery_loss"]["A"]

    cases = (  # trainings of A, their loss, points of an answer that fails, hint
        (
            [[0, 4, 8], [5, 6, 7]],
            6,
            0,
            "Add up level − curve, episode by episode; the level is that of the training *before*",
        ),
        (
            [[0, 4, 8], [5, 9, 7]],
            4,
            1,
            "An episode above the level costs nothing, pays nothing back, and does not end the count",
        ),
        (
            [[0, 9, 7], [6, 8]],
            1,
            1,
            "Use the last level of the training before, not the highest",
        ),
        (
            [[0, 4, 8], [7, 6], [4, 8]],
            5,
            1,
            "Add up over all returns, each from the level at which the task was left *last*",
        ),
    )
    for curves, expected, earned, hint in cases:
        trainings = []
        for curve in curves:
            trainings += [("A", curve), ("B", [1, 1])]
        answer = loss(*trainings)
        require(
            is_close(answer, expected),
            f"If A is trained with {curves} it gives {answer:g}, not {expected}",
            hint,
            earned,
        )
    return "It counts the missing reward, and nothing else."


@check(5, points=2)
def an_agent_that_forgets_less(mine, short, usual_logs):
    lives = run_syllabi(short, [mine], seeds=len(usual_logs), progress=False)
    settings = Settings(normalization="none")
    names = (MAINTENANCE, EVALUATION)

    def lifetime_metrics(logs):
        return [
            lifelong_report(log, metrics=names, settings=settings).lifetime
            for log in logs
        ]

    my_lifetimes = lifetime_metrics(lives[mine.name])
    usual_lifetimes = lifetime_metrics(usual_logs)
    maintenance, evaluation = (
        paired_interval(
            [life[name] for life in my_lifetimes],
            [life[name] for life in usual_lifetimes],
        )
        for name in names
    )
    require(
        maintenance.low > 0,
        f"It may forget as much as linear Q: the interval {maintenance} must be above 0",
        "Why should the south change the weights of the north? Think of a learner for each",
    )
    require(
        evaluation.high > 0,
        f"In the tests of both towns it is worse than linear Q: {evaluation} reward per episode",
        "An agent that learns nothing forgets nothing; begin with an agent that learns",
    )
    require(
        evaluation.low > 0,
        f"It forgets less, but the gain in its tests may be zero: {evaluation}",
        "Keep everything that linear Q learns, not only a part",
        earned=1,
    )
    return f"Less forgotten, {maintenance}, and more earned in tests, {evaluation}."
