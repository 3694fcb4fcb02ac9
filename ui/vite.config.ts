import { svelte } from '@sveltejs/vite-plugin-svelte';
import { writeFileSync } from 'node:fs';
import { defineConfig, type Plugin } from 'vite';

// `npm run dev` shows the sources against a running server.
const server = process.env.TRAVERTINE ?? 'http://127.0.0.1:8080';

/** What only editors and forms need lies apart, so that a program can be built without it. */
const EDITORS = /\/ui\/src\/editors\/|\/node_modules\/(?!svelte\/|esm-env\/|clsx\/)/;
const PAGE = /\/ui\/src\/(?!editors\/)/;
const folder = (modules: readonly string[]) => (modules.some((it) => EDITORS.test(it)) && !modules.some((it) => PAGE.test(it)) ? 'editors' : 'assets');

/** Notes which packages there is something of in the page, for their licences. */
const shipped: Plugin = {
  name: 'shipped',
  generateBundle(_, bundle) {
    const names = new Set(['bpmn-js', '@bpmn-io/form-js-viewer']);
    for (const it of Object.values(bundle)) {
      if (it.type !== 'chunk') continue;
      for (const id of it.moduleIds) {
        const name = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1];
        if (name) names.add(name);
      }
    }
    writeFileSync('node_modules/.shipped.json', JSON.stringify([...names].sort()));
  },
};

export default defineConfig({
  // Everything is relative: the server says in <base> where the page is.
  base: './',
  plugins: [svelte(), shipped],
  build: {
    outDir: '../crates/ui/dist',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    chunkSizeWarningLimit: 800,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        codeSplitting: { groups: [{ name: 'index', test: /\/ui\/src\/(main|App|lib\/(?!dmn|drafts|batch|diff|actions)|messages|parts\/(Command|Shown|State|Time|Dialog|Drop|Help|Login|Palette|Drawn|Empty|Do)|pages\/(Dashboard|Missing|index))|\/node_modules\/(svelte|esm-env|clsx)\// }] },
        entryFileNames: 'assets/[name]-[hash].js',
        chunkFileNames: (chunk) => `${folder(chunk.moduleIds)}/[name]-[hash].js`,
        assetFileNames: (asset) => `${asset.originalFileNames.some((it) => /src\/editors\/|bpmn-font/.test(it)) ? 'editors' : 'assets'}/[name]-[hash][extname]`,
      },
    },
  },
  server: { proxy: { '/api': server } },
});
