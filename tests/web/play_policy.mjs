// Plays random games and prints what a policy says in each state: node play_policy.mjs FOLDER POLICY STATES
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, file, states] = process.argv.slice(2);
const here = name => import(pathToFileURL(`${folder}/${name}`).href);
const { load, Session } = await here("puzzleport.js");
const { Policy } = await here("policy.js");
await load(readFileSync(`${folder}/puzzleport.wasm`));

const policy = new Policy(JSON.parse(readFileSync(file, "utf8")));
const told = [];
let random = 1;
for (let seed = 0; told.length < Number(states); seed++) {
  const session = new Session(policy.about.puzzle, { params: policy.about.params, seed });
  for (let step = 0; step < 50 && told.length < Number(states); step++) {
    told.push(policy.probabilities(session));
    random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
    session.step((random >>> 16) % session.actions.length);
  }
  session.close();
}
console.log(JSON.stringify(told));
