"""An agent in any language can be measured: it reads one line of JSON for each decision and answers with one line.

    puzzleport evaluate "program:python examples/stdio_agent.py" --evalset v2 --puzzle fifteen --episodes 10 --record run.jsonl.gz
    puzzleport verify run.jsonl.gz

This one knows nothing of any puzzle. It takes the action with an effect that it took least often in what it sees now, so that it
does not walk in circles. ``puzzleport.benchmark.program`` tells what the lines hold.
"""

import json
import sys
from collections import Counter

taken: Counter[tuple[str, int]] = Counter()
for line in sys.stdin:
    message = json.loads(line)
    if message["done"]:  # the game is over, and nothing is to be answered
        taken.clear()
        continue
    seen = json.dumps(message["observation"])
    legal = [number for number, has_effect in enumerate(message["mask"]) if has_effect] or [0]
    action = min(legal, key=lambda number: taken[seen, number])
    taken[seen, action] += 1
    print(action, flush=True)
