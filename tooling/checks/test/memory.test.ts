/**
 * Contract tests of each package on the engine in memory, so that it can't drift between two runs of `npm run test:memory`, which takes
 * minutes. These are the quick ones.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { root } from '../src/repository.js';

const FILES: Readonly<Record<string, readonly string[]>> = {
  locks: ['mutex/mutex', 'semaphore/semaphore'],
  queues: ['work/waits', 'work/attempt-steps', 'claims/claim-steps', 'enqueue/merge'],
  messaging: ['pull/pull', 'post/chats.post', 'mailbox/mailboxes.devices'],
  autocomplete: ['book/mentions'],
  cache: ['rows/row-cache', 'read-through/cache.values'],
};

const LIMIT_MS = 240_000;

interface Outcome {
  readonly numPassedTests: number;
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

let scratch: string;

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'mortise-memory-'));
});

afterAll(() => rm(scratch, { recursive: true }));

test.each(Object.entries(FILES))(
  '%s runs in memory',
  async (name, files) => {
    const report = join(scratch, `${name}.json`);
    const jest = spawn(
      process.execPath,
      [
        '--experimental-vm-modules',
        '--disable-warning=ExperimentalWarning',
        'node_modules/jest/bin/jest.js',
        '--reporters=default',
        '--bail',
        '--json',
        `--outputFile=${report}`,
        ...files.map((file) => `/test/${file}.test.ts$`),
      ],
      {
        cwd: join(root, 'packages', name),
        env: { ...process.env, MORTISE_CLIENT: 'memory', REDIS_URL: '' },
        stdio: 'ignore',
        timeout: LIMIT_MS - 10_000,
      },
    );
    const [, signal] = (await once(jest, 'exit')) as [number | null, string | null];
    // Not by its time limit.
    expect(signal).toBeNull();
    const { numPassedTests, testResults } = JSON.parse(await readFile(report, 'utf8')) as Outcome;
    const failed = testResults.flatMap(({ message, assertionResults }) => {
      const tests = assertionResults.filter(({ status }) => status === 'failed');
      return tests.length > 0 ? tests.map(({ fullName }) => fullName) : message;
    });
    expect(failed.filter((text) => text !== '')).toEqual([]);
    expect([testResults.length, numPassedTests > files.length]).toEqual([files.length, true]);
  },
  LIMIT_MS,
);
