// @ts-check
// A circuit in flat arrays, and the two passes that answer every question: up in log space, down by flows.
import { argMax, drawn, logAdd, logSum } from "./numbers.js";
import { Beliefs } from "./beliefs.js";
import { LeafFamily, convolved } from "./leaf.js";
import { leafOf } from "./families.js";

const SUM = 0;
const PRODUCT = 1;

/** @typedef {{variables: {column: number, kind: string, labels?: string[]}[], width: number, kinds: string[]}} Header */
/** @typedef {Record<string, any>} TypedArrays the arrays of a page, by name */

/** Where parts of given sizes begin, and the end of the last. @param {ArrayLike<number>} sizes */
function begins(sizes) {
  const found = new Uint32Array(sizes.length + 1);
  for (let i = 0; i < sizes.length; i++) found[i + 1] = found[i] + sizes[i];
  return found;
}

/** Log-probabilities of a row with one of its known cells changed, added up over leaves. */
export class ChangedCells {
  /** @param {Int32Array} start @param {number} width */
  constructor(start, width) {
    this.start = start;
    this.logs = new Float64Array(start[width]).fill(-Infinity);
    /** @type {{log: number, law: import("./laws.js").Law}[][]} */
    this.reals = Array.from({ length: width }, () => []);
  }
  /** @param {number} column @param {number} value @param {number} log */
  add(column, value, log) {
    const place = this.start[column] + value;
    this.logs[place] = logAdd(this.logs[place], log);
  }
  /** @param {number} column @param {number} log @param {import("./laws.js").Law} law */
  addReal(column, log, law) {
    if (log > -Infinity) this.reals[column].push({ log, law });
  }
}

export class Circuit {
  /** @param {Header} header @param {TypedArrays} arrays */
  constructor(header, arrays) {
    this.width = header.width;
    this.type = arrays.type;
    this.begin = begins(arrays.edges);
    this.child = Uint32Array.from(arrays.child);
    this.nNodes = /** @type {number} */ (this.type.length);
    /** @type {number} */
    this.root = this.nNodes - 1;
    this.sizes = new Int32Array(this.width);
    for (const variable of header.variables) this.sizes[variable.column] = variable.labels ? variable.labels.length : 0;
    this.start = new Int32Array(this.width + 1);
    for (let c = 0; c < this.width; c++) this.start[c + 1] = this.start[c] + this.sizes[c];
    this.logWeight = new Float64Array(this.child.length);
    /** @type {Float64Array} of tables: those of one leaf begin at tableStart */
    this.logs = arrays.real;
    /** @type {Float64Array} */
    this.chances = arrays.real.map(Math.exp); // of the same tables
    this.tableColumn = new Int32Array(this.nNodes).fill(-1);
    this.tableStart = new Uint32Array(this.nNodes);
    /** @type {(LeafFamily | null)[]} */
    this.family = new Array(this.nNodes).fill(null);
    /** @type {number[][]} the leaves that each column is in */
    this.leavesOf = Array.from({ length: this.width }, () => []);
    this._readWeights(arrays.weights);
    this._readLeaves(header.kinds, arrays);
    this.touched = new Uint8Array(this.nNodes);
    /** @type {Float64Array} */
    this.up = new Float64Array(this.nNodes);
    this._evaluateNodes(new Float64Array(this.width).fill(NaN), this.touched.fill(1));
    this.upOfNothing = this.up.slice();
    this.flow = new Float64Array(this.nNodes);
    this.outside = new Float64Array(this.nNodes);
  }

  /** Spread the weights of sums over all edges. @param {Float64Array} weights */
  _readWeights(weights) {
    let at = 0;
    for (let i = 0; i < this.nNodes; i++) {
      if (this.type[i] === SUM)
        for (let e = this.begin[i]; e < this.begin[i + 1]; e++) this.logWeight[e] = weights[at++];
    }
  }

  /** Lay out tables of one column flat, and build the other leaves. @param {string[]} kinds @param {TypedArrays} arrays */
  _readLeaves(kinds, arrays) {
    const { kind, variable, integer, real } = arrays;
    const ofVariables = begins(arrays.variables);
    const ofIntegers = begins(arrays.integers);
    const ofReals = begins(arrays.reals);
    let leaf = 0;
    for (let i = 0; i < this.nNodes; i++) {
      if (this.type[i] === SUM || this.type[i] === PRODUCT) continue;
      const columns = Uint32Array.from(variable.subarray(ofVariables[leaf], ofVariables[leaf + 1]));
      for (const column of columns) this.leavesOf[column].push(i);
      if (kinds[kind[leaf]] === "table") {
        this.tableColumn[i] = columns[0];
        this.tableStart[i] = ofReals[leaf];
      } else {
        const own = real.subarray(ofReals[leaf], ofReals[leaf + 1]);
        this.family[i] = leafOf(
          kinds[kind[leaf]],
          columns,
          own,
          integer.subarray(ofIntegers[leaf], ofIntegers[leaf + 1]),
        );
      }
      leaf++;
    }
  }

  /** Mark the nodes that have one of some columns below them. @param {Iterable<number>} columns @param {Uint8Array} marks to write to */
  mark(columns, marks) {
    const { begin, child } = this;
    marks.fill(0);
    for (const column of columns) for (const leaf of this.leavesOf[column]) marks[leaf] = 1;
    for (let i = 0; i < this.nNodes; i++)
      for (let e = begin[i]; e < begin[i + 1] && !marks[i]; e++) marks[i] = marks[child[e]];
    return marks;
  }

  /** log P of what a row knows at every node, in `up`; returns the root's. @param {Float64Array} x */
  evaluate(x) {
    const known = Array.from(x.keys()).filter((column) => !Number.isNaN(x[column]));
    this.up.set(this.upOfNothing);
    return this._evaluateNodes(x, this.mark(known, this.touched));
  }

  /** @param {Float64Array} x @param {Uint8Array} touched the nodes whose value is not what it is without any facts */
  _evaluateNodes(x, touched) {
    const { up, begin, child, logWeight, type } = this;
    for (let i = 0; i < this.nNodes; i++) {
      if (!touched[i]) continue;
      const first = begin[i];
      const last = begin[i + 1];
      if (type[i] === PRODUCT) {
        let sum = 0;
        for (let e = first; e < last; e++) sum += up[child[e]];
        up[i] = sum;
      } else if (type[i] === SUM) {
        let top = -Infinity;
        for (let e = first; e < last; e++) if (logWeight[e] > -Infinity && up[child[e]] > top) top = up[child[e]];
        if (top === -Infinity) {
          up[i] = top;
          continue;
        }
        let sum = 0;
        for (let e = first; e < last; e++) sum += Math.exp(logWeight[e] + (up[child[e]] - top));
        up[i] = top + Math.log(sum);
      } else up[i] = this._leafValue(i, x, false);
    }
    return up[this.root];
  }

  /** @param {number} i @param {Float64Array} x @param {boolean} best */
  _leafValue(i, x, best) {
    const column = this.tableColumn[i];
    if (column < 0) {
      const family = /** @type {LeafFamily} */ (this.family[i]);
      return best ? family.best(x) : family.logp(x);
    }
    const value = x[column];
    if (!Number.isNaN(value)) return this.logs[this.tableStart[i] + value];
    return best ? this.logs[this.tableStart[i] + this._bestValue(i)] : 0;
  }

  /** @param {number} i a table */
  _bestValue(i) {
    const first = this.tableStart[i];
    return argMax(this.logs.subarray(first, first + this.sizes[this.tableColumn[i]]));
  }

  /** How much of the row reaches each node, in `flow`, after `evaluate` of a possible row. @param {number} [top] the node that all comes from */
  passDown(top = this.root) {
    const { up, flow, begin, child, logWeight, type } = this;
    flow.fill(0);
    flow[top] = 1;
    for (let i = top; i >= 0; i--) {
      const own = flow[i];
      if (own <= 0) continue;
      const first = begin[i];
      const last = begin[i + 1];
      if (type[i] === PRODUCT) for (let e = first; e < last; e++) flow[child[e]] += own;
      else if (type[i] === SUM) {
        let top = -Infinity;
        for (let e = first; e < last; e++) if (logWeight[e] > -Infinity && up[child[e]] > top) top = up[child[e]];
        let sum = 0;
        for (let e = first; e < last; e++) sum += Math.exp(logWeight[e] + (up[child[e]] - top));
        for (let e = first; e < last; e++)
          flow[child[e]] += (own / sum) * Math.exp(logWeight[e] + (up[child[e]] - top));
      }
    }
  }

  /** What is believed of every column, after `passDown`. @param {Float64Array} x */
  beliefs(x) {
    const out = new Beliefs(this.start, this.sizes);
    const { flow, chances } = this;
    for (let i = 0; i < this.nNodes; i++) {
      if (this.type[i] === SUM || this.type[i] === PRODUCT || flow[i] <= 0) continue;
      const column = this.tableColumn[i];
      if (column < 0) /** @type {LeafFamily} */ (this.family[i]).believe(x, flow[i], out);
      else if (!Number.isNaN(x[column])) out.add(column, x[column], flow[i]);
      else {
        const to = this.start[column];
        const from = this.tableStart[i];
        for (let v = 0; v < this.sizes[column]; v++) out.p[to + v] += flow[i] * chances[from + v];
      }
    }
    return out;
  }

  /** P(row with one of its known cells changed) for every known cell and value, after `evaluate`: also of impossible rows. @param {Float64Array} x */
  changedCells(x) {
    const { up, outside, begin, child, logWeight, type, touched } = this;
    outside.fill(-Infinity);
    outside[this.root] = 0;
    const out = new ChangedCells(this.start, this.width);
    for (let i = this.root; i >= 0; i--) {
      const own = outside[i];
      if (own === -Infinity || !touched[i]) continue;
      const first = begin[i];
      const last = begin[i + 1];
      if (type[i] === SUM) {
        for (let e = first; e < last; e++)
          if (touched[child[e]]) outside[child[e]] = logAdd(outside[child[e]], own + logWeight[e]);
      } else if (type[i] === PRODUCT) {
        let finite = 0;
        let impossible = 0;
        for (let e = first; e < last; e++) {
          if (up[child[e]] === -Infinity) impossible++;
          else finite += up[child[e]];
        }
        for (let e = first; e < last; e++) {
          const c = child[e];
          if (!touched[c]) continue;
          const others =
            impossible - (up[c] === -Infinity ? 1 : 0) ? -Infinity : finite - (up[c] === -Infinity ? 0 : up[c]);
          outside[c] = logAdd(outside[c], own + others);
        }
      } else this._changeLeaf(i, x, own, out);
    }
    return out;
  }

  /** @param {number} i @param {Float64Array} x @param {number} outside @param {ChangedCells} out */
  _changeLeaf(i, x, outside, out) {
    const column = this.tableColumn[i];
    if (column < 0) /** @type {LeafFamily} */ (this.family[i]).alternatives(x, outside, out, this.sizes);
    else if (!Number.isNaN(x[column])) {
      for (let v = 0; v < this.sizes[column]; v++) out.add(column, v, outside + this.logs[this.tableStart[i] + v]);
    }
  }

  /** A row completed by the best child of every sum (max-product). @param {Float64Array} x */
  bestCompletion(x) {
    const { begin, child, logWeight, type } = this;
    const up = new Float64Array(this.nNodes);
    for (let i = 0; i < this.nNodes; i++) {
      if (type[i] === PRODUCT) for (let e = begin[i]; e < begin[i + 1]; e++) up[i] += up[child[e]];
      else if (type[i] === SUM) {
        up[i] = -Infinity;
        for (let e = begin[i]; e < begin[i + 1]; e++) up[i] = Math.max(up[i], logWeight[e] + up[child[e]]);
      } else up[i] = this._leafValue(i, x, true);
    }
    const scores = (/** @type {number} */ e) => logWeight[e] + up[child[e]];
    return this._completed(x, (logs) => argMax(logs), scores, null);
  }

  /** A row completed by chance, after `evaluate`. @param {Float64Array} x @param {() => number} random */
  randomCompletion(x, random) {
    const scores = (/** @type {number} */ e) => this.logWeight[e] + this.up[this.child[e]];
    return this._completed(x, (logs) => drawn(logs, random), scores, random);
  }

  /** @param {Float64Array} x @param {(logs: number[]) => number} choose @param {(edge: number) => number} score @param {(() => number) | null} random */
  _completed(x, choose, score, random) {
    const out = x.slice();
    const waiting = [this.root];
    while (waiting.length) {
      const i = /** @type {number} */ (waiting.pop());
      const edges = Array.from({ length: this.begin[i + 1] - this.begin[i] }, (_, k) => this.begin[i] + k);
      if (this.type[i] === PRODUCT) for (const e of edges) waiting.push(this.child[e]);
      else if (this.type[i] === SUM) waiting.push(this.child[edges[choose(edges.map(score))]]);
      else this._fillLeaf(i, x, out, random);
    }
    return out;
  }

  /** @param {number} i @param {Float64Array} x @param {Float64Array} out @param {(() => number) | null} random */
  _fillLeaf(i, x, out, random) {
    const column = this.tableColumn[i];
    if (column < 0) /** @type {LeafFamily} */ (this.family[i]).fill(x, out, random);
    else if (Number.isNaN(x[column])) {
      const own = this.logs.subarray(this.tableStart[i], this.tableStart[i] + this.sizes[column]);
      out[column] = random ? drawn(own, random) : argMax(own);
    }
  }

  /** P(number of ones among binary columns = k | what is known), after `evaluate` of a possible row. @param {Float64Array} x @param {number[]} columns */
  countDistribution(x, columns) {
    const chosen = new Uint8Array(this.width);
    let ones = 0;
    for (const column of columns) {
      chosen[column] = 1;
      if (x[column] === 1) ones++;
    }
    const unknown = columns.filter((column) => Number.isNaN(x[column]));
    const above = this.mark(unknown, new Uint8Array(this.nNodes));
    /** @type {(Float64Array | null)[]} null: none of the columns is below, or nothing comes here */
    const found = new Array(this.nNodes).fill(null);
    for (let i = 0; i < this.nNodes; i++) {
      if (this.flow[i] <= 0 || !above[i]) continue;
      if (this.type[i] === SUM) found[i] = this._mixedCounts(i, found);
      else if (this.type[i] === PRODUCT) {
        for (let e = this.begin[i]; e < this.begin[i + 1]; e++) {
          const own = found[this.child[e]];
          const before = found[i];
          if (own) found[i] = before ? convolved(before, own) : own;
        }
      } else if (this.tableColumn[i] >= 0) {
        found[i] = Float64Array.from([0, 1], (v) => this.chances[this.tableStart[i] + v]);
      } else found[i] = /** @type {LeafFamily} */ (this.family[i]).counts(x, chosen);
    }
    const counts = new Float64Array(columns.length + 1);
    (found[this.root] ?? Float64Array.of(1)).forEach((p, k) => (counts[k + ones] = p));
    return counts;
  }

  /** @param {number} i a sum @param {(Float64Array | null)[]} found */
  _mixedCounts(i, found) {
    const edges = [];
    for (let e = this.begin[i]; e < this.begin[i + 1]; e++) if (found[this.child[e]]) edges.push(e);
    if (!edges.length) return null;
    const logs = edges.map((e) => this.logWeight[e] + (this.up[this.child[e]] - this.up[i]));
    const total = logSum(logs);
    const mixed = new Float64Array(/** @type {Float64Array} */ (found[this.child[edges[0]]]).length);
    edges.forEach((e, place) => {
      const weight = Math.exp(logs[place] - total);
      /** @type {Float64Array} */ (found[this.child[e]]).forEach((p, k) => (mixed[k] += weight * p));
    });
    return mixed;
  }
}
