// @ts-check
// Real columns: one normal distribution, several jointly normal ones, and interchangeable ones.
import { choleskyFactor, logNormal, randomNormal } from "./numbers.js";
import { Beliefs } from "./beliefs.js";
import { LeafFamily } from "./leaf.js";
import { NormalLaw } from "./laws.js";

/** @typedef {import("./leaf.js").Alternatives} Alternatives */

/** One real column, normally distributed. */
export class NormalLeaf extends LeafFamily {
  /** @param {Uint32Array} columns @param {number} mean @param {number} std */
  constructor(columns, mean, std) {
    super(columns);
    this.mean = mean;
    this.std = std;
    this.law = new NormalLaw(mean, std, true);
    this.column = columns[0];
  }
  /** @param {Float64Array} x */
  logp(x) {
    const value = x[this.column];
    return Number.isNaN(value) ? 0 : logNormal(value, this.mean, this.std);
  }
  /** @param {Float64Array} x */
  best(x) {
    return logNormal(Number.isNaN(x[this.column]) ? this.mean : x[this.column], this.mean, this.std);
  }
  /** @param {Float64Array} x @param {number} weight @param {Pick<Beliefs, "addReal">} out */
  believe(x, weight, out) {
    if (Number.isNaN(x[this.column])) out.addReal(this.column, weight, this.law);
  }
  /** @param {Float64Array} x @param {number} outside @param {Alternatives} out */
  alternatives(x, outside, out) {
    if (!Number.isNaN(x[this.column])) out.addReal(this.column, outside, this.law);
  }
  /** @param {Float64Array} x @param {Float64Array} out @param {(() => number) | null} random */
  fill(x, out, random) {
    if (Number.isNaN(x[this.column])) out[this.column] = this.mean + (random ? this.std * randomNormal(random) : 0);
  }
  /** Mean and inverse of the covariance. */
  canonical() {
    return { mean: [this.mean], precision: [1 / this.std ** 2] };
  }
}

/** Real columns, jointly normal. */
export class NormalsLeaf extends LeafFamily {
  /** @param {Uint32Array} columns @param {Float64Array} mean @param {Float64Array} covariance row by row */
  constructor(columns, mean, covariance) {
    super(columns);
    this.mean = mean;
    this.covariance = covariance;
  }
  /** The Cholesky factor of the covariance of some positions, row by row. @param {number[]} order */
  factor(order) {
    const size = this.mean.length;
    const factor = choleskyFactor(order.length, (i, j) => this.covariance[order[i] * size + order[j]]);
    if (!factor) throw new Error("a covariance that is not positive definite");
    return factor;
  }
  /** The positions that a row knows, and the others. @param {Float64Array} x @returns {[number[], number[]]} */
  split(x) {
    /** @type {number[]} */
    const seen = [];
    /** @type {number[]} */
    const rest = [];
    this.columns.forEach((column, i) => (Number.isNaN(x[column]) ? rest : seen).push(i));
    return [seen, rest];
  }
  /** The factor of known and unknown positions, and how far the known ones are away in its terms. @param {Float64Array} x @param {number[]} seen @param {number[]} rest */
  given(x, seen, rest) {
    const order = [...seen, ...rest];
    const lower = this.factor(order);
    const n = order.length;
    const away = new Float64Array(seen.length);
    for (let i = 0; i < seen.length; i++) {
      let sum = x[this.columns[seen[i]]] - this.mean[seen[i]];
      for (let k = 0; k < i; k++) sum -= lower[i * n + k] * away[k];
      away[i] = sum / lower[i * n + i];
    }
    return { lower, away, n };
  }
  /** @param {Float64Array} x */
  logp(x) {
    const [seen] = this.split(x);
    const { lower, away, n } = this.given(x, seen, []);
    let sum = 0;
    away.forEach((z, i) => (sum += logNormal(z, 0, 1) - Math.log(lower[i * n + i])));
    return sum;
  }
  /** Mean and deviation of each unknown position. @param {Float64Array} x @param {number[]} seen @param {number[]} rest */
  conditional(x, seen, rest) {
    const { lower, away, n } = this.given(x, seen, rest);
    return rest.map((position, r) => {
      const i = seen.length + r;
      let mean = this.mean[position];
      let variance = 0;
      for (let k = 0; k < seen.length; k++) mean += lower[i * n + k] * away[k];
      for (let k = seen.length; k <= i; k++) variance += lower[i * n + k] ** 2;
      return { mean, std: Math.sqrt(variance) };
    });
  }
  /** @param {Float64Array} x @param {number} weight @param {Pick<Beliefs, "addReal">} out */
  believe(x, weight, out) {
    const [seen, rest] = this.split(x);
    this.conditional(x, seen, rest).forEach(({ mean, std }, r) =>
      out.addReal(this.columns[rest[r]], weight, new NormalLaw(mean, std)),
    );
  }
  /** @param {Float64Array} x @param {number} outside @param {Alternatives} out */
  alternatives(x, outside, out) {
    const own = x.slice();
    for (const position of this.split(x)[0]) {
      const column = this.columns[position];
      own[column] = NaN;
      const seen = this.split(own)[0];
      const [{ mean, std }] = this.conditional(own, seen, [position]);
      out.addReal(column, outside + this.logp(own), new NormalLaw(mean, std));
      own[column] = x[column];
    }
  }
  /** @param {Float64Array} x @param {Float64Array} out @param {(() => number) | null} random */
  fill(x, out, random) {
    const [seen, rest] = this.split(x);
    const { lower, away, n } = this.given(x, seen, rest);
    const noise = rest.map(() => (random ? randomNormal(random) : 0));
    rest.forEach((position, r) => {
      let value = this.mean[position];
      const i = seen.length + r;
      for (let k = 0; k < seen.length; k++) value += lower[i * n + k] * away[k];
      for (let k = 0; k <= r; k++) value += lower[i * n + seen.length + k] * noise[k];
      out[this.columns[position]] = value;
    });
  }
  /** Mean and inverse of the covariance, row by row. */
  canonical() {
    const n = this.mean.length;
    const lower = this.factor(Array.from(this.mean.keys()));
    const inverse = new Float64Array(n * n); // of the factor
    for (let j = 0; j < n; j++) {
      for (let i = j; i < n; i++) {
        let sum = i === j ? 1 : 0;
        for (let k = j; k < i; k++) sum -= lower[i * n + k] * inverse[k * n + j];
        inverse[i * n + j] = sum / lower[i * n + i];
      }
    }
    const precision = new Float64Array(n * n);
    for (let i = 0; i < n; i++)
      for (let j = 0; j < n; j++)
        for (let k = Math.max(i, j); k < n; k++) precision[i * n + j] += inverse[k * n + i] * inverse[k * n + j];
    return { mean: this.mean, precision };
  }
}

/** Real columns with one mean, one variance and one correlation: no matrix is ever factored. */
export class AlikeLeaf extends LeafFamily {
  /** @param {Uint32Array} columns @param {number} mean @param {number} std @param {number} correlation */
  constructor(columns, mean, std, correlation) {
    super(columns);
    this.mean = mean;
    this.apart = std * std * (1 - correlation);
    this.shared = std * std * correlation;
  }
  /** What is known, and what that makes of the others: mean, and covariance with each other. @param {Float64Array} x */
  given(x) {
    let known = 0;
    let total = 0;
    for (const column of this.columns) {
      if (!Number.isNaN(x[column])) {
        known++;
        total += x[column] - this.mean;
      }
    }
    const ofMean = this.apart + known * this.shared;
    return {
      known,
      total,
      ofMean,
      mean: this.mean + (this.shared * total) / ofMean,
      shared: (this.shared * this.apart) / ofMean,
    };
  }
  /** @param {Float64Array} x */
  logp(x) {
    const { known, total, ofMean } = this.given(x);
    if (!known) return 0;
    let apart = 0;
    for (const column of this.columns)
      if (!Number.isNaN(x[column])) apart += (x[column] - this.mean - total / known) ** 2;
    const quadratic = apart / this.apart + (total * total) / known / ofMean;
    return -0.5 * (known * Math.log(2 * Math.PI) + (known - 1) * Math.log(this.apart) + Math.log(ofMean) + quadratic);
  }
  /** @param {Float64Array} x @param {number} weight @param {Pick<Beliefs, "addReal">} out */
  believe(x, weight, out) {
    const { mean, shared } = this.given(x);
    const law = new NormalLaw(mean, Math.sqrt(this.apart + shared));
    for (const column of this.unknown(x)) out.addReal(column, weight, law);
  }
  /** @param {Float64Array} x @param {number} outside @param {Alternatives} out */
  alternatives(x, outside, out) {
    const own = x.slice();
    for (const column of this.columns) {
      if (Number.isNaN(x[column])) continue;
      own[column] = NaN;
      const { mean, shared } = this.given(own);
      out.addReal(column, outside + this.logp(own), new NormalLaw(mean, Math.sqrt(this.apart + shared)));
      own[column] = x[column];
    }
  }
  /** One after the other, each given those before. @param {Float64Array} x @param {Float64Array} out @param {(() => number) | null} random */
  fill(x, out, random) {
    const own = x.slice();
    const whole = this.given(x).mean;
    for (const column of this.unknown(x)) {
      const { mean, shared } = this.given(own);
      out[column] = random ? mean + Math.sqrt(this.apart + shared) * randomNormal(random) : whole;
      own[column] = out[column];
    }
  }
  /** Mean and inverse of the covariance, row by row. */
  canonical() {
    const n = this.columns.length;
    const common = this.shared / (this.apart * (this.apart + n * this.shared));
    const precision = new Float64Array(n * n).fill(-common);
    for (let i = 0; i < n; i++) precision[i * n + i] += 1 / this.apart;
    return { mean: new Float64Array(n).fill(this.mean), precision };
  }
}
