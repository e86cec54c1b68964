// The playhead and the outlined row, laid over the Plotly chart that stands in the page.
// Reads private fields of Plotly's layout; where they are missing the overlay stays away.

class ChartOverlay {
  constructor(stage) {
    this.stage = stage;
    this.observer = new MutationObserver(() => {
      if (this.pending) return;
      this.pending = requestAnimationFrame(() => { this.pending = 0; this.place(); });
    });
    this.observer.observe(document.querySelector('[data-testid="stMain"]') || document.body, { childList: true, subtree: true });
  }
  chart() {
    const plot = document.querySelector('.st-key-chart_box .js-plotly-plot');
    return plot && plot._fullLayout && plot._fullLayout.xaxis && plot._fullLayout.xaxis.l2p ? plot : null;
  }
  place() {
    const plot = this.chart(), run = this.stage.run;
    const box = plot && plot.querySelector('.svg-container');
    if (!box || !run) return;
    const parts = this.parts(plot, box), x = plot._fullLayout.xaxis, y = plot._fullLayout.yaxis;
    const left = Math.max(0, x.l2p(run.t)), right = Math.min(x._length, x.l2p(run.t + 1));
    const visible = right > 0 && left < x._length && right > left;
    const set = (el, style) => Object.assign(el.style, style);
    set(parts.band, { display: visible ? 'block' : 'none', left: `${x._offset + left}px`, width: `${right - left}px`, top: `${y._offset}px`, height: `${y._length}px` });
    set(parts.line, { display: visible ? 'block' : 'none', left: `${x._offset + (left + right) / 2 - 1}px`, top: `${y._offset}px`, height: `${y._length}px`, background: this.stage.colors.primary });
    parts.line.dataset.step = run.t;
    const focus = this.stage.focus();
    const top = Math.max(0, y.l2p(focus - 0.5)), bottom = Math.min(y._length, y.l2p(focus + 0.5));
    set(parts.row, { display: focus >= 0 && bottom > top ? 'block' : 'none', left: `${x._offset}px`, width: `${x._length}px`, top: `${y._offset + top}px`, height: `${bottom - top}px`, borderColor: this.stage.colors.text });
  }
  parts(plot, box) {
    if (box.__theatre) return box.__theatre;
    const add = (name, css) => {
      const el = document.createElement('div');
      el.className = `theatre-${name}`;
      el.style.cssText = `position:absolute;pointer-events:none;box-sizing:border-box;${css}`;
      box.appendChild(el);
      return el;
    };
    const parts = {
      band: add('band', 'z-index:3;background:rgba(128,128,128,.22)'),
      row: add('row', 'z-index:4;border:1.5px solid;border-radius:3px'),
      line: add('line', 'z-index:5;width:2px'),
    };
    parts.line.appendChild(this.grip(plot, box));
    box.__theatre = parts;
    this.listen(plot);
    return parts;
  }
  grip(plot, box) {
    const grip = document.createElement('i');
    grip.style.cssText = 'position:absolute;left:-8px;top:-10px;width:18px;height:14px;cursor:ew-resize;pointer-events:auto;touch-action:none;background:inherit;clip-path:polygon(0 0,100% 0,50% 100%)';
    grip.onpointerdown = (e) => {
      e.preventDefault(); e.stopPropagation(); grip.setPointerCapture(e.pointerId); this.stage.play(false);
      grip.onpointermove = (m) => {
        const x = plot._fullLayout.xaxis;
        this.stage.goTo(Math.floor(x.p2l(m.clientX - box.getBoundingClientRect().left - x._offset)));
      };
    };
    grip.onpointerup = () => { grip.onpointermove = null; };
    return grip;
  }
  listen(plot) {
    if (plot.__theatre) return;
    plot.__theatre = true;
    const row = (e) => e.points[0].y;
    const current = () => plot.__stage || this.stage;
    plot.__stage = this.stage;
    plot.on('plotly_afterplot', () => current().chart.place());
    plot.on('plotly_relayouting', () => current().chart.place());
    plot.on('plotly_hover', (e) => current().setHover(row(e)));
    plot.on('plotly_unhover', () => current().setHover(-1));
    plot.on('plotly_click', (e) => { current().select(row(e)); current().goTo(Math.floor(plot._fullLayout.xaxis.p2l(e.event.clientX - plot.getBoundingClientRect().left - plot._fullLayout.xaxis._offset))); });
  }
  remove() {
    this.observer.disconnect();
    document.querySelectorAll('.theatre-band,.theatre-row,.theatre-line').forEach((el) => el.remove());
    document.querySelectorAll('.svg-container').forEach((box) => { delete box.__theatre; });
  }
}
