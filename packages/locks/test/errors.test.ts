import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { LeaseLostError, LockTimeoutError } from '@mortise/locks';
import { CodedError } from '@mortise/redis';
import * as all from '../src/errors.js';

function readmeSection(title: string): string {
  const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8');
  return new RegExp(`^## ${title}$(.*?)^## `, 'ms').exec(readme)?.[1] ?? '';
}

describe('errors', () => {
  test('the README lists the codes that this package exports, and one that it passes on', () => {
    const listed = readmeSection('Errors').matchAll(/^\| `(ERR_\w+)`/gm);
    const source = readFileSync(join(import.meta.dirname, '../src/errors.ts'), 'utf8');
    const exported = Array.from(source.matchAll(/readonly code = '(ERR_\w+)'/g), ([, code]) => code);
    expect(new Set(Array.from(listed, ([, code]) => code))).toEqual(
      new Set([...exported, 'ERR_CLIENT_CLOSED']),
    );
    expect(exported).toHaveLength(Object.keys(all).length);
  });

  test('carry their code, their fields and a message that says what and which', () => {
    const cause = new Error('unreachable');
    const timeout = new LockTimeoutError('a "b"\n', 50, { cause });
    expect(timeout).toBeInstanceOf(CodedError);
    expect(timeout).toMatchObject({ name: 'LockTimeoutError', code: 'ERR_LOCK_TIMEOUT', waitMs: 50, cause });
    expect(timeout.message).toBe('lock "a \\"b\\"\\n" was not acquired within 50 ms');
    const lost = new LeaseLostError('invoice:42', 7, 'taken');
    expect(lost).toMatchObject({
      name: 'LeaseLostError',
      code: 'ERR_LEASE_LOST',
      lockName: 'invoice:42',
      fencingToken: 7,
    });
    expect(lost.message).toBe(
      'lease 7 of lock "invoice:42" was taken away: Redis does not know this holder any more',
    );
    expect('cause' in lost).toBe(false);
  });
});
