// The accountant as a WebAssembly module: an address and a question go in, a reply comes out.

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Bytes that an instance may keep between questions: memory grows, and is never given back. */
const KEPT = 64 << 20;

const ELSEWHERE = 'ask for less at a time, or use the command, which has more of it';

export class Accountant {
  /** `module` is compiled; nothing is handed to it. */
  constructor(module) {
    this.module = module;
    this.instance = null;
  }

  /** What is answered to a text at an address: a status, as in HTTP, the type of its media, and its text. */
  ask(address, question = '') {
    this.instance ??= new WebAssembly.Instance(this.module);
    const { exports } = this.instance;
    try {
      return read(exports, exports.ask(write(exports, address, question)));
    } catch (trap) {
      this.instance = null;
      return troubled(said(exports), trap);
    } finally {
      if (exports.memory.buffer.byteLength > KEPT) this.instance = null;
    }
  }
}

/** Puts both into the module's room; how long the address is. */
function write({ memory, room }, address, question) {
  const [place, text] = [encoder.encode(address), encoder.encode(question)];
  const at = room(place.length + text.length);
  const bytes = new Uint8Array(memory.buffer, at, place.length + text.length);
  bytes.set(place);
  bytes.set(text, place.length);
  return place.length;
}

const textAt = ({ memory }, at, length) => decoder.decode(new Uint8Array(memory.buffer, at, length));

function read(exports, status) {
  const reply = textAt(exports, exports.reply(), exports.reply_length());
  const end = reply.indexOf('\n');
  return { status, kind: reply.slice(0, end), text: reply.slice(end + 1) };
}

/** What the module says of its end. */
function said(exports) {
  try {
    return textAt(exports, exports.fault(), exports.fault_length());
  } catch {
    return '';
  }
}

/** An end without an answer, as an answer. */
function troubled(fault, trap) {
  const isDefect = fault && fault !== 'memory';
  const message = isDefect ? fault.replaceAll('\n', ' ')
    : fault ? 'the answer needs more memory than there is here (256 MiB)'
      : `the answer needs too deep a recursion (${trap.message})`;
  const hint = isDefect ? 'nothing that is set is lost; please report it' : ELSEWHERE;
  const text = JSON.stringify({ error: { message, hint } });
  return { status: isDefect ? 500 : 422, kind: 'application/json', text };
}
