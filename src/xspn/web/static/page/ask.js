// @ts-check
// The panel of questions about one variable: what would tell most about it, and why it is what it is.
import { button, el, fill, setShare } from "./dom.js";
import { number, percent, points } from "./format.js";
import { State } from "./state.js";
import { TEXTS } from "./texts.js";

const MOST_TOLD = 20;
const MOST_REASONS = 30;
const NOTHING = 5e-4; // bits
const NEGLIGIBLE_ERROR = 5e-5; // bits: numbers are shown to a thousandth at most

/** A small number of one digit, rounded up. @param {number} x */
function atMost(x) {
  const digit = 10 ** Math.floor(Math.log10(x));
  return (Math.ceil(x / digit) * digit).toFixed(Math.max(0, -Math.floor(Math.log10(x))));
}

export class AskPanel {
  /** @param {State} state @param {(column: number) => void} goTo */
  constructor(state, goTo) {
    this.state = state;
    this.goTo = goTo;
    this.turn = 0;
    this.isSeen = false;
    const names = [...state.model.variables].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
    this.target = el(
      "select",
      { onchange: () => this.choose() },
      el("option", { value: "" }, TEXTS.targetNone),
      ...names.map((variable) => el("option", { value: variable.column }, variable.name)),
    );
    this.value = el("select", { onchange: () => this.update() });
    this.valueLabel = el("label", {}, el("span", {}, TEXTS.targetValue), this.value);
    this.valueLabel.hidden = true;
    this.tells = el("div", { class: "answers" });
    this.reasons = el("div", { class: "answers" });
    this.node = el(
      "div",
      { class: "ask" },
      el("div", { class: "tools" }, el("label", {}, el("span", {}, TEXTS.target), this.target), this.valueLabel),
      this.tells,
      this.reasons,
    );
  }
  /** Take another target. */
  choose() {
    const labels = this._variable()?.labels;
    this.valueLabel.hidden = !labels || labels.length === 2;
    fill(this.value, ...(labels ?? []).map((label, value) => el("option", { value }, label)));
    if (labels) {
      const now = this.state.model.chances(this._variable().column, /** @type {Float64Array} */ (this.state.shown.p));
      this.value.value = String(labels.length === 2 ? 1 : now.indexOf(Math.max(...now)));
    }
    this.update();
  }
  _variable() {
    return this.state.model.variable(Number(this.target.value === "" ? NaN : this.target.value));
  }
  /** @param {boolean} isSeen whether the panel can be seen: what nobody sees is not computed */
  show(isSeen) {
    this.isSeen = isSeen;
    this.update();
  }
  async update() {
    const variable = this._variable();
    if (!this.isSeen || !this.state.isPossible) return;
    if (!variable) {
      fill(this.tells);
      fill(this.reasons);
      return;
    }
    const turn = ++this.turn;
    const facts = [...this.state.now.facts];
    const isKnown = this.state.now.facts.has(variable.column);
    const told = isKnown ? null : await this.state.engine.ask("tell", facts, variable.column);
    if (turn !== this.turn) return;
    const why = facts.some(([column]) => column !== variable.column)
      ? await this.state.engine.ask("why", facts, variable.column)
      : null;
    if (turn !== this.turn) return;
    this._showTold(variable, told, isKnown);
    this._showReasons(variable, why);
  }
  /** @param {import("./model.js").Variable} variable @param {{entropy: number | null, gain: Float64Array, error: Float64Array} | null} told @param {boolean} isKnown */
  _showTold(variable, told, isKnown) {
    const title = el("h3", {}, TEXTS.tells);
    if (!told) {
      fill(this.tells, title, isKnown ? el("p", { class: "intro" }, TEXTS.tellsKnown) : null);
      return;
    }
    const order = this.state.model.variables
      .filter((own) => told.gain[own.column] > NOTHING)
      .sort((a, b) => told.gain[b.column] - told.gain[a.column])
      .slice(0, MOST_TOLD);
    const most = Math.max(...order.map((own) => told.gain[own.column]), 1e-9);
    const error = Math.max(0, ...order.map((own) => told.error[own.column]));
    fill(
      this.tells,
      title,
      el(
        "p",
        { class: "intro" },
        order.length ? TEXTS.tellsIntro(variable.name, told.entropy?.toFixed(2)) : TEXTS.tellsNothing,
        error > NEGLIGIBLE_ERROR ? ` ${TEXTS.tellsAccuracy(atMost(error))}` : "",
      ),
      ...order.map((own) => {
        const bar = el("span", { class: "bar gain", "aria-hidden": "true" }, el("i", { class: "now" }));
        setShare(bar, "--now", told.gain[own.column] / most);
        return el(
          "div",
          { class: "told" },
          button(own.name, () => this.goTo(own.column), { class: "link" }),
          bar,
          el(
            "span",
            { class: "fraction" },
            TEXTS.bits(told.gain[own.column].toFixed(told.gain[own.column] < 0.1 ? 3 : 2)),
          ),
        );
      }),
    );
  }
  /** @param {import("./model.js").Variable} variable @param {any} why */
  _showReasons(variable, why) {
    const title = el("h3", {}, TEXTS.whyTitle);
    if (!why || !why.now) {
      fill(this.reasons, title, el("p", { class: "intro" }, TEXTS.whyNone));
      return;
    }
    const value = variable.labels ? Number(this.value.value) : 0;
    const text = (/** @type {number[]} */ own) =>
      variable.labels ? percent(own[value]) : number(own[0], variable.whole);
    const what = variable.labels ? TEXTS.fact(variable.name, variable.labels[value]) : variable.name;
    const scale = variable.labels ? 1 : Math.max(why.before[1], 1e-12);
    const changes = why.without
      .filter((/** @type {any} */ own) => own.then)
      .map((/** @type {any} */ own) => ({ ...own, change: (why.now[value] - own.then[value]) / scale }))
      .sort((/** @type {any} */ a, /** @type {any} */ b) => Math.abs(b.change) - Math.abs(a.change))
      .slice(0, MOST_REASONS);
    fill(
      this.reasons,
      title,
      el("p", { class: "intro" }, TEXTS.whyIntro(what, text(why.before), text(why.now))),
      ...changes.map((/** @type {any} */ { column, then, change }) => {
        const bar = el(
          "span",
          { class: `bar both ${change < 0 ? "down" : "up"}`, "aria-hidden": "true" },
          el("i", { class: "now" }),
        );
        setShare(bar, "--now", Math.abs(change) / 2);
        const fact = TEXTS.fact(
          this.state.model.variable(column).name,
          this.state.model.label(column, /** @type {number} */ (this.state.now.facts.get(column))),
        );
        const moved = variable.labels
          ? points(change) || "±0"
          : `${change >= 0 ? "+" : "−"}${number(Math.abs(why.now[0] - then[0]))}`;
        return el(
          "div",
          { class: "told" },
          button(fact, () => this.goTo(column), { class: "link" }),
          bar,
          el("span", { class: "fraction", title: TEXTS.whyWithout(text(then)) }, moved),
        );
      }),
    );
  }
}
