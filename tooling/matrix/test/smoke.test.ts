/** The smoke programs with the packages as they are built here, so that a verb that they don't call is noticed before a run of the matrix. */
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { PACKAGES } from '../plan.mjs';
import { runPrograms } from '../runs.mjs';

test('every verb of every package is called once, with asserted results', async () => {
  const project = fileURLToPath(new URL('..', import.meta.url));
  const { hostname, port } = new URL(process.env['MORTISE_TEST_REDIS']!);
  const target = { kind: 'single', options: { host: hostname, port: Number(port) } };
  const programs = [...PACKAGES, 'nestjs'];
  expect(await runPrograms({ program: process.execPath, args: [], project, programs, target })).toEqual([]);
});
