// Where the page is. All that can be chosen is in the address, relative to <base>.

/** Where the page begins, below whatever path a proxy has put it at. */
const root = new URL(document.baseURI).pathname;
// Later addresses are deeper or less deep than the first one; its base stays right as an absolute one.
document.querySelector('base')?.setAttribute('href', root);

class Route {
  path = $state(here());
  query = $state(new URLSearchParams(location.search));
  /** Grows with each step, so that pages can say that they were opened anew. */
  visit = $state(0);

  constructor() {
    addEventListener('popstate', () => this.#read());
  }
  #read(): void {
    this.path = here();
    this.query = new URLSearchParams(location.search);
    this.visit++;
  }
  /** Goes to an address of the page, such as `instances/12`. */
  go(to: string, how: { replace?: boolean } = {}): void {
    const url = href(to);
    if (how.replace) history.replaceState(null, '', url);
    else history.pushState(null, '', url);
    const path = this.path;
    this.#read();
    if (path !== this.path) scrollTo(0, 0);
  }
  /** The same page with other choices; those that are null are not in the address. */
  set(choices: Record<string, string | null>, how: { replace?: boolean } = {}): void {
    const query = new URLSearchParams(this.query);
    for (const [name, value] of Object.entries(choices)) {
      if (value === null || value === '') query.delete(name);
      else query.set(name, value);
    }
    const text = query.toString();
    this.go(this.path + (text ? `?${text}` : ''), how);
  }
  get(name: string): string | null {
    return this.query.get(name);
  }
  /** The parts of the path. */
  parts = $derived(this.path.split('/').map(decoded));
}

function here(): string {
  return location.pathname.startsWith(root) ? location.pathname.slice(root.length) : '';
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** An address of the page, as links have it. */
export function href(to: string): string {
  return root + to;
}

export const route = new Route();

/** Takes clicks on links within the page. Those that ask for another tab are the browser's. */
export function follow(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element | null)?.closest?.('a');
  if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
  if (!link.pathname.startsWith(root) || link.pathname.startsWith(`${root}assets/`) || /\.(txt|yaml|xml|svg)$/.test(link.pathname)) return;
  event.preventDefault();
  route.go(link.pathname.slice(root.length) + link.search);
}
