// Elements by their names and texts. Nothing here, and nothing in the other files, turns text into HTML: parameters, links
// and recordings come from anywhere.

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag @param {Record<string, any>} [about] properties; "class", "role" and those with a "-" are attributes
 * @param {...(Node|string)} inside
 * @returns {HTMLElementTagNameMap[T]}
 */
export function make(tag, about = {}, ...inside) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(about)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class" || name === "role" || name === "for" || name === "list" || name.includes("-")) {
      element.setAttribute(name, value);
    } else /** @type {any} */ (element)[name] = value;
  }
  element.append(...inside);
  return element;
}

/** A canvas that is sharp on every screen: its size on the page, and a context that counts in that. */
export function sharpContext(/** @type {HTMLCanvasElement} */ canvas, /** @type {number} */ width, /** @type {number} */ height) {
  const density = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * density);
  canvas.height = Math.round(height * density);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.scale(density, density);
  return context;
}
