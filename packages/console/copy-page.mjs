/** Copies the built page into dist/page. The handler compresses it, so the compressed copies stay behind. */
import { cpSync, existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const BUILT = fileURLToPath(new URL('../../apps/api/console/dist', import.meta.url));
const OWN = fileURLToPath(new URL('dist/page', import.meta.url));

if (!existsSync(BUILT)) throw new Error('the page is not built: npm run build');
cpSync(BUILT, OWN, { recursive: true, filter: (file) => !file.endsWith('.gz') });
