import { describe, expect, test } from 'vitest';
import { BadJson, Digits, parse, write } from './json';

describe('JSON', () => {
  test('keeps every digit', () => {
    for (const text of ['12345678901234567890123456789012.34', '0.10', '1e400', '-0', '9007199254740993', '1.0']) {
      expect(write(parse(text))).toBe(text);
    }
    expect(parse('0.10')).toBeInstanceOf(Digits);
    expect(parse('250')).toBe(250);
  });
  test('reads what JSON.parse reads', () => {
    for (const text of ['{}', '[]', '[1,"a\\u00e9\\n",null,true,false,{"b":[2.5]}]', '"\\ud83d\\ude00"', ' { "a" : 1 } ']) {
      expect(JSON.parse(write(parse(text)))).toEqual(JSON.parse(text));
    }
  });
  test('says where it is wrong', () => {
    for (const text of ['', '{', '{"a"}', '[1,]', '01', 'nul', '"a', '1 2', "{'a':1}", '\u00001', '"\n"', '[1', '+1', '.5']) {
      expect(() => parse(text), text).toThrow(BadJson);
    }
    try {
      parse('{\n  "a": tru\n}');
    } catch (error) {
      expect(error).toMatchObject({ line: 2, column: 8 });
    }
    expect(() => parse('['.repeat(100000))).toThrow('nested too deeply');
  });
  test('names are only names', () => {
    expect(Object.keys(parse('{"__proto__": 1, "constructor": 2}') as object)).toEqual(['__proto__', 'constructor']);
  });
  test('writes in lines', () => {
    expect(write({ a: [1, { b: 'c' }], d: {} }, 2)).toBe('{\n  "a": [\n    1,\n    {\n      "b": "c"\n    }\n  ],\n  "d": {}\n}');
  });
});
