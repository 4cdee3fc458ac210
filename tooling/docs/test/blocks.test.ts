import { expect, test } from '@jest/globals';
import { blocksOf, outputOf, type Fragment } from '../src/blocks.js';

const page = (...lines: string[]): string => lines.join('\n');

const fragment = (line: number, source: string, rest: Partial<Fragment> = {}): Fragment => ({
  line,
  source,
  output: undefined,
  isEndless: false,
  isChecked: false,
  language: 'ts',
  elements: '',
  server: '',
  ...rest,
});

test('a block after the name of a file quotes it', () => {
  const text = page('<!-- packages/queues/examples/mail.ts -->', '', '```ts', 'run();', '```');
  expect(blocksOf(text)).toEqual({
    quotes: [{ line: 3, file: 'packages/queues/examples/mail.ts', text: 'run();\n' }],
    fragments: [],
  });
});

test('the name of a file counts for the next block only', () => {
  const text = page('<!-- packages/a/b.ts -->', 'Words.', '```ts', 'run();', '```');
  expect(blocksOf(text)).toEqual({ quotes: [], fragments: [fragment(3, '\n\n\nrun();')] });
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

test('the lines after // Output: are what a fragment prints', () => {
  expect(outputOf('run();\n\n// Output:\n// a\n//\n//  b\n')).toEqual(['a', '', ' b']);
  expect(outputOf('run();\n')).toBeUndefined();
  const text = page('```ts', 'run();', '// Output:', '// a', '```');
  expect(blocksOf(text).fragments[0]).toMatchObject({ output: ['a'], isEndless: false });
});

test('a hidden output ends a fragment that would go on', () => {
  const text = page('```ts', 'run();', '```', '', '<!-- output', 'a', 'b', '-->');
  expect(blocksOf(text).fragments).toEqual([
    fragment(1, '\nrun();', { output: ['a', 'b'], isEndless: true }),
  ]);
});

test('a hidden check runs after its fragment, and not in the next one', () => {
  const text = page(
    '```ts',
    'run();',
    '```',
    '<!-- check',
    'assert.ok(1);',
    '-->',
    '<!-- continues -->',
    '```ts',
    'b;',
    '```',
  );
  expect(blocksOf(text).fragments).toEqual([
    fragment(1, '\nrun();\n\n\nassert.ok(1);', { isChecked: true }),
    fragment(8, '\nrun();\n\n\n\n\n\n\nb;'),
  ]);
});

test('a check without an assertion proves nothing', () => {
  const text = page('```ts', 'run();', '```', '<!-- check', 'run();', '-->');
  expect(blocksOf(text).fragments[0]).toMatchObject({ isChecked: false });
});

test('blocks in other languages are not checked', () => {
  expect(blocksOf(page('```sh', 'npm test', '```', '```text', 'a', '```'))).toEqual({
    quotes: [],
    fragments: [],
  });
});

test('a document in a document has its fragments', () => {
  const text = page('~~~md', '```ts', 'run();', '```', '~~~');
  expect(blocksOf(text).fragments).toEqual([fragment(2, '\n\nrun();')]);
});

test('a fragment for browsers has its elements and its server', () => {
  const text = page(
    '<!-- elements',
    '<input>',
    '-->',
    '<!-- server',
    'export default 1;',
    '-->',
    '```js',
    'run();',
    '```',
    '```js',
    'b;',
    '```',
  );
  expect(blocksOf(text).fragments).toEqual([
    fragment(7, '\n\n\n\n\n\n\nrun();', {
      language: 'js',
      elements: '\n<input>',
      server: '\n\n\n\nexport default 1;',
    }),
    fragment(10, '\n\n\n\n\n\n\n\n\n\nb;', { language: 'js' }),
  ]);
});
