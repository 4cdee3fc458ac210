/** `npm run simulate -- --package locks --seeds 10000`: builds what the simulation runs, then runs it. Its options are in its `main.ts`. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pnpm, requireNode, root } from './pnpm.mjs';

requireNode();
const built =
  pnpm(['install', '--frozen-lockfile', '--reporter=silent']) ||
  pnpm(['exec', 'turbo', 'run', 'build', '--filter=@mortise/simulate', '--output-logs=errors-only']);
if (built !== 0) process.exit(built);
const program = join(root, 'tooling/simulate/dist/main.js');
process.exit(
  spawnSync(process.execPath, [program, ...process.argv.slice(2)], { stdio: 'inherit' }).status ?? 1,
);
