// The report as it is embedded in the page, and small ways to build elements.
//
// Text of the analysed program becomes text nodes only, never markup.
"use strict";

/**
 * @typedef {{text: string, file?: string, line?: number, function?: string}} Place
 * @typedef {{lock: string, shared: boolean, since: number, location: string | null}} Hold
 * @typedef {{function?: string, file: string, line: number}} Frame
 * @typedef {{thread: string, location: string | null, stack?: number, size?: number}} Origin
 * @typedef {{event: number, state: "executed" | "next" | "waiting", holds: Hold[]}} Side
 * @typedef {{what: string, why: string, events: number[]}} Reordering
 * @typedef {{evidence: string, detail: string, ending: string | null, output: string[]}} Replay
 * @typedef {{
 *   id: string, fingerprint: string, kind: string, certainty: string,
 *   grade: {name: string, words: string}, standing: string | null, title: string, cause: string,
 *   object: string | null, group: string,
 *   functions: string[], allocated: Origin | null, sides: Side[],
 *   runs?: number[], steps?: number[], switches: number, changes: [number, string][],
 *   reads: number[], inputs: {event: number, name: string, value: number}[],
 *   replay: Replay | null, reorderings: Reordering[],
 * }} Finding
 * @typedef {{kind: string, events: number[], reason: string}} Undecided
 * @typedef {{
 *   kind: string, events: number[], title: string, by: string, demand: string,
 *   steps: string[], conclusion: string,
 * }} Refuted
 * @typedef {{
 *   property: string, candidates: number, parts: [string, number][], not_asked: string[],
 * }} LedgerRow
 * @typedef {{title: string, locations: string[]}} Known
 * @typedef {{new: number, known: number, fixed: Known[], not_seen: Known[]}} Baseline
 * @typedef {{
 *   version: string, model: string, path: string | null, json: string | null,
 *   program: string | null,
 *   run: {ending: string, failed: boolean, unexpected: boolean, says_nothing?: string} | null,
 *   is_recorded: boolean, event_count: number, threads: string[], verdict: string, notes: string[],
 *   baseline: Baseline | null,
 *   ledger: LedgerRow[],
 *   events: {
 *     number: number[], thread: number[], operation: number[], location: number[],
 *     stack: number[], effect: string, on: number[], with: [number, number][],
 *   },
 *   operations: string[], locations: Place[],
 *   files: {name: string, found: boolean, chunks: {first: number, lines: string[]}[]}[],
 *   frames: Frame[], stacks: number[][], created: (Origin | null)[],
 *   places: {object: string, offset: number, size: number, name?: string}[], names: string[],
 *   lanes: number[][], findings: Finding[], undecided: Undecided[], refuted: Refuted[],
 *   refuted_left_out: number,
 * }} Data
 */

/** @type {Data} */
const DATA = JSON.parse(/** @type {HTMLElement} */ (document.getElementById("data")).textContent);

/** Event numbers in the trace, by index in the excerpt. @type {number[]} */
const NUMBERS = [];
/** Indices in the excerpt, by event number. @type {Map<number, number>} */
const INDEX = new Map();
/** The events of each thread: indices. @type {number[][]} */
const OF_THREAD = DATA.threads.map(() => []);
for (let index = 0, number = 0; index < DATA.events.number.length; index++) {
  number += DATA.events.number[index];
  NUMBERS.push(number);
  INDEX.set(number, index);
  OF_THREAD[DATA.events.thread[index]].push(index);
}
/** The condition variables of waits. @type {Map<number, number>} */
const WITH = new Map(DATA.events.with);

/** What an event did in the recorded run. @param {number} index */
const operationOf = (index) => DATA.operations[DATA.events.operation[index]];
/** @param {number} index */
const threadOf = (index) => DATA.events.thread[index];
/** One letter, see `EffectKind` in picture.rs. @param {number} index */
const effectOf = (index) => DATA.events.effect[index];
/** @param {number} index @returns {Place | undefined} */
const placeOf = (index) => DATA.locations[DATA.events.location[index] - 1];

/** The calls that led to an event, the innermost first. @param {number} index */
const stackOf = (index) =>
  (DATA.stacks[DATA.events.stack[index] - 1] ?? []).map((frame) => DATA.frames[frame]);

/** A location without folders and function. @param {string} text */
const shortText = (text) => withoutFolders(text).replace(/ \([^()]*\)$/, "");

/** A place without folders and function. @param {Place | undefined} place */
function short(place) {
  if (!place) return "";
  if (!place.file) return place.text;
  return `${baseName(place.file)}:${place.line}`;
}

/** Text without the folders of the files in it. @param {string} text */
const withoutFolders = (text) => text.replaceAll(/(?:\/[^\s/:]+)+\/(?=[^\s/:]+:\d)/g, "");

/** @param {string} text */
const capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

/** @param {string} file */
const baseName = (file) => file.slice(file.lastIndexOf("/") + 1);

/** @param {number} count @param {string} noun @param {string} [many] */
function counted(count, noun, many = `${noun}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? noun : many}`;
}

/** Memory in words. @param {number} place */
function memoryName(place) {
  const { object, offset, name } = DATA.places[place];
  return name ?? (offset === 0 ? object : `${object}+${offset}`);
}

/**
 * An operation in its parts: what it does, to what, and with which value.
 * @param {string} operation
 */
function partsOf(operation) {
  const match = /^((?:atomic |region |request )?\S+)(?: (.*?))?(?: : (\S+(?: -> \S+)?))?$/s
    .exec(operation);
  if (!match) return { verb: operation, object: "", value: "" };
  // Numbers of that size are addresses or bits.
  const value = (match[3] ?? "").replace(/\d{13,}/g, (text) => `0x${BigInt(text).toString(16)}`);
  return { verb: match[1], object: match[2] ?? "", value };
}

/** The end of a text that says most at its end. @param {string} text @param {number} room */
const endOf = (text, room) => text.length > room ? `…${text.slice(1 - room)}` : text;

/** What a store leaves in memory. @param {string} operation */
function storedBy(operation) {
  const { value } = partsOf(operation);
  const at = value.indexOf(" -> ");
  return at < 0 ? value : value.slice(at + 4);
}

/** Text in which backquotes mark code. @param {string} text */
const inline = (text) =>
  text.split("`").map((part, at) => at % 2 === 1 ? el("code", {}, part) : part);

/** A value of the recorded run where the schedule has another one. @param {string} value */
const recordedValue = (value) =>
  el("del", { class: "was", title: `${value} in the recorded run` },
    el("span", { class: "unseen" }, "recorded "), value);

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, string | number | boolean | ((event: any) => void)>} attributes
 * @param {...(Node | string | null | undefined | false)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
function el(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false) element.setAttribute(name, String(value));
  }
  for (const child of children) if (child) element.append(child);
  return element;
}

/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 * @param {...(Node | string)} children
 */
function svg(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** An element of the page that is always there. @param {string} id */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** Tells screen readers. @param {string} text */
function say(text) {
  byId("said").textContent = text;
}

/** A colour of the palette: locks and threads keep theirs. @param {number} number */
const hue = (number) => `var(--hue-${number % 8})`;
