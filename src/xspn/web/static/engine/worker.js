// @ts-check
// The engine's side of the page: it reads the model once, and answers messages one after the other.
import { Answers } from "./answers.js";

/** @type {Answers} */
let answers;

const TYPES = /** @type {Record<string, any>} */ ({
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  float64: Float64Array,
});

/** The arrays of a page, by name. @param {Record<string, [string, number, number]>} places @param {string} data compressed, in base 64 */
async function readArrays(places, data) {
  const bytes = Uint8Array.from(atob(data), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const buffer = await new Response(stream).arrayBuffer();
  return Object.fromEntries(
    Object.entries(places).map(([name, [type, at, length]]) => [name, new TYPES[type](buffer, at, length)]),
  );
}

/** @type {Record<string, (...asked: any[]) => any>} */
const QUESTIONS = {
  open: async (model, nodes) => {
    answers = new Answers(model, await readArrays(model.arrays, model.data));
    return { spans: [...answers.spans], prior: answers.infer([], nodes), scores: answers.scores };
  },
  infer: (evidence, nodes) => answers.infer(evidence, nodes),
  counts: (evidence, sets) => answers.counts(evidence, sets),
  complete: (evidence) => answers.complete(evidence),
  sample: (evidence, count, seed) => answers.sample(evidence, count, seed),
  tell: (evidence, target) => answers.tell(evidence, target),
  why: (evidence, target) => answers.why(evidence, target),
  marks: (context, mixture) => answers.marks(context, mixture),
  tableRow: (place) => answers.tableRow(place),
};

self.onmessage = async (message) => {
  const { id, question, asked } = message.data;
  try {
    self.postMessage({ id, answer: await QUESTIONS[question](...asked) });
  } catch (error) {
    self.postMessage({ id, error: String(error) });
  }
};
