// What a page that stands alone brings along in itself: the module, compressed, and its workers' script.
import { carriedBy } from '../explorer/ask.js';
import { lanes } from './lanes.js';

const dataIn = (id) => document.getElementById(id).textContent;

async function compiled() {
  const bytes = Uint8Array.from(atob(dataIn('module').trim()), (letter) => letter.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return WebAssembly.compile(await new Response(plain).arrayBuffer());
}

const script = URL.createObjectURL(new Blob([dataIn('worker')], { type: 'text/javascript' }));
const module = compiled();

const carried = module.then((found) => lanes(() => {
  const worker = new Worker(script);
  worker.postMessage({ module: found });
  return worker;
}));
carriedBy(async (...question) => (await carried)(...question));

/** Kept once the module can be asked. */
export const ready = carried.then(() => true);
