// Why: the decisions of a step as sentences, each with the line that took it.

class Why {
  constructor(root, stage) {
    this.stage = stage;
    this.list = root.querySelector('.why ol');
    this.list.onclick = (e) => {
      const request = e.target.closest('.req'), item = e.target.closest('li');
      if (request) stage.select(+request.dataset.request);
      else if (item?.dataset.line) stage.showCode(+item.dataset.line);
    };
    this.list.onpointerover = (e) => {
      const request = e.target.closest('.req'), item = e.target.closest('li');
      stage.setHover(request ? +request.dataset.request : -1);
      stage.code.point(item?.dataset.line ? +item.dataset.line : null);
    };
    this.list.onpointerleave = () => { stage.setHover(-1); stage.code.point(null); };
  }
  show() {
    const rows = this.rows();
    this.write(rows);
    if (this.list.parentElement.scrollHeight <= this.list.parentElement.clientHeight) return;
    this.write(fold(this.stage.run, rows));
  }
  write(rows) {
    const item = ({ kind, text, lines, parts }) => `<li class="${kind}" ${lines.length && !parts ? `data-line="${lines[0]}"` : ''} data-lines="${lines.join(' ')}">`
      + (parts ? `<details><summary>${text}</summary><ol>${parts.map(item).join('')}</ol></details>` : text)
      + `${lines.length && !parts ? `<small>line ${lines[0]}</small>` : ''}</li>`;
    this.list.innerHTML = rows.map(item).join('');
  }
  // The step in sentences, one row for each.
  rows() {
    const { run } = this.stage, { c } = run, rows = [];
    const add = (kind, text, lines = [], request = NONE) => rows.push({ kind, text, lines, request });
    const line = (event) => (c.eventLine[event] === NONE ? [] : [c.eventLine[event]]);
    const { events, died } = atStep(run), of = (kind) => events.filter((i) => run.kind(i) === kind);
    const arrived = of('arrived');
    if (arrived.length > 1) add('arrived', fill(run.h.words.arrive, { names: names(run, arrived.map((i) => c.eventRequest[i])) }));
    const prefills = new Map(of('prefilled').map((i) => [c.eventRequest[i], i])), told = new Set();
    for (const event of events) {
      const kind = run.kind(event), prefill = prefills.get(c.eventRequest[event]);
      if (kind === 'finished' || told.has(event) || (kind === 'arrived' && arrived.length > 1)) continue;
      let text = sentence(run, event), lines = line(event);
      if (kind === 'admitted' && prefill !== undefined) {
        told.add(prefill);
        lines = [...lines, ...line(prefill)];
        if (died === undefined) text += ' ' + sentence(run, prefill, true);
      }
      if (kind === 'aborted') text += ` <q>${escapeHtml(run.h.message)}</q>`;
      add(kind, text, lines, c.eventRequest[event]);
    }
    const decoded = decodedSentence(run);
    if (decoded) add('decoded', decoded, run.h.decodeLine ? [run.h.decodeLine] : []);
    for (const event of of('finished')) add('finished', sentence(run, event), line(event), c.eventRequest[event]);
    for (const text of this.behind()) add('behind', text);
    const others = died === undefined ? [] : run.alive(run.t).filter((r) => verdict(run, r, run.queueAt(r, run.t)).kind === 'aborted' && !atStep(run).own.has(r));
    if (others.length) add('behind', fill(run.h.words.died, { names: names(run, others) }));
    if (!rows.length) add('none', run.h.words.nothing);
    if (run.t === run.steps - 1 && !['finished', 'aborted'].includes(run.h.outcome)) add('aborted', escapeHtml(run.h.ending));
    return rows;
  }
  // Those who stand behind a refused head, in one sentence for each queue.
  behind() {
    const { run } = this.stage, texts = [];
    for (const [queue, event] of atStep(run).refused) {
      if (queue === null) continue;
      const after = run.queues.get(queue).filter((r) => verdict(run, r, queue).kind === 'behind');
      if (after.length) texts.push(fill(run.h.words.behind, { names: names(run, after), head: requestHtml(run, run.c.eventRequest[event]) }));
    }
    return texts;
  }
}

// Neighbours of one kind as one row that opens on demand: for a step that says more than fits.
function fold(run, rows) {
  const folded = [];
  for (const row of rows) {
    const last = folded[folded.length - 1], many = run.h.templates[`many.${row.kind}`];
    if (!many || last?.kind !== row.kind) { folded.push({ ...row }); continue; }
    last.parts ??= [{ ...last, parts: undefined }];
    last.parts.push(row);
    const requests = [...new Set(last.parts.map((part) => part.request))];
    last.text = fill(many, { names: names(run, requests) });
    last.lines = [...new Set(last.parts.flatMap((part) => part.lines))];
  }
  return folded;
}
