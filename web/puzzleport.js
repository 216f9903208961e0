// The session of puzzleport in WebAssembly: the C code that Python calls, with the same games, masks and pictures.
//
//   import { load, Session } from "./puzzleport.js";
//   await load();
//   const session = new Session("net", { params: "5x5", seed: 1 });
//   session.step("SELECT");
//
// Everything but load() is synchronous. What may take long (a new game, a plan) belongs into worker.js.

/**
 * @typedef {object} Field One array of an observation.
 * @property {string} name
 * @property {string} about
 * @property {number} low
 * @property {number} high
 * @property {1|2|4} itemsize bytes of an item, which is signed
 * @property {number} count
 * @property {number} offset where it starts in the record
 * @property {boolean} ui whether it belongs to the cursor and not to the board
 * @property {number[]} shape
 *
 * @typedef {object} Puzzle What a puzzle is and what it provides.
 * @property {string} name
 * @property {string} title
 * @property {string} rules
 * @property {string} easiest the paper's easiest parameters
 * @property {string} human the paper's easiest parameters for people
 * @property {string} pattern a regular expression for parameters
 * @property {string} help one line for each part of them
 * @property {string} alias
 * @property {boolean} hidden whether the player must not know all of the state
 * @property {string[]} actions
 * @property {[title: string, params: string][]} presets
 *
 * @typedef {object} Options
 * @property {string} [params] "7x7", or a game id: "7x7#42", "7x7:description"
 * @property {number|bigint|string} [seed] 0 to 2**64 - 1; drawn at random when left out
 * @property {boolean} [undo] whether UNDO is an action
 * @property {number} [maxSteps]
 * @property {number} [maxRepeats]
 * @property {number} [timeout] seconds that generating may take; 0 for no limit
 *
 * @typedef {object} Outcome
 * @property {boolean} changed whether the action had any effect
 * @property {-1|0|1} status failed, going on, solved
 * @property {number} moves
 * @property {number} repeats
 * @property {number} steps
 * @property {0|1|2} ended going on, terminated, truncated
 *
 * @typedef {Int8Array|Int16Array|Int32Array} Items
 * @typedef {"press"|"drag"|"release"} Gesture
 */

/** What went wrong, under the name that Python's exception has. */
export class PuzzleError extends Error {
  /** @param {string} name @param {string} message */
  constructor(name, message) {
    super(message);
    this.name = name;
  }
}

// Indexed by enum pz_error of native/include/errors.h.
const ERRORS = ["", "InvalidParams", "InvalidGameID", "GenerationTimeout", "EngineError", "Interrupted", "NoSolution",
  "CorruptState", "NoPlan", "InvalidAction"];
const GESTURES = ["press", "drag", "release"];
const MAX_SEED = 2n ** 64n - 1n;
const MAX_SIDE = 4096;
const LONGEST_QUOTE = 80;

/** @type {any} */
let wasm = null;
/** @type {Puzzle[]} */
let known = [];

// ---- loading

/** What C jumps out of calls with: see native/host/guard.c. */
const LONGJMP = Symbol("longjmp");

/** @returns {WebAssembly.Imports} */
function imports() {
  let high = 0;
  const environment = {
    _emscripten_throw_longjmp() {
      throw LONGJMP;
    },
    emscripten_notify_memory_growth() {},
    // The second half of what a function of C returns.
    setTempRet0(/** @type {number} */ value) {
      high = value;
    },
    getTempRet0: () => high,
  };
  /** Calls from a function with a setjmp in it: a longjmp ends here and becomes a flag that C looks at. */
  const invoke = (/** @type {number} */ index, /** @type {any[]} */ ...words) => {
    const stack = wasm.stackSave();
    try {
      return wasm.__indirect_function_table.get(index)(...words);
    } catch (thrown) {
      wasm.stackRestore(stack);
      if (thrown !== LONGJMP) throw thrown;
      wasm.setThrew(1, 0);
      return 0;
    }
  };
  const host = {
    clock_time_get(/** @type {any[]} */ ...words) {
      const now = BigInt(Math.round(performance.now() * 1e6));
      new DataView(wasm.memory.buffer).setBigUint64(words[words.length - 1], now, true);
      return 0;
    },
    proc_exit(/** @type {number} */ code) {
      throw new Error(`the module ended with code ${code}`);
    },
  };
  return {
    env: new Proxy(environment, {
      get: (known, name) => (String(name).startsWith("invoke_") ? invoke : known[/** @type {never} */ (name)]),
    }),
    // The module has no files: whatever else it asks for is refused.
    wasi_snapshot_preview1: new Proxy(host, {
      get: (known, name) => known[/** @type {never} */ (name)] ?? (() => 8),
    }),
  };
}

/** @type {Promise<void>|null} */
let loading = null;

/**
 * Load the module; once is enough, and a second call does nothing.
 * @param {URL|string|BufferSource|WebAssembly.Module} [source] its address, its bytes, or what compiled() gave; by default it
 *   is beside this file
 * @returns {Promise<void>}
 */
export function load(source = new URL("puzzleport.wasm", import.meta.url)) {
  loading ??= start(source).catch(reason => {
    loading = null;
    throw reason;
  });
  return loading;
}

/** @type {WebAssembly.Module|null} */
let module = null;

/** The module once it is loaded, for a worker's load(): to compile it takes longer than to send it. */
export function compiled() {
  return module;
}

/** @param {URL|string|BufferSource|WebAssembly.Module} source */
async function start(source) {
  if (source instanceof URL || typeof source === "string") {
    const response = await fetch(source);
    if (!response.ok) throw new Error(`there is no module at ${source} (${response.status})`);
    source = await response.arrayBuffer();
  }
  module = source instanceof WebAssembly.Module ? source : await WebAssembly.compile(source);
  wasm = (await WebAssembly.instantiate(module, imports())).exports;
  wasm._initialize();
  known = Array.from({ length: wasm.count() }, (_, index) => JSON.parse(takeText(wasm.puzzle(index))));
}

// ---- memory

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** @param {number} at @returns {string} */
function readText(at) {
  const bytes = new Uint8Array(wasm.memory.buffer);
  return decoder.decode(bytes.slice(at, bytes.indexOf(0, at)));
}

/** @param {number} at @returns {string} */
function takeText(at) {
  const text = readText(at);
  wasm.free(at);
  return text;
}

/**
 * Call with texts in the module's memory, null staying null.
 * @param {(string|null)[]} texts @param {(...at: number[]) => number} call
 */
function withTexts(texts, call) {
  const at = texts.map(text => {
    if (text === null) return 0;
    const bytes = encoder.encode(text);
    const start = wasm.malloc(bytes.length + 1);
    new Uint8Array(wasm.memory.buffer).set([...bytes, 0], start);
    return start;
  });
  try {
    return call(...at);
  } finally {
    at.forEach(start => wasm.free(start));
  }
}

/** Throw what an error code stands for. @param {number} code @param {string} what was being done */
function check(code, what) {
  if (code) throw new PuzzleError(ERRORS[code] ?? "EngineError", `${what}: ${readText(wasm.last_error())}`);
}

// ---- puzzles and game ids

/** All puzzles, in the order of their names. @returns {Puzzle[]} */
export function puzzles() {
  return [...known].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** @param {string} name @returns {Puzzle} */
export function puzzle(name) {
  const found = known.find(one => one.name === name);
  if (!found) throw new PuzzleError("UnknownPuzzle", `there is no puzzle ${quote(name)}`);
  return found;
}

/** What was given, for a message, written as Python would and at most a line of it. @param {unknown} value */
export function quote(value) {
  const text = String(value).slice(0, LONGEST_QUOTE + 1);
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  const named = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", [mark]: `\\${mark}` };
  const told = mark + text.replace(/[\x00-\x1f\x7f-\xa0\\'"]/g, letter =>
    named[letter] ?? (/['"]/.test(letter) ? letter : `\\x${letter.charCodeAt(0).toString(16).padStart(2, "0")}`)) + mark;
  return told.length <= LONGEST_QUOTE ? told : `${told.slice(0, LONGEST_QUOTE - 3)}...`;
}

/** The parameters in full; what is not wholly understood is an error. @param {string} name @param {string} params */
export function canonicalParams(name, params) {
  const about = puzzle(name);
  if (!new RegExp(`^(?:${about.pattern})$`).test(params)) {
    const start = new RegExp(`^(?:${about.pattern})`).exec(params)?.[0];
    const understood = start ? `only its start ${quote(start)} is understood` : "nothing of it is understood";
    const easy = [about.easiest, defaultParams(about)].map(quote).join(" or ");
    throw new PuzzleError("InvalidParams", `${name}: ${quote(params)} is no parameter string: ${understood}. ` +
      `Write ${easy}: ${about.help.split("\n").join("; ")}.`);
  }
  const [written, meant] = about.alias.split("=");
  const plain = written ? params.replaceAll(written, meant) : params;
  check(withTexts([plain], at => wasm.canonical(known.indexOf(about), at)), `${name}: params ${quote(params)}`);
  return readText(wasm.last_answer());
}

/** @param {Puzzle} about @returns {string} */
export function defaultParams(about) {
  return about.presets.length ? about.presets[0][1] : about.easiest;
}

/** @returns {string} a seed that a float holds exactly */
function randomSeed() {
  const words = crypto.getRandomValues(new Uint32Array(2));
  return String((BigInt(words[0]) << 21n) | BigInt(words[1] >>> 11));
}

/** @param {string} text */
const isSeed = text => /^(0|[1-9][0-9]{0,19})$/.test(text) && BigInt(text) <= MAX_SEED;

/**
 * Take apart "params", "params#seed" or "params:description".
 * @param {string} name @param {string|undefined} params @param {unknown} seed
 * @returns {{params: string, seed: string|null, desc: string|null}}
 */
function which(name, params, seed) {
  const [, size, mark, rest] = /** @type {RegExpExecArray} */ (/^([^:#]*)([:#]?)([^]*)$/.exec(params ?? ""));
  const full = params === undefined ? defaultParams(puzzle(name)) : canonicalParams(name, size);
  if (mark === ":") {
    if (!/^[ -~]+$/.test(rest)) {
      throw new PuzzleError("InvalidGameID", `${name}: no description stands behind the colon of ${quote(params)}`);
    }
    return { params: full, seed: null, desc: rest };
  }
  if (mark === "#") {
    if (!isSeed(rest)) {
      throw new PuzzleError("InvalidGameID",
        `${name}: a number from 0 to 2**64 - 1 must stand behind the # of ${quote(params)}`);
    }
    return { params: full, seed: rest, desc: null };
  }
  const plain = seed === undefined || seed === "" ? randomSeed() : String(seed);
  if (!isSeed(plain)) {
    throw new PuzzleError("InvalidSeed", `a seed is a whole number from 0 to ${MAX_SEED}, not ${quote(plain)}`);
  }
  return { params: full, seed: plain, desc: null };
}

// ---- sessions

/** In place of a puzzle's name: take over what the module made last. */
const MADE = Symbol("made");

/** One game. close() gives its memory back. */
export class Session {
  #at = 0;
  /** Memory for pictures, kept from one to the next. */
  #scratch = 0;
  #room = 0;
  /** @type {any} */ #about;

  /** @param {string|symbol} name @param {Options} [options] */
  constructor(name, options = {}) {
    if (typeof name === "string") {
      const { params, seed, undo = false, maxSteps = 10_000, maxRepeats = 0, timeout = 60 } = options;
      const index = known.indexOf(puzzle(name));
      const id = which(name, params, seed);
      check(withTexts([id.params, id.seed, id.desc], (...at) =>
        wasm.session_new(index, at[0], at[1], at[2], Number(undo), timeout)), `${name} ${id.params}`);
      check(wasm.session_limit(wasm.last_session(), maxSteps, maxRepeats), "limit");
    }
    this.#at = wasm.last_session();
    this.#about = this.#names();
    /** @type {Puzzle} */ this.puzzle = puzzle(this.#about.puzzle);
    /** @type {string} */ this.params = this.#about.params;
    /** @type {string[]} */ this.actions = this.puzzle.actions.slice(0, this.#about.actions);
    /** @type {Field[]} */ this.fields = this.#about.fields;
    /** @type {boolean} whether UNDO is an action */ this.undoAllowed = this.actions.includes("UNDO");
  }

  #names() {
    return JSON.parse(takeText(wasm.session_about(this.#open)));
  }

  get #open() {
    if (!this.#at) throw new PuzzleError("SessionClosed", "this session was closed");
    return this.#at;
  }

  #check(/** @type {number} */ code, /** @type {string} */ what) {
    check(code, `${this.puzzle.name}: ${what}`);
  }

  /** What the last call handed out, as a copy. @param {number} size in bytes @returns {Uint8Array} */
  #take(size) {
    const at = wasm.last_bytes();
    const bytes = new Uint8Array(wasm.memory.buffer).slice(at, at + size);
    wasm.free(at);
    return bytes;
  }

  /** The seed that made this game, "" where it came from a description. @returns {string} */
  get seed() {
    return this.#about.seed;
  }

  /** What starts this game again; it never tells what the player must not know. @returns {string} */
  get gameId() {
    const { params, seed, desc } = this.#names();
    return this.puzzle.hidden && seed ? `${params}#${seed}` : `${params}:${desc}`;
  }

  /** @returns {Outcome} */
  get outcome() {
    const [changed, status, moves, repeats, steps, ended] =
      new Int32Array(wasm.memory.buffer, wasm.session_outcome(this.#open), 6);
    return /** @type {Outcome} */ ({ changed: changed !== 0, status, moves, repeats, steps, ended });
  }

  /** All fields as bytes, each at its offset. @returns {Uint8Array} */
  record() {
    const at = wasm.session_record(this.#open);
    return new Uint8Array(wasm.memory.buffer).slice(at, at + this.#about.size);
  }

  /** What a player may see, field by field. @returns {Record<string, Items>} */
  observe() {
    const buffer = /** @type {ArrayBuffer} */ (this.record().buffer);
    const kinds = { 1: Int8Array, 2: Int16Array, 4: Int32Array };
    return Object.fromEntries(this.fields.map(field =>
      [field.name, new kinds[field.itemsize](buffer, field.offset, field.count)]));
  }

  /** Exactly the actions that change the game or the cursor. @returns {boolean[]} */
  mask() {
    return Array.from(new Uint8Array(wasm.memory.buffer, wasm.session_mask(this.#open), this.actions.length), Boolean);
  }

  /** @param {number|string} action its number or its name @returns {Outcome} */
  step(action) {
    const number = typeof action === "string" ? this.actions.indexOf(action.toUpperCase()) : action;
    if (!Number.isInteger(number) || number < 0 || number >= this.actions.length) {
      throw new PuzzleError("InvalidAction",
        `${this.puzzle.name} has no action ${quote(action)}; it has ${this.actions.join(", ")}`);
    }
    this.#check(wasm.session_step(this.#open, number), "step");
    return this.outcome;
  }

  /** Take back the last move, whether or not UNDO is an action. @returns {boolean} whether there was one */
  undo() {
    this.#check(wasm.session_undo(this.#open), "undo");
    return this.outcome.changed;
  }

  /** Bring the game to its solution at once. @returns {Outcome} */
  solve() {
    this.#check(wasm.session_solve(this.#open), "solve");
    return this.outcome;
  }

  /** Actions that lead from here to the solved game. @param {number} [timeout] in seconds @returns {number[]} */
  plan(timeout = 30) {
    this.#check(wasm.session_plan(this.#open, timeout), "plan");
    return [...new Int32Array(this.#take(4 * wasm.last_size()).buffer)];
  }

  /**
   * The next action of an expert, which sees what the player sees, and what it is for.
   * @param {number} [timeout] in seconds @returns {{action: number, purpose: string}}
   */
  hint(timeout = 30) {
    this.#check(wasm.session_next_key(this.#open, timeout), "expert");
    return { action: wasm.last_action(), purpose: takeText(wasm.last_bytes()) };
  }

  /** The board as text. @returns {string} */
  text() {
    this.#check(wasm.session_text(this.#open), "text");
    return takeText(wasm.last_bytes());
  }

  #paint(/** @type {number} */ width, /** @type {number} */ height, /** @type {3|4} */ channels) {
    if (![width, height].every(side => Number.isInteger(side) && side > 0 && side <= MAX_SIDE)) {
      throw new PuzzleError("UnknownOption", `a picture is 1 to ${MAX_SIDE} pixels wide and high`);
    }
    const size = width * height * 4;
    if (size > this.#room) {
      wasm.free(this.#scratch);
      this.#scratch = wasm.malloc(size);
      this.#room = this.#scratch ? size : 0;
      if (!this.#scratch) throw new PuzzleError("EngineError", "there is no memory for a picture of that size");
    }
    const draw = channels === 3 ? wasm.session_pixels : wasm.session_rgba;
    this.#check(draw(this.#open, width, height, this.#scratch), "pixels");
    return new Uint8ClampedArray(wasm.memory.buffer, this.#scratch, width * height * channels);
  }

  /** The picture as rows of red, green, blue. @param {number} width @param {number} height @returns {Uint8Array} */
  pixels(width, height) {
    return new Uint8Array(this.#paint(width, height, 3));
  }

  /** The picture as a canvas wants it. @param {number} width @param {number} height @returns {Uint8ClampedArray} */
  rgba(width, height) {
    return this.#paint(width, height, 4).slice();
  }

  /**
   * The mouse at a place of the picture of this size; a click is a press and a release.
   * @param {Gesture} gesture @param {number} x @param {number} y @param {number} width @param {number} height
   * @param {number} [button] 0 left, 1 middle, 2 right
   * @returns {boolean} whether it made a move
   */
  mouse(gesture, x, y, width, height, button = 0) {
    this.#check(wasm.session_mouse(this.#open, width, height, x, y, button, GESTURES.indexOf(gesture)), "mouse");
    return this.outcome.changed;
  }

  /** An independent copy, in the middle of the game. @returns {Session} */
  clone() {
    this.#check(wasm.session_clone(this.#open), "clone");
    return new Session(MADE);
  }

  /** The whole session as bytes, for load(). @returns {Uint8Array} */
  save() {
    this.#check(wasm.session_save(this.#open), "save");
    return this.#take(wasm.last_size());
  }

  /** @param {Uint8Array} saved @returns {Session} */
  static load(saved) {
    const at = wasm.malloc(saved.length + 1);
    new Uint8Array(wasm.memory.buffer).set(saved, at);
    const code = wasm.session_load(at, saved.length);
    wasm.free(at);
    check(code, "load");
    return new Session(MADE);
  }

  /** Give its memory back; every later call fails. */
  close() {
    if (this.#at) wasm.session_free(this.#at);
    wasm.free(this.#scratch);
    this.#at = this.#scratch = this.#room = 0;
  }
}
