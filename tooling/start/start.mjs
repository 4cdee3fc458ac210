/** `npm start`: installs and builds what it needs, then runs everything on this machine; see run.mjs. */
import { join } from 'node:path';
import { claimDataDirectory } from './data-directory.mjs';
import { requireNode, root, step } from './pnpm.mjs';
import { onInvokerGone } from './invoker.mjs';
import { run, stop } from './run.mjs';

const data = process.env.MORTISE_DATA ?? join(root, '.data');

onInvokerGone(() => void stop(0));
requireNode();
const release = claimDataDirectory(data);
step('install dependencies', ['install', '--frozen-lockfile', '--reporter=append-only']);
step('build', [
  'exec',
  'turbo',
  'run',
  'build',
  '--filter=./apps/*',
  '--filter=@mortise/console-page',
  '--filter=@mortise/redis-server',
]);
await run(data, release);
