// The page of `puzzleport studio`: all puzzles, or the games of the recording that the command was given.

import { Board, publishedAgents } from "./board.js";
import { readRecording, Replay } from "./recording.js";

const board = new Board(/** @type {HTMLElement} */ (document.getElementById("board")), { all: true, agents: await publishedAgents() });
const answer = await fetch("recording.jsonl");
await board.open();
if (answer.status === 200) {
  try {
    const replay = new Replay(/** @type {HTMLElement} */ (document.getElementById("recording")), board, readRecording(await answer.text()));
    await replay.open(0);
  } catch (thrown) {
    board.fail(thrown);
  }
}
document.body.dataset.ready = "1";
