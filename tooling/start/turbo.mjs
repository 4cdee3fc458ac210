/** `npm run build` and the like: installs, then runs a turbo task; works in a fresh clone. */
import { pnpm, requireNode } from './pnpm.mjs';

requireNode();
const installed = pnpm(['install', '--frozen-lockfile', '--reporter=silent']);
process.exit(installed || pnpm(['exec', 'turbo', 'run', ...process.argv.slice(2)]));
