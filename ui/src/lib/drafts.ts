// Models that somebody is making, in this browser.
import { keep, kept } from './prefs.svelte';

export interface Draft {
  name: string;
  xml: string;
  saved: string;
}

const PREFIX = 'travertine.model.';

export function drafts(): { id: string; draft: Draft }[] {
  const all: { id: string; draft: Draft }[] = [];
  try {
    for (let at = 0; at < localStorage.length; at++) {
      const key = localStorage.key(at);
      const draft = key?.startsWith(PREFIX) ? draftOf(key.slice(PREFIX.length)) : null;
      if (key && draft) all.push({ id: key.slice(PREFIX.length), draft });
    }
  } catch {
    // A browser that keeps nothing has none.
  }
  return all.sort((a, b) => b.draft.saved.localeCompare(a.draft.saved));
}

export function draftOf(id: string): Draft | null {
  try {
    const it = JSON.parse(kept(`model.${id}`) ?? 'null') as Draft | null;
    return it && typeof it.xml === 'string' ? it : null;
  } catch {
    return null;
  }
}

/** Keeps it, and says whether the browser did. */
export function keepDraft(id: string, draft: Draft | null): boolean {
  keep(`model.${id}`, draft && JSON.stringify(draft));
  return draft === null || kept(`model.${id}`) !== null;
}

export function freshId(name: string): string {
  const stem = name.replace(/\.bpmn$/, '').replace(/[^\w-]+/g, '-').slice(0, 40) || 'model';
  if (!draftOf(stem)) return stem;
  let number = 2;
  while (draftOf(`${stem}-${number}`)) number++;
  return `${stem}-${number}`;
}

/** A model with nothing but its beginning. */
export function blank(id: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?>
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:bpmndi="http://www.omg.org/spec/BPMN/20100524/DI" xmlns:dc="http://www.omg.org/spec/DD/20100524/DC" xmlns:di="http://www.omg.org/spec/DD/20100524/DI" xmlns:tv="urn:travertine:bpmn:1" id="${id}-model" targetNamespace="urn:${id}">
  <process id="${id}" isExecutable="true">
    <startEvent id="start" />
  </process>
  <bpmndi:BPMNDiagram id="diagram">
    <bpmndi:BPMNPlane id="plane" bpmnElement="${id}">
      <bpmndi:BPMNShape id="start_di" bpmnElement="start">
        <dc:Bounds x="160" y="120" width="36" height="36" />
      </bpmndi:BPMNShape>
    </bpmndi:BPMNPlane>
  </bpmndi:BPMNDiagram>
</definitions>
`;
}
