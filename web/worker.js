// What may take long, away from the page: new games, and what the expert would do. The page ends the worker to stop it.
//
// Requests are {number, task, module, ...}; the answer has the same number, and either a result or an error.

import { load, Session } from "./puzzleport.js";
import { act, readEvents } from "./events.js";

/** The game at its start: planning needs what the engine noted when it made the game, which no save has. */
let start = /** @type {Session|null} */ (null);

/** @type {Record<string, (request: any) => any>} */
const tasks = {
  create({ puzzle, options, events }) {
    start?.close();
    start = null;
    start = new Session(puzzle, options);
    const session = start.clone();
    for (const event of readEvents(events)) act(session, event);
    const made = { saved: session.save(), params: session.params, seed: session.seed };
    session.close();
    return made;
  },

  expert({ events }) {
    if (!start) throw new Error("there is no game yet");
    const session = start.clone();
    try {
      for (const event of readEvents(events)) act(session, event);
      if (!session.puzzle.hidden) return { keys: session.plan(), purpose: "" };
      const { action, purpose } = session.hint();
      return { keys: [action], purpose };
    } finally {
      session.close();
    }
  },
};

self.onmessage = async ({ data }) => {
  try {
    await load(data.module);
    self.postMessage({ number: data.number, result: tasks[data.task](data) });
  } catch (thrown) {
    const { name, message } = thrown instanceof Error ? thrown : new Error(String(thrown));
    self.postMessage({ number: data.number, error: { name, message } });
  }
};
