// JSON with all digits. Numbers that JavaScript would round stay texts of their digits (`Digits`); the others are
// numbers. Read by hand, so that every browser reads alike.

/** A number that JavaScript cannot hold. */
export class Digits {
  constructor(readonly text: string) {}
  toString(): string {
    return this.text;
  }
}

export type Json = null | boolean | number | string | Digits | Json[] | { [name: string]: Json };

/** What is wrong with a text, and where. */
export class BadJson extends Error {
  constructor(readonly reason: string, readonly at: number, readonly line: number, readonly column: number) {
    super(`line ${line}, column ${column}: ${reason}`);
  }
}

const DEPTH_MAX = 500;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const ESCAPES: Record<string, string> = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

export function parse(text: string): Json {
  let at = 0;
  const fail = (reason: string): never => {
    const before = text.slice(0, at).split('\n');
    throw new BadJson(reason, at, before.length, (before.at(-1)?.length ?? 0) + 1);
  };
  const space = () => {
    while (at < text.length && ' \t\n\r'.includes(text[at] as string)) at++;
  };
  const expect = (what: string, name: string) => {
    if (text[at] !== what) fail(`expected ${name}`);
    at++;
  };
  const string = (): string => {
    expect('"', 'a text in double quotes');
    let out = '';
    for (;;) {
      const from = at;
      while (at < text.length && text[at] !== '"' && text[at] !== '\\' && (text[at] as string) >= ' ') at++;
      out += text.slice(from, at);
      const found = text[at];
      if (found === '"') {
        at++;
        return out;
      }
      if (found !== '\\') fail(found === undefined ? 'the text has no closing quote' : 'a line break in a text is written \\n');
      at++;
      const kind = text[at] ?? '';
      if (kind === 'u') {
        const code = text.slice(at + 1, at + 5);
        if (!/^[0-9a-fA-F]{4}$/.test(code)) fail('\\u needs four hexadecimal digits');
        out += String.fromCharCode(parseInt(code, 16));
        at += 5;
      } else {
        const stands = ESCAPES[kind];
        if (stands === undefined) fail(`\\${kind} means nothing`);
        out += stands;
        at++;
      }
    }
  };
  const number = (): Json => {
    NUMBER.lastIndex = at;
    const found = NUMBER.exec(text)?.[0];
    if (found === undefined) return fail('expected a value');
    at += found.length;
    return numeric(found);
  };
  const word = (name: string, value: Json): Json => {
    if (text.slice(at, at + name.length) !== name) fail('expected a value; a text stands in double quotes');
    at += name.length;
    return value;
  };
  const value = (depth: number): Json => {
    if (depth > DEPTH_MAX) fail('nested too deeply');
    space();
    switch (text[at]) {
      case '{': {
        at++;
        const out: { [name: string]: Json } = Object.create(null);
        space();
        if (text[at] === '}') return at++, out;
        for (;;) {
          space();
          const name = string();
          space();
          expect(':', 'a colon');
          out[name] = value(depth + 1);
          space();
          if (text[at] === '}') return at++, out;
          expect(',', 'a comma or a closing brace');
        }
      }
      case '[': {
        at++;
        const out: Json[] = [];
        space();
        if (text[at] === ']') return at++, out;
        for (;;) {
          out.push(value(depth + 1));
          space();
          if (text[at] === ']') return at++, out;
          expect(',', 'a comma or a closing bracket');
        }
      }
      case '"': return string();
      case 't': return word('true', true);
      case 'f': return word('false', false);
      case 'n': return word('null', null);
      case undefined: return fail('the text ends too early');
      default: return number();
    }
  };
  const read = value(0);
  space();
  if (at < text.length) fail('there is more after the value');
  return read;
}

/** A number where it says the same as the digits, else the digits. */
function numeric(text: string): number | Digits {
  const number = Number(text);
  return String(number) === text ? number : new Digits(text);
}

/** The value as a text, in lines where `indent` says so. */
export function write(value: unknown, indent = 0, level = 0): string {
  if (value instanceof Digits) return value.text;
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'number' && !Number.isFinite(value)) return 'null';
  if (typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  const [open, close] = indent ? [`\n${' '.repeat(indent * (level + 1))}`, `\n${' '.repeat(indent * level)}`] : ['', ''];
  const list = Array.isArray(value);
  const parts = list
    ? value.map((it) => write(it, indent, level + 1))
    : Object.entries(value).filter(([, it]) => it !== undefined)
      .map(([name, it]) => `${JSON.stringify(name)}:${indent ? ' ' : ''}${write(it, indent, level + 1)}`);
  if (parts.length === 0) return list ? '[]' : '{}';
  return (list ? '[' : '{') + open + parts.join(`,${open}`) + close + (list ? ']' : '}');
}
