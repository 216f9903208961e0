// Every board of a page: <div data-puzzleport="net">, or data-puzzleport="" with all puzzles to choose from.

import { Board } from "./board.js";

/** The addresses of trained policies, where some are published beside this file. */
async function agents() {
  try {
    const list = new URL("agents/list.json", import.meta.url);
    const found = await (await fetch(list)).json();
    return Object.fromEntries(Object.entries(found).map(([game, file]) => [game, new URL(String(file), list).href]));
  } catch {
    return {};
  }
}

for (const root of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-puzzleport]"))) {
  const name = root.dataset.puzzleport;
  const board = new Board(root, { puzzle: name || undefined, all: !name, agents: await agents() });
  await board.open();
  addEventListener("hashchange", () => location.hash.includes("puzzle=") && board.open());
}
