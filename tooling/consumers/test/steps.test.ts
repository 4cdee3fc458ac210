/**
 * A stranger reaches each step in each host with at most 25 lines of his own: those of the programs of docs/start, and of a
 * README where a page sends the reader there. The other tests of this folder and of the packages run these programs.
 */
import { expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MAX_LINES = 25;
const root = fileURLToPath(new URL('../../..', import.meta.url));
const programs = fileURLToPath(new URL('../programs/start', import.meta.url));

const ROUTES = 'nextjs/app/api';
/** The files of each step. In Next.js, one module has the connection for all steps. */
const STEPS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  node: {
    'a queue with a retry and a schedule': ['node/queue.mjs'],
    'a test': ['node/queue.test.mjs'],
    'a lock with fencing': ['node/lock.mjs'],
    'a chat': ['packages/messaging/README.md'],
    'a completion': ['packages/autocomplete/README.md'],
    'a cached row': ['node/row.mjs'],
  },
  nestjs: {
    'a queue with a retry and a schedule': ['nestjs/mails.ts', 'nestjs/queue.ts'],
    'a test': ['nestjs/mails.test.ts'],
    'a lock with fencing': ['nestjs/lock.ts'],
    'a chat': ['nestjs/chat.ts'],
    'a completion': ['nestjs/names.ts'],
    'a cached row': ['nestjs/row.ts'],
  },
  nextjs: {
    'the connection': ['nextjs/lib/mortise.mjs', 'nextjs/lib/items.mjs'],
    'a queue with a retry and a schedule': [
      'nextjs/lib/mails.mjs',
      `${ROUTES}/users/[name]/route.js`,
      'nextjs/worker.mjs',
    ],
    'a test': ['nextjs/lib/mails.test.mjs'],
    'a lock with fencing': [`${ROUTES}/stock/[item]/route.js`],
    'a chat': [`${ROUTES}/chats/[chat]/route.js`],
    'a completion': [`${ROUTES}/names/route.js`],
    'a cached row': [`${ROUTES}/rows/[id]/route.js`],
  },
};

/** `nest new` writes these lines into each application. */
const OF_NESTJS = [
  /^import .* from '@nestjs\/(?:common|core)';$/,
  /^@Module\(\{$/,
  /^imports: \[$/,
  /^\],$/,
  /^\}\)$/,
  /^class AppModule \{\}$/,
  /^const app = await NestFactory/,
];

/** The lines of code, without the output. */
function linesOf(file: string): string[] {
  const isReadme = file.endsWith('.md');
  const text = readFileSync(join(isReadme ? root : programs, file), 'utf8');
  const code = isReadme ? /```ts\n([\s\S]*?)```/.exec(text)![1]! : text;
  return code
    .split('// Output:\n')[0]!
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('//'));
}

const steps = Object.entries(STEPS).flatMap(([host, ofHost]) =>
  Object.entries(ofHost).map(([step, files]) => ({ host, step, files })),
);

test.each(steps)('$host: $step', ({ host, files }) => {
  const own = files
    .flatMap(linesOf)
    .filter((line) => host !== 'nestjs' || !OF_NESTJS.some((pattern) => pattern.test(line)));
  expect(own.length).toBeGreaterThan(0);
  expect(own.length).toBeLessThanOrEqual(MAX_LINES);
});

test('each program of these hosts is a step, and no one has more lines than a step', () => {
  const counted = new Set(steps.flatMap(({ files }) => files));
  const found = readdirSync(programs, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /^(?:node|nestjs|nextjs)\/.*\.\w+$/.test(file),
  );
  expect(found.filter((file) => !counted.has(file))).toEqual([]);
  expect(found.filter((file) => linesOf(file).length > MAX_LINES)).toEqual([]);
});

test.each(Object.keys(STEPS))('the page of %s has its programs', (host) => {
  const page = readFileSync(join(root, `docs/start/${host}.md`), 'utf8');
  const files = Object.values(STEPS[host]!).flat();
  const absent = files.filter((file) => !page.includes(file.replace('packages/', '../../packages/')));
  expect(absent).toEqual([]);
});
