// The explorer: an allocation that is turned by hand, and what it promises, asked of the program that serves this page.
//
// Every number of an allocation is an exact fraction, kept as it was written. Whatever is shortened to be shown is rounded
// outward: guarantees up, what an attack really reaches down. Nothing here computes an ε.
//
// What tests can hold on to:
//   #preset #file #drop #file-neighbours #file-read #file-trouble       where an allocation comes from
//   #rho #delta (text), #rho-slider #delta-slider, input[name=neighbours]
//   [data-level="State"] > .control input[type=range|text]              a level's share
//   [data-level="State"] [data-query="total"] input[type=range|text]    a query's share of it, inside <details>
//   #level-sum, [data-level] .sum, each with button.renormalise         sums of shares
//   #epsilon #epsilon-start, #undo #redo #reset #copy-link, #notice     the bar
//   #results[data-state=ready|waiting|trouble]                          ready: everything shown is of what is set
//   #verdict[data-kept=true|false|unknown], #export-warning             whether a stated ε is kept
//   #certificate tr[data-label="total"] .rho .bun-steinke .canonne-kamath-steinke .tight .truth .main-path .start .change
//   #paths #assumptions #missing                                        what is behind a line; what is assumed; what is not counted
//   #scope #prior #reading, #figure-curve #figure-tradeoff #figure-noise
//   #reductions tr[data-label], input[name=spend] #keep #calibrate #spent tr[data-label]
//   #export-toml #export-csv #export-figure #export-svg
(() => {
  'use strict';

  const REST = 250; // ms after which a hand is said to rest
  const DEFAULT = 'pl94-persons-us-2020';
  const DELTA = '1e-10'; // where none is stated
  // What a file or a link may hold: bytes (the program takes a little more in one question), levels, shares, characters of a number.
  const MOST = { bytes: 9e5, levels: 1000, shares: 5000, length: 1000 };
  const fits = (text) => text.length <= MOST.length && !/e[+-]?\d{4}/i.test(text);
  const DIGITS = 2000; // of a denominator, beyond which a sum is not worked out exactly
  const FORMATS = ['toml', 'csv', 'svg'];
  const CONVERSIONS = { 'bun-steinke': 'Bun–Steinke', 'canonne-kamath-steinke': 'Canonne–Kamath–Steinke' };
  const { Rational, ONE, number, shown, exactly, percent, oneIn } = globalThis.exact;
  const byId = (id) => document.getElementById(id);
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  // ---- Elements

  /** An element: el('p.small', { id: 'x' }, 'text', node, …). */
  function el(name, attributes, ...content) {
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

  const b = (text) => el('b', {}, text);
  const bdi = (name) => el('bdi', {}, name); // names keep their direction to themselves
  /** 1e-10 as 10⁻¹⁰, set with a real superscript. */
  function power(text) {
    const parts = /^(.*)e([+-]?\d+)$/i.exec(text);
    if (!parts) return text;
    const node = el('span', {}, parts[1] === '1' ? '10' : `${parts[1]}×10`);
    node.append(el('sup', {}, String(+parts[2]).replace('-', '−')));
    return node;
  }

  function listen(node, types, act) {
    for (const type of types.split(' ')) node.addEventListener(type, act);
  }

  // ---- Questions to the program

  class Trouble extends Error {
    constructor(answer) {
      super(answer.message);
      Object.assign(this, answer);
    }
  }

  async function ask(path, body) {
    let response;
    try {
      response = await fetch(path, body && { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
    } catch {
      throw new Trouble({ message: 'the program does not answer', hint: 'is `unspent serve` still running?', silent: true });
    }
    if (response.ok) return response;
    const { error } = await response.json().catch(() => ({ error: { message: `the program answered ${response.status}`, hint: '' } }));
    throw new Trouble({ ...error, busy: response.status === 503 });
  }
  const asked = (path, body) => ask(path, body).then((response) => response.json());

  let loading = 0;
  /** For what replaces the allocation: nothing is up to date until it is there. */
  async function loaded(path, body) {
    loading += 1;
    mark();
    try {
      return await asked(path, body);
    } finally {
      loading -= 1;
      setTimeout(mark); // after what is done with the answer
    }
  }

  /** One kind of question: never more than one under way, and after it only the newest. */
  class Question {
    constructor(path, show, parts) {
      Object.assign(this, { path, show, parts, wanted: null, answered: null, under: false });
    }

    want(body) {
      this.wanted = body;
      this.fail = null;
      if (!this.under) this.run();
      mark();
    }

    async run() {
      this.under = true;
      let body;
      while (body !== this.wanted) {
        body = this.wanted;
        const { era } = state;
        let answer = null;
        try {
          answer = await asked(this.path, body);
        } catch (trouble) {
          if (trouble.busy && body === this.wanted) {
            await new Promise((after) => setTimeout(after, 500));
            if (body === this.wanted) body = null; // once more
            continue;
          }
          if (body === this.wanted) this.fail = trouble;
        }
        // A hand that moves sees the answers it has passed; those of another allocation are of no use.
        if (answer && era === state.era) {
          this.show(answer, body);
          this.answered = body;
        }
        mark();
      }
      this.under = false;
    }

    get fresh() { return this.answered === this.wanted; }
  }

  // ---- What is set

  // Drafts are never changed, only replaced: the same object is the same allocation.
  const state = { start: null, now: null, origin: '', scope: { kind: 'total', name: null }, prior: '1/1000', past: [], future: [], session: null, era: 0 };
  const wrong = new Map(); // texts that are no numbers, by field

  const steps = (path) => path.match(/[^.[\]]+/g);
  const get = (draft, path) => steps(path).reduce((node, key) => node[key], draft);
  function set(draft, path, value) {
    const next = structuredClone(draft);
    const keys = steps(path);
    keys.slice(0, -1).reduce((node, key) => node[key], next)[keys.at(-1)] = value;
    return next;
  }
  /** With another number in one place. An ε that is stated is stated for its δ, and does not outlive it. */
  function turned(path, value) {
    const next = set(state.now, path, value);
    if (path === 'delta' && next.epsilon && number(value).compare(number(state.now.delta))) {
      notice(`The stated ε of ${shown(next.epsilon, true)} was promised for δ = ${state.now.delta}: with another δ it is dropped.`);
      next.epsilon = null;
    }
    return next;
  }
  const outline = (draft) => draft.levels.map((level) => [level.name, level.shares.map((part) => part.query)]);
  /** All of a draft that no control changes. */
  const frame = (draft) => ({ ...draft, rho: null, delta: null, neighbours: null, epsilon: null, conversion: null, levels: outline(draft) });
  const same = (a, c) => a === c || JSON.stringify(a) === JSON.stringify(c);
  const remember = () => ({ start: state.start, now: state.now, origin: state.origin });

  /** Sets another allocation. Changes of one session, such as a drag, are one step. */
  function edit(next, session = null) {
    if (same(next, state.now)) return;
    if (!same(outline(next), outline(state.start))) throw new Trouble({ message: 'the answer has other levels or queries than what is set', hint: '' });
    if (!session || session !== state.session) state.past.push(remember());
    state.session = session;
    state.future = [];
    state.now = same(next, state.start) ? state.start : next;
    changed();
  }

  function step(from, to) {
    const there = from.pop();
    if (!there) return;
    to.push(remember());
    const other = there.start !== state.start;
    Object.assign(state, there, { session: null });
    wrong.clear();
    if (other) state.era += 1;
    changed();
  }

  /** Begins anew with an allocation; what was there before can be had back. */
  function load(draft, origin, now = draft) {
    if (state.now) state.past.push(remember());
    if (draft.delta === null) { // a table cannot say
      [draft, now] = [draft, now].map((given) => ({ ...given, delta: given.delta ?? DELTA }));
      notice(`No δ is stated: ${DELTA} is taken.`);
    }
    Object.assign(state, { start: draft, now: same(now, draft) ? draft : now, origin, future: [], session: null, era: state.era + 1 });
    wrong.clear();
    for (const id of ['file-trouble', 'keep-trouble', 'export-trouble']) trouble(byId(id), null);
    changed();
  }

  function reset() {
    wrong.clear();
    if (state.now === state.start) changed();
    else edit(state.start);
  }

  let resting;
  function changed() {
    questions(); // first: from here on nothing that is shown is up to date
    if (!shape || shape.start !== state.start) build();
    for (const control of controls.values()) control.update();
    sums();
    for (const radio of document.querySelectorAll('input[name=neighbours]')) radio.checked = radio.value === state.now.neighbours;
    byId('undo').disabled = !state.past.length;
    byId('redo').disabled = !state.future.length;
    byId('spent').hidden = state.now !== spent; // what was done, while it is what is set
    const { source } = state.start;
    const whence = state.now !== state.start ? 'Changed from' : state.origin.startsWith('link:') ? 'Source, as the link has it' : 'Source';
    byId('origin').replaceChildren(...(source ? [`${whence}: `, bdi(source)] : []));
    choosePreset();
    clearTimeout(resting);
    resting = setTimeout(rest, REST);
  }

  function questions() {
    const { now: draft, start } = state;
    ends.certificate.want({ draft, reductions: false });
    if (ends.start.wanted?.draft !== start) ends.start.want({ draft: start, reductions: false });
    ends.noise.want({ draft });
    closer();
    ends.noiseFigure.want({ figure: 'noise', draft, start, scope: { kind: 'total', name: null } });
  }

  function closer() {
    const { now: draft, start, prior } = state;
    // What was looked at may not be there any more.
    const { kind, name } = state.scope;
    const there = kind === 'attribute' ? draft.attributes : draft.levels.filter(({ share }) => number(share).n > 0n).map((level) => level.name);
    if (kind !== 'total' && !there?.includes(name)) state.scope = { kind: 'total', name: null };
    const { scope } = state;
    ends.curve.want({ figure: 'curve', draft, start, scope });
    ends.tradeoff.want({ figure: 'tradeoff', draft, start, scope });
    ends.reading.want({ draft, scope, prior });
  }

  /** What takes longer, or would be a flood, waits until the hand rests. */
  function rest() {
    if (!ends.certificate.fail) ends.certificate.want({ draft: state.now, reductions: true });
    keepLink();
  }

  /** Marks what is not up to date, and says why where that is known. */
  function mark() {
    const all = Object.values(ends);
    for (const end of all) for (const part of end.parts) part.classList.toggle('stale', wrong.size > 0 || !end.fresh);
    const failed = all.find((end) => end.fail);
    const field = failed?.fail.field ? [...controls.values()].find(({ path }) => `${failed.fail.field}.`.startsWith(`${path}.`)) : null;
    if (field) field.node.closest('details')?.setAttribute('open', '');
    for (const control of controls.values()) control.object(wrong.get(control.path) || (control === field ? sentence(failed.fail) : ''));
    trouble(byId('draft-trouble'), failed && !field && !failed.fail.silent ? failed.fail : null);
    if (failed?.fail.silent) notice(sentence(failed.fail));
    const why = wrong.size ? 'a field is not a number' : failed ? 'there is no answer for what is set' : '';
    byId('stale').hidden = !why;
    byId('stale').textContent = why && `Not up to date: ${why}. These are the last figures that were.`;
    byId('reset').disabled = state.now === state.start && !wrong.size;
    byId('calibrate').disabled = calibrating || wrong.size > 0;
    for (const format of FORMATS) byId(`export-${format}`).disabled = wrong.size > 0;
    byId('results').dataset.state = why ? 'trouble' : !loading && all.every((end) => end.fresh) && ends.certificate.answered?.reductions ? 'ready' : 'waiting';
  }

  function sentence({ field, message, hint }) {
    let text = message;
    if (field && text.startsWith(field)) text = text.slice(field.length).replace(/^: /, '');
    return `${text.charAt(0).toUpperCase()}${text.slice(1)}${hint ? ` (${hint})` : ''}`;
  }

  /** Shows what is wrong, with the place in a file if it has one. */
  function trouble(node, found, file) {
    node.hidden = !found;
    node.replaceChildren();
    if (!found) return;
    const place = found.line ? `${file || 'line'}:${found.line}:${found.column}` : file;
    let { message } = found;
    if (place && message.startsWith(place)) message = message.slice(place.length).replace(/^: /, '');
    node.append(el('p', {}, place ? b(place) : null, place ? ': ' : '', message));
    if (found.excerpt) {
      // The line as it stands, and the marks below it, underlined.
      const pre = el('pre', { tabindex: 0, role: 'region', 'aria-label': 'The line in question' });
      for (const piece of found.excerpt.replace(/\n+$/, '').split(/(\^+)/)) pre.append(piece[0] === '^' ? el('u', {}, piece) : piece);
      node.append(pre);
    }
    if (found.hint) node.append(el('p.small', {}, `Hint: ${found.hint}`));
  }

  let noticed;
  function notice(text) {
    byId('notice').textContent = text;
    clearTimeout(noticed);
    noticed = setTimeout(() => { byId('notice').textContent = ''; }, 8000);
  }

  // ---- Sliders and fields

  /** A slider over powers of ten, a hundred steps each, with three digits; its left end may be 0. */
  function logScale(low, high, zero) {
    return {
      most: (high - low) * 100,
      value: (at) => at === 0 && zero ? '0' : String(+(10 ** (low + at / 100)).toPrecision(3)),
      at: (value) => value > 0 ? Math.round((Math.log10(value) - low) * 100) : 0,
    };
  }

  /** 1, 2 and 5 times powers of ten. */
  function deltaScale(low, high) {
    const digits = [1, 2, 5];
    return {
      most: (high - low) * 3,
      value: (at) => `${digits[at % 3]}e${low + Math.floor(at / 3)}`,
      at: (value) => Math.round((Math.log10(value) - low) * 3),
    };
  }

  const controls = new Map();
  let spent = null; // the allocation that calibrating gave
  let calibrating = false;
  let sessions = 0;

  class Control {
    constructor({ path, id, label, spoken, scale, check }) {
      Object.assign(this, { path, scale, check });
      this.side = el('output.side', { for: id });
      this.slider = el('input', { type: 'range', id: `${id}-slider`, min: 0, max: scale.most, step: 1, 'aria-label': `${spoken}, slider` });
      this.field = el('input', { type: 'text', id, autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', 'aria-label': `${spoken}, exactly`, 'aria-describedby': `${id}-wrong` });
      this.wrong = el('p.wrong', { id: `${id}-wrong` });
      this.tick = el('span.tick', { 'aria-hidden': 'true', title: 'the starting point' });
      this.node = el('div.control', {}, el('label', { for: id }, ...[label].flat()), this.side, el('span.track', {}, this.slider, this.tick), this.field, this.wrong);
      controls.set(path, this);
      let last = 0;
      // A drag is one step; so are arrow keys in quick succession, and what is typed at one sitting.
      listen(this.slider, 'pointerdown', () => { this.session = `slide ${++sessions}`; last = Infinity; });
      listen(this.slider, 'pointerup pointercancel', () => { last = 0; });
      listen(this.slider, 'input', () => {
        if (performance.now() - last > 1000) this.session = `slide ${++sessions}`;
        if (last !== Infinity) last = performance.now();
        wrong.delete(path);
        const at = +this.slider.value;
        // Back at its mark a slider gives the starting number itself, exactly.
        const first = get(state.start, path);
        edit(turned(path, at === this.place(first) ? first : scale.value(at)), this.session);
        this.update();
        mark();
      });
      listen(this.field, 'focus', () => { this.typing = `type ${++sessions}`; });
      listen(this.field, 'input', () => {
        clearTimeout(this.waiting);
        this.waiting = setTimeout(() => this.read(), 400);
      });
      listen(this.field, 'change', () => this.read());
    }

    place(text) { return clamp(this.scale.at(number(text).toNumber()), 0, this.scale.most); }

    read() {
      clearTimeout(this.waiting);
      if (controls.get(this.path) !== this) return undefined; // of an allocation that is gone
      const text = this.field.value.trim();
      try {
        if (!fits(text)) throw new Error(`A number has at most ${MOST.length} characters here, and an exponent of three digits.`);
        this.check(number(text));
      } catch (error) {
        wrong.set(this.path, error.message);
        return mark();
      }
      wrong.delete(this.path);
      this.own = true;
      try {
        edit(turned(this.path, text), this.typing);
      } finally {
        this.own = false;
        mark();
      }
      return undefined;
    }

    update() {
      const [text, first] = [get(state.now, this.path), get(state.start, this.path)];
      this.slider.value = this.place(text);
      this.slider.setAttribute('aria-valuetext', text);
      // What is being typed stays as it is typed.
      if (!this.own && !wrong.has(this.path)) this.field.value = text;
      this.field.title = text.includes('/') ? `≈ ${number(text).short(6, false)}` : '';
      this.tick.style.setProperty('--at', this.place(first) / this.scale.most);
      this.node.classList.toggle('moved', text !== first);
    }

    object(message) {
      this.field.setAttribute('aria-invalid', String(Boolean(message)));
      if (this.wrong.textContent !== message) this.wrong.textContent = message;
    }
  }

  const positive = (value) => { if (value.n <= 0n) throw new Error('It must be positive.'); };
  const notNegative = (value) => { if (value.n < 0n) throw new Error('It is never negative: check the sign.'); };
  const probability = (value) => { if (value.n <= 0n || value.compare(ONE) >= 0) throw new Error('δ lies between 0 and 1.'); };

  let shape = null;

  /** The controls of the allocation at the start: its levels and queries do not change. */
  function build() {
    const { start } = state;
    shape = { start };
    controls.clear();
    const size = (text) => Math.floor(Math.log10(number(text).toNumber()));
    const all = start.levels.flatMap((level) => [level.share, ...level.shares.map((part) => part.share)]).filter((text) => number(text).n > 0n);
    const shares = logScale(Math.min(-4, ...all.map(size)), 0, true);
    const rho = new Control({
      path: 'rho', id: 'rho', label: ['Total ρ ', el('span.small', {}, 'the budget, for zCDP')], spoken: 'Total rho', check: positive,
      scale: logScale(Math.min(-2, size(start.rho)), Math.max(2, size(start.rho) + 1), false),
    });
    const delta = new Control({
      path: 'delta', id: 'delta', label: ['δ ', el('span.small', {}, 'at which ε is quoted')], spoken: 'Delta', check: probability,
      scale: deltaScale(Math.min(-20, size(start.delta)), -1),
    });
    byId('budget').replaceChildren(rho.node, delta.node);
    byId('levels').replaceChildren(...start.levels.map((level, i) => {
      const share = new Control({ path: `levels[${i}].share`, id: `level-${i}`, label: bdi(level.name), spoken: `Share of ${level.name}`, check: notNegative, scale: shares });
      const parts = level.shares.map((part, j) => {
        const control = new Control({ path: `levels[${i}].shares[${j}].share`, id: `level-${i}-query-${j}`, label: bdi(part.query), spoken: `Share of ${part.query} within ${level.name}`, check: notNegative, scale: shares });
        control.node.dataset.query = part.query;
        return control.node;
      });
      const sum = el('p.sum', { id: `level-${i}-sum` });
      const open = el('details', {}, el('summary', {}, `${parts.length === 1 ? 'Its query' : `Its ${parts.length} queries`}`, el('span.odd')), ...parts, sum);
      return el('div.level', { 'data-level': level.name }, share.node, open);
    }));
    side.tight = side.noise = ends.certificate.last = null;
  }

  /** Exactly, or null where that would take too long. */
  function sumOf(values) {
    const most = 10n ** BigInt(DIGITS);
    let sum = new Rational(0n);
    for (const value of values) {
      sum = sum.plus(value);
      if (sum.d > most) return null;
    }
    return sum;
  }

  /** The exact sums, with a way to make them 1 that is taken only when asked for. */
  function sums() {
    const { now } = state;
    const show = (node, texts, of, divided) => {
      const sum = sumOf(texts.map(number));
      const one = sum !== null && sum.compare(ONE) === 0;
      const exact = sum ? String(sum) : '';
      const value = !sum ? `≈ ${texts.reduce((a, text) => a + number(text).toNumber(), 0).toPrecision(8)}` : one ? '1' : exact.length <= 16 && sum.d !== 1n ? `${exact} ≈ ${sum.short(6, false)}` : sum.d === 1n ? exact : `≈ ${sum.short(8, false)}`;
      let button = node.querySelector('button');
      if (!button) {
        button = el('button.renormalise', { type: 'button' }, 'Renormalise');
        node.replaceChildren(el('span', {}), ' ', button);
        listen(button, 'click', () => button.divide());
      }
      node.firstChild.textContent = `${of} sum to ${value}.`;
      node.firstChild.title = exact;
      node.classList.toggle('off', !one);
      button.disabled = !sum || one || sum.n === 0n;
      button.title = sum ? 'Divides every share by their sum, exactly' : `Their exact sum is a fraction of more than ${DIGITS} digits: too long to divide by`;
      button.divide = () => {
        const next = divided((text) => String(number(text).over(sum)));
        if (isDraft(next)) edit(next);
        else notice(`Divided exactly, the shares would have more than ${MOST.length} characters: nothing was changed.`);
      };
      return one;
    };
    show(byId('level-sum'), now.levels.map((level) => level.share), 'Shares of the levels', (by) => {
      const next = structuredClone(now);
      for (const level of next.levels) level.share = by(level.share);
      return next;
    });
    now.levels.forEach((level, i) => {
      const node = byId(`level-${i}-sum`);
      const one = show(node, level.shares.map((part) => part.share), 'Its shares', (by) => {
        const next = structuredClone(now);
        for (const part of next.levels[i].shares) part.share = by(part.share);
        return next;
      });
      node.parentNode.querySelector('.odd').textContent = one ? '' : ' (do not sum to 1)';
    });
  }

  // Beside the sliders: what a level promises, and the noise of a query.
  const side = { tight: null, noise: null };
  function besides() {
    const rho = side.tight && side.tight.lines.find((line) => line.scope === 'total').rho;
    if (rho) controls.get('rho').side.textContent = `spent: ${shown(rho.upper, true)}`;
    state.now.levels.forEach((level, i) => {
      const line = side.tight?.lines.find((line) => line.scope === 'level' && line.name === level.name);
      controls.get(`levels[${i}].share`).side.textContent = line ? `ε ≤ ${shown(line.tight.upper, true)}` : side.tight ? 'not released' : '';
      const noise = new Map((side.noise?.measurements || []).filter((m) => m.level === level.name).map((m) => [m.query, m.deviation]));
      level.shares.forEach((part, j) => {
        controls.get(`levels[${i}].shares[${j}].share`).side.textContent = noise.has(part.query) ? `σ ≈ ${noise.get(part.query)}` : side.noise ? 'not asked' : '';
      });
    });
  }

  // ---- The certificate

  const GROUPS = [
    ['total', null],
    ['level', 'One level, to a reader of that level only'],
    ['keeping', 'The record, inside one unit, whose total stays'],
    ['attribute', 'The value of one attribute'],
    ['within', 'The place, inside one unit'],
  ];
  const plural = (n, one, many) => `${n} ${n === 1 ? one : many}`;
  const listed = (names, by = ', ') => names.flatMap((name, i) => i ? [by, bdi(name)] : [bdi(name)]);
  const keyOf = ({ scope, name }) => `${scope} ${name}`;
  const labelOf = (line) => line.scope === 'total' ? 'The whole release' : line.label || line.name;

  function head(...names) {
    return el('thead', {}, el('tr', {}, ...names.map((name, i) => el(i ? 'th.num' : 'th', { scope: 'col' }, ...[name].flat()))));
  }

  const figure = (name, text, up) => text === null || text === undefined ? el(`td.num.${name}`, {}, '–') : el(`td.num.${name}`, { title: text }, shown(text, up));

  /** From the start to now, with the decimals of what is shown: never a greater improvement or a smaller loss than it is. */
  function change(now, before) {
    const by = before === undefined ? new Rational(0n) : number(now).minus(number(before));
    const weaker = by.n > 0n;
    const places = (text) => (/\.(\d+)/.exec(text)?.[1].length ?? 0) - (/e(.*)/.exec(text)?.[1] ?? 0);
    const most = by.n === 0n ? 0 : Math.max(places(shown(now, true)), places(shown(before, true)));
    const size = new Rational(weaker ? by.n : -by.n, by.d);
    const text = most > 8 ? size.short(3, weaker) : size.fixed(most, weaker);
    if (!/[1-9]/.test(text)) return el('td.num.change', {}, '–');
    return el(`td.num.change.${weaker ? 'weaker' : 'stronger'}`, {}, `${weaker ? '+' : '−'}${text}`, el('span.sr', {}, `, a ${weaker ? 'weaker' : 'stronger'} promise`));
  }

  function showCertificate(answer, body) {
    side.tight = answer;
    const before = new Map((shape.certificate?.lines || []).map((line) => [keyOf(line), line]));
    const star = (name) => answer.published === name ? [CONVERSIONS[name], el('abbr', { title: 'behind what was published' }, ' *')] : CONVERSIONS[name];
    const paths = answer.lines.some((line) => line.main_path);
    const table = byId('certificate');
    table.replaceChildren(head('ε of', 'tight (≤)', 'truth (≥)', ...(paths ? [[el('abbr', { title: 'where no unit was bypassed: not a guarantee for others' }, 'main path')]] : []),
      'start (≤)', 'change', star('canonne-kamath-steinke'), star('bun-steinke'), 'ρ'));
    for (const [scope, title] of GROUPS) {
      const lines = answer.lines.filter((line) => line.scope === scope);
      if (!lines.length) continue;
      const group = el('tbody');
      if (title) group.append(el('tr.group', {}, el('th', { colspan: paths ? '9' : '8', scope: 'rowgroup' }, title)));
      for (const line of lines) {
        const first = before.get(keyOf(line));
        const truth = figure('truth', line.tight.lower, false);
        if (!line.attained) truth.append(el('abbr', { title: 'the ε of neighbours that are known; none are known that attain the upper end' }, '°'));
        group.append(el('tr', { 'data-label': line.label }, el('th', { scope: 'row' }, bdi(labelOf(line))),
          figure('tight', line.tight.upper, true), truth, ...(paths ? [figure('main-path', line.main_path?.upper, true)] : []), figure('start', first?.tight.upper, true), change(line.tight.upper, first?.tight.upper),
          figure('canonne-kamath-steinke', line.canonne_kamath_steinke, true), figure('bun-steinke', line.bun_steinke, true), figure('rho', line.rho.upper, true)));
      }
      table.append(group);
    }
    subject(answer);
    verdict(answer);
    besides();
    headline(answer);
    scopes(answer);
    if (body.reductions) showReductions(answer);
    if (body.reductions && body.draft === state.now) say(answer);
  }

  function showStart(answer, body) {
    if (body.draft !== state.start) return;
    shape.certificate = answer;
    if (ends.certificate.last) showCertificate(...ends.certificate.last);
  }

  function subject(answer) {
    const [product] = answer.products;
    const { touches, paths } = product;
    byId('subject').replaceChildren(el('b', {}, bdi(answer.name)), el('br'),
      `${plural(product.levels, 'level', 'levels')}, ${plural(product.queries, 'query', 'queries')}, ${plural(product.measurements, 'measurement', 'measurements')}. ` +
      `Neighbours: ${answer.neighbours}. δ = `, power(answer.delta), '.',
      ...(touches > 1 ? [' One ', bdi(answer.record), ` can change ${touches} of its records.`] : []),
      paths > 1 ? ` ${paths} paths through the geography: units were bypassed, and their budget moved up.` : '');
    const several = answer.lines.some((line) => line.main_path);
    const notes = [`Each ε but the truth (≥)${several ? ' and the main path' : ''} is a guarantee, rounded up; the truth lies between tight (≤) and truth (≥). A larger ε is a weaker promise.`];
    if (several) notes.push('Each line is the worst over all pairs of paths. The main path is the upper end where no unit was bypassed: not a guarantee for others.');
    if (answer.lines.some((line) => !line.attained)) notes.push('° No neighbours are known that attain the upper end: the truth (≥) is the ε of neighbours that are known.');
    if (answer.published) notes.unshift(`* marks the conversion behind what was published (${CONVERSIONS[answer.published]}).`);
    const first = shape.certificate;
    if (first && (first.delta !== answer.delta || first.neighbours !== answer.neighbours)) {
      notes.unshift(`The start is at δ = ${first.delta}, for ${first.neighbours} neighbours.`);
    }
    if (answer.left_out.length) notes.push(['No query touches ', ...listed(answer.left_out), ': nothing is released about it.']);
    // One line for each reason, which is said of a level first.
    const reasons = Map.groupBy(answer.places_left_out, ({ reason }) => reason.slice(reason.indexOf(': ') + 1).trim());
    for (const [reason, places] of reasons) notes.push(['Nothing is said of places inside ', ...listed(places.map(({ name }) => name)), ': ', bdi(reason), '.']);
    const items = (list) => list.map((note) => el('li', {}, ...[note].flat()));
    byId('certificate-notes').replaceChildren(...items(notes));
    byId('assumptions').replaceChildren(...items(answer.assumptions.map((text) => bdi(text))));
    const { missing } = answer;
    byId('missing').parentNode.hidden = !missing.length;
    byId('missing-title').textContent = missing.length ? `Not counted here, of the ${missing[0].series}` : '';
    byId('missing').replaceChildren(...items(missing.map(({ name, about }) => [bdi(name), ' (', bdi(about), ')'])));
  }

  /** What is stated, at its δ. */
  const stated = ({ stated_by: by, epsilon, delta }) => ['ε = ', by === 'epsilon' && epsilon.length <= 20 ? epsilon : shown(epsilon, by !== 'epsilon'), ' at δ = ', power(delta)];
  const delivers = ({ kept, delivered: { lower, upper } }) => kept === false ? `delivers at least ${shown(lower, false)}`
    : `what is delivered lies between ${shown(lower, false)} and ${shown(upper, true)}`;

  /** Whether what is stated is kept, as the report has it, and what a file would state that is not. */
  function verdict({ kept, promises }) {
    const node = byId('verdict');
    node.hidden = !promises.length;
    node.dataset.kept = kept ? 'true' : promises.some((promise) => promise.kept === false) ? 'false' : 'unknown';
    node.replaceChildren(...promises.flatMap((promise) => promise.kept ? ['Promise kept: states ', ...stated(promise), '.']
      : [b(promise.kept === false ? 'PROMISE NOT KEPT' : 'PROMISE NOT CERTIFIED'), ': states ', ...stated(promise), ', ', `${delivers(promise)}.`]));
    const broken = promises.filter((promise) => !promise.kept);
    byId('export-warning').hidden = !broken.length;
    byId('export-warning').replaceChildren(...broken.flatMap((promise) => [`The allocation as TOML will state ${promise.stated_by === 'epsilon' ? 'an ε' : 'a conversion whose ε'} that is not ${promise.kept === false ? '' : 'certified to be '}kept: `,
      ...stated(promise), '; ', `${delivers(promise)}.`]));
  }

  const totalOf = (answer) => answer.lines.find((line) => line.scope === 'total').tight.upper;

  function headline(answer) {
    const now = shown(totalOf(answer), true);
    byId('epsilon').textContent = now;
    byId('epsilon-delta').replaceChildren(power(answer.delta));
    const first = shape.certificate && shown(totalOf(shape.certificate), true);
    byId('epsilon-start').hidden = !first || state.now === state.start;
    byId('epsilon-start').textContent = first ? `at the start ${first}` : '';
  }

  function say(answer) {
    const first = shape.certificate && state.now !== state.start ? ` At the start it was ${shown(totalOf(shape.certificate), true)}.` : '';
    byId('said').textContent = `Whole release: epsilon at most ${shown(totalOf(answer), true)} at delta ${answer.delta}.${first}`;
  }

  // ---- A closer look

  function scopes(answer) {
    const select = byId('scope');
    const names = JSON.stringify(answer.lines.map(keyOf));
    const value = JSON.stringify(state.scope);
    if (select.dataset.names !== names) {
      select.dataset.names = names;
      const option = (line) => el('option', { dir: 'auto', value: JSON.stringify({ kind: line.scope, name: line.name }) }, labelOf(line).replace(/^The whole/, 'the whole'));
      const group = (scope, title) => {
        const lines = answer.lines.filter((line) => line.scope === scope);
        return lines.length ? [el('optgroup', { label: title }, ...lines.map(option))] : [];
      };
      select.replaceChildren(...answer.lines.filter((line) => line.scope === 'total').map(option),
        ...group('level', 'one level'), ...group('keeping', 'the record, inside one unit'), ...group('attribute', 'one attribute'), ...group('within', 'the place'));
    }
    select.value = value;
    if (select.selectedIndex < 0) {
      // What was looked at is not there any more.
      select.selectedIndex = 0;
      state.scope = { kind: 'total', name: null };
      closer();
    }
    behind();
  }

  /** Of which paths the line that is looked at is the worst. */
  function behind() {
    const { kind, name } = state.scope;
    const line = side.tight.lines.find((line) => line.scope === kind && line.name === name);
    const way = (levels) => listed(levels, ' → ');
    byId('paths').hidden = !line.worst.length;
    byId('paths').replaceChildren(`ε ≤ ${shown(line.tight.upper, true)} is the worst of ${line.cases} pairs of paths`,
      ...line.worst.flatMap(({ from, to }) => [': from ', ...way(from), ' to ', ...way(to)]), '. ',
      line.main_path ? `On the main path alone it is ${shown(line.main_path.upper, true)}, which is not a guarantee for others.` : '');
  }

  function showReading(answer, { scope, prior, draft }) {
    const { record, neighbours, attacks } = answer;
    const whole = scope.kind === 'total' || scope.kind === 'level';
    const secret = scope.kind === 'keeping' ? ['which of two given records, counted in the same ', bdi(scope.name), ', one ', bdi(record), ' really has']
      : scope.kind === 'attribute' ? ['which of two values of “', bdi(scope.name), '” one ', bdi(record), ' has']
      : scope.kind === 'within' ? ['in which of two places inside one ', bdi(scope.name), ' one ', bdi(record), ' is counted']
        : neighbours === 'bounded' ? ['which of two given records one ', bdi(record), ' really has'] : ['whether one ', bdi(record), ' is in the data at all'];
    const suspicion = whole && neighbours === 'add-remove' ? ['the ', bdi(record), ' is there'] : ['it is the second of the two'];
    const sees = scope.kind === 'level' ? ['what is released at the level ', bdi(scope.name), ', and nothing else'] : ['everything that is released'];
    const rate = (alpha) => `${exactly(number(alpha).times(new Rational(100n)))}\u00a0%`;
    const items = attacks.map(({ alpha, power: reached, posterior }) => el('li', { 'data-alpha': alpha },
      `An attack that raises a false alarm in ${rate(alpha)} of cases finds the truth in at most `, b(percent(reached.upper, true)),
      `, and some attack really reaches ${percent(reached.lower, false)}. (Guessing reaches ${rate(alpha)}.) `,
      `What was thought ${oneIn(prior, true)} likely before is, after its alarm, at most `, b(percent(posterior.upper, true)), ' likely',
      number(posterior.upper).compare(new Rational(1n, 4n)) < 0 ? ` (${oneIn(posterior.upper, true)})` : '',
      `, and with the best attack really ${percent(posterior.lower, false)}.`));
    byId('reading').replaceChildren(
      el('p', {}, 'Someone knows everything about the data but one thing: ', ...secret, '. They see ', ...sees, ', and say “alarm” when they come to believe that ', ...suspicion, '.'),
      el('ul', {}, ...items),
      el('p.small', {}, 'An attack that raises fewer false alarms finds less, but its alarms weigh more. All this holds for neighbours that agree on what is published without noise' +
        (draft.neighbours === 'bounded' ? ', and says nothing of what the rest of the data tell about everybody.' : '.')));
  }

  const drawn = {};
  function drawing(name, title) {
    return (answer) => {
      const data = { ...answer, title };
      if (drawn[name]) drawn[name].replace(data);
      else drawn[name] = new globalThis.charts.Figure(byId(`figure-${name}`), data);
    };
  }

  // ---- Spending what is unspent

  const exceeds = (factor) => number(factor).compare(ONE) > 0;
  /** A change of the variance in percent; a reduction is rounded down, what is added up. */
  const less = (factor) => {
    const cut = ONE.minus(number(factor)).times(new Rational(100n));
    return cut.n === 0n ? '0\u00a0%' : cut.n > 0n ? `−${cut.fixed(3, false)}\u00a0%` : `+${new Rational(-cut.n, cut.d).fixed(3, true)}\u00a0%`;
  };

  function showReductions(answer) {
    const { against, reductions } = answer;
    const missing = answer.kept === false;
    const unspent = reductions.some((r) => r.factor && /[1-9]/.test(less(r.factor))); // to be seen
    byId('promise').textContent = against === null || against === undefined ? 'This allocation does not say what was promised: give the ε to keep.'
      : (missing ? 'What was promised is not certified to be kept: that needs more noise. '
        : unspent ? 'What was promised can be kept with less noise. ' : 'Nothing of what was promised is unspent. ') +
        (against === 'stated' ? 'The ε to keep is the one that the allocation states.' : `The ε to keep is that of ${CONVERSIONS[against]}, at these shares.`);
    byId('calibrate').textContent = missing ? 'Add the noise that is missing' : 'Spend what is unspent';
    const table = byId('reductions');
    table.replaceChildren();
    table.parentNode.hidden = !reductions.length;
    if (!reductions.length) return;
    const row = (r) => el('tr', { 'data-label': r.name ?? 'total' }, el('th', { scope: 'row' }, bdi(r.scope === 'total' ? 'all levels alike' : r.name)),
      figure('epsilon', r.epsilon, true), r.factor === null ? el('td.num.factor', {}, '–') : el('td.num.factor', { title: r.factor }, less(r.factor)));
    table.append(head('noise of', 'ε to keep', 'change of variance'), el('tbody', {}, ...reductions.map(row)));
  }

  async function calibrate() {
    const keep = byId('keep');
    const epsilon = keep.value.trim() || null;
    trouble(byId('keep-trouble'), null);
    keep.setAttribute('aria-invalid', 'false');
    try {
      if (epsilon) positive(number(epsilon));
    } catch (error) {
      keep.setAttribute('aria-invalid', 'true');
      trouble(byId('keep-trouble'), { message: error.message });
      return;
    }
    calibrating = true;
    mark();
    const { now, era } = state;
    const each = document.querySelector('input[name=spend]:checked').value === 'each';
    try {
      const { report, draft } = await loaded('/api/calibrate', { draft: now, epsilon, each_level: each });
      if (state.now !== now || state.era !== era) return; // turned in the meantime
      spent = draft;
      edit(draft);
      showSpent(report, each);
    } catch (found) {
      trouble(byId('keep-trouble'), found);
    } finally {
      calibrating = false;
      mark();
    }
  }

  function showSpent(report, each) {
    const arrow = (before, after) => el('td.num', {}, `${shown(before.upper, true)} → `, b(shown(after.upper, true)));
    const rows = report.rows.map((r) => el('tr', { 'data-label': r.name ?? 'total' }, el('th', { scope: 'row' }, bdi(r.scope === 'total' ? 'The whole release' : r.name)),
      r.factor ? el('td.num.factor', { title: r.factor }, less(r.factor)) : el('td.num.factor', {}, '–'),
      r.promised ? figure('promised', r.promised.upper, true) : el('td.num.promised', {}, '–'), arrow(r.tight_before, r.tight_after), arrow(r.rho_before, r.rho_after)));
    const factors = report.rows.map((r) => r.factor).filter(Boolean);
    const went = !factors.some(exceeds) ? 'went down' : factors.every(exceeds) ? 'went up' : 'changed';
    const title = el('p.caption', { id: 'spent-title' }, b('Done, as one step that can be undone.'),
      ` The variance of the noise ${went} ${each ? 'at each level by itself' : 'at all levels alike'}; what is promised was checked on the result.`);
    const table = el('div.wide', { role: 'region', 'aria-labelledby': 'spent-title', tabindex: 0 },
      el('table', {}, head('noise of', 'variance', 'promised ε', 'tight ε (≤)', 'ρ'), el('tbody', {}, ...rows)));
    const warning = report.exceeds ? el('p.trouble', {}, `Together the levels exceed what was published for the whole release, ε = ${shown(report.published.upper, true)}.`) : null;
    byId('spent').replaceChildren(title, ...(warning ? [warning] : []), table);
  }

  // ---- Where an allocation comes from

  async function presets() {
    const list = await asked('/api/presets');
    byId('preset').replaceChildren(...list.map(({ preset, name, levels, measurements }) =>
      el('option', { value: preset, title: `${levels} levels, ${measurements} measurements` }, name)), el('option', { value: '', hidden: true }));
    listen(byId('preset'), 'change', () => choose(byId('preset').value).catch((found) => {
      notice(sentence(found));
      choosePreset();
    }));
  }

  let choices = 0;
  /** Of what is chosen in quick succession the last counts: whether this choice still is. */
  function choice() {
    const mine = ++choices;
    return () => mine === choices;
  }

  const preset = (name) => loaded(`/api/presets/${encodeURIComponent(name)}`).then(({ draft }) => draft);

  async function choose(name) {
    const last = choice();
    try {
      const draft = await preset(name);
      if (last()) load(draft, `preset:${name}`);
    } catch (found) {
      if (last()) throw found;
    }
  }

  function choosePreset() {
    const select = byId('preset');
    const [kind, name] = [state.origin.slice(0, state.origin.indexOf(':')), state.origin.slice(state.origin.indexOf(':') + 1)];
    select.value = kind === 'preset' ? name : '';
    const other = select.querySelector('option[value=""]');
    other.textContent = kind === 'preset' ? '' : `from ${name || 'a link'}`;
    if (select.selectedIndex < 0) select.value = '';
  }

  let waiting = null; // a table whose neighbours are not known yet

  async function take(file) {
    const box = byId('file-trouble');
    byId('file-neighbours').hidden = true;
    waiting = null;
    trouble(box, null);
    const last = choice();
    // As it is sent: quotes and line ends take more there.
    const text = file.size > MOST.bytes ? null : await file.text();
    if (!last()) return undefined;
    if (text === null || new Blob([JSON.stringify(text)]).size > MOST.bytes) {
      return trouble(box, { message: `the file is larger than ${MOST.bytes / 1000} kB`, hint: 'an allocation is a small text file: is it the right one?' }, file.name);
    }
    if (!/\.csv$/i.test(file.name)) return read({ name: file.name, text, neighbours: null });
    waiting = { name: file.name, text };
    byId('file-name').textContent = file.name;
    byId('file-neighbours').hidden = false;
    for (const radio of document.querySelectorAll('input[name=file-neighbours]')) radio.checked = false;
    byId('file-read').disabled = true;
    document.querySelector('input[name=file-neighbours]').focus();
  }

  async function read(body) {
    const last = choice();
    try {
      const { draft } = await loaded('/api/read', body);
      if (!last()) return;
      if (!isDraft(draft)) throw new Trouble({ message: 'the allocation is too large for this page', hint: `it shows at most ${MOST.levels} levels, ${MOST.shares} shares, and ${MOST.length} characters of a number; the command line takes more` });
      byId('file-neighbours').hidden = true;
      waiting = null;
      load(draft, `file:${body.name}`);
    } catch (found) {
      if (last()) trouble(byId('file-trouble'), found, body.name);
    }
  }

  function files() {
    const zone = byId('drop');
    const input = byId('file');
    listen(input, 'change', () => {
      if (input.files[0]) take(input.files[0]);
      input.value = ''; // the same file may be chosen again, once it is mended
    });
    // A file that misses the zone must not replace the page.
    listen(window, 'dragover', (event) => {
      if (![...event.dataTransfer.types].includes('Files')) return;
      event.preventDefault();
      zone.classList.add('over');
    });
    listen(window, 'dragleave', (event) => { if (!event.relatedTarget) zone.classList.remove('over'); });
    listen(window, 'drop', (event) => {
      zone.classList.remove('over');
      if (![...event.dataTransfer.types].includes('Files')) return;
      event.preventDefault();
      zone.scrollIntoView({ block: 'nearest' });
      if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
    });
    for (const radio of document.querySelectorAll('input[name=file-neighbours]')) listen(radio, 'change', () => { byId('file-read').disabled = false; });
    listen(byId('file-read'), 'click', () => read({ ...waiting, neighbours: document.querySelector('input[name=file-neighbours]:checked').value }));
  }

  // ---- A link that restores the state

  /** What comes out of a stream; it is read no further than is sensible. */
  async function through(bytes, stream) {
    const parts = [];
    let size = 0;
    const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      parts.push(part.value);
      size += part.value.length;
      if (size > MOST.bytes) {
        reader.cancel();
        throw new Error('too large');
      }
    }
    return new Uint8Array(await new Blob(parts).arrayBuffer());
  }

  async function packed(value) {
    const bytes = await through(new TextEncoder().encode(JSON.stringify(value)), new CompressionStream('deflate-raw'));
    let text = '';
    for (let at = 0; at < bytes.length; at += 4096) text += String.fromCharCode(...bytes.subarray(at, at + 4096));
    return btoa(text).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
  }

  async function unpacked(text) {
    const bytes = Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0));
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(await through(bytes, new DecompressionStream('deflate-raw'))));
  }

  /** Whether it has the shape of a draft, and not too much of it; what it says is for the program to judge. */
  function isDraft(draft) {
    const isNumber = (text) => {
      try { return typeof text === 'string' && fits(text) && Boolean(number(text)); } catch { return false; }
    };
    const none = (value) => value === null || value === undefined;
    const few = ({ levels }) => levels.length <= MOST.levels && levels.reduce((sum, level) => sum + (level?.shares?.length || 0), 0) <= MOST.shares;
    // Without what is known of its production a draft would promise too much.
    return Boolean(draft) && typeof draft.name === 'string' && Boolean(draft.production) && typeof draft.production === 'object' && isNumber(draft.rho) && [draft.delta, draft.epsilon].every((value) => none(value) || isNumber(value)) &&
      Array.isArray(draft.levels) && draft.levels.length > 0 && few(draft) && draft.levels.every((level) => typeof level?.name === 'string' && isNumber(level.share) &&
        Array.isArray(level.shares) && level.shares.length > 0 && level.shares.every((part) => typeof part?.query === 'string' && isNumber(part.share)));
  }

  async function hash() {
    const { start, now, origin, scope, prior } = state;
    if (now === start && origin.startsWith('preset:') && scope.kind === 'total' && prior === '1/1000') return `#${origin.replace(':', '=')}`;
    return `#state=${await packed({ version: 1, origin, start, now, scope, prior })}`;
  }

  async function keepLink() {
    const { now } = state;
    const text = await hash();
    if (now === state.now) history.replaceState(null, '', text);
    return text;
  }

  async function copyLink() {
    await keepLink();
    try {
      await navigator.clipboard.writeText(location.href);
      notice('The link is copied.');
    } catch {
      notice('The link is in the address bar: copy it from there.');
    }
  }

  async function restore() {
    const [kind, text] = location.hash.slice(1).split('=');
    const last = choice();
    try {
      if (kind === 'preset') return await choose(decodeURIComponent(text));
      if (kind === 'state') {
        if (text.length > MOST.bytes) throw new Error('too long');
        const { version, origin, start, now, scope, prior } = await unpacked(text);
        if (version !== 1 || !isDraft(start) || !isDraft(now) || !same(frame(start), frame(now))) throw new Error('not a state');
        // A link may say that it starts with a preset; whether it does is seen from the preset.
        const isPreset = /^preset:/.test(origin);
        const official = isPreset ? await preset(origin.slice(7)).catch(() => null) : null;
        if (!last()) return undefined;
        state.scope = ['level', 'keeping', 'attribute', 'within'].includes(scope?.kind) ? { kind: scope.kind, name: String(scope.name) } : { kind: 'total', name: null };
        if ([...byId('prior').options].some((option) => option.value === prior)) state.prior = byId('prior').value = prior;
        return load(start, isPreset ? same(official, start) ? origin : 'link:' : /^file:/.test(origin) ? origin : 'link:', now);
      }
    } catch {
      if (kind === 'state' && !last()) return undefined;
      await choose(DEFAULT);
      notice('The link is damaged, or too large: the first preset is shown instead.');
      return undefined;
    }
    return choose(DEFAULT);
  }

  // ---- Files to take along

  /** What is set, under a name of its own if it is not the start any more. */
  function signed() {
    const { now, start } = state;
    if (now === start) return now;
    const name = now.name.endsWith(' (changed)') ? now.name : `${now.name} (changed)`;
    const source = !now.source || now.source.startsWith('changed from: ') ? now.source : `changed from: ${now.source}`;
    return { ...now, name, source };
  }

  async function takeAlong(format) {
    const { start, scope } = state;
    const draft = signed();
    const which = byId('export-figure').value;
    trouble(byId('export-trouble'), null);
    try {
      const response = await ask('/api/export', { format, draft, figure: which, scope, start });
      const link = el('a', { href: URL.createObjectURL(await response.blob()) });
      const name = (state.origin.startsWith('preset:') ? `${state.origin.slice(7)}${draft === start ? '' : '-changed'}` : draft.name).toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '').slice(0, 60);
      link.download = `${name || 'allocation'}${format === 'svg' ? `-${which}` : format === 'csv' ? '-certificate' : ''}.${format}`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    } catch (found) {
      trouble(byId('export-trouble'), found);
    }
  }

  // ---- The page

  const remembering = (show) => function remembered(answer, body) {
    this.last = [answer, body];
    show(answer, body);
  };
  const part = (selector) => [...document.querySelectorAll(selector)];
  const ends = {
    certificate: new Question('/api/certificate', remembering(showCertificate), part('#certificate, #certificate-notes, #behind-it, #subject, #verdict, #export-warning, #paths, .headline, #reductions, #promise, #controls')),
    start: new Question('/api/certificate', showStart, []),
    noise: new Question('/api/noise', (answer) => { side.noise = answer; besides(); }, part('#levels')),
    curve: new Question('/api/figure', drawing('curve', 'δ against ε'), part('#figure-curve')),
    tradeoff: new Question('/api/figure', drawing('tradeoff', 'False alarms against misses'), part('#figure-tradeoff')),
    noiseFigure: new Question('/api/figure', drawing('noise', ''), part('#figure-noise')),
    reading: new Question('/api/reading', showReading, part('#reading')),
  };

  // What sticks to the top hides nothing that is scrolled to.
  const bar = document.querySelector('.bar');
  new ResizeObserver(() => document.documentElement.style.setProperty('--bar', `${bar.offsetHeight}px`)).observe(bar);
  globalThis.charts.stripes();
  files();
  const undo = () => step(state.past, state.future);
  const redo = () => step(state.future, state.past);
  listen(byId('undo'), 'click', undo);
  listen(byId('redo'), 'click', redo);
  listen(byId('reset'), 'click', reset);
  listen(byId('copy-link'), 'click', copyLink);
  listen(byId('calibrate'), 'click', calibrate);
  for (const format of FORMATS) listen(byId(`export-${format}`), 'click', () => takeAlong(format));
  for (const radio of document.querySelectorAll('input[name=neighbours]')) listen(radio, 'change', () => edit(set(state.now, 'neighbours', radio.value)));
  for (const id of ['scope', 'prior']) {
    listen(byId(id), 'change', () => {
      state[id] = id === 'scope' ? JSON.parse(byId(id).value) : byId(id).value;
      closer();
      behind();
      keepLink();
    });
  }
  listen(document, 'keydown', (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
    const key = event.key.toLowerCase();
    const again = key === 'y' || key === 'z' && event.shiftKey;
    if (key !== 'z' && !again) return;
    // Where a text is being written, its own undo comes first.
    const control = [...controls.values()].find(({ field }) => field === event.target);
    if (event.target === byId('keep') || control && control.field.value !== get(state.now, control.path)) return;
    event.preventDefault();
    (again ? redo : undo)();
  });
  // Another link was opened here; anything else is a jump within the page.
  listen(window, 'hashchange', () => /^#(state|preset)=/.test(location.hash) ? restore() : keepLink());
  presets().then(restore).catch((found) => {
    byId('results').dataset.state = 'trouble';
    trouble(byId('draft-trouble'), found);
  });
})();
