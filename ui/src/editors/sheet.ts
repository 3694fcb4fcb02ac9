// Styles that only editors need come with them.
const asked = new Map<string, Promise<void>>();

export function sheet(url: string): Promise<void> {
  const before = asked.get(url);
  if (before) return before;
  const loaded = new Promise<void>((done) => {
    const link = document.createElement('link');
    link.rel = 'stylesheet';
    link.href = url;
    // Without its style it is ugly and works.
    link.onload = link.onerror = () => done();
    document.head.append(link);
  });
  asked.set(url, loaded);
  return loaded;
}
