// The editor of models: bpmn.io's canvas, with properties and diagnostics of ours. What others have put into a model
// stays in it.
import Modeler from 'bpmn-js/lib/Modeler';
import css from './modeler.css?url';
import { sheet } from './sheet';

const URI = 'urn:travertine:bpmn:1';

/** Something of the model, as far as it is read here. */
interface Node {
  $type: string;
  $attrs: Record<string, string>;
  $parent?: Node;
  id?: string;
  get(name: string): unknown;
  set(name: string, value: unknown): void;
}
interface Shape {
  id: string;
  type: string;
  businessObject: Node;
  labelTarget?: Shape;
}
interface Layout {
  shapes: { element: string; x: number; y: number; width: number; height: number; expanded?: boolean }[];
  edges: { element: string; points: { x: number; y: number }[] }[];
}

export interface Property {
  name: string;
  kind: 'text' | 'area' | 'check' | 'select';
  value: string;
  options?: string[];
}
export interface Chosen {
  id: string;
  type: string;
  properties: Property[];
}
export interface Mark {
  element: string;
  severity: string;
  text: string;
}
export interface Editor {
  xml(): Promise<string>;
  set(name: string, value: string): void;
  mark(marks: Mark[]): void;
  /** The element of the diagram that something of the model belongs to. */
  owner(element: string | null): string | null;
  select(element: string): void;
  fit(): void;
  undo(): void;
  redo(): void;
  destroy(): void;
}

const TIMERS = ['timeDuration', 'timeDate', 'timeCycle'];
const WORK = ['bpmn:ServiceTask', 'bpmn:SendTask', 'bpmn:BusinessRuleTask'];

export async function edit(container: HTMLElement, xml: string, layout: (() => Promise<Layout>) | null, changed: () => void, chose: (chosen: Chosen) => void): Promise<Editor> {
  await sheet(css);
  const modeler = new Modeler({ container });
  const moddle = modeler.get('moddle') as { create(type: string, values?: object): Node; fromXML(xml: string): Promise<{ rootElement: Node; elementsById: Record<string, Node> }>; toXML(root: Node, how?: object): Promise<{ xml: string }> };

  async function laidOut(): Promise<string> {
    const { rootElement, elementsById } = await moddle.fromXML(xml);
    const drawn = rootElement.get('diagrams') as Node[];
    if (drawn.length > 0 || !layout) return xml;
    const all = await layout();
    const root = (rootElement.get('rootElements') as Node[]).find((it) => /Process|Collaboration/.test(it.$type));
    const bounds = (it: object) => moddle.create('dc:Bounds', it);
    const plane = moddle.create('bpmndi:BPMNPlane', { id: 'plane', bpmnElement: root });
    const parts = [
      ...all.shapes.filter((it) => elementsById[it.element]).map((it) => moddle.create('bpmndi:BPMNShape', { id: `${it.element}_di`, bpmnElement: elementsById[it.element], bounds: bounds({ x: it.x, y: it.y, width: it.width, height: it.height }), ...(it.expanded && /SubProcess|Transaction/.test(elementsById[it.element]?.$type ?? '') ? { isExpanded: true } : {}) })),
      ...all.edges.filter((it) => elementsById[it.element]).map((it) => moddle.create('bpmndi:BPMNEdge', { id: `${it.element}_di`, bpmnElement: elementsById[it.element], waypoint: it.points.map((point) => moddle.create('dc:Point', point)) })),
    ];
    plane.set('planeElement', parts);
    rootElement.set('diagrams', [moddle.create('bpmndi:BPMNDiagram', { id: 'diagram', plane })]);
    return (await moddle.toXML(rootElement, { format: true })).xml;
  }
  await modeler.importXML(await laidOut());

  const canvas = modeler.get('canvas') as { zoom(how: string, at?: string): void; addMarker(id: string, name: string): void; removeMarker(id: string, name: string): void; getRootElement(): Shape; scrollToElement(id: string): void };
  const registry = modeler.get('elementRegistry') as { get(id: string): Shape | undefined; filter(wanted: (shape: Shape) => boolean): Shape[] };
  const selection = modeler.get('selection') as { get(): Shape[]; select(shape: Shape): void };
  const overlays = modeler.get('overlays') as { add(id: string, type: string, what: object): void; remove(which: object): void };
  const modeling = modeler.get('modeling') as { updateProperties(shape: Shape, values: object): void; updateModdleProperties(shape: Shape, node: Node, values: object): void };
  const stack = modeler.get('commandStack') as { undo(): void; redo(): void };
  const definitions = modeler.getDefinitions() as unknown as Node;

  /** What stands before our names in this model. */
  function prefix(): string {
    const known = Object.entries(definitions.$attrs).find(([name, value]) => value === URI && name.startsWith('xmlns:'));
    if (known) return known[0].slice('xmlns:'.length);
    definitions.$attrs['xmlns:tv'] = URI;
    return 'tv';
  }
  const ours = (node: Node, name: string) => String(node.$attrs[`${prefix()}:${name}`] ?? '');
  const current = (): Shape => {
    const shape = selection.get()[0] ?? canvas.getRootElement();
    return shape.labelTarget ?? shape;
  };
  const text = (value: unknown) => (value === undefined || value === null ? '' : String(value));
  const body = (node: unknown) => text((node as Node | undefined)?.get?.('body'));
  const event = (node: Node, type: string) => ((node.get('eventDefinitions') as Node[] | undefined) ?? []).find((it) => it.$type === type);
  const named = (node: Node): [Node, string] | null => {
    if (node.$type === 'bpmn:ReceiveTask' || node.$type === 'bpmn:SendTask') return [node, 'message'];
    for (const [type, reference] of [['bpmn:MessageEventDefinition', 'messageRef'], ['bpmn:SignalEventDefinition', 'signalRef'], ['bpmn:ErrorEventDefinition', 'errorRef'], ['bpmn:EscalationEventDefinition', 'escalationRef']] as const) {
      const found = /Event$/.test(node.$type) ? event(node, type) : undefined;
      if (found) return [found, reference];
    }
    return null;
  };

  function properties(shape: Shape): Property[] {
    const node = shape.businessObject;
    const all: Property[] = [{ name: 'id', kind: 'text', value: text(node.id) }];
    const add = (name: string, value: string, kind: Property['kind'] = 'text', options?: string[]) => all.push({ name, kind, value, ...(options ? { options } : {}) });
    if (node.$type !== 'bpmn:Collaboration') add('name', text(node.get('name')));
    if (node.$type === 'bpmn:Process') add('isExecutable', text(node.get('isExecutable') ?? false), 'check');
    if (WORK.includes(node.$type)) for (const name of ['jobType', 'retries']) add(name, ours(node, name));
    if (node.$type === 'bpmn:BusinessRuleTask') for (const name of ['decisionRef', 'resultVariable']) add(name, ours(node, name));
    if (node.$type === 'bpmn:UserTask') for (const name of ['assignee', 'candidateGroups', 'dueDate', 'form']) add(name, ours(node, name));
    if (node.$type === 'bpmn:ScriptTask') {
      add('scriptFormat', text(node.get('scriptFormat')));
      add('script', text(node.get('script')), 'area');
    }
    if (node.$type === 'bpmn:CallActivity') add('calledElement', text(node.get('calledElement')));
    if (node.$type === 'bpmn:SequenceFlow') add('condition', body(node.get('conditionExpression')), 'area');
    const timer = /Event$/.test(node.$type) ? event(node, 'bpmn:TimerEventDefinition') : undefined;
    if (timer) {
      const kind = TIMERS.find((it) => timer.get(it)) ?? timers.get(timer) ?? 'timeDuration';
      add('timer', kind, 'select', TIMERS);
      add('time', body(timer.get(kind)));
    }
    const reference = named(node);
    if (reference) {
      const to = reference[0].get(reference[1] === 'message' ? 'messageRef' : reference[1]) as Node | undefined;
      add(reference[1] === 'errorRef' ? 'errorCode' : reference[1] === 'escalationRef' ? 'escalationCode' : reference[1] === 'signalRef' ? 'signal' : 'message', text(to?.get(reference[1] === 'errorRef' ? 'errorCode' : reference[1] === 'escalationRef' ? 'escalationCode' : 'name')));
    }
    return all;
  }
  /** The kind of timer that was chosen before anything was written. */
  const timers = new Map<Node, string>();

  function expression(parent: Node, value: string): Node | undefined {
    if (value === '') return undefined;
    const made = moddle.create('bpmn:FormalExpression', { body: value });
    made.$parent = parent;
    return made;
  }
  function set(name: string, value: string): void {
    const shape = current();
    const node = shape.businessObject;
    if (name === 'id') {
      if (/^[A-Za-z_][\w.-]*$/.test(value) && value !== node.id) modeling.updateProperties(shape, { id: value });
    } else if (name === 'name' || name === 'calledElement' || name === 'scriptFormat' || name === 'script') {
      modeling.updateProperties(shape, { [name]: value || undefined });
    } else if (name === 'isExecutable') {
      modeling.updateProperties(shape, { isExecutable: value === 'true' });
    } else if (name === 'condition') {
      modeling.updateProperties(shape, { conditionExpression: expression(node, value) });
    } else if (name === 'timer' || name === 'time') {
      const timer = event(node, 'bpmn:TimerEventDefinition');
      if (!timer) return;
      const before = TIMERS.find((it) => timer.get(it)) ?? timers.get(timer) ?? 'timeDuration';
      const kind = name === 'timer' ? value : before;
      timers.set(timer, kind);
      const written = name === 'time' ? value : body(timer.get(before));
      modeling.updateModdleProperties(shape, timer, { ...Object.fromEntries(TIMERS.map((it) => [it, undefined])), [kind]: expression(timer, written) });
    } else if (['message', 'signal', 'errorCode', 'escalationCode'].includes(name)) {
      refer(shape, node, value);
    } else {
      modeling.updateProperties(shape, { [`${prefix()}:${name}`]: value || undefined });
    }
  }
  /** Lets a node refer to the message, signal, error or escalation of this name, which is made where there is none. */
  function refer(shape: Shape, node: Node, value: string): void {
    const reference = named(node);
    if (!reference) return;
    const [holder, kind] = reference;
    const attribute = kind === 'message' ? 'messageRef' : kind;
    const type = { messageRef: 'bpmn:Message', signalRef: 'bpmn:Signal', errorRef: 'bpmn:Error', escalationRef: 'bpmn:Escalation' }[attribute] ?? 'bpmn:Message';
    const key = attribute === 'errorRef' ? 'errorCode' : attribute === 'escalationRef' ? 'escalationCode' : 'name';
    const roots = definitions.get('rootElements') as Node[];
    let target = value === '' ? undefined : roots.find((it) => it.$type === type && it.get(key) === value);
    if (!target && value !== '') {
      const ids = new Set(roots.map((it) => it.id));
      let number = 1;
      const stem = type.slice('bpmn:'.length).toLowerCase();
      while (ids.has(`${stem}-${number}`)) number++;
      target = moddle.create(type, { id: `${stem}-${number}`, name: value, ...(key === 'name' ? {} : { [key]: value }) });
      target.$parent = definitions;
      roots.push(target);
    }
    modeling.updateModdleProperties(shape, holder, { [attribute]: target });
  }

  const tell = () => {
    const shape = current();
    chose({ id: shape.id, type: shape.businessObject.$type, properties: properties(shape) });
  };
  modeler.on('selection.changed', tell);
  modeler.on('commandStack.changed', () => {
    changed();
    tell();
  });
  let marked: Mark[] = [];
  canvas.zoom('fit-viewport', 'auto');
  tell();
  return {
    xml: async () => (await modeler.saveXML({ format: true })).xml ?? '',
    set,
    mark(marks) {
      for (const it of marked) {
        if (!registry.get(it.element)) continue;
        canvas.removeMarker(it.element, 'tv-error');
        canvas.removeMarker(it.element, 'tv-warning');
      }
      overlays.remove({ type: 'diagnostic' });
      // What is wrong with the whole process stands in the report alone.
      marked = marks.filter((it) => registry.get(it.element) && it.element !== canvas.getRootElement().id);
      for (const it of marked) {
        canvas.addMarker(it.element, it.severity === 'error' ? 'tv-error' : 'tv-warning');
        const html = document.createElement('div');
        html.className = `tv-mark ${it.severity}`;
        html.dataset.mark = it.element;
        html.title = it.text;
        html.textContent = '!';
        overlays.add(it.element, 'diagnostic', { position: { top: -9, right: 9 }, html });
      }
    },
    owner(element) {
      if (element === null || registry.get(element)) return element;
      const parts = (node: Node) => ['eventDefinitions', 'loopCharacteristics', 'conditionExpression', 'ioSpecification'].flatMap((name) => (node as unknown as Record<string, Node | Node[] | undefined>)[name] ?? []);
      return registry.filter((it) => !it.labelTarget && parts(it.businessObject).some((one) => one.id === element))[0]?.id ?? element;
    },
    select(element) {
      const shape = registry.get(element);
      if (!shape) return;
      selection.select(shape);
      canvas.scrollToElement(element);
    },
    fit: () => canvas.zoom('fit-viewport', 'auto'),
    undo: () => stack.undo(),
    redo: () => stack.redo(),
    destroy: () => modeler.destroy(),
  };
}
