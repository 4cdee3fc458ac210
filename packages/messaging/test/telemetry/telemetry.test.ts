import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, jest, test } from '@jest/globals';
import { Chats, Mailboxes } from '@mortise/messaging';
import { otelTelemetry } from '@mortise/messaging/otel';
import type { Telemetry } from '@mortise/redis';
import { connect, freshPrefix, listedMetrics, namesAndUnits, Recording, until } from '@mortise/test-kit';
import * as api from '@opentelemetry/api';
import * as fileMetrics from '../../src/files/metrics.js';
import { LOG_LINES } from '../../src/log-aggregation/metrics.js';
import * as metrics from '../../src/telemetry/metrics.js';
import { Channel, lines, textOf } from '../files/fixture.js';

const redis = connect();

/** The values that a histogram was given. */
const valuesOf = ({ recorded }: Recording, name: string): number[] =>
  recorded.flatMap((each) => (each.name === `mortise.messaging.${name}` ? [each.value] : []));

test('mailboxes count what is sent, doubled, dropped, received and acked', async () => {
  const telemetry = new Recording();
  const mailboxes = new Mailboxes(redis, { prefix: freshPrefix(), telemetry, maxMessages: 2 });
  await Promise.all([1, 2, 3].map((body) => mailboxes.send('jack', body, { from: 'anna', id: `${body}` })));
  await mailboxes.send('jack', 3, { from: 'anna', id: '3' });
  await mailboxes.receive('jack');
  await mailboxes.receive('jack');
  await mailboxes.ack('jack', 3);
  await mailboxes.ack('jack', 4).catch(() => undefined);
  expect(telemetry.counts).toEqual({
    'posted mailbox': 3,
    'duplicates mailbox': 1,
    'dropped mailbox': 1,
    'pulled mailbox': 4,
    'gaps mailbox': 2,
    'lag mailbox': 2,
    'acks mailbox': 1,
    'batch mailbox': 2,
  });
  expect(valuesOf(telemetry, 'batch')).toEqual([3, 1]);
  const systems = telemetry.counted.map(({ attributes }) => attributes['messaging.system']);
  expect(new Set(systems)).toEqual(new Set(['mortise']));
});

test('chats count what is posted, doubled, dropped, pulled and acked', async () => {
  const telemetry = new Recording();
  const chats = new Chats(redis, { prefix: freshPrefix(), telemetry, maxMessages: 2 });
  await chats.create({ chatId: 'c', sender: 'anna', members: ['ben'], body: 1, id: '1' });
  await Promise.all([1, 2, 3].map((body) => chats.post('c', 'anna', body, { id: `${body}` })));
  await chats.post('c', 'eve', 4).catch(() => undefined);
  await chats.pull('ben', { autoAck: true });
  await chats.delete('c', 'anna', 3);
  expect(telemetry.counts).toEqual({
    'posted chat': 3,
    'duplicates chat': 1,
    'dropped chat': 1,
    'pulled chat': 2,
    'gaps chat': 1,
    'lag chat': 1,
    'acks chat': 1,
    'batch chat': 1,
  });
  expect(valuesOf(telemetry, 'batch')).toEqual([3]);
});

test('reads record the age of their oldest message, once for a mailbox and once for each chat', async () => {
  const telemetry = new Recording();
  const prefix = freshPrefix();
  const chats = new Chats(redis, { prefix, telemetry });
  const mailboxes = new Mailboxes(redis, { prefix, telemetry });
  await chats.create({ chatId: 'quiet', sender: 'anna', members: ['ben'], id: 'quiet' });
  await chats.create({ chatId: 'c', sender: 'anna', members: ['ben'], body: 'old', id: 'c' });
  await mailboxes.send('ben', 'old', { from: 'anna' });
  await pause(60);
  await chats.post('c', 'anna', 'new');
  await mailboxes.send('ben', 'new', { from: 'anna' });
  await chats.pull('ben', { autoAck: true });
  await chats.pull('ben');
  await mailboxes.receive('ben');
  const ages = valuesOf(telemetry, 'lag');
  expect(ages).toHaveLength(2);
  // The clocks of the server and of this process may differ by the milliseconds that they are rounded to.
  expect(Math.min(...ages)).toBeGreaterThan(0.055);
  expect(Math.max(...ages)).toBeLessThan(30);
});

test('followers count what they are handed, by kind, and what they had to fetch', async () => {
  const telemetry = new Recording();
  const prefix = freshPrefix();
  const chats = new Chats(redis, { prefix, telemetry, maxMessages: 2 });
  const others = new Chats(redis, { prefix, maxMessages: 2 });
  await others.create({ chatId: 'c', sender: 'anna', members: ['ben'] });
  for (const body of [1, 2, 3]) await others.post('c', 'anna', body);
  for await (const event of chats.follow('ben')) {
    if (event.type === 'message' && event.message.id === 3) void others.typing('c', 'anna');
    if (event.type === 'typing') break;
  }
  expect(telemetry.counts).toEqual({
    'fetched chat': 1,
    'followed chat gap': 1,
    'gaps chat': 1,
    'followed chat message': 2,
    'followed chat typing': 1,
  });
});

test('files count bytes and chunks that are sent and read, and waits for the window and the budget', async () => {
  const telemetry = new Recording();
  const channel = new Channel(redis);
  const content = lines(2_000);
  // The window of one file is all of the budget.
  const sender = channel.sender({ telemetry, budgetBytes: 16 * 1_024 });
  const sending = ['a', 'b'].map((name) => sender.send(Readable.from([content]), { name }));
  const receiver = channel.receiver('r1', redis, 300, telemetry);
  for await (const file of receiver.files()) {
    expect((await textOf(file)).length).toBe(content.length);
    await file.done();
    if (file.number === 2) break;
  }
  const chunks = 2 * Math.ceil(content.length / (4_096 - 64 - 16));
  await Promise.all(sending);
  expect(telemetry.counts).toEqual({
    'file_chunks file sent': chunks,
    'file_bytes file sent': 2 * content.length,
    'file_chunks file read': chunks,
    'file_bytes file read': 2 * content.length,
    'file_waits file window': expect.any(Number),
    'file_waits file budget': 1,
  });
  expect(valuesOf(telemetry, 'file_waits').every((seconds) => seconds > 0)).toBe(true);
});

test('an interrupted subscription is counted', async () => {
  const telemetry = new Recording();
  const own = connect();
  const chats = new Chats(own, { prefix: freshPrefix(), telemetry });
  await chats.create({ chatId: 'c', sender: 'anna', members: ['ben'], body: 1 });
  const follower = chats.follow('ben');
  await follower.next();
  const next = follower.next();
  const id = await own.client('ID');
  await redis.client('KILL', 'ID', id);
  await until('both channels to be whole again', () => telemetry.counts['resyncs chat'] === 2);
  await follower.return!();
  expect((await next).done).toBe(true);
});

describe('the telemetry', () => {
  test('may throw: nothing is lost by it, and it is printed once', async () => {
    const print = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const telemetry: Telemetry = {
      count() {
        throw new Error('full');
      },
      record() {
        throw new Error('full');
      },
    };
    const chats = new Chats(redis, { prefix: freshPrefix(), telemetry });
    await chats.create({ chatId: 'c', sender: 'anna', members: ['ben'] });
    for (const body of [1, 2]) await chats.post('c', 'anna', body);
    expect((await chats.pull('ben', { autoAck: true }))[0]).toMatchObject({ unread: 2 });
    expect(print.mock.calls).toEqual([['mortise: telemetry threw', expect.any(Error)]]);
    print.mockRestore();
  });

  test('may have neither method; what is no object is refused', async () => {
    const mailboxes = new Mailboxes(redis, { prefix: freshPrefix(), telemetry: {} });
    expect(await mailboxes.send('jack', 1, { from: 'anna' })).toMatchObject({ id: 1 });
    for (const telemetry of [null, 1, 'otel'] as unknown as Telemetry[]) {
      expect(() => new Chats(redis, { telemetry })).toThrow('telemetry must be an object');
      expect(() => new Mailboxes(redis, { telemetry })).toThrow('telemetry must be an object');
    }
  });

  test('is listed in the reference', () => {
    const all = Object.values({ ...metrics, ...fileMetrics }).filter((metric) => 'unit' in metric);
    const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1);
    const page = '../../docs/messaging/reference/metrics.md';
    const listed = listedMetrics(join(import.meta.dirname, '../..'), page);
    expect(listed.toSorted(byName)).toEqual(namesAndUnits([...all, LOG_LINES]).toSorted(byName));
  });

  test('goes to the meter of the package, by OpenTelemetry', async () => {
    const add = jest.fn();
    const getMeter = jest.fn((_scope: string) => ({
      createCounter: () => ({ add }),
      createHistogram: () => ({ record: add }),
    }));
    const fake = { ...api, metrics: { getMeter } } as unknown as typeof api;
    const chats = new Chats(redis, { prefix: freshPrefix(), telemetry: otelTelemetry(fake) });
    const { chatId } = await chats.create({ sender: 'anna', members: [] });
    await chats.post(chatId, 'anna', 'hello');
    expect(getMeter).toHaveBeenCalledWith('@mortise/messaging');
    expect(add).toHaveBeenCalledWith(1, { 'messaging.system': 'mortise', 'mortise.messaging.kind': 'chat' });
  });
});
