// The explorer: an allocation that is turned by hand, and what it promises, asked of the program behind this
// page: its server, or a module that it brings along (alone/explorer.js).
//
// Every number of an allocation is an exact fraction, kept as it was written. Whatever is shortened to be
// shown is rounded outward: guarantees up, what an attack really reaches down. Nothing here computes an ε.
//
//   control, sources, address ──▶ store ──changed──▶ questions ──answers──▶ certificate, closer, spend, …
//
// What tests can hold on to:
//   #preset #file #drop #file-neighbours #file-read #file-trouble       where an allocation comes from
//   #rho #delta (text), #rho-slider #delta-slider, input[name=neighbours]
//   [data-level="State"] > .control input[type=range|text]              a level's share
//   [data-level="State"] [data-query="total"] input[type=range|text]    a query's share of it, in <details>,
//                                                                       or the scale of its Laplace noise
//   #also-add, [data-also="0"] select, #also-0-scale …                  other mechanisms, from [[also]]
//   #level-sum, [data-level] .sum, each with button.renormalise         sums of shares
//   #epsilon #epsilon-start, #undo #redo #reset #copy-link, #notice     the bar
//   #results[data-state=ready|waiting|trouble]                          ready: all shown is of what is set
//   #verdict[data-kept=true|false|unknown], #export-warning             whether a stated ε is kept
//   #certificate tr[data-label="total"] [data-column="upper (≤)"] .start .change    its table, as described
//   #paths #assumptions #missing          what is behind a line; what is assumed; what is not counted
//   #part #prior #reading, #figure-curve #figure-tradeoff #figure-noise; with -refusal: why it is not there
//   #reductions tr[data-label], input[name=scaling] #keep #calibrate #spent tr[data-label]
//   [data-units="State"] [data-exact="State"], #accuracy, #accuracy-trouble    errors of estimates
//   #needs[data-state=none|waiting|ready|trouble], #need-add, [data-need] .outcome [data-share], #rest-kind
//   #design-epsilon #design-rho #design-use                             what meets the needs
//   #export-toml #export-csv #export-figure #export-svg
import { stripes } from '../charts/elements.js';
import { buildUnits, counted, markAccuracy, showAccuracy, unitsSet } from './accuracy.js';
import { copyLink, isLink, keepLink, restore } from './address.js';
import { listenForAlso, objectAt, showAlso } from './also.js';
import { answers, forget } from './answers.js';
import { Question, isLoading } from './api.js';
import { besides, build, update } from './budget.js';
import { say, showHeadline, showSubject, showTable } from './certificate.js';
import { drawing, looked, showParts, showPaths } from './closer.js';
import { controls } from './control.js';
import { byId, listen, parted, radios } from './dom.js';
import { get, hasLaplace, set } from './draft.js';
import { FORMATS, takeAlong } from './exports.js';
import { loadLimits } from './limits.js';
import { askDesign, buildNeeds, listenForNeeds, markNeeds } from './needs.js';
import { notice, showTrouble } from './notices.js';
import { accuracyOf, certificateOf, draftIn, readingOf, spendingOf } from './questions.js';
import { showReading } from './reading.js';
import { TOTAL, has } from './scope.js';
import { listPresets, listenForFiles, showOrigin } from './sources.js';
import { calibrate, isCalibrating, showReductions, updateSpent } from './spend.js';
import { changed, edit, noted, redo, reset, restarted, state, touched, undo, wrong } from './store.js';
import { sentence } from './trouble.js';
import { showVerdict } from './verdict.js';

const REST = 250; // ms after which a hand is said to rest

// ---- What is asked, and what is done with the answers

const parts = (selector) => [...document.querySelectorAll(selector)];
const ends = {
  certificate: new Question('/api/certificate', showCertificate, parts('#certificate, #certificate-notes, ' +
    '#behind-it, #subject, #verdict, #export-warning, #paths, .headline, #reductions, #promise, #controls')),
  start: new Question('/api/certificate', showStart, []),
  spending: new Question('/api/spending', showSpending, parts('#levels')),
  curve: new Question('/api/figure', drawing('curve', 'δ against ε'), parts('#figure-curve')),
  tradeoff: new Question('/api/figure', drawing('tradeoff', 'False alarms against misses'),
    parts('#figure-tradeoff')),
  noiseFigure: new Question('/api/figure', drawing('noise', ''), parts('#figure-noise')),
  reading: new Question('/api/reading', showReading, parts('#reading')),
};

// It may have no answer where all others do: without numbers of units, or values of attributes.
const accuracy = new Question('/api/accuracy', showAccuracy, []);

/** What some releases do not have: why is said in its place. */
const REFUSED = { reading: 'reading', curve: 'figure-curve', tradeoff: 'figure-tradeoff',
  noiseFigure: 'figure-noise' };

let last = null; // the certificate that is shown, and what was asked

function showCertificate(answer, question) {
  last = [answer, question];
  const isFast = !question.reductions;
  answers.now = answer;
  if (draftIn(question) === state.start) askStart();
  if (!isFast && draftIn(question) === state.start) answers.start = answer;
  showTable(answer, isFast);
  showSubject(answer, isFast);
  showVerdict(answer);
  besides();
  showHeadline(isFast);
  showParts(answer);
  if (isFast) return;
  showReductions(answer);
  if (draftIn(question) === state.now) say();
}

function showStart(answer, question) {
  if (draftIn(question) !== state.start) return;
  answers[question.reductions ? 'start' : 'fastStart'] = answer;
  if (last) showCertificate(...last);
}

function showSpending(answer) {
  answers.spending = answer;
  besides();
}

function askAll() {
  const { now: draft, start } = state;
  ends.certificate.want(certificateOf(draft, false));
  // Where both are the same, one answer serves both: the start is asked for after it.
  if (draft !== start) askStart();
  ends.spending.want(spendingOf(draft));
  askPart();
  ends.noiseFigure.want({ figure: 'noise', draft, start, part: TOTAL });
}

function askAccuracy() {
  accuracy.want(accuracyOf(state.now, unitsSet(state.now)));
}

/** The certificate of the start, once. */
function askStart() {
  const { start } = state;
  if (draftIn(ends.start.wanted) !== start) ends.start.want(certificateOf(start, false));
}

/** What is asked of the part that is looked at. */
function askPart() {
  const { now: draft, start, prior } = state;
  // What was looked at may not be there any more.
  if (!has(draft, state.part)) state.part = TOTAL;
  const { part } = state;
  ends.curve.want({ figure: 'curve', draft, start, part });
  ends.tradeoff.want({ figure: 'tradeoff', draft, start, part });
  ends.reading.want(readingOf(draft, part, prior));
}

/** What takes longer, or would be a flood, waits until the hand rests. */
function rest() {
  const { now, start } = state;
  if (!ends.certificate.fail) ends.certificate.want(certificateOf(now, true));
  // After a link the start itself was never set.
  if (now !== start && !answers.start && !ends.start.fail) ends.start.want(certificateOf(start, true));
  keepLink();
}

// ---- What is shown of what is set

let resting;
let built = null; // the start whose controls are there

function show() {
  askAll(); // first: from here on nothing that is shown is up to date
  const isAnother = built !== state.start;
  if (isAnother) {
    built = state.start;
    forget();
    last = null;
    build();
    buildUnits();
    buildNeeds();
  }
  showAlso(isAnother);
  askAccuracy();
  askDesign();
  update();
  for (const radio of radios('neighbours')) radio.checked = radio.value === state.now.neighbours;
  byId('undo').disabled = !state.past.length;
  byId('redo').disabled = !state.future.length;
  updateSpent();
  showSource();
  showOrigin();
  clearTimeout(resting);
  resting = setTimeout(rest, REST);
}

function showSource() {
  const { source } = state.start;
  const isLinked = state.origin.startsWith('link:');
  const asGiven = isLinked ? 'Source, as the link has it' : 'Source';
  const whence = state.now === state.start ? asGiven : 'Changed from';
  byId('origin').replaceChildren(...(source ? [`${whence}: `, parted(source)] : []));
}

/** Says of what there is no answer why not, in its place; which those are. */
function showRefusals() {
  const refused = new Set();
  for (const [name, id] of Object.entries(REFUSED)) {
    const end = ends[name];
    const isRefused = Boolean(end.fail && !end.fail.silent);
    if (isRefused) refused.add(end);
    // If all of it is wrong, it is said once.
    const isShown = isRefused && !ends.certificate.fail;
    byId(`${id}-refusal`).hidden = !isShown;
    byId(`${id}-refusal`).textContent = isShown ? sentence(end.fail) : '';
    byId(id).hidden = isShown;
  }
  return refused;
}

/** Marks what is not up to date, and says why where that is known. */
function mark() {
  const all = Object.values(ends);
  for (const end of all) {
    for (const part of end.parts) part.classList.toggle('stale', wrong.size > 0 || !end.isFresh);
  }
  const refused = showRefusals();
  const { fail } = all.find((end) => end.fail && !refused.has(end)) || {};
  const field = fail && [...controls.values()].find((control) => control.isAtFault(fail));
  if (field) field.node.closest('details')?.setAttribute('open', '');
  for (const control of controls.values()) {
    control.object(wrong.get(control.path) || (control === field ? sentence(fail) : ''));
  }
  const isAtCard = objectAt(field ? null : fail);
  showTrouble(byId('draft-trouble'), fail && !field && !isAtCard && !fail.silent ? fail : null);
  if (fail?.silent) notice(sentence(fail));
  const why = wrong.size ? 'a field is not a number' : fail ? 'there is no answer for what is set' : '';
  byId('stale').hidden = !why;
  byId('stale').textContent = why && `Not up to date: ${why}. These are the last figures that were.`;
  byId('reset').disabled = state.now === state.start && !wrong.size;
  const isGaussian = !state.now || !hasLaplace(state.now);
  byId('calibrate').disabled = isCalibrating() || wrong.size > 0 || !isGaussian;
  for (const format of FORMATS) byId(`export-${format}`).disabled = wrong.size > 0;
  markAccuracy(accuracy, wrong.size > 0);
  markNeeds();
  const isDone = (end) => end.isFresh || refused.has(end);
  const isAnswered = !isLoading() && all.every(isDone) && (accuracy.isFresh || accuracy.fail);
  const isReady = isAnswered && ends.certificate.answered?.reductions;
  byId('results').dataset.state = why ? 'trouble' : isReady ? 'ready' : 'waiting';
}

// ---- The page

changed.listen(show);
touched.listen(mark);
noted.listen(notice);
looked.listen(askPart);
counted.listen(askAccuracy);
counted.listen(askDesign);
restarted.listen(() => {
  for (const id of ['file-trouble', 'keep-trouble', 'export-trouble']) showTrouble(byId(id), null);
  byId('controls').scrollTop = 0; // what was taken is seen, not only the file it came from
});

// What sticks to the top hides nothing that is scrolled to.
const bar = document.querySelector('.bar');
new ResizeObserver(() => {
  document.documentElement.style.setProperty('--bar', `${bar.offsetHeight}px`);
}).observe(bar);
stripes();
listenForFiles();
listenForNeeds();
listenForAlso();
listen(byId('undo'), 'click', undo);
listen(byId('redo'), 'click', redo);
listen(byId('reset'), 'click', reset);
listen(byId('copy-link'), 'click', copyLink);
listen(byId('calibrate'), 'click', calibrate);
for (const format of FORMATS) listen(byId(`export-${format}`), 'click', () => takeAlong(format));
for (const radio of radios('neighbours')) {
  listen(radio, 'change', () => edit(set(state.now, 'neighbours', radio.value)));
}
const look = (what) => {
  Object.assign(state, what);
  askPart();
  showPaths();
  keepLink();
};
listen(byId('part'), 'change', () => look({ part: JSON.parse(byId('part').value) }));
listen(byId('prior'), 'change', () => look({ prior: byId('prior').value }));
listen(document, 'keydown', (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
  const key = event.key.toLowerCase();
  const isRedo = key === 'y' || key === 'z' && event.shiftKey;
  if (key !== 'z' && !isRedo) return;
  // Where a text is being written, its own undo comes first.
  const control = [...controls.values()].find(({ field }) => field === event.target);
  const isWriting = control && control.field.value !== get(state.now, control.path);
  if (event.target === byId('keep') || isWriting) return;
  event.preventDefault();
  (isRedo ? redo : undo)();
});
// Another link was opened here; anything else is a jump within the page.
listen(window, 'hashchange', () => (isLink() ? restore() : keepLink()));
/** Kept once the first allocation is there, or what is wrong has been said. */
export const opened = Promise.all([loadLimits(), listPresets()]).then(restore).catch((found) => {
  byId('results').dataset.state = 'trouble';
  showTrouble(byId('draft-trouble'), found);
});
