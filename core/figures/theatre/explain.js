// Decisions in words: the same templates and the same rule as core/explain.py.

function escapeHtml(text) {
  return String(text).replace(/[&<>"']/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' })[c]);
}
function requestHtml(run, request) {
  return `<b class="req" data-request="${request}" style="--c:${run.color(request)}">${escapeHtml(run.h.ids[request])}</b>`;
}
function fill(template, values) {
  return template.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? '');
}

function templateKey(run, event) {
  const { c } = run, known = run.h.templates, kind = run.kind(event);
  if (kind === 'prefilled') {
    if (c.eventCached[event]) return 'prefilled.cached';
    const request = c.eventRequest[event], lost = (i) => run.kind(i) === 'preempted' && run.served(request, 0, c.eventStep[i]);
    const again = run.eventsOf[request].some((i) => i < event && lost(i));
    return again ? 'prefilled.again' : 'prefilled';
  }
  const limit = run.limit(event);
  if (limit !== null) {
    const limited = `${kind}.${limit}`;
    if (c.eventOther[event] !== NONE && c.eventOther[event] !== c.eventRequest[event] && `${limited}.other` in known) return `${limited}.other`;
    if (limited in known) return limited;
  }
  return kind;
}

// `short`: the request has just been named. `numbers` stand in for those of the event.
function sentence(run, event, short = false, numbers = {}) {
  const { c, h } = run, request = c.eventRequest[event], other = c.eventOther[event];
  const queue = c.eventQueue[event];
  return fill(h.templates[templateKey(run, event)], {
    request: request === NONE ? '' : short ? h.words.it : requestHtml(run, request),
    other: other === NONE ? '' : requestHtml(run, other),
    prompt_len: request === NONE ? '' : h.promptLens[request],
    num_tokens: c.eventTokens[event], cached: c.eventCached[event],
    computed: c.eventTokens[event] - c.eventCached[event],
    queue: queue === NONE ? '' : h.queues[queue], block: c.eventBlock[event],
    needed: c.eventNeeded[event] | 0, available: c.eventAvailable[event] | 0,
    victim: h.templates[`victim.${h.victimRule}`], reserve: h.reserve, interval: h.interval, ...numbers,
  });
}

const OWN_VERDICTS = new Set(['refused', 'preempted', 'swapped_out', 'ignored', 'aborted']);

// What happened at the present step: its decisions in order, and one verdict for every request.
function atStep(run) {
  if (run.atStep) return run.atStep;
  const { c, t } = run, events = [], own = new Map(), held = new Map(), refused = new Map(), given = new Map(), cached = new Map();
  for (let i = run.eventStarts[t]; i < run.eventStarts[t + 1]; i++) {
    events.push(i);
    const kind = run.kind(i), request = c.eventRequest[i];
    if (OWN_VERDICTS.has(kind)) own.set(request, i);
    if (kind === 'prefilled') { given.set(request, c.eventTokens[i] - c.eventCached[i]); cached.set(request, c.eventCached[i]); }
    const queue = c.eventQueue[i] === NONE ? null : run.h.queues[c.eventQueue[i]];
    if (kind === 'held') held.set(queue, i);
    if (kind === 'refused') refused.set(queue, i);
  }
  const died = events.find((i) => run.kind(i) === 'aborted');
  // whoever the last step served still stands there when the engine dies before it serves anybody
  const scheduled = new Set(died === undefined ? run.queues.get('scheduled') : []);
  const decoded = [...scheduled].filter((r) => !given.has(r));
  // let in when the engine died: on its way from queue to queue it stands in none
  const stray = died === undefined ? [] : run.alive(t).filter((r) => run.queueAt(r, t) === null);
  for (const r of decoded) given.set(r, 1);
  return (run.atStep = { events, own, held, refused, given, cached, scheduled, decoded, died, stray });
}

// The one verdict of a request at the present step: {kind, text, event}.
function verdict(run, request, queue) {
  const now = atStep(run);
  const own = now.own.get(request);
  if (own !== undefined) return { kind: run.kind(own), event: own, text: sentence(run, own) };
  if (now.scheduled.has(request)) return { kind: 'given', event: null, text: '' };
  if (now.died !== undefined) return { kind: 'aborted', event: now.died, text: run.h.templates['verdict.died'] };
  const held = now.held.get(queue), refused = now.refused.get(queue);
  if (refused !== undefined) {
    const head = run.c.eventRequest[refused];
    const text = fill(run.h.templates['verdict.behind'], { other: requestHtml(run, head) });
    return { kind: 'behind', event: refused, text };
  }
  if (held !== undefined) return { kind: 'held', event: held, text: sentence(run, held) };
  return { kind: 'none', event: null, text: '' };
}

function decodedSentence(run) {
  const { decoded } = atStep(run);
  if (!decoded.length) return null;
  if (decoded.length === 1) return fill(run.h.templates['decoded.one'], { request: requestHtml(run, decoded[0]) });
  return fill(run.h.templates.decoded, { requests: names(run, decoded) });
}
