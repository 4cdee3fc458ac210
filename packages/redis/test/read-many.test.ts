import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { readEach, readMany } from '../src/index.js';
import { MAJORS, connect } from './fixture/clients.js';

describe.each(MAJORS)('readMany, ioredis %s', (major) => {
  test('gives the replies in the order of the reads, over keys of any slots', async () => {
    const redis = connect(major);
    const keys = Array.from({ length: 50 }, () => `{${randomUUID()}}:read`);
    for (const [index, key] of keys.entries()) await redis.set(key, `value ${index}`, 'EX', 60);
    const replies = await readMany(redis, [...keys.map((key) => ['get', key] as const), ['get', 'nothing']]);
    expect(replies).toEqual([...keys.map((_, index) => `value ${index}`), null]);
  });

  test('takes numbers and bytes, and gives hashes as objects', async () => {
    const redis = connect(major);
    const key = `{${randomUUID()}}:read`;
    await redis.zadd(key, 1, 'a', 2, 'b');
    await redis.hset(`${key}:hash`, '__proto__', 'x', 'f', 'y');
    await redis.expire(key, 60);
    await redis.expire(`${key}:hash`, 60);
    const [range, scores, hash, time] = await readMany(redis, [
      ['zrange', key, 0, -1],
      ['zmscore', key, Buffer.from('b'), 'c'],
      ['hgetall', `${key}:hash`],
      ['time'],
    ]);
    expect(range).toEqual(['a', 'b']);
    expect(scores).toEqual(['2', null]);
    expect(Object.entries(hash as object)).toEqual([
      ['__proto__', 'x'],
      ['f', 'y'],
    ]);
    expect(time).toEqual([expect.any(String), expect.any(String)]);
  });

  test('sends nothing for no reads', async () => {
    const redis = connect(major, undefined, { lazyConnect: true });
    expect(await readMany(redis, [])).toEqual([]);
    expect(redis.status).toBe('wait');
  });

  test('rejects with the first refusal', async () => {
    const redis = connect(major);
    const key = `{${randomUUID()}}:read`;
    await redis.set(key, 'text', 'EX', 60);
    await expect(
      readMany(redis, [
        ['get', key],
        ['llen', key],
        ['get', key],
      ]),
    ).rejects.toThrow(/^WRONGTYPE/);
  });

  test('readEach has the error of a refused read in its place', async () => {
    const redis = connect(major);
    const key = `{${randomUUID()}}:read`;
    await redis.set(key, 'text', 'EX', 60);
    const [text, length, again] = await readEach(redis, [
      ['get', key],
      ['llen', key],
      ['get', key],
    ]);
    expect([text, again]).toEqual(['text', 'text']);
    expect(length).toMatchObject({ name: 'ReplyError', message: expect.stringMatching(/^WRONGTYPE/) });
  });

  test('with automatic pipelining', async () => {
    const redis = connect(major, undefined, { enableAutoPipelining: true });
    expect(
      await readMany(redis, [
        ['get', '{a}nothing'],
        ['llen', '{b}nothing'],
      ]),
    ).toEqual([null, 0]);
  });
});
