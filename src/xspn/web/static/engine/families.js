// @ts-check
// Which family evaluates which kind of leaf. Tables of one discrete column, by far the most leaves of a circuit,
// are evaluated by the circuit itself.
import { LeafFamily } from "./leaf.js";
import { ClassesLeaf, CountLeaf, TotalLeaf } from "./exchangeable.js";
import { JointLeaf, TreeLeaf } from "./tables.js";
import { AlikeLeaf, NormalLeaf, NormalsLeaf } from "./normals.js";

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
    default:
      throw new Error(`unknown kind of leaf: ${kind}`);
  }
}
