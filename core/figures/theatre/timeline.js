// Unpacks what pack.py packed, and replays the changes of blocks and queues, forwards and back.

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

function lowerBound(sorted, value) {
  let low = 0, high = sorted.length;
  while (low < high) { const mid = (low + high) >> 1; if (sorted[mid] < value) low = mid + 1; else high = mid; }
  return low;
}
