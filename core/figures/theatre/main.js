// The stage: one run, one playhead, and everything that follows it.

class Stage {
  constructor(root) {
    this.root = root;
    this.hover = -1; this.selected = -1;
    this.tipBox = root.querySelector('.tip');
    this.grid = new Grid(root.querySelector('canvas.grid'), this);
    this.chart = new ChartOverlay(this);
    this.transport = new Transport(root, this);
    this.lanes = new Lanes(root, this);
    this.budgets = new Budgets(root, this);
    this.why = new Why(root, this);
    this.code = new Code(root, this);
    this.life = new Life(root, this);
    root.querySelectorAll('.tabs button').forEach((button) => { button.onclick = () => this.open(button.dataset.open); });
    new ResizeObserver(() => this.layout()).observe(root);
  }
  load(run, key) {
    const same = this.key === key;
    const t = same && this.run ? Math.min(this.run.t, run.steps - 1) : Math.min(run.h.start ?? 0, run.steps - 1);
    if (!same) { this.play(false); this.selected = -1; }
    this.key = key;
    this.run = run;
    if (this.selected >= run.n) this.selected = -1;
    this.readColors();
    this.transport.load(); this.lanes.load(); this.code.load();
    run.seek(t);
    this.layout(true);
    this.marks();
  }
  readColors() {
    const style = getComputedStyle(this.root);
    const color = (name, fallback) => { const value = style.getPropertyValue(name).trim(); return value && value !== 'unset' ? value : fallback; };
    const background = color('--st-background-color', '#ffffff');
    const dark = background.startsWith('#') && luminance(background) < 0.5;
    this.colors = {
      text: color('--st-text-color', '#31333f'), background, dark, primary: color('--st-primary-color', '#c8384a'),
      line: dark ? '#5b6270' : '#b9bfc8', font: color('--st-font', 'sans-serif'), free: dark ? '#2a303a' : '#e9ecf0',
    };
    this.root.classList.toggle('dark', dark);
  }
  layout(force) {
    const width = this.root.clientWidth;
    if (!this.run || !width || (!force && width === this.width)) return;
    this.width = width;
    const narrow = width < 600;
    this.root.classList.toggle('narrow', narrow);
    this.root.classList.toggle('compact', width < 780);
    const outside = document.querySelector('.st-key-stage');
    outside?.classList.toggle('narrow', narrow);
    const cell = this.root.querySelector('.grid-cell');
    this.grid.resize(cell.clientWidth, this.run.h.chartHeight);
    this.root.style.setProperty('--chart-height', `${this.run.h.chartHeight}px`);
    const scrolled = document.querySelector('[data-testid="stMain"]')?.scrollTop ?? window.scrollY;
    this.root.style.setProperty('--stage-top', `${this.root.getBoundingClientRect().top + scrolled}px`);
    const slot = this.root.querySelector('.chart-slot').getBoundingClientRect();
    outside?.style.setProperty('--chart-top', `${slot.top - outside.getBoundingClientRect().top}px`);
    this.transport.drawMarks();
    this.lanes.place();
    this.draw(false);
  }
  close() { this.play(false); this.chart.remove(); document.removeEventListener('keydown', this.transport.onPage); }
  focus() { return this.hover >= 0 ? this.hover : this.selected; }
  setHover(request) {
    if (request === this.hover) return;
    this.hover = request;
    this.grid.draw(); this.chart.place();
    for (const [r, chip] of this.lanes.chips) chip.classList.toggle('focus', this.focus() === r);
  }
  select(request) {
    this.selected = request === this.selected ? -1 : request;
    if (this.selected >= 0) this.open('life');
    this.draw(false);
  }
  // The request of the next row of the chart, round and round.
  selectNext(direction) {
    const { n } = this.run, from = this.selected < 0 && direction < 0 ? n : this.selected;
    if (n) this.select((from + direction + n) % n);
  }
  goTo(step, playing = false) {
    const t = Math.max(0, Math.min(this.run.steps - 1, Math.floor(step) || 0));
    if (t === this.run.t) return;
    const near = Math.abs(t - this.run.t) === 1;
    this.run.seek(t);
    this.root.querySelector('.note').textContent = '';
    this.draw(near && (!playing || this.transport.speed <= 5));
  }
  play(playing) { this.transport.setPlaying(playing); }
  draw(animated) {
    if (!this.run) return;
    this.transport.show(); this.grid.draw(); this.chart.place();
    this.lanes.show(animated); this.budgets.show(); this.why.show(); this.code.show(); this.life.show();
  }
  open(name) {
    const side = { queues: 'left', code: 'left', why: 'right', life: 'right' }[name];
    this.root.querySelectorAll(`.${side} .tabs button`).forEach((b) => b.setAttribute('aria-selected', b.dataset.open === name));
    this.root.querySelectorAll(`.${side} > [data-pane]`).forEach((pane) => { pane.hidden = pane.dataset.pane !== name; });
    if (this.run) { this.code.show(); this.life.show(); }
    if (name === 'queues' && this.run) { this.lanes.place(); this.lanes.show(false); }
  }
  showCode(line) { this.open('code'); this.code.point(line); }
  tip(text, e) {
    const { tipBox } = this;
    tipBox.style.display = text ? 'block' : 'none';
    if (!text) return;
    tipBox.textContent = text;
    const box = this.root.getBoundingClientRect();
    tipBox.style.left = `${Math.max(0, Math.min(e.clientX - box.left + 12, box.width - tipBox.offsetWidth - 4))}px`;
    tipBox.style.top = `${e.clientY - box.top + 16}px`;
  }
  // Phenomena and invariants: quiet marks under the stage, details on demand. A click on a
  // phenomenon goes to its next place.
  marks() {
    const row = this.root.querySelector('.marks'), note = this.root.querySelector('.note');
    const told = window.schedulerTheatre.marks, known = told && told.version === this.version ? told : {};
    const kinds = known.phenomena || [], invariants = known.invariants || [];
    row.innerHTML = kinds.map((kind, i) => `<button class="phenomenon" data-index="${i}" title="${escapeHtml(kind.meaning)}">${escapeHtml(kind.name)}`
        + ` <small>${kind.places.length > 1 ? `${kind.places.length} ×` : `step ${kind.places[0].step}`}</small></button>`).join('')
      + `<span class="invariants" aria-label="invariants">${invariants.map((v) => `<button class="${v.state}" title="${escapeHtml(`${v.number}. ${v.name}: ${v.text}`)}">${v.mark}</button>`).join('')}</span>`;
    note.textContent = '';
    note.onclick = () => { note.textContent = ''; };
    row.onclick = (e) => {
      const button = e.target.closest('button');
      if (!button) return;
      const kind = kinds[button.dataset.index];
      if (!kind) { note.textContent = button.title; return; }
      const place = kind.places.find((p) => p.step > this.run.t) ?? kind.places[0];
      this.play(false);
      if (place.request >= 0) this.selected = place.request;
      this.goTo(place.step);
      this.draw(false);
      note.innerHTML = `<b>${escapeHtml(kind.name)}.</b> ${escapeHtml(kind.meaning)} <b>Step ${place.step}:</b> ${escapeHtml(place.here)}`;
    };
  }
}

// Mount the theatre in an element, or give the mounted one another run. `data` is what theatre()
// sends; HTML and CSS stand in front of this file when it is sent.
window.schedulerTheatre = function (parentElement, data) {
  const host = parentElement.querySelector('.host');
  if (!host.firstChild) host.innerHTML = `<style>${THEATRE_CSS}</style>${THEATRE_HTML}`;
  const stage = host.stage || (host.stage = new Stage(host.querySelector('.stage')));
  window.schedulerTheatre.stage = stage;
  const start = performance.now(), { version, key, bytes } = openEnvelope(data);
  if (stage.version === version) { if (stage.run) { stage.readColors(); stage.layout(true); } return stage; }
  stage.version = version;
  unpack(bytes).then((run) => {
    if (stage.version !== version) return; // a newer run came in meanwhile
    stage.load(run, key);
    stage.root.dataset.version = window.schedulerTheatre.shown = version;
    stage.root.dataset.setup = (performance.now() - start).toFixed(1);
  });
  return stage;
};

// What a run shows and keeps comes a little later than the run: it takes longer to find out.
window.schedulerTheatre.tell = function (marks) {
  window.schedulerTheatre.marks = marks;
  const { stage } = window.schedulerTheatre;
  if (stage && stage.run && stage.version === marks.version) stage.marks();
};
