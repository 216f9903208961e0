// Recorded evaluations, as core/benchmark/recording.py tells: read, and played forwards and backwards on a board.

import { PuzzleError, quote } from "./puzzleport.js";
import { make } from "./dom.js";

const FORMAT = "puzzleport recording 1";
const DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const EVERY = 64; // steps between the positions that are kept for going back

/**
 * @typedef {{policy: string, puzzle: string, params: string, undo: boolean, max_steps: number, max_repeats: number,
 *   actions: string[]}} Header
 * @typedef {{header: Header, game: string, keys: number[], status: number, steps: number, chances: number[][]}} Game
 */

/** The games of a recording. @param {string} text its lines @returns {Game[]} */
export function readRecording(text) {
  /** @type {Header|null} */ let header = null;
  /** @type {Game[]} */ const games = [];
  text.split("\n").forEach((line, number) => {
    if (!line.trim()) return;
    const refuse = (/** @type {string} */ why) => {
      throw new PuzzleError("BadRecording", `line ${number + 1}: ${why}`);
    };
    let row;
    try {
      row = JSON.parse(line);
    } catch {
      refuse(`${quote(line)} is no JSON`);
    }
    if (row === null || typeof row !== "object") refuse(`${quote(line)} is neither a header nor a game`);
    if ("format" in row) {
      if (row.format !== FORMAT) refuse(`the format is ${quote(row.format)}; ${quote(FORMAT)} can be read`);
      if (typeof row.puzzle !== "string" || typeof row.policy !== "string" || !Array.isArray(row.actions)) refuse("a header lacks something");
      header = row;
      return;
    }
    if (!header) return refuse("a header must come before the first game");
    if (typeof row.game !== "string" || typeof row.actions !== "string") refuse("a game has an id and actions");
    const keys = Array.from(row.actions, digit => DIGITS.indexOf(/** @type {string} */ (digit)));
    if (keys.some(key => key < 0 || key >= /** @type {Header} */ (header).actions.length)) refuse("there is no such action");
    const chances = Array.isArray(row.probabilities) ? row.probabilities : [];
    games.push({ header, game: row.game, keys, status: Number(row.status), steps: Number(row.steps), chances });
  });
  if (!games.length) throw new PuzzleError("BadRecording", "there is no game in it");
  return games;
}

/** The controls of a recording over a board. */
export class Replay {
  #at = 0;
  /** @type {import("./puzzleport.js").Session[]} */ #kept = [];
  /** @type {Game} */ #game;
  #running = false;

  /** @param {HTMLElement} root @param {import("./board.js").Board} board @param {Game[]} games */
  constructor(root, board, games) {
    this.board = board;
    this.games = games;
    this.#game = games[0];
    const button = (/** @type {string} */ text, /** @type {string} */ title, /** @type {() => void} */ onclick) =>
      make("button", { type: "button", class: "pp-button", title, "aria-label": title, onclick }, text);
    const told = /** @type {Record<string, string>} */ ({ 1: "solved", 0: "not solved", "-1": "lost" });
    this.choose = make("select", { class: "pp-games", "aria-label": "game", onchange: () => this.open(Number(this.choose.value)) },
      ...games.map(({ header, game, status, keys }, i) =>
        make("option", { value: String(i) }, `${header.policy}: ${header.puzzle} ${game}, ${told[status] ?? status}, ${keys.length} steps`)));
    this.place = make("input", { type: "range", min: "0", value: "0", "aria-label": "step", oninput: () => this.seek(Number(this.place.value)) });
    this.count = make("output");
    this.runButton = button("run", "run", () => this.run());
    root.replaceChildren(make("div", { class: "pp-row" }, this.choose),
      make("div", { class: "pp-row pp-replay" }, button("|◀", "to the start", () => this.seek(0)),
        button("◀", "a step back", () => this.seek(this.#at - 1)), button("▶", "a step on", () => this.seek(this.#at + 1)),
        button("▶|", "to the end", () => this.seek(this.#game.keys.length)), this.runButton, this.place, this.count));
    root.classList.add("pp");
  }

  /** Show a game from its start. @param {number} number */
  async open(number) {
    this.#running = false;
    this.#game = this.games[number];
    const { header, game, keys } = this.#game;
    for (const session of this.#kept.splice(0)) session.close();
    await this.board.start({ puzzle: header.puzzle, params: game, undo: header.undo, maxSteps: header.max_steps,
      maxRepeats: header.max_repeats });
    if (!this.board.error.hidden || !this.board.session) return;
    this.#kept = [this.board.session.clone()];
    this.place.max = String(keys.length);
    this.#at = 0;
    this.#tell();
  }

  /** Go to where so many actions were taken. @param {number} wanted */
  seek(wanted) {
    if (!this.#kept.length) return;
    const { keys } = this.#game;
    const to = Math.max(0, Math.min(keys.length, wanted));
    // Whoever played on from here by hand has left the recording.
    const strayed = this.board.events.length !== this.#at || this.board.events.some((event, i) => event !== keys[i]);
    if (strayed || to !== this.#at + 1) {
      let from = Math.min(Math.floor(Math.max(0, to - 1) / EVERY), this.#kept.length - 1);
      const session = this.#kept[from].clone();
      for (let at = from * EVERY; at < to - 1; at++) {
        session.step(keys[at]);
        if ((at + 1) % EVERY === 0 && this.#kept.length === (at + 1) / EVERY) this.#kept.push(session.clone());
      }
      this.board.replace(session, keys.slice(0, Math.max(0, to - 1)));
    }
    if (to) this.board.do(keys[to - 1]);
    this.#at = to;
    this.#tell();
  }

  #tell() {
    const { keys, chances } = this.#game;
    this.place.value = String(this.#at);
    this.count.textContent = `step ${this.#at} of ${keys.length}`;
    this.board.mark(chances[this.#at] ?? null, keys[this.#at]);
  }

  async run() {
    this.#running = !this.#running;
    this.runButton.textContent = this.#running ? "pause" : "run";
    while (this.#running && this.#at < this.#game.keys.length) {
      this.seek(this.#at + 1);
      await new Promise(resolve => setTimeout(resolve, 1000 / Number(this.board.speed.value)));
    }
    this.#running = false;
    this.runButton.textContent = "run";
  }
}
