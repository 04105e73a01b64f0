"""The API reference: every public name on a page of its own, listed by what it is for."""

import importlib
from pathlib import Path
from types import ModuleType

from sphinx.application import Sphinx
from sphinx.config import Config

import psidag

#: What the names of the package itself are for, in the order in which a reader meets them.
GROUPS = {
    "Learn": [
        "PsiDAG",
        "learn_dag",
        "fit_order",
        "fit_dag",
        "penalty_path",
        "compare",
        "check_interventions",
        "cluster",
    ],
    "Engines": ["Sparse", "Exact", "Stochastic", "Universal", "SGD", "project"],
    "What comes out": ["Solution", "DAG", "Confidence", "bootstrap", "PenaltyPath"],
    "What goes in": ["prepare", "lagged", "Constraints", "Interventions", "Moments"],
    "Errors and warnings": ["InputError", "DataWarning", "Interrupted", "BootstrapInterrupted"],
}
#: The other modules of the API, with what they hold.
MODULES = {
    "psidag.simulate": "Random problems with a known answer.",
    "psidag.datasets": "Data and networks that come with the package.",
    "psidag.exchange": "Graphs to other tools and back.",
    "psidag.baselines": "The methods of the field, with the interface of our engines.",
    "psidag.view": "The report and pictures.",
    "psidag.metrics": "How far a learned graph is from the true one.",
}


def public_names() -> dict[str, list[str]]:
    """The public names of each module of the API."""
    modules = {"psidag": psidag} | {name: _module(name) for name in MODULES}
    return {name: [n for n in module.__all__ if n not in ("exchange", "metrics")] for name, module in modules.items()}


def _module(name: str) -> ModuleType:
    # `psidag.metrics` is a name in the package, not a module of that name.
    held = getattr(psidag, name.split(".")[1], None)
    return importlib.import_module(name) if held is None else held


def _section(title: str, sentence: str, module: str, names: list[str]) -> str:
    lines = [title, "-" * len(title), "", sentence, "", f".. currentmodule:: {module}", "", ".. autosummary::"]
    return "\n".join([*lines, "   :toctree: api", "", *(f"   {name}" for name in names), ""])


def page() -> str:
    """The index of the reference."""
    names = public_names()
    grouped = [name for group in GROUPS.values() for name in group]
    rest = [name for name in names["psidag"] if name not in grouped]
    groups = GROUPS | ({"More": rest} if rest else {})
    parts = [_section(title, "", "psidag", [n for n in of if n in names["psidag"]]) for title, of in groups.items()]
    parts += [_section(module, text, _module(module).__name__, names[module]) for module, text in MODULES.items()]
    heading = "API reference\n=============\n\nWhat is named here is public; everything else may change.\n"
    return "\n".join([heading, *parts])


def write(app: Sphinx, config: Config) -> None:
    """The index, before Sphinx looks for sources."""
    target = Path(app.srcdir) / "reference" / "api.rst"
    text = page()
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the page before Sphinx looks for sources, or autosummary would not find it."""
    app.connect("config-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
