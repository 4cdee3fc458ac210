/** Each block of code in a document is run, quoted from a file that runs, or listed here with a reason. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { INSTALLED } from '../src/commands/not-run.js';
import { documents } from '../src/documents.js';
import { root } from '../src/pages.js';
import { proofsOf, UNRUN } from '../src/proofs.js';

const RUN = ['quoted', 'run', 'answer'];
/** New bodies of HTTP come with new routes, and new pages install packages. Other exceptions are few. */
const OF_HTTP = 'made from the OpenAPI document; a test of the API sends each of these bodies to its route';
const MOST_OTHERS = 30;

const proofs = documents().flatMap(proofsOf);
const count = (how: string): number => proofs.filter((proof) => proof.how === how).length;
const reasons = [...new Set(proofs.map(({ how }) => how))].filter(
  (how): how is string => how !== undefined && !RUN.includes(how),
);

test('each block has a proof', () => {
  expect(proofs.filter(({ how }) => how === undefined)).toEqual([]);
  expect(RUN.map(count).reduce((sum, each) => sum + each)).toBeGreaterThan(200);
});

test('blocks that no test here runs have reasons, and are few', () => {
  const list = reasons.map((reason) => `${String(count(reason)).padStart(3)} ${reason}`);
  console.log(`Blocks that no test here runs:\n${list.join('\n')}`);
  expect(reasons).toEqual(expect.arrayContaining([OF_HTTP, INSTALLED]));
  const others = reasons.filter((reason) => reason !== OF_HTTP && reason !== INSTALLED).map(count);
  expect(others.reduce((sum, each) => sum + each)).toBeLessThanOrEqual(MOST_OTHERS);
});

test('each package that a page installs is one of this repository or one of its catalog', () => {
  // The long test of Next.js installs it, and a reader runs programs by tsx.
  const known = new Set(['next', 'tsx']);
  const catalog = readFileSync(join(root, 'pnpm-workspace.yaml'), 'utf8').split(/^catalogs:/m)[0]!;
  for (const [, name] of catalog.matchAll(/^ {2}'?([@\w/.-]+)'?: /gm)) known.add(name!);
  for (const folder of readdirSync(join(root, 'packages'))) known.add(`@mortise/${folder}`);
  const installed = documents().flatMap(({ file, text }) =>
    [...text.matchAll(/^npm install +(?:--prefix \. +)?([^#\n]*)/gm)].flatMap(([, names]) =>
      names!
        .trim()
        .split(/ +/)
        .filter((name) => !name.startsWith('-'))
        .map((name) => ({ file, name: name.replace(/(?<=\w)@.*$/, '') })),
    ),
  );
  expect(installed.length).toBeGreaterThan(30);
  expect(installed.filter(({ name }) => !known.has(name))).toEqual([]);
});

test('each reason of a language is used', () => {
  expect(UNRUN.map(({ reason }) => reason).filter((reason) => !reasons.includes(reason))).toEqual([]);
});

test('a block without a proof is found', () => {
  const text = ['```sh', 'ls', '```', '```text', 'a', '```', '~~~md', '```ts', 'run();', '```', '~~~'].join(
    '\n',
  );
  expect(proofsOf({ file: 'docs/a.md', text })).toEqual([
    { place: 'docs/a.md:1', language: 'sh', how: 'run' },
    { place: 'docs/a.md:4', language: 'text', how: undefined },
    { place: 'docs/a.md:8', language: 'ts', how: 'run' },
  ]);
});
