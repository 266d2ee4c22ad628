// What stands beside and above the schedule: source, values, commands, explanations.

/** So many values are listed. */
const MOST_VALUES = 24;
/** So many lines around the current one are shown. */
const AROUND = 4;

/** @param {string} file @param {number} line */
function sourceLines(file, line) {
  const chunks = DATA.files.find((known) => known.name === file)?.chunks ?? [];
  const chunk = chunks.find(({ first, lines }) => first <= line && line < first + lines.length);
  if (!chunk) return null;
  const from = Math.max(chunk.first, line - AROUND);
  const to = Math.min(chunk.first + chunk.lines.length - 1, line + AROUND);
  const rows = [];
  for (let number = from; number <= to; number++) {
    const text = chunk.lines[number - chunk.first];
    const isHere = number === line;
    rows.push(el("div", { class: isHere ? "line here" : "line" },
      el("span", { class: "number", "aria-hidden": "true" }, String(number)),
      el("code", {}, text || " "),
      isHere && el("span", { class: "unseen" }, " (current line)")));
  }
  const label = `${file}, line ${line}`;
  return el("div", { class: "code", tabindex: 0, role: "group", "aria-label": label }, ...rows);
}

/** Where one thread is. @param {Schedule} schedule @param {number} thread @param {number} at */
function threadPanel(schedule, thread, at) {
  const last = schedule.lastOf(thread, at);
  const isActive = threadOf(schedule.order[at]) === thread;
  // At the bug every thread that is part of it shows what it is about to do.
  const next = at >= schedule.end - 1 ? (schedule.ofThread.get(thread) ?? []).at(-1) ?? -1 : -1;
  const isNext = next >= schedule.end;
  const position = isNext ? next : last;
  const held = schedule.heldBy(thread, at);
  const locks = held.map(({ lock }) =>
    el("span", { class: "lock" },
      el("span", { class: "swatch", style: `background:${hue(lock)}`, "aria-hidden": "true" }),
      DATA.names[lock]));
  const name = el("span", { class: "name" }, DATA.threads[thread]);
  if (position < 0) {
    return el("section", { class: "thread idle" },
      el("h3", {}, name, el("span", { class: "state" }, "not started")));
  }
  const index = schedule.order[position], place = placeOf(index);
  const lines = place?.file && place.line ? sourceLines(place.file, place.line) : null;
  const state = isNext ? "about to" : isActive ? "does" : "did last";
  const isSide = schedule.sides.has(index);
  return el("section", { class: `thread${isActive ? " active" : ""}${isSide ? " side" : ""}` },
    el("h3", {}, name, el("span", { class: "state" }, state),
      el("code", { class: "doing" }, schedule.operation(index))),
    place && el("p", { class: "place" },
      place.function && el("b", {}, `${place.function} `), short(place)),
    DATA.created[thread]
      && el("p", { class: "place" }, `created ${cameFrom(DATA.created[thread])}`),
    locks.length > 0 && el("p", { class: "held" }, "holds ", ...locks),
    stackPanel(index),
    lines ?? (place?.file
      ? el("p", { class: "missing" },
        `${baseName(place.file)} was not found when the report was made`)
      : null));
}

/** The calls that led to an event, each with its source. @param {number} index */
function stackPanel(index) {
  const calls = stackOf(index).slice(1);
  if (calls.length === 0) return null;
  return el("ol", { class: "calls", "aria-label": "called from" }, ...calls.map((frame) => {
    const name = frame.function ?? "?";
    const where = frame.line > 0 ? ` ${baseName(frame.file)}:${frame.line}` : "";
    const lines = frame.line > 0 ? sourceLines(frame.file, frame.line) : null;
    return el("li", {}, lines
      ? el("details", {}, el("summary", {}, el("b", {}, name), where), lines)
      : el("span", {}, el("b", {}, name), where));
  }));
}

/** Where a thread or a block of memory comes from. @param {Origin} origin */
function cameFrom({ thread, location, stack }) {
  const frame = stack === undefined ? undefined : DATA.frames[DATA.stacks[stack][0]];
  const place = location ? ` at ${shortText(location)}` : "";
  return `by ${thread}${place}${frame?.function ? ` in ${frame.function}` : ""}`;
}

/** What memory holds after a position. @param {Schedule} schedule @param {number} at */
function valuesPanel(schedule, at) {
  /** @type {{place: number, position: number, isAbout: boolean}[]} */
  const known = [];
  for (const [place, stores] of schedule.stores) {
    const found = lastUpTo(stores, Math.min(at, schedule.end - 1));
    if (found < 0) continue;
    const isAbout = schedule.about.has(DATA.places[place].object);
    known.push({ place, position: stores[found], isAbout });
  }
  known.sort((a, b) => Number(b.isAbout) - Number(a.isAbout) || b.position - a.position);
  const shown = known.slice(0, MOST_VALUES);
  const rows = shown.map(({ place, position, isAbout }) => {
    const index = schedule.order[position];
    const value = storedBy(schedule.operation(index)), recorded = storedBy(operationOf(index));
    const isNew = position === at;
    return el("tr", { class: `${isNew ? "new" : ""}${isAbout ? " about" : ""}` },
      el("th", { scope: "row" }, memoryName(place)),
      el("td", {}, recorded && value !== recorded && recordedValue(recorded), value || "unknown"),
      el("td", { class: "by" }, DATA.threads[threadOf(index)], isNew ? " now" : ""));
  });
  return el("section", { class: "values" },
    el("h3", {}, "Values"),
    rows.length === 0
      ? el("p", { class: "missing" }, "nothing was written yet")
      : el("table", {},
        el("thead", {}, el("tr", {}, ...["memory", "value", "written by"].map((text) =>
          el("th", { scope: "col" }, text)))),
        el("tbody", {}, ...rows)),
    known.length > shown.length
      && el("p", { class: "missing" }, `${known.length - shown.length} more`));
}

/** A command that can be copied. @param {string} label @param {string} text */
function command(label, text) {
  const button = el("button", {
    type: "button", class: "copy", "aria-label": `copy the command: ${label}`,
    click: async () => {
      button.textContent = await copied(text) ? "copied" : "select it";
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    },
  }, "copy");
  return el("div", { class: "command" }, el("span", { class: "label" }, label),
    el("code", { tabindex: 0 }, text), button);
}

/** @param {string} text */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // A page from disk may not have the clipboard; the old way needs a selection.
    const area = el("textarea", { class: "unseen", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const works = document.execCommand("copy");
    area.remove();
    return works;
  }
}

/** @param {Finding} finding */
function commands(finding) {
  const report = DATA.json ?? "REPORT.json", program = DATA.program ?? "PROGRAM";
  const named = `${report}#${finding.id}`;
  return el("div", { class: "commands" },
    command("see it again", `foretrace replay ${named} -- ${program}`),
    command("stop there in gdb", `foretrace replay --gdb ${named} -- ${program}`),
    command("suppress it", `foretrace suppress ${named}`));
}

/** Links to the steps of events. @param {Finding} finding @param {number[]} events */
function eventLinks(finding, events) {
  const schedule = new Schedule(finding, "predicted");
  const links = events.map((event) => {
    const index = INDEX.get(event);
    const at = index === undefined ? undefined : schedule.position.get(index);
    if (index === undefined || at === undefined) return null;
    const text = at < schedule.end ? `step ${at + 1}` : "the bug";
    return el("a", { href: `#${finding.id}/predicted/${at + 1}` }, text);
  });
  return links.flatMap((link) => link ? [link, " "] : []);
}

/** What reads may see, by model. @type {Record<string, string>} */
const SCOPES = {
  "reads-from": "Every read of this schedule sees the write that it saw in the recorded run.",
  values: "Every read of this schedule sees the value that it saw in the recorded run.",
  symbolic: "Reads may see other values, as long as every condition then goes the recorded way.",
  control: "Data was ignored, so this schedule is possible, but not proved feasible.",
};

/** Why the schedule may differ from the recorded run. @param {Finding} finding */
function explainFinding(finding) {
  const points = finding.reorderings.map(({ what, why, events }) =>
    el("li", {}, el("p", {}, el("b", {}, ...inline(what))), el("p", {}, ...inline(why)),
      el("p", { class: "links" }, ...eventLinks(finding, events))));

  return el("div", { class: "prose" },
    el("h3", {}, "Why this order can happen"),
    el("p", {}, SCOPES[DATA.model] ?? "", " Program order, thread creation, joins, locks and waits ",
      "hold as in every execution; an independent checker has replayed the schedule by these ",
      "rules."),
    points.length > 0
      ? el("ol", { class: "chain" }, ...points)
      : el("p", {}, "The schedule takes its steps in the recorded order; it only ends earlier."));
}

/** Why a candidate cannot happen. @param {Refuted} refuted */
function explainRefuted(refuted) {
  const places = refuted.events.map((event) => {
    const index = INDEX.get(event);
    return index === undefined ? `event ${event}`
      : `${DATA.threads[threadOf(index)]}: ${operationOf(index)} ${short(placeOf(index))}`;
  });
  return el("article", { class: "prose" },
    el("p", { class: "grades" }, el("span", { class: "badge refuted" }, "cannot happen"),
      el("span", { class: "badge plain" }, `refuted by ${refuted.by.replaceAll("-", " ")}`)),
    el("h2", {}, capital(withoutFolders(refuted.title))),
    el("ul", {}, ...places.map((place) => el("li", {}, el("code", {}, place)))),
    el("p", {}, ...inline(withoutFolders(refuted.demand))),
    el("ol", { class: "chain" }, ...refuted.steps.map((step) =>
      el("li", {}, ...inline(withoutFolders(step))))),
    el("p", { class: "conclusion" }, ...inline(withoutFolders(refuted.conclusion))));
}

/** Why a candidate has no verdict. @param {Undecided} open */
function explainUndecided(open) {
  const lines = open.events.map((event) => {
    const index = INDEX.get(event) ?? -1, place = placeOf(index);
    const code = place?.file && place.line ? sourceLines(place.file, place.line) : null;
    return el("li", {}, el("p", {}, el("b", {}, DATA.threads[threadOf(index)]),
      ` ${operationOf(index)} `, short(place)), code);
  });
  return el("article", { class: "prose" },
    el("p", { class: "grades" }, el("span", { class: "badge possible" }, "undecided")),
    el("h2", {}, `${open.kind}: no verdict`), el("p", {}, open.reason), el("ul", {}, ...lines));
}
