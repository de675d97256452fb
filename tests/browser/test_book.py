"""The book as its readers open it: from the disk, without a server, on a phone and on a desk, by day and by night."""

import re
from urllib.parse import quote

import pytest

PATIENCE = 300                                  # seconds to wait for anything; it only ends runs that hang
PAGES = ["docs/index", "notebooks/00_start_here", "notebooks/04_value", "notebooks/11_lifelong_metrics",
         "notebooks/README", "notebooks/glossary", "docs/environments/push-v0", "docs/api/metrics.push", "docs/speed",
         "CHANGELOG"]
WITH_PICTURES = ["notebooks/00_start_here", "notebooks/11_lifelong_metrics", "docs/environments/push-v0"]
SIZES = {"phone": (390, 844), "desk": (1400, 900)}

# What is wrong with the page as it stands, {what: [where, ...]}: wider than the window; words that leave it, or end in
# a box that hides them and does not scroll; pictures that did not load or tell nothing to those who cannot see them;
# formulas that are no formulas yet.
WRONG = r"""() => {
    const all = [...document.querySelectorAll("main :is(.bd-article-container, .bd-header-article) *")]
        .filter(one => one.checkVisibility());
    const clips = (one, ways) => ways.test(getComputedStyle(one).overflowX);
    const inside = ({ parentElement: one }, ways) => one && (clips(one, ways) || inside(one, ways));
    const told = found => found.map(one => one.outerHTML.slice(0, 100)).slice(0, 5);
    const root = document.documentElement, words = document.querySelector("main").innerText;
    const pictures = [...document.querySelectorAll("main img")];
    return {
        "scrolls sideways": root.scrollWidth > root.clientWidth ? [`${root.scrollWidth} > ${root.clientWidth}`] : [],
        "leaves the window": told(all.filter(one => one.getBoundingClientRect().right > innerWidth + 1
            && !inside(one, /auto|scroll|hidden|clip/))),
        "is cut": told(all.filter(one => clips(one, /hidden|clip/) && one.scrollWidth > one.clientWidth + 2
            && one.clientWidth > 4 && one.innerText?.trim())),
        "did not load": told(pictures.filter(one => !one.naturalWidth)),
        "has no alternative text": told(pictures.filter(one => !one.alt.trim())),
        "formulas that are not typeset": [...words.matchAll(/\$[^$\n]*\\[a-z]+[^$\n]*\$|\\[(\[]|\\frac|\\mathbb/g)].map(
            one => one[0]),
        "formulas without a size": told([...document.querySelectorAll("math")].filter(
            one => one.checkVisibility() && one.getBoundingClientRect().width < 2)),
    };
}"""

# [contrast, words] of text in the article (WCAG: 1 is none, 21 black on white), of each kind of element one or two.
CONTRASTS = r"""() => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const rgba = colour => {
        canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
        return [r, g, b, a / 255];
    };
    const over = (top, below) => [0, 1, 2].map(at => top[at] * top[3] + below[at] * (1 - top[3])).concat(1);
    const ground = one => one ? over(rgba(getComputedStyle(one).backgroundColor), ground(one.parentElement))
                              : [255, 255, 255, 1];
    const light = colour => {
        const [r, g, b] = colour.map(one => (one /= 255) <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const kinds = ["p", "li", "h1", "h2", "td", "th", "a:not(.headerlink)", "code", "pre", "pre span", "summary",
                   ".caption-of-cell", ".moves", ".moves a", "math", "svg.map text"];
    const found = kinds.flatMap(kind => [...document.querySelectorAll(`main article :is(${kind})`)]
        .filter(one => one.checkVisibility() && one.textContent.trim()).slice(0, kind === "pre span" ? 60 : 2));
    return found.map(one => {
        const style = getComputedStyle(one), drawn = one instanceof SVGElement ? style.fill : style.color;
        // A box of the map is no parent of its words.
        const below = one instanceof SVGElement && one.closest("g")?.querySelector("rect:not(.touch)");
        const behind = below ? over(rgba(getComputedStyle(below).fill), ground(one)) : ground(one);
        const [one_, two] = [light(over(rgba(drawn), behind)), light(behind)].sort((a, b) => b - a);
        return [(one_ + 0.05) / (two + 0.05), `${one.tagName} ${one.textContent.trim().slice(0, 40)}`];
    });
}"""


class Reader:
    """One page of a browser that has the book open, with what went wrong in its console and where else it asked.

    errors, outside   lists of texts, of all pages that were opened
    """

    def __init__(self, browser, book):
        self.page, self.book, self.errors, self.outside = browser.new_context().new_page(), book, [], []
        self.page.set_default_timeout(1000 * PATIENCE)
        self.page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda asked: None if asked.url.startswith((book.as_uri(), "data:", "blob:"))
                     else self.outside.append(asked.url))

    def open(self, name, size="desk"):
        """Open a page by its name; all of its pictures are there afterwards."""
        width, height = SIZES[size]
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.goto(f"{self.book.as_uri()}/{name}.html")
        self.page.evaluate("""() => {
            const pictures = [...document.images];
            pictures.forEach(one => one.loading = "eager");
            return Promise.all(pictures.map(one => one.decode().catch(() => null)));
        }""")
        return self.page

    def dress(self, mode):
        """Choose light or dark with the theme's own button."""
        def is_there():
            return self.page.evaluate("document.documentElement.dataset.theme") == mode

        for _ in range(6):
            if is_there():
                break
            self.page.locator("button.theme-switch-button:visible").first.click()
            choice = self.page.locator(f"button.theme-change-button[data-mode={mode}]:visible")
            if choice.count():
                choice.first.click()
        assert is_there()


@pytest.fixture(scope="module")
def reading(browser, built_book):
    reader = Reader(browser, built_book)
    yield reader
    reader.page.context.close()


@pytest.fixture
def reader(reading):
    """The book in one browser; whatever a test does with it, the console stays silent and no other host is asked."""
    reading.errors.clear()
    reading.outside.clear()
    yield reading
    assert (reading.errors, reading.outside) == ([], [])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_and_is_whole(reader, name, size):
    page = reader.open(name, size)
    assert {what: where for what, where in page.evaluate(WRONG).items() if where} == {}
    assert page.locator("article h1").count() == 1 and page.locator("article h1").is_visible()


def test_the_first_picture_stands_for_who_asks_for_less_motion(reader):
    shown = "document.querySelector('.moving img').currentSrc"
    assert reader.open("docs/index").evaluate(shown).endswith("worlds.gif")
    reader.page.emulate_media(reduced_motion="reduce")
    try:
        assert reader.open("docs/index").evaluate(shown).endswith("worlds-still.png")
    finally:
        reader.page.emulate_media(reduced_motion="no-preference")


@pytest.mark.parametrize("size", SIZES)
def test_the_four_doors_are_on_the_first_screen(reader, size):
    """All of them on a desk; the first two on a phone, above the picture."""
    page = reader.open("docs/index", size)
    tops = [page.locator(".door").nth(which).bounding_box()["y"] for which in range(4)]
    assert tops[3 if size == "desk" else 1] < SIZES[size][1]


@pytest.mark.parametrize("name", ["notebooks/00_start_here", "notebooks/04_value", "notebooks/README"])
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_words_stand_out_from_their_ground_by_day_and_night(reader, name, mode):
    page = reader.open(name)
    reader.dress(mode)
    bright = page.evaluate("parseInt(getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0])")
    assert (bright > 200) == (mode == "light")
    contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) > 10 and [told for told in contrasts if told[0] < 4.5] == []


@pytest.mark.parametrize("name", WITH_PICTURES)
def test_pictures_stay_as_they_were_drawn_in_the_dark(reader, name):
    """Lines and letters of a picture are dark and its ground is light, whatever the page around it is."""
    page = reader.open(name)
    reader.dress("dark")
    drawn = page.evaluate("""() => [...document.querySelectorAll("main article img")].map(one => {
        const style = getComputedStyle(one);
        return [style.filter, ...style.backgroundColor.match(/[\\d.]+/g).map(Number)];
    })""")
    assert drawn
    for filtered, *ground in drawn:
        assert filtered == "none" and len(ground) == 3 and min(ground) > 200


def test_a_solution_opens_by_a_click_and_by_the_keyboard(reader):
    page = reader.open("notebooks/04_value", "phone")
    folded = page.locator("details", has=page.get_by_text("One solution, and why"))
    first, second = folded.nth(0), folded.nth(1)
    assert first.locator("pre").first.is_visible() is False
    first.locator("summary").click()
    assert first.locator("pre").first.is_visible() and not second.locator("pre").first.is_visible()
    second.locator("summary").focus()
    page.keyboard.press("Enter")
    assert second.locator("pre").first.is_visible()
    page.keyboard.press("Space")
    assert not second.locator("pre").first.is_visible()


def test_code_is_copied_as_it_stands(reader):
    page = reader.open("notebooks/00_start_here")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    cell = page.locator("div.cell_input div.highlight").first
    cell.hover()
    cell.locator("button.copybtn").click()
    code = cell.locator("pre").inner_text()
    page.wait_for_function("code => navigator.clipboard.readText().then(text => text.trim() === code.trim())", arg=code)


@pytest.mark.parametrize("name", ["00_start_here", "11_lifelong_metrics"])
def test_the_launch_button_opens_this_notebook(reader, name):
    page = reader.open(f"notebooks/{name}")
    page.get_by_role("button", name="Launch").click()
    link = page.locator("a[href*='mybinder.org']:visible", has_text="Binder").first
    assert quote(f"notebooks/{name}.ipynb", safe="") in link.get_attribute("href").replace("/", "%2F")


@pytest.mark.parametrize("word, page_found", [("maintenance", "11_lifelong_metrics"), ("interrupt", "push-v0")])
def test_search_finds_pages_without_a_server(reader, word, page_found):
    page = reader.open("docs/index")
    page.locator(".search-button__button:visible").first.click()
    page.keyboard.type(word)
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"search\.html"))
    page.wait_for_function("""name => [...document.querySelectorAll("#search-results li a")]
        .some(one => one.href.includes(name))""", arg=page_found)
    # Without a server a browser reads no excerpts; with one they stand below what was found.
    unread = re.compile("Access to fetch|ERR_FAILED|Failed to fetch")
    reader.errors[:] = [said for said in reader.errors if not unread.search(said)]
