"""The boards in a real browser, on the pages of ``puzzleport studio``."""

from __future__ import annotations

import base64
import functools
import io
import re
import threading
import time
from collections import Counter
from urllib.parse import quote, unquote

import pytest
from PIL import Image

import puzzleport as pp
from puzzleport.benchmark.recording import Game, Header, Recorder, as_text

from ..conftest import too_wide, width_of

pytestmark = pytest.mark.slow
BOARD = "canvas.pp-board"
UP, DOWN, LEFT, RIGHT, ENTER = "\ue013", "\ue015", "\ue012", "\ue014", "\ue007"


@pytest.fixture(scope="module")
def address(module):
    from puzzleport.studio import Studio

    with Studio(folder=module) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.address
        server.shutdown()


def until(browser, script, seconds=60):
    """Wait until a script gives something, and return it."""
    end = time.monotonic() + seconds
    while not (found := browser.execute_script(f"return {script}")):
        assert time.monotonic() < end, f"{script} gives {found!r}; the page says: {text(browser, 'body')[:500]}"
        time.sleep(0.05)
    return found


def text(browser, selector):
    return browser.find_element("css selector", selector).text


def status(browser):
    return browser.execute_script("return document.querySelector('#board').dataset.status")


def visit(browser, address, puzzle=None, game=None, **more):
    words = "&".join(
        f"{name}={quote(value)}" for name, value in {"puzzle": puzzle, "id": game, **more}.items() if value
    )
    browser.get("about:blank")  # else only the part behind # would change
    browser.get(f"{address}#{words}")
    until(browser, "document.body?.dataset.ready")


def choose(browser, label, value):
    script = "const at = document.querySelector(arguments[0]); at.value = arguments[1]; at.dispatchEvent(new Event('change'))"
    browser.execute_script(script, f"[aria-label='{label}']", value)


def quiet(browser):
    return [line["message"] for line in browser.get_log("browser") if line["level"] == "SEVERE"]


@functools.cache
def solvable(puzzle):
    """The first seed whose game the expert solves: where something is hidden, it may have to guess."""
    for seed in range(1, 20):
        session, expert = pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed), pp.agents.ExpertPolicy(puzzle)
        while not session.ended:
            session.step(expert(session))
        if session.status == pp.Status.SOLVED:
            return seed
    raise AssertionError(puzzle)


@pytest.mark.parametrize("puzzle", pp.puzzles())
def test_the_expert_solves_on_the_page(address, browser, puzzle):
    width_of(browser, 1400)
    visit(browser, address, puzzle, f"{pp.spec(puzzle).easiest_params}#{solvable(puzzle)}")
    assert text(browser, "[role=status]").startswith("going on")
    assert browser.execute_script("return document.querySelectorAll('.pp-fields canvas').length") == len(
        pp.spec(puzzle).fields(pp.spec(puzzle).easiest_params)
    )
    browser.execute_script("const speed = document.querySelector('[type=range]'); speed.max = 1000; speed.value = 1000")
    choose(browser, "player", "expert")
    browser.find_element("xpath", "//button[text()='run']").click()
    until(browser, "document.querySelector('#board').dataset.status !== 'going on'")
    assert status(browser) == "solved"
    assert "reward 1" in text(browser, "[role=status]")
    assert not quiet(browser)


def test_a_trained_policy_plays(address, browser):
    agent = pp.agents.load("net")
    visit(browser, address, "net", f"{agent.params}#1")
    browser.execute_script("const speed = document.querySelector('[type=range]'); speed.max = 1000; speed.value = 1000")
    choose(browser, "player", "trained")
    until(browser, "document.querySelector('.pp-action').getAttribute('aria-label').endsWith('percent')")
    chances = agent.probabilities(pp.Session("net", agent.params, 1))
    told = [one.get_attribute("aria-label") for one in browser.find_elements("css selector", ".pp-action")]
    assert [float(label.split(", ")[1].split()[0]) for label in told] == pytest.approx(100 * chances, abs=0.51)
    browser.find_element("xpath", "//button[text()='run']").click()
    until(browser, "document.querySelector('#board').dataset.status !== 'going on'")
    assert status(browser) == "solved"
    assert not quiet(browser)


def test_the_bars_follow_what_you_do(address, browser):
    agent = pp.agents.load("net")
    session = pp.Session("net", agent.params, 1)
    visit(browser, address, "net", f"{agent.params}#1")
    choose(browser, "player", "trained")
    until(browser, "document.querySelector('.pp-action').getAttribute('aria-label').endsWith('percent')")
    told = []
    keys = {"UP": UP, "DOWN": DOWN, "LEFT": LEFT, "RIGHT": RIGHT, "SELECT": ENTER}
    for _ in range(4):
        action = session.actions[int(agent.probabilities(session).argmax())]
        browser.find_element("css selector", BOARD).send_keys(keys[action])
        session.step(action)
        buttons = browser.find_elements("css selector", ".pp-action")
        told.append([float(one.get_attribute("aria-label").split(", ")[1].split()[0]) for one in buttons])
        assert told[-1] == pytest.approx(100 * agent.probabilities(session), abs=0.51)
    assert len({tuple(row) for row in told}) > 1  # else bars that stay as they are would pass


def luminance(colour):
    """Of red, green and blue, as https://www.w3.org/TR/WCAG22/#dfn-relative-luminance has it."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (part / 255 for part in colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_grids_and_bars_are_readable(address, browser, scheme):
    """The contrasts that WCAG asks for: 4.5 for text, 3 for what else tells something."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    try:
        visit(browser, address, "net", f"{pp.agents.load('net').params}#1")
        choose(browser, "player", "trained")
        until(browser, "document.querySelector('.pp-action').getAttribute('aria-label').endsWith('percent')")

        def colours(selector):
            picture = browser.find_element("css selector", selector).screenshot_as_png
            return Counter(Image.open(io.BytesIO(picture)).convert("RGB").getdata())

        paper = colours("body").most_common(1)[0][0]
        assert (luminance(paper) < 0.1) == (scheme == "dark")
        # Digits are thin, and few of their pixels have their full colour.
        assert max(contrast(paper, one) for one in colours(".pp-fields canvas")) >= 4.5
        likely = "[...document.querySelectorAll('.pp-action')].find(one => one.ariaLabel.includes(' 100 '))"
        bar = browser.execute_script(f"return getComputedStyle({likely}).backgroundImage")
        tint = [int(number) for number in re.findall(r"\d+", bar)[:3]]
        assert contrast(paper, tint) >= 3
        assert tuple(tint) in colours(".pp-actions")
        ink = browser.execute_script("return getComputedStyle(document.querySelector('[role=status]')).color")
        assert contrast(paper, [int(number) for number in re.findall(r"\d+", ink)[:3]]) >= 4.5
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_every_puzzle_fits_at_human_level(address, browser):
    found = []
    for puzzle in pp.puzzles():
        width_of(browser, 400)
        visit(browser, address, puzzle, f"{pp.spec(puzzle).human_params}#1")
        found += [(puzzle, wide) for wide in too_wide(browser)]
        found += [(puzzle, line) for line in quiet(browser)]
    assert not found


def test_the_page_shows_what_python_sees(address, browser):
    visit(browser, address, "pattern", "5x5#3")
    session = pp.Session("pattern", "5x5", 3)
    board = browser.find_element("css selector", BOARD)
    for key, action in (
        (RIGHT, "RIGHT"),
        (ENTER, "SELECT"),
        (DOWN, "DOWN"),
        (" ", "SELECT2"),
        (LEFT, "LEFT"),
        ("d", "RIGHT"),
    ):
        board.send_keys(key)
        session.step(action)
        mask = "".join(str(int(legal)) for legal in session.mask())
        told = f"steps {session.steps} · moves {session.moves} · repeats {session.repeats} · mask {mask}"
        assert told in text(browser, "[role=status]")
    buttons = browser.find_elements("css selector", ".pp-action")
    assert [one.get_attribute("data-action") for one in buttons] == list(session.actions)
    greyed = [one.get_attribute("aria-disabled") == "true" for one in buttons]
    assert greyed == [not legal for legal in session.mask()]
    browser.find_element("css selector", "summary").click()
    assert until(browser, "document.querySelector('.pp-words').textContent") == session.text()
    side = browser.execute_script(f"return document.querySelector('{BOARD}').width")
    script = f"""const board = document.querySelector('{BOARD}');
        const bytes = board.getContext('2d').getImageData(0, 0, board.width, board.height).data;
        return btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join(''))"""
    shown = base64.b64decode(browser.execute_script(script))
    rgb = bytes(byte for i, byte in enumerate(shown) if i % 4 != 3)
    assert rgb == session.pixels(side, side).tobytes()


def test_the_mask_greys_and_buttons_act(address, browser):
    visit(browser, address, "fifteen", "4x4#1")
    session = pp.Session("fifteen", "4x4", 1)
    legal = session.actions[int(session.mask().argmax())]
    browser.find_element("css selector", f"[data-action={legal}]").click()
    session.step(legal)
    grey = browser.find_elements("css selector", ".pp-action[aria-disabled=true]")
    assert {one.get_attribute("data-action") for one in grey} == {
        name for name, legal in zip(session.actions, session.mask(), strict=True) if not legal
    }
    browser.find_element("xpath", "//button[text()='undo']").click()
    assert "moves 2" in text(browser, "[role=status]")


def test_a_link_leads_to_the_same_position(address, browser):
    visit(browser, address, "net", "5x5#7")
    board = browser.find_element("css selector", BOARD)
    board.send_keys(UP, ENTER, "u", RIGHT, ENTER)
    from selenium.webdriver import ActionChains

    ActionChains(browser).move_to_element_with_offset(board, -120, -120).click().perform()
    told = text(browser, "[role=status]")
    assert "moves 4" in told  # two by key, one undo, one by mouse
    browser.find_element("xpath", "//button[text()='copy link']").click()
    link = browser.current_url
    browser.get("about:blank")
    browser.get(link)
    until(browser, "document.body?.dataset.ready")
    assert text(browser, "[role=status]").split("reward 0")[1] == told.split("reward 0")[1]


@pytest.mark.parametrize(("puzzle", "params", "across"), [("net", "5x5", 0), ("bridges", "7x7", 0.35)])
def test_a_finger_does_what_the_mouse_does(address, browser, puzzle, params, across):
    """A tap turns a tile of Net; a finger that is drawn along makes a bridge. The page does not scroll by it."""
    width_of(browser, 400)
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    try:
        visit(browser, address, puzzle, f"{params}#1")
        browser.execute_script(f"document.querySelector('{BOARD}').scrollIntoView()")
        where = browser.execute_script(f"return document.querySelector('{BOARD}').getBoundingClientRect().toJSON()")
        scrolled = browser.execute_script("return window.scrollY")

        def touch(kind, *points):
            browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})

        session = pp.Session(puzzle, params, 1)
        for place in range(1, 10):
            x, y = where["x"] + where["width"] * place / 10, where["y"] + where["height"] * place / 10
            touch("touchStart", {"x": x, "y": y})
            if across:
                touch("touchMove", {"x": x + where["width"] * across / 2, "y": y})
                touch("touchMove", {"x": x + where["width"] * across, "y": y})
            touch("touchEnd")
        assert browser.execute_script("return window.scrollY") == scrolled
        browser.find_element("xpath", "//button[text()='copy link']").click()
        events = re.findall(r"\((\d+),(\d+),(\d+),(-?\d+),(-?\d+)\)", unquote(browser.current_url))
        assert {event[2] for event in events} == ({"0", "1", "2"} if across else {"0", "2"})
        for side, button, gesture, x, y in (map(int, event) for event in events):
            session.mouse(("press", "drag", "release")[gesture], x, y, width=side, height=side, button=button)
        assert session.moves > 0
        assert f"moves {session.moves} " in text(browser, "[role=status]")
        browser.find_element("css selector", "summary").click()
        assert until(browser, "document.querySelector('.pp-words').textContent") == session.text()
        assert not quiet(browser)
    finally:
        browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})


@pytest.mark.parametrize(
    ("params", "seed", "error"),
    [
        ("garbage", "1", pp.errors.InvalidParams),
        ("5x5;rm", "1", pp.errors.InvalidParams),
        ("99x99", "1", pp.errors.InvalidParams),
        ("<img src=x onerror='document.title=1'>", "1", pp.errors.InvalidParams),
        ("5x5:zzz", "", pp.errors.InvalidGameID),
        ("5x5#-1", "", pp.errors.InvalidGameID),
    ],
)
def test_errors_read_as_in_python(address, browser, params, seed, error):
    visit(browser, address, "net", "5x5#1")
    for label, value in (("parameters", params), ("seed", seed)):
        box = browser.find_element("css selector", f"[aria-label={label}]")
        box.clear()
        box.send_keys(value)
    browser.find_element("xpath", "//button[text()='start']").click()
    until(browser, "!document.querySelector('[role=alert]').hidden")
    with pytest.raises(error) as raised:
        pp.Session("net", params, seed=int(seed) if seed else None)
    assert text(browser, "[role=alert]") == f"{type(raised.value).__name__}: {raised.value}"
    assert not browser.find_elements("css selector", "#board img")
    assert not quiet(browser)


@pytest.mark.parametrize("keys", ["zz", "0(1,2", "<b>"])
def test_a_forged_link_is_an_error_on_the_page(address, browser, keys):
    visit(browser, address, "net", "5x5#1", keys=keys)
    assert text(browser, "[role=alert]").startswith("InvalidGameID: no key stands at")
    assert not quiet(browser)


def test_a_recording_forwards_and_backwards(module, browser, tmp_path):
    from puzzleport.studio import Studio, recorded_lines

    session, expert = pp.Session("pattern", "10x10", 5), pp.agents.ExpertPolicy("pattern")
    keys, boards, chances = [], [session.text()], []
    while not session.ended:
        keys.append(expert(session))
        chances.append([float(action == keys[-1]) for action in range(len(session.actions))])
        session.step(keys[-1])
        boards.append(session.text())
    header = Header("1", "expert", "", "pattern", session.params, "seed 5", 1, False, 10_000, 0, list(session.actions))
    path = tmp_path / "games.jsonl.gz"
    game = Game("10x10#5", as_text(keys), 1, len(keys), probabilities=chances)
    Recorder(path).write(header, [game])
    with Studio(recorded=recorded_lines(path), folder=module) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        visit(browser, server.address)
        browser.find_element("css selector", "summary").click()

        def at(step):
            assert text(browser, "output") == f"step {step} of {len(keys)}"
            assert browser.execute_script("return document.querySelector('.pp-words').textContent") == boards[step]

        def press(title):
            browser.find_element("css selector", f"[aria-label='{title}']").click()

        until(browser, "document.querySelector('.pp-words').textContent")
        at(0)
        bar = browser.find_element("css selector", f"[data-action={session.actions[keys[0]]}]")
        assert bar.get_attribute("aria-label").endswith("100 percent")
        assert "pp-next" in bar.get_attribute("class")
        press("a step on")
        at(1)
        press("to the end")
        at(len(keys))
        assert status(browser) == "solved"
        for step in range(1, 4):
            press("a step back")
            at(len(keys) - step)
        browser.find_element("css selector", BOARD).send_keys(UP, UP)  # who leaves the recording can come back
        press("a step back")
        at(len(keys) - 4)
        press("to the start")
        at(0)
        assert not quiet(browser)
        server.shutdown()


def test_what_evaluate_records_opens_with_the_agents_probabilities(module, browser, tmp_path):
    from click.testing import CliRunner

    from puzzleport.benchmark.recording import load
    from puzzleport.cli import main
    from puzzleport.studio import Studio, recorded_lines

    path = tmp_path / "run.jsonl.gz"
    words = ["evaluate", "--policy", "published", "--puzzle", "net", "--episodes", "3", "--seed", "3", "--record"]
    assert CliRunner().invoke(main, [*words, str(path)]).exit_code == 0
    assert CliRunner().invoke(main, ["verify", str(path)]).exit_code == 0
    (section,) = load(path)
    game = section.games[1]
    assert any(0.01 < share < 0.99 for row in game.probabilities for share in row)  # else all bars would look alike
    with Studio(recorded=recorded_lines(path), folder=module) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        visit(browser, server.address)
        for width in (1400, 400):
            width_of(browser, width)
            wide = browser.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
            assert wide[0] <= wide[1]
        choose(browser, "game", "1")
        until(browser, f"document.querySelector('output').textContent === 'step 0 of {len(game.actions)}'")

        def at(step):
            assert text(browser, "output") == f"step {step} of {len(game.actions)}"
            buttons = browser.find_elements("css selector", ".pp-action")
            labels = [one.get_attribute("aria-label") for one in buttons]
            bars = [one.value_of_css_property("background-size").split()[0] for one in buttons]
            taken = [number for number, one in enumerate(buttons) if "pp-next" in one.get_attribute("class")]
            if step == len(game.actions):
                assert (labels, taken) == (section.header.actions, [])
                return
            shares = [100 * share for share in game.probabilities[step]]
            assert [float(label.split(", ")[1].split()[0]) for label in labels] == pytest.approx(shares, abs=0.51)
            assert [float(bar.removesuffix("%")) for bar in bars] == pytest.approx(shares, abs=0.01)
            assert taken == [game.numbers[step]]

        at(0)
        for step in range(1, len(game.actions) + 1):
            browser.find_element("css selector", "[aria-label='a step on']").click()
            at(step)
        assert status(browser) == "solved"
        for step in reversed(range(len(game.actions))):
            browser.find_element("css selector", "[aria-label='a step back']").click()
            at(step)
        assert not quiet(browser)
        server.shutdown()
