"""Configure the book: notebooks, pages and the reference as one web site (`make book`).

The source directory is the root of the repository, so links between files also work between pages. Nothing is executed:
notebooks show their saved outputs.
"""

import os
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]  # extensions.NAME, and pushlab
# Compiling loops takes longer than the few steps of each world. Pictures need no window.
os.environ["NUMBA_DISABLE_JIT"] = "1"
os.environ["MPLBACKEND"] = "agg"
PYPROJECT = (HERE.parent / "pyproject.toml").read_text(encoding="utf-8")
PROJECT = tomllib.loads(PYPROJECT)["project"]

project = PROJECT["name"]
author = PROJECT["authors"][0]["name"]
project_copyright = "%Y " + author
version = release = PROJECT["version"]
language = "en"
repository = PROJECT["urls"]["Repository"]
html_baseurl = PROJECT["urls"]["Homepage"]

extensions = [
    "myst_nb",
    "sphinx_copybutton",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.githubpages",
    "sphinx.ext.linkcode",
    "sphinx.ext.napoleon",
    "sphinxcontrib.bibtex",
    "extensions.environments",
    "extensions.notebooks",
    "extensions.pages",
    "extensions.reference",
]
root_doc = "docs/index"
include_patterns = [
    "notebooks/*.ipynb",
    "notebooks/*.md",
    "docs/**.md",
    "docs/environments/*.rst",
    "data/*/README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
]
exclude_patterns = [".venv*", "build", "tests"]

autosummary_generate = False  # the page of each package is written by hand
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_inherit_docstrings = False  # a method is described once, where it is defined
autodoc_preserve_defaults = True
autodoc_use_type_comments = False
autodoc_typehints_format = "short"
smartquotes_action = "D"  # only dashes: quotes in docstrings are code
default_role = "py:obj"  # a name in backticks is code, and a link if it is documented
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_param = False  # arguments with one description stay together
napoleon_custom_sections = [
    "Observation",
    "Action",
    "Reward",
    "Dynamics",
    "State",
    "Start",
    "End",
    "Info",
    "Answers",
    "Methods",
    "Source",
    "Differences",
    # Otherwise Napoleon takes the text before a colon for a type.
    "Returns",
    "Yields",
]
bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "unsrt"
toc_object_entries_show_parents = "hide"
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True
nb_execution_mode = "off"
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
# The words of the glossary are headings of the third level.
suppress_warnings = ["myst.header"]

html_theme = "sphinx_book_theme"
html_title = f"pushlab {version}"
html_math_renderer = "mathml"
html_static_path = ["static"]
html_favicon = "static/logo.svg"
html_css_files = ["book.css", "reference.css"]
html_js_files = ["book.js"]
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system
html_extra_path = ["front"]  # index.html, which redirects to the front page
html_theme_options = {
    "logo": {
        "image_light": "static/logo.svg",
        "image_dark": "static/logo.svg",
        "text": html_title,
        "alt_text": "",  # the text beside it says the same
    },
    "navbar_persistent": [],  # the search is already in the left column
    "show_toc_level": 2,
    "collapse_navbar": True,  # full navigation on every page takes a quarter of the build
    "repository_url": repository,
    "repository_branch": "HEAD",
    "path_to_docs": "",
    "extra_footer": f'<a href="{repository}/blob/HEAD/LICENSE">MIT licence</a>: code, text and pictures; the users '
    "that ship with it are CC0.",
    "use_repository_button": True,
    "use_source_button": True,
    "use_issues_button": True,
    "use_download_button": True,
    "launch_buttons": {
        "binderhub_url": "https://mybinder.org",
        "notebook_interface": "jupyterlab",
    },
}
