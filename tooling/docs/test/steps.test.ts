/**
 * A stranger reaches each step in each host with at most 25 lines of his own, those that the host needs included, and five
 * commands. The step of a queue has a retry, a schedule and a test. tooling/consumers and the packages run these programs.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { root } from '../src/pages.js';
import { stepsOf, type Step } from '../src/steps.js';

const MAX_LINES = 25;
const MAX_COMMANDS = 5;

const COMPONENTS = ['A queue', 'A lock', 'A chat', 'Completions', 'A cached row'];
/** In plain Node, the READMEs have the programs of a chat and of completions. */
const README = 'A chat and completions';
const HOSTS: Readonly<Record<string, readonly string[]>> = {
  node: ['A queue', 'A lock', 'A cached row', README],
  nestjs: COMPONENTS,
  nextjs: COMPONENTS,
};
/** A handler that fails once, a schedule and a test. */
const PARTS_OF_A_QUEUE = [/attempt === 1\) throw/, /\.schedule\(/, /from 'node:test'/];
const READMES = ['queues', 'locks', 'messaging', 'autocomplete', 'cache'];

const read = (file: string): string => readFileSync(join(root, file), 'utf8');

/** The first program of a page without steps, and its commands. */
function onlyStepOf(file: string): Step {
  const [head] = read(file).split(/^## /m);
  return stepsOf(`${head!.replace(/^- .*$/gm, '')}\n## Only\n`)[0]!;
}

/** Why a step is too long, or has nothing. */
function problemsOf({ lines, commands }: Step): string[] {
  const problems: string[] = [];
  if (lines.length === 0 || lines.length > MAX_LINES) problems.push(`${lines.length} lines`);
  if (commands.length < 2 || commands.length > MAX_COMMANDS) problems.push(`${commands.length} commands`);
  return problems;
}

test('a step has the lines of its programs and its commands, after those of the page', () => {
  const page = [
    '```sh\nnpm install a && b\n```\n```json\n{}\n```\nIf it fails, run `c`.',
    'A\n\n```js\n// why\na();\n\nb();\n\n// Output:\n// 1\n```\nSave it, and run `node a`:\n```sh\nx \\\n  y\nz &\n```',
    'B\n\n```ts\nc();\n```\n',
  ].join('\n## ');
  expect(stepsOf(page)).toEqual([
    {
      title: 'A',
      lines: ['{}', 'a();', 'b();'],
      commands: ['npm install a', 'b', 'x    y', 'z &', 'node a'],
    },
    { title: 'B', lines: ['{}', 'c();'], commands: ['npm install a', 'b'] },
  ]);
});

describe.each(Object.entries(HOSTS))('the page of %s', (host, titles) => {
  const steps = stepsOf(read(`docs/start/${host}.md`));

  test.each(titles.filter((title) => title !== README))('%s', (title) => {
    const step = steps.find((each) => each.title === title);
    expect(step).toBeDefined();
    expect(problemsOf(step!)).toEqual([]);
  });

  test('its queue has a retry, a schedule and a test', () => {
    const lines = steps.find(({ title }) => title === 'A queue')!.lines.join('\n');
    expect(PARTS_OF_A_QUEUE.filter((part) => !part.test(lines))).toEqual([]);
  });

  test('its other sections have no programs', () => {
    const alone = stepsOf(`${read(`docs/start/${host}.md`).split(/^## /m)[0]}\n## None\n`)[0]!;
    const others = steps.filter(({ title }) => !titles.includes(title));
    expect(others.filter(({ lines }) => lines.length > alone.lines.length)).toEqual([]);
  });
});

test.each(READMES.map((name) => `packages/${name}/README.md`))('the first program of %s', (file) => {
  expect(problemsOf(onlyStepOf(file))).toEqual([]);
});

test.each(['express', 'fastify'].map((name) => `docs/start/${name}.md`))('the program of %s', (file) => {
  expect(problemsOf(onlyStepOf(file))).toEqual([]);
});

test.each(['packages/queues/examples/testing-in-memory.ts', 'tooling/consumers/programs/start/lambda.mjs'])(
  '%s',
  (file) => {
    const [{ lines }] = stepsOf(`## A\n\`\`\`ts\n${read(file)}\`\`\`\n`) as [Step];
    expect(lines.length).toBeLessThanOrEqual(MAX_LINES);
  },
);
