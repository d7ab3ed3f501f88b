# SPDX-License-Identifier: MIT
"""conf.py - the documentation site (make site): Sphinx with MyST and furo, of PyPI or of Debian 12 (the tag debian).

The sources are a copy of the tree's documents and of the files that they link to (deploy/docs/shipped), so that links between
pages are the same in the repository and on the site."""

IS_DEBIAN = tags.has("debian")  # noqa: F821  Sphinx defines tags
project = "Sherwood"
project_copyright = "the Sherwood authors, MIT licence"
root_doc = "deploy/docs/index"
# Debian's package of the site needs no buttons, and ships the sources in a folder of their own.
extensions = ["myst_parser"] if IS_DEBIAN else ["myst_parser", "sphinx_copybutton"]
html_copy_source = not IS_DEBIAN
myst_heading_anchors = 3
html_theme = "furo"
html_title = "Sherwood"
html_static_path = ["static"]
html_css_files = ["site.css"]
copybutton_prompt_text = r"\$ |>>> "
copybutton_prompt_is_regexp = True
smartquotes = False
nitpicky = True
# Pages of the repository begin with other headings than the first level, and show code of no language that Pygments knows.
suppress_warnings = ["myst.header", "misc.highlighting_failure"]
