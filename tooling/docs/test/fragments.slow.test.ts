/** Each fragment of TypeScript runs as a program of a reader, and prints what its page says or passes its hidden check. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { blocksOf } from '../src/blocks.js';
import { documents } from '../src/documents.js';
import { runProgram } from '../src/fragments/run.js';
import { startServers, type Servers } from '../src/fragments/servers.js';
import { root } from '../src/pages.js';

/** Where the programs find the dependencies of this package. */
const modules = join(root, 'tooling/docs/.cache/programs');

const fragments = documents().flatMap(({ file, text }) =>
  blocksOf(text)
    .fragments.filter(({ language }) => language === 'ts')
    .map((fragment) => ({ place: `${file}:${fragment.line}`, ...fragment })),
);

let servers: Servers;
beforeAll(async () => {
  rmSync(modules, { recursive: true, force: true });
  mkdirSync(modules, { recursive: true });
  servers = await startServers();
});
beforeEach(() => servers.flush());
afterAll(async () => {
  await servers[Symbol.asyncDispose]();
  rmSync(modules, { recursive: true, force: true });
});

test('each fragment has an output or a check', () => {
  expect(fragments.length).toBeGreaterThan(50);
  const unproven = fragments.filter(({ output, isChecked }) => !output && !isChecked);
  expect(unproven.map(({ place }) => place)).toEqual([]);
});

test.each(fragments)('$place runs', async ({ place, ...fragment }) => {
  const file = join(modules, `${place.replaceAll('/', '.')}.mjs`);
  const ran = await runProgram(file, fragment, servers.hosts);
  const promised = fragment.output?.join('\n') ?? ran.output;
  expect(ran).toEqual({ code: 0, output: promised, errors: '' });
});
