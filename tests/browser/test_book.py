"""The book in a browser: from the disk, on a phone and on a desk, in light and dark."""

import re

import pytest
from waiting import PATIENCE

pytestmark = pytest.mark.slow

PAGES = [
    "docs/index",
    "notebooks/04_value",
    "notebooks/README",
    "docs/environments/push-v0",
    "docs/api/metrics.push",
]
SIZES = {"phone": (390, 844), "desk": (1400, 900)}

# Faults of the open page, {fault: [elements]}. Words may end in a box that scrolls, not
# in one that hides them.
WRONG = r"""() => {
    const all = [...document.querySelectorAll("main :is(.bd-article-container, .bd-header-article) *")]
        .filter(one => one.checkVisibility());
    const clips = (one, ways) => ways.test(getComputedStyle(one).overflowX);
    const inside = ({ parentElement: one }, ways) => one && (clips(one, ways) || inside(one, ways));
    const texts = found => found.map(one => one.outerHTML.slice(0, 100)).slice(0, 5);
    const root = document.documentElement, words = document.querySelector("main").innerText;
    const pictures = [...document.querySelectorAll("main img")];
    return {
        "scrolls sideways": root.scrollWidth > root.clientWidth ? [`${root.scrollWidth} > ${root.clientWidth}`] : [],
        "leaves the window": texts(all.filter(one => one.getBoundingClientRect().right > innerWidth + 1
            && !inside(one, /auto|scroll|hidden|clip/))),
        "is cut": texts(all.filter(one => clips(one, /hidden|clip/) && one.scrollWidth > one.clientWidth + 2
            && one.clientWidth > 4 && one.innerText?.trim())),
        "did not load": texts(pictures.filter(one => !one.naturalWidth)),
        "has no alternative text": texts(pictures.filter(one => !one.alt.trim())),
        "formulas that are not typeset": [...words.matchAll(/\$[^$\n]*\\[a-z]+[^$\n]*\$|\\[(\[]|\\frac|\\mathbb/g)].map(
            one => one[0]),
        "formulas without a size": texts([...document.querySelectorAll("math")].filter(
            one => one.checkVisibility() && one.getBoundingClientRect().width < 2)),
    };
}"""

# [contrast, words] of one or two elements of each kind; 1 is invisible, 21 black on white.
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
    """A browser page with the book, its console errors, and its requests elsewhere."""

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
            pictures.forEach(one => one.loading = "eager");
            return Promise.all(pictures.map(one => one.decode().catch(() => null)));
        }""")
        return self.page

    def choose(self, mode):
        """Choose light or dark with the theme's button."""
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
def test_a_page_fits_the_window_with_words_pictures_and_formulas(reader, name):
    for size in SIZES:
        page = reader.open(name, size)
        wrong = {what: where for what, where in page.evaluate(WRONG).items() if where}
        assert wrong == {}, size
        assert page.locator("article h1").is_visible()


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_words_are_legible_in_light_and_dark(reader, mode):
    page = reader.open("notebooks/04_value")
    reader.choose(mode)
    contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) > 10
    assert [one for one in contrasts if one[0] < 4.5] == []


def test_a_solution_opens_by_a_click_and_code_is_copied(reader):
    page = reader.open("notebooks/04_value", "phone")
    solution = page.locator(
        "details", has=page.get_by_text("One solution, and why")
    ).first
    assert not solution.locator("pre").first.is_visible()
    solution.locator("summary").click()
    assert solution.locator("pre").first.is_visible()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    cell = page.locator("div.cell_input div.highlight").first
    cell.hover()
    cell.locator("button.copybtn").click()
    page.wait_for_function(
        "code => navigator.clipboard.readText().then(text => text.trim() === code.trim())",
        arg=cell.locator("pre").inner_text(),
    )


def test_search_finds_pages_without_a_server(reader):
    page = reader.open("docs/index")
    page.locator(".search-button__button:visible").first.click()
    page.keyboard.type("maintenance")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"search\.html"))
    page.locator("#search-results li a[href*='11_lifelong_metrics']").first.wait_for()
