// @ts-check
// The bar of what is known: a chip for each fact, how likely the facts are, and how well they go together.
import { button, el, fill } from "./dom.js";
import { chanceOf, number, percent, timesText } from "./format.js";
import { State } from "./state.js";
import { TEXTS } from "./texts.js";

const MOST_CHIPS = 24;
const ODD = 0.05; // a fact less likely than this, given the others, is marked

/** A chip that names a fact. @param {State} state @param {number} column @param {number} value @param {{p: number | null} | undefined} surprise */
function chip(state, column, value, surprise) {
  const { model } = state;
  const text = TEXTS.fact(model.variable(column).name, model.label(column, value));
  const p = surprise?.p ?? null;
  const isAlone = state.facts.size < 2;
  const words =
    p === null || isAlone
      ? ""
      : model.variable(column).labels
        ? TEXTS.givenOthers(percent(p))
        : TEXTS.farOut(percent(p));
  const isOdd = p !== null && p < ODD && !isAlone;
  return el(
    "span",
    { class: isOdd ? "chip odd" : "chip", title: words },
    el("span", { class: "fact" }, text),
    isOdd ? el("span", { class: "odds", "aria-label": words }, percent(p)) : null,
    button("×", () => state.set([[column, null]]), { "aria-label": TEXTS.remove(text) }),
  );
}

export class FactsBar {
  /** @param {State} state */
  constructor(state) {
    this.state = state;
    this.chips = el("div", { class: "chips" });
    this.chance = el("p", { class: "chance", role: "status", "aria-live": "polite" });
    this.undo = button(TEXTS.undo, () => state.undo());
    this.clear = button(TEXTS.clearAll, () => state.replace(new Map()));
    this.pin = button(TEXTS.pin, () => state.pin());
    this.all = false;
    this.node = el(
      "section",
      { class: "known-bar", "aria-label": TEXTS.known },
      el(
        "div",
        { class: "line-of-facts" },
        el("h2", {}, TEXTS.known),
        this.chips,
        el("div", { class: "acts" }, this.undo, this.clear, this.pin),
      ),
      this.chance,
    );
  }
  update() {
    const { state } = this;
    const facts = [...state.now.facts].reverse();
    const surprises = new Map(state.now.answer.facts.map((fact) => [fact.column, fact]));
    const shown = this.all ? facts : facts.slice(0, MOST_CHIPS);
    fill(
      this.chips,
      ...shown.map(([column, value]) => chip(state, column, value, surprises.get(column))),
      shown.length < facts.length
        ? button(
            TEXTS.moreFacts(facts.length - shown.length),
            () => {
              this.all = true;
              this.update();
            },
            { class: "chip" },
          )
        : null,
      facts.length ? null : el("span", { class: "hint" }, TEXTS.nothingKnown),
    );
    this.undo.disabled = state.depth === 0 && !facts.length;
    this.clear.disabled = !facts.length;
    this.pin.disabled = !state.isPossible;
    this.node.classList.toggle("impossible", !state.isPossible);
    fill(
      this.chance,
      ...(state.isPossible ? this._chance(facts.length) : this._impossible()),
      state.notice ? el("span", { class: "notice" }, TEXTS.ignored(state.notice)) : null,
    );
  }
  /** @param {number} count */
  _chance(count) {
    const { answer, facts } = this.state.now;
    if (!count) return [];
    const isReal = [...facts.keys()].some((column) => !this.state.model.variable(column).labels);
    const { fraction, rare } = chanceOf(answer.log);
    const words = isReal ? TEXTS.density(number(answer.log)) : TEXTS.chance(fraction ?? TEXTS.oneIn(rare ?? ""));
    return [el("strong", {}, words), count < 2 ? null : ` ${this._conflict(answer.conflict ?? 0)}`];
  }
  /** @param {number} conflict log of the product of the facts' own probabilities over that of all */
  _conflict(conflict) {
    const times = Math.exp(Math.abs(conflict));
    if (times < 1.1) return TEXTS.unrelated;
    return conflict < 0 ? TEXTS.support(timesText(times)) : TEXTS.contradict(timesText(times));
  }
  _impossible() {
    const { state } = this;
    const fixes = state.now.answer.facts.filter((fact) => fact.log > -Infinity).slice(-4);
    const choices = fixes.map(({ column }) => {
      const text = TEXTS.fact(
        state.model.variable(column).name,
        state.model.label(column, /** @type {number} */ (state.now.facts.get(column))),
      );
      return button(text, () => state.set([[column, null]]), { class: "fix", "aria-label": TEXTS.remove(text) });
    });
    return [
      el("strong", {}, TEXTS.impossible),
      " ",
      fixes.length ? TEXTS.impossibleFix : TEXTS.impossibleUndo,
      " ",
      ...choices,
    ];
  }
}
