// `BpmnError`, for throwing to the model. The result takes one apart, and says nothing to others.
(function () {
  "use strict";
  const hide = (holder, name, value) =>
    Object.defineProperty(holder, name, { value, writable: true, enumerable: false, configurable: true });

  class BpmnError extends Error {
    #code;
    #said;
    constructor(code, message = "") {
      super(message);
      this.#code = `${code}`;
      this.#said = `${message}`;
    }
    get code() {
      return this.#code;
    }
    static parts(error) {
      return typeof error === "object" && error !== null && #code in error ? [error.#code, error.#said] : undefined;
    }
  }
  const bpmnError = BpmnError.parts;
  delete BpmnError.parts;
  hide(BpmnError.prototype, "name", "BpmnError");

  hide(globalThis, "BpmnError", BpmnError);
  return bpmnError;
})()
