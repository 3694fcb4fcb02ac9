// `execution`, by which models made for Camunda 7 read and write variables. A variable of that name hides it.
(function (context, facts) {
  "use strict";
  const { deleteProperty, get, has, set } = Reflect;
  const read = (name) => (has(context, `${name}`) ? get(context, `${name}`) : null);
  const write = (name, value) => void set(context, `${name}`, value);
  const remove = (name) => void deleteProperty(context, `${name}`);
  const [instance = null, businessKey = null, process = null, element = null, elementName = null] = facts;
  const known = {
    __proto__: null,
    id: instance,
    processInstanceId: instance,
    processBusinessKey: businessKey,
    businessKey,
    processDefinitionId: process,
    processDefinitionKey: process,
    currentActivityId: element,
    currentActivityName: elementName,
  };
  const getters = { __proto__: null };
  for (const name of Reflect.ownKeys(known)) {
    getters[`get${name[0].toUpperCase()}${name.slice(1)}`] = () => known[name];
  }
  const execution = Object.freeze({
    __proto__: null,
    ...known,
    ...getters,
    getVariable: read,
    hasVariable: (name) => has(context, `${name}`),
    setVariable: write,
    removeVariable: remove,
  });
  Reflect.defineProperty(globalThis, "execution", { __proto__: null, value: execution, writable: true, configurable: true });
});
