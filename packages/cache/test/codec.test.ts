import { expect, test } from '@jest/globals';
import { connect, until } from '@mortise/test-kit';
import { jsonCodec } from '../src/codec.js';
import { cacheOf, Database, refresh } from './fixture/tables.js';

const redis = connect();

test.each([
  [undefined, 'a value must have a JSON form, got undefined'],
  [() => 1, 'a value must have a JSON form, got function'],
  [Number.NaN, 'a value must have a JSON form that is not null, got NaN'],
  [-Infinity, 'a value must have a JSON form that is not null, got -Infinity'],
  [new Date(Number.NaN), 'a value must have a JSON form that is not null, got object'],
])('%p is refused', (value, message) => {
  expect(() => jsonCodec.encode(value)).toThrow(new TypeError(message));
});

test.each([0, false, '', 'null', [null], {}])('%p comes back', (value) => {
  expect(jsonCodec.decode(Buffer.from(jsonCodec.encode(value)))).toEqual(value);
});

test('a row that would read as gone fails, and others are loaded', async () => {
  const database = new Database().put('good');
  database.items.set('bad', Number.NaN as never);
  const rows = cacheOf(redis, database);
  await rows.scheduleAll(['good', 'bad'], { everyMs: 60_000 });
  const { errors } = await refresh(redis, rows);
  await until('both', async () => errors.length > 0 && (await rows.get('good')) !== null);
  expect(errors).toMatchObject([{ code: 'ERR_ROW_LOAD', ids: ['bad'], cause: expect.any(TypeError) }]);
  expect((await rows.inspect('bad'))?.failures).toBeGreaterThan(0);
});
