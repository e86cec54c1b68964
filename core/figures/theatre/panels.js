// What the step did: the queues as lanes of chips, the budgets as bars, the decisions as sentences.

const LANES = ['waiting', 'running', 'swapped'];
const CHIP = { left: 78, width: 60, low: 25, tall: 36, gap: 3 };

class Lanes {
  constructor(root, stage) {
    this.root = root;
    this.stage = stage;
    this.chips = new Map();
    this.layer = root.querySelector('.lanes');
    this.layer.onclick = (e) => { const chip = e.target.closest('.chip'); if (chip) stage.select(+chip.dataset.request); };
    this.layer.onpointerover = (e) => { const chip = e.target.closest('.chip'); stage.setHover(chip ? +chip.dataset.request : -1); };
    this.layer.onpointerleave = () => stage.setHover(-1);
  }
  load() {
    for (const chip of this.chips.values()) chip.remove();
    this.chips.clear();
    this.place();
  }
  // As many rows as the fullest moment of the run needs, at most two (one for the swapped). Tall
  // chips, if there is room for them above the budgets, tell their tokens in numbers.
  place() {
    const { run } = this.stage, perRow = this.perRow(), rows = (lane) => Math.ceil(Math.max(1, run.longest[lane]) / perRow);
    this.rows = { waiting: Math.min(2, rows('waiting')), running: Math.min(2, rows('running')), swapped: run.cpu.size ? 1 : 0 };
    const room = this.root.querySelector('.left').clientHeight - 110, { waiting, running, swapped } = this.rows;
    const tall = (waiting + running + swapped) * (CHIP.tall + CHIP.gap) + 9 <= room;
    this.chipHeight = tall ? CHIP.tall : CHIP.low;
    this.layer.classList.toggle('tall', tall);
    let top = 0;
    this.tops = {};
    for (const lane of LANES) {
      const head = this.layer.querySelector(`[data-lane=${lane}]`), height = this.rows[lane] * (this.chipHeight + CHIP.gap);
      this.tops[lane] = top;
      head.style.display = height ? '' : 'none';
      head.classList.toggle('low', this.rows[lane] < 2);
      head.style.top = `${top}px`; head.style.height = `${height - 2}px`;
      if (height) top += height + 3;
    }
    this.layer.style.height = `${top}px`;
  }
  perRow() {
    return Math.max(1, Math.floor((this.layer.clientWidth - CHIP.left) / (CHIP.width + CHIP.gap)));
  }
  show(animated) {
    const { run } = this.stage, perRow = this.perRow();
    const seen = new Set();
    this.layer.classList.toggle('moving', animated);
    for (const lane of LANES) {
      const queue = [...run.queues.get(lane), ...(lane === 'running' ? atStep(run).stray : [])], room = perRow * this.rows[lane];
      const shown = queue.length > room ? room - 1 : queue.length;
      const head = this.layer.querySelector(`[data-lane=${lane}]`);
      const count = lane === 'waiting' ? Math.max(queue.length, run.c.numWaiting[run.t]) : queue.length;
      head.querySelector('span').textContent = count;
      head.querySelector('em').textContent = count > shown && this.rows[lane] ? `+${count - shown} more` : '';
      for (let k = 0; k < shown; k++) {
        seen.add(queue[k]);
        const x = CHIP.left + (k % perRow) * (CHIP.width + CHIP.gap);
        this.chip(queue[k], lane, x, this.tops[lane] + Math.floor(k / perRow) * (this.chipHeight + CHIP.gap));
      }
    }
    for (const [request, chip] of this.chips) if (!seen.has(request)) { chip.remove(); this.chips.delete(request); }
  }
  chip(request, lane, x, y) {
    const { run } = this.stage;
    let chip = this.chips.get(request);
    if (!chip) {
      chip = document.createElement('button');
      chip.className = 'chip'; chip.tabIndex = -1; chip.dataset.request = request;
      chip.style.setProperty('--c', run.color(request));
      chip.innerHTML = `<span class="name"></span><span class="badge"></span><span class="count"></span><span class="bar-track"><i></i></span>`;
      chip.querySelector('.name').textContent = run.h.ids[request];
      this.layer.appendChild(chip);
      this.chips.set(request, chip);
    }
    chip.style.transform = `translate(${x}px,${y}px)`;
    const mark = this.badge(request, lane), done = this.done(request);
    const badge = chip.querySelector('.badge'), bar = chip.querySelector('i');
    if (badge.textContent !== mark.text) badge.textContent = mark.text;
    badge.className = `badge ${mark.kind}`;
    chip.querySelector('.count').textContent = done.count;
    bar.style.width = `${Math.round(done.share * 100)}%`;
    bar.className = done.look;
    chip.title = `${run.h.ids[request]}: ${done.text}. ${mark.title}`;
    chip.classList.toggle('focus', this.stage.focus() === request);
  }
  done(request) {
    const { run } = this.stage, { outputs, prompt } = run.progress(request, run.t), total = run.h.outputLens[request];
    const look = run.lookAt(request, run.t);
    if (look === 'prefill' && prompt < run.h.promptLens[request])
      return { share: prompt / run.h.promptLens[request], look, count: `P ${prompt}/${run.h.promptLens[request]}`, text: `${prompt} of ${run.h.promptLens[request]} prompt tokens computed` };
    return { share: outputs / total, look: look || 'waiting', count: `${outputs}/${total}`, text: `${outputs} of ${total} tokens made` };
  }
  badge(request, lane) {
    const { run } = this.stage, now = atStep(run), found = verdict(run, request, lane);
    if (found.kind === 'given') {
      const tokens = now.given.get(request) ?? 0, cached = now.cached.get(request);
      const title = `tokens computed in this step: ${tokens}` + (cached ? `, found in the cache: ${cached}` : '');
      return { kind: now.cached.has(request) ? 'prefill' : 'decode', text: `+${tokens}`, title };
    }
    const words = { refused: 'no', held: 'held', behind: 'wait', preempted: 'out', swapped_out: 'out', aborted: 'died', ignored: 'ignored', none: '' };
    return { kind: found.kind, text: words[found.kind] ?? '', title: plain(found.text) };
  }
}

// Some requests by name, the others by number.
function names(run, requests, most = 10) {
  const some = requests.length > most + 1 ? requests.slice(0, most) : requests, shown = some.map((r) => requestHtml(run, r));
  if (some !== requests) shown.push(fill(run.h.words.more, { count: requests.length - most }));
  return shown.join(', ');
}

function plain(html) { return html.replace(/<[^>]*>/g, ''); }

class Budgets {
  constructor(root, stage) {
    this.stage = stage;
    this.bars = Object.fromEntries([...root.querySelectorAll('.budget')].map((el) => [el.dataset.budget, el]));
  }
  show() {
    const { run } = this.stage, { h, c, t } = run;
    const refusing = new Set([...atStep(run).events].filter((i) => ['refused', 'preempted', 'swapped_out', 'ignored', 'aborted'].includes(run.kind(i))).map((i) => run.limit(i)));
    const no = (...limits) => limits.some((limit) => refusing.has(limit));
    const prefill = c.prefillTokens[t], decode = atStep(run).decoded.length, computed = prefill + decode, charged = c.tokens[t];
    const parts = prefill && decode ? `<b class="prefill">${prefill}</b> + <b class="decode">${decode}</b>` : computed;
    this.bar('tokens', [[prefill, 'prefill'], [decode, 'decode'], [Math.max(0, charged - computed), 'charged']], h.tokenBudget,
      charged === computed ? `${parts} of ${h.tokenBudget}` : `${charged} of ${h.tokenBudget} · ${computed} computed`,
      no('max_num_batched_tokens', 'max_num_scheduled_tokens', 'enable_chunked_prefill', 'long_prefill_token_threshold'));
    const { died, stray } = atStep(run), running = run.queues.get('running').length + stray.length;
    const seqs = died === undefined ? c.seqs[t] : running;
    this.bar('seqs', [[seqs, 'decode']], h.seqBudget, `${seqs} of ${h.seqBudget}` + (running === seqs ? '' : ` · ${running} running`), no('max_num_seqs', 'max_num_active_seqs'));
    const usable = h.gpuBlocks - (h.nullBlock ? 1 : 0), held = run.gpu.numHeld();
    this.bar('gpu', [[held, 'held']], usable, `${held} of ${usable}` + (h.reserve ? ` · ${h.reserve} kept free` : ''), no('num_gpu_blocks', 'contiguous_run', 'spare_block', 'watermark', 'scheduler_reserve_full_isl'), h.reserve);
    const swapped = run.cpu.numHeld();
    this.bars.cpu.style.display = h.cpuBlocks ? '' : 'none';
    this.bar('cpu', [[swapped, 'swapped']], h.cpuBlocks, `${swapped} of ${h.cpuBlocks}`, no('num_cpu_blocks'));
  }
  bar(name, parts, total, text, refused, reserve = 0) {
    const el = this.bars[name], scale = Math.max(1, total, parts.reduce((sum, p) => sum + p[0], 0));
    el.classList.toggle('refused', refused);
    el.querySelector('.value').innerHTML = text + (refused ? ' · said no' : '');
    el.querySelector('.track').innerHTML = parts.map(([value, look]) => `<i class="${look}" style="width:${100 * value / scale}%" title="${look === 'charged' ? 'charged, not computed' : look}: ${value}"></i>`).join('')
      + (reserve ? `<u style="width:${100 * reserve / scale}%" title="${reserve} blocks must stay free (watermark)"></u>` : '');
  }
}
