"""The built site: every public name has its page, every example ran, and no link inside it leads nowhere."""

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
        self.anchors, self.links = set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors |= {given[key] for key in ("id", "name") if given.get(key)}
        self.links += [given[key] for key in ("href", "src") if given.get(key)]


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

    described = set().union(*(page.anchors for page in pages.values()))
    missing = [
        f"{module}.{name}"
        for module, names in public_names().items()
        for name in names
        if not any(anchor.endswith(f".{name}") for anchor in described)
    ]
    assert not missing


def test_every_example_ran():
    sources = sorted((ROOT / "docs" / "gallery").rglob("plot_*.py"))
    assert len(sources) >= 15
    for source in sources:
        made = SITE / "examples" / source.relative_to(ROOT / "docs" / "gallery").with_suffix(".html")
        assert "Total running time" in made.read_text(encoding="utf-8"), source.name
