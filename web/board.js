// A game on a page: the board as the agent sees it, and all that an agent gets.

import { compiled, load, puzzle, puzzles, PuzzleError, Session } from "./puzzleport.js";
import { act, readEvents, writeEvents } from "./events.js";
import { Fields } from "./fields.js";
import { draw, Policy } from "./policy.js";
import { make } from "./dom.js";

/** The keys of a keyboard that are the same for every puzzle; digits are actions themselves. */
const KEYS = /** @type {Record<string, string>} */ ({
  arrowup: "UP", arrowdown: "DOWN", arrowleft: "LEFT", arrowright: "RIGHT", w: "UP", s: "DOWN", a: "LEFT", d: "RIGHT",
  enter: "SELECT", " ": "SELECT2", c: "CTRL",
});
const SIGNS = /** @type {Record<string, string>} */ ({
  UP: "↑", DOWN: "↓", LEFT: "←", RIGHT: "→", SELECT: "SELECT ⏎", SELECT2: "SELECT2 ␣", CTRL: "CTRL c",
});
const LARGEST = 1024; // pixels of a side
const AHEAD = 24; // keys of the plan that are shown
const STATUS = /** @type {Record<string, string>} */ ({ 1: "solved", 0: "going on", "-1": "lost" });

/** Questions to the worker, one at a time: a new one ends what is under way. */
class Helper {
  /** @type {Worker|null} */ #worker = null;
  #number = 0;
  /** @type {((reason: Error) => void)|null} */ #refuse = null;

  /** @param {string} task @param {object} more @returns {Promise<any>} */
  ask(task, more) {
    if (this.#refuse) this.stop();
    const worker = (this.#worker ??= new Worker(new URL("worker.js", import.meta.url), { type: "module" }));
    const number = ++this.#number;
    return new Promise((resolve, refuse) => {
      this.#refuse = refuse;
      worker.onerror = () => refuse(new Error("the worker could not be started"));
      worker.onmessage = ({ data }) => {
        if (data.number !== number) return;
        this.#refuse = null;
        if (data.error) refuse(new PuzzleError(data.error.name, data.error.message));
        else resolve(data.result);
      };
      worker.postMessage({ number, task, module: compiled(), ...more });
    });
  }

  /** End what is under way; true where that also lost the game that the worker had. */
  stop() {
    if (!this.#refuse) return false;
    this.#worker?.terminate();
    this.#worker = null;
    this.#refuse(new PuzzleError("Interrupted", "stopped"));
    this.#refuse = null;
    return true;
  }
}

/** The addresses of trained policies by puzzle and parameters, where some are published beside this file. */
export async function publishedAgents() {
  const list = new URL("agents/list.json", import.meta.url);
  const answer = await fetch(list);
  if (!answer.ok) return {};
  return Object.fromEntries(Object.entries(await answer.json()).map(([game, file]) => [game, new URL(String(file), list).href]));
}

export class Board {
  /** @type {Session|null} */ session = null;
  /** @type {import("./events.js").Event[]} */ events = [];
  /** @type {number[]} what the expert would press from here on */ plan = [];
  /** @type {Policy|null} */ policy = null;
  #helper = new Helper();
  #running = 0;
  #options = /** @type {{params?: string, seed?: string, undo?: boolean}} */ ({});
  /** @type {Record<string, import("./puzzleport.js").Items>|null} */ #before = null;
  /** @type {Fields|null} */ #fields = null;
  /** @type {number[]|null} */ #chances = null;
  #reward = 0;
  /** @type {number|undefined} */ #next;

  /**
   * @param {HTMLElement} root
   * @param {{puzzle?: string, all?: boolean, agents?: Record<string, string>}} about the puzzle, whether the user may choose
   *   another, and the addresses of trained policies by puzzle and parameters
   */
  constructor(root, about) {
    this.root = root;
    this.about = about;
    const button = (/** @type {string} */ text, /** @type {() => void} */ onclick, /** @type {string} */ title = "") =>
      make("button", { type: "button", onclick, title, class: "pp-button" }, text);
    this.choose = make("select", { "aria-label": "puzzle", onchange: () => this.start({ puzzle: this.choose.value }) });
    this.params = make("input", { "aria-label": "parameters", size: 12, maxLength: 400, spellcheck: false, autocomplete: "off" });
    this.presets = make("select", { "aria-label": "suggested parameters", onchange: () => {
      this.params.value = this.presets.value;
      this.start({ params: this.presets.value });
    } });
    this.seed = make("input", { "aria-label": "seed", size: 10, maxLength: 20, inputMode: "numeric", spellcheck: false, autocomplete: "off" });
    this.undo = make("input", { type: "checkbox", onchange: () => this.start({ params: this.params.value, seed: this.seed.value }) });
    const form = make("form", { class: "pp-row", onsubmit: (/** @type {SubmitEvent} */ event) => {
      event.preventDefault();
      this.start({ params: this.params.value, seed: this.seed.value });
    } },
    ...(this.about.all ? [this.choose] : []),
    make("label", {}, "parameters ", this.params), this.presets, make("label", {}, "seed ", this.seed),
    make("button", { type: "submit", class: "pp-button" }, "start"),
    button("next seed", () => this.start({ params: this.params.value, seed: this.#nextSeed() }), "the game of the next seed"),
    make("label", { title: "whether UNDO is one of the agent's actions" }, this.undo, " UNDO is an action"));

    this.error = make("p", { class: "pp-error", role: "alert", hidden: true });
    this.canvas = make("canvas", { class: "pp-board", tabIndex: 0, role: "application", "aria-label": "the board" });
    this.state = make("p", { class: "pp-state", role: "status" }, "loading");
    this.actions = make("div", { class: "pp-row pp-actions", role: "group", "aria-label": "actions" });
    this.player = make("select", { "aria-label": "player", onchange: () => this.#choosePlayer() });
    for (const [name, text] of [["you", "you"], ["expert", "expert"], ["random", "random"], ["masked", "masked random"],
      ["trained", "trained policy"]]) {
      this.player.append(make("option", { value: name }, text));
    }
    this.stepButton = button("step", () => this.#playStep(), "one action of this player");
    this.runButton = button("run", () => (this.#running ? this.pause() : this.run()));
    this.speed = make("input", { type: "range", min: "1", max: "60", value: "12", "aria-label": "actions a second" });
    this.ahead = make("p", { class: "pp-ahead", "aria-label": "the plan ahead" });
    this.code = make("code");
    this.linkButton = button("copy link", () => this.#copy(this.link(), this.linkButton), "a link to this very position");
    this.codeButton = button("copy", () => this.#copy(this.code.textContent ?? "", this.codeButton));
    this.seen = make("div", { class: "pp-seen" });
    this.words = make("pre", { class: "pp-words" });
    this.details = make("details", {}, make("summary", {}, "as text"), this.words);
    this.details.addEventListener("toggle", () => this.#show());
    this.board = make("div", { class: "pp-side" }, this.canvas, this.state, this.actions,
      make("div", { class: "pp-row" }, button("undo", () => this.do("undo"), "take back the last move"), this.linkButton),
      make("div", { class: "pp-row" }, make("label", {}, "player ", this.player), this.stepButton, this.runButton,
        make("label", {}, "speed ", this.speed)),
      this.ahead);
    this.root.replaceChildren(form, this.error,
      make("div", { class: "pp-columns" }, this.board,
        make("div", { class: "pp-side pp-agent" }, make("p", { class: "pp-title" }, "What an agent gets"), this.seen, this.details,
          make("p", { class: "pp-title" }, "The same in Python"), make("div", { class: "pp-python" }, this.code, this.codeButton))));
    this.root.classList.add("pp");
    this.canvas.addEventListener("keydown", event => this.#key(event));
    for (const [name, gesture] of [["pointerdown", "press"], ["pointermove", "drag"], ["pointerup", "release"], ["pointercancel", "release"]]) {
      this.canvas.addEventListener(name, event => this.#pointer(/** @type {PointerEvent} */ (event), gesture));
    }
    this.canvas.addEventListener("contextmenu", event => event.preventDefault());
    new ResizeObserver(() => this.#draw()).observe(this.board);
    // The colours of the grids are the page's, which the reader may switch.
    new MutationObserver(() => this.#show()).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#show());
  }

  /** @param {string} text @param {HTMLElement} button */
  async #copy(text, button) {
    if (button === this.linkButton) history.replaceState(null, "", text);
    const said = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "copied";
    } catch {
      this.fail(new Error(`this browser does not let pages copy; here it is: ${text}`));
    }
    setTimeout(() => (button.textContent = said), 1500);
  }

  /** Show what went wrong. @param {unknown} thrown */
  fail(thrown) {
    const known = thrown instanceof Error;
    if (known && thrown.name === "Interrupted") return;
    this.error.textContent = known ? `${thrown.name}: ${thrown.message}` : String(thrown);
    this.error.hidden = false;
  }

  #nextSeed() {
    return /^\d{1,20}$/.test(this.seed.value) ? String(BigInt(this.seed.value) + 1n) : "1";
  }

  // ---- games

  /** The module, and the game that the address asks for. */
  async open() {
    try {
      await load();
    } catch (thrown) {
      this.state.textContent = "";
      this.fail(thrown);
      return;
    }
    if (this.about.all) {
      for (const one of puzzles()) this.choose.append(make("option", { value: one.name }, one.title));
    }
    const wanted = new URLSearchParams(location.hash.slice(1));
    const name = this.about.all ? wanted.get("puzzle") ?? "" : this.about.puzzle ?? "";
    const first = this.about.puzzle ?? "net";
    const here = name === wanted.get("puzzle");
    await this.start({
      puzzle: puzzles().some(one => one.name === name) ? name : first,
      params: here ? wanted.get("id") ?? undefined : undefined,
      seed: here && wanted.has("id") ? undefined : "1",
      undo: here && wanted.get("undo") === "1",
      events: here ? wanted.get("keys") ?? "" : "",
    });
    this.root.dataset.ready = "1";
  }

  /**
   * Another game; what is left out stays, or is the puzzle's own.
   * @param {{puzzle?: string, params?: string, seed?: string, undo?: boolean, events?: string, maxSteps?: number,
   *   maxRepeats?: number}} wanted
   */
  async start(wanted) {
    this.pause();
    this.error.hidden = true;
    const name = wanted.puzzle ?? this.session?.puzzle.name ?? "net";
    const about = puzzle(name);
    const other = name !== this.session?.puzzle.name;
    if (wanted.undo !== undefined) this.undo.checked = wanted.undo;
    const options = { params: wanted.params ?? (other ? about.easiest : this.params.value), seed: wanted.seed ?? "",
      undo: this.undo.checked, maxSteps: wanted.maxSteps, maxRepeats: wanted.maxRepeats };
    this.state.textContent = "making a game";
    try {
      const events = readEvents(wanted.events ?? "");
      const made = await this.#helper.ask("create", { puzzle: name, options, events: wanted.events ?? "" });
      const session = Session.load(made.saved);
      this.session?.close();
      this.session = session;
      this.events = events;
      // A game of a seed is named by it, whatever it was asked for by; any other by its description.
      this.#options = made.seed ? { params: made.params, seed: made.seed } : { params: options.params };
      this.#enter(other, made);
      await this.#choosePlayer();
    } catch (thrown) {
      this.fail(thrown);
      this.#show();
    }
  }

  /** @param {boolean} other whether it is another puzzle @param {{params: string, seed: string}} made */
  #enter(other, made) {
    const session = /** @type {Session} */ (this.session);
    const about = session.puzzle;
    this.choose.value = about.name;
    this.params.value = this.#options.params?.includes(":") ? this.#options.params : made.params;
    this.seed.value = made.seed;
    const suggested = [["easiest", about.easiest], ["for people", about.human], ...about.presets];
    this.presets.replaceChildren(make("option", { value: made.params, disabled: true, selected: true }, "suggested"),
      ...suggested.map(([title, params]) => make("option", { value: params }, `${title}: ${params}`)));
    const canUndo = about.actions.includes("UNDO");
    this.undo.disabled = !canUndo;
    /** @type {HTMLElement} */ (this.undo.parentElement).hidden = !canUndo;
    this.actions.replaceChildren(...session.actions.map((name, action) => make("button", {
      type: "button", class: "pp-button pp-action", "data-action": name, "aria-label": name,
      onclick: () => this.do(action),
    }, make("span", {}, SIGNS[name] ?? name))));
    this.#fields = new Fields(session.fields);
    this.seen.replaceChildren(this.#fields.element);
    this.canvas.setAttribute("aria-label", `the board of ${about.title}; keys: arrows, Enter, Space, digits, u to undo`);
    this.#before = null;
    this.#reward = 0;
    this.plan = [];
    this.#chances = null;
    this.#next = undefined;
    this.ahead.textContent = "";
    this.#show();
  }

  /** The address of this position. */
  link() {
    const session = /** @type {Session} */ (this.session);
    const { params, seed } = this.#options;
    const words = new URLSearchParams({ puzzle: session.puzzle.name, id: seed ? `${params}#${seed}` : params ?? "" });
    if (this.undo.checked && session.undoAllowed) words.set("undo", "1");
    if (this.events.length) words.set("keys", writeEvents(this.events));
    return `${location.origin}${location.pathname}${location.search}#${words}`;
  }

  /** Do something in the game, and show what it led to. @param {import("./events.js").Event} event */
  do(event) {
    const session = this.session;
    if (!session) return;
    try {
      const before = session.observe();
      const over = session.outcome.ended === 1;
      act(session, event);
      this.events.push(event);
      const gesture = typeof event === "object";
      if (!gesture || session.outcome.changed) {
        this.#before = before;
        this.#next = undefined;
        this.#reward = over || event === "undo" ? 0 : session.outcome.status;
        // A plan holds as long as the game follows it.
        if (event === this.plan[0]) this.plan.shift();
        else if (session.outcome.changed) this.plan = [];
        this.#chances = this.player.value === "trained" && this.policy ? this.policy.probabilities(session) : null;
      }
      this.#show();
    } catch (thrown) {
      this.pause();
      this.fail(thrown);
    }
  }

  /** Another position of the same game. @param {Session} session @param {import("./events.js").Event[]} events */
  replace(session, events) {
    this.session?.close();
    this.session = session;
    this.events = events;
    this.#before = null;
    this.#reward = 0;
    this.plan = [];
    this.#show();
  }

  /** What a player is about to do: how likely each action was, and which one it takes. */
  mark(/** @type {number[]|null} */ chances, /** @type {number|undefined} */ next) {
    this.#chances = chances;
    this.#next = next;
    this.#show();
  }

  // ---- what is shown

  #draw() {
    if (!this.session) return;
    const css = Math.max(120, Math.min(this.board.clientWidth, 440));
    const side = Math.min(LARGEST, Math.round(css * (window.devicePixelRatio || 1)));
    this.canvas.style.width = this.canvas.style.height = `${css}px`;
    if (this.canvas.width !== side) this.canvas.width = this.canvas.height = side;
    const context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    try {
      context.putImageData(new ImageData(/** @type {any} */ (this.session.rgba(side, side)), side, side), 0, 0);
    } catch (thrown) {
      this.fail(thrown);
    }
  }

  #show() {
    const session = this.session;
    if (!session) return;
    const { status, steps, moves, repeats, ended } = session.outcome;
    const mask = session.mask();
    this.#draw();
    const end = ended === 2 ? "cut off" : STATUS[String(status)];
    this.state.textContent = `${end} · reward ${this.#reward} · steps ${steps} · moves ${moves} · repeats ${repeats} · ` +
      `mask ${mask.map(Number).join("")}`;
    this.root.dataset.status = end;
    const next = this.player.value === "expert" ? this.plan[0] : this.#next;
    [...this.actions.children].forEach((button, action) => {
      button.setAttribute("aria-disabled", String(!mask[action]));
      button.setAttribute("title", mask[action] ? "" : "has no effect here");
      button.classList.toggle("pp-next", action === next);
      /** @type {HTMLElement} */ (button).style.setProperty("--pp-chance", this.#chances ? `${100 * this.#chances[action]}%` : "0%");
      button.setAttribute("aria-label", this.#chances
        ? `${session.actions[action]}, ${(100 * this.#chances[action]).toFixed(0)} percent` : session.actions[action]);
    });
    if (this.player.value === "expert") {
      const keys = this.plan.slice(0, AHEAD).map(action => SIGNS[session.actions[action]]?.split(" ")[0] ?? session.actions[action]);
      this.ahead.textContent = this.plan.length ? `${this.plan.length} keys ahead: ${keys.join(" ")}${this.plan.length > AHEAD ? " …" : ""}` : "";
    }
    this.#fields?.show(session.observe(), this.#before);
    if (this.details.open) this.words.textContent = session.text();
    const id = `params=${JSON.stringify(this.#options.params)}`;
    const undo = session.undoAllowed ? ", undo=True" : "";
    const seed = this.#options.seed ? `seed=${this.#options.seed}` : "";
    this.code.textContent = `env = gym.make("puzzleport/${session.puzzle.title.replaceAll(" ", "")}-v0", ${id}${undo})\n` +
      `observation, info = env.reset(${seed})`;
  }

  // ---- you

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || !this.session) return;
    const key = event.key.toLowerCase();
    const action = this.session.actions.indexOf(KEYS[key] ?? key.toUpperCase());
    if (key === "u") this.do("undo");
    else if (action >= 0) this.do(action);
    else if (!(key in KEYS) || key.length === 1) return;
    event.preventDefault();
  }

  /** @param {PointerEvent} event @param {string} gesture */
  #pointer(event, gesture) {
    if (!this.session || (gesture !== "press" && !this.canvas.hasPointerCapture(event.pointerId))) return;
    if (gesture === "press") {
      this.canvas.setPointerCapture(event.pointerId);
      this.canvas.focus({ preventScroll: true });
      this.held = event.button;
    }
    const box = this.canvas.getBoundingClientRect();
    const side = this.canvas.width;
    const place = (/** @type {number} */ at) => Math.max(-side, Math.min(2 * side, Math.floor(at * side / box.width)));
    this.do({ side, button: this.held ?? 0, gesture: /** @type {any} */ (gesture),
      x: place(event.clientX - box.left), y: place(event.clientY - box.top) });
    event.preventDefault();
  }

  // ---- the other players

  async #choosePlayer() {
    const who = this.player.value;
    this.pause();
    this.stepButton.hidden = this.runButton.hidden = who === "you";
    /** @type {HTMLElement} */ (this.speed.parentElement).hidden = who === "you";
    this.error.hidden = true;
    this.ahead.textContent = "";
    this.#chances = null;
    const session = this.session;
    if (!session) return;
    const trained = /** @type {HTMLOptionElement} */ (this.player.options[4]);
    const address = this.about.agents?.[`${session.puzzle.name} ${session.params}`];
    trained.disabled = !address;
    trained.textContent = address ? "trained policy" : "trained policy (none for these parameters)";
    try {
      if (who === "trained") {
        this.policy = null;
        if (!address) throw new PuzzleError("UnknownOption", `no policy is published for ${session.puzzle.name} ${session.params}`);
        const response = await fetch(address);
        if (!response.ok) throw new Error(`there is no policy at ${address}`);
        this.policy = new Policy(await response.json());
        this.#chances = this.policy.probabilities(session);
      }
      if (who === "expert" && !session.outcome.ended) await this.#think();
    } catch (thrown) {
      this.fail(thrown);
    }
    this.#show();
  }

  /** Ask the expert, where its plan has run out. */
  async #think() {
    if (this.plan.length) return;
    this.ahead.textContent = "thinking";
    const answer = await this.#helper.ask("expert", { events: writeEvents(this.events) });
    this.plan = answer.keys;
    this.#show();
    if (answer.purpose) this.ahead.textContent = answer.purpose;
  }

  async #playStep() {
    const session = this.session;
    if (!session || session.outcome.ended) return false;
    try {
      const mask = session.mask();
      if (this.player.value === "expert") {
        await this.#think();
        if (this.session !== session || !this.plan.length) return false;
        this.do(this.plan[0]);
        if (this.session.puzzle.hidden && !session.outcome.ended && !this.#running) await this.#think();
      } else if (this.player.value === "trained" && this.policy) {
        this.do(draw(this.policy.probabilities(session)));
      } else if (this.player.value === "masked") {
        this.do(draw(mask.some(Boolean) ? mask.map(Number) : mask.map(() => 1)));
      } else if (this.player.value === "random") {
        this.do(draw(mask.map(() => 1)));
      }
    } catch (thrown) {
      this.pause();
      this.fail(thrown);
      this.ahead.textContent = "";
      return false;
    }
    return !session.outcome.ended;
  }

  async run() {
    const mine = (this.#running = Date.now() + Math.random());
    this.runButton.textContent = "pause";
    while (this.#running === mine && (await this.#playStep())) {
      await new Promise(resolve => setTimeout(resolve, 1000 / Number(this.speed.value)));
    }
    if (this.#running === mine) this.pause();
  }

  pause() {
    this.#running = 0;
    this.runButton.textContent = "run";
  }
}
