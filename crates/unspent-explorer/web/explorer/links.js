// Links that restore a state: JSON, compressed, in the letters of an address.
import { frame, isDraft, same } from './draft.js';

/** Bytes that a link may unfold to. */
const MOST = 2e6;

/** What comes out of a stream; it is read no further than is sensible. */
async function through(bytes, stream) {
  const parts = [];
  let size = 0;
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value);
    size += part.value.length;
    if (size > MOST) {
      reader.cancel();
      throw new Error('too large');
    }
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

export async function packed(value) {
  const json = new TextEncoder().encode(JSON.stringify(value));
  const bytes = await through(json, new CompressionStream('deflate-raw'));
  let text = '';
  for (let at = 0; at < bytes.length; at += 4096) {
    text += String.fromCharCode(...bytes.subarray(at, at + 4096));
  }
  return btoa(text).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
}

export async function unpacked(text) {
  if (text.length > MOST) throw new Error('too long');
  const letters = atob(text.replace(/-/g, '+').replace(/_/g, '/'));
  const bytes = Uint8Array.from(letters, (c) => c.charCodeAt(0));
  const json = await through(bytes, new DecompressionStream('deflate-raw'));
  return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(json));
}

/** The state in a link. Throws if it is none. */
export async function stateIn(text, limits) {
  const { version, origin, start, now, part, prior } = await unpacked(text);
  const isState = version === 1 && isDraft(start, limits) && isDraft(now, limits);
  if (!isState || !same(frame(start), frame(now))) throw new Error('not a state');
  const isPart = typeof part?.scope === 'string' && typeof part.name === 'string';
  return {
    origin: String(origin),
    start,
    now,
    part: isPart ? { scope: part.scope, name: part.name } : null,
    prior: String(prior),
  };
}
