/** The smoke programs with the packages as they are built here, so that a verb that they don't call is noticed before a run of the matrix. */
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { PACKAGES } from '../plan.mjs';
import { runPrograms } from '../runs.mjs';

/** Of a program that hangs, the report then says which one. */
const LIMIT_MS = 150_000;

test(
  'every verb of every package is called once, with asserted results',
  async () => {
    const project = fileURLToPath(new URL('..', import.meta.url));
    const { hostname, port } = new URL(process.env['MORTISE_TEST_REDIS']!);
    const target = { kind: 'single', options: { host: hostname, port: Number(port) } };
    const programs = [...PACKAGES, 'nestjs'];
    const node = { program: process.execPath, args: [], limitMs: LIMIT_MS };
    expect(await runPrograms({ ...node, project, programs, target })).toEqual([]);
  },
  2 * LIMIT_MS,
);
