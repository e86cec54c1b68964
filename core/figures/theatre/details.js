// Two panels that open on demand: the scheduler's own source, and the life of one request.

class Code {
  constructor(root, stage) {
    this.stage = stage;
    this.pane = root.querySelector('.code');
    this.pane.onpointerover = (e) => {
      const row = e.target.closest('div[data-line]');
      stage.root.querySelectorAll('.why li').forEach((li) => li.classList.toggle('pointed', !!row && li.dataset.lines.split(' ').includes(row.dataset.line)));
    };
    this.pane.onpointerleave = () => stage.root.querySelectorAll('.why li').forEach((li) => li.classList.remove('pointed'));
  }
  load() {
    const { h } = this.stage.run;
    if (this.file === h.file && this.length === h.source.length) return;
    this.file = h.file; this.length = h.source.length;
    this.pane.innerHTML = `<p>${escapeHtml(h.file)}</p>` + h.source.map((text, i) => `<div data-line="${i + 1}"><b>${i + 1}</b><span>${highlight(text) || ' '}</span></div>`).join('');
  }
  show() {
    if (this.pane.hidden) return;
    const { run } = this.stage, lines = new Set(atStep(run).events.map((i) => run.c.eventLine[i]));
    if (atStep(run).decoded.length && run.h.decodeLine) lines.add(run.h.decodeLine);
    let first = null;
    for (const row of this.pane.querySelectorAll('div[data-line]')) {
      const lit = lines.has(+row.dataset.line);
      row.classList.toggle('lit', lit);
      if (lit && !first) first = row;
    }
    if (first) this.reveal(first);
  }
  point(line) {
    for (const row of this.pane.querySelectorAll('.pointed')) row.classList.remove('pointed');
    const row = line && this.pane.querySelector(`div[data-line="${line}"]`);
    if (row) { row.classList.add('pointed'); this.reveal(row); }
  }
  reveal(row) {
    const { pane } = this, top = row.offsetTop;
    if (top < pane.scrollTop + 20 || top > pane.scrollTop + pane.clientHeight - 40) pane.scrollTop = top - pane.clientHeight / 3;
  }
}

const KEYWORDS = /\b(def|class|return|while|for|in|if|elif|else|not|and|or|break|continue|from|import|is|None|True|False|assert|raise)\b/g;

function highlight(text) {
  const at = text.search(/#(?![^"']*["'][^"']*$)/), code = at < 0 ? text : text.slice(0, at);
  return escapeHtml(code).replace(KEYWORDS, '<em>$1</em>') + (at < 0 ? '' : `<s>${escapeHtml(text.slice(at))}</s>`);
}

class Life {
  constructor(root, stage) {
    this.stage = stage;
    this.pane = root.querySelector('.life');
    this.pane.onclick = (e) => {
      const step = e.target.closest('[data-step]');
      const request = e.target.closest('.req');
      if (step) { stage.play(false); stage.goTo(+step.dataset.step); } else if (request) stage.select(+request.dataset.request);
    };
  }
  show() {
    if (this.pane.hidden) return;
    const { run } = this.stage, request = this.stage.selected, w = run.h.words;
    const key = `${request} ${run.t}`;
    if (this.key === key && this.run === run) return;
    this.key = key; this.run = run;
    if (request < 0) { this.pane.innerHTML = `<p class="quiet">${w.pick}</p>`; this.request = request; return; }
    const story = this.story(request), now = run.progress(request, run.t);
    const tables = [['GPU', run.gpu.tableOf(request)], ['CPU', run.cpu.tableOf(request)]].filter((entry) => entry[1].length);
    this.pane.innerHTML = `<p class="who">${requestHtml(run, request)} ${fill(w.asked, { prompt: run.h.promptLens[request], output: run.h.outputLens[request], priority: run.h.priorities[request] })}</p>`
      + `<p>${fill(w.sofar, { step: run.t, outputs: now.outputs, total: run.h.outputLens[request] })} `
      + (tables.length ? tables.map(([device, table]) => `${device} blocks <code>${table.join(' ')}</code>`).join(' · ') : w.noblocks) + '</p>'
      + `<div class="shares">${this.shares(request)}</div><ol>${story.map(({ step, until, text }) => `<li data-step="${step}" class="${step <= run.t && run.t <= until ? 'now' : ''}"><small>${step}</small> ${text}</li>`).join('')}</ol>`;
    const line = this.pane.querySelector('li.now'), bottom = this.pane.scrollTop + this.pane.clientHeight;
    if (this.request !== request) this.pane.scrollTop = 0; // its summary first, then the line of the step
    else if (line && (line.offsetTop < this.pane.scrollTop || line.offsetTop + line.offsetHeight > bottom)) this.pane.scrollTop = line.offsetTop - this.pane.clientHeight / 2;
    this.request = request;
  }
  // Steps in each state; those in which a running request was given nothing are pauses.
  shares(request) {
    const { run } = this.stage, { c, h } = run, length = {};
    const add = (look, steps) => { if (steps > 0) length[look] = (length[look] || 0) + steps; };
    for (const i of run.spansOf[request]) {
      const look = h.lookNames[c.spanLook[i]], from = c.spanFrom[i], to = Math.min(c.spanTo[i], h.computedSteps);
      const running = look === 'prefill' || look === 'decode', served = running ? run.served(request, from, to) : to - from;
      add(look, served);
      add('held', to - from - served);
    }
    const total = Object.values(length).reduce((sum, steps) => sum + steps, 0), name = (look) => (look === 'held' ? h.words.paused : h.looks[look].name);
    return Object.entries(length).map(([look, steps]) => `<i class="${look}" style="width:${100 * steps / total}%" title="${name(look)}: ${steps} steps"></i>`).join('')
      + '<br>' + Object.entries(length).map(([look, steps]) => `<span><i class="${look} dot"></i>${name(look)} ${steps}</span>`).join(' ');
  }
  // Why it got nothing without a decision of its own, step by step: behind a refused head, in a
  // queue that was not looked at, or because the engine died.
  waits(request) {
    const { run } = this.stage, { c, h } = run, found = [];
    const own = new Set(run.eventsOf[request].filter((i) => OWN_VERDICTS.has(run.kind(i))).map((i) => c.eventStep[i]));
    for (const span of run.spansOf[request]) {
      for (let t = c.spanFrom[span]; t < c.spanTo[span]; t++) {
        if (own.has(t) || run.served(request, t, t + 1)) continue;
        if (t >= h.computedSteps) { found.push({ step: t, key: 'died', text: h.templates['verdict.died'] }); continue; }
        const queue = run.queueAt(request, t);
        let reason = null;
        for (let i = run.eventStarts[t]; i < run.eventStarts[t + 1]; i++)
          if (c.eventQueue[i] !== NONE && h.queues[c.eventQueue[i]] === queue && ['refused', 'held'].includes(run.kind(i))) reason = i;
        if (reason === null) continue;
        const head = c.eventRequest[reason], refused = run.kind(reason) === 'refused';
        found.push(refused ? { step: t, key: `behind ${head}`, text: fill(h.templates['verdict.behind'], { other: requestHtml(run, head) }) }
          : { step: t, key: `held ${run.limit(reason)} ${c.eventOther[reason]}`, text: sentence(run, reason) });
      }
    }
    return found;
  }
  // The request's life as lines {step, until, text}: its own decisions, and why it got nothing.
  // Steps on end with one reason are one line, which tells in which range the numbers were.
  story(request) {
    const { run } = this.stage, { c, h } = run;
    const own = run.eventsOf[request].filter((i) => run.kind(i) !== 'prefilled' || c.eventStep[i] < h.computedSteps).map((i) => {
      const kind = run.kind(i), step = c.eventStep[i];
      if (kind === 'refused') return { step, key: `refused ${run.limit(i)}`, text: sentence(run, i), event: i };
      const count = kind === 'preempted' && step ? run.computed(request, step - 1) : 0;
      return { step, key: null, text: sentence(run, i) + (count ? ' ' + fill(h.words.lost, { count }) : '') };
    });
    const lines = [];
    for (const item of [...own, ...this.waits(request)].sort((a, b) => a.step - b.step)) {
      const last = lines[lines.length - 1];
      if (!last || item.key === null || last.key !== item.key || item.step > last.until + 1) { lines.push({ ...item, until: item.step, events: [item.event] }); continue; }
      last.until = item.step;
      last.events.push(item.event);
    }
    for (const line of lines) {
      if (line.until === line.step) continue;
      if (line.event !== undefined) line.text = sentence(run, line.event, false, ranges(run, line.events));
      line.text += ` <em>${fill(h.words.times, { count: line.until - line.step + 1 })}</em>`;
    }
    return lines;
  }
}

// The numbers of several refusals: one each, or from the least to the most.
function ranges(run, events) {
  const range = (column) => {
    const values = events.map((i) => column[i] | 0), low = Math.min(...values), high = Math.max(...values);
    return low === high ? low : `${low} to ${high}`;
  };
  return { needed: range(run.c.eventNeeded), available: range(run.c.eventAvailable) };
}
