// Forms of form-js. They are filled in on a page of ours: colours are ours, and what could bring script or frames of
// somebody else into the page is left out.
import { Form } from '@bpmn-io/form-js-viewer';
import css from './forms.css?url';
import { sheet } from './sheet';

export interface Filled {
  data: { [name: string]: unknown };
  errors: { [id: string]: string[] };
}

interface Component {
  type?: string;
  components?: Component[];
  [name: string]: unknown;
}

/** Components that show what the form brings along as a document of its own. */
const FOREIGN = new Set(['html', 'iframe', 'documentPreview']);

/** Words of a form are Markdown; tags in them are shown as they are written. */
const plain = (text: unknown) => (typeof text === 'string' ? text.replace(/<(?=[a-z/!?])/gi, '&lt;') : text);

function tame(it: Component): Component {
  return { ...it, ...(it.type === 'text' ? { text: plain(it.text) } : {}), ...(it.components ? { components: it.components.filter((one) => !FOREIGN.has(one.type ?? '')).map(tame) } : {}) };
}

export interface Shown {
  submit(): Filled;
  destroy(): void;
}

export async function show(container: HTMLElement, schema: unknown, data: { [name: string]: unknown }, changed: (data: { [name: string]: unknown }) => void, submitted: () => void): Promise<Shown> {
  await sheet(css);
  const form = new Form({ container });
  await form.importSchema(tame(schema as Component) as never, data as never);
  form.on('changed', (event: { data: { [name: string]: unknown } }) => changed(event.data));
  // Enter in a field and a button of the form itself mean the same as the button of the page.
  form.on('submit', (event: unknown) => {
    if (!quiet) submitted();
    return event;
  });
  let quiet = false;
  return {
    submit: () => {
      quiet = true;
      const filled = form.submit() as Filled;
      quiet = false;
      return filled;
    },
    destroy: () => form.destroy(),
  };
}
