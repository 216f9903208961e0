"""How long a step takes in Chromium: the action, its mask, and a picture of 256 x 256 pixels, at human level.

``python tools/web_table.py docs/results/web.csv`` measures all puzzles on the pages that ``make web`` made, five times over. Each
time gives the median and the 95th percentile of 200 masked random steps, in milliseconds. A row has the median of both over the
five times, and the largest 95th percentile: other work on the machine shows there.
"""

from __future__ import annotations

import csv
import shutil
import statistics
import sys
import threading
from pathlib import Path

from selenium import webdriver

import puzzleport as pp
from puzzleport.studio import Studio

ROUNDS, STEPS, SIDE = 5, 200, 256
SCRIPT = """
const [name, params, steps, side, done] = arguments;
const { load, Session } = await import("/puzzleport.js");
await load();
const canvas = document.createElement("canvas");
canvas.width = canvas.height = side;
const context = canvas.getContext("2d");
const times = [];
let session = null;
for (let step = 0, seed = 1; step < steps; step++) {
  if (!session || session.outcome.ended) {
    session?.close();
    session = new Session(name, { params, seed: seed++ });
    session.rgba(side, side);
  }
  const legal = session.mask().flatMap((one, action) => (one ? [action] : []));
  const start = performance.now();
  session.step(legal[(step * 7919) % legal.length] ?? 0);
  session.mask();
  context.putImageData(new ImageData(session.rgba(side, side), side, side), 0, 0);
  times.push(performance.now() - start);
}
times.sort((a, b) => a - b);
done([times[steps >> 1], times[Math.floor(0.95 * steps)]]);
"""


def main(out: Path) -> None:
    """Measure, and write the table."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(word)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    browser.set_script_timeout(120)
    with Studio() as server, out.open("w", newline="") as file:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser.get(server.address)
        script = "const body = async (...arguments) => {" + SCRIPT + "}; body(...arguments);"
        times = dict[str, list[tuple[float, float]]]()
        for number in range(ROUNDS):
            for puzzle in pp.puzzles():
                params = pp.spec(puzzle).human_params
                median, most = browser.execute_async_script(script, puzzle, params, STEPS, SIDE)
                times.setdefault(puzzle, []).append((median, most))
                print(number, puzzle, params, f"{median:.2f} {most:.2f}", flush=True)
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["puzzle", "params", "median_ms", "p95_ms", "largest_p95_ms"])
        for puzzle, pairs in times.items():
            medians, tails = zip(*pairs, strict=True)
            told = (statistics.median(medians), statistics.median(tails), max(tails))
            table.writerow([puzzle, pp.spec(puzzle).human_params, *(f"{one:.2f}" for one in told)])
        server.shutdown()
    browser.quit()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
