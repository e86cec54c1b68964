// Two panels that open on demand: the scheduler's own source, and the life of one request.

class Code {
  constructor(root, stage) {
    this.stage = stage;
    this.pane = root.querySelector('.code');
    this.pane.onpointerover = (e) => {
      const row = e.target.closest('div[data-line]');
      stage.root.querySelectorAll('.why li').forEach((li) => li.classList.toggle('pointed', !!row && li.dataset.line === row.dataset.line));
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
    if (request < 0) { this.pane.innerHTML = `<p class="quiet">${w.pick}</p>`; return; }
    const story = this.story(request), now = run.progress(request, run.t);
    const key = `${request} ${run.t}`;
    if (this.key === key && this.run === run) return;
    this.key = key; this.run = run;
    const tables = [['GPU', run.gpu.tableOf(request)], ['CPU', run.cpu.tableOf(request)]].filter((entry) => entry[1].length);
    this.pane.innerHTML = `<p class="who">${requestHtml(run, request)} ${fill(w.asked, { prompt: run.h.promptLens[request], output: run.h.outputLens[request], priority: run.h.priorities[request] })}</p>`
      + `<p>${fill(w.sofar, { step: run.t, outputs: now.outputs, total: run.h.outputLens[request] })} `
      + (tables.length ? tables.map(([device, table]) => `${device} blocks <code>${table.join(' ')}</code>`).join(' · ') : w.noblocks) + '</p>'
      + `<div class="shares">${this.shares(request)}</div><ol>${story.map(([step, text]) => `<li data-step="${step}" class="${step === run.t ? 'now' : ''}"><small>${step}</small> ${text}</li>`).join('')}</ol>`;
  }
  shares(request) {
    const { run } = this.stage, { c, h } = run, length = {};
    let total = 0;
    for (const i of run.spansOf[request]) {
      const look = h.lookNames[c.spanLook[i]], steps = c.spanTo[i] - c.spanFrom[i];
      length[look] = (length[look] || 0) + steps; total += steps;
    }
    return Object.entries(length).filter((e) => e[1]).map(([look, steps]) => `<i class="${look}" style="width:${100 * steps / total}%" title="${h.looks[look].name}: ${steps} steps"></i>`).join('')
      + '<br>' + Object.entries(length).filter((e) => e[1]).map(([look, steps]) => `<span><i class="${look} dot"></i>${h.looks[look].name} ${steps}</span>`).join(' ');
  }
  // Why it got nothing without a decision of its own: behind a refused head, or in a queue that
  // was not looked at. Each stretch of steps with one reason is a line.
  waits(request) {
    const { run } = this.stage, { c, h } = run, lines = [];
    const queueOf = { waiting: 'waiting', preempted: 'waiting', swapped: 'swapped', decode: 'running', prefill: 'running' };
    const own = new Set(run.eventsOf[request].filter((i) => OWN_VERDICTS.has(run.kind(i))).map((i) => c.eventStep[i]));
    for (const span of run.spansOf[request]) {
      const queue = h.queues.indexOf(queueOf[h.lookNames[c.spanLook[span]]]);
      let last = null;
      for (let t = c.spanFrom[span]; t < Math.min(c.spanTo[span], h.computedSteps); t++) {
        if (queue < 0 || own.has(t) || run.served(request, t, t + 1)) { last = null; continue; }
        let reason = null;
        for (let i = run.eventStarts[t]; i < run.eventStarts[t + 1]; i++)
          if (c.eventQueue[i] === queue && ['refused', 'held'].includes(run.kind(i))) reason = i;
        if (reason === null) { last = null; continue; }
        const refused = run.kind(reason) === 'refused', head = c.eventRequest[reason];
        const key = refused ? `behind ${head}` : `held ${run.limit(reason)}`;
        if (last && last.key === key) { last.count++; last.line[1] = `${last.text} <em>${fill(h.words.times, { count: last.count })}</em>`; continue; }
        const text = refused ? fill(h.templates['verdict.behind'], { other: requestHtml(run, head) }) : sentence(run, reason);
        last = { key, text, count: 1, line: [t, text] };
        lines.push(last.line);
      }
    }
    return lines;
  }
  // The request's own decisions in order; repeated refusals are told once with their number.
  story(request) {
    const { run } = this.stage, { c, h } = run, lines = [];
    let refusals = null;
    for (const i of run.eventsOf[request]) {
      const kind = run.kind(i), step = c.eventStep[i];
      if (kind === 'refused') {
        const limit = run.limit(i);
        if (refusals && refusals.limit === limit) { refusals.count++; refusals.line[1] = `${refusals.text} <em>${fill(h.words.times, { count: refusals.count })}</em>`; continue; }
        refusals = { limit, count: 1, text: sentence(run, i) };
        refusals.line = [step, refusals.text];
        lines.push(refusals.line);
        continue;
      }
      refusals = null;
      if (kind === 'preempted') lines.push([step, sentence(run, i) + ' ' + fill(h.words.lost, { count: step ? run.computed(request, step - 1) : 0 })]);
      else lines.push([step, sentence(run, i)]);
    }
    return [...lines, ...this.waits(request)].sort((a, b) => a[0] - b[0]);
  }
}
