// What loops in C counts no steps. So it is charged here by the length of what it works on: `charge`
// counts the items of a true list, times a factor, and says whether it is one; `spend` counts steps.
(function (charge, spend) {
  "use strict";
  const { apply, construct, ownKeys } = Reflect;
  const { isArray } = Array;
  const { keys } = Object;
  const { log2 } = Math;
  // A template would call a method that the script may have replaced.
  const text = String;
  const hide = (holder, name, value) =>
    Object.defineProperty(holder, name, { value, writable: true, enumerable: false, configurable: true });

  // `before` is told this and the arguments, which it may change, `after` the result.
  const guard = (holder, names, before, after) => {
    for (const name of names) {
      const original = holder[name];
      const { [name]: guarded } = {
        [name](...values) {
          const self = before ? before(this, values, name) : this;
          const result = apply(original, self, values);
          if (after) after(result, values);
          return result;
        },
      };
      hide(holder, name, guarded);
    }
  };
  const spendOn = (value) => {
    if (typeof value === "string") spend(value.length / 16);
    else charge(value, 1);
  };

  // Lists. However long one claims to be, only true lists are as long as that.
  const counted = (list, values, name) => {
    if (!charge(list, 1)) throw new TypeError(name + " works on lists only");
    return list;
  };
  const sorted = (list, values, name) => {
    counted(list, values, name);
    if (typeof values[0] === "function") return list;
    let letters = 0;
    for (let i = 0; i < list.length; i++) if (typeof list[i] === "string") letters += list[i].length;
    spend((letters / 16) * log2(list.length + 1));
    return list;
  };
  const searched = (list, values) => {
    const what = values[0];
    charge(list, 1 / 8 + (typeof what === "string" ? what.length / 256 : 0));
    return list;
  };
  guard(Array.prototype, ["copyWithin", "fill", "join", "reverse", "shift", "slice", "splice", "toLocaleString",
    "toReversed", "toSpliced", "unshift", "with"], counted);
  guard(Array.prototype, ["sort", "toSorted"], sorted);
  guard(Array.prototype, ["includes", "indexOf", "lastIndexOf"], searched);
  guard(Array, ["from"], (self, values) => {
    spendOn(values[0]);
    return self;
  });
  const { concat, map } = Array.prototype;
  hide(Array.prototype, "concat", function (...values) {
    counted(this, values, "concat");
    for (let i = 0; i < values.length; i++) if (!charge(values[i], 1)) values[i] = [values[i]];
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

  // Texts. What is no text becomes one here, so that it is the one that was counted.
  const Pattern = RegExp;
  const { match, replace, split } = Symbol;
  const textOf = (value) => (value === undefined || value === null ? value : text(value));
  const read = (factor) => (self, values) => {
    const whole = textOf(self);
    if (whole) spend(whole.length * factor);
    return whole;
  };
  guard(String.prototype, ["isWellFormed", "slice", "substr", "substring", "toWellFormed", "trim", "trimEnd",
    "trimStart"], read(1 / 16));
  guard(String.prototype, ["toLocaleLowerCase", "toLocaleUpperCase", "toLowerCase", "toUpperCase"], read(1 / 2));
  guard(String.prototype, ["normalize"], read(2));
  guard(String.prototype, ["localeCompare"], (self, values) => {
    spend((values[0] = text(values[0])).length / 4);
    return read(1 / 4)(self);
  });
  guard(String.prototype, ["padEnd", "padStart", "repeat"], null, (result) => spend(result.length / 16));
  // Each letter of the text may be compared with each of what is looked for.
  const lookup = (method) => (self, values) => {
    const whole = textOf(self);
    let what = values[0];
    if (typeof what === "object" && what !== null && what[method] === undefined) what = values[0] = text(what);
    if (whole) spend(whole.length / 8 + (typeof what === "string" ? (whole.length * what.length) / 256 : 0));
    return method === match || typeof what !== "object" ? whole : self;
  };
  guard(String.prototype, ["endsWith", "includes", "indexOf", "lastIndexOf", "startsWith"], lookup(match));
  guard(String.prototype, ["replace", "replaceAll"], lookup(replace));
  guard(String.prototype, ["split"], lookup(split));
  const { raw } = String;
  hide(String, "raw", function (strings, ...values) {
    const pieces = strings.raw;
    counted(pieces, values, "raw");
    return apply(raw, String, [{ raw: pieces }, ...values]);
  });

  // Patterns take longer to read than they are long.
  const PATTERN_MAX = 10000;
  const pattern = (value) => {
    const source = value === undefined || value instanceof Pattern ? value : text(value);
    if (typeof source === "string") {
      if (source.length > PATTERN_MAX) throw new RangeError("a pattern has at most " + PATTERN_MAX + " characters");
      spend(source.length * 4);
    }
    return source;
  };
  guard(String.prototype, ["match", "matchAll", "search"], (self, values) => {
    const what = values[0];
    if (typeof what !== "object" || what === null || what[match] === undefined) {
      if (values.length > 0) values[0] = pattern(what);
    }
    return self;
  });
  guard(Pattern.prototype, ["compile"], (self, values) => {
    values[0] = pattern(values[0]);
    return self;
  });
  const guarded = function RegExp(value, flags) {
    const target = new.target === undefined || new.target === guarded ? Pattern : new.target;
    return construct(Pattern, [pattern(value), flags], target);
  };
  for (const key of ownKeys(Pattern)) {
    if (key !== "length" && key !== "name") Object.defineProperty(guarded, key, Object.getOwnPropertyDescriptor(Pattern, key));
  }
  hide(Pattern.prototype, "constructor", guarded);
  hide(globalThis, "RegExp", guarded);

  // Objects, by what comes out of them.
  const listed = (result) => void charge(result, 1);
  guard(Object, ["entries", "getOwnPropertyNames", "getOwnPropertySymbols", "keys", "values"], null, listed);
  guard(Reflect, ["ownKeys"], null, listed);
  guard(Object, ["freeze", "getOwnPropertyDescriptors", "isFrozen", "isSealed", "seal"], (self, values) => {
    if (typeof values[0] === "object" && values[0] !== null) spend(ownKeys(values[0]).length);
    return self;
  });
  guard(Object, ["assign", "defineProperties"], (self, values) => {
    for (let i = 1; i < values.length; i++) {
      if (typeof values[i] === "object" && values[i] !== null) spend(keys(values[i]).length);
    }
    return self;
  });
  for (const holder of [Map.prototype, Set.prototype]) {
    guard(holder, ["add", "delete", "get", "has", "set"].filter((name) => name in holder), (self, values) => {
      if (typeof values[0] === "string") spend(values[0].length / 16);
      return self;
    });
  }
  guard(JSON, ["parse"], (self, values) => {
    spend((values[0] = text(values[0])).length / 4);
    return self;
  });
  guard(JSON, ["stringify"], (self, values) => {
    if (isArray(values[1])) counted(values[1], values, "stringify");
    return self;
  }, (result) => {
    if (typeof result === "string") spend(result.length / 4);
  });
  guard(globalThis, ["decodeURI", "decodeURIComponent", "encodeURI", "encodeURIComponent", "escape", "parseFloat",
    "parseInt", "unescape"], (self, values) => {
    spend((values[0] = text(values[0])).length / 4);
    return self;
  });
  const Big = BigInt;
  guard(globalThis, ["BigInt"], (self, values) => {
    if (typeof values[0] === "string") spend(values[0].length ** 2 / 30000);
    return self;
  });
  Object.setPrototypeOf(BigInt, Big);
})
