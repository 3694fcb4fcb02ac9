// Some methods of lists loop in C without counting steps, however long the list claims to be. So they
// take true lists only, whose length `charge` adds to the steps before they begin.
(function (charge) {
  "use strict";
  const { apply } = Reflect;
  const { isArray } = Array;
  const hide = (holder, name, value) =>
    Object.defineProperty(holder, name, { value, writable: true, enumerable: false, configurable: true });

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
})
