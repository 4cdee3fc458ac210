import { expect, test } from '@jest/globals';

import { errorFields } from '../src/log/error-fields.js';

test('has what an error says, and nothing that it carries', () => {
  const reply = Object.assign(new Error('WRONGPASS invalid username-password pair'), {
    command: { name: 'auth', args: ['app', 'canary'] },
    detail: 'Key (email)=(canary) exists',
  });
  const error = new TypeError('no login', { cause: Object.assign(reply, { code: 'ERR_A' }) });
  expect(errorFields(error)).toEqual({
    type: 'TypeError',
    message: 'no login',
    stack: error.stack,
    cause: { type: 'Error', message: reply.message, code: 'ERR_A', stack: reply.stack },
  });
  expect(errorFields('text')).toBe('text');
});

test('a cause that is its own cause ends', () => {
  const error: Error & { cause?: unknown } = new Error('round');
  error.cause = error;
  expect(JSON.stringify(errorFields(error)).match(/"round"/g)).toHaveLength(6);
});
