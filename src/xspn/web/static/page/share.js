// @ts-check
// Sharing a scenario: its address, the command and the code that ask the same, and tables and pictures of the answer.
import { button, el, save } from "./dom.js";
import { number, percent } from "./format.js";
import { csvCell } from "./rows.js";
import { State } from "./state.js";
import { TEXTS } from "./texts.js";
import { VariableList } from "./variables.js";

const MOST_DRAWN = 60; // of a picture

/** A word as a shell reads it. @param {string} text */
function shellWord(text) {
  return /^[\w.,:/=+@%-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A name in which * and ? stand for themselves, as commands take it. @param {string} text */
function plainPattern(text) {
  return text.replace(/[*?[]/g, (sign) => `[${sign}]`);
}

/** The command that asks the same. @param {State} state */
export function commandOf(state) {
  const given = [...state.facts].map(([column, value]) =>
    shellWord(`${plainPattern(state.model.variable(column).name)}=${state.model.plainValue(column, value)}`),
  );
  return ["xspn", "query", shellWord(state.model.source), ...(given.length ? ["--given", ...given] : [])].join(" ");
}

/** A value as Python writes it. @param {State} state @param {number} column @param {number} value */
function literal(state, column, value) {
  const { labels, literals } = state.model.variable(column);
  return literals ? literals[value] : labels ? JSON.stringify(labels[value]) : String(value);
}

/** The code that asks the same. @param {State} state */
export function codeOf(state) {
  const { model } = state;
  const facts = [...state.facts].map(
    ([column, value]) => `    ${JSON.stringify(model.variable(column).name)}: ${literal(state, column, value)},`,
  );
  return [
    "import xspn",
    "",
    `circuit = xspn.load(${JSON.stringify(model.source)})`,
    facts.length ? `given = {\n${facts.join("\n")}\n}` : "given = {}",
    "print(circuit.marginals(given))",
  ].join("\n");
}

/** What is believed of everything, as a table. @param {State} state */
export function csvOf(state) {
  const { model, now, prior } = state;
  const lines = [["variable", "value", "now", "before"]];
  for (const variable of model.variables) {
    if (variable.labels) {
      const [a, b] = [now, prior].map((own) =>
        model.chances(variable.column, /** @type {Float64Array} */ (own.answer.p)),
      );
      variable.labels.forEach((label, value) => lines.push([variable.name, label, String(a[value]), String(b[value])]));
    } else {
      const mean = (/** @type {any} */ own) =>
        own.facts.get(variable.column) ??
        own.answer.curves.find((/** @type {any} */ found) => found.column === variable.column)?.mean;
      lines.push([variable.name, "mean", String(mean(now)), String(mean(prior))]);
    }
  }
  return `${lines.map((line) => line.map(csvCell).join(",")).join("\n")}\n`;
}

/** The list as it is sorted, as a drawing. @param {State} state @param {VariableList} list */
export function drawingOf(state, list) {
  const { model, shown, reference, facts } = state;
  const rows = list.chosen().slice(0, MOST_DRAWN);
  const [left, wide, step, top] = [230, 300, 22, 40];
  const text = (
    /** @type {number} */ x,
    /** @type {number} */ y,
    /** @type {string} */ words,
    /** @type {Record<string, any>} */ more = {},
  ) => el("text", { x, y, "font-size": 12, fill: "#222222", "font-family": "system-ui, sans-serif", ...more }, words);
  const parts = rows.flatMap((row, place) => {
    const y = top + place * step;
    const { column, name, labels } = row.variable;
    const short = name.length > 32 ? `${name.slice(0, 31)}…` : name;
    if (!labels) {
      const own = shown.curves.find((found) => found.column === column);
      return [
        text(left - 8, y + 13, short, { "text-anchor": "end" }),
        text(left, y + 13, number(facts.get(column) ?? own?.median)),
      ];
    }
    const value = labels.length === 2 ? 1 : row.likely();
    const [now, was] = [shown, reference.answer].map(
      (own) => model.chances(column, /** @type {Float64Array} */ (own.p))[value],
    );
    const words = labels.length === 2 && row.variable.plain ? short : `${short} = ${labels[value]}`;
    return [
      text(left - 8, y + 13, words, { "text-anchor": "end" }),
      el("rect", { x: left, y: y + 3, width: wide, height: 12, fill: "#EEF1F4" }),
      el("rect", { x: left, y: y + 3, width: wide * now, height: 9, fill: facts.has(column) ? "#D55E00" : "#0072B2" }),
      el("rect", { x: left, y: y + 12, width: wide * was, height: 3, fill: "#8A8A8A" }),
      text(left + wide + 8, y + 13, percent(now)),
    ];
  });
  const known =
    [...facts]
      .map(([column, value]) => TEXTS.fact(model.variable(column).name, model.label(column, value)))
      .join(", ") || TEXTS.noFacts;
  const [width, height] = [left + wide + 80, top + rows.length * step + 12];
  return el(
    "svg",
    { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` },
    el("rect", { width, height, fill: "#FFFFFF" }),
    text(12, 20, model.title, { "font-weight": "bold" }),
    text(12, 35, known.length > 90 ? `${known.slice(0, 89)}…` : known, { "font-size": 11, fill: "#5A6068" }),
    ...parts,
  );
}

/** Save a drawing as a picture of twice its size. @param {SVGElement} drawing @param {string} name */
async function savePng(drawing, name) {
  const address = URL.createObjectURL(new Blob([drawing.outerHTML], { type: "image/svg+xml" }));
  const image = new Image();
  image.src = address;
  await image.decode();
  const canvas = el("canvas", { width: 2 * image.width, height: 2 * image.height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(address);
  canvas.toBlob((/** @type {Blob} */ content) => save(name, content));
}

/** The dialog for sharing. @param {State} state @param {VariableList} list */
export function shareDialog(state, list) {
  const field = (/** @type {string} */ title, /** @type {string} */ content, /** @type {number} */ rows) => {
    const area = el("textarea", { readonly: true, rows, "aria-label": title, spellcheck: "false" });
    area.value = content;
    const copy = button(
      TEXTS.copy,
      async () => {
        area.select();
        try {
          await navigator.clipboard.writeText(content);
        } catch {
          document.execCommand("copy");
        }
        copy.textContent = TEXTS.copied;
      },
      { "aria-label": `${TEXTS.copy}: ${title}` },
    );
    return el("div", { class: "field" }, el("div", { class: "head" }, el("h3", {}, title), copy), area);
  };
  const svg = () => drawingOf(state, list);
  const dialog = el(
    "dialog",
    { class: "dialog", "aria-label": TEXTS.shareTitle },
    el(
      "div",
      { class: "head" },
      el("h2", {}, TEXTS.shareTitle),
      button(TEXTS.close, () => dialog.close()),
    ),
    el("p", { class: "intro" }, TEXTS.shareLink),
    field(TEXTS.copyLink, location.href, 2),
    field(TEXTS.copyCommand, commandOf(state), 2),
    field(TEXTS.copyPython, codeOf(state), 9),
    el("h3", {}, TEXTS.exportTitle),
    el(
      "p",
      { class: "acts" },
      button(TEXTS.saveCsv, () => save("probabilities.csv", new Blob([csvOf(state)], { type: "text/csv" }))),
      button(TEXTS.saveSvg, () => save("probabilities.svg", new Blob([svg().outerHTML], { type: "image/svg+xml" }))),
      button(TEXTS.savePng, () => savePng(svg(), "probabilities.png")),
    ),
  );
  dialog.addEventListener("close", () => dialog.remove());
  return dialog;
}
