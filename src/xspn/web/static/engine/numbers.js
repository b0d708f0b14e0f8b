// @ts-check
// Numbers in log space, the normal distribution, and a seeded source of chance.

const LOG_2PI = Math.log(2 * Math.PI);

/** log(exp(a) + exp(b)). @param {number} a @param {number} b */
export function logAdd(a, b) {
  if (a === -Infinity) return b;
  if (b === -Infinity) return a;
  return a > b ? a + Math.log1p(Math.exp(b - a)) : b + Math.log1p(Math.exp(a - b));
}

/** log Σ exp(values). @param {ArrayLike<number>} values */
export function logSum(values) {
  let top = -Infinity;
  for (let i = 0; i < values.length; i++) if (values[i] > top) top = values[i];
  if (top === -Infinity) return top;
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += Math.exp(values[i] - top);
  return top + Math.log(sum);
}

/** The place of the largest value, the first of equals. @param {ArrayLike<number>} values */
export function argMax(values) {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (values[i] > values[best]) best = i;
  return best;
}

/** A place drawn by log-weights. @param {ArrayLike<number>} logs @param {() => number} random */
export function drawn(logs, random) {
  const total = logSum(logs);
  let left = random();
  let last = 0;
  for (let i = 0; i < logs.length; i++) {
    const chance = Math.exp(logs[i] - total);
    if (chance > 0) {
      last = i;
      left -= chance;
      if (left < 0) return i;
    }
  }
  return last;
}

/** @type {number[]} */
const logFactorials = [0];
let compensation = 0;

/** log n!, added up with the rounding errors of the sum. @param {number} n */
export function logFactorial(n) {
  for (let k = logFactorials.length; k <= n; k++) {
    const before = logFactorials[k - 1];
    const term = Math.log(k) - compensation;
    const sum = before + term;
    compensation = sum - before - term;
    logFactorials.push(sum);
  }
  return logFactorials[n];
}

/** @type {Map<number, Float64Array>} */
const rowsOfPascal = new Map();

/** log C(n, k) for k = 0..n. @param {number} n */
export function logBinomials(n) {
  let row = rowsOfPascal.get(n);
  if (!row) {
    row = new Float64Array(n + 1);
    for (let k = 0; k <= n; k++) row[k] = logFactorial(n) - logFactorial(k) - logFactorial(n - k);
    rowsOfPascal.set(n, row);
  }
  return row;
}

/** @type {Map<string, Float64Array>} */
const sumsOfDigits = new Map();

/** Log of the number of ways in which n digits from 0..k−1 sum to s, for s = 0..n(k−1). @param {number} n @param {number} k */
export function logSumCounts(n, k) {
  const key = `${n},${k}`;
  let row = sumsOfDigits.get(key);
  if (!row) {
    row = new Float64Array(n * (k - 1) + 1);
    if (n > 0) {
      const before = logSumCounts(n - 1, k);
      /** @type {number[]} */
      const terms = [];
      for (let s = 0; s < row.length; s++) {
        terms.length = 0;
        for (let v = 0; v < k && v <= s; v++) if (s - v < before.length) terms.push(before[s - v]);
        row[s] = logSum(terms);
      }
    }
    sumsOfDigits.set(key, row);
  }
  return row;
}

/** @type {Map<string, number[][]>} */
const knownCompositions = new Map();

/** All ways to write n as k ordered counts, in lexicographic order. @param {number} n @param {number} k @returns {number[][]} */
export function compositions(n, k) {
  const key = `${n},${k}`;
  let found = knownCompositions.get(key);
  if (!found) {
    found = [];
    if (k === 1) found.push([n]);
    else
      for (let first = 0; first <= n; first++)
        for (const rest of compositions(n - first, k - 1)) found.push([first, ...rest]);
    knownCompositions.set(key, found);
  }
  return found;
}

/** The log-density of a normal distribution. @param {number} x @param {number} mean @param {number} std */
export function logNormal(x, mean, std) {
  const z = (x - mean) / std;
  return -0.5 * (z * z + LOG_2PI) - Math.log(std);
}

/** P(Z ≤ z) of a standard normal: a series of positive terms near 0, a continued fraction in the tails. @param {number} z */
export function normalCdf(z) {
  const size = Math.abs(z);
  const density = Math.exp(-0.5 * z * z - 0.5 * LOG_2PI);
  if (size < 3.5) {
    let term = size;
    let sum = size;
    for (let n = 3; term > 1e-17 * sum; n += 2) {
      term *= (size * size) / n;
      sum += term;
    }
    return z >= 0 ? 0.5 + density * sum : 0.5 - density * sum;
  }
  let fraction = 0;
  for (let n = 60; n > 0; n--) fraction = n / (size + fraction);
  const tail = density / (size + fraction);
  return z >= 0 ? 1 - tail : tail;
}

/** The lower Cholesky factor of a symmetric matrix, row by row; null if it is not positive definite. @param {number} n @param {(i: number, j: number) => number} entry */
export function choleskyFactor(n, entry) {
  const lower = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = entry(i, j);
      for (let k = 0; k < j; k++) sum -= lower[i * n + k] * lower[j * n + k];
      if (i === j && !(sum > 0)) return null;
      lower[i * n + j] = i === j ? Math.sqrt(sum) : sum / lower[j * n + j];
    }
  }
  return lower;
}

/** The solution of L Lᵀ x = b. @param {Float64Array} lower @param {Float64Array} b */
export function choleskySolved(lower, b) {
  const n = b.length;
  const x = b.slice();
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < i; k++) x[i] -= lower[i * n + k] * x[k];
    x[i] /= lower[i * n + i];
  }
  for (let i = n - 1; i >= 0; i--) {
    for (let k = i + 1; k < n; k++) x[i] -= lower[k * n + i] * x[k];
    x[i] /= lower[i * n + i];
  }
  return x;
}

/** A source of chance with a seed (sfc32): numbers from 0 to below 1. @param {number} seed @returns {() => number} */
export function randomNumbers(seed) {
  let a = seed | 0;
  let b = 0x9e3779b9 | 0;
  let c = 0x243f6a88 | 0;
  let d = 1;
  const next = () => {
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + t;
    c |= 0;
    return (t >>> 0) / 4294967296;
  };
  for (let i = 0; i < 16; i++) next();
  return next;
}

/** A standard normal number. @param {() => number} random */
export function randomNormal(random) {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
