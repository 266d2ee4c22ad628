// What is shown when: the list of findings, the address, the keys.
//
// The address is `#FINDING/MODE/STEP`, `#FINDING/explain`, `#refuted-N`, `#undecided-N` or
// `#overview`; a link to a step opens that step.

/** @type {Rows | null} */
let rows = null;
/** @type {{id: string, mode: Mode | "explain", at: number}} */
let shown = { id: "", mode: "predicted", at: 0 };

/** @returns {{id: string, mode: Mode | "explain", step: number | null}} */
function address() {
  const [id, second, third] = decodeURIComponent(location.hash.slice(1)).split("/");
  const modes = ["predicted", "recorded", "difference", "explain"];
  // A program has no recorded run to compare with.
  const isKnown = DATA.is_recorded && modes.includes(second);
  const mode = /** @type {Mode | "explain"} */ (isKnown ? second : "predicted");
  const step = Number.parseInt(third ?? second ?? "", 10);
  return { id, mode, step: Number.isNaN(step) ? null : step };
}

/** The address of what is shown, without a new entry in the history. */
function keepAddress() {
  const step = shown.mode === "explain" ? "" : `/${shown.at + 1}`;
  history.replaceState(null, "", `#${encodeURIComponent(shown.id)}/${shown.mode}${step}`);
}

/** Shows what the address says. */
function follow() {
  const { id, mode, step } = address();
  const finding = DATA.findings.find((known) => known.id === id);
  const main = byId("main");
  rows = null;
  if (finding) {
    main.replaceChildren(...findingPage(finding, mode, step));
    document.title = `${finding.id} · Foretrace`;
  } else {
    const number = Number(id.slice(id.lastIndexOf("-") + 1)) - 1;
    const refuted = id.startsWith("refuted-") ? DATA.refuted[number] : undefined;
    const open = id.startsWith("undecided-") ? DATA.undecided[number] : undefined;
    main.replaceChildren(refuted ? explainRefuted(refuted)
      : open ? explainUndecided(open) : overview());
    document.title = "Foretrace report";
    shown = { id: refuted || open ? id : "overview", mode: "predicted", at: 0 };
  }
  for (const link of byId("entries").querySelectorAll("a")) {
    const isHere = link.hash === `#${shown.id}`;
    if (isHere) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
    if (isHere) link.scrollIntoView({ block: "nearest" });
  }
  // Only now does the grid have a size.
  const grid = /** @type {Rows | null} */ (rows);
  if (grid) {
    grid.layout();
    stepTo(shown.at, true);
  } else main.scrollTop = 0;
}

/** What the project knows of a finding. @param {Finding} finding */
function standing(finding) {
  return finding.standing
    && el("span", { class: `badge ${finding.standing}` }, finding.standing);
}

/** @param {Finding} finding @param {Mode | "explain"} mode @param {number | null} step */
function findingPage(finding, mode, step) {
  const tab = (/** @type {string} */ to, /** @type {string} */ text) =>
    el("a", { href: `#${finding.id}/${to}`, "aria-current": to === mode ? "true" : "false" }, text);
  const head = el("header", { class: "finding" },
    el("div", { class: "grades" },
      el("span", { class: `badge ${finding.grade.name}` }, finding.grade.words),
      standing(finding),
      el("span", { class: "badge plain" }, finding.kind),
      el("span", { class: "hint" }, [finding.id, counted(finding.sides.length, "operation"),
        counted(finding.switches, "context switch", "context switches")].join(" · "))),
    el("h2", {}, capital(finding.title)),
    el("p", { class: "cause" }, finding.cause),
    finding.replay && el("p", { class: "hint" }, `Replay: ${finding.replay.detail}`,
      finding.replay.ending ? `; the program ${finding.replay.ending}.` : "."),
    finding.allocated && el("p", { class: "hint" },
      `${finding.object ?? "the memory"}: ${counted(finding.allocated.size ?? 0, "byte")} `,
      `allocated ${cameFrom(finding.allocated)}.`),
    finding.inputs.length > 0 && el("p", { class: "hint" }, "Inputs: ",
      finding.inputs.map(({ name, value }) => `${name} = ${value}`).join(", ")),
    el("details", { class: "do" }, el("summary", {}, "Commands: replay, debug, suppress"),
      commands(finding)));
  const tabs = el("nav", {
    class: "tabs", "aria-label": "Views of this finding", hidden: !DATA.is_recorded,
  },
    tab("predicted", "Predicted"), tab("recorded", "Recorded"), tab("difference", "Difference"),
    tab("explain", "Explain"));
  if (mode === "explain") {
    shown = { id: finding.id, mode, at: 0 };
    return [head, tabs, explainFinding(finding)];
  }
  const schedule = new Schedule(finding, mode);
  const last = schedule.order.length - 1;
  const at = step === null ? last : step - 1;
  shown = { id: finding.id, mode, at: Math.max(0, Math.min(last, at)) };
  const grid = rows = new Rows(schedule, (at) => stepTo(at, false));
  const arrows = el("input", {
    type: "checkbox", id: "with-arrows", checked: true,
    change: () => {
      grid.showsArrows = arrows.checked;
      grid.draw();
    },
  });
  const locks = [...new Set(schedule.bars.map((bar) => bar.lock))].slice(0, 8);
  const legend = el("div", { class: "legend-line" },
    el("span", {}, el("kbd", {}, "j"), " ", el("kbd", {}, "k"), " step ", el("kbd", {}, "J"), " ",
      el("kbd", {}, "K"), " switch"),
    el("label", { for: "with-arrows" }, arrows, " arrows: ",
      el("span", { class: "sample sees" }), " sees the value of ",
      el("span", { class: "sample before" }), " must come before"),
    ...locks.map((lock) => el("span", { class: "lock" },
      el("span", { class: "swatch", style: `background:${hue(lock)}`, "aria-hidden": "true" }),
      DATA.names[lock])));
  const beside = el("aside", { class: "beside", id: "beside", "aria-label": "Source and values" });
  return [head, tabs, legend, el("div", { class: "work" }, grid.element, beside)];
}

/** @param {number} at @param {boolean} scrolls */
function stepTo(at, scrolls) {
  if (!rows) return;
  const { schedule } = rows;
  shown.at = Math.max(0, Math.min(schedule.order.length - 1, at));
  rows.show(shown.at, scrolls);
  const active = threadOf(schedule.order[shown.at]);
  const inBug = new Set([...schedule.sides].map(threadOf));
  const first = schedule.threads.filter((thread) => thread === active || inBug.has(thread));
  const rest = schedule.threads.filter((thread) => !first.includes(thread));
  byId("beside").replaceChildren(
    ...first.map((thread) => threadPanel(schedule, thread, shown.at)),
    valuesPanel(schedule, shown.at),
    ...(rest.length > 0
      ? [el("details", { class: "others" },
        el("summary", {}, counted(rest.length, "other thread")),
        ...rest.map((thread) => threadPanel(schedule, thread, shown.at)))]
      : []));
  const index = schedule.order[shown.at];
  const number =
    shown.at < schedule.end ? `step ${shown.at + 1} of ${schedule.end}` : "about to happen";
  say(`${number}, ${DATA.threads[active]}: ${schedule.operation(index)}, ${short(placeOf(index))}`);
  keepAddress();
}

/** To the next or previous context switch. @param {1 | -1} by */
function stepToSwitch(by) {
  if (!rows) return;
  const { schedule } = rows;
  let at = shown.at + by;
  while (at > 0 && at < schedule.order.length - 1 && !schedule.isSwitch(at)) at += by;
  stepTo(at, true);
}

/** To the next or previous entry of the list. @param {1 | -1} by */
function turnTo(by) {
  const links = [...byId("entries").querySelectorAll("a")].filter((link) => link.offsetParent);
  const at = links.findIndex((link) => link.hash === `#${shown.id}`);
  const link = links[Math.max(0, Math.min(links.length - 1, at + by))];
  if (link) location.hash = link.hash;
}

/** @type {Record<string, () => void>} */
const KEYS = {
  j: () => stepTo(shown.at + 1, true), k: () => stepTo(shown.at - 1, true),
  ArrowDown: () => stepTo(shown.at + 1, true), ArrowUp: () => stepTo(shown.at - 1, true),
  J: () => stepToSwitch(1), K: () => stepToSwitch(-1),
  g: () => stepTo(0, true), G: () => stepTo(Infinity, true),
  n: () => turnTo(1), p: () => turnTo(-1),
  1: () => turn("predicted"), 2: () => turn("recorded"), 3: () => turn("difference"),
  e: () => turn(shown.mode === "explain" ? "predicted" : "explain"),
  o: () => { location.hash = "overview"; },
  "/": () => byId("filter").focus(),
  "?": () => /** @type {HTMLDialogElement} */ (byId("help")).showModal(),
};

/** @param {string} mode */
function turn(mode) {
  const isFinding = DATA.findings.some((finding) => finding.id === shown.id);
  if (isFinding && DATA.is_recorded) location.hash = `${shown.id}/${mode}`;
}

document.addEventListener("keydown", (event) => {
  const { target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (target instanceof HTMLInputElement && target.type === "search") {
    if (event.key === "Escape") target.blur();
    return;
  }
  if (byId("help").hasAttribute("open")) return;
  // Arrow keys scroll, unless the schedule has the focus.
  const isInRows = rows !== null && rows.element.contains(document.activeElement);
  if (event.key.startsWith("Arrow") && !isInRows) return;
  const action = KEYS[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});

/** The list: findings by what they are about, then what is open and what cannot happen. */
function entries() {
  /** @type {Map<string, Finding[]>} */
  const groups = new Map();
  for (const finding of DATA.findings) {
    const group = groups.get(finding.group);
    if (group) group.push(finding);
    else groups.set(finding.group, [finding]);
  }
  const entry = (/** @type {string} */ id, /** @type {string} */ badge, /** @type {string} */ title,
    /** @type {string} */ detail, /** @type {string} */ words,
    /** @type {HTMLElement | string | null} */ mark = null) =>
    el("li", { "data-words": `${id} ${badge} ${title} ${detail} ${words}`.toLowerCase() },
      el("a", { href: `#${id}` },
        el("span", { class: "line-1" }, el("span", { class: `dot ${badge}`, title: badge }),
          el("span", { class: "title" }, title), mark),
        el("span", { class: "line-2" }, detail)));
  const items = (/** @type {Finding[]} */ findings) => findings.map((finding) => {
    const events = finding.sides.map((side) => side.event);
    return entry(finding.id, finding.grade.name, finding.title,
      `${finding.id} · ${places(events)}`,
      `${finding.cause} ${functions(events)} ${finding.standing ?? ""}`, standing(finding));
  });
  const places = (/** @type {number[]} */ events) => [...new Set(events.map((event) => {
    const index = INDEX.get(event);
    return index === undefined ? "" : short(placeOf(index));
  }))].filter(Boolean).join(" · ");
  const functions = (/** @type {number[]} */ events) => events.map((event) => {
    const index = INDEX.get(event);
    return index === undefined ? "" : placeOf(index)?.text ?? "";
  }).join(" ");
  const group = (/** @type {string} */ title, /** @type {HTMLElement[]} */ items) =>
    el("section", { class: "group" },
      el("h2", {}, el("span", { class: "title", title }, title),
        el("span", { class: "tally" }, String(items.length))),
      el("ul", {}, ...items));
  const list = [el("section", { class: "group" }, el("ul", {},
    entry("overview", "none", "Overview", "the run and all candidates", "")))];
  const singles = [...groups.values()].filter((findings) => findings.length === 1).flat();
  if (singles.length > 0) list.push(group("Findings", items(singles)));
  for (const findings of groups.values()) {
    const { title, functions } = findings[0];
    const within = functions.length > 0 ? ` in ${functions.join(", ")}` : "";
    if (findings.length > 1) list.push(group(`${title}${within}`, items(findings)));
  }
  if (DATA.undecided.length > 0) {
    list.push(group("Undecided", DATA.undecided.map((open, at) =>
      entry(`undecided-${at + 1}`, "undecided", `${open.kind}`, places(open.events) || open.reason,
        `${open.reason} ${functions(open.events)}`))));
  }
  if (DATA.refuted.length > 0) {
    const left = DATA.refuted_left_out > 0 ? ` (first ${DATA.refuted.length})` : "";
    list.push(group(`Cannot happen${left}`, DATA.refuted.map((refuted, at) =>
      entry(`refuted-${at + 1}`, "refuted", withoutFolders(refuted.title), places(refuted.events),
        functions(refuted.events)))));
  }
  return list;
}

function filter() {
  const input = /** @type {HTMLInputElement} */ (byId("filter"));
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const section of byId("entries").children) {
    let here = 0;
    for (const item of /** @type {NodeListOf<HTMLElement>} */ (section.querySelectorAll("li"))) {
      item.hidden = !words.every((word) => item.dataset.words?.includes(word));
      if (!item.hidden) here++;
    }
    /** @type {HTMLElement} */ (section).hidden = here === 0;
    count += here;
  }
  byId("count").textContent = words.length === 0 ? "" : counted(count, "entry", "entries");
}

function start() {
  byId("verdict").textContent = DATA.verdict;
  byId("entries").replaceChildren(...entries());
  byId("filter").addEventListener("input", filter);
  byId("keys").addEventListener("click", () => KEYS["?"]());
  const theme = byId("theme"), dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : dark.matches;
  };
  const tell = () => theme.setAttribute("aria-pressed", String(isDark()));
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    tell();
  });
  dark.addEventListener("change", tell);
  tell();
  addEventListener("hashchange", follow);
  addEventListener("beforeprint", () => {
    document.body.classList.add("printing");
    rows?.draw();
  });
  addEventListener("afterprint", () => {
    document.body.classList.remove("printing");
    rows?.draw();
  });
  if (!location.hash && DATA.findings.length === 1) {
    history.replaceState(null, "", `#${DATA.findings[0].id}`);
  }
  follow();
}

start();
