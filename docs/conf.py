"""The site's configuration: `make docs` builds it without a network, and a warning is an error.

Before Sphinx reads a page, the tutorials are copied from notebooks/, and the reference is written from docstrings,
magics and commands. Git ignores both.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from nbaccel import __version__  # noqa: E402
from tools import reference_pages, tutorial_pages  # noqa: E402

reference_pages.write(HERE / "reference" / "api")
tutorial_pages.write(HERE.parent / "notebooks", HERE / "tutorials")

project = "nbaccel"
author = copyright = "nbaccel contributors"
version = release = __version__

extensions = ["myst_nb"]
exclude_patterns = ["_build"]
suppress_warnings = ["ref.python"]  # an annotation such as Result names a class of training and one of tuning
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "off"
nb_mime_priority_overrides = [("html", "application/vnd.jupyter.widget-view+json", None)]  # no script from a network
html_theme = "pydata_sphinx_theme"
html_title = f"nbaccel {__version__}"
html_show_sphinx = False
html_show_sourcelink = False
html_copy_source = False
html_css_files = ["site.css"]
html_static_path = ["_static"]
html_context = {"default_mode": "auto"}
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "navigation_with_keys": False,
}


def setup(app):
    app.connect(
        "source-read", lambda app, name, text: text.__setitem__(0, tutorial_pages.with_links_of_the_site(text[0]))
    )
