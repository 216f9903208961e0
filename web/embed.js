// Every board of a page: <div data-puzzleport="net">, or data-puzzleport="" with all puzzles to choose from.

import { Board, publishedAgents } from "./board.js";

for (const root of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-puzzleport]"))) {
  const name = root.dataset.puzzleport;
  const board = new Board(root, { puzzle: name || undefined, all: !name, agents: await publishedAgents() });
  await board.open();
  addEventListener("hashchange", () => location.hash.includes("puzzle=") && board.open());
}
