/** `npm run bench -- [name …]`: builds what is measured, then measures. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pnpm, requireNode, root } from './pnpm.mjs';

requireNode();
const code =
  pnpm(['install', '--frozen-lockfile', '--reporter=silent']) ||
  pnpm(['exec', 'turbo', 'run', 'build', '--filter=@mortise/bench', '--output-logs=errors-only']);
if (code !== 0) process.exit(code);
const main = join(root, 'tooling/bench/dist/main.js');
process.exit(spawnSync(process.execPath, [main, ...process.argv.slice(2)], { stdio: 'inherit' }).status ?? 1);
