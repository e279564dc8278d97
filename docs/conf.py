"""The site: MyST pages, a numpydoc reference and a gallery, in the pydata theme. `make docs`; `make site` runs the gallery."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

project = "badac"
author = "The badac developers"
project_copyright = author
# The version has one place; read, not imported, so that a page can be built before the core is compiled.
version = release = re.search(r'__version__ = "(.+)"', (ROOT / "src/badac/__init__.py").read_text("utf-8"))[1]

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["gallery/**/*.ipynb", "gallery/**/*.zip"]
templates_path = ["_templates"]
default_role = (
    "py:obj"  # `badac.noise.Gaussian` in a docstring is a link where there is such a page, else code
)
suppress_warnings = ["config.cache"]

# Pages
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

# Reference: what docstrings say, a page a name. The list is docs/reference.md, which a test holds against `__all__`.
autosummary_generate = True
autosummary_imported_members = True
autodoc_typehints = "none"  # numpydoc says the types, with their shapes
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
toc_object_entries_show_parents = (
    "hide"  # `fit` beside the page of a class, where its whole name would be cut off
)
numpydoc_show_class_members = False
numpydoc_xref_param_type = False


class InTheOrderOfAReader:
    """What one has, then noise, classes, what is strange, and large jobs; a script that is not named here comes last."""

    ORDER = (
        *(
            "colours_with_errors",
            "light_curves_of_a_survey",
            "spectra_with_ivar",
            "counts_with_exposure",
            "missing_points",
        ),
        *("correlated_noise", "learned_noise", "own_noise_model", "calibration_nuisance"),
        *("class_models_compared", "class_from_a_formula", "subclasses", "beside_a_random_forest"),
        *("list_of_discoveries", "triage", "stream", "dask_survey"),
    )

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, name: str) -> tuple[int, str]:
        stem = name.removeprefix("plot_").removesuffix(".py")
        return (self.ORDER.index(stem) if stem in self.ORDER else len(self.ORDER), name)


# Gallery: scripts that make their own small data. Not run unless `make site` says so (-D plot_gallery=1).
plot_gallery = "False"
sphinx_gallery_conf = {
    "examples_dirs": ["../examples/gallery"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"plot_.*\.py",
    "download_all_examples": False,
    "remove_config_comments": True,
    "within_subsection_order": InTheOrderOfAReader,
    "copyfile_regex": r".*\.rst",
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib",),
    "abort_on_example_error": True,
    "show_memory": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "doc_module": ("badac",),
    "show_signature": False,
    "backreferences_dir": "gallery/backreferences",
}

# Look
html_theme = "pydata_sphinx_theme"
html_title = "badac: objects with error bars"
html_static_path = ["_static"]
html_css_files = ["badac.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "badac"},
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "collapse_navigation": True,
    "navigation_depth": 2,
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": [],
}
# The tree of two hundred names would be drawn anew on every page of the reference: its pages have the way back instead.
html_sidebars = {"index": [], "reference": [], "reference/**": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def setup(app: Any) -> None:
    """Remove pages that an earlier build wrote of examples and names that are no more: nobody would list them."""
    listed = set(re.findall(r"^   (\w+)$", (ROOT / "docs/reference.md").read_text("utf-8"), re.MULTILINE))
    for page in (ROOT / "docs/reference").glob("*.rst"):
        if page.stem.rpartition(".")[2] not in listed:
            page.unlink()
    for page in (ROOT / "docs/gallery").glob("plot_*.rst"):
        if not (ROOT / "examples/gallery" / f"{page.stem}.py").exists():
            page.unlink()
