// @ts-check
// The panel of contexts and blocks, as the learner found them: how likely they are now, and how many of a block.
import { button, el, fill, setShare } from "./dom.js";
import { number, percent } from "./format.js";
import { histogram } from "./charts.js";
import { State } from "./state.js";
import { TEXTS } from "./texts.js";

/** @typedef {import("./model.js").Context} Context */
/** @typedef {import("./model.js").Mixture} Mixture */
/** @typedef {import("./model.js").Block} Block */

const MOST_NAMES = 24;
const SLOW = 10; // milliseconds that counts take,
const PAUSE = 250; // after which they wait for further clicks

/** A block of variables: its law in words, how many of them, and a way to set all. */
class BlockCard {
  /** @param {Block} block @param {State} state @param {(column: number) => void} goTo */
  constructor(block, state, goTo) {
    this.block = block;
    this.state = state;
    const { model } = state;
    const own = block.variables.map((column) => model.variable(column));
    this.labels =
      own[0].labels && own.every((variable) => String(variable.labels) === String(own[0].labels))
        ? own[0].labels
        : null;
    this.isBits = own.every((variable) => variable.labels?.length === 2);
    this.picture = el("div", { class: "picture" });
    this.text = el("p", { class: "expected" });
    /** @type {import("./state.js").Scenario | null} the scenario that `was` is about */
    this.reference = null;
    /** @type {Float64Array | null} */
    this.was = null;
    const names = own
      .slice(0, MOST_NAMES)
      .map((variable) => button(variable.name, () => goTo(variable.column), { class: "name-chip" }));
    const left = own.length - names.length;
    this.node = el(
      "article",
      { class: "block" },
      el("p", { class: "law" }, TEXTS.law(own.length, block.law)),
      this.isBits ? this.picture : null,
      this.isBits ? this.text : null,
      el("p", { class: "names" }, ...names, left > 0 ? el("span", { class: "quiet" }, ` +${left}`) : null),
      this.labels ? this._setAll(this.labels) : null,
    );
  }
  /** @param {string[]} labels */
  _setAll(labels) {
    const { variables } = this.block;
    return el(
      "p",
      { class: "set-all" },
      el("span", { class: "quiet" }, TEXTS.setAll),
      ...(labels.length <= 6 ? labels : []).map((label, value) =>
        button(label, () => this.state.set(variables.map((column) => [column, value])), {
          class: "value",
          "aria-label": TEXTS.setAllTo(label),
        }),
      ),
      button(TEXTS.clear, () => this.state.set(variables.map((column) => [column, null])), { class: "value" }),
    );
  }
  /** @param {Float64Array} now @param {Float64Array | null} was */
  draw(now, was) {
    const mean = now.reduce((sum, p, k) => sum + k * p, 0);
    const mode = now.indexOf(Math.max(...now));
    fill(
      this.picture,
      histogram(now, was, TEXTS.histogram(now.length - 1, String(mode))),
      el("div", { class: "ends" }, el("span", {}, "0"), el("span", {}, String(now.length - 1))),
    );
    this.text.textContent = TEXTS.expected(
      number(Number(mean.toFixed(1))),
      now.length - 1,
      this.labels ? this.labels[1] : "1",
    );
  }
}

export class ContextsPanel {
  /** @param {State} state @param {(column: number) => void} goTo */
  constructor(state, goTo) {
    this.state = state;
    this.goTo = goTo;
    /** @type {{node: number, above: number, bar: any, fraction: any}[]} */
    this.bars = [];
    /** @type {{details: any, cards: BlockCard[]}[]} */
    this.open = [];
    this.node = el("div", { class: "contexts" });
    this.asked = 0;
    this.isSlow = state.model.header.size.edges > 50000; // until it is known
    this._build();
  }
  _build() {
    const { structure } = this.state.model;
    if (!structure.contexts) {
      this.node.append(
        el("p", { class: "intro" }, structure.mixtures.length ? TEXTS.independentParts : TEXTS.oneContext),
      );
      this._parts(this.node, structure, true);
      return;
    }
    const shown = structure.contexts;
    this.node.append(el("p", { class: "intro" }, TEXTS.contextsIntro(structure.total ?? shown.length)));
    this.node.append(
      ...shown.map((/** @type {Context} */ context, /** @type {number} */ place) =>
        this._context(context, place, structure.node, place < 1),
      ),
    );
    this.rest = structure.total > shown.length ? el("p", { class: "quiet" }) : null;
    if (this.rest) this.node.append(this.rest);
  }
  /** @param {Context} context @param {number} place @param {number} above @param {boolean} isOpen */
  _context(context, place, above, isOpen) {
    const bar = el(
      "span",
      { class: "bar", "aria-hidden": "true" },
      el("i", { class: "now" }),
      el("i", { class: "was" }),
    );
    const fraction = el("span", { class: "fraction" });
    this.bars.push({ node: context.node, above, bar, fraction });
    const details = el(
      "details",
      { class: "context" },
      el("summary", {}, el("span", { class: "title" }, TEXTS.context(place + 1)), bar, fraction),
    );
    this._whenOpened(details, isOpen, () => {
      details.append(this._marks(context, above));
      this._parts(details, context, isOpen);
    });
    return details;
  }
  /** Fill a part when it is opened for the first time. @param {any} details @param {boolean} isOpen @param {() => void} build */
  _whenOpened(details, isOpen, build) {
    details.open = isOpen;
    if (isOpen) build();
    else details.addEventListener("toggle", build, { once: true });
    details.addEventListener("toggle", () => this.update());
  }
  /** What tells a context from the others, as soon as the engine has said it. @param {Context} context @param {number} above */
  _marks(context, above) {
    const holder = el("div", {});
    this.state.engine.ask("marks", context.node, above).then((marks) => fill(holder, ...this._marksSaid(marks)));
    return holder;
  }
  /** @param {[number, number | null, number, number][]} marks */
  _marksSaid(marks) {
    const { model } = this.state;
    const described = (/** @type {[number, number | null, number, number]} */ [column, value, here, overall]) => {
      const variable = model.variable(column);
      const what = value === null ? number(here, variable.whole) : percent(here);
      const usual = value === null ? number(overall, variable.whole) : percent(overall);
      const name =
        value === null || (variable.plain && value === 1)
          ? variable.name
          : TEXTS.fact(variable.name, model.label(column, value));
      return el("span", { class: "mark" }, name, " ", el("b", {}, what), el("span", { class: "quiet" }, ` (${usual})`));
    };
    if (!marks.length) return [el("p", { class: "marks quiet" }, TEXTS.marksNone)];
    return [
      { word: TEXTS.more, own: marks.filter(([, , here, overall]) => here > overall) },
      { word: TEXTS.less, own: marks.filter(([, , here, overall]) => here <= overall) },
    ]
      .filter(({ own }) => own.length)
      .map(({ word, own }) =>
        el("p", { class: "marks" }, el("span", { class: "quiet" }, word), " ", ...own.map(described)),
      );
  }
  /** @param {any} into @param {{blocks: Block[], mixtures: Mixture[], alone: number[]}} parts @param {boolean} isOpen */
  _parts(into, parts, isOpen) {
    const cards = parts.blocks.map((block) => new BlockCard(block, this.state, this.goTo));
    if (cards.length) {
      const details = el(
        "details",
        { class: "blocks" },
        el("summary", {}, TEXTS.blocks(cards.length)),
        ...cards.map((card) => card.node),
      );
      details.open = isOpen;
      details.addEventListener("toggle", () => this._draw());
      this.open.push({ details, cards });
      into.append(details);
    }
    for (const mixture of parts.mixtures) {
      const title = TEXTS.nested(mixture.variables.length, mixture.total);
      const inside = mixture.contexts;
      if (!inside.length) into.append(el("p", { class: "nested quiet" }, title));
      else {
        const details = el("details", { class: "nested" }, el("summary", {}, title));
        this._whenOpened(details, false, () =>
          details.append(...inside.map((context, place) => this._context(context, place, mixture.node, false))),
        );
        into.append(details);
      }
    }
    if (parts.alone.length) {
      const names = parts.alone.map((column) =>
        button(this.state.model.variable(column).name, () => this.goTo(column), { class: "name-chip" }),
      );
      into.append(
        el(
          "details",
          { class: "alone" },
          el("summary", {}, TEXTS.standAlone(names.length)),
          el("p", { class: "names" }, ...names),
        ),
      );
    }
  }
  update() {
    const { state } = this;
    const scenario = state.isPossible ? state.now : state.before;
    for (const { node, above, bar, fraction } of this.bars) {
      const part = (/** @type {any} */ own) => {
        const whole = state.reach(above, own);
        return whole > 0 ? state.reach(node, own) / whole : 0;
      };
      setShare(bar, "--now", part(scenario));
      setShare(bar, "--was", part(state.reference));
      fraction.textContent = percent(part(scenario));
    }
    if (this.rest) {
      const { structure } = state.model;
      const told = structure.contexts.reduce(
        (/** @type {number} */ sum, /** @type {Context} */ context) => sum + state.reach(context.node, scenario),
        0,
      );
      this.rest.textContent = TEXTS.contextsMore(
        structure.total - structure.contexts.length,
        percent(Math.max(0, 1 - told)),
      );
    }
    this._draw();
  }
  /** Ask for the counts of the blocks that can be seen. */
  async _draw() {
    const { state } = this;
    const cards = this.open
      .filter(({ details }) => details.open && details.offsetParent)
      .flatMap((own) => own.cards)
      .filter((card) => card.isBits);
    if (!cards.length || !state.isPossible) return;
    const turn = ++this.asked;
    const { now, reference } = state;
    if (this.isSlow) {
      // a click that follows at once comes first
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
      if (turn !== this.asked) return;
    }
    for (const card of cards) {
      // one at a time, so that the next click never waits for all of them
      if (card.reference !== reference) card.was = await this._counts(card, reference);
      card.reference = reference;
      const counts = turn === this.asked ? await this._counts(card, now) : null;
      if (turn !== this.asked) return;
      if (counts) card.draw(counts, card.was);
    }
  }
  /** @param {BlockCard} card @param {import("./state.js").Scenario} scenario @returns {Promise<Float64Array | null>} */
  async _counts(card, scenario) {
    const start = performance.now();
    const found = await this.state.engine.ask("counts", [...scenario.facts], [card.block.variables]);
    this.isSlow = performance.now() - start > SLOW;
    return found ? found[0] : null;
  }
}
