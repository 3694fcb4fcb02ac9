// Pictures from the server become elements of the page, one by one: what is not on these lists is left out, so that
// nothing in a model can become more than a picture. Its colours are variables, which the page sets.

const SVG = 'http://www.w3.org/2000/svg';
const TAGS = new Set(['svg', 'g', 'path', 'text', 'tspan', 'rect', 'circle', 'ellipse', 'line', 'polyline', 'polygon', 'title', 'desc', 'defs', 'marker', 'use', 'clipPath']);
const ATTRIBUTES = new Set(['class', 'd', 'x', 'y', 'x1', 'y1', 'x2', 'y2', 'cx', 'cy', 'r', 'rx', 'ry', 'width', 'height', 'points',
  'transform', 'viewBox', 'fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-linecap', 'stroke-linejoin', 'paint-order',
  'font-size', 'font-family', 'font-weight', 'text-anchor', 'dominant-baseline', 'opacity',
  'marker-start', 'marker-mid', 'marker-end', 'markerWidth', 'markerHeight', 'refX', 'refY', 'orient', 'clip-path',
  'aria-label', 'aria-hidden', 'aria-roledescription', 'data-element', 'data-tokens', 'data-entered', 'data-incidents', 'data-kind',
  'data-name', 'data-box', 'data-diagnostic', 'data-taken', 'data-source', 'data-target']);
/** Only what is in the same picture may be pointed to. */
const ELSEWHERE = /url\(\s*(?!["']?#)/i;

export class BadPicture extends Error {}

/** The picture, to be put into the page. */
export function picture(text: string): SVGSVGElement {
  const read = new DOMParser().parseFromString(text, 'image/svg+xml');
  const root = read.documentElement;
  if (root.namespaceURI !== SVG || root.localName !== 'svg' || read.querySelector('parsererror')) {
    throw new BadPicture('the picture cannot be read');
  }
  return copy(root) as SVGSVGElement;
}

function copy(from: Element): SVGElement | null {
  if (from.namespaceURI !== SVG || !TAGS.has(from.localName)) return null;
  const kind = from.getAttribute('class') ?? '';
  // The page has words for what signs mean.
  if (kind === 'legend') return null;
  const to = document.createElementNS(SVG, from.localName) as SVGElement;
  for (const { name, value } of from.attributes) {
    if (ELSEWHERE.test(value)) continue;
    if (ATTRIBUTES.has(name)) to.setAttribute(name, value);
    else if (name === 'id') to.setAttribute('id', `picture-${value}`);
    else if (name === 'href' && from.localName === 'use' && value.startsWith('#')) to.setAttribute('href', `#picture-${value.slice(1)}`);
  }
  // What the server says of an element stays apart from what the page says of it now.
  const said = from.getAttribute('aria-label');
  if (said && to.dataset.element) to.dataset.said = said;
  if (kind === 'marks') {
    // Signs at an element are no elements.
    to.dataset.marks = to.dataset.element ?? '';
    for (const name of ['element', 'tokens', 'entered', 'incidents']) delete to.dataset[name];
    to.setAttribute('aria-hidden', 'true');
  }
  for (const child of from.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) to.append(child.nodeValue ?? '');
    else if (child.nodeType === Node.ELEMENT_NODE) {
      const copied = copy(child as Element);
      if (copied) to.append(copied);
    }
  }
  return to;
}
