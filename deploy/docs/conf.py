# SPDX-License-Identifier: MIT
"""conf.py - the documentation site (make site): Sphinx with MyST and furo.

The sources are a copy of the tree's documents and of the files that they link to, so that links between pages are the same
in the repository and on the site."""

project = "Sherwood"
project_copyright = "the Sherwood authors, MIT licence"
root_doc = "deploy/docs/index"
extensions = ["myst_parser", "sphinx_copybutton", "sphinx_llms_txt"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "Sherwood"
html_static_path = ["static"]
html_css_files = ["site.css"]
copybutton_prompt_text = r"\$ |>>> "
copybutton_prompt_is_regexp = True
nitpicky = True
llms_txt_title = "Sherwood"
llms_txt_summary = "A key-value server for arrays of keys, in GPU memory or host memory: RESP and bulk frames on one port."
# Pages of the repository begin with other headings than the first level, and show code of no language that Pygments knows.
suppress_warnings = ["myst.header", "misc.highlighting_failure"]
