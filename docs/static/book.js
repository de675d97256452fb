// Opened as a file, a page may not read others: search then lists titles without a line of text below each.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

document.addEventListener("DOMContentLoaded", () => {
    // A paragraph in italics below a cell is the caption of its outputs.
    for (const paragraph of document.querySelectorAll("div.cell + p")) {
        const first = paragraph.firstChild;
        if (first?.nodeName === "EM" && first.textContent.length > 40) paragraph.classList.add("caption-of-cell");
    }
    // A film of a widget stands still until it is played. The one of the first page moves, unless the reader has asked
    // the system for less motion.
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    for (const film of document.querySelectorAll(".film img, .moving img")) {
        film.closest(".moving")?.classList.add("film");
        const stage = document.createElement("div"), still = document.createElement("canvas");
        const button = document.createElement("button");
        stage.className = "stage";
        still.setAttribute("role", "img");
        still.setAttribute("aria-label", film.alt);
        film.replaceWith(stage);
        stage.append(film, still, button);
        const play = isPlaying => {
            [film.hidden, still.hidden] = [!isPlaying, isPlaying];
            button.textContent = isPlaying ? "❚❚ Pause" : "▶ Play";
        };
        button.addEventListener("click", () => play(film.hidden));
        const begin = () => {
            [still.width, still.height] = [film.naturalWidth, film.naturalHeight];
            still.getContext("2d").drawImage(film, 0, 0);
            play(Boolean(film.closest(".moving")) && !isCalm);
        };
        still.hidden = true;
        if (film.complete) begin();
        else film.addEventListener("load", begin, { once: true });
    }
});
