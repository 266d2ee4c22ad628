// The schedule as a picture: a column for each thread, time downwards. Only the rows in sight have
// elements, so that a schedule of 100,000 steps scrolls as fast as one of ten.

const ROW = 30, GUTTER = 76, NARROWEST = 140, IDLE = 92, WHERE = 132, BEYOND = 12;
/** More arrows than this at once help nobody. */
const MOST_ARROWS = 150;

class Rows {
  /**
   * @param {Schedule} schedule
   * @param {(at: number) => void} choose
   */
  constructor(schedule, choose) {
    this.schedule = schedule;
    this.choose = choose;
    this.at = 0;
    this.showsArrows = true;
    const { threads } = schedule;
    this.head = el("div", { class: "heads", role: "row" },
      el("span", { class: "gutter", role: "columnheader" }, "step"),
      ...threads.map((thread) =>
        el("span", { class: "head", role: "columnheader", title: DATA.threads[thread] },
          DATA.threads[thread])),
      el("span", { class: "where", role: "columnheader" }, "source"));
    this.lines = svg("svg", { class: "arrows", "aria-hidden": "true" });
    this.barLayer = el("div", { class: "bars", "aria-hidden": "true" });
    this.rowLayer = el("div", { class: "rows", role: "rowgroup" });
    this.sheet = el("div", { class: "sheet" }, this.barLayer, this.rowLayer, this.lines);
    this.element = el("div", {
      class: "grid", role: "grid", tabindex: 0, "aria-label": "Steps of the threads",
      "aria-rowcount": schedule.order.length + 1, "aria-colcount": threads.length + 2,
    }, el("div", { role: "rowgroup", class: "headgroup" }, this.head), this.sheet);
    this.element.addEventListener("scroll", () => this.#later());
    new ResizeObserver(() => this.layout()).observe(this.element);
    this.isDue = false;
    /** The width of each column, and where it begins. @type {number[]} */
    this.widths = [];
    /** @type {number[]} */
    this.lefts = [];
    /** Where the last column ends. */
    this.room = 0;
  }

  /** The column of a position. @param {number} at */
  #columnOf(at) {
    return this.schedule.column.get(threadOf(this.schedule.order[at])) ?? 0;
  }

  #later() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.draw();
    });
  }

  layout() {
    const { threads, idle } = this.schedule;
    const room = this.element.clientWidth - GUTTER - WHERE - idle.size * IDLE;
    const busy = Math.max(1, threads.length - idle.size);
    const width = Math.max(NARROWEST, Math.floor(room / busy));
    this.widths = threads.map((thread) => idle.has(thread) ? IDLE : width);
    let left = GUTTER;
    this.lefts = this.widths.map((width) => (left += width) - width);
    const all = left + WHERE;
    this.room = left - 4;
    [...this.head.querySelectorAll(".head")].forEach((head, column) => {
      /** @type {HTMLElement} */ (head).style.width = `${this.widths[column]}px`;
    });
    this.sheet.style.height = `${this.schedule.rows.length * ROW + 8}px`;
    this.sheet.style.width = this.head.style.width = `${all}px`;
    this.draw();
  }

  /** Makes a position the current one. @param {number} at @param {boolean} scrolls */
  show(at, scrolls) {
    this.at = at;
    const wasFolded = this.schedule.rows.length;
    this.schedule.reveal(at);
    if (this.schedule.rows.length !== wasFolded) this.layout();
    if (scrolls) {
      const top = this.schedule.rowOf(at) * ROW, { scrollTop, clientHeight } = this.element;
      const room = clientHeight - 44;
      if (top < scrollTop + ROW * 2 || top > scrollTop + room - ROW * 2) {
        this.element.scrollTop = top - room / 2;
      }
      const column = this.#columnOf(at);
      const left = this.lefts[column] - GUTTER, right = left + this.widths[column] + GUTTER;
      const { scrollLeft, clientWidth } = this.element;
      if (left < scrollLeft || right > scrollLeft + clientWidth) this.element.scrollLeft = left;
    }
    this.draw();
  }

  /** @param {number} from */
  #toggle(from) {
    this.schedule.toggle(from);
    this.layout();
    say(this.schedule.isOpened(from) ? "unfolded" : "folded");
  }

  /** Which rows are drawn; all of them for paper. */
  #window() {
    const count = this.schedule.rows.length;
    if (document.body.classList.contains("printing")) return [0, Math.min(count, 2000)];
    const first = Math.floor(this.element.scrollTop / ROW) - BEYOND;
    const shown = Math.ceil(this.element.clientHeight / ROW) + 2 * BEYOND;
    return [Math.max(0, first), Math.min(count, first + shown)];
  }

  draw() {
    const [first, end] = this.#window();
    const rows = [];
    for (let number = first; number < end; number++) {
      const { from, to } = this.schedule.rows[number];
      rows.push(from === to ? this.#step(number, from) : this.#fold(number, from, to));
    }
    const hadFocus = this.rowLayer.contains(document.activeElement);
    this.rowLayer.replaceChildren(...rows);
    if (hadFocus) this.element.focus({ preventScroll: true });
    const current = this.rowLayer.querySelector("[aria-selected=true]");
    if (current) this.element.setAttribute("aria-activedescendant", current.id);
    else this.element.removeAttribute("aria-activedescendant");
    this.#bars(first, end);
    this.#arrows(first, end);
  }

  /** @param {number} number @param {number} at */
  #step(number, at) {
    const { schedule } = this;
    const index = schedule.order[at], isNext = at >= schedule.end;
    const isSide = schedule.sides.has(index);
    const classes = ["row"];
    if (schedule.isSwitch(at)) classes.push("switch");
    if (isSide) classes.push("side");
    if (isNext) classes.push("next");
    if (at === this.at) classes.push("current");
    if (schedule.mode !== "recorded" && schedule.changes.has(index)) classes.push("changed");
    if (schedule.mode === "difference" && schedule.moved.has(index)) classes.push("moved");
    const label = isNext ? "next" : String(at + 1);
    const fold = schedule.isOpened(at)
      ? el("button", {
        type: "button", class: "refold", "aria-label": "fold these steps", title: "fold",
        click: (/** @type {Event} */ event) => {
          event.stopPropagation();
          this.#toggle(at);
        },
      }, "−")
      : null;
    const column = this.#columnOf(at);
    const cell = el("span", {
      class: "cell", role: "gridcell", id: `step-${at}`, "aria-colindex": column + 2,
      "aria-selected": String(at === this.at),
      style: `left:${this.lefts[column]}px;min-width:${this.widths[column] - 8}px;`
        + `max-width:${this.room - this.lefts[column]}px`,
    }, ...this.#operation(index));
    return el("div", {
      class: classes.join(" "), role: "row", "aria-rowindex": at + 2,
      style: `top:${number * ROW}px`, click: () => this.choose(at),
    },
    el("span", { class: "gutter", role: "rowheader" }, fold,
      schedule.isSwitch(at) && el("span", { class: "turn", title: "context switch" }, "⇄"),
      label),
    cell,
    el("span", { class: "where", role: "gridcell", "aria-colindex": schedule.threads.length + 2 },
      endOf(short(placeOf(index)), 16)));
  }

  /** An operation with its value, and what it was in the recorded run. @param {number} index */
  #operation(index) {
    const { schedule } = this;
    const now = partsOf(schedule.operation(index)), was = partsOf(operationOf(index));
    const nodes = [
      schedule.sides.has(index) && el("span", { class: "mark", title: "part of the bug" }, "●"),
      el("span", { class: "verb" }, now.verb),
      now.object && el("span", { class: "object", title: now.object }, now.object),
    ];
    if (schedule.mode !== "recorded" && was.value && now.value && was.value !== now.value) {
      nodes.push(recordedValue(was.value));
    }
    if (now.value) nodes.push(el("span", { class: "value" }, now.value));
    if (schedule.mode === "difference" && schedule.moved.has(index)) {
      nodes.push(el("span", { class: "was" }, "moved"));
    }
    return nodes;
  }

  /** @param {number} number @param {number} from @param {number} to */
  #fold(number, from, to) {
    /** @type {Map<number, number>} */
    const counts = new Map();
    let switches = 0;
    for (let at = from; at <= to; at++) {
      const thread = threadOf(this.schedule.order[at]);
      counts.set(thread, (counts.get(thread) ?? 0) + 1);
      if (this.schedule.isSwitch(at)) switches++;
    }
    const total = counted(to - from + 1, "step");
    const words = switches > 1 ? `${total}, ${counted(switches, "switch", "switches")}` : total;
    const names = [...counts.keys()].map((thread) => DATA.threads[thread]);
    const cells = [...counts].map(([thread, count], nth) => {
      const column = this.schedule.column.get(thread) ?? 0;
      return el("span", {
        class: "cell folded", role: "gridcell", "aria-colindex": column + 2,
        style: `left:${this.lefts[column]}px`,
      }, nth === 0
        ? el("button", {
          type: "button", class: "unfold", title: `unfold ${words}`,
          "aria-label": `unfold ${words} of ${names.join(", ")}`,
          click: () => this.#toggle(from),
        }, counted(count, "step"))
        : counted(count, "step"));
    });
    return el("div", {
      class: "row fold", role: "row", "aria-rowindex": from + 2, style: `top:${number * ROW}px`,
      click: (/** @type {Event} */ event) => {
        if (!(event.target instanceof HTMLButtonElement)) this.#toggle(from);
      },
    }, el("span", { class: "gutter", role: "rowheader" }, "⋮"), ...cells);
  }

  /** @param {number} first @param {number} end */
  #bars(first, end) {
    const { schedule } = this;
    const lowest = schedule.rows[first]?.from ?? 0, highest = schedule.rows[end - 1]?.to ?? 0;
    const bars = [];
    for (const { thread, lock, from, to, depth } of schedule.bars) {
      if (to < lowest || from > highest) continue;
      const top = schedule.rowOf(Math.max(from, lowest));
      const bottom = schedule.rowOf(Math.min(to, highest));
      const left = this.lefts[schedule.column.get(thread) ?? 0];
      bars.push(el("div", {
        class: "bar", title: `${DATA.threads[thread]} holds ${DATA.names[lock]}`,
        style: `left:${left + 4 + 6 * Math.min(depth, 3)}px;top:${top * ROW + 4}px;`
          + `height:${(bottom - top + 1) * ROW - 8}px;background:${hue(lock)}`,
      }));
    }
    this.barLayer.replaceChildren(...bars);
  }

  /** @param {number} first @param {number} end */
  #arrows(first, end) {
    const { schedule } = this;
    this.lines.setAttribute("width", this.sheet.style.width);
    this.lines.setAttribute("height", String(schedule.rows.length * ROW + 8));
    const lowest = schedule.rows[first]?.from ?? 0, highest = schedule.rows[end - 1]?.to ?? 0;
    const paths = [];
    for (const arrow of this.showsArrows ? schedule.arrows : []) {
      if (arrow.from > highest || arrow.to < lowest) continue;
      const isCurrent = arrow.from === this.at || arrow.to === this.at;
      const [top, bottom] = [schedule.rowOf(arrow.from), schedule.rowOf(arrow.to)];
      const isFolded = [top, bottom].some((n) => schedule.rows[n].from !== schedule.rows[n].to);
      if (isFolded && !isCurrent) continue;
      const [c, d] = [this.#columnOf(arrow.from), this.#columnOf(arrow.to)];
      const [a, b] = [this.lefts[c], this.lefts[d]];
      const [x1, x2] = a < b
        ? [a + this.widths[c] - 22, b + 26]
        : [a + 26, b + this.widths[d] - 22];
      const [y1, y2] = [(top + 0.5) * ROW, (bottom + 0.5) * ROW];
      const bend = Math.max(24, Math.min(90, Math.abs(x2 - x1) / 2)) * (a < b ? 1 : -1);
      const tip = a < b ? -7 : 7;
      paths.push(svg("path", {
        class: `arrow ${arrow.kind}${isCurrent ? " current" : ""}`,
        d: `M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`,
      }), svg("path", {
        class: `arrow tip ${arrow.kind}${isCurrent ? " current" : ""}`,
        d: `M${x2 + tip} ${y2 - 4}L${x2} ${y2}L${x2 + tip} ${y2 + 4}`,
      }));
      if (paths.length >= MOST_ARROWS) break;
    }
    this.lines.replaceChildren(...paths);
  }
}
