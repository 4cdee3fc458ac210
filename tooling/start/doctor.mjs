/** `npm run doctor`: builds the program, then examines the Redis of the environment; see apps/common/src/doctor. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pnpm, requireNode, root } from './pnpm.mjs';

requireNode();
const code =
  pnpm(['install', '--frozen-lockfile', '--reporter=silent']) ||
  pnpm(['exec', 'turbo', 'run', 'build', '--filter=@mortise/app-common', '--output-logs=errors-only']);
if (code !== 0) process.exit(code);
const main = join(root, 'apps/common/dist/doctor/main.js');
process.exit(spawnSync(process.execPath, [main], { stdio: 'inherit' }).status ?? 1);
