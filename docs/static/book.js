// Opened as a file, a page may not read others: search then lists titles without a line of text below each.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

document.addEventListener("DOMContentLoaded", () => {
    // A paragraph in italics below a cell is the caption of its outputs.
    for (const paragraph of document.querySelectorAll("div.cell + p")) {
        const first = paragraph.firstChild;
        if (first?.nodeName === "EM" && first.textContent.length > 40) paragraph.classList.add("caption-of-cell");
    }
    // Readers who ask their system for less motion see the first picture of a moving one.
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    for (const film of document.querySelectorAll('img[src$=".gif"]')) {
        film.decode().then(() => {
            const still = document.createElement("canvas");
            [still.width, still.height] = [film.naturalWidth, film.naturalHeight];
            still.getContext("2d").drawImage(film, 0, 0);
            still.setAttribute("role", "img");
            still.setAttribute("aria-label", film.alt);
            film.replaceWith(still);
        });
    }
});
