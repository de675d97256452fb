"""Tests of the book in a browser: from disk, on a phone and a desktop, in light and dark mode."""

import re

import pytest
from waiting import PATIENCE

pytestmark = pytest.mark.slow

PAGES = [
    "docs/index",
    "notebooks/00_start_here",
    "notebooks/04_value",
    "notebooks/README",
    "docs/environments/push-v0",
    "docs/api/metrics.push",
]
SIZES = {"phone": (390, 844), "laptop": (1280, 800), "desk": (1920, 1080)}

# Faults of the open page, {fault: [elements]}. Text may overflow boxes that scroll, but not
# boxes that hide it.
FAULTS = r"""() => {
    const all = [...document.querySelectorAll("main :is(.bd-article-container, .bd-header-article) *")]
        .filter(element => element.checkVisibility());
    const clips = (element, ways) => ways.test(getComputedStyle(element).overflowX);
    const inside = ({ parentElement: element }, ways) => element && (clips(element, ways) || inside(element, ways));
    const texts = found => found.map(element => element.outerHTML.slice(0, 100)).slice(0, 5);
    const root = document.documentElement, words = document.querySelector("main").innerText;
    const pictures = [...document.querySelectorAll("main img")];
    return {
        "scrolls sideways": root.scrollWidth > root.clientWidth ? [`${root.scrollWidth} > ${root.clientWidth}`] : [],
        "leaves the window": texts(all.filter(element => element.getBoundingClientRect().right > innerWidth + 1
            && !inside(element, /auto|scroll|hidden|clip/))),
        "is cut": texts(all.filter(element => clips(element, /hidden|clip/)
            && element.scrollWidth > element.clientWidth + 2
            && element.clientWidth > 4 && element.innerText?.trim())),
        "did not load": texts(pictures.filter(element => !element.naturalWidth)),
        "has no alternative text": texts(pictures.filter(element => !element.alt.trim())),
        "code of 88 characters does not fit": innerWidth < 1280 ? [] : texts(
            [...document.querySelectorAll("div.cell_input pre")].filter(element => {
                const line = document.createElement("span");
                line.textContent = "m".repeat(88);
                element.append(line);
                const style = getComputedStyle(element), width = line.getBoundingClientRect().width;
                line.remove();
                return width > element.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
            })),
        "formulas that are not typeset": [...words.matchAll(/\$[^$\n]*\\[a-z]+[^$\n]*\$|\\[(\[]|\\frac|\\mathbb/g)].map(
            element => element[0]),
        "formulas without a size": texts([...document.querySelectorAll("math")].filter(
            element => element.checkVisibility() && element.getBoundingClientRect().width < 2)),
    };
}"""

# [contrast, text] of one or two elements of each kind; 1 is invisible, 21 is black on white.
CONTRASTS = r"""() => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const rgba = colour => {
        canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
        return [r, g, b, a / 255];
    };
    const over = (top, below) => [0, 1, 2].map(at => top[at] * top[3] + below[at] * (1 - top[3])).concat(1);
    const background = element => {
        if (!element) return [255, 255, 255, 1];
        return over(rgba(getComputedStyle(element).backgroundColor), background(element.parentElement));
    };
    const luminance = colour => {
        const linear = value => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
        const [r, g, b] = colour.map(value => linear(value / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const kinds = ["p", "li", "h1", "h2", "td", "th", "a:not(.headerlink, svg a)", "code", "pre", "pre span", "summary",
                   ".caption-of-cell", ".film figcaption", ".film a", ".film button", "a.start", "math",
                   "svg.map text"];
    const found = kinds.flatMap(kind => [...document.querySelectorAll(`main article :is(${kind})`)]
        .filter(element => element.checkVisibility() && element.textContent.trim())
        .slice(0, kind === "pre span" ? 60 : 2));
    return found.map(element => {
        const style = getComputedStyle(element), drawn = element instanceof SVGElement ? style.fill : style.color;
        // Boxes of the map are not parents of their text.
        const below = element instanceof SVGElement && element.closest("g")?.querySelector("rect:not(.touch)");
        const behind = below ? over(rgba(getComputedStyle(below).fill), background(element)) : background(element);
        const [lighter, darker] = [luminance(over(rgba(drawn), behind)), luminance(behind)].sort((a, b) => b - a);
        return [(lighter + 0.05) / (darker + 0.05), `${element.tagName} ${element.textContent.trim().slice(0, 40)}`];
    });
}"""


class Reader:
    """A browser page with the book, its console errors, and its requests outside the book."""

    def __init__(self, browser, book):
        self.page = browser.new_context().new_page()
        self.book = book
        self.errors = []
        self.outside = []
        self.page.set_default_timeout(1000 * PATIENCE)
        self.page.on("console", self.note_message)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", self.note_request)

    def note_message(self, message):
        # Without a server a browser cannot read the excerpts of search results.
        expected = re.search("Access to fetch|ERR_FAILED|Failed to fetch", message.text)
        if message.type == "error" and not expected:
            self.errors.append(message.text)

    def note_request(self, request):
        if not request.url.startswith((self.book.as_uri(), "data:", "blob:")):
            self.outside.append(request.url)

    def open(self, name, size="desk"):
        """Open a page by its name and wait for its pictures."""
        width, height = SIZES[size]
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.goto(f"{self.book.as_uri()}/{name}.html")
        self.page.evaluate("""() => {
            const pictures = [...document.images];
            pictures.forEach(picture => picture.loading = "eager");
            return Promise.all(pictures.map(picture => picture.decode().catch(() => null)));
        }""")
        return self.page

    def choose(self, mode):
        """Choose the light or dark mode with the theme's button."""
        for _ in range(6):
            if self.page.evaluate("document.documentElement.dataset.theme") == mode:
                return
            self.page.locator("button.theme-switch-button:visible").first.click()
            choices = f"button.theme-change-button[data-mode={mode}]:visible"
            if self.page.locator(choices).count():
                self.page.locator(choices).first.click()
        raise AssertionError(f"no button chooses {mode}")


@pytest.fixture
def reader(browser, built_book):
    reader = Reader(browser, built_book)
    yield reader
    reader.page.context.close()
    assert (reader.errors, reader.outside) == ([], [])


@pytest.mark.parametrize("name", PAGES)
def test_pages_fit_the_window_and_show_text_pictures_and_formulas(reader, name):
    for size in SIZES:
        page = reader.open(name, size)
        issues = page.evaluate(FAULTS)
        found = {issue: elements for issue, elements in issues.items() if elements}
        assert found == {}, size
        assert page.locator("article h1").is_visible()


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_text_is_legible_in_light_and_dark_mode(reader, mode):
    for name in PAGES:
        page = reader.open(name)
        reader.choose(mode)
        contrasts = page.evaluate(CONTRASTS)
        assert len(contrasts) > 10
        assert [entry for entry in contrasts if entry[0] < 4.5] == [], name


def test_a_film_plays_and_stands_still(reader):
    film = reader.open("notebooks/00_start_here").locator(".film").first
    film.get_by_role("button", name="Play").click()
    assert film.locator("img").is_visible()
    film.get_by_role("button", name="Pause").click()
    assert film.locator("canvas").is_visible()


@pytest.mark.parametrize(
    "words, first",
    [
        ("maintenance", "11_lifelong_metrics"),
        ("Q-learning", "04_value"),
        ("Thompson sampling", "03_challenge_2"),
        ("function approximation", "15_function"),
        ("off-policy", "04_value"),
        ("off-policy evaluation", "03_challenge_2"),
    ],
)
def test_search_finds_the_notebook_that_explains_it_first(reader, words, first):
    page = reader.open("docs/index")
    page.locator(".search-button__button:visible").first.click()
    page.keyboard.type(words)
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"search\.html"))
    link = page.locator("#search-results li a").first
    assert first in link.get_attribute("href")
