"""The built site: every public name has its page, every example ran, and no link inside it leads nowhere."""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs" / "_build" / "html"
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

pytestmark = pytest.mark.site


class Page(HTMLParser):
    """The anchors of a page, and where its links lead."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.sources = set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors |= {given[key] for key in ("id", "name") if given.get(key)}
        self.links += [given[key] for key in ("href", "src") if given.get(key)]
        if tag in ("script", "img", "link"):
            self.sources += [given[key] for key in ("href", "src") if given.get(key)]


@pytest.fixture(scope="module")
def pages():
    assert (SITE / "index.html").exists(), "`make docs` builds the site"
    return {path: Page(path) for path in SITE.rglob("*.html") if "_static" not in path.parts}


def test_links(pages):
    dead = []
    for path, page in pages.items():
        for link in page.links:
            to = urlsplit(link)
            if to.scheme or to.netloc:
                continue
            target = (path.parent / unquote(to.path)).resolve() if to.path else path
            if target.is_dir():
                target /= "index.html"
            lost = not target.exists()
            if not lost and to.fragment and target in pages:
                lost = unquote(to.fragment) not in pages[target].anchors
            if lost:
                dead.append(f"{path.relative_to(SITE)}: {link}")
    assert not dead


def test_a_page_for_every_public_name(pages):
    from api_pages import public_names

    described = {anchor: path for path, page in pages.items() for anchor in page.anchors}
    missing = []
    for module, names in public_names().items():
        for name in names:
            path = described.get(f"{module}.{name}") or described.get(f"psidag.graph.metrics.{name}")
            if path is None or path.parent != SITE / "reference" / "api":
                missing.append(f"{module}.{name}")
    assert not missing


def test_every_command_and_every_option_is_in_the_reference(pages):
    import typer.main

    from psidag.cli.commands import app

    page = SITE / "reference" / "command-line.html"
    words = set(re.findall(r"--[a-z-]+", re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8"))))
    commands = typer.main.get_command(app).commands
    assert {"fit", "info", "report"} <= set(commands)
    for name, command in commands.items():
        assert f"psidag-{name}" in pages[page].anchors
        shown = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
        options = {option for parameter in shown for option in parameter.opts if option.startswith("--")}
        assert options - words <= {"--help"}


def examples():
    return sorted((ROOT / "docs" / "gallery").rglob("plot_*.py"))


def test_there_are_examples_enough():
    assert len(examples()) >= 15


@pytest.mark.parametrize("source", examples(), ids=lambda source: source.stem)
def test_an_example_ran_and_has_a_picture(source):
    text = (SITE / "examples" / source.with_suffix(".html").name).read_text(encoding="utf-8")
    assert "Total running time" in text
    assert f"sphx_glr_{source.stem}_001.png" in text
    assert "Traceback" not in text


def guide():
    return sorted(page.stem for page in (ROOT / "docs" / "guide").glob("*.md") if page.stem != "index")


@pytest.mark.parametrize("page", guide())
def test_a_guide_page_has_a_picture_and_is_no_wall_of_text(pages, page):
    path = SITE / "guide" / f"{page}.html"
    assert any(link.endswith((".png", ".svg")) for link in pages[path].links)
    source = (ROOT / "docs" / "guide" / f"{page}.md").read_text(encoding="utf-8")
    prose = [part for part in source.split("\n\n") if not part.startswith(("```", "|", ":::", "#", "- "))]
    assert max(len(part.split()) for part in prose) <= 130


def test_the_site_asks_the_network_for_nothing(pages):
    """Scripts, styles and pictures come from the site itself, so that it opens from a disk."""
    outside = [
        f"{path.relative_to(SITE)}: {link}"
        for path, page in pages.items()
        for link in page.sources
        if urlsplit(link).scheme not in ("", "data")
    ]
    assert not outside
