// A run in the browser: what stands where at the present step, and what is known of each request.

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

  // Per request: its stays and decisions, the steps that served it, those of them that gave no token,
  // and the queues in which it stood.
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
