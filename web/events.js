// What was done in a game since its start, and its text for links: a digit for each action, "u" for an undo, and
// "(side,button,gesture,x,y)" for the mouse on a picture of side x side pixels. Links come from anywhere: what is not
// wholly understood is refused.

import { PuzzleError, quote } from "./puzzleport.js";

/**
 * @typedef {{side: number, button: number, gesture: import("./puzzleport.js").Gesture, x: number, y: number}} Touch
 * @typedef {number|"undo"|Touch} Event
 */

const GESTURES = /** @type {const} */ (["press", "drag", "release"]);
const MOST = 20_000;

/** @param {Event[]} events @returns {string} */
export function writeEvents(events) {
  return events.map(event => {
    if (event === "undo") return "u";
    if (typeof event === "number") return event.toString(16);
    return `(${event.side},${event.button},${GESTURES.indexOf(event.gesture)},${event.x},${event.y})`;
  }).join("");
}

/** @param {string} text @returns {Event[]} */
export function readEvents(text) {
  /** @type {Event[]} */ const events = [];
  const one = /([0-9a-f])|(u)|\((\d{1,4}),([0-2]),([0-2]),(-?\d{1,5}),(-?\d{1,5})\)/y;
  while (one.lastIndex < text.length) {
    const at = one.lastIndex;
    const found = one.exec(text);
    if (!found || events.length >= MOST) {
      throw new PuzzleError("InvalidGameID", `no key stands at ${quote(text.slice(at, at + 20))} in the link`);
    }
    const [, key, undo, side, button, gesture, x, y] = found;
    if (key) events.push(parseInt(key, 16));
    else if (undo) events.push("undo");
    else events.push({ side: Number(side), button: Number(button), gesture: GESTURES[Number(gesture)], x: Number(x), y: Number(y) });
  }
  return events;
}

/** Do one thing in a game. @param {import("./puzzleport.js").Session} session @param {Event} event */
export function act(session, event) {
  if (event === "undo") session.undo();
  else if (typeof event === "number") session.step(event);
  else session.mouse(event.gesture, event.x, event.y, event.side, event.side, event.button);
}
