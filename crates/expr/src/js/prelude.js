// Evaluated in every fresh context before a script. Whatever it needs later it takes now: the script
// may replace anything that it can reach.
(function (load, exists, names, charge) {
  "use strict";
  const { apply, defineProperty, deleteProperty, getOwnPropertyDescriptor, ownKeys, preventExtensions } = Reflect;
  const { isArray } = Array;
  const { hasOwn } = Object;

  // Variables. `target` is what the script sees; `settled` holds the names whose place in `target`
  // is the truth, because they were read, written or removed. A name that was only seen has a slot
  // in `target` that fetches the value when it is asked for.
  const target = {};
  const settled = { __proto__: null };
  const put = (name, value) =>
    defineProperty(target, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
  const settle = (name) => {
    if (typeof name !== "string" || name in settled) return;
    const value = load(name);
    settled[name] = true;
    if (value !== undefined) put(name, value);
  };
  const show = (name) => {
    if (typeof name !== "string" || name in settled || hasOwn(target, name) || !exists(name)) return;
    const get = () => (settle(name), target[name]);
    const set = (value) => void ((settled[name] = true), put(name, value));
    defineProperty(target, name, { __proto__: null, get, set, enumerable: true, configurable: true });
  };
  const showAll = () => {
    const all = names();
    for (let i = 0; i < all.length; i++) show(all[i]);
  };
  const traps = {
    __proto__: null,
    get(_, name) {
      settle(name);
      return target[name];
    },
    set(_, name, value) {
      if (typeof name === "string") settled[name] = true;
      return put(name, value);
    },
    has(_, name) {
      show(name);
      return name in target;
    },
    deleteProperty(_, name) {
      if (typeof name === "string") settled[name] = true;
      return deleteProperty(target, name);
    },
    defineProperty(_, name, descriptor) {
      settle(name);
      return defineProperty(target, name, descriptor);
    },
    getOwnPropertyDescriptor(_, name) {
      show(name);
      return getOwnPropertyDescriptor(target, name);
    },
    ownKeys() {
      showAll();
      return ownKeys(target);
    },
    preventExtensions() {
      showAll();
      return preventExtensions(target);
    },
  };
  const scope = new Proxy(target, {
    __proto__: null,
    get: traps.get,
    set: traps.set,
    deleteProperty: traps.deleteProperty,
    has(_, name) {
      if (typeof name !== "string" || name === "_context" || name === "eval" || name === "arguments") return false;
      show(name);
      return hasOwn(target, name);
    },
  });

  const hide = (holder, name, value) =>
    defineProperty(holder, name, { __proto__: null, value, writable: true, enumerable: false, configurable: true });

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

  hide(globalThis, "_context", new Proxy(target, traps));
  hide(globalThis, "BpmnError", BpmnError);
  delete globalThis.queueMicrotask;

  // The same input gives the same output: there is no clock and no chance.
  const unavailable = (what) => () => {
    throw new TypeError(`${what} is not available in scripts`);
  };
  defineProperty(globalThis, "Date", { __proto__: null, get: unavailable("Date"), configurable: true });
  hide(Math, "random", unavailable("Math.random"));

  // These loop in C without counting steps, however long the list claims to be. So they take true
  // lists only, whose length `charge` adds to the steps before they begin.
  const counted = (list, name) => {
    if (!charge(list)) throw new TypeError(`${name} works on lists only`);
  };
  for (const name of ["copyWithin", "join", "reverse", "shift", "slice", "sort", "splice", "toLocaleString", "unshift"]) {
    const original = Array.prototype[name];
    const { [name]: guarded } = {
      [name](...values) {
        counted(this, name);
        return apply(original, this, values);
      },
    };
    hide(Array.prototype, name, guarded);
  }
  const { concat, map } = Array.prototype;
  hide(Array.prototype, "concat", function (...values) {
    counted(this, "concat");
    for (let i = 0; i < values.length; i++) if (!charge(values[i])) values[i] = [values[i]];
    return apply(concat, this, values);
  });
  const flatten = (list, depth, flat) => {
    for (let i = 0; i < list.length; i++) {
      if (!(i in list)) continue;
      const item = list[i];
      if (depth > 0 && isArray(item)) flatten(item, depth - 1, flat);
      else flat[flat.length] = item;
    }
    return flat;
  };
  hide(Array.prototype, "flat", function (depth = 1) {
    return flatten(this, depth, []);
  });
  hide(Array.prototype, "flatMap", function (...values) {
    return flatten(apply(map, this, values), 1, []);
  });
  const { raw } = String;
  hide(String, "raw", function (strings, ...values) {
    const pieces = strings.raw;
    counted(pieces, "raw");
    return apply(raw, String, [{ raw: pieces }, ...values]);
  });
  const { stringify } = JSON;
  hide(JSON, "stringify", function (value, replacer, space) {
    if (isArray(replacer)) counted(replacer, "stringify");
    return stringify(value, replacer, space);
  });

  return { target, settled, scope, bpmnError };
})
