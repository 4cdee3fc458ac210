import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { LockTimeoutError } from '@mortise/locks';
import { CodedError } from '@mortise/redis';
import { errorCodes } from '@mortise/test-kit';
import * as all from '../src/errors.js';

describe('errors', () => {
  test('the reference lists the codes that this package exports, and one that it passes on', () => {
    const { declared, listed } = errorCodes(join(import.meta.dirname, '..'), {
      document: '../../docs/locks/reference/errors.md',
    });
    // LockSettingsError has two.
    expect(declared).toHaveLength(Object.keys(all).length + 1);
    expect(listed).toEqual(
      [...declared, 'ERR_CLIENT_CLOSED', 'ERR_INVALID_ARG', 'ERR_LEASE_LOST'].toSorted(),
    );
  });

  test('carry their code, their fields and a message that says what and which', () => {
    const cause = new Error('unreachable');
    const timeout = new LockTimeoutError('a "b"\n', 50, { cause });
    expect(timeout).toBeInstanceOf(CodedError);
    expect(timeout).toMatchObject({ name: 'LockTimeoutError', code: 'ERR_LOCK_TIMEOUT', waitMs: 50, cause });
    expect(timeout.message).toBe(
      'lock "a \\"b\\"\\n" was not acquired within 50 ms (see https://mortise.dev/errors/ERR_LOCK_TIMEOUT)',
    );
  });
});
