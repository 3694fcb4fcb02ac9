// The same input gives the same output: there is no clock and no chance.
(function () {
  const unavailable = (what) => () => {
    throw new TypeError(`${what} is not available in scripts`);
  };
  Object.defineProperty(globalThis, "Date", { get: unavailable("Date"), configurable: true });
  Math.random = unavailable("Math.random");
  delete globalThis.queueMicrotask;
})()
