// The fields of an observation as small grids; what the last action changed is lit up.

import { make, sharpContext } from "./dom.js";

/** @typedef {import("./puzzleport.js").Field} Field */

const WIDE = 40; // beyond so many columns cells are small and have no numbers

/** A field as planes of rows and columns; a vector goes on in the next row. @param {Field} field @param {number} most columns */
function layout({ shape, count }, most) {
  if (shape.length >= 2) return { height: shape[0], width: shape[1], planes: count / (shape[0] * shape[1]) };
  const width = Math.min(count, most);
  return { height: Math.ceil(count / width), width, planes: 1 };
}

export class Fields {
  /** @param {Field[]} fields */
  constructor(fields) {
    this.fields = fields;
    this.canvases = fields.map(field => make("canvas", { role: "img" }));
    this.element = make("div", { class: "pp-fields" }, ...fields.map((field, i) => {
      const size = field.shape.join(" × ") || "scalar";
      return make("figure", { title: field.about },
        make("figcaption", {}, make("code", {}, field.name), ` ${size}`), this.canvases[i]);
    }));
  }

  /**
   * @param {Record<string, import("./puzzleport.js").Items>} now
   * @param {Record<string, import("./puzzleport.js").Items>|null} before
   */
  show(now, before) {
    const style = getComputedStyle(this.element);
    const colour = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
    const [ink, line, lit, tint] = ["--pp-ink", "--pp-line", "--pp-lit", "--pp-tint"].map(colour);
    const room = Math.max(200, Math.min(this.element.clientWidth, 480) - 8);
    this.fields.forEach((field, number) => {
      const values = now[field.name];
      const old = before?.[field.name];
      const large = field.high > 99 || field.low < -9 ? 24 : 16;
      const { height, width, planes } = layout(field, Math.floor(room / large));
      const cell = width > WIDE ? 7 : large;
      const across = Math.max(1, Math.min(planes, Math.floor(room / (width * cell + 6))));
      const context = sharpContext(this.canvases[number], across * (width * cell + 6), Math.ceil(planes / across) * (height * cell + 6));
      context.font = "10px ui-monospace, monospace";
      context.textAlign = "center";
      context.textBaseline = "middle";
      context.lineWidth = 1;
      let changes = 0;
      for (let i = 0; i < values.length; i++) {
        const plane = i % planes, place = Math.floor(i / planes);
        const x = (plane % across) * (width * cell + 6) + (place % width) * cell;
        const y = Math.floor(plane / across) * (height * cell + 6) + Math.floor(place / width) * cell;
        const changed = old && old[i] !== values[i];
        changes += Number(changed);
        const share = field.high > field.low ? (values[i] - field.low) / (field.high - field.low) : 0;
        context.globalAlpha = changed ? 1 : 0.55 * share;
        context.fillStyle = changed ? lit : tint;
        context.fillRect(x, y, cell, cell);
        context.globalAlpha = 1;
        context.strokeStyle = line;
        context.strokeRect(x + 0.5, y + 0.5, cell, cell);
        if (cell < 10) continue;
        context.fillStyle = changed ? "#000" : ink;
        context.fillText(String(values[i]), x + cell / 2 + 0.5, y + cell / 2 + 1);
      }
      this.canvases[number].setAttribute("aria-label",
        `${field.name}: ${field.about}. ${values.length === 1 ? `It is ${values[0]}. ` : ""}${changes} changed.`);
    });
  }
}
