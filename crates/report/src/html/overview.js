// The run as a whole: threads as lanes, where findings and candidates lie, and the ledger.

const LANE = 26, LANE_LABEL = 150, LANE_WIDTH = 1000;

/** A mark at an event of a lane. */
class Mark {
  /** @param {number} index @param {string} kind @param {string} href @param {string} title */
  constructor(index, kind, href, title) {
    this.index = index;
    this.kind = kind;
    this.href = href;
    this.title = title;
  }

  draw() {
    const x = LANE_LABEL + NUMBERS[this.index] / Math.max(1, DATA.event_count) * LANE_WIDTH;
    const y = threadOf(this.index) * LANE + LANE / 2;
    const radius = this.kind === "refuted" ? 3 : 5;
    // For the mouse only: keys and screen readers have the same links in the list.
    const dot = svg("circle", { class: `dot ${this.kind}`, cx: x, cy: y, r: radius },
      svg("title", {}, this.title));
    dot.addEventListener("click", () => { location.hash = this.href; });
    return dot;
  }
}

function marks() {
  /** @type {Mark[]} */
  const all = [];
  const add = (/** @type {number[]} */ events, /** @type {string} */ kind,
    /** @type {string} */ href, /** @type {string} */ title) => {
    for (const event of events) {
      const index = INDEX.get(event);
      if (index !== undefined) all.push(new Mark(index, kind, href, title));
    }
  };
  DATA.refuted.forEach((refuted, at) =>
    add(refuted.events, "refuted", `#refuted-${at + 1}`,
      `cannot happen: ${withoutFolders(refuted.title)}`));
  DATA.undecided.forEach((open, at) =>
    add(open.events, "undecided", `#undecided-${at + 1}`, `undecided: ${open.kind}`));
  for (const finding of DATA.findings) {
    const events = finding.sides.map((side) => side.event);
    add(events, finding.grade.name, `#${finding.id}`, `${finding.id}: ${finding.cause}`);
  }
  return all;
}

function lanes() {
  if (DATA.lanes.length === 0) return null;
  const height = DATA.threads.length * LANE;
  const most = Math.max(1, ...DATA.lanes.map((lane) => Math.max(0, ...lane)));
  const picture = svg("svg", {
    class: "lanes", viewBox: `0 0 ${LANE_LABEL + LANE_WIDTH} ${height + 4}`,
    role: "img", "aria-label": "When each thread ran, and where findings lie",
  });
  DATA.lanes.forEach((lane, thread) => {
    const y = thread * LANE, step = LANE_WIDTH / Math.max(1, lane.length);
    const paths = ["", "", "", ""];
    lane.forEach((count, part) => {
      if (count === 0) return;
      const level = Math.min(3, Math.floor(Math.sqrt(count / most) * 4));
      const x = LANE_LABEL + part * step;
      paths[level] += `M${x.toFixed(1)} ${y + 5}h${(step + 0.3).toFixed(1)}v${LANE - 10}`
        + `h${(-step - 0.3).toFixed(1)}z`;
    });
    const name = DATA.threads[thread];
    picture.append(
      svg("text", { x: LANE_LABEL - 10, y: y + LANE / 2 + 4, class: "lane-name" },
        name.length > 20 ? `${name.slice(0, 19)}…` : name, svg("title", {}, name)),
      svg("line", { x1: LANE_LABEL, x2: LANE_LABEL + LANE_WIDTH, y1: y + LANE / 2, y2: y + LANE / 2,
        class: "lane" }),
      ...paths.map((d, level) => svg("path", { d, class: `ran level-${level}` })));
  });
  const dots = marks();
  picture.append(...dots.map((mark) => mark.draw()));
  const legend = ["confirmed", "real", "possible", "undecided", "refuted"]
    .filter((kind) => dots.some((dot) => dot.kind === kind));
  return el("section", { class: "card" },
    el("h3", {}, "The recorded run"),
    el("p", { class: "hint" },
      `${counted(DATA.event_count, "event")} from left to right; dots are findings and candidates.`),
    el("div", { class: "scroll" }, picture),
    el("ul", { class: "legend" }, ...legend.map((kind) =>
      el("li", {}, el("span", { class: `key ${kind}`, "aria-hidden": "true" }), kind))));
}

/** The parts of the ledger, in the order of their colours. */
const PARTS = ["violated", "undecided", "impossible for recorded values, else open",
  "impossible within the bound", "refuted by the solver", "refuted by order", "refuted by locks",
  "refuted by order and locks"];

function ledger() {
  const rows = DATA.ledger.filter((row) => row.candidates > 0);
  const used = PARTS.filter((part) =>
    rows.some((row) => row.parts.some(([name, count]) => name === part && count > 0)));
  const most = Math.max(1, ...rows.map((row) => row.candidates));
  const bars = rows.map((row) => {
    const parts = row.parts.filter(([, count]) => count > 0);
    // The widths compare properties with each other, but small ones stay visible.
    const width = 12 + 88 * Math.sqrt(row.candidates / most);
    return el("div", { class: "ledger-row", "aria-hidden": "true" },
      el("span", { class: "property" }, row.property),
      el("span", { class: "track" }, el("span", { class: "stack", style: `width:${width}%` },
        ...parts.map(([name, count]) => el("span", {
          class: `part part-${PARTS.indexOf(name)}`, style: `flex-grow:${count}`,
          title: `${counted(count, "candidate")}: ${name}`,
        }, String(count))))));
  });
  const table = el("table", { class: "numbers" },
    el("caption", { class: "unseen" }, "What became of all candidates"),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "property"),
      el("th", { scope: "col" }, "candidates"),
      ...used.map((part) => el("th", { scope: "col" },
        el("span", { class: `key part-${PARTS.indexOf(part)}`, "aria-hidden": "true" }), part)))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, el("th", { scope: "row" }, row.property),
      el("td", {}, row.candidates.toLocaleString("en")),
      ...used.map((part) => el("td", {},
        (row.parts.find(([name]) => name === part)?.[1] ?? 0).toLocaleString("en")))))));
  const notAsked = DATA.ledger.flatMap((row) =>
    row.not_asked.map((reason) => el("li", {}, el("b", {}, `${row.property}: `), reason)));
  return el("section", { class: "card" },
    el("h3", {}, "All candidates"),
    rows.length === 0
      ? el("p", {}, "The run has no candidates.")
      : el("div", {}, ...bars, el("div", { class: "scroll" }, table)),
    notAsked.length > 0 && el("h4", {}, "Not checked"),
    notAsked.length > 0 && el("ul", { class: "notes" }, ...notAsked));
}

/** What became of the findings of a baseline. */
function baseline() {
  if (!DATA.baseline) return null;
  const { new: fresh, known, fixed, not_seen: notSeen } = DATA.baseline;
  const list = (/** @type {string} */ title, /** @type {Known[]} */ all) => all.length > 0 && [
    el("h4", {}, title),
    el("ul", { class: "notes" }, ...all.map((one) =>
      el("li", {}, `${one.title} at ${one.locations.map(withoutFolders).join(", ")}`))),
  ];
  return el("section", { class: "card", id: "baseline" },
    el("h3", {}, "Against the baseline"),
    el("p", { class: "grades" }, ...[
      ["new", fresh], ["known", known], ["fixed", fixed.length], ["not seen", notSeen.length],
    ].map(([name, count]) =>
      el("span", { class: `badge ${name === "not seen" ? "plain" : name}` }, `${count} ${name}`))),
    ...list("Fixed: both places ran, and it cannot happen any more", fixed) || [],
    ...list("Not seen: this run says nothing about them", notSeen) || []);
}

/** The landing page: what was found, in short. */
function overview() {
  const grades = new Map();
  for (const { grade } of DATA.findings) grades.set(grade.name, (grades.get(grade.name) ?? 0) + 1);
  const facts = [
    DATA.path && `trace ${DATA.path}`, counted(DATA.event_count, "event"),
    counted(DATA.threads.length, "thread"), `model ${DATA.model}`,
    DATA.run && `the recorded run ${DATA.run.ending}`,
  ].filter(Boolean).join(" · ");
  const first = DATA.findings.slice(0, 6).map((finding) =>
    el("li", {}, el("a", { class: "big", href: `#${finding.id}` },
      el("span", { class: `badge ${finding.grade.name}` }, finding.grade.name),
      el("span", {}, finding.cause))));
  return el("article", { class: "overview" },
    el("h2", {}, capital(DATA.verdict)),
    el("p", { class: "hint" }, facts),
    el("p", { class: "grades" }, ...[...grades].map(([grade, count]) =>
      el("span", { class: `badge ${grade}` }, `${count} ${grade}`))),
    first.length > 0 && el("section", { class: "card" }, el("h3", {}, "Look at these first"),
      el("ul", { class: "first" }, ...first),
      DATA.findings.length > first.length
        && el("p", { class: "hint" }, `${DATA.findings.length - first.length} more in the list.`)),
    baseline(), lanes(), ledger(),
    DATA.notes.length > 0 && el("section", { class: "card" }, el("h3", {}, "Notes"),
      el("ul", { class: "notes" }, ...DATA.notes.map((note) => el("li", {}, note)))),
    el("p", { class: "hint" }, `Foretrace ${DATA.version}`));
}
