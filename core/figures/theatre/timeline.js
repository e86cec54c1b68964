// A run in the browser: unpacks what pack.py packed and replays its changes, forwards and back.

const NONE = 0xFFFFFFFF;

// What theatre() sends: the length of a label, the label, and the packed run.
function openEnvelope(data) {
  const length = new DataView(data.buffer, data.byteOffset, 4).getUint32(0, true);
  const label = JSON.parse(new TextDecoder().decode(data.subarray(4, 4 + length)));
  return { ...label, bytes: data.subarray(4 + length) };
}

async function unpack(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  const buffer = await new Response(stream).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  const columns = {};
  for (const [name, [offset, count]] of Object.entries(header.sections))
    columns[name] = new Uint32Array(buffer, 8 + length + offset, count);
  return new Run(header, columns);
}

// For items sorted by step: starts[t] .. starts[t + 1] are those of step t.
function startsByStep(steps, count) {
  const starts = new Uint32Array(count + 1);
  let i = 0;
  for (let t = 0; t <= count; t++) {
    while (i < steps.length && steps[i] < t) i++;
    starts[t] = i;
  }
  return starts;
}

// The blocks of one device: who holds each of them at the present step.
class Blocks {
  constructor(columns, device, size, steps) {
    const part = (name) => columns[device + name];
    this.size = size;
    this.block = part('Block'); this.owner = part('Owner'); this.position = part('Position');
    this.from = part('From'); this.to = part('To'); this.compressed = part('Compressed');
    this.starts = startsByStep(this.from, steps);
    this.byEnd = Uint32Array.from(this.to.keys()).sort((a, b) => this.to[a] - this.to[b] || a - b);
    this.ends = startsByStep(this.byEnd.map((i) => this.to[i]), steps);
    this.holders = Array.from({ length: size }, () => []);
  }
  forward(t) {
    for (let k = this.ends[t]; k < this.ends[t + 1]; k++) this.drop(this.byEnd[k]);
    for (let i = this.starts[t]; i < this.starts[t + 1]; i++) this.holders[this.block[i]].push(i);
  }
  back(t) {
    for (let i = this.starts[t]; i < this.starts[t + 1]; i++) this.drop(i);
    for (let k = this.ends[t]; k < this.ends[t + 1]; k++) {
      const list = this.holders[this.block[this.byEnd[k]]];
      list.push(this.byEnd[k]);
      list.sort((a, b) => a - b);
    }
  }
  drop(lease) {
    const list = this.holders[this.block[lease]];
    list.splice(list.indexOf(lease), 1);
  }
  // The request that is shown for a block (the one that has held it longest), or -1.
  shown(block) {
    const list = this.holders[block];
    return list.length ? this.owner[list[0]] : -1;
  }
  numHeld() {
    let count = 0;
    for (const list of this.holders) if (list.length) count++;
    return count;
  }
  tableOf(request) {
    const table = [];
    for (let b = 0; b < this.size; b++)
      for (const i of this.holders[b]) if (this.owner[i] === request) table.push([this.position[i], b]);
    return table.sort((a, b) => a[0] - b[0]).map((entry) => entry[1]);
  }
}

// Free GPU blocks that can still be found by what they hold (prefix caching).
class Parked {
  constructor(columns, size, steps) {
    this.block = columns.parkedBlock;
    this.starts = startsByStep(columns.parkedFrom, steps);
    this.byEnd = Uint32Array.from(this.block.keys()).sort((a, b) => columns.parkedTo[a] - columns.parkedTo[b]);
    this.ends = startsByStep(this.byEnd.map((i) => columns.parkedTo[i]), steps);
    this.is = new Uint8Array(size);
  }
  forward(t) {
    for (let k = this.ends[t]; k < this.ends[t + 1]; k++) this.is[this.block[this.byEnd[k]]] = 0;
    for (let i = this.starts[t]; i < this.starts[t + 1]; i++) this.is[this.block[i]] = 1;
  }
  back(t) {
    for (let i = this.starts[t]; i < this.starts[t + 1]; i++) this.is[this.block[i]] = 0;
    for (let k = this.ends[t]; k < this.ends[t + 1]; k++) this.is[this.block[this.byEnd[k]]] = 1;
  }
}

// The queues, and the order in which a step served its requests.
class Queues {
  constructor(columns, names, steps) {
    this.c = columns;
    this.names = names;
    this.starts = startsByStep(columns.editStep, steps);
    this.offsets = new Uint32Array(columns.editCount.length + 1);
    for (let i = 0; i < columns.editCount.length; i++)
      this.offsets[i + 1] = this.offsets[i] + columns.editCount[i];
    this.removed = [];
    this.lists = names.map(() => []);
  }
  forward(t) {
    const c = this.c;
    for (let i = this.starts[t]; i < this.starts[t + 1]; i++) {
      const inserted = c.editInserted.subarray(this.offsets[i], this.offsets[i + 1]);
      this.removed[i] = this.lists[c.editQueue[i]].splice(c.editPosition[i], c.editRemoved[i], ...inserted);
    }
  }
  back(t) {
    const c = this.c;
    for (let i = this.starts[t + 1]; i-- > this.starts[t];)
      this.lists[c.editQueue[i]].splice(c.editPosition[i], c.editCount[i], ...this.removed[i]);
  }
  get(name) { return this.lists[this.names.indexOf(name)]; }
}

class Run {
  constructor(header, columns) {
    this.h = header;
    this.c = columns;
    this.steps = header.steps;
    this.n = header.ids.length;
    this.gpu = new Blocks(columns, 'gpu', header.gpuBlocks, this.steps);
    this.cpu = new Blocks(columns, 'cpu', header.cpuBlocks, this.steps);
    this.queues = new Queues(columns, header.queues, this.steps);
    this.eventStarts = startsByStep(columns.eventStep, this.steps);
    this.parked = new Parked(columns, header.gpuBlocks, this.steps);
    this.parts = [this.gpu, this.cpu, this.parked, this.queues];
    this.t = -1;
    this.collectLives();
    this.seek(0);
  }
  seek(t) {
    while (this.t < t) { this.t++; for (const part of this.parts) part.forward(this.t); }
    while (this.t > t) { for (const part of this.parts) part.back(this.t); this.t--; }
    this.atStep = null;
  }
  color(request) { return this.h.colors[request % this.h.colors.length]; }

  // Per request: its stays, its preemptions, and the steps in which it was given tokens.
  collectLives() {
    const { c, n } = this;
    this.spansOf = Array.from({ length: n }, () => []);
    for (let i = 0; i < c.spanRequest.length; i++) this.spansOf[c.spanRequest[i]].push(i);
    this.eventsOf = Array.from({ length: n }, () => []);
    for (let i = 0; i < c.eventStep.length; i++)
      if (c.eventRequest[i] !== NONE) this.eventsOf[c.eventRequest[i]].push(i);
    this.servedSteps = Array.from({ length: n }, () => []);
    const scheduled = this.queues.get('scheduled');
    this.unfinished = Array.from({ length: n }, () => []);
    for (let i = 0; i < c.unfinishedStep.length; i++) this.unfinished[c.unfinishedRequest[i]].push(c.unfinishedStep[i]);
    this.longest = {};
    this.placesOf = Array.from({ length: n }, () => []);
    for (let t = 0; t < this.steps; t++) {
      this.queues.forward(t);
      this.notePlaces(t);
      if (t < this.h.computedSteps) for (const r of scheduled) this.servedSteps[r].push(t);
      for (const name of this.h.queues)
        this.longest[name] = Math.max(this.longest[name] || 0, this.queues.get(name).length);
    }
    for (let t = this.steps; t-- > 0;) this.queues.back(t);
  }
  // Writes down who came into another queue, or left the last one, by the edits of step t.
  notePlaces(t) {
    const { c, queues, h } = this, moved = new Set();
    for (let i = queues.starts[t]; i < queues.starts[t + 1]; i++) {
      if (h.queues[c.editQueue[i]] === 'scheduled') continue;
      for (const r of queues.removed[i]) moved.add(r);
      for (const r of c.editInserted.subarray(queues.offsets[i], queues.offsets[i + 1])) moved.add(r);
    }
    for (const r of moved)
      this.placesOf[r].push([t, h.queues.find((name) => name !== 'scheduled' && queues.get(name).includes(r)) ?? null]);
  }
  // The queue in which a request stands at step t, by name; null if in none.
  queueAt(request, t) {
    let queue = null;
    for (const [from, name] of this.placesOf[request]) { if (from > t) break; queue = name; }
    return queue;
  }
  alive(t) { return this.spansOf.flatMap((_, r) => (['ignored', null].includes(this.lookAt(r, t)) ? [] : [r])); }
  kind(event) { return this.h.kinds[this.c.eventKind[event]]; }
  limit(event) {
    const limit = this.c.eventLimit[event];
    return limit === NONE ? null : this.h.limits[limit];
  }
  spanAt(request, t) {
    const { c } = this;
    return this.spansOf[request].find((i) => c.spanFrom[i] <= t && t < c.spanTo[i]) ?? null;
  }
  lookAt(request, t) {
    const span = this.spanAt(request, t);
    return span === null ? null : this.h.lookNames[this.c.spanLook[span]];
  }
  // Tokens generated up to and including step t, and tokens of the prompt computed in this attempt.
  progress(request, t) {
    const { c } = this, outputs = this.served(request, 0, t + 1) - lowerBound(this.unfinished[request], t + 1);
    let prompt = 0;
    for (const i of this.spansOf[request]) {
      if (c.spanFrom[i] > t) break;
      const look = this.h.lookNames[c.spanLook[i]];
      if (look === 'prefill') prompt = t + 1 >= c.spanTo[i] ? c.spanTokens[i] : this.prefilled(request, c.spanFrom[i], t + 1);
      if (look === 'preempted') prompt = 0;
    }
    return { outputs, prompt };
  }
  // Tokens in the cache at the end of step t, since the request last lost its blocks.
  computed(request, t) {
    const { c } = this;
    let tokens = 0;
    for (const i of this.spansOf[request]) {
      if (c.spanFrom[i] > t) break;
      const look = this.h.lookNames[c.spanLook[i]], until = Math.min(t + 1, c.spanTo[i]);
      if (look === 'preempted') tokens = 0;
      if (look === 'prefill') tokens += this.prefilled(request, c.spanFrom[i], until);
      if (look === 'decode') tokens += this.served(request, c.spanFrom[i], until);
    }
    return tokens;
  }
  served(request, from, to) {
    return lowerBound(this.servedSteps[request], to) - lowerBound(this.servedSteps[request], from);
  }
  prefilled(request, from, to) {
    let tokens = 0;
    for (const i of this.eventsOf[request])
      if (this.kind(i) === 'prefilled' && this.c.eventStep[i] >= from && this.c.eventStep[i] < to)
        tokens += this.c.eventTokens[i];
    return tokens;
  }
}

function lowerBound(sorted, value) {
  let low = 0, high = sorted.length;
  while (low < high) { const mid = (low + high) >> 1; if (sorted[mid] < value) low = mid + 1; else high = mid; }
  return low;
}
