// Asks a game of a long description for its id again and again, and prints whether a large block of the module's memory then
// lies further up than before.
// node ask_again.mjs FOLDER TIMES
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, times] = process.argv.slice(2);
const { instantiate } = WebAssembly;
let wasm;
WebAssembly.instantiate = async (...given) => {
  const made = await instantiate(...given);
  wasm = made.exports;
  return made;
};
const { load, Session } = await import(pathToFileURL(`${folder}/puzzleport.js`).href);
await load(readFileSync(`${folder}/puzzleport.wasm`));

const session = new Session("net", { params: `50x50:${"12345".repeat(500)}` });
const { gameId } = session;
const place = () => {
  const at = wasm.malloc(1 << 20);
  wasm.free(at);
  return at;
};
const before = place();
const others = Array.from({ length: Number(times) }, () => session.gameId).filter(told => told !== gameId);
console.log(JSON.stringify({ others, further: place() - before }));
