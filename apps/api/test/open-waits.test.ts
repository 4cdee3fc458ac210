import { EventEmitter, once } from 'node:events';
import { PassThrough } from 'node:stream';

import { expect, test } from '@jest/globals';
import type { FastifyReply } from 'fastify';

import { MAX_WAITS, OpenWaits } from '../src/http/open-waits.js';

/** As much of a reply as a wait looks at. */
function connection(): { reply: FastifyReply; socket: PassThrough; raw: EventEmitter } {
  const socket = new PassThrough();
  const raw = new EventEmitter();
  return { reply: { raw, request: { raw: { socket } } } as unknown as FastifyReply, socket, raw };
}

const untilAborted = async (signal: AbortSignal): Promise<void> => {
  if (!signal.aborted) await once(signal, 'abort');
  signal.throwIfAborted();
};

test('there are so many waits at most, until one ends; who does not wait is let in', async () => {
  const waits = new OpenWaits();
  const open = Array.from({ length: MAX_WAITS }, connection);
  const ended = open.map(({ reply }) =>
    waits.run(reply, 1, untilAborted).catch(({ slug }) => slug as string),
  );
  const { reply } = connection();
  const full = { slug: 'too-many-waits', fields: { limit: MAX_WAITS } };
  await expect(waits.run(reply, 1, async () => 'done')).rejects.toMatchObject(full);
  expect(await waits.run(reply, 0, async () => 'done')).toBe('done');
  open[0]!.raw.emit('close');
  expect(await ended[0]).toBe('lock-timeout');
  expect(await waits.run(reply, 1, async () => 'done')).toBe('done');

  waits.onModuleDestroy();
  expect(new Set(await Promise.all(ended.slice(1)))).toEqual(new Set(['shutting-down']));
  await expect(waits.run(reply, 0, async () => 'done')).rejects.toMatchObject({ slug: 'shutting-down' });
});

test('a client that was gone before is not waited for', async () => {
  const { reply, socket } = connection();
  socket.end();
  socket.resume();
  await once(socket, 'end');
  await expect(new OpenWaits().run(reply, 1, untilAborted)).rejects.toMatchObject({ slug: 'lock-timeout' });
});

test('a wait leaves no listener behind', async () => {
  const { reply, socket, raw } = connection();
  const listeners = (): number => socket.listenerCount('end') + raw.listenerCount('close');
  const before = listeners();
  await new OpenWaits().run(reply, 1, async () => {
    expect(listeners()).toBe(before + 2);
  });
  expect(listeners()).toBe(before);
});
