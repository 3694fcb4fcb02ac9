import { expect, test } from 'vitest';
import { diff } from './diff';

test('lines that are gone come before those that are new', () => {
  const signs = { same: ' ', gone: '-', new: '+' };
  expect(diff('a\nb\nc', 'a\nx\nc\nd').map((it) => signs[it.kind] + it.text)).toEqual([' a', '-b', '+x', ' c', '+d']);
  expect(diff('', 'a').map((it) => signs[it.kind] + it.text)).toEqual(['-', '+a']);
});
