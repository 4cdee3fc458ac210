/**
 * Senders and receivers that die at every step, and their successors; senders that are held up at a step while another one
 * sends the file.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { afterAll, describe, expect, test } from '@jest/globals';
import type { SentFile } from '@mortise/messaging/files';
import type { RedisClient } from '@mortise/redis';
import { startProxy } from '@mortise/redis-server';
import { connect, disconnectLater, gate, interposed, until } from '@mortise/test-kit';
import { Redis } from 'ioredis';
import type { Death } from '../fixture/stepwise-client.js';
import { DeathError, dieEverywhere, slowlyAfter } from '../fixture/stepwise-client.js';
import {
  Channel,
  first,
  freshDirectory,
  lines,
  openLines,
  pushed,
  readAll,
  sendPart,
  textOf,
} from './fixture.js';

const redis = connect();
// Its own connection, so that only its commands wait.
const other = connect();
const proxy = await startProxy({ port: Number(new URL(process.env['MORTISE_TEST_REDIS']!).port) });
afterAll(() => proxy.stop());
const { pathOf } = freshDirectory();

/** Dies at each step, before and after its execution, until it lives through; returns the number of steps. */
async function atEveryStep(
  live: (client: RedisClient, isDead: AbortController) => Promise<boolean>,
): Promise<number> {
  return dieEverywhere((death) => {
    const isDead = new AbortController();
    return live(dying(death, isDead), isDead);
  });
}

/** Resolves to whether it lived through. */
async function survives(action: Promise<unknown>): Promise<boolean> {
  return action.then(
    () => true,
    (error: unknown) => {
      if (error instanceof DeathError) return false;
      throw error;
    },
  );
}

function dying(death: Death, isDead: AbortController): RedisClient {
  return interposed(redis, async (step, send) => {
    if (step < death.step) return send();
    if (step === death.step && death.isExecuted) await send();
    // A dead process tries nothing again.
    isDead.abort(new DeathError(`died at step ${death.step}`));
    throw isDead.signal.reason;
  });
}

test('a sender dies at any step: the next one continues, with nothing lost, doubled or left', async () => {
  const text = lines(400);
  const path = pathOf('sender.log', text);
  const steps = await atEveryStep(async (client, isDead) => {
    const channel = new Channel(redis);
    const reading = readAll(channel.receiver());
    const dead = channel.sender({ leaseMs: 100 }, client);
    const isAlive = await survives(
      (async () => {
        await dead.send(path, { id: 'a', signal: isDead.signal });
        await dead.end();
      })(),
    );
    const sender = channel.sender();
    const sent = await sender.send(path, { id: 'a' });
    const digest = createHash('sha256').update(text).digest('hex');
    expect(sent.isDuplicate ? digest : sent.sha256).toBe(digest);
    await sender.end();
    expect(await reading).toEqual({ 'sender.log': text });
    await sender.received();
    await until('nothing to be left', async () => {
      // The SHA-256 is noted after the end: a sender that died between the two has left none.
      const left = (await channel.keys()).filter((key) => key !== 'files-sent');
      return left.join() === 'file-channel,files';
    });
    return isAlive;
  });
  expect(steps).toBeGreaterThan(10);
});

test('D15: a receiver dies at any step: the next one continues after the last ack', async () => {
  const text = lines(400);
  const steps = await atEveryStep(async (client, isDead) => {
    const channel = new Channel(redis);
    const sender = channel.sender({ receivers: ['r1', 'r2'] });
    const second = readAll(channel.receiver('r2'));
    const sending = sender.send(Readable.from([text]), { name: 'a' }).then(() => sender.end());
    // The handled lines by the offset after them: a line that comes again overwrites its first copy.
    const handled = new Map<number, string>();
    const read = async (receiver = channel.receiver(), signal?: AbortSignal): Promise<void> => {
      for await (const file of receiver.files(signal ? { signal } : {})) {
        for await (const line of file.lines()) handled.set(file.offset, line);
        await file.done();
      }
    };
    const hasEnded = await survives(read(channel.receiver('r1', client, 100), isDead.signal));
    // An aborted signal ends the loop without an error.
    const isAlive = hasEnded && !isDead.signal.aborted;
    await read();
    await sending;
    expect(await second).toEqual({ a: text });
    expect(
      [...handled]
        .toSorted(([a], [b]) => a - b)
        .map(([, line]) => `${line}\n`)
        .join(''),
    ).toBe(text);
    await until('nothing to be left', async () => (await channel.keys()).join() === 'file-channel,files');
    return isAlive;
  });
  expect(steps).toBeGreaterThan(10);
});

test('a sender dies at any step of send or abort: abort by another sender gives receivers an error and leaves nothing', async () => {
  const path = pathOf('aborted.log', lines(300));
  const steps = await atEveryStep(async (client, isDead) => {
    const channel = new Channel(redis);
    const stop = new AbortController();
    // Dies while it sends, or while it gives up what was sent in part.
    const isAlive = await survives(
      (async () => {
        const dead = channel.sender({ leaseMs: 100 }, client);
        const sending = dead.send(path, {
          id: 'a',
          signal: AbortSignal.any([stop.signal, isDead.signal]),
          onProgress: () => stop.abort(),
        });
        await sending.catch((error: unknown) => {
          if (isDead.signal.aborted || error !== stop.signal.reason) throw isDead.signal.reason ?? error;
        });
        await dead.abort('a', 'not wanted', { signal: isDead.signal });
      })(),
    );
    const sender = channel.sender();
    const isAborted = await sender.abort('a', 'not wanted');
    await sender.end();
    const found: unknown[] = [];
    for await (const file of channel.receiver().files()) {
      found.push(
        await textOf(file).catch(({ code, reason }: { code: string; reason: string }) => [code, reason]),
      );
      await file.fail();
    }
    // A sender that died before the file was listed has left nothing to give up.
    expect([[], [['ERR_FILE_ABORTED', 'not wanted']]]).toContainEqual(found);
    expect(found.length).toBeGreaterThanOrEqual(Number(isAborted));
    await until('nothing to be left', async () =>
      (await channel.keys()).every((key) => ['file-channel', 'files'].includes(key)),
    );
    return isAlive;
  });
  expect(steps).toBeGreaterThan(8);
});

test('connections are cut and scripts flushed while chunks travel: nothing is lost or doubled', async () => {
  const channel = new Channel(redis);
  const [sending, reading] = [connect(), connect()];
  let closes = 0;
  for (const client of [sending, reading]) client.on('close', () => (closes += 1));
  const text = lines(6_000);
  const found = readAll(channel.receiver('r1', reading));
  let chunks = 0;
  const cut = async (): Promise<void> => {
    if (chunks % 3 === 0) await redis.script('FLUSH');
    const ids = await redis.client('LIST');
    for (const client of [sending, reading]) {
      const port = client.stream.localPort;
      const id = new RegExp(`id=(\\d+) addr=[^ ]*:${port} `).exec(String(ids))?.[1];
      if (id) await redis.client('KILL', 'ID', Number(id));
    }
  };
  const cuts: Promise<void>[] = [];
  const sent = await channel.sender({ windowBytes: 32_768 }, sending).send(Readable.from([text]), {
    name: 'a',
    onProgress: () => {
      chunks += 1;
      if (chunks % 5 === 0) cuts.push(cut());
    },
  });
  await Promise.all(cuts);
  expect(closes).toBeGreaterThan(4);
  expect(sent).toMatchObject({
    bytes: text.length,
    sha256: createHash('sha256').update(text).digest('hex'),
  });
  await channel.sender().end();
  expect((await found)['a'] === text).toBe(true);
  await until('nothing to be left', async () => (await channel.keys()).join() === 'file-channel,files');
});

describe('leases', () => {
  test('a second sender of a file waits for the first, and neither overwrites the other', async () => {
    const channel = new Channel(redis);
    const path = pathOf('two.log', lines(2_000));
    const sending = Promise.all(
      Array.from({ length: 3 }, () => channel.sender({ leaseMs: 5_000 }).send(path, { id: 'two' })),
    );
    const reading = readAll(channel.receiver());
    const sent = await sending;
    expect(sent.filter(({ isDuplicate }) => isDuplicate)).toHaveLength(2);
    await channel.sender().end();
    expect(await reading).toEqual({ 'two.log': lines(2_000) });
  });

  test('a sender that was silent for too long is refused, and stores nothing', async () => {
    const channel = new Channel(redis);
    const source = pushed('first\n');
    const back = gate();
    let silent = false;
    // Its renewals don't reach the server.
    const paused = interposed(redis, async (_, send) => {
      if (silent) await back.passed;
      return send();
    });
    const sending = channel.sender({ lingerMs: 0 }, paused).send(source, { name: 'a', id: 'a' });
    sending.catch(() => undefined);
    const { nextLine, end } = await openLines(channel.receiver());
    expect(await nextLine()).toBe('first');
    silent = true;
    source.push('late\n');
    const next = await channel.sender().send(Readable.from(['first\nsecond\n']), { name: 'a', id: 'a' });
    expect(next).toMatchObject({ resumedAt: 6, bytes: 13 });
    silent = false;
    back.open();
    await expect(sending).rejects.toMatchObject({ code: 'ERR_LEASE_LOST' });
    expect(await nextLine()).toBe('second');
    expect(await nextLine()).toBeUndefined();
    await end();
    await channel.sender().end();
    expect(await channel.keys()).toEqual(['file-channel', 'files', 'files-sent']);
  });

  test('two processes of one receiver: the second waits, and acks of the first after a takeover are refused', async () => {
    const channel = new Channel(redis);
    const sender = channel.sender();
    await sender.send(Readable.from([lines(300)]), { name: 'a' });
    const [file, leave] = await first(channel.receiver());
    const blocks = file.blocks({ autoAck: false });
    await blocks.next();
    await redis.zadd(channel.key('file-receivers'), 1, 'r1');
    await redis.hset(channel.key('file-channel'), 'tokens', 7, 'r:r1', '7:another');
    await expect(file.fail()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST' });
    await leave();
    const [again, leaveAgain] = await first(channel.receiver());
    const others = again.blocks({ autoAck: false });
    await others.next();
    await expect(file.ack()).rejects.toMatchObject({ code: 'ERR_LEASE_LOST' });
    await again.ack();
    await others.return(undefined);
    await leaveAgain();
  });
});

describe('dead receivers', () => {
  test('drop: the others continue, and the returning receiver gets an error', async () => {
    const channel = new Channel(redis);
    const sender = channel.sender({ receivers: ['r1', 'gone'], deadReceivers: 'drop' });
    const text = lines(2_000);
    const reading = readAll(channel.receiver());
    await sender.send(Readable.from([text]), { name: 'a' });
    await sender.end();
    expect(await reading).toEqual({ a: text });
    await sender.received();
    expect(await channel.keys()).toEqual(['file-channel', 'files']);
    expect(await readAll(channel.receiver('gone'))).toEqual({});
  });

  test('fail: send rejects, naming them, and the file is aborted', async () => {
    const channel = new Channel(redis);
    const sender = channel.sender({ receivers: ['r1', 'gone'], deadReceivers: 'fail' });
    const sending = sender.send(Readable.from([lines(2_000)]), { name: 'a' });
    sending.catch(() => undefined);
    const [file, leave] = await first(channel.receiver());
    await expect(textOf(file)).rejects.toMatchObject({ code: 'ERR_FILE_ABORTED' });
    await expect(sending).rejects.toMatchObject({ code: 'ERR_RECEIVER_DEAD', receivers: ['gone'] });
    await leave();
  });

  test('wait: the sender waits, and continues when the receiver comes', async () => {
    const channel = new Channel(redis);
    const sender = channel.sender({ receivers: ['r1', 'late'] });
    const text = lines(2_000);
    const reading = readAll(channel.receiver());
    const written: number[] = [];
    const sending = sender.send(Readable.from([text]), {
      name: 'a',
      onProgress: ({ bytes }) => written.push(bytes),
    });
    await until('a full window', () => written.length === 4);
    const late = readAll(channel.receiver('late'));
    await sending;
    await sender.end();
    expect(await Promise.all([reading, late])).toEqual([{ a: text }, { a: text }]);
  });
});

test('a chunk that is damaged or missing in Redis is reported, not delivered', async () => {
  const channel = new Channel(redis);
  const sender = channel.sender();
  const { fileId } = await sender.send(Readable.from([lines(400)]), { name: 'a' });
  const chunk = `${channel.prefix}:messaging:{${channel.name}%%1}:chunk:${fileId}.1.1`;
  await redis.setrange(chunk, 100, 'X');
  const [file, leave] = await first(channel.receiver());
  await expect(textOf(file)).rejects.toMatchObject({ code: 'ERR_FILE_CORRUPT' });
  await leave();
  await redis.del(chunk);
  const [again, leaveAgain] = await first(channel.receiver());
  await expect(textOf(again)).rejects.toMatchObject({ code: 'ERR_FILE_EXPIRED' });
  await leaveAgain();
});

describe('two senders of one file', () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'a sender that stops after step %i finds the file sent, and leaves nothing',
    async (steps) => {
      const channel = new Channel(redis);
      const text = lines(100);
      const { slow, release } = slowlyAfter(other, steps);
      const late = channel.sender({}, slow).send(Readable.from([text]), { name: 'a', id: 'a' });
      late.catch(() => undefined);
      const sender = channel.sender();
      const reading = readAll(channel.receiver());
      await sender.send(Readable.from([text]), { name: 'a', id: 'a' });
      await sender.end();
      expect(await reading).toEqual({ a: text });
      await sender.received();
      release();
      await late.catch(() => undefined);
      expect(await channel.keys()).toEqual(['file-channel', 'files', 'files-sent']);
    },
  );

  test('two senders under one id with different names: the file has the name of the one that sent it', async () => {
    const channel = new Channel(redis);
    const source = new PassThrough();
    source.write('text');
    const stored = new Promise((onProgress) => {
      void channel.sender({ lingerMs: 0 }).send(source, { name: 'a', id: 'id', onProgress });
    });
    await stored;
    let late: Promise<SentFile> | undefined;
    await new Promise<unknown>((onListed) => {
      late = channel.sender().send(Buffer.from('text'), { name: 'b', id: 'id', onListed });
    });
    source.end();
    expect(await late).toMatchObject({ isDuplicate: true });
    const files = channel.files();
    expect(await files.numberOf('id')).toMatchObject({ name: 'a' });
    await channel.sender().end();
    expect(await readAll(channel.receiver())).toEqual({ a: 'text' });
    expect(await files.numberOf('id')).toMatchObject({ name: 'a' });
  });

  test('a file whose sender died before its name was recorded is sent again with another name', async () => {
    const channel = new Channel(redis);
    const dead = interposed(other, async (_, send, args) => {
      if (args.some((arg) => typeof arg === 'string' && /^[0-9a-f]{64} a$/.test(arg)))
        throw new DeathError('died');
      return send();
    });
    await channel.sender({}, dead).send(Buffer.from('text'), { name: 'a', id: 'id' });
    const files = channel.files();
    expect(await channel.sender().send(Buffer.from('text'), { name: 'b', id: 'id' })).toMatchObject({
      isDuplicate: true,
    });
    await channel.sender().end();
    expect(await readAll(channel.receiver())).toEqual({ a: 'text' });
    expect(await files.numberOf('id')).toMatchObject({ name: 'a' });
  });

  test('a file that another sender finishes under another name keeps the name that receivers see', async () => {
    const channel = new Channel(redis);
    await sendPart(channel.sender({ lingerMs: 0 }), pushed('te'), { name: 'a', id: 'id' });
    expect(await channel.sender().send(Buffer.from('text'), { name: 'b', id: 'id' })).toMatchObject({
      name: 'a',
      isDuplicate: false,
      resumedAt: 2,
    });
    const files = channel.files();
    expect(await files.numberOf('id')).toMatchObject({ name: 'a' });
    await channel.sender().end();
    expect(await readAll(channel.receiver())).toEqual({ a: 'text' });
    expect(await files.numberOf('id')).toMatchObject({ name: 'a' });
  });
});

test('a send ends with ERR_CLIENT_CLOSED when its client is closed during an outage', async () => {
  // Commands fail at once while the connection is lost.
  const options = { enableOfflineQueue: false, maxRetriesPerRequest: 0, disconnectTimeout: 100 };
  const client = disconnectLater(new Redis(proxy.url, { ...options, retryStrategy: () => 20 }));
  await once(client, 'ready');
  const channel = new Channel(redis);
  const source = new PassThrough();
  const ended = channel
    .sender({}, client)
    .send(source, { name: 'a' })
    .catch((error: unknown) => error);
  source.write('text');
  const [file, leave] = await first(channel.receiver());
  for await (const block of file.blocks()) {
    expect(String(block)).toBe('text');
    break;
  }
  await leave();
  proxy.refuse();
  source.write('more');
  await once(client, 'reconnecting');
  client.disconnect();
  expect(await ended).toMatchObject({ code: 'ERR_CLIENT_CLOSED' });
});
