import { PassThrough } from 'node:stream';

import { beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '@mortise/server-process';

import { Lane } from '../src/lane.js';

describe('Lane', () => {
  let from: PassThrough;
  let to: PassThrough;
  let lane: Lane;
  let arrived: string;
  beforeEach(() => {
    from = new PassThrough();
    to = new PassThrough();
    lane = new Lane(from, to);
    arrived = '';
    to.on('data', (bytes) => {
      arrived += String(bytes);
    });
  });

  const send = (text: string): boolean => from.emit('data', Buffer.from(text));

  it('keeps the order when the delay is changed meanwhile', async () => {
    const sentAt = performance.now();
    for (const [text, delayMs] of Object.entries({ a: 40, b: 0, c: 10, d: 60, e: 0 })) {
      lane.delayMs = delayMs;
      send(text);
    }

    await until(() => arrived.length > 0, { what: 'the first to arrive', everyMs: 1 });
    expect(performance.now() - sentAt).toBeGreaterThanOrEqual(40);
    await until(() => arrived.length === 5, { what: 'all to arrive' });
    expect(performance.now() - sentAt).toBeGreaterThanOrEqual(60);
    expect(arrived).toBe('abcde');
  });

  it('sends delayed bytes at once on demand', () => {
    lane.delayMs = 60_000;
    send('a');
    send('b');
    expect(arrived).toBe('');

    lane.hurry();

    expect(arrived).toBe('ab');
  });

  it('holds bytes and the end, and lets them go in their order', () => {
    lane.mode = 'hold';
    send('a');
    from.emit('end');
    send('b');
    expect([arrived, to.writableEnded]).toEqual(['', false]);

    lane.mode = 'pass';

    expect([arrived, to.writableEnded]).toEqual(['a', true]);
  });

  it('drops bytes, but neither what came before nor the end', () => {
    lane.delayMs = 60_000;
    send('a');
    lane.mode = 'drop';
    send('b');
    from.emit('end');
    lane.hurry();

    expect([arrived, to.writableEnded]).toEqual(['a', true]);
  });

  it('forgets what is under way when it is closed', () => {
    lane.mode = 'hold';
    send('a');

    lane.close();
    lane.mode = 'pass';

    expect(arrived).toBe('');
  });
});
