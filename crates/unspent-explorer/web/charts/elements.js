// Elements, text and single shapes. A page may forbid style attributes, so that styles are set by classes
// and by property.
import { CORNERS, LOOKS } from './looks.js';
import { finite, pieces } from './numbers.js';
import { outline } from './shapes.js';

/** From line to line of 13 px text. */
export const LINE = 17;

export function svg(name, attributes, parent) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (parent) parent.append(node);
  return node;
}

export function html(name, className, parent, text) {
  const node = document.createElement(name);
  if (className) node.className = className;
  if (text !== undefined) rich(node, text);
  if (parent) parent.append(node);
  return node;
}

/** Sets text with its superscripts really raised: fonts disagree about those of Unicode. */
export function rich(node, text) {
  const inSvg = node.namespaceURI.endsWith('svg');
  for (const { raised, text: plain } of pieces(text)) {
    if (inSvg) {
      // Without text after it, a raised piece leaves nothing to be lowered again.
      const lowered = node.lastChild ? { dy: '0.36em' } : {};
      svg('tspan', raised ? { dy: '-0.5em', 'font-size': '72%' } : lowered, node).textContent = plain;
    } else if (raised) node.append(Object.assign(document.createElement('sup'), { textContent: plain }));
    else node.append(plain);
  }
  return node;
}

let pen = null;
/** How wide a text is in a chart. */
export function widthOf(text) {
  if (!pen) {
    pen = document.createElement('canvas').getContext('2d');
    pen.font = '13px ' + getComputedStyle(document.body).fontFamily;
  }
  return pen.measureText(text).width;
}

/** A text in lines no wider than `room`, unless one word is. */
export function wrap(text, room) {
  const lines = [];
  for (const word of text.split(/ +/).filter(Boolean)) {
    const longer = lines.length ? lines[lines.length - 1] + ' ' + word : word;
    if (lines.length && widthOf(longer) <= room) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

export function marker(parent, [x, y], kind, full) {
  const r = 3.6;
  if (CORNERS[kind]) {
    const corners = CORNERS[kind].map(([a, b]) => [x + r * a, y + r * b]);
    return svg('path', { class: 'marker', d: outline(corners) + 'Z' }, parent);
  }
  if (kind === 'cross') {
    const strokes = `M${x - r} ${y - r}l${2 * r} ${2 * r}M${x - r} ${y + r}l${2 * r} ${-2 * r}`;
    return svg('path', { class: 'marker', d: strokes }, parent);
  }
  return svg('circle', { class: full ? 'marker full' : 'marker', cx: x, cy: y, r }, parent);
}

/** A bar, or its sample. */
export function shaded(parent, x, y, width, height, role) {
  const { shading } = LOOKS[role];
  const box = { x, y, width: Math.max(width, 0), height };
  if (shading === 'tint') svg('rect', { ...box, class: 'ground' }, parent); // no grid through a bar
  const bar = svg('rect', { ...box, class: 'bar' }, parent);
  bar.style.fill = finite(shading) ? `url(#stripes-${role})` : 'var(--c)';
  if (shading === 'tint') bar.style.fillOpacity = 0.25;
}

export function stroke(parent, path, { width, dash }) {
  const look = { 'stroke-width': width, 'stroke-dasharray': dash || 'none' };
  svg('path', { class: 'line', d: path, ...look }, parent);
}

/** An interval with its ends. */
export function whisker(parent, [x, y], [u, v], sideways) {
  const [dx, dy] = sideways ? [0, 4] : [4, 0];
  const cap = (a, b) => `M${a - dx} ${b - dy}L${a + dx} ${b + dy}`;
  svg('path', { class: 'whisker', d: `M${x} ${y}L${u} ${v}${cap(x, y)}${cap(u, v)}` }, parent);
}

/** What a series looks like, for legend and readout. */
export function sample(role, kinds, width) {
  const look = LOOKS[role];
  const node = svg('svg', { class: role, width, height: 14, 'aria-hidden': 'true' });
  if (kinds.has('band')) svg('rect', { class: 'band', x: 1, y: 2, width: width - 2, height: 10 }, node);
  if (kinds.has('bars')) shaded(node, 1, 2, width - 2, 10, role);
  if (kinds.has('line')) stroke(node, `M0 7H${width}`, look);
  if (kinds.has('intervals')) whisker(node, [width / 2 - 9, 7], [width / 2 + 9, 7], true);
  const marked = kinds.has('points') || kinds.has('line') && look.marker;
  if (marked) marker(node, [width / 2, 7], look.marker, !look.marker);
  return node;
}

/** The patterns of striped bars, once a page. */
export function stripes() {
  const defs = svg('svg', { class: 'defs', width: 0, height: 0, 'aria-hidden': 'true' });
  for (const [role, { shading }] of Object.entries(LOOKS)) {
    if (!finite(shading)) continue;
    const size = { width: 4, height: 4, patternUnits: 'userSpaceOnUse' };
    const turned = { patternTransform: `rotate(${shading})` };
    const pattern = svg('pattern', { id: 'stripes-' + role, class: role, ...size, ...turned }, defs);
    svg('rect', { width: 4, height: 4, class: 'ground' }, pattern);
    svg('rect', { width: 4, height: 1.6, class: 'stripe' }, pattern);
  }
  document.body.append(defs);
}
