// @ts-check
// The questions that the page asks, each answered from one row of evidence.
import { argMax, logSum, randomNumbers } from "./numbers.js";
import { Beliefs, mixtureDensity, mixtureMoments, mixturePoints, mixtureQuantile, mixtureSpan } from "./beliefs.js";
import { Circuit } from "./circuit.js";
import { Gains } from "./information.js";

const POINTS = 72; // of a curve
const TELLING = 0.02; // nats: what a variable must tell of a context to mark it
const MOST_MARKS = 8;
const MOST_PASSES = 200; // to say what is told of a number,
const MOST_WORK = 1e7; // and so many edges
const LONGEST_TURN = 40; // milliseconds, after which other questions are answered first

/** @typedef {[number, number][]} Evidence columns and their values */
/** @typedef {{column: number, mean: number, std: number, low: number, median: number, high: number, density: Float64Array, points: [number, number][], rest: [number, number, number] | null}} Curve
 * points are values that have a probability; the rest is all others: low, median and high */
/** @typedef {{column: number, p: number | null, log: number}} Surprise how likely a fact was, given the others */

/** The value that there is most more of; that of which there is less only if this is twice as much. @param {number[]} more */
function tellingValue(more) {
  const [high, low] = [argMax(more), argMax(more.map((own) => -own))];
  return 2 * more[high] >= -more[low] ? high : low;
}

export class Answers {
  /** @param {import("./circuit.js").Header} header @param {import("./circuit.js").TypedArrays} arrays */
  constructor(header, arrays) {
    this.circuit = new Circuit(header, arrays);
    this.rows = arrays.rows ?? null;
    this.scores = arrays.scores ?? null;
    this.turn = 0; // of questions about what tells most
    this.reals = header.variables.filter((variable) => variable.kind === "real").map((variable) => variable.column);
    /** @type {Map<number, [number, number]>} what each curve spans */
    this.spans = new Map();
    const prior = this._beliefs(this.row([]));
    this.prior = prior;
    for (const column of this.reals) {
      this.spans.set(column, mixtureSpan(prior.reals[column]));
    }
  }

  /** @param {Evidence} evidence */
  row(evidence) {
    const x = new Float64Array(this.circuit.width).fill(NaN);
    for (const [column, value] of evidence) x[column] = value;
    return x;
  }

  /** @param {Float64Array} x a possible row */
  _beliefs(x) {
    this.circuit.evaluate(x);
    this.circuit.passDown();
    return this.circuit.beliefs(x);
  }

  /** Probability of the evidence, what is believed of everything given it, and how surprising each fact is given the others.
   * @param {Evidence} evidence @param {number[]} nodes whose posterior probability is asked for */
  infer(evidence, nodes) {
    const x = this.row(evidence);
    const log = this.circuit.evaluate(x);
    const facts = this._surprises(x, evidence, log);
    const conflict = evidence.reduce((sum, [column, value]) => sum + this._priorLog(column, value), 0) - log;
    if (log === -Infinity) return { log, p: null, curves: [], reach: null, facts, conflict: null };
    this.circuit.passDown();
    const beliefs = this.circuit.beliefs(x);
    const reach = Float64Array.from(nodes, (node) => this.circuit.flow[node]);
    const curves = this.reals.filter((column) => Number.isNaN(x[column])).map((column) => this._curve(column, beliefs));
    return { log, p: beliefs.p, curves, reach, facts, conflict };
  }

  /** @param {number} column @param {Beliefs} beliefs @returns {Curve} */
  _curve(column, beliefs) {
    const parts = beliefs.reals[column];
    const [from, to] = this.span(column);
    const quantiles = (/** @type {typeof parts} */ own) => [0.05, 0.5, 0.95].map((p) => mixtureQuantile(own, p));
    const [low, median, high] = quantiles(parts);
    const density = mixtureDensity(parts, from, to, POINTS);
    const points = mixturePoints(parts);
    const others = points.length ? parts.filter(({ law }) => law.point === null) : [];
    const rest = others.length ? /** @type {[number, number, number]} */ (quantiles(others)) : null;
    return { column, ...mixtureMoments(parts), low, median, high, density, points, rest };
  }

  /** @param {number} column */
  span(column) {
    return /** @type {[number, number]} */ (this.spans.get(column));
  }

  /** The log-probability (density) of one fact alone. @param {number} column @param {number} value */
  _priorLog(column, value) {
    if (this.circuit.sizes[column]) return Math.log(this.prior.of(column)[value]);
    return logSum(this.prior.reals[column].map(({ weight, law }) => Math.log(weight) + law.logDensity(value)));
  }

  /** How likely each fact is given all others; for numbers how likely one is so far out. `log` is log P(the others). @param {Float64Array} x @param {Evidence} evidence @param {number} log @returns {Surprise[]} */
  _surprises(x, evidence, log) {
    const changed = this.circuit.changedCells(x);
    return evidence.map(([column, value]) => {
      const size = this.circuit.sizes[column];
      if (size) {
        const start = this.circuit.start[column];
        const others = logSum(changed.logs.subarray(start, start + size));
        return { column, p: others === -Infinity ? null : Math.exp(changed.logs[start + value] - others), log: others };
      }
      const parts = changed.reals[column];
      const others = logSum(parts.map((part) => part.log));
      if (others === -Infinity) return { column, p: null, log: others };
      let [below, above] = [0, 0];
      for (const part of parts) {
        const [atMost, atLeast] = part.law.tails(value);
        below += Math.exp(part.log - others) * atMost;
        above += Math.exp(part.log - others) * atLeast;
      }
      return { column, p: log === -Infinity ? 0 : Math.min(1, 2 * Math.min(below, above)), log: others };
    });
  }

  /** Distributions of the number of ones among sets of columns. @param {Evidence} evidence @param {number[][]} sets */
  counts(evidence, sets) {
    const x = this.row(evidence);
    if (this.circuit.evaluate(x) === -Infinity) return null;
    this.circuit.passDown();
    return sets.map((columns) => this.circuit.countDistribution(x, columns));
  }

  /** The most probable completion by max-product, and its log-probability. @param {Evidence} evidence */
  complete(evidence) {
    const x = this.row(evidence);
    if (this.circuit.evaluate(x) === -Infinity) return null;
    const row = this.circuit.bestCompletion(x);
    return { row, log: this.circuit.evaluate(row) };
  }

  /** Random completions. @param {Evidence} evidence @param {number} count @param {number} seed */
  sample(evidence, count, seed) {
    const x = this.row(evidence);
    if (this.circuit.evaluate(x) === -Infinity) return null;
    const random = randomNumbers(seed);
    return Array.from({ length: count }, () => this.circuit.randomCompletion(x, random));
  }

  /** What each unknown variable would tell of a target on average, in bits, and how far that may be off; null if it is
   * impossible, or another such question came. Other questions are answered meanwhile. @param {Evidence} evidence @param {number} target */
  async tell(evidence, target) {
    const turn = ++this.turn;
    const x = this.row(evidence);
    if (this.circuit.evaluate(x) === -Infinity) return null;
    const now = this._beliefs(x);
    const open = [...this.circuit.sizes.keys()].filter(
      (own) => own !== target && Number.isNaN(x[own]) && (this.circuit.sizes[own] || this.reals.includes(own)),
    );
    let since = performance.now();
    const ifTarget = async (/** @type {number} */ value) => {
      if (performance.now() - since > LONGEST_TURN) {
        await new Promise((resolve) => setTimeout(resolve));
        since = performance.now();
      }
      x[target] = value;
      return turn === this.turn && this.circuit.evaluate(x) > -Infinity ? this._beliefs(x) : null;
    };
    const gains = new Gains(now, open, ifTarget);
    const chances = now.of(target);
    if (chances.length) await gains.ofValues(chances);
    else await gains.ofNumber(now.reals[target], Math.min(MOST_PASSES, MOST_WORK / this.circuit.child.length));
    if (turn !== this.turn) return null;
    const entropy = -chances.reduce((sum, p) => sum + (p > 0 ? p * Math.log2(p) : 0), 0);
    return { entropy: chances.length ? entropy : null, gain: gains.gain, error: gains.error };
  }

  /** The variables that tell a context from the mixture that it belongs to, with the value that is more or less frequent
   * (null for numbers), its probability (mean) in the context and in all, and how much it tells in nats; the most telling
   * first, as `Composition.marks` in Python. @param {number} context @param {number} mixture both nodes */
  marks(context, mixture) {
    const x = this.row([]);
    this.circuit.evaluate(x);
    const [here, overall] = [context, mixture].map((node) => {
      this.circuit.passDown(node);
      return this.circuit.beliefs(x);
    });
    /** @type {[number, number | null, number, number, number][]} */
    const found = [];
    for (let column = 0; column < this.circuit.width; column++) {
      const [own, all] = [here.of(column), overall.of(column)];
      if (here.reals[column].length) {
        const [{ mean }, usual] = [here, overall].map((beliefs) => mixtureMoments(beliefs.reals[column]));
        const away = (mean - usual.mean) ** 2 / Math.max(usual.std ** 2, 1e-300);
        found.push([column, null, mean, usual.mean, 0.5 * away]);
      } else if (own.length && own.some((p) => p > 0)) {
        const value = own.length === 2 ? 1 : tellingValue(own.map((p, v) => p - all[v]));
        const nats = own.reduce((sum, p, v) => sum + (p > 0 && all[v] > 0 ? p * Math.log(p / all[v]) : 0), 0);
        found.push([column, value, own[value], all[value], nats]);
      }
    }
    const told = found.filter(([, , , , nats]) => nats >= TELLING);
    return told.sort((a, b) => b[4] - a[4] || a[0] - b[0]).slice(0, MOST_MARKS);
  }

  /** What is believed of a target now, and what it would be without each of the facts. @param {Evidence} evidence @param {number} target */
  why(evidence, target) {
    const about = (/** @type {Evidence} */ facts) => {
      const x = this.row(facts);
      if (this.circuit.evaluate(x) === -Infinity) return null;
      const beliefs = this._beliefs(x);
      if (this.circuit.sizes[target]) return Array.from(beliefs.of(target));
      const { mean, std } = mixtureMoments(beliefs.reals[target]);
      return [mean, std];
    };
    const facts = evidence.filter(([column]) => column !== target);
    return {
      before: about([]),
      now: about(facts),
      without: facts.map(([column]) => ({ column, then: about(facts.filter(([other]) => other !== column)) })),
    };
  }

  /** The cells of a row of the table, and how likely each is given the others. @param {number} place */
  tableRow(place) {
    const { width } = this.circuit;
    /** @type {Evidence} */
    const evidence = [];
    for (let column = 0; column < width; column++) {
      const value = this.rows[place * width + column];
      if (Number.isNaN(value) || (value === -1 && !(this.rows instanceof Float64Array))) continue;
      if (this.circuit.sizes[column] || this.reals.includes(column)) evidence.push([column, value]);
    }
    const x = this.row(evidence);
    const log = this.circuit.evaluate(x);
    return { evidence, log, facts: this._surprises(x, evidence, log) };
  }
}
