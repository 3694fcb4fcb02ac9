// The variables of a script that may ask for names it does not spell. Like all preludes it is
// evaluated in a fresh context before the script, and takes now whatever it needs later: the script may
// replace anything that it can reach.
(function (load, exists, names) {
  "use strict";
  const { defineProperty, deleteProperty, getOwnPropertyDescriptor, ownKeys, preventExtensions } = Reflect;
  const { hasOwn } = Object;

  // `target` is what the script sees; `settled` holds the names whose place in `target`
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

  const context = new Proxy(target, traps);
  return { target, settled, scope, context };
})
