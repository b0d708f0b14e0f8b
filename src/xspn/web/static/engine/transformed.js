// @ts-check
// Real columns that have a single value, or are normal on scales of their own.
import { LeafFamily } from "./leaf.js";
import { AlikeLeaf, NormalLeaf, NormalsLeaf } from "./normals.js";
import { NormalLaw, PointLaw, ScaledLaw } from "./laws.js";
import { Scale } from "./scales.js";
import { Beliefs } from "./beliefs.js";
import { choleskyFactor, choleskySolved } from "./numbers.js";

/** @typedef {import("./leaf.js").Alternatives} Alternatives */

// As in xspn/leaves/transformed.py, so that both find the same peak.
const MOST_ENDS = 4;
const STEPS = 100;
const HALVINGS = 40;
const SMALLEST = 1e-15;

/** One real column with a single value. */
export class AtomLeaf extends LeafFamily {
  /** @param {Uint32Array} columns @param {number} value @param {number} width */
  constructor(columns, value, width) {
    super(columns);
    this.law = new PointLaw(value, width);
    this.column = columns[0];
  }
  /** @param {Float64Array} x */
  logp(x) {
    return Number.isNaN(x[this.column]) ? 0 : this.law.logDensity(x[this.column]);
  }
  /** @param {Float64Array} x @param {number} weight @param {Beliefs} out */
  believe(x, weight, out) {
    if (Number.isNaN(x[this.column])) out.addReal(this.column, weight, this.law);
  }
  /** @param {Float64Array} x @param {number} outside @param {Alternatives} out */
  alternatives(x, outside, out) {
    if (!Number.isNaN(x[this.column])) out.addReal(this.column, outside, this.law);
  }
  /** @param {Float64Array} x @param {Float64Array} out */
  fill(x, out) {
    if (Number.isNaN(x[this.column])) out[this.column] = this.law.mean;
  }
}

/** The density on the line of some columns given the others: its normal part, and what the scales make of it. */
class Hill {
  /** @param {Float64Array} mean @param {Float64Array} precision row by row @param {Scale[]} scales */
  constructor(mean, precision, scales) {
    this.n = mean.length;
    this.mean = mean;
    this.precision = precision;
    this.scales = scales;
  }
  /** Its logarithm up to a constant, the gradient, and what scales add to the diagonal of the Hessian. @param {Float64Array} y */
  at(y) {
    const gradient = new Float64Array(this.n);
    const bend = new Float64Array(this.n);
    let height = 0;
    for (let i = 0; i < this.n; i++) {
      let pull = 0;
      for (let j = 0; j < this.n; j++) pull += this.precision[i * this.n + j] * (y[j] - this.mean[j]);
      const [value, first, second] = this.scales[i].logDerivativeOnLine(y[i]);
      height += value - 0.5 * (y[i] - this.mean[i]) * pull;
      gradient[i] = first - pull;
      bend[i] = second;
    }
    return { height, gradient, bend };
  }
  /** The Cholesky factor of the precision less a diagonal; null if there is none. @param {ArrayLike<number>} bend */
  factor(bend) {
    return choleskyFactor(this.n, (i, j) => this.precision[i * this.n + j] - (i === j ? bend[i] : 0));
  }
  /** The highest peak that is found. */
  peak() {
    if (this.factor(this.scales.map((scale) => scale.mostBent))) return this.climb(this.mean);
    let best = this.mean;
    let top = -Infinity;
    for (const start of this.starts()) {
      const y = this.climb(start);
      const { height } = this.at(y);
      if (height > top) [best, top] = [y, height];
    }
    return best;
  }
  /** The mean, and where peaks are if each log-derivative is one of its asymptotes. */
  starts() {
    const bent = Array.from(this.scales.keys()).filter((i) => this.scales[i].mostBent > 0);
    const all = Array.from({ length: 2 ** Math.min(bent.length, MOST_ENDS) }, (_, k) =>
      bent.map((_, place) => (k >> (bent.length - 1 - place)) & 1),
    );
    const choices = bent.length <= MOST_ENDS ? all : [bent.map(() => 0), bent.map(() => 1)];
    const derivatives = Float64Array.from(this.scales, (scale) => scale.logDerivativeOnLine(0)[1]);
    const normal = /** @type {Float64Array} */ (this.factor(new Float64Array(this.n)));
    const found = choices.map((choice) => {
      bent.forEach((i, place) => (derivatives[i] = this.scales[i].logDerivativeOnLine(choice[place] ? Infinity : -Infinity)[1]));
      return choleskySolved(normal, derivatives).map((step, i) => this.mean[i] + step);
    });
    return [this.mean, ...found];
  }
  /** The top that is reached from a place, by Newton's method with steps that never go down. @param {Float64Array} start */
  climb(start) {
    let y = start;
    let here = this.at(y);
    for (let step = 0; step < STEPS; step++) {
      // in a valley the normal part alone is curved downwards
      const factor = this.factor(here.bend) ?? this.factor(new Float64Array(this.n));
      const move = choleskySolved(/** @type {Float64Array} */ (factor), here.gradient);
      const gain = move.reduce((sum, own, i) => sum + own * here.gradient[i], 0);
      let size = 1;
      let tried = y.map((own, i) => own + move[i]);
      let there = this.at(tried);
      for (let k = 1; k < HALVINGS && !(there.height >= here.height); k++) {
        size /= 2;
        tried = y.map((own, i) => own + size * move[i]);
        there = this.at(tried);
      }
      if (!(there.height >= here.height)) return y;
      y = tried;
      here = there;
      if (!(gain > SMALLEST * (1 + Math.abs(here.height)))) return y;
    }
    return y;
  }
}

/** Real columns that are jointly normal on scales. */
export class TransformedLeaf extends LeafFamily {
  /** @param {NormalLeaf | NormalsLeaf | AlikeLeaf} base @param {Scale[]} scales */
  constructor(base, scales) {
    super(base.columns);
    this.base = base;
    this.scales = scales;
    this.scaleOf = new Map(scales.map((scale, i) => [base.columns[i], scale]));
    this.law = base instanceof NormalLeaf ? new ScaledLaw(scales[0], base.law) : null;
  }
  /** The row on the line. @param {Float64Array} x */
  forward(x) {
    const y = x.slice();
    for (const [column, scale] of this.scaleOf) y[column] = scale.forward(x[column]);
    return y;
  }
  /** @param {Float64Array} x */
  logp(x) {
    let derivatives = 0;
    for (const [column, scale] of this.scaleOf) if (!Number.isNaN(x[column])) derivatives += scale.logDerivative(x[column]);
    return derivatives === -Infinity ? derivatives : this.base.logp(this.forward(x)) + derivatives;
  }
  /** @param {Float64Array} x */
  best(x) {
    return this.logp(x) === -Infinity ? -Infinity : super.best(x);
  }
  /** @param {Float64Array} x @param {number} weight @param {Pick<Beliefs, "addReal">} out */
  believe(x, weight, out) {
    this.base.believe(this.forward(x), weight, {
      addReal: (/** @type {number} */ column, /** @type {number} */ own, /** @type {NormalLaw} */ law) =>
        out.addReal(column, own, this.law ?? new ScaledLaw(/** @type {Scale} */ (this.scaleOf.get(column)), law)),
    });
  }
  /** @param {Float64Array} x @param {number} outside @param {Alternatives} out */
  alternatives(x, outside, out) {
    const own = x.slice();
    for (const changed of this.columns) {
      if (Number.isNaN(x[changed])) continue;
      own[changed] = NaN;
      const log = outside + this.logp(own);
      if (log > -Infinity)
        this.believe(own, 1, { addReal: (column, _, law) => column === changed && out.addReal(column, log, law) });
      own[changed] = x[changed];
    }
  }
  /** @param {Float64Array} x @param {Float64Array} out @param {(() => number) | null} random */
  fill(x, out, random) {
    const y = this.forward(x);
    const filled = y.slice();
    this.base.fill(y, filled, random);
    if (!random) this._climb(x, filled);
    for (const [column, scale] of this.scaleOf)
      if (Number.isNaN(x[column])) out[column] = scale.presented(scale.inverse(filled[column]));
  }
  /** Move what is unknown from its mean to where the density of the row is highest. @param {Float64Array} x @param {Float64Array} y whose unknown cells are the means given the others */
  _climb(x, y) {
    const size = this.columns.length;
    const { precision } = this.base.canonical();
    const unknown = Array.from(this.columns.keys()).filter((i) => Number.isNaN(x[this.columns[i]]));
    const own = Float64Array.from(unknown.flatMap((i) => unknown.map((j) => precision[i * size + j])));
    const mean = Float64Array.from(unknown, (i) => y[this.columns[i]]);
    const found = new Hill(mean, own, unknown.map((i) => this.scales[i])).peak();
    unknown.forEach((i, place) => (y[this.columns[i]] = found[place]));
  }
}
