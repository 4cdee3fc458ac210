/** The hour in a minute or two: all workloads, and some faults. A longer one is `npm run hour`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const MAIN = fileURLToPath(new URL('../../dist/hour/main.js', import.meta.url));
const MINUTES = process.env['MORTISE_HOUR_MINUTES'] ?? '0.7';
const EVERY_SECONDS = '7';

test.each(['cluster', 'sentinel'])(
  'all workloads on %s keep their guarantees while faults come',
  async (on) => {
    const options = ['--minutes', MINUTES, '--every', EVERY_SECONDS, '--on', on];
    // With a channel it ends when this process does.
    const stdio = ['ignore', 'pipe', 'inherit', 'ipc'] as const;
    const child = spawn(process.execPath, [MAIN, ...options], { stdio: [...stdio] });
    const [output, [code]] = await Promise.all([text(child.stdout!), once(child, 'exit')]);
    process.stdout.write(output);
    expect(output).toContain('no violation, no leak');
    expect(code).toBe(0);
  },
  600_000 + Number(MINUTES) * 60_000,
);
