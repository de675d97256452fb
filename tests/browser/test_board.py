"""Tests of a class's board in Chromium, while a team plays on a server."""

from contextlib import contextmanager

import gymnasium as gym
import pytest
from waiting import PATIENCE, wait_until

from pushlab_classroom import new_class, running_server

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:episode .* continues after"),
]

POLL_INTERVAL = 3000  # milliseconds between updates of the page
LONG_NAME = "W" * 74  # the widest letter
TEAMS = [LONG_NAME, "<b>bold</b> & Söhne", *map(str, range(3, 41))]
TOO_WIDE = """[...document.querySelectorAll("body *")].filter(element =>
    element.checkVisibility()
    && element.getBoundingClientRect().right > innerWidth + 1).map(element => element.outerHTML)"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Address of a board with forty teams, and a function that plays for a team."""
    folder = tmp_path_factory.mktemp("class") / "class"
    settings = {"episodes": 3, "per_quarter": 100, "days": 1}
    tokens = new_class(folder, TEAMS, "browser", **settings)

    def play(team, scored=True, max_steps=10_000):
        arguments = {"url": url, "token": tokens[team], "scored": scored}
        env = gym.make("pushlab/Remote-v0", **arguments)
        env.reset()
        for _ in range(max_steps):
            if env.step([0] * 7)[2]:
                break
        env.close()

    with running_server(folder) as url:
        for team in TEAMS[:2]:
            play(team)
        yield url, play


@contextmanager
def board(browser, url, **options):
    """Context manager that opens the board. It fails if the page loads anything else or has errors."""
    context = browser.new_context(**options)
    page = context.new_page()
    page.set_default_timeout(1000 * PATIENCE)
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: problems.append(request.url))
    page.clock.install()
    page.goto(url + "/")
    page.locator("#rows-evalumap2 tr:nth-child(40)").wait_for()
    yield page
    allowed = (url, "data:")
    assert [problem for problem in problems if not problem.startswith(allowed)] == []
    context.close()


def wait_for(page, locator):
    """Let the page update until it has the element."""

    def count():
        page.clock.run_for(POLL_INTERVAL)
        page.wait_for_timeout(100)
        return locator.count()

    wait_until(count, str(locator))


def test_the_board_updates_and_keeps_the_scroll_position(browser, served):
    url, play = served
    with board(browser, url, viewport={"width": 1280, "height": 700}) as page:
        page.get_by_text("How to read this board").click()
        page.evaluate("scrollTo(0, 400)")
        position = "[scrollY, document.activeElement.tagName]"
        before = page.evaluate(position)
        play("9", max_steps=15)
        wait_for(page, page.get_by_text("playing, step 15"))
        play("9")
        wait_for(page, page.get_by_text("9 finished episode 1 of 3"))
        assert page.evaluate(position) == before
        assert page.locator("details[open]").count() == 1

        page.get_by_role("button", name="Pause").click()
        play("11", max_steps=7)
        page.clock.run_for(10 * POLL_INTERVAL)
        assert page.get_by_text("playing, step 7").count() == 0
        page.get_by_role("button", name="Pause").click()
        wait_for(page, page.get_by_text("playing, step 7"))
        page.context.set_offline(True)
        wait_for(page, page.get_by_text("may be old"))


def test_the_board_fits_a_phone_and_a_projector_and_names_its_rows(browser, served):
    with board(browser, served[0]) as page:
        for width, height in ((360, 740), (1920, 1080)):
            page.set_viewport_size({"width": width, "height": height})
            assert page.evaluate(TOO_WIDE) == []
        assert page.evaluate("document.documentElement.scrollHeight") == 1080
        table = page.get_by_role("table", name="Challenge 2: the cold start")
        assert table.get_by_role("rowheader").count() == 40
        assert table.get_by_role("rowheader", name="<b>bold</b> & Söhne").count() == 1
