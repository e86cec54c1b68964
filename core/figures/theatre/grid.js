// The grid of physical KV blocks on a canvas: GPU above, CPU swap space below.

function luminance(hex) {
  const n = parseInt(hex.slice(1, 7), 16);
  return (0.299 * (n >> 16) + 0.587 * ((n >> 8) & 255) + 0.114 * (n & 255)) / 255;
}

// The largest square cell with which both pools fit; many blocks share one cell if there are too many.
function gridGeometry(run, width, height) {
  const gpu = run.gpu.size, cpu = run.cpu.size, heads = cpu ? 44 : 20;
  for (let perCell = 1; ; perCell *= 2) {
    const cells = [Math.ceil(gpu / perCell), Math.ceil(cpu / perCell)];
    for (let size = 44; size >= 4; size--) {
      const columns = Math.floor(width / size);
      const rows = cells.map((count) => Math.ceil(count / columns));
      if (columns > 0 && (rows[0] + rows[1]) * size <= height - heads)
        return { size, columns, perCell, cells, top: [20, 20 + rows[0] * size + 24] };
    }
  }
}

class Grid {
  constructor(canvas, stage) {
    this.canvas = canvas;
    this.stage = stage;
    canvas.onpointermove = (e) => this.onHover(e);
    canvas.onpointerleave = () => { stage.tip(null); stage.setHover(-1); };
    canvas.onclick = (e) => { const hit = this.hit(e); stage.select(hit && hit.owner >= 0 ? hit.owner : -1); };
  }
  resize(width, height) {
    const ratio = window.devicePixelRatio || 1, { canvas } = this;
    canvas.style.width = `${width}px`; canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
    this.context = canvas.getContext('2d');
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.width = width; this.height = height;
    this.geometry = gridGeometry(this.stage.run, width, height);
  }
  draw() {
    const { context: c, width, geometry: g } = this, { run, colors } = this.stage;
    c.clearRect(0, 0, width, this.height);
    const used = [run.gpu, run.cpu].map((pool, k) => this.drawPool(pool, g.top[k], k));
    const usable = run.gpu.size - (run.h.nullBlock ? 1 : 0), share = usable ? Math.round(100 * used[0] / usable) : 0;
    this.heading('GPU blocks', `${used[0]} of ${usable} held · ${share} %`, 12);
    if (run.cpu.size) this.heading('CPU blocks (swap space)', `${used[1]} of ${run.cpu.size} held`, g.top[1] - 8);
    this.canvas.setAttribute('aria-label', `Step ${run.t}: ${used[0]} of ${usable} GPU blocks and ${used[1]} of ${run.cpu.size} CPU blocks are held`);
    this.canvas.dataset.step = run.t;
    this.canvas.dataset.draws = (+this.canvas.dataset.draws || 0) + 1;
  }
  heading(left, right, y) {
    const { context: c, width } = this, { colors } = this.stage;
    c.textBaseline = 'alphabetic'; c.fillStyle = colors.text;
    c.textAlign = 'left'; c.font = `600 12px ${colors.font}`; c.fillText(left, 0, y);
    c.textAlign = 'right'; c.font = `12px ${colors.font}`; c.fillText(right, width - 1, y);
  }
  drawPool(pool, top, device) {
    const { context: c, geometry: g } = this, { run, colors } = this.stage, focus = this.stage.focus();
    const gap = g.size >= 12 ? 2 : 1, side = g.size - gap;
    c.font = `${g.size >= 26 ? 11 : 9}px ${colors.font}`; c.textAlign = 'center'; c.textBaseline = 'middle';
    let used = 0;
    for (let cell = 0; cell < g.cells[device]; cell++) {
      const x = (cell % g.columns) * g.size, y = top + Math.floor(cell / g.columns) * g.size;
      let owner = -1, held = 0, lease = -1;
      const end = Math.min((cell + 1) * g.perCell, pool.size);
      for (let b = cell * g.perCell; b < end; b++) {
        const list = pool.holders[b];
        if (!list.length) continue;
        held++;
        if (owner < 0 || pool.owner[list[0]] === focus) { lease = list[0]; owner = pool.owner[lease]; }
        if (focus >= 0 && list.some((i) => pool.owner[i] === focus)) owner = focus;
      }
      used += held;
      if (device === 0 && g.perCell === 1 && cell === 0 && run.h.nullBlock) { this.nullCell(x, y, side); continue; }
      if (owner < 0) {
        c.fillStyle = colors.free; c.fillRect(x, y, side, side);
        if (device === 0 && g.perCell === 1 && run.parked.is[cell]) this.dot(x, y, side);
        continue;
      }
      const dimmed = focus >= 0 && owner !== focus;
      c.fillStyle = run.color(owner) + (dimmed ? '38' : '');
      if (dimmed) { c.save(); c.fillStyle = colors.free; c.fillRect(x, y, side, side); c.restore(); c.fillStyle = run.color(owner) + '38'; }
      c.fillRect(x, y, side, side);
      if (pool.compressed[lease]) this.hatch(x, y, side);
      if (g.perCell === 1 && pool.holders[cell].length > 1) this.corner(x, y, side);
      if (g.perCell === 1 && g.size >= 15) this.label(run.h.ids[owner], owner, dimmed, x + side / 2, y + side / 2, side);
      if (owner === focus) { c.strokeStyle = colors.text; c.lineWidth = 1.5; c.strokeRect(x + 0.75, y + 0.75, side - 1.5, side - 1.5); }
    }
    return used;
  }
  label(id, owner, dimmed, x, y, side) {
    const { context: c } = this, { run, colors } = this.stage;
    let text = id;
    if (c.measureText(text).width > side - 2) text = id.replace(/^\D+/, '');
    if (!text || c.measureText(text).width > side - 1) return;
    c.fillStyle = dimmed ? colors.text + '55' : luminance(run.color(owner)) > 0.55 ? '#14181d' : '#ffffff';
    c.fillText(text, x, y + 0.5);
  }
  // Free, but its content can still be found: a dot. Compressed: stripes. Shared by a prefix: a
  // corner. The null block that is never handed out: a cross.
  dot(x, y, side) {
    const { context: c } = this;
    c.fillStyle = this.stage.colors.line; c.beginPath();
    c.arc(x + side / 2, y + side / 2, Math.max(1.5, side / 6), 0, 7); c.fill();
  }
  hatch(x, y, side) {
    const { context: c } = this;
    c.save(); c.beginPath(); c.rect(x, y, side, side); c.clip();
    c.strokeStyle = 'rgba(255,255,255,.75)'; c.lineWidth = 1.5; c.beginPath();
    for (let k = -side; k < side; k += 5) { c.moveTo(x + k, y + side); c.lineTo(x + k + side, y); }
    c.stroke(); c.restore();
  }
  corner(x, y, side) {
    const { context: c } = this, size = Math.max(4, side / 3);
    c.fillStyle = this.stage.colors.text; c.beginPath();
    c.moveTo(x + side, y); c.lineTo(x + side - size, y); c.lineTo(x + side, y + size); c.fill();
  }
  nullCell(x, y, side) {
    const { context: c } = this;
    c.strokeStyle = this.stage.colors.line; c.lineWidth = 1.5; c.beginPath();
    c.moveTo(x + 2, y + 2); c.lineTo(x + side - 2, y + side - 2); c.moveTo(x + side - 2, y + 2); c.lineTo(x + 2, y + side - 2);
    c.stroke(); c.strokeRect(x + 0.75, y + 0.75, side - 1.5, side - 1.5);
  }
  hit(e) {
    const box = this.canvas.getBoundingClientRect(), g = this.geometry, x = e.clientX - box.left, y = e.clientY - box.top;
    const column = Math.floor(x / g.size);
    if (column < 0 || column >= g.columns) return null;
    for (const device of [1, 0]) {
      if (y < g.top[device]) continue;
      const cell = Math.floor((y - g.top[device]) / g.size) * g.columns + column;
      if (cell >= g.cells[device]) { if (device) continue; return null; }
      const pool = device ? this.stage.run.cpu : this.stage.run.gpu;
      return { device: device ? 'CPU' : 'GPU', pool, block: cell * g.perCell, owner: pool.shown(cell * g.perCell) };
    }
    return null;
  }
  onHover(e) {
    const hit = this.hit(e), { run } = this.stage;
    if (!hit) { this.stage.tip(null); this.stage.setHover(-1); return; }
    const names = hit.pool.holders[hit.block].map((i) => run.h.ids[hit.pool.owner[i]]);
    const compressed = hit.owner >= 0 && hit.pool.compressed[hit.pool.holders[hit.block][0]] ? ', compressed' : '';
    const isNull = hit.device === 'GPU' && hit.block === 0 && run.h.nullBlock;
    const who = isNull ? 'the null block, never handed out' : names.length ? names.join(', ') + compressed
      : hit.device === 'GPU' && run.parked.is[hit.block] ? 'free, its content is still cached' : 'free';
    this.stage.tip(`${hit.device} block ${hit.block}: ${who}`, e);
    this.stage.setHover(hit.owner);
  }
}
