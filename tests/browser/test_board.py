"""The board of a class as its watchers see it: a real server, a team that plays, a real Chromium."""

import json
import time
import urllib.request
from contextlib import contextmanager

import pytest

from pushlab.classroom import new_class, running

PATIENCE = 900                                  # seconds to wait for anything; it only ends runs that hang
EVERY = 3000                                    # milliseconds after which the page looks for news
LONG = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"
TEAMS = ["Kestrels", LONG, "<b>bold</b> & Söhne", *(f"team {number}" for number in range(4, 41))]


class Player:
    """A team that plays over HTTP."""

    def __init__(self, url, token):
        self.url, self.token = url, token
        self.candidates = self.ask("/api/games/evalumap2")["candidates"]

    def ask(self, path, **told):
        request = urllib.request.Request(self.url + path, json.dumps(told).encode() if told else None,
                                         {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)

    def play(self, scored, most=10**6):
        """An episode of Challenge 2 from where it stands, always the same notification; where it stands then."""
        now, = self.ask("/api/episodes", game="evalumap2", scored=scored)["episodes"]
        step, over = now["step"], now["over"]
        while not over and step < most:
            answer, = self.ask("/api/steps", steps=[[now["episode"], step, self.candidates[5]]])["answers"]
            step, over = step + 1, answer["terminated"]
        return step


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """(address, token of each team) of a class of forty, in which the first three have played one episode."""
    folder = tmp_path_factory.mktemp("class") / "class"
    tokens = new_class(folder, TEAMS, seed="browser", episodes=3, per_quarter=100, days=1, name="Autumn 2026")
    with running(folder) as url:
        for team in TEAMS[:3]:
            Player(url, tokens[team]).play(True)
        Player(url, tokens[TEAMS[0]]).play(False, most=12)
        yield url, tokens


@contextmanager
def watched(browser, url, **how):
    """The board in a page of its own; afterwards: nothing was asked of others, and the console is silent."""
    context = browser.new_context(**how)
    page, outside, errors = context.new_page(), [], []
    page.set_default_timeout(1000 * PATIENCE)
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: outside.append(request.url) if not request.url.startswith((url, "data:")) else 0)
    page.clock.install()                        # so that nobody waits for the page's own
    page.goto(url + "/")
    page.locator("#rows-evalumap2 tr:nth-child(40)").wait_for()
    yield page
    assert (outside, errors) == ([], [])
    context.close()


def wait_for(page, locator):
    """Lets the page look for news until there is something to be seen."""
    begun = time.monotonic()
    while not locator.count():
        assert time.monotonic() < begun + PATIENCE, f"waited {PATIENCE} s in vain for {locator}"
        page.clock.run_for(EVERY)
        page.wait_for_timeout(100)


def test_the_board_goes_on_by_itself_while_a_team_plays_and_moves_nobody(browser, served):
    url, tokens = served
    with watched(browser, url, viewport={"width": 1280, "height": 700}) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == "pause"
        page.get_by_text("How to read this board").click()
        page.locator("summary").focus()
        page.evaluate("scrollTo(0, 400)")
        before = page.evaluate("[scrollY, document.querySelector('details').open]")
        row = page.locator("#rows-evalumap2 tr", has_text="team 9")
        assert "0 of 3" in row.inner_text()
        Player(url, tokens["team 9"]).play(True, most=15)
        wait_for(page, row.get_by_text("playing, step 15"))
        assert row.locator("td").first.inner_text() == "–"              # what it is worth so far is nobody's business
        Player(url, tokens["team 9"]).play(True)
        wait_for(page, page.get_by_text("team 9 finished episode 1 of 3"))
        assert "1 of 3" in row.inner_text() and row.locator("b").inner_text()
        assert page.evaluate("[scrollY, document.querySelector('details').open]") == before
        assert page.evaluate("document.activeElement.tagName") == "SUMMARY"


def test_a_board_that_is_paused_stands_still_until_it_goes_on(browser, served):
    url, tokens = served
    with watched(browser, url) as page:
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        assert page.get_by_role("button", name="Pause", pressed=True).count() == 1
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        Player(url, tokens["team 11"]).play(True, most=7)
        page.clock.run_for(20 * EVERY)
        page.wait_for_timeout(500)
        assert not asked and "playing, step 7" not in page.locator("main").inner_text()
        page.keyboard.press("Space")
        wait_for(page, page.get_by_text("playing, step 7"))


def test_the_board_fits_a_phone_and_a_projector_by_day_and_night(browser, served):
    with watched(browser, served[0]) as page:
        for width, height, scheme in (360, 740, "light"), (360, 740, "dark"), (768, 1024, "dark"), (1920, 1080, "dark"):
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert page.evaluate("""[...document.querySelectorAll('body *')].filter(one => one.checkVisibility()
                && !one.closest('.phone') && one.getBoundingClientRect().right > innerWidth + 1)
                .map(one => one.outerHTML.slice(0, 80))""") == []
            size = page.evaluate("parseFloat(getComputedStyle(document.querySelector('tbody b')).fontSize)")
            assert size >= (28 if width == 1920 else 16)
            light = page.evaluate("parseInt(getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0])")
            assert (light > 200) == (scheme == "light")
        # On the projector the table has curves and phone beside it, without scrolling.
        assert page.evaluate("document.querySelector('.phone').getBoundingClientRect().bottom") <= height


def test_screen_readers_and_keyboards_find_their_way(browser, served):
    with watched(browser, served[0]) as page:
        for role in ("banner", "main", "complementary", "contentinfo"):
            assert page.get_by_role(role).count() == 1, role
        table = page.get_by_role("table", name="Challenge 2: the cold start")
        assert table.get_by_role("columnheader").count() == 3 and table.get_by_role("rowheader").count() == 40
        assert table.get_by_role("rowheader", name="<b>bold</b> & Söhne").count() == 1
        assert [page.get_by_role("img", name=name).count() for name in ("Learning curves", "practice user")] == [1, 1]
        assert page.locator("[aria-live]").evaluate_all("found => found.map(one => one.id)") == ["news"]
        seen = []
        for _ in range(8):
            page.keyboard.press("Tab")
            seen.append(page.evaluate("""(() => {
                const one = document.activeElement, its = getComputedStyle(one);
                return one === document.body ? null : [one.innerText, its.outlineStyle, parseFloat(its.outlineWidth)];
            })()"""))
        found = {one[0] for one in seen if one}
        assert {"Pause", "How to read this board", "board.csv", "board.json"} <= found
        assert all(one[1] == "solid" and one[2] >= 2 for one in seen if one)


def test_without_scripts_the_board_is_whole_and_loads_itself_anew(browser, served):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(served[0] + "/")
    assert page.locator("tbody tr").count() == 40 and not page.locator("#pause").is_visible()
    assert page.locator("meta[http-equiv=refresh]").count() == 1
    context.close()


def test_a_board_whose_server_does_not_answer_says_that_it_may_be_old(browser, served):
    context = browser.new_context()
    page = context.new_page()
    page.clock.install()
    page.goto(served[0] + "/")
    context.set_offline(True)
    wait_for(page, page.get_by_text("may be old"))
    context.set_offline(False)
    page.clock.run_for(EVERY)
    page.get_by_text("may be old").wait_for(state="detached", timeout=1000 * PATIENCE)
    context.close()
