// A finding as a sequence of positions: its schedule, the recorded run of the same events, or the
// difference of both; with what a reader wants to see of it.

/** @typedef {"predicted" | "recorded" | "difference"} Mode */
/** @typedef {{from: number, to: number, kind: "sees" | "before"}} Arrow */
/** @typedef {{thread: number, lock: number, from: number, to: number, depth: number}} Bar */

/** The events of a finding's schedule: indices. @param {Finding} finding */
function stepsOf(finding) {
  if (finding.steps) return finding.steps;
  const runs = finding.runs ?? [], done = DATA.threads.map(() => 0);
  /** @type {number[]} */
  const steps = [];
  for (let at = 0; at < runs.length; at += 2) {
    const thread = runs[at];
    const end = done[thread] + runs[at + 1];
    while (done[thread] < end) steps.push(OF_THREAD[thread][done[thread]++]);
  }
  return steps;
}

/** The indices of a longest increasing subsequence. @param {number[]} values */
function longestRising(values) {
  /** @type {number[]} */
  const ends = [];
  const before = new Array(values.length).fill(-1);
  for (let at = 0; at < values.length; at++) {
    let low = 0, high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[ends[middle]] < values[at]) low = middle + 1;
      else high = middle;
    }
    if (low > 0) before[at] = ends[low - 1];
    ends[low] = at;
  }
  const kept = new Set();
  for (let at = ends.at(-1) ?? -1; at >= 0; at = before[at]) kept.add(at);
  return kept;
}

/** The last entry that is at most `position`. @param {number[]} sorted @param {number} position */
function lastUpTo(sorted, position) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= position) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Stretches of fewer positions are not folded. */
const SHORTEST_FOLD = 4;
/** Nothing is folded in so short a schedule. */
const ALL_SHOWN = 24;

class Schedule {
  /** @param {Finding} finding @param {Mode} mode */
  constructor(finding, mode) {
    this.finding = finding;
    this.mode = mode;
    /** @type {Map<number, string>} */
    this.changes = new Map(finding.changes.map(([event, text]) => [INDEX.get(event) ?? -1, text]));
    const steps = stepsOf(finding);
    const done = new Set(steps);
    const sides = finding.sides.map((side) => INDEX.get(side.event) ?? -1);
    this.sides = new Set(sides);
    /** What is next when the bug happens; a waiting thread's last event is in the schedule. */
    const next = [...this.sides].filter((index) => !done.has(index));
    /** The events, in order. @type {number[]} */
    this.order = mode === "recorded"
      ? [...steps, ...next].sort((a, b) => a - b)
      : [...steps, ...next];
    /** Positions from here on are not executed: the bug is there. */
    this.end = mode === "recorded" ? this.order.length : steps.length;
    /** @type {Map<number, number>} */
    this.position = new Map(this.order.map((index, at) => [index, at]));
    /** The threads that take part: one column each. */
    this.threads = [...new Set(this.order.map(threadOf))].sort((a, b) => a - b);
    this.column = new Map(this.threads.map((thread, column) => [thread, column]));
    /** The positions of each thread. @type {Map<number, number[]>} */
    this.ofThread = new Map(this.threads.map((thread) => [thread, []]));
    this.order.forEach((index, at) => this.ofThread.get(threadOf(index))?.push(at));
    this.moved = this.#moved(steps);
    this.#survey();
    /** The objects that the bug is about. @type {Set<string>} */
    this.about = new Set();
    this.matters = this.#matters();
    /** Folds that are open, by their first position. @type {Set<number>} */
    this.open = new Set();
    this.rows = this.#rows();
    /** Threads that are only in folds need no room. */
    this.idle = new Set(this.threads.filter((thread) => !this.rows.some(({ from, to }) =>
      from === to && threadOf(this.order[from]) === thread)));
  }

  /** What an event does here. @param {number} index */
  operation(index) {
    const changed = this.mode === "recorded" ? undefined : this.changes.get(index);
    return changed ?? operationOf(index);
  }

  /** @param {number} at */
  isSwitch(at) {
    return at > 0 && threadOf(this.order[at]) !== threadOf(this.order[at - 1]);
  }

  /** Events in another order than in the recorded run. @param {number[]} steps */
  #moved(steps) {
    const kept = longestRising(steps);
    return new Set(steps.filter((_, at) => !kept.has(at)));
  }

  /** One pass: who sees whose value, who waits for whom, who holds what. */
  #survey() {
    /** @type {Arrow[]} */
    this.arrows = [];
    /** @type {Bar[]} */
    this.bars = [];
    /** The positions of the stores to each place. @type {Map<number, number[]>} */
    this.stores = new Map();
    /** @type {Map<string, number>} */
    const bytes = new Map();
    /** @type {Map<number, number>} */
    const released = new Map(), notified = new Map(), forked = new Map(), last = new Map();
    /** @type {Map<number, {lock: number, from: number, depth: number, count: number}[]>} */
    const held = new Map();
    const arrow = (/** @type {number | undefined} */ from, /** @type {number} */ to,
      /** @type {Arrow["kind"]} */ kind) => {
      if (from === undefined) return;
      if (threadOf(this.order[from]) === threadOf(this.order[to])) return;
      this.arrows.push({ from, to, kind });
    };
    this.order.forEach((index, at) => {
      const thread = threadOf(index), effect = effectOf(index), on = DATA.events.on[index];
      const open = held.get(thread) ?? [];
      held.set(thread, open);
      if (forked.has(thread)) {
        arrow(forked.get(thread), at, "before");
        forked.delete(thread);
      }
      const isDone = at < this.end;
      if (effect === "r" || effect === "w" || effect === "u") {
        const { object, offset, size } = DATA.places[on];
        if (effect !== "w" && isDone) arrow(bytes.get(`${offset} ${object}`), at, "sees");
        if (effect !== "r" && isDone) {
          for (let byte = 0; byte < Math.min(size, 64); byte++) {
            bytes.set(`${offset + byte} ${object}`, at);
          }
          const stores = this.stores.get(on);
          if (stores) stores.push(at);
          else this.stores.set(on, [at]);
        }
      } else if ((effect === "a" || effect === "k") && isDone) {
        arrow(released.get(on), at, "before");
        if (effect === "k") arrow(notified.get(WITH.get(index) ?? -1), at, "before");
        const again = open.find((hold) => hold.lock === on);
        if (again) again.count++;
        else open.push({ lock: on, from: at, depth: open.length, count: 1 });
      } else if ((effect === "l" || effect === "t") && isDone) {
        const hold = open.find((hold) => hold.lock === on);
        if (hold && (--hold.count === 0 || effect === "t")) {
          open.splice(open.indexOf(hold), 1);
          this.bars.push({ thread, lock: on, from: hold.from, to: at, depth: hold.depth });
          released.set(on, at);
        }
      } else if (effect === "n") notified.set(on, at);
      else if (effect === "s" && isDone) arrow(notified.get(on), at, "before");
      else if (effect === "f") forked.set(on, at);
      else if (effect === "j" && isDone) arrow(last.get(on), at, "before");
      last.set(thread, at);
    });
    for (const [thread, open] of held) {
      for (const { lock, from, depth } of open) {
        this.bars.push({ thread, lock, from, to: this.order.length, depth });
      }
    }
  }

  /** What a reader wants to see first: what the bug is about. */
  #matters() {
    const matters = new Uint8Array(this.order.length);
    const { about } = this;
    for (const event of [...this.finding.sides.map((side) => side.event), ...this.finding.reads]) {
      const index = INDEX.get(event) ?? -1;
      if (!"rwu".includes(effectOf(index) ?? "-")) continue;
      about.add(DATA.places[DATA.events.on[index]].object);
    }
    const holds = this.finding.sides.flatMap((side) => side.holds);
    const locks = new Set(holds.map((hold) => hold.lock));
    for (const index of this.sides) {
      if ("altk".includes(effectOf(index) ?? "-")) locks.add(DATA.names[DATA.events.on[index]]);
    }
    const isDifference = this.mode === "difference";
    this.order.forEach((index, at) => {
      const effect = effectOf(index), on = DATA.events.on[index];
      const isSide = this.sides.has(index);
      const isChanged = this.changes.has(index);
      if (isSide || isChanged || (isDifference && this.moved.has(index))) matters[at] = 1;
      else if (isDifference) return;
      else if ("rwu".includes(effect)) matters[at] = about.has(DATA.places[on].object) ? 1 : 0;
      else if ("altk".includes(effect)) matters[at] = locks.has(DATA.names[on]) ? 1 : 0;
      else if ("fj".includes(effect)) matters[at] = this.column.has(on) ? 1 : 0;
    });
    return matters;
  }

  /**
   * The rows: single positions, and folds of several.
   * @returns {{from: number, to: number}[]}
   */
  #rows() {
    const rows = [];
    const length = this.order.length;
    for (let at = 0; at < length;) {
      let to = at;
      while (to < length && !this.matters[to]) to++;
      const isFold = to - at >= SHORTEST_FOLD && length > ALL_SHOWN && !this.open.has(at);
      if (isFold) rows.push({ from: at, to: to - 1 });
      else for (let single = at; single < to; single++) rows.push({ from: single, to: single });
      if (to < length) rows.push({ from: to, to });
      at = to + 1;
    }
    return rows;
  }

  /** Whether an opened fold begins at a position. @param {number} at */
  isOpened(at) {
    return this.open.has(at);
  }

  /** Opens or closes a fold. @param {number} from */
  toggle(from) {
    if (!this.open.delete(from)) this.open.add(from);
    this.rows = this.#rows();
  }

  /** Opens the fold that a position is in. @param {number} at */
  reveal(at) {
    const row = this.rows[this.rowOf(at)];
    if (row && row.from !== row.to) this.toggle(row.from);
  }

  /** The row of a position. @param {number} at */
  rowOf(at) {
    let low = 0, high = this.rows.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.rows[middle].from <= at) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The last event of a thread at a position; -1 if it has not begun. */
  lastOf(/** @type {number} */ thread, /** @type {number} */ at) {
    const positions = this.ofThread.get(thread) ?? [];
    const found = lastUpTo(positions, at);
    return found < 0 ? -1 : positions[found];
  }

  /** The locks that a thread holds after a position. */
  heldBy(/** @type {number} */ thread, /** @type {number} */ at) {
    return this.bars.filter((bar) => bar.thread === thread && bar.from <= at && at < bar.to);
  }
}
