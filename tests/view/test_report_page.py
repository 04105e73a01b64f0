"""The report in a real browser: found, clicked, slid, sorted, walked by keys; no error, nothing from the network."""

import json
import os
import shutil

import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from psidag import learn_dag
from psidag.view import columns, write_report
from support import solutions

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--no-first-run",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--window-size=1280,900",
    "--force-prefers-reduced-motion",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
]


def start(folder, *flags):
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    chromedriver = shutil.which("chromedriver")
    if not (chromium and chromedriver):
        reason = "there is no Chromium with ChromeDriver here: `make browser` installs them"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, *flags, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver))


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    driver = start(tmp_path_factory.mktemp("browser"))
    yield driver
    driver.quit()


class Page:
    """A report in the browser."""

    def __init__(self, driver, path, solution):
        self.driver, self.path, self.solution = driver, path, solution
        self.url = path.as_uri()
        driver.get(self.url)
        self.wait(lambda _: self.js("return window.psidag?.ready"))

    def js(self, code, *arguments):
        return self.driver.execute_script(code, *arguments)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def texts(self, selector):
        return self.js("return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector)

    def wait(self, condition):
        return WebDriverWait(self.driver, 120, 0.05).until(condition)

    def still(self):
        """Wait until what is under way has been drawn: counted in frames, for a busy machine draws few a second."""
        self.driver.execute_async_script(
            "const [done] = arguments; let left = 8;"
            "const next = () => (left-- ? requestAnimationFrame(next) : done()); next()"
        )

    def search(self, name):
        box = self.find("#search")
        box.clear()
        box.send_keys(name)
        self.wait(lambda _: self.texts("#suggestions .name"))
        box.send_keys(Keys.ENTER)
        self.wait(lambda _: self.js("return psidag.chosen") == name)

    def click_on(self, name):
        """Click where the variable is drawn."""
        self.js("document.getElementById('drawing').scrollIntoView({ block: 'center', behavior: 'instant' })")
        self.still()
        at = self.js("return psidag.screen(arguments[0])", name)
        chain = ActionChains(self.driver)
        chain.w3c_actions.pointer_action.move_to_location(round(at["x"]), round(at["y"])).click()
        chain.perform()
        self.wait(lambda _: self.js("return psidag.chosen") == name)

    def rows(self, table="edge"):
        return self.js(
            "return [...document.querySelectorAll(arguments[0])].map((r) => [...r.cells].map((c) => c.textContent))",
            f"#{table}-table tbody tr:not(.space)",
        )


def parents(solution, name):
    return set(solution.dag.parents(name))


def most_caused(solution):
    return solution.names[int(np.argmax(np.bincount(solution.dag.weights.indices, minlength=solution.dag.d)))]


@pytest.fixture(scope="module", params=[11, 200, pytest.param(10_000, marks=pytest.mark.slow)])
def written(request, tmp_path_factory):
    solution, rows = solutions.sachs() if request.param == 11 else solutions.simulated(request.param)
    path = tmp_path_factory.mktemp("report") / f"{request.param}.html"
    write_report(solution, path, data=rows if request.param <= 200 else None)
    return path, solution


@pytest.fixture(scope="module")
def opened(browser, written):
    """The page, opened once; when all is done, it must have asked for nothing and complained of nothing."""
    for kind in ("browser", "performance"):
        browser.get_log(kind)
    opened = Page(browser, *written)
    yield opened
    assert browser.get_log("browser") == []
    sent = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [entry["params"] for entry in sent if entry["method"] == "Network.requestWillBeSent"]
    assert [entry["request"]["url"] for entry in asked if entry["documentURL"] == opened.url] == [opened.url]


@pytest.fixture
def page(opened):
    opened.driver.execute_script(
        """
        for (const [id, value] of [["slider", 0], ["edge-filter", ""], ["search", ""]]) {
          document.getElementById(id).value = value;
          document.getElementById(id).dispatchEvent(new Event("input"));
        }
        window.scrollTo(0, 0);
        """
    )
    return opened


def test_it_opens_with_a_picture_that_can_be_read(page, record_property):
    ready = page.js("return psidag.ready")
    record_property("ready_ms", ready)
    assert page.path.stat().st_size < 15e6
    # A generous bound: the machine may be busy, and draws without a graphics card.
    assert ready < 60_000
    assert page.texts("#lead .first")[0].startswith(f"{page.solution.dag.n_edges:,} edges among")
    drawn = page.js("return psidag.edges")
    assert 0 < drawn <= 500
    assert f"{page.solution.dag.n_edges:,} edges" in page.texts("#shown")[0]


def test_search_finds_and_a_click_shows_the_parents(page):
    name = most_caused(page.solution)
    page.search(name)
    assert page.texts("#details h3") == [name]
    cause = max(parents(page.solution, name), key=lambda cause: len(page.solution.dag.children(cause)))
    page.click_on(cause)
    page.click_on(name)
    assert set(page.texts("#details .cause .link")) == parents(page.solution, name)
    assert set(page.texts("#details .effect .link")) == set(page.solution.dag.children(name))
    assert page.texts(".equation")[0].startswith(f"{name} = ")
    page.find("#drawing").send_keys(Keys.ESCAPE)
    assert page.js("return psidag.chosen") is None


def test_the_slider_changes_how_many_edges_are_shown(page):
    before = page.js("return psidag.edges")
    slider = page.find("#slider")
    for _ in range(6):
        slider.send_keys(Keys.PAGE_UP)
    after = page.js("return psidag.edges")
    assert 0 < after < before
    assert f"{after:,} of" in page.texts("#shown")[0]
    slider.send_keys(Keys.HOME)
    assert page.js("return psidag.edges") == before


def test_the_table_sorts_and_searches(page):
    ends = [[source, target] for source, target, *_ in page.solution.edges()[:5]]
    assert [row[:2] for row in page.rows()[:5]] == ends
    page.find("#edge-table th:nth-child(1) button").click()
    first = page.rows()[0][0]
    assert page.find("#edge-table th:nth-child(1)").get_attribute("aria-sort") == "ascending"
    page.find("#edge-table th:nth-child(1) button").click()
    last = page.rows()[0][0]
    causes = page.js(
        "return arguments[0].sort(new Intl.Collator('en', { numeric: true }).compare)",
        sorted({source for source, _, _ in page.solution.dag.edges()}),
    )
    assert [first, last] == [causes[0], causes[-1]]
    name = most_caused(page.solution)
    page.find("#edge-filter").send_keys(name)
    matching = [edge for edge in page.solution.dag.edges() if any(name.lower() in end.lower() for end in edge[:2])]
    assert page.texts("#edge-table .found")[0].startswith(f"{len(matching):,} of")
    assert len(page.rows()) <= len(matching)


def test_the_keyboard_is_enough(page):
    assert page.texts("body > a:first-of-type") == ["Skip to the summary"]
    page.find("#edge-table th:nth-last-child(1) button").send_keys(Keys.ENTER)
    if page.find("#edge-table th:nth-last-child(1)").get_attribute("aria-sort") == "ascending":
        page.find("#edge-table th:nth-last-child(1) button").send_keys(Keys.ENTER)
    frame = page.find("#edge-table .frame")
    frame.send_keys(Keys.END)
    last = str(page.solution.dag.n_edges + 1)
    page.wait(lambda _: page.js("return document.querySelector('#edge-active').ariaRowIndex") == last)
    weakest = page.solution.edges()[-1]
    assert page.rows()[-1][:2] == [weakest.source, weakest.target]
    frame.send_keys(Keys.ENTER)
    assert page.js("return psidag.chosen") == f"{weakest.source} → {weakest.target}"
    page.find("#details .actions button:nth-child(2)").send_keys(Keys.ENTER)
    assert page.js("return psidag.chosen") == weakest.target
    cause = page.find("#details .cause button")
    cause.send_keys(Keys.ENTER)
    assert page.js("return psidag.chosen") in parents(page.solution, weakest.target)
    page.find("#search").send_keys(weakest.target[:2], Keys.ARROW_DOWN, Keys.ARROW_UP, Keys.ENTER)
    assert page.js("return psidag.chosen").lower().find(weakest.target[:2].lower()) >= 0


def test_the_theme_turns(page):
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = page.js(ground)
    page.find("#theme").click()
    assert page.js(ground) != light


def test_a_phone_shows_it_without_scrolling_sideways(page):
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        page.still()
        assert page.js("return document.documentElement.scrollWidth") <= 390
        assert page.js("return document.querySelector('#drawing').clientWidth") > 300
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_support_has_a_slider_of_its_own(browser, tmp_path, monkeypatch):
    solution, _ = solutions.sachs()
    support = np.linspace(0.3, 1.0, solution.dag.n_edges)
    monkeypatch.setattr(columns, "support", lambda _: columns.Support(support, support, 1 - support))
    write_report(solution, tmp_path / "page.html")
    page = Page(browser, tmp_path / "page.html", solution)
    page.find("#measure").send_keys("support")
    page.js("const s = document.getElementById('slider'); s.value = 90; s.dispatchEvent(new Event('input'))")
    assert page.js("return psidag.edges") == int((support >= 0.9).sum())
    assert page.texts("#threshold") == ["≥ 90 %"]
    assert "Support" in page.texts("#edge-table th")


def test_names_that_are_markup_stay_text(browser, tmp_path):
    name = '<img src=x onerror="window.broken = 1"></script><b>'
    solution = solutions.given([(name, "b", 1.0), ("b", "{{data}}", -2.0)])
    write_report(solution, tmp_path / "page.html", title="<b onclick=alert(1)>")
    browser.get_log("browser")
    page = Page(browser, tmp_path / "page.html", solution)
    page.find("#search").send_keys("<img", Keys.ENTER)
    assert page.texts("#details h3") == [name]
    assert page.texts("h1") == ["<b onclick=alert(1)>"]
    assert page.js("return [window.broken, document.images.length]") == [None, 0]
    assert browser.get_log("browser") == []


def test_without_webgl_the_rest_still_works(tmp_path_factory):
    solution, _ = solutions.sachs()
    path = tmp_path_factory.mktemp("report") / "page.html"
    write_report(solution, path)
    driver = start(
        tmp_path_factory.mktemp("browser"), "--disable-gpu", "--disable-3d-apis", "--disable-software-rasterizer"
    )
    try:
        page = Page(driver, path, solution)
        assert "WebGL" in page.texts("#fallback")[0]
        page.search("PKA")
        assert set(page.texts("#details .cause .link")) == parents(solution, "PKA")
        assert len(page.rows()) == solution.dag.n_edges
    finally:
        driver.quit()


@pytest.fixture(scope="module")
def partly(tmp_path_factory):
    """A chain whose direction is open, and a collider."""
    rng = np.random.default_rng(0)
    a, d, e, f = rng.normal(size=(4, 10_000)) * [[1], [3], [2], [1]]
    b = a + e
    table = np.c_[a, b, b + d + f, d]
    solution = learn_dag(table, noise="unequal", names=["a", "b", "c", "d"], random_state=0)
    path = tmp_path_factory.mktemp("report") / "partly.html"
    write_report(solution, path, data=table)
    return path, solution


def test_an_edge_says_why_it_points_as_it_does(browser, partly):
    page = Page(browser, *partly)
    ends = {frozenset(row[:2]): row for row in page.rows()}
    assert ends[frozenset("ab")][2] == "open"
    assert ends[frozenset("ab")][3].endswith("?")
    assert ends[frozenset("cd")][2] == "collider"
    page.js("document.querySelector('#edge-table .frame').focus()")
    number = [frozenset(row[:2]) for row in page.rows()].index(frozenset("cd"))
    page.js("document.querySelectorAll('#edge-table tbody tr:not(.space)')[arguments[0]].click()", number)
    assert page.js("return psidag.chosen") == "d → c"
    assert "Why this way?" in page.texts("#details h4")
    assert "meet here" in page.texts("#details .why")[0]
    number = [frozenset(row[:2]) for row in page.rows()].index(frozenset("ab"))
    page.js("document.querySelectorAll('#edge-table tbody tr:not(.space)')[arguments[0]].click()", number)
    assert " — " in page.js("return psidag.chosen")
    assert "Why no direction?" in page.texts("#details h4")


def test_an_edge_can_be_clicked_in_the_picture(browser, partly):
    page = Page(browser, *partly)
    page.js("document.getElementById('drawing').scrollIntoView({ block: 'center', behavior: 'instant' })")
    page.still()
    at = page.js("return psidag.edgeScreen(0)")
    chain = ActionChains(page.driver)
    pointer = chain.w3c_actions.pointer_action
    pointer.move_to_location(round(at["x"]) - 3, round(at["y"]))
    pointer.move_to_location(round(at["x"]), round(at["y"]))
    chain.perform()
    page.wait(lambda _: page.js("return !document.getElementById('hover').hidden"))
    assert "weight" in page.texts("#hover")[0]
    chain = ActionChains(page.driver)
    chain.w3c_actions.pointer_action.click()
    chain.perform()
    page.wait(lambda _: page.texts("#details .why"))


def test_paper_and_files_get_the_picture_and_the_edges(browser, partly):
    page = Page(browser, *partly)
    page.js("window.dispatchEvent(new Event('beforeprint'))")
    assert page.js("return document.querySelectorAll('#paper path').length") == 3
    assert page.js("return document.querySelectorAll('#paper polygon').length") == 2
    page.js(
        "window.saved = []; const plain = URL.createObjectURL;"
        "URL.createObjectURL = (blob) => (blob.text().then((t) => saved.push([blob.type, t])), plain.call(URL, blob));"
        "for (const id of ['save-csv', 'save-svg', 'save-png']) document.getElementById(id).click()"
    )
    page.wait(lambda _: page.js("return saved.length") == 3)
    saved = dict(page.js("return saved"))
    lines = saved["text/csv"].splitlines()
    assert lines[0].startswith("source,target,directed,because,weight")
    assert sum(",false,open," in line for line in lines) == 1
    assert saved["image/svg+xml"].count("<polygon") == 2
    assert "image/png" in saved


def test_what_to_do_next_has_commands(browser, partly):
    page = Page(browser, *partly)
    commands = page.texts("#next code")
    assert any("--bootstrap" in command for command in commands)
    assert any("--knowledge" in command for command in commands)
