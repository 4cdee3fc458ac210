/** Builds the page into dist/, below the address /console/. A host that serves it elsewhere replaces that address in index.html. */
import { defineConfig } from 'vite';

export default defineConfig({
  base: '/console/',
  build: {
    target: 'es2022',
    outDir: 'dist',
    emptyOutDir: true,
    // The content security policy allows no code and no style inside a page, and no data: but of pictures.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
