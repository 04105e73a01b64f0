"""What a newcomer meets: the front page, the help of make, the metadata and the workflows hold together."""

import importlib.util
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

import psidag

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_readme_is_a_front_page():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 120
    assert any(line.startswith("![") for line in lines)


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/reproduction/README.md"])
def test_links_into_the_repository_lead_somewhere(page):
    found = re.findall(r"\]\(([^)#\s]+)", (ROOT / page).read_text(encoding="utf-8"))
    inside = [link for link in found if ":" not in link]
    assert [link for link in inside if not ((ROOT / page).parent / link).exists()] == []


def test_metadata_point_at_the_documentation():
    assert (ROOT / PROJECT["urls"]["Documentation"]).exists()
    assert (ROOT / PROJECT["urls"]["Changelog"]).exists()


def test_versions_agree():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == PROJECT["version"] == psidag.__version__


@pytest.mark.parametrize("file", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda file: file.stem)
def test_workflows_and_templates_are_sound(file):
    read = yaml.safe_load(file.read_text(encoding="utf-8"))
    if file.parent.name == "workflows":
        # `on` is a word for true in YAML.
        assert {"name", True, "jobs"} <= set(read)
        targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
        used = re.findall(r"run: make ([a-z-]+)", file.read_text(encoding="utf-8"))
        assert set(used) <= targets
    elif file.stem != "config":
        assert {"name", "description", "body"} <= set(read)


def test_the_oldest_versions_are_those_that_the_metadata_promise():
    spec = importlib.util.spec_from_file_location("oldest", ROOT / ".github" / "oldest.py")
    oldest = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(oldest)
    found = dict(line.split("==") for line in oldest.constraints(PROJECT))
    assert {"numpy", "scipy", "scikit-learn", "pandas", "dask", "pyarrow"} <= set(found)
    assert f"numpy>={found['numpy'].removesuffix('.*')}" in PROJECT["dependencies"]


def test_the_help_of_make_is_short():
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lines = shown.splitlines()
    assert len(lines) <= 20
    assert all(len(line) <= 110 for line in lines)
    assert any(line.startswith("docs") for line in lines)
