// Plays random games and prints a digest of each: of every observation, mask, outcome and picture in it.
// node play_random.mjs FOLDER PUZZLE SEEDS STEPS SIDE
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, name, seeds, steps, side] = process.argv.slice(2);
const { load, Session, puzzle } = await import(pathToFileURL(`${folder}/puzzleport.js`).href);
await load(readFileSync(`${folder}/puzzleport.wasm`));

const digests = {};
for (const params of new Set([puzzle(name).easiest, puzzle(name).human])) {
  for (let seed = 0; seed < Number(seeds); seed++) {
    const session = new Session(name, { params, seed, undo: seed % 2 === 1 });
    const hash = createHash("sha256");
    const note = () => {
      const { changed, status, moves, repeats, steps: taken, ended } = session.outcome;
      hash.update(session.record()).update(Uint8Array.from(session.mask()));
      hash.update(`${Number(changed)} ${status} ${moves} ${repeats} ${taken} ${ended}`);
      hash.update(session.pixels(Number(side), Number(side)));
    };
    note();
    let random = seed;
    for (let step = 0; step < Number(steps); step++) {
      random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
      session.step((random >>> 16) % session.actions.length);
      note();
    }
    hash.update(session.text()).update(session.gameId);
    digests[`${params}#${seed}`] = hash.digest("hex");
    session.close();
  }
}
console.log(JSON.stringify(digests));
