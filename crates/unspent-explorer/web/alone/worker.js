// What runs beside a page: it is told the module once, and then answers one question after another.
import { Accountant } from './accountant.js';

let accountant = null;

self.addEventListener('message', ({ data: { module, address, question } }) => {
  if (module) accountant = new Accountant(module);
  else self.postMessage(accountant.ask(address, question));
});
