// @ts-check
// Real columns that have a single value, or are normal on scales of their own.
import { LeafFamily } from "./leaf.js";
import { AlikeLeaf, NormalLeaf, NormalsLeaf } from "./normals.js";
import { NormalLaw, PointLaw, ScaledLaw } from "./laws.js";
import { Scale } from "./scales.js";
import { Beliefs } from "./beliefs.js";

/** @typedef {import("./leaf.js").Alternatives} Alternatives */

const SWEEPS = 30; // of coordinate ascent to the mode of several columns
const GRID = 65; // a peak is looked for among so many numbers,
const ROUNDS = 12; // so many times, each time in a smaller interval

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

/** Where on the line the density of x is highest, if the line's is normal. @param {number} mean @param {number} variance @param {Scale} scale */
function peak(mean, variance, scale) {
  if (scale.kind === "plain") return mean;
  if (scale.kind === "log") return mean - Math.sign(scale.unit) * variance;
  let middle = mean;
  let width = 8 * Math.sqrt(variance);
  for (let round = 0; round < ROUNDS; round++) {
    let [best, top] = [middle, -Infinity];
    for (let i = 0; i < GRID; i++) {
      const y = middle + width * ((2 * i) / (GRID - 1) - 1);
      const height = scale.logSlope(scale.inverse(y)) - (0.5 * (y - mean) ** 2) / variance;
      if (height > top) [best, top] = [y, height];
    }
    middle = best;
    width *= 4 / GRID;
  }
  return middle;
}

/** Real columns that are jointly normal on scales. */
export class TransformedLeaf extends LeafFamily {
  /** @param {NormalLeaf | NormalsLeaf | AlikeLeaf} base @param {Scale[]} scales */
  constructor(base, scales) {
    super(base.columns);
    this.base = base;
    this.scales = scales;
    this.scaleOf = new Map(scales.map((scale, i) => [base.columns[i], scale]));
  }
  /** The row on the line. @param {Float64Array} x */
  forward(x) {
    const y = x.slice();
    for (const [column, scale] of this.scaleOf) y[column] = scale.forward(x[column]);
    return y;
  }
  /** @param {Float64Array} x */
  logp(x) {
    let slopes = 0;
    for (const [column, scale] of this.scaleOf) if (!Number.isNaN(x[column])) slopes += scale.logSlope(x[column]);
    return slopes === -Infinity ? slopes : this.base.logp(this.forward(x)) + slopes;
  }
  /** @param {Float64Array} x */
  best(x) {
    return this.logp(x) === -Infinity ? -Infinity : super.best(x);
  }
  /** @param {Float64Array} x @param {number} weight @param {Pick<Beliefs, "addReal">} out */
  believe(x, weight, out) {
    this.base.believe(this.forward(x), weight, {
      addReal: (/** @type {number} */ column, /** @type {number} */ own, /** @type {NormalLaw} */ law) =>
        out.addReal(column, own, new ScaledLaw(/** @type {Scale} */ (this.scaleOf.get(column)), law)),
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
  /** Move what is unknown from its mean to where the density of the row is highest, one column at a time. @param {Float64Array} x @param {Float64Array} y */
  _climb(x, y) {
    const n = this.columns.length;
    const { mean, precision } = this.base.canonical();
    const unknown = Array.from(this.columns.keys()).filter((i) => Number.isNaN(x[this.columns[i]]));
    for (let sweep = 0; sweep < SWEEPS; sweep++) {
      let moved = 0;
      for (const i of unknown) {
        let others = 0;
        for (let j = 0; j < n; j++) if (j !== i) others += precision[i * n + j] * (y[this.columns[j]] - mean[j]);
        const variance = 1 / precision[i * n + i];
        const found = peak(mean[i] - others * variance, variance, this.scales[i]);
        moved = Math.max(moved, Math.abs(found - y[this.columns[i]]));
        y[this.columns[i]] = found;
      }
      if (unknown.length < 2 || moved < 1e-10) return;
    }
  }
}
