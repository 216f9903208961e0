"""The site in a real browser: no broken link, no error in the console, nothing wider than the screen."""

from __future__ import annotations

import functools
import http.server
import os
import subprocess
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from .conftest import too_wide, width_of

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.slow
PAGES = (
    "",
    "play/",
    "install/",
    "cli/",
    "evaluation/",
    "faq/",
    "changelog/",
    "concepts/",
    "glossary/",
    "random/",
    "agents/",
    "trained/",
    "speed/",
    "experts/",
    "paper/",
    "puzzles/tents/",
    "puzzles/mines/",
    "puzzles/loopy/",
    "start/gymnasium/",
    "start/rllib/",
    "start/alphazero/",
    "api/puzzleport.session/",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site, and the address of a server for it."""
    pytest.importorskip("material", reason="the site needs the extra docs")
    pytest.importorskip("mkdocstrings", reason="the site needs the extra docs")
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    subprocess.run(words, cwd=ROOT, check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


class Links(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.targets, self.names = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in {"href", "src"} and value:
                self.targets.add(value)
            if name in {"id", "name"} and value:
                self.names.add(value)


def test_the_site_builds_without_a_warning(site):
    """To build it is strict: a warning ends it."""
    folder, _ = site
    assert (folder / "puzzles" / "bridges" / "index.html").is_file()
    assert 'id="puzzleport.session.Session.step"' in (folder / "api" / "puzzleport.session" / "index.html").read_text()


def test_no_link_is_broken(site):
    folder, _ = site
    pages = {path: Links(path.read_text()) for path in folder.rglob("*.html") if path.name != "404.html"}
    broken = []
    for path, links in pages.items():
        base = f"http://site/{path.relative_to(folder).as_posix()}"
        for target in links.targets:
            address = urlsplit(urljoin(base, target))
            if address.netloc != "site" or address.scheme != "http":
                continue
            file = folder / unquote(address.path).lstrip("/")
            file = file / "index.html" if file.is_dir() else file
            missing = address.fragment and file in pages and unquote(address.fragment) not in pages[file].names
            if not file.is_file() or (missing and address.fragment != "__skip"):
                broken.append((path.relative_to(folder).as_posix(), target))
    assert not broken


def test_pages_are_quiet_and_fit(site, browser):
    folder, address = site
    found = []
    for page in PAGES:
        assert (folder / page / "index.html").is_file()
        width_of(browser, 400)
        browser.get(address + page)
        found += [(page, wide) for wide in too_wide(browser)]
        found += [(page, line["message"]) for line in browser.get_log("browser") if line["level"] == "SEVERE"]
    assert not found


def test_the_filters_of_the_gallery(site, browser):
    browser.get(site[1])
    count = "return document.querySelectorAll('.cards a.card:not([hidden])').length"
    assert browser.execute_script(count) == 40
    browser.find_element("css selector", "[data-filter=hidden]").click()
    assert browser.execute_script(count) == 3
    assert browser.find_element("css selector", ".filters .count").text == "3 of 40"


def test_the_site_is_dark_where_the_system_is(site, browser):
    """Also after a first visit by day: what the reader did not choose is not kept."""
    seen = []
    for scheme in ("light", "dark", "light"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        browser.get(site[1] + "play/")
        seen.append(browser.execute_script("return document.body.dataset.mdColorScheme"))
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert seen == ["default", "slate", "default"]
