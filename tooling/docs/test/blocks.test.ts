import { expect, test } from '@jest/globals';
import { blocksOf } from '../src/blocks.js';

const page = (...lines: string[]): string => lines.join('\n');

test('a block after the name of a file quotes it', () => {
  const text = page('<!-- packages/queues/examples/mail.ts -->', '', '```ts', 'run();', '```');
  expect(blocksOf(text)).toEqual({
    quotes: [{ line: 3, file: 'packages/queues/examples/mail.ts', text: 'run();\n' }],
    fragments: [],
  });
});

test('the name of a file counts for the next block only', () => {
  const text = page('<!-- packages/a/b.ts -->', 'Words.', '```ts', 'run();', '```');
  expect(blocksOf(text)).toEqual({ quotes: [], fragments: [{ line: 3, source: '\n\n\nrun();' }] });
});

test('a fragment begins with its prelude, and keeps its line numbers', () => {
  const text = page(
    '# A',
    '<!-- prelude',
    'declare const a: 1;',
    '-->',
    '',
    '```ts',
    'a;',
    '```',
    '',
    '```ts',
    'b;',
    '```',
  );
  expect(blocksOf(text).fragments.map(({ source }) => source)).toEqual([
    '\n\ndeclare const a: 1;\n\n\n\na;',
    '\n\n\n\n\n\n\n\n\n\nb;',
  ]);
});

test('a fragment that continues has the lines of the fragment before', () => {
  const text = page('```ts', 'const a = 1;', '```', 'Then:', '<!-- continues -->', '```ts', 'a;', '```');
  expect(blocksOf(text).fragments.map(({ source }) => source)).toEqual([
    '\nconst a = 1;',
    '\nconst a = 1;\n\n\n\n\na;',
  ]);
});

test('blocks in other languages are not checked', () => {
  expect(blocksOf(page('```sh', 'npm test', '```', '~~~md', '```ts', '```', '~~~'))).toEqual({
    quotes: [],
    fragments: [],
  });
});
