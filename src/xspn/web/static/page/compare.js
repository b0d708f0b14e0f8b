// @ts-check
// The panel that puts the pinned scenario and the present one side by side.
import { button, el, fill } from "./dom.js";
import { number, percent, points } from "./format.js";
import { State } from "./state.js";
import { TEXTS } from "./texts.js";

const MOST_COMPARED = 60;

export class ComparePanel {
  /** @param {State} state @param {(column: number) => void} goTo */
  constructor(state, goTo) {
    this.state = state;
    this.goTo = goTo;
    this.node = el("div", { class: "compare" });
  }
  update() {
    const { pinned, model, now, isPossible } = this.state;
    if (!pinned) {
      fill(this.node, el("p", { class: "intro" }, TEXTS.compareNone));
      return;
    }
    if (!isPossible) return;
    const lines = model.variables
      .flatMap((variable) => this._lines(variable))
      .sort((a, b) => b.size - a.size)
      .slice(0, MOST_COMPARED);
    const facts = (/** @type {string} */ title, /** @type {import("./state.js").Scenario} */ own) =>
      el(
        "div",
        {},
        el("h3", {}, title),
        el(
          "p",
          { class: "quiet" },
          [...own.facts]
            .map(([column, value]) => TEXTS.fact(model.variable(column).name, model.label(column, value)))
            .join(", ") || TEXTS.noFacts,
        ),
      );
    fill(
      this.node,
      el("div", { class: "two" }, facts(TEXTS.pinned, pinned), facts(TEXTS.now, now)),
      el(
        "p",
        { class: "acts" },
        button(TEXTS.swap, () => this.state.swap()),
        button(TEXTS.unpin, () => this.state.unpin()),
      ),
      el(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": TEXTS.panels.compare },
        el(
          "table",
          {},
          el(
            "thead",
            {},
            el(
              "tr",
              {},
              ...[TEXTS.variable, TEXTS.pinned, TEXTS.now, TEXTS.difference].map((head) =>
                el("th", { scope: "col" }, head),
              ),
            ),
          ),
          el(
            "tbody",
            {},
            ...lines.map((line) =>
              el(
                "tr",
                {},
                el(
                  "th",
                  { scope: "row" },
                  button(line.name, () => this.goTo(line.column), { class: "link" }),
                ),
                el("td", {}, line.was),
                el("td", {}, line.now),
                el("td", { class: line.isUp ? "up" : "down" }, line.change),
              ),
            ),
          ),
        ),
      ),
    );
  }
  /** What changed of a variable: its bit, the value that moved most, or its mean. @param {import("./model.js").Variable} variable */
  _lines(variable) {
    const { pinned, model, now } = this.state;
    const { column } = variable;
    if (variable.labels) {
      const [a, b] = [pinned, now].map((own) =>
        model.chances(column, /** @type {Float64Array} */ (/** @type {any} */ (own).answer.p)),
      );
      const moved = Array.from(a, (p, value) => Math.abs(b[value] - p));
      const value = variable.labels.length === 2 ? 1 : moved.indexOf(Math.max(...moved));
      const name =
        variable.labels.length === 2 && variable.plain
          ? variable.name
          : TEXTS.fact(variable.name, variable.labels[value]);
      return [
        {
          column,
          name,
          was: percent(a[value]),
          now: percent(b[value]),
          change: points(b[value] - a[value]),
          isUp: b[value] > a[value],
          size: moved[value],
        },
      ];
    }
    const mean = (/** @type {any} */ own) =>
      own.facts.get(column) ?? own.answer.curves.find((/** @type {any} */ found) => found.column === column)?.mean;
    const [a, b] = [mean(pinned), mean(now)];
    const [low, high] = /** @type {[number, number]} */ (this.state.spans.get(column));
    const text = (/** @type {number} */ value) => number(value, variable.whole);
    return [
      {
        column,
        name: variable.name,
        was: text(a),
        now: text(b),
        change: `${b >= a ? "+" : "−"}${text(Math.abs(b - a))}`,
        isUp: b > a,
        size: Math.abs(b - a) / (high - low),
      },
    ];
  }
}
