// After the build: what it was made from, and the licences of what is in it.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const dist = join(root, '../crates/ui/dist');

function list(below) {
  return readdirSync(join(root, below), { withFileTypes: true }).flatMap((it) =>
    it.isDirectory() ? list(`${below}${it.name}/`) : [`${below}${it.name}`]);
}

// The test of crates/ui works out the same.
const names = ['index.html', 'package-lock.json', 'package.json', 'scripts/finish.mjs', 'svelte.config.js',
  'tsconfig.json', 'vite.config.ts', ...list('src/'), ...list('public/')].sort();
const hash = createHash('sha256');
for (const name of names) {
  const bytes = readFileSync(join(root, name));
  hash.update(`${name}\n${bytes.length}\n`).update(bytes);
}
writeFileSync(join(dist, 'source.sha256'), `${hash.digest('hex')}\n`);

// What ends up in the page, as the build has seen it. The rest of what is installed builds and tests it.
const shipped = JSON.parse(readFileSync(join(root, 'node_modules/.shipped.json'), 'utf8'));
const licences = shipped.map((name) => {
  const at = join(root, 'node_modules', name);
  const about = JSON.parse(readFileSync(join(at, 'package.json'), 'utf8'));
  const file = readdirSync(at).find((it) => /^licen[cs]e/i.test(it));
  const text = file ? readFileSync(join(at, file), 'utf8').trim() : `Licence: ${about.license}`;
  return `${name} ${about.version}\n\n${text}\n`;
});
writeFileSync(join(dist, 'licences.txt'), licences.join(`\n${'-'.repeat(80)}\n\n`));
