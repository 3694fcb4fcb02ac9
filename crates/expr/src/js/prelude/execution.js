// `execution`, by which models made for Camunda 7 read and write variables. A variable of that name hides it.
(function (context) {
  "use strict";
  const { deleteProperty, get, has, set } = Reflect;
  const read = (name) => (has(context, `${name}`) ? get(context, `${name}`) : null);
  const write = (name, value) => void set(context, `${name}`, value);
  const remove = (name) => void deleteProperty(context, `${name}`);
  const execution = Object.freeze({
    __proto__: null,
    getVariable: read,
    hasVariable: (name) => has(context, `${name}`),
    setVariable: write,
    removeVariable: remove,
  });
  Reflect.defineProperty(globalThis, "execution", { __proto__: null, value: execution, writable: true, configurable: true });
});
