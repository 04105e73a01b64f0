"""How the site is built: `make docs`."""

import sys
from pathlib import Path

import psidag

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "psidag"
author = "The psidag developers"
copyright = f"2026, {author}"  # noqa: A001 (Sphinx calls it so)
version = release = psidag.__version__

extensions = [
    "api_pages",
    "command_line",
    "mathml",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "docstrings",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "gallery", "README.md", "reproduction/index.html"]
templates_path = ["_templates"]

# Markdown
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 4

# Docstrings
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Examples
sphinx_gallery_conf = {
    "examples_dirs": ["gallery"],
    "gallery_dirs": ["examples"],
    "filename_pattern": r"/plot_",
    "within_subsection_order": "gallery_style.Place",
    "reset_modules": ("matplotlib", "gallery_style.reset"),
    "abort_on_example_error": True,
    "capture_repr": ("_repr_html_", "__str__"),
    "doc_module": ("psidag",),
    "backreferences_dir": "reference/used-in",
    "reference_url": {"psidag": None},
    "inspect_global_variables": True,
    "show_memory": False,
    "write_computation_times": False,
    "remove_config_comments": True,
}

# The look
html_theme = "pydata_sphinx_theme"
html_title = "psidag"
html_static_path = ["_static"]
html_css_files = ["psidag.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "ψ psidag"},
    "header_links_before_dropdown": 5,
    "navigation_depth": 3,
    "show_toc_level": 2,
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
# Pages without others below them have nothing to show there.
html_sidebars = {page: [] for page in ("index", "getting-started", "compared", "faq", "glossary", "cite")}
html_math_renderer = "mathml"
