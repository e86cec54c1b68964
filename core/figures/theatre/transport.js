// Play, step, scrub and jump: the buttons, the keyboard, the scrubber and its marks.

const MARKS = {
  preempted: ['preempted'], swapped: ['swapped_out', 'swapped_in'], refused: ['refused'],
  held: ['held'], ended: ['finished', 'ignored', 'aborted'],
};

// Keys that walk through the requests; where the theatre has no focus they scroll the page.
const VERTICAL = { ArrowDown: 1, ArrowUp: -1 };

class Transport {
  constructor(root, stage) {
    this.root = root;
    this.stage = stage;
    this.speed = 4;
    const $ = (selector) => root.querySelector(selector);
    this.range = $('.scrub input'); this.output = $('.bar output'); this.marks = $('.scrub canvas');
    this.playButton = $('[data-do=play]'); this.jump = $('[data-do=jump]'); this.rate = $('[data-do=rate]');
    root.querySelector('.bar').onclick = (e) => {
      const button = e.target.closest('button');
      if (button) this.act(button.dataset.do);
      if (button && e.detail) stage.root.focus({ preventScroll: true }); // so that space plays again
    };
    this.range.oninput = () => { this.position = +this.range.value; stage.goTo(+this.range.value); };
    this.rate.onchange = () => { this.speed = +this.rate.value; };
    root.onkeydown = (e) => this.key(e);
    this.onPage = (e) => { if (e.target === document.body && !VERTICAL[e.key]) this.key(e); };
    document.addEventListener('keydown', this.onPage);
  }
  load() {
    const { run } = this.stage;
    this.range.max = run.steps - 1;
    this.rate.value = String(this.speed);
    const { c } = run;
    this.markSteps = {}; this.counts = {};
    for (const [name, kinds] of Object.entries(MARKS)) {
      const steps = [...c.eventStep].filter((_, i) => kinds.includes(run.kind(i)));
      this.counts[name] = steps.length;
      this.markSteps[name] = Uint32Array.from(new Set(steps)).sort();
    }
    for (const option of this.jump.options) {
      const count = this.counts[option.value];
      option.textContent = `${option.dataset.name} (${count})`;
      option.disabled = !count;
    }
    if (this.jump.selectedOptions[0]?.disabled) {
      const possible = [...this.jump.options].find((o) => !o.disabled);
      if (possible) this.jump.value = possible.value;
    }
  }
  act(what) {
    const { stage } = this, t = stage.run.t;
    if (what === 'play') return stage.play(!this.playing);
    if (what === 'picture') return savePicture(stage);
    stage.play(false);
    if (what === 'first') stage.goTo(0);
    if (what === 'back') stage.goTo(t - 1);
    if (what === 'next') stage.goTo(t + 1);
    if (what === 'last') stage.goTo(stage.run.steps - 1);
    if (what === 'jump-back') this.jumpBy(-1);
    if (what === 'jump-next') this.jumpBy(1);
  }
  jumpBy(direction) {
    const steps = this.markSteps[this.jump.value], t = this.stage.run.t;
    const at = lowerBound(steps, direction > 0 ? t + 1 : t);
    const step = steps[direction > 0 ? at : at - 1];
    if (step !== undefined) this.stage.goTo(step);
  }
  key(e) {
    const typing = e.target.tagName === 'SELECT' || (e.key === ' ' && e.target.tagName === 'BUTTON');
    if (typing || e.ctrlKey || e.altKey || e.metaKey) return;
    const far = e.shiftKey ? 10 : 1, { stage } = this, t = stage.run.t;
    if (e.key === ' ') stage.play(!this.playing);
    else if (e.key === 'ArrowRight') { stage.play(false); stage.goTo(t + far); }
    else if (e.key === 'ArrowLeft') { stage.play(false); stage.goTo(t - far); }
    else if (e.key === 'Home') { stage.play(false); stage.goTo(0); }
    else if (e.key === 'End') { stage.play(false); stage.goTo(stage.run.steps - 1); }
    else if (e.key === 'n') this.jumpBy(1);
    else if (e.key === 'p') this.jumpBy(-1);
    else if (VERTICAL[e.key]) stage.selectNext(VERTICAL[e.key]);
    else if (e.key === 'Escape') stage.select(-1);
    else return;
    e.preventDefault();
  }
  setPlaying(playing) {
    this.playing = playing;
    this.root.classList.toggle('playing', playing);
    this.playButton.setAttribute('aria-label', playing ? 'Pause' : 'Play');
    if (!playing || this.frame) return;
    if (this.stage.run.t >= this.stage.run.steps - 1) this.stage.goTo(0);
    this.position = this.stage.run.t;
    this.last = performance.now();
    this.frame = requestAnimationFrame((now) => this.tick(now));
  }
  tick(now) {
    const { stage } = this;
    this.frame = 0;
    if (!this.playing || !this.root.isConnected) return;
    this.position += Math.min(now - this.last, 250) / 1000 * this.speed;
    this.last = now;
    const end = stage.run.steps - 1;
    if (Math.floor(this.position) !== stage.run.t) stage.goTo(Math.min(end, Math.floor(this.position)), true);
    if (this.position >= end) return this.setPlaying(false);
    this.frame = requestAnimationFrame((next) => this.tick(next));
  }
  show() {
    const { run } = this.stage;
    this.range.value = run.t;
    this.range.setAttribute('aria-valuetext', `step ${run.t} of ${run.steps - 1}`);
    this.output.innerHTML = `step <strong>${run.t}</strong> / ${run.steps - 1}`;
  }
  drawMarks() {
    const { marks, stage } = this, ratio = window.devicePixelRatio || 1, width = this.range.clientWidth, height = 9;
    if (!width) return;
    marks.style.width = `${width}px`; marks.width = Math.round(width * ratio); marks.height = Math.round(height * ratio);
    const c = marks.getContext('2d'), last = Math.max(1, stage.run.steps - 1), looks = stage.run.h.looks;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, width, height);
    const color = { preempted: looks.preempted.color, swapped: looks.swapped.color, refused: stage.colors.line, ended: looks.decode.color };
    for (const name of ['refused', 'ended', 'swapped', 'preempted']) {
      c.fillStyle = color[name];
      const tall = name === 'refused' ? 3 : height;
      for (const step of this.markSteps[name]) c.fillRect(8 + step / last * (width - 16) - 1, height - tall, 2, tall);
    }
  }
}
