// @ts-check
// What the page knows at a moment: the facts, what follows from them, and what to compare with. Views listen to it.
import { Engine } from "./engine.js";
import { Model } from "./model.js";

/** @typedef {import("./model.js").Facts} Facts */
/** @typedef {{log: number, p: Float64Array | null, curves: any[], reach: Float64Array | null, conflict: number | null,
 *             facts: {column: number, p: number | null, log: number}[]}} Answer */
/** @typedef {{facts: Facts, answer: Answer}} Scenario */

export class State {
  /** @param {Model} model @param {Engine} engine @param {any} opened what the engine said when it had read the model */
  constructor(model, engine, opened) {
    this.model = model;
    this.engine = engine;
    this.nodes = model.shownNodes();
    this.placeOf = new Map(this.nodes.map((node, place) => [node, place]));
    this.spans = new Map(opened.spans);
    /** @type {Float64Array | null} */
    this.scores = opened.scores;
    /** @type {Scenario} */
    this.prior = { facts: new Map(), answer: opened.prior };
    this.now = this.prior;
    this.before = this.prior;
    /** @type {Scenario | null} */
    this.pinned = null;
    this.baseline = "prior";
    /** @type {Facts} what was asked last; `now` follows */
    this.facts = new Map();
    /** @type {((state: State) => void)[]} */
    this.listeners = [];
    this.busy = false;
    this.wasSliding = false;
    /** @type {Promise<void>} */
    this.running = Promise.resolve();
    this.depth = 0;
    this.notice = "";
    addEventListener("popstate", () => this.followAddress());
  }

  /** What pale bars show. @returns {Scenario} */
  get reference() {
    if (this.baseline === "pin" && this.pinned) return this.pinned;
    return this.baseline === "step" ? this.before : this.prior;
  }

  get isPossible() {
    return this.now.answer.log > -Infinity;
  }

  /** Answers of the scenario shown: the last possible one if the facts are impossible. @returns {Answer} */
  get shown() {
    return this.isPossible ? this.now.answer : this.before.answer;
  }

  /** How likely a node is used, given the facts. @param {number} node @param {Scenario} scenario */
  reach(node, scenario) {
    return scenario.answer.reach?.[this.placeOf.get(node) ?? -1] ?? 0;
  }

  /** Set facts, or clear them where the value is null. @param {[number, number | null][]} changes @param {boolean} [sliding] whether more of the same follows at once */
  set(changes, sliding = false) {
    const facts = new Map(this.facts);
    for (const [column, value] of changes) {
      facts.delete(column);
      if (value !== null) facts.set(column, value);
    }
    return this.replace(facts, sliding);
  }

  /** @param {Facts} facts @param {boolean} [sliding] */
  replace(facts, sliding = false) {
    this.facts = facts;
    this.notice = "";
    this._writeAddress(sliding && this.wasSliding);
    this.wasSliding = sliding;
    return this.refresh();
  }

  undo() {
    if (this.depth > 0) history.back();
    else if (this.facts.size) this.replace(new Map());
  }

  pin() {
    if (!this.isPossible) return;
    this.pinned = this.now;
    this.baseline = "pin";
    this._writeAddress(true);
    this.tell();
  }

  unpin() {
    this.pinned = null;
    if (this.baseline === "pin") this.baseline = "prior";
    this._writeAddress(true);
    this.tell();
  }

  /** Go to the pinned scenario, and pin the present one. */
  swap() {
    const { pinned } = this;
    if (!pinned) return;
    this.pinned = this.now;
    this.replace(new Map(pinned.facts));
  }

  /** @param {boolean} sameStep */
  _writeAddress(sameStep) {
    /** @type {Record<string, string>} */
    const settings = this.pinned ? { pin: this.model.address(this.pinned.facts) || "-" } : {};
    const address = `#${this.model.address(this.facts, settings)}`;
    if (!sameStep) this.depth++;
    history[sameStep ? "replaceState" : "pushState"]({ depth: this.depth }, "", address);
  }

  /** Take the scenario from the address, as after Back or a bookmark. */
  async followAddress() {
    const { facts, settings, unknown } = this.model.read(location.hash);
    this.depth = history.state?.depth ?? 0;
    this.notice = unknown.join(", ");
    this.facts = facts;
    if (settings.pin && !this.pinned) {
      const pinned = this.model.read(settings.pin === "-" ? "" : settings.pin).facts;
      const answer = await this.engine.ask("infer", [...pinned], this.nodes);
      if (answer.log > -Infinity) {
        this.pinned = { facts: pinned, answer };
        this.baseline = "pin";
      }
    }
    return this.refresh();
  }

  /** Ask the engine about the latest facts; facts that change meanwhile are asked next, and none in between. */
  async refresh() {
    if (this.busy) return this.running;
    this.busy = true;
    this.running = this._ask();
    return this.running;
  }

  async _ask() {
    /** @type {Facts | null} */
    let asked = null;
    while (asked !== this.facts) {
      asked = this.facts;
      const answer = await this.engine.ask("infer", [...asked], this.nodes);
      if (this.isPossible) this.before = this.now;
      this.now = { facts: asked, answer };
    }
    this.busy = false;
    this.tell();
  }

  tell() {
    for (const listener of this.listeners) listener(this);
  }
}
