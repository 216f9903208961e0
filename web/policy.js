// Trained policies, as `puzzleport export` writes them: the networks of core/agents/network.py, for one game.

import { PuzzleError, quote } from "./puzzleport.js";

const HEADS = 4;

/**
 * @typedef {{shape: number[], data: Float32Array|Int32Array}} Matrix
 * @typedef {{puzzle: string, params: string, actions: string[], masked: boolean, temperature: number, kind: string,
 *   layers: number, width: number, height_cells: number, width_cells: number, features: number}} About
 */

/** A number of 16 bits. @param {number} bits */
function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (!exponent) return sign * fraction * 2 ** -24;
  return exponent === 31 ? NaN : sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** @param {{dtype: string, shape: number[], data: string}} from @returns {Matrix} */
function decode({ dtype, shape, data }) {
  const bytes = Uint8Array.from(atob(data), letter => letter.charCodeAt(0));
  const found = dtype === "I32"
    ? new Int32Array(bytes.buffer)
    : Float32Array.from(new Uint16Array(bytes.buffer), half);
  if (found.length !== shape.reduce((a, b) => a * b, 1)) throw new Error("an array has not the size of its shape");
  return { shape, data: found };
}

/** A network that plays one puzzle at one setting. */
export class Policy {
  /** @param {any} file what the exported file holds */
  constructor(file) {
    try {
      if (file.format !== "puzzleport policy 1") throw new Error(`its format is ${quote(file.format)}`);
      /** @type {About} */ this.about = file.about;
      /** @type {Record<string, Matrix>} */
      this.weights = Object.fromEntries(Object.entries(file.arrays).map(([name, one]) => [name, decode(/** @type {any} */ (one))]));
    } catch (thrown) {
      throw new PuzzleError("ValueError", `this is no policy: ${quote(thrown)}`);
    }
  }

  /** rows of x times a weight, and its bias. @param {string} name @param {Float32Array} x */
  #linear(name, x) {
    const { data: weight, shape: [inputs, outputs] } = this.weights[`${name}.weight`];
    const bias = this.weights[`${name}.bias`].data;
    const rows = x.length / inputs;
    const out = new Float32Array(rows * outputs);
    const sum = new Float64Array(outputs);
    for (let row = 0; row < rows; row++) {
      sum.set(bias);
      for (let i = 0; i < inputs; i++) {
        const one = x[row * inputs + i];
        if (one) for (let j = 0; j < outputs; j++) sum[j] += one * weight[i * outputs + j];
      }
      out.set(sum, row * outputs);
    }
    return out;
  }

  /** The logits of the actions. @param {import("./puzzleport.js").Session} session @returns {Float32Array} */
  logits(session) {
    const fields = session.observe();
    const numbers = session.fields.flatMap(field => [...fields[field.name]]);
    const { item, value } = this.weights;
    let x = Float32Array.from(item.data, (at, i) => Number(numbers[at] === value.data[i]));
    const dense = this.about.kind === "dense";
    if (!dense) x = this.#cells(x);
    for (let layer = 0; layer < (dense ? this.about.layers : 1); layer++) {
      x = this.#linear(`hidden.${layer}`, x).map(one => Math.max(one, 0));
    }
    return this.#linear("policy", x);
  }

  /** The cell at the cursor and the mean of all, after the blocks. @param {Float32Array} seen */
  #cells(seen) {
    const { kind, height_cells: height, width_cells: width, features, layers, width: size } = this.about;
    const n = height * width;
    const cells = seen.slice(0, n * features);
    const rest = this.#linear("rest", seen.slice(n * features));
    const place = this.weights.place.data;
    let x = this.#linear("cell", cells).map((one, i) => one + rest[i % size] + place[i]);
    const add = (/** @type {Float32Array} */ more) => {
      x = x.map((one, i) => one + more[i]);
    };
    const rows = Array.from({ length: height }, (_, y) => Array.from({ length: width }, (_, c) => y * width + c));
    const columns = Array.from({ length: width }, (_, c) => Array.from({ length: height }, (_, y) => y * width + c));
    for (let block = 0; block < layers; block++) {
      for (const [way, lines] of Object.entries({ row: rows, column: columns })) {
        const name = `block.${block}.${way}`;
        add(kind === "lines" ? this.#pass(name, norm(x, size), lines, size) : this.#attend(name, norm(x, size), lines, size));
      }
      const inside = this.#linear(`block.${block}.inside`, norm(x, size)).map(one => Math.max(one, 0));
      add(this.#linear(`block.${block}.outside`, inside));
    }
    x = norm(x, size);
    const out = new Float32Array(2 * size);
    for (let cell = 0; cell < n; cell++) {
      const here = cells[(cell + 1) * features - 2] * cells[(cell + 1) * features - 1];
      for (let j = 0; j < size; j++) {
        out[j] += here * x[cell * size + j];
        out[size + j] += x[cell * size + j] / n;
      }
    }
    return out;
  }

  /** Attention of the cells within each line. @param {string} name @param {Float32Array} x @param {number[][]} lines @param {number} size */
  #attend(name, x, lines, size) {
    const parts = this.#linear(`${name}.in`, x);
    const each = size / HEADS;
    const mixed = new Float32Array(x.length);
    const part = (/** @type {number} */ cell, /** @type {number} */ which, /** @type {number} */ head) =>
      cell * 3 * size + which * size + head * each;
    for (const line of lines) {
      for (let head = 0; head < HEADS; head++) {
        for (const cell of line) {
          const query = part(cell, 0, head);
          const scores = line.map(other => {
            const key = part(other, 1, head);
            let sum = 0;
            for (let j = 0; j < each; j++) sum += parts[query + j] * parts[key + j];
            return sum / Math.sqrt(each);
          });
          const chances = softmax(scores, 1);
          line.forEach((other, i) => {
            const from = part(other, 2, head);
            for (let j = 0; j < each; j++) mixed[cell * size + head * each + j] += chances[i] * parts[from + j];
          });
        }
      }
    }
    return this.#linear(`${name}.out`, mixed);
  }

  /** Each line, as a whole, through two layers. @param {string} name @param {Float32Array} x @param {number[][]} lines @param {number} size */
  #pass(name, x, lines, size) {
    const out = new Float32Array(x.length);
    for (const line of lines) {
      const whole = Float32Array.from({ length: line.length * size }, (_, i) => x[line[Math.floor(i / size)] * size + (i % size)]);
      const inside = this.#linear(`${name}.in`, whole).map(one => Math.max(one, 0));
      const made = this.#linear(`${name}.out`, inside);
      line.forEach((cell, i) => out.set(made.subarray(i * size, (i + 1) * size), cell * size));
    }
    return out;
  }

  /** The chance of each action of the session. @param {import("./puzzleport.js").Session} session @returns {number[]} */
  probabilities(session) {
    const { puzzle, params, actions, masked, temperature } = this.about;
    if (session.puzzle.name !== puzzle || session.params !== params) {
      throw new PuzzleError("UnknownOption",
        `the policy plays ${puzzle} ${params}, not ${session.puzzle.name} ${session.params}`);
    }
    const mask = session.mask().slice(0, actions.length);
    const all = !masked || !mask.some(Boolean); // where nothing has an effect, all actions are as good
    const logits = Array.from(this.logits(session), (logit, action) => (all || mask[action] ? logit : -Infinity));
    const chances = temperature === 0
      ? logits.map((_, action) => Number(action === logits.indexOf(Math.max(...logits))))
      : softmax(logits, temperature);
    return session.actions.map((_, action) => chances[action] ?? 0); // it never learned UNDO
  }
}

/** @param {Float32Array} x @param {number} size */
function norm(x, size) {
  const out = new Float32Array(x.length);
  for (let at = 0; at < x.length; at += size) {
    let sum = 0;
    for (let j = 0; j < size; j++) sum += x[at + j] ** 2;
    const length = Math.sqrt(sum / size + 1e-6);
    for (let j = 0; j < size; j++) out[at + j] = x[at + j] / length;
  }
  return out;
}

/** @param {number[]} logits @param {number} temperature */
function softmax(logits, temperature) {
  const most = Math.max(...logits);
  const chances = logits.map(logit => Math.exp((logit - most) / temperature));
  const sum = chances.reduce((a, b) => a + b, 0);
  return chances.map(chance => chance / sum);
}

/** An action by its chances. @param {number[]} chances */
export function draw(chances) {
  let left = Math.random() * chances.reduce((a, b) => a + b, 0);
  return Math.max(0, chances.findIndex(chance => (left -= chance) < 0));
}
