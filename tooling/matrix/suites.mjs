import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pnpm, root } from '../start/pnpm.mjs';
import { PACKAGES } from './plan.mjs';

/** The jest suites of the packages on the server that `bin` starts: how many tests passed, and which packages failed. */
export function runSuites(bin) {
  process.env.REDIS_SERVER_BIN = bin;
  const failed = [];
  let passed = 0;
  for (const name of PACKAGES) {
    const code = pnpm([`--filter=@mortise/${name}`, 'run', 'test', '--silent']);
    if (code !== 0) failed.push(name);
    const summary = join(root, 'packages', name, '.jest/summary.json');
    if (existsSync(summary)) passed += JSON.parse(readFileSync(summary, 'utf8')).passed;
  }
  delete process.env.REDIS_SERVER_BIN;
  return { passed, failed };
}
