import { expect, test } from '@jest/globals';
import { CallFailedError, Claims, TaskCancelledError } from '@mortise/queues';
import { connect, freshPrefix } from '@mortise/test-kit';
import { withCodes } from '../src/on-coded-error.js';
import { launch } from './fixture/launch.js';
import { until } from './fixture/until.js';

test('an error with a code of Mortise passes; any other one becomes its cause', () => {
  const seen: unknown[] = [];
  const onError = withCodes((error) => seen.push(error));
  const coded = new TaskCancelledError('q', 'a');
  const others = [
    new Error('READONLY no'),
    Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }),
    { code: 'ERR_NOT_AN_ERROR' },
    null,
  ];
  for (const error of [coded, ...others]) onError(error);
  expect(seen[0]).toBe(coded);
  expect(seen.slice(1)).toEqual(
    others.map((cause) => expect.objectContaining({ code: 'ERR_CALL_FAILED', cause })),
  );
  expect(seen[1]).toBeInstanceOf(CallFailedError);
  expect((seen[1] as Error).message).toContain('a call to Redis failed: Error: READONLY no');
});

test('onError of a worker gets a code for a failed call', async () => {
  const client = connect();
  const broken = Object.assign(Object.create(client) as typeof client, {
    call: () => Promise.reject(new Error('BROKEN')),
    callBuffer: () => Promise.reject(new Error('BROKEN')),
  });
  const errors: { code: string; cause?: unknown }[] = [];
  const onError = (error: { code: string }): void => void errors.push(error);
  await launch(broken, 'q', { t: () => 1 }, { prefix: freshPrefix(), onError });
  await until(() => errors.length > 0);
  expect(errors[0]).toMatchObject({ code: 'ERR_CALL_FAILED', cause: { message: 'BROKEN' } });
});

test('onError of claims gets a code too', async () => {
  const client = connect();
  const errors: { code: string }[] = [];
  const claims = new Claims(client, 'q', { prefix: freshPrefix(), onError: (error) => errors.push(error) });
  await claims.claim();
  client.disconnect();
  await claims.claim({ waitMs: 10 }).catch(() => undefined);
  await until(() => errors.length > 0);
  expect(errors[0]!.code).toMatch(/^ERR_/);
  await claims.stop();
});
