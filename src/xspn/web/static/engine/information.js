// @ts-check
// What one variable tells of another on average, in bits: I(target; X | evidence) = E[KL(X | target || X)].
//
// Exact for discrete variables. A number X is cut into cells whose probabilities are exact; what that loses falls with
// the square of their width, so that cells twice as wide say what to add, and how far it may be off. The expectation
// over the values of a number is an integral over its normal score, by Simpson's rule in parts that are halved where
// halving them changes the sum most.
import { normalCdf } from "./numbers.js";
import { Beliefs, mixtureCdf, mixturePoints, mixtureQuantile } from "./beliefs.js";

/** @typedef {import("./beliefs.js").Component} Component */
/** @typedef {import("./laws.js").Law} Law */

const CELL_WIDTH = 0.25; // in log-odds of what lies below
const FARTHEST_ODDS = 12;
const MOST_HALVINGS = 60;
const TOO_LIGHT = 1e-9;
const FARTHEST_SCORE = 5;
const FIRST_PARTS = 8;
const ENOUGH = 5e-4; // bits: an integral that is so accurate is done

/** A number cut into cells, finely where it is likely; values that have a probability are cells of their own. */
class Cells {
  /** @param {Component[]} parts what is believed of the number */
  constructor(parts) {
    /** @type {Map<number, boolean>} cuts, and whether wide cells have them too */
    const found = new Map();
    this._cut(
      parts.filter(({ law, weight }) => law.point === null && weight >= TOO_LIGHT),
      found,
    );
    for (const { law } of parts)
      if (law.point !== null) for (const side of [-0.5, 0.5]) found.set(law.point + side * law.size, true);
    this.cuts = Float64Array.from(found.keys()).sort();
    this.isWide = Array.from(this.cuts, (cut) => found.get(cut) === true);
    /** @type {Map<Law, Float64Array>} P(X ≤ cut) of laws that are asked for again and again */
    this.known = new Map();
    this.now = this.below(parts);
  }
  /** Halve the cells until what lies below their ends is nearly the same, and each of these once more. @param {Component[]} parts @param {Map<number, boolean>} found */
  _cut(parts, found) {
    if (!parts.length) return;
    const odds = (/** @type {number} */ x) => {
      const below = mixtureCdf(parts, x);
      return Math.max(-FARTHEST_ODDS, Math.min(FARTHEST_ODDS, Math.log(below / (1 - below))));
    };
    const halve = (/** @type {number} */ a, /** @type {number} */ of, /** @type {number} */ b, /** @type {number} */ to, /** @type {number} */ depth) => {
      const middle = 0.5 * (a + b);
      const isSmall = to - of <= CELL_WIDTH || depth === 0;
      found.set(middle, !isSmall);
      if (isSmall) return;
      const between = odds(middle);
      halve(a, of, middle, between, depth - 1);
      halve(middle, between, b, to, depth - 1);
    };
    const low = Math.min(...parts.map(({ law }) => law.reach[0]));
    const high = Math.max(...parts.map(({ law }) => law.reach[1]));
    halve(low, -FARTHEST_ODDS, high, FARTHEST_ODDS, MOST_HALVINGS);
  }
  /** P(X ≤ cut) at all cuts. @param {Component[]} parts */
  below(parts) {
    const found = new Float64Array(this.cuts.length);
    let total = 0;
    for (const { weight, law } of parts) {
      if (weight < TOO_LIGHT) continue;
      let own = this.known.get(law);
      if (!own) {
        own = this.cuts.map((cut) => law.below(cut));
        if (law.isShared) this.known.set(law, own);
      }
      for (let i = 0; i < found.length; i++) found[i] += weight * own[i];
      total += weight;
    }
    return found.map((p) => p / total);
  }
  /** The divergence from what was believed, and how far it may be off. @param {Component[]} parts @returns {[number, number]} */
  divergence(parts) {
    const then = this.below(parts);
    let [fine, wide] = [0, 0];
    let [p, q, wideP, wideQ] = [0, 0, 0, 0]; // where the present cell, and the present wide cell, begin
    for (let i = 0; i <= then.length; i++) {
      const [nextP, nextQ] = i < then.length ? [then[i], this.now[i]] : [1, 1];
      fine += divergenceTerm(nextP - p, nextQ - q);
      [p, q] = [nextP, nextQ];
      if (i < then.length && !this.isWide[i]) continue;
      wide += divergenceTerm(p - wideP, q - wideQ);
      [wideP, wideQ] = [p, q];
    }
    const lost = Math.max(0, fine - wide) / 3;
    return [Math.max(0, fine + lost), lost];
  }
}

/** @param {number} p @param {number} q */
function divergenceTerm(p, q) {
  return p > 0 && q > 0 ? p * Math.log2(p / q) : 0;
}

/** Σ p log2(p / q). @param {ArrayLike<number>} p @param {ArrayLike<number>} q */
function divergence(p, q) {
  let sum = 0;
  for (let i = 0; i < p.length; i++) sum += divergenceTerm(p[i], q[i]);
  return Math.max(0, sum);
}

/** What columns tell of a target. */
export class Gains {
  /** @param {Beliefs} now @param {number[]} columns @param {(value: number) => Promise<Beliefs | null>} ifTarget what is believed if the target has a value */
  constructor(now, columns, ifTarget) {
    this.now = now;
    this.columns = columns;
    this.ifTarget = ifTarget;
    this.cells = new Map(columns.filter((own) => !now.sizes[own]).map((own) => [own, new Cells(now.reals[own])]));
    /** @type {Float64Array} of each column, and then how far each may be off */
    this.sums = new Float64Array(2 * columns.length);
  }
  /** What the columns would tell, and how far that may be off, if the target had a value; times a weight. @param {number} value @param {number} weight */
  async _told(value, weight) {
    const found = new Float64Array(this.sums.length);
    const then = await this.ifTarget(value);
    if (then)
      this.columns.forEach((column, i) => {
        const cells = this.cells.get(column);
        const [told, lost] = cells
          ? cells.divergence(then.reals[column])
          : [divergence(then.of(column), this.now.of(column)), 0];
        found[i] = weight * told;
        found[this.columns.length + i] = weight * lost;
      });
    return found;
  }
  /** @param {Float64Array} told */
  _add(told) {
    told.forEach((own, i) => (this.sums[i] += own));
  }
  /** Add what is told of a discrete target. @param {ArrayLike<number>} chances */
  async ofValues(chances) {
    for (let value = 0; value < chances.length; value++)
      if (chances[value] > 0) this._add(await this._told(value, chances[value]));
  }
  /** Add what is told of a number. @param {Component[]} parts @param {number} most questions to the circuit */
  async ofNumber(parts, most) {
    let left = 1;
    for (const [value, p] of mixturePoints(parts)) {
      this._add(await this._told(value, p));
      left -= p;
    }
    const rest = parts.filter(({ law }) => law.point === null);
    if (!rest.length) return;
    const scale = left / Math.sqrt(2 * Math.PI);
    const { value, error } = await integral(
      (score) => this._told(mixtureQuantile(rest, normalCdf(score)), scale * Math.exp(-0.5 * score * score)),
      this.columns.length,
      most,
    );
    this._add(value);
    error.forEach((own, i) => (this.sums[this.columns.length + i] += own));
  }
  /** The answers in an array with a place for each column of the table. @param {number} first of the sums */
  _spread(first) {
    const found = new Float64Array(this.now.sizes.length);
    this.columns.forEach((column, i) => (found[column] = this.sums[first + i]));
    return found;
  }
  get gain() {
    return this._spread(0);
  }
  get error() {
    return this._spread(this.columns.length);
  }
}

/** Five values of a function, evenly spaced. @typedef {{from: number, to: number, at: Float64Array[]}} Part */

/** Simpson's rule over all, and over the halves. @param {Part} part @param {number} i */
function simpson({ from, to, at }, i) {
  const [a, b, c, d, e] = at.map((own) => own[i]);
  return [((to - from) / 6) * (a + 4 * c + e), ((to - from) / 12) * (a + 4 * b + 2 * c + 4 * d + e)];
}

/** The integral of a function of normal scores with several values, and how far the first of them may be off.
 * @param {(score: number) => Promise<Float64Array>} f @param {number} judged how many of the values have to be accurate @param {number} most evaluations */
async function integral(f, judged, most) {
  let count = 0;
  const evaluate = (/** @type {number} */ score) => {
    count++;
    return f(score);
  };
  const middle = (/** @type {number} */ a, /** @type {number} */ b) => evaluate(0.5 * (a + b));
  /** @param {number} from @param {number} to @param {Float64Array} a @param {Float64Array} c @param {Float64Array} e */
  const partOf = async (from, to, a, c, e) => {
    const half = 0.5 * (from + to);
    const part = { from, to, at: [a, await middle(from, half), c, await middle(half, to), e] };
    const errors = Array.from({ length: judged }, (_, i) => {
      const [whole, halves] = simpson(part, i);
      return Math.abs(halves - whole); // of smooth functions it is a fifteenth
    });
    return { part, errors, worst: Math.max(0, ...errors) };
  };
  const width = (2 * FARTHEST_SCORE) / FIRST_PARTS;
  const parts = [];
  let last = await evaluate(-FARTHEST_SCORE);
  for (let k = 0; k < FIRST_PARTS; k++) {
    const from = -FARTHEST_SCORE + k * width;
    const center = await middle(from, from + width);
    const end = await evaluate(from + width);
    parts.push(await partOf(from, from + width, last, center, end));
    last = end;
  }
  while (count < most) {
    const next = parts.reduce((best, own) => (own.worst > best.worst ? own : best));
    if (next.worst < ENOUGH / parts.length) break;
    const { from, to, at } = next.part;
    const half = 0.5 * (from + to);
    parts.splice(
      parts.indexOf(next),
      1,
      await partOf(from, half, at[0], at[1], at[2]),
      await partOf(half, to, at[2], at[3], at[4]),
    );
  }
  const value = last.map((_, i) =>
    parts.reduce((sum, { part }) => {
      const [whole, halves] = simpson(part, i);
      return sum + halves + (halves - whole) / 15;
    }, 0),
  );
  const error = Array.from({ length: judged }, (_, i) => parts.reduce((sum, own) => sum + own.errors[i], 0));
  return { value, error };
}
