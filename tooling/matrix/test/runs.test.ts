import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { runPrograms } from '../runs.mjs';

const project = await mkdtemp(join(tmpdir(), 'matrix-test-'));
afterAll(() => rm(project, { recursive: true }));

/** The problems of a run of `locks` and `queues` with this main program. */
async function problemsOf(main: string): Promise<string[]> {
  await mkdir(join(project, 'smoke'), { recursive: true });
  await writeFile(join(project, 'smoke/main.mjs'), main);
  const programs = ['locks', 'queues'];
  return runPrograms({ program: process.execPath, args: [], project, programs, target: { kind: 'single' } });
}

const passed = (name: string): string =>
  `console.log(${JSON.stringify(JSON.stringify({ name, isPassed: true }))});`;

test('a run has passed when every program reported so and the process ended well', async () => {
  expect(await problemsOf(passed('locks') + passed('queues'))).toEqual([]);
});

test.each([
  ['a program that reports nothing', passed('locks'), ['queues: not reported']],
  [
    'a program that reports a problem',
    `${passed('queues')}console.log('{"name":"locks","problem":"it broke"}')`,
    ['locks: it broke'],
  ],
  [
    'an exit code',
    `${passed('locks')}${passed('queues')}console.error('late'); process.exit(3)`,
    ['exit code 3: late\n'],
  ],
])('%s is a problem', async (_, main, problems) => {
  expect(await problemsOf(main)).toEqual(problems);
});
