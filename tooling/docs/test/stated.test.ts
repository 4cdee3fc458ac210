import { describe, expect, test } from '@jest/globals';
import { wrongStatements } from '../src/stated/compare.js';
import { statementsIn } from '../src/stated/documents.js';
import type { Known } from '../src/stated/known.js';

describe('statements', () => {
  const option = (name: string, text: string, group = 'MutexOptions'): Known => ({
    folder: 'locks',
    group,
    name,
    text,
  });
  const wrong = (text: string, ...options: Known[]): string[] =>
    wrongStatements(statementsIn({ file: 'docs/locks/a.md', text }), options).map(
      (statement) => statement.text,
    );

  test.each([
    ['| Option | Default |\n|---|---|\n| `leaseMs` | 10,000 |', []],
    ['| Option | Default |\n|---|---|\n| `leaseMs` | 11,000 |', ['11,000']],
    ['| Option | Of | Default |\n|---|---|---|\n| `leaseMs` of `Mutex` | a | 10 s |', []],
    ['| `leaseMs` | Renewals |\n|---|---|\n| 9 s (default) | 1 in 3 s |', ['9 s']],
    ['The lease `leaseMs` is 10 s by default.', []],
    ['The lease `leaseMs` is\n12 s by default.', ['12 s']],
    ['It has `leaseMs` (default 1 minute).', ['1 minute']],
    ['The column is `a int default 7`.', []],
    ['```ts\nleaseMs: 7, // default 7\n```', []],
  ])('%j', (text, expected) => {
    expect(wrong(text, option('leaseMs', '10 s'), option('leaseMs', '20 s', 'OtherOptions'))).toEqual(
      expected,
    );
  });

  test('a row of several options has as many defaults', () => {
    const table = (values: string): string => `| Option | Default |\n|---|---|\n| \`a\`, \`b\` | ${values} |`;
    const options = [option('a', '1'), option('b', '64 KiB, at most `a`')];
    expect(wrong(table('1, 64 KiB'), ...options)).toEqual([]);
    expect(wrong(table('1; 65 KiB'), ...options)).toEqual(['65 KiB']);
  });

  test('a row of one option may have the defaults of several classes', () => {
    const row = (values: string): string => `| Option | Default |\n|---|---|\n| \`keepMs\` | ${values} |`;
    const options = [option('keepMs', '30 days'), option('keepMs', '90 days', 'ChatsOptions')];
    expect(wrong(row('30 days, chats 90'), ...options)).toEqual([]);
    expect(wrong(row('30 days, chats 91'), ...options)).toEqual(['30 days, chats 91']);
  });
});
