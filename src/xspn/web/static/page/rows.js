// @ts-check
// The panel of rows: typical ones given what is known, and those of the table that came along.
import { button, el, fill, save } from "./dom.js";
import { number, percent } from "./format.js";
import { State } from "./state.js";
import { TEXTS } from "./texts.js";

const SAMPLES = 4;
const SAVED = 1000;
const MOST_SHOWN = 300;
const LEAST_EXPECTED = 12;

/** A cell of a CSV file; what a spreadsheet would compute is kept from it. @param {string} text */
export function csvCell(text) {
  const safe = /^[=+@\t\r]|^-(?!\d)/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export class RowsPanel {
  /** @param {State} state @param {(column: number) => void} goTo */
  constructor(state, goTo) {
    this.state = state;
    this.goTo = goTo;
    this.seed = 1;
    this.turn = 0;
    this.isSeen = false;
    /** @type {number[]} rows of the table, the least usual first */
    this.order = [];
    this.rank = 0;
    this.title = el("p", { class: "where", role: "status" });
    this.cells = el("div", { class: "answers" });
    this.typical = el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": TEXTS.typical });
    this.node = el("div", { class: "rows-panel" });
    if (state.scores) this.node.append(this._tableSection(state.scores));
    this.node.append(
      el("h3", {}, TEXTS.typical),
      el("p", { class: "intro" }, TEXTS.typicalIntro),
      el(
        "p",
        { class: "acts" },
        button(TEXTS.draw, () => {
          this.seed++;
          this.update();
        }),
        button(TEXTS.saveRows, () => this._save()),
      ),
      this.typical,
    );
  }
  /** @param {boolean} isSeen */
  show(isSeen) {
    this.isSeen = isSeen;
    this.update();
    if (isSeen && this.state.scores && !this.cells.children.length) this.step(0);
  }
  async update() {
    const { state } = this;
    if (!this.isSeen || !state.isPossible) return;
    const turn = ++this.turn;
    const facts = [...state.now.facts];
    const best = await state.engine.ask("complete", facts);
    const drawn = await state.engine.ask("sample", facts, SAMPLES, this.seed);
    if (turn !== this.turn || !best || !drawn) return;
    const rows = [best.row, ...drawn];
    const open = state.model.variables.filter((variable) => !state.now.facts.has(variable.column)).slice(0, MOST_SHOWN);
    const heads = [
      TEXTS.variable,
      TEXTS.best,
      ...drawn.map((/** @type {any} */ _, /** @type {number} */ i) => TEXTS.sample(i + 1)),
    ];
    const cell = (/** @type {import("./model.js").Variable} */ variable, /** @type {Float64Array} */ row) => {
      const value = row[variable.column];
      const text = variable.labels ? variable.labels[value] : number(value, variable.whole);
      const isOne = variable.labels?.length === 2 && row[variable.column] === 1;
      return el("td", { class: isOne ? "one" : "" }, text);
    };
    fill(
      this.typical,
      el(
        "table",
        {},
        el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)))),
        el(
          "tbody",
          {},
          ...open.map((variable) =>
            el("tr", {}, el("th", { scope: "row" }, variable.name), ...rows.map((row) => cell(variable, row))),
          ),
        ),
      ),
    );
  }
  async _save() {
    const { model, engine, now } = this.state;
    const rows = await engine.ask("sample", [...now.facts], SAVED, this.seed);
    if (!rows) return;
    const lines = [
      model.variables.map((variable) => csvCell(variable.name)),
      ...rows.map((/** @type {Float64Array} */ row) =>
        model.variables.map(({ column }) => csvCell(model.plainValue(column, row[column]))),
      ),
    ];
    save("rows.csv", new Blob([lines.map((line) => line.join(",")).join("\n"), "\n"], { type: "text/csv" }));
  }

  /** @param {Float64Array} scores */
  _tableSection(scores) {
    this.order = Array.from(scores, (_, row) => row).sort((a, b) => scores[a] - scores[b] || a - b);
    this.goToRow = el("input", {
      type: "number",
      min: 1,
      max: scores.length,
      "aria-label": TEXTS.goTo,
      onchange: () => this._goToRow(),
    });
    return el(
      "section",
      { class: "table-rows" },
      el("h3", {}, TEXTS.table),
      el("p", { class: "intro" }, TEXTS.tableIntro(scores.length)),
      el(
        "p",
        { class: "acts" },
        button(TEXTS.previous, () => this.step(-1)),
        button(TEXTS.next, () => this.step(1)),
        el("label", {}, el("span", {}, TEXTS.goTo), this.goToRow),
      ),
      this.title,
      this.cells,
    );
  }
  _goToRow() {
    const row = Math.round(Number(this.goToRow.value)) - 1;
    const rank = this.order.indexOf(row);
    if (rank >= 0) {
      this.rank = rank;
      this.step(0);
    }
  }
  /** Go to the next row by how unusual rows are. @param {number} by */
  async step(by) {
    this.rank = Math.min(this.order.length - 1, Math.max(0, this.rank + by));
    const row = this.order[this.rank];
    const found = await this.state.engine.ask("tableRow", row);
    this.goToRow.value = String(row + 1);
    this.title.textContent = TEXTS.tableRow(row + 1, this.rank + 1, this.order.length);
    const { model } = this.state;
    const values = new Map(found.evidence);
    const least = found.facts
      .filter((/** @type {any} */ fact) => fact.p !== null)
      .sort((/** @type {any} */ a, /** @type {any} */ b) => a.p - b.p)
      .slice(0, LEAST_EXPECTED);
    const take = (/** @type {number | null} */ without) =>
      this.state.replace(
        new Map(found.evidence.filter((/** @type {[number, number]} */ [column]) => column !== without)),
      );
    fill(
      this.cells,
      el("h4", {}, TEXTS.leastExpected),
      ...least.map((/** @type {any} */ { column, p }) =>
        el(
          "div",
          { class: "told" },
          button(
            TEXTS.fact(model.variable(column).name, model.label(column, values.get(column))),
            () => this.goTo(column),
            { class: "link" },
          ),
          el("span", { class: p < 0.05 ? "fraction odd" : "fraction" }, percent(p)),
        ),
      ),
      el(
        "p",
        { class: "acts" },
        button(TEXTS.loadRow, () => take(null)),
        least.length ? button(TEXTS.loadButLeast, () => take(least[0].column)) : null,
      ),
    );
  }
}
