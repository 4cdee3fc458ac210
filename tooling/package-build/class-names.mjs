/**
 * A class that uses its own name, `new Lease(…)` in one of its methods, is `var Lease = class _Lease {…}` in a bundle of esbuild.
 * Its `name` would then be `_Lease`, and so would the name that Node and test runners print for such an error. In the class, both
 * names mean the class, so the inner one can be the outer one.
 *
 * Rejected: `keepNames` of esbuild. It sets the name of every function, each time that the function is made.
 */
import { readFileSync, writeFileSync } from 'node:fs';

/**
 * @param {string} code a bundle
 * @returns {string}
 */
function withClassNames(code) {
  const names = Array.from(code.matchAll(/^var (\w+) = class _\1\b/gm), ([, name]) => name);
  return names.length === 0 ? code : code.replaceAll(new RegExp(`\\b_(${names.join('|')})\\b`, 'g'), '$1');
}

/** @type {import('esbuild').Plugin} */
export const classNames = {
  name: 'class names',
  setup(build) {
    build.initialOptions.metafile = true;
    build.onEnd(({ errors, metafile }) => {
      if (errors.length > 0) return;
      for (const file of Object.keys(metafile?.outputs ?? {})) {
        writeFileSync(file, withClassNames(readFileSync(file, 'utf8')));
      }
    });
  },
};
