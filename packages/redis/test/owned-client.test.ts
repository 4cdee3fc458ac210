import { afterEach, describe, expect, test } from '@jest/globals';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { ownedClient, WaiterHub } from '../src/index.js';
import type { OwnedClient } from '../src/index.js';

const url = process.env['MORTISE_TEST_REDIS']!;
const redis = connect();
const opened: OwnedClient[] = [];

function open(address = url): OwnedClient {
  const client = ownedClient(address);
  opened.push(client);
  return client;
}

afterEach(async () => {
  await Promise.all(opened.splice(0).map((client) => client.close(0)));
});

describe('a client for a URL', () => {
  test('connects with its first command, and keeps the order of commands', async () => {
    const { redis: own } = open();
    expect([own.status, own.isCluster]).toEqual(['wait', false]);
    const key = freshPrefix();
    const sent = Array.from({ length: 5 }, (_, n) => own.call('rpush', [key, n]));
    expect(await Promise.all(sent)).toEqual([1, 2, 3, 4, 5]);
    expect(own.status).toBe('ready');
    expect(await own.callBuffer('lrange', [key, 0, -1])).toEqual(
      ['0', '1', '2', '3', '4'].map((n) => Buffer.from(n)),
    );
  });

  test('passes events to listeners that were added before it connected', async () => {
    const { redis: own } = open();
    const events: string[] = [];
    const ignored = (): void => void events.push('removed');
    own.on('ready', () => events.push('ready'));
    own.on('ready', ignored);
    own.off('ready', ignored);
    await own.call('ping', []);
    expect(events).toEqual(['ready']);
  });

  test('waits for messages as any other', async () => {
    const { redis: own } = open();
    const channel = freshPrefix();
    const waiter = await WaiterHub.of(own).waiter(channel, 'w');
    const next = waiter.next();
    await redis.publish(channel, 'w:hello');
    expect(await next).toMatchObject({ type: 'message', body: Buffer.from('hello') });
    waiter.close();
  });

  test('duplicates are connections of their own', async () => {
    const { redis: own } = open();
    const other = own.duplicate();
    const [first, second] = await Promise.all([own.call('client', ['id']), other.call('client', ['id'])]);
    expect(first).not.toBe(second);
    other.disconnect();
    await until('the end', () => other.status === 'end');
  });

  test('close sends the calls that were made before, and what follows them at once', async () => {
    const { redis: own, close } = open();
    const key = freshPrefix();
    const chain = own.call('incr', [key]).then(() => own.call('incr', [key]));
    await close();
    expect([await chain, own.status]).toEqual([2, 'end']);
    await expect(own.call('ping', [])).rejects.toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
    await close();
  });

  test('reopen connects again', async () => {
    const { redis: own, close, reopen } = open();
    await own.call('ping', []);
    await close();
    reopen();
    expect(await own.call('ping', [])).toBe('PONG');
  });

  test('a client that was never used is closed without a connection', async () => {
    const { redis: own, close, reopen } = open('redis://127.0.0.1:1');
    await close();
    expect(own.status).toBe('end');
    reopen();
    expect(own.status).toBe('wait');
  });

  test('close ends within its time while Redis cannot be reached', async () => {
    const { redis: own, close } = open('redis://127.0.0.1:1');
    const call = own.call('ping', []).catch((error: { code: string }) => error.code);
    await close(20);
    expect(await call).toBe('ERR_CLIENT_CLOSED');
    expect(own.status).toBe('end');
  });
});

test('a given client is used as it is, and is not closed', async () => {
  const { redis: same, close, reopen } = ownedClient(redis);
  await close();
  reopen();
  expect(same).toBe(redis);
  expect(await redis.ping()).toBe('PONG');
});

test.each([
  [''],
  ['127.0.0.1:6379'],
  ['localhost'],
  ['http://127.0.0.1:6379'],
  ['redis+cluster://127.0.0.1:6379'],
])('"%s" is refused', (text) => {
  expect(() => ownedClient(text)).toThrow('redis must be a client, or a URL such as redis://');
  expect(() => ownedClient(text)).toThrow(TypeError);
});

test('neither is anything else', () => {
  for (const value of [undefined, null, 5, {}, new URL(url)] as unknown as string[]) {
    expect(() => ownedClient(value)).toThrow(TypeError);
  }
});
