// Decision tables of a model, as far as they are shown. What a model means is the engine's to say.

export interface Rule {
  inputs: string[];
  outputs: string[];
  annotations: string[];
}

export interface DecisionShown {
  id: string;
  name: string;
  /** The decisions that it is made from. */
  requires: string[];
  /** What it is worked out by, where that is no table. */
  expression: string | null;
  table: { policy: string; inputs: string[]; outputs: string[]; annotations: string[]; rules: Rule[] } | null;
}

const children = (of: Element | null | undefined, name: string) => [...(of?.children ?? [])].filter((it) => it.localName === name);
const child = (of: Element | null | undefined, name: string) => children(of, name)[0];
const text = (of: Element | null | undefined) => child(of, 'text')?.textContent?.trim() ?? '';

export function decisions(xml: string): DecisionShown[] {
  const read = new DOMParser().parseFromString(xml, 'application/xml');
  if (read.querySelector('parsererror')) return [];
  return children(read.documentElement, 'decision').map((it) => {
    const table = child(it, 'decisionTable');
    const aggregation = table?.getAttribute('aggregation');
    return {
      id: it.getAttribute('id') ?? '',
      name: it.getAttribute('name') ?? it.getAttribute('id') ?? '',
      requires: children(it, 'informationRequirement').flatMap((one) => children(one, 'requiredDecision')).map((one) => one.getAttribute('href')?.replace(/^.*#/, '') ?? ''),
      expression: table ? null : (child(it, 'literalExpression') ? text(child(it, 'literalExpression')) : null),
      table: table
        ? {
            policy: [table.getAttribute('hitPolicy') ?? 'UNIQUE', aggregation].filter(Boolean).join(' '),
            inputs: children(table, 'input').map((one) => one.getAttribute('label') || text(child(one, 'inputExpression'))),
            outputs: children(table, 'output').map((one) => one.getAttribute('label') || one.getAttribute('name') || (it.getAttribute('name') ?? '')),
            annotations: children(table, 'annotation').map((one) => one.getAttribute('name') ?? ''),
            rules: children(table, 'rule').map((one) => ({
              inputs: children(one, 'inputEntry').map(text),
              outputs: children(one, 'outputEntry').map(text),
              annotations: children(one, 'annotationEntry').map(text),
            })),
          }
        : null,
    };
  });
}

/** A decision and all that it is made from: what is made first comes first. */
export function chain(all: DecisionShown[], id: string): DecisionShown[] {
  const by = new Map(all.map((it) => [it.id, it]));
  const found: DecisionShown[] = [];
  const visit = (id: string, way: Set<string>) => {
    const it = by.get(id);
    if (!it || found.includes(it) || way.has(id)) return;
    for (const one of it.requires) visit(one, new Set([...way, id]));
    found.push(it);
  };
  visit(id, new Set());
  return found;
}
