// @ts-check
// The page's side of the engine: a worker built from the text in this file, asked by messages.

export class Engine {
  /** @param {string} source the worker's script */
  constructor(source) {
    const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    this.worker = new Worker(address);
    /** @type {Map<number, {resolve: (answer: any) => void, reject: (error: Error) => void}>} */
    this.waiting = new Map();
    this.count = 0;
    this.worker.onmessage = (message) => {
      const { id, answer, error } = message.data;
      const asker = this.waiting.get(id);
      this.waiting.delete(id);
      if (error) asker?.reject(new Error(error));
      else asker?.resolve(answer);
    };
  }

  /** Ask one of the questions of `engine/worker.js`. @param {string} question @param {...any} asked @returns {Promise<any>} */
  ask(question, ...asked) {
    return new Promise((resolve, reject) => {
      const id = this.count++;
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, question, asked });
    });
  }
}
