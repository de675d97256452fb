// Opened as a file, a page may not read others: search then lists titles without a line of text below each.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
