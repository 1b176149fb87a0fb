// Elements of the page. Names and texts come from files: they are always text, never markup.

export const byId = (id) => document.getElementById(id);

/** An element: el('p.small', { id: 'x' }, 'text', node, …). */
export function el(name, attributes, ...content) {
  const [tag, ...classes] = name.split('.');
  const node = document.createElement(tag);
  if (classes.length) node.className = classes.join(' ');
  for (const key in attributes) {
    if (key in node && typeof attributes[key] !== 'string') node[key] = attributes[key];
    else node.setAttribute(key, attributes[key]);
  }
  node.append(...content.filter((part) => part !== null && part !== undefined));
  return node;
}

export const b = (text) => el('b', {}, text);
/** A name, which keeps its direction to itself. */
export const bdi = (name) => el('bdi', {}, name);
/** A name or an address, which may be broken after its strokes. */
export const parted = (text) =>
  el('bdi', {}, ...text.split(/(?<=[/_])/).flatMap((part, i) => (i ? [el('wbr'), part] : [part])));
/** Names in a row. */
export const listed = (names, by = ', ') => names.flatMap((name, i) => (i ? [by, bdi(name)] : [bdi(name)]));
/** Entries of a list, each a text, a node or several. */
export const items = (list) => list.map((entry) => el('li', {}, ...[entry].flat()));

/** 1e-10 as 10⁻¹⁰, set with a real superscript. */
export function power(text) {
  const parts = /^(.*)e([+-]?\d+)$/i.exec(text);
  if (!parts) return text;
  const node = el('span', {}, parts[1] === '1' ? '10' : `${parts[1]}×10`);
  node.append(el('sup', {}, String(+parts[2]).replace('-', '−')));
  return node;
}

export function listen(node, types, act) {
  for (const type of types.split(' ')) node.addEventListener(type, act);
}

/** The radio buttons of a name. */
export const radios = (name) => [...document.querySelectorAll(`input[name=${name}]`)];
export const chosen = (name) => radios(name).find((radio) => radio.checked)?.value;
