// @ts-check
// Which family evaluates which kind of leaf. Tables of one discrete column, by far the most leaves of a circuit,
// are evaluated by the circuit itself.
import { LeafFamily } from "./leaf.js";
import { ClassesLeaf, CountLeaf, TotalLeaf } from "./exchangeable.js";
import { JointLeaf, TreeLeaf } from "./tables.js";
import { AlikeLeaf, NormalLeaf, NormalsLeaf } from "./normals.js";
import { AtomLeaf, TransformedLeaf } from "./transformed.js";
import { Scale } from "./scales.js";

const BASES = ["normal", "alike", "normals"]; // in the order of `NORMAL` in xspn/leaves/transformed.py
const PER_SCALE = 5; // numbers

/** A leaf of a kind by its name. @param {string} kind @param {Uint32Array} columns @param {Float64Array} reals @param {ArrayLike<number>} integers @returns {LeafFamily} */
export function leafOf(kind, columns, reals, integers) {
  const n = columns.length;
  switch (kind) {
    case "normal":
      return new NormalLeaf(columns, reals[0], reals[1]);
    case "count":
      return new CountLeaf(columns, reals);
    case "classes":
      return new ClassesLeaf(columns, reals, integers);
    case "total":
      return new TotalLeaf(columns, reals, integers[0]);
    case "tree":
      return new TreeLeaf(columns, reals, integers);
    case "joint":
      return new JointLeaf(columns, reals, integers);
    case "normals":
      return new NormalsLeaf(columns, reals.subarray(0, n), reals.subarray(n));
    case "alike":
      return new AlikeLeaf(columns, reals[0], reals[1], reals[2]);
    case "atom":
      return new AtomLeaf(columns, reals[0], reals[1]);
    case "transformed": {
      const end = reals.length - PER_SCALE * n;
      const base = /** @type {NormalLeaf} */ (leafOf(BASES[integers[0]], columns, reals.subarray(0, end), []));
      const scales = Array.from(columns, (_, i) => new Scale(integers[1 + i], reals.subarray(end + PER_SCALE * i)));
      return new TransformedLeaf(base, scales);
    }
    default:
      throw new Error(`unknown kind of leaf: ${kind}`);
  }
}
