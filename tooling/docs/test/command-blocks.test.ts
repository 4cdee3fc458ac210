import { expect, test } from '@jest/globals';
import { commandBlocks } from '../src/commands/blocks.js';
import { keeps, runShell } from '../src/commands/run.js';

const page = (...lines: string[]): string => lines.join('\n');

test('a block of sh has a command for each line, and its answers', () => {
  const text = page(
    '# A',
    '```sh',
    'curl a \\',
    '  b',
    '',
    'ls',
    '```',
    '',
    '<!-- answers',
    '200',
    '0 a',
    '-->',
  );
  expect(commandBlocks(text)).toEqual([
    { line: 2, language: 'sh', commands: ['curl a    b', 'ls'], setup: [], answers: ['200', '0 a'] },
  ]);
});

test('a block of sql has a command for each statement, after a hidden setup', () => {
  const text = page(
    '<!-- setup',
    'create table a (',
    '  b int);',
    '-->',
    '',
    '```sql',
    'select 1;',
    'select 2;',
    '```',
  );
  expect(commandBlocks(text)).toEqual([
    {
      line: 6,
      language: 'sql',
      commands: ['select 1', 'select 2'],
      setup: ['create table a (\n  b int)'],
      answers: undefined,
    },
  ]);
});

test('a command gets the values of earlier answers, and the exit code is its status', async () => {
  const [block] = commandBlocks(
    page(
      '```sh',
      'A=1',
      'echo \'{"id":"x","token":"y"}\'',
      'echo "$A $ID"',
      'echo \'"loadToken":"…"\'; exit 3',
      '```',
    ),
  );
  expect(await runShell(block!, process.env, '/tmp')).toEqual([
    { status: 0, text: '{"id":"x","token":"y"}\n' },
    { status: 0, text: '1 x\n' },
    { status: 3, text: '"loadToken":"y"\n' },
  ]);
});

test('an answer keeps a promise with its status and a part of its text or JSON', () => {
  const answer = { status: 200, text: '{"items":[{"id":1,"from":"ann"}],"isEnded":false}' };
  expect(keeps(answer, '200')).toBe(true);
  expect(keeps(answer, '201')).toBe(false);
  expect(keeps(answer, '200 {"items":[{"from":"ann"}]}')).toBe(true);
  expect(keeps(answer, '200 {"items":[{"from":"bob"}]}')).toBe(false);
  expect(keeps(answer, '200 "isEnded":false')).toBe(true);
  expect(keeps(answer, '200 isStarted')).toBe(false);
});
