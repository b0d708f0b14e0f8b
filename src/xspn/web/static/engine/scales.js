// @ts-check
// Scales of real columns: increasing maps of what a column can be onto the real line, as in `xspn/leaves/scales.py`.
import { logAdd } from "./numbers.js";

const SCALE_KINDS = ["plain", "log", "soft", "logit", "asinh"]; // in the order of Scale.KINDS
const LARGE_U = 30; // beyond it log(eᵘ − 1) is u to the last digit
const FAR_OUT = 12; // of the quadrature, in deviations
const NODES_OF_SCALE = 1201;
const nodes = Float64Array.from({ length: NODES_OF_SCALE }, (_, i) => FAR_OUT * ((2 * i) / (NODES_OF_SCALE - 1) - 1));
const densities = nodes.map((z) => Math.exp(-0.5 * z * z));
const sumOfDensities = densities.reduce((a, b) => a + b, 0);
const nodeWeights = densities.map((w) => w / sumOfDensities);

/** The nearest whole number, the even one of two. @param {number} x */
function rounded(x) {
  const near = Math.round(x);
  return near - x === 0.5 && near % 2 !== 0 ? near - 1 : near;
}

/** Without the digits that rounding errors add. @param {number} x @param {number} step */
function fewDigits(x, step) {
  const digits = Math.ceil(-Math.log10(step)) + 6;
  const power = 10 ** Math.abs(digits);
  const found = digits >= 0 ? rounded(x * power) / power : rounded(x / power) * power;
  return Number.isFinite(found) ? found + 0 : x;
}

/** A number inside of a range that does not belong to it. @param {number} x @param {number} low @param {number} high */
function inside(x, low, high) {
  const gap = (/** @type {number} */ end) => Math.max(Math.abs(end) * Number.EPSILON, Number.MIN_VALUE);
  const least = low === -Infinity ? low : low + gap(low);
  const most = high === Infinity ? high : high - gap(high);
  return Math.min(most, Math.max(least, x));
}

export class Scale {
  /** @param {number} kind @param {ArrayLike<number>} numbers low, unit, step, least and most; NaN for no such end */
  constructor(kind, numbers) {
    this.kind = SCALE_KINDS[kind];
    this.low = numbers[0];
    this.unit = numbers[1];
    this.step = numbers[2];
    this.least = numbers[3];
    this.most = numbers[4];
    const [above, below] = [this.low + (this.kind === "logit" ? this.unit : Infinity), -Infinity];
    const isFree = this.kind === "plain" || this.kind === "asinh";
    /** @type {[number, number]} the ends of what is possible */
    this.range = isFree ? [below, Infinity] : this.unit > 0 ? [this.low, above] : [below, this.low];
  }
  /** @param {number} x */
  possible(x) {
    return x > this.range[0] && x < this.range[1];
  }
  /** Where a possible number is on the line. @param {number} x */
  forward(x) {
    if (this.kind === "plain") return x;
    const u = (x - this.low) / this.unit;
    if (this.kind === "asinh") return Math.asinh(u);
    if (this.kind === "logit") return Math.log(u) - Math.log1p(-u);
    if (this.kind === "log") return Math.sign(this.unit) * Math.log(u);
    return this.unit * (u > LARGE_U ? u : u + Math.log(-Math.expm1(-u)));
  }
  /** log dy/dx; −inf where x is impossible. @param {number} x */
  logDerivative(x) {
    if (!this.possible(x)) return -Infinity;
    if (this.kind === "plain") return 0;
    const u = (x - this.low) / this.unit;
    if (this.kind === "asinh") return -0.5 * Math.log1p(u * u) - Math.log(this.unit);
    if (this.kind === "logit") return -Math.log(u) - Math.log1p(-u) - Math.log(this.unit);
    if (this.kind === "log") return -Math.log(u) - Math.log(Math.abs(this.unit));
    return -Math.log(-Math.expm1(-u));
  }
  /** log dy/dx at a place of the line, up to a constant, and its first and second derivative. @param {number} y @returns {[number, number, number]} */
  logDerivativeOnLine(y) {
    if (this.kind === "plain") return [0, 0, 0];
    if (this.kind === "log") return [-Math.sign(this.unit) * y, -Math.sign(this.unit), 0];
    if (this.kind === "asinh") return [-logAdd(y, -y), -Math.tanh(y), Math.tanh(y) ** 2 - 1];
    if (this.kind === "logit") return [logAdd(0, y) + logAdd(0, -y), Math.tanh(y / 2), (1 - Math.tanh(y / 2) ** 2) / 2];
    const t = y / this.unit;
    const [below, above] = [1 / (1 + Math.exp(t)), 1 / (1 + Math.exp(-t))];
    return [logAdd(0, -t), -below / this.unit, (above * below) / this.unit ** 2];
  }
  /** The largest value of the second derivative; above 0 there may be several peaks. */
  get mostBent() {
    return this.kind === "soft" ? 0.25 / this.unit ** 2 : this.kind === "logit" ? 0.5 : 0;
  }
  /** The number at a place of the line, always a possible one. @param {number} y */
  inverse(y) {
    if (this.kind === "plain") return y;
    const near = Math.min(700, Math.max(-700, y));
    if (this.kind === "asinh") return this.low + this.unit * Math.sinh(near);
    return inside(this.low + this.unit * this._ofUnit(y, near), ...this.range);
  }
  /** u of a scale with ends. @param {number} y @param {number} near the same, not too far for exponents */
  _ofUnit(y, near) {
    if (this.kind === "logit") return 1 / (1 + Math.exp(-near));
    if (this.kind === "log") return Math.exp(Math.sign(this.unit) * near);
    const z = y / this.unit;
    return Math.max(z, 0) + Math.log1p(Math.exp(-Math.abs(z)));
  }
  /** A number as the column has them: reflected at the ends, and rounded to steps. @param {number} x */
  presented(x) {
    let own = x;
    if (!Number.isNaN(this.least)) own = this.least + Math.abs(own - this.least);
    if (!Number.isNaN(this.most)) own = this.most - Math.abs(own - this.most);
    return this.isRounded(own) ? this._nearest(own) : own;
  }
  /** The nearest number in steps. @param {number} x */
  _nearest(x) {
    return fewDigits(rounded(x / this.step) * this.step, this.step);
  }
  /** Whether a number is rounded: where there are steps, and the nearest is a possible number. @param {number} x */
  isRounded(x) {
    return this.step > 0 && this.possible(this._nearest(x));
  }
  /** Mean and deviation in the column's units of what is normal on the line. @param {number} mean @param {number} std */
  moments(mean, std) {
    const { low, unit } = this;
    const variance = std * std;
    if (this.kind === "plain") return { mean, std };
    if (this.kind === "log") {
      const ofU = Math.exp(Math.sign(unit) * mean + variance / 2);
      return { mean: low + unit * ofU, std: Math.abs(unit) * ofU * Math.sqrt(Math.expm1(variance)) };
    }
    if (this.kind === "asinh") {
      const spread = 0.5 * Math.expm1(variance) * (Math.exp(variance) * Math.cosh(2 * mean) + 1);
      return { mean: low + unit * Math.exp(variance / 2) * Math.sinh(mean), std: unit * Math.sqrt(spread) };
    }
    const x = nodes.map((z) => this.inverse(mean + std * z));
    const middle = x.reduce((sum, own, i) => sum + nodeWeights[i] * own, 0);
    const spread = x.reduce((sum, own, i) => sum + nodeWeights[i] * (own - middle) ** 2, 0);
    return { mean: middle, std: Math.sqrt(spread) };
  }
}
