// What differs between two texts, line by line.

export interface Line {
  kind: 'same' | 'gone' | 'new';
  text: string;
}

/** Beyond so many pairs of lines, all of the one and all of the other is shown. */
const PAIRS_MAX = 1_000_000;

export function diff(before: string, after: string): Line[] {
  const [a, b] = [before.split('\n'), after.split('\n')];
  if (a.length * b.length > PAIRS_MAX) return [...a.map((text) => ({ kind: 'gone' as const, text })), ...b.map((text) => ({ kind: 'new' as const, text }))];
  // How many lines the rests have in common.
  const common: Uint32Array[] = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  const at = (i: number, j: number) => common[i]?.[j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) (common[i] as Uint32Array)[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  }
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: 'same', text: a[i++] as string });
      j++;
    } else if (i < a.length && (j >= b.length || at(i + 1, j) >= at(i, j + 1))) lines.push({ kind: 'gone', text: a[i++] as string });
    else lines.push({ kind: 'new', text: b[j++] as string });
  }
  return lines;
}
