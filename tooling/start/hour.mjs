/** `npm run hour -- [--minutes 60] [--seed n] [--on cluster|sentinel]`: all workloads at once, and a fault every 20 s. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pnpm, requireNode, root } from './pnpm.mjs';

requireNode();
const built =
  pnpm(['install', '--frozen-lockfile', '--reporter=silent']) ||
  pnpm(['exec', 'turbo', 'run', 'build', '--filter=@mortise/faults', '--output-logs=errors-only']);
if (built !== 0) process.exit(built);
// Its processes and servers end with it.
const main = join(root, 'tooling/faults/dist/hour/main.js');
const stdio = ['inherit', 'inherit', 'inherit', 'ipc'];
const hour = spawn(process.execPath, [main, ...process.argv.slice(2)], { stdio });
const [code] = await once(hour, 'exit');
process.exit(code ?? 1);
