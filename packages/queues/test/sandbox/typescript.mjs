/** For threads of tests, which run the sources as jest does: `x.js` means `x.ts`, and types are taken out. */
import { register } from 'node:module';

register('./typescript-hooks.mjs', import.meta.url);
