/** Senders and receivers that die at every step, and those who take their places. */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, describe, expect, test } from '@jest/globals';
import { connect, until } from '@mortise/test-kit';
import { Channel, first, freshDirectory, lines, readAll, textOf } from './files-fixture.js';
import type { Death } from './stepwise-client.js';
import { DeathError, stepwise } from './stepwise-client.js';

const redis = connect();
const [directory, removeDirectory] = freshDirectory();
afterAll(removeDirectory);

const keysOf = async ({ prefix }: Channel): Promise<string[]> =>
  (await redis.keys(`${prefix}:*`)).map((key) => key.slice(key.indexOf('}:') + 2)).toSorted();

/** Dies at each step, before and after its execution, until it lives through. The process is really gone: it tries nothing again. */
async function atEveryStep(
  live: (death: Death, isDead: AbortController) => Promise<boolean>,
): Promise<number> {
  for (let step = 1; step < 200; step += 1) {
    let isAlive = false;
    for (const isExecuted of [false, true]) {
      isAlive = await live({ step, isExecuted }, new AbortController());
    }
    if (isAlive) return step - 1;
  }
  throw new Error('the action has no end');
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

function dying(death: Death, isDead: AbortController) {
  return stepwise(redis, async (step, send) => {
    if (step < death.step) return send();
    if (step === death.step && death.isExecuted) await send();
    // Whoever is dead tries nothing again.
    isDead.abort(new DeathError(`died at step ${death.step}`));
    throw isDead.signal.reason;
  });
}

test('a sender that dies at any step is taken up by the next one: nothing lost, doubled or left', async () => {
  const path = join(directory, 'sender.log');
  const text = lines(400);
  writeFileSync(path, text);
  const steps = await atEveryStep(async (death, isDead) => {
    const channel = new Channel(redis);
    const reading = readAll(channel.receiver());
    const client = dying(death, isDead);
    const dead = channel.sender({ leaseMs: 100 }, client);
    const isAlive = await survives(
      (async () => {
        await dead.send(path, { signal: isDead.signal });
        await dead.end();
      })(),
    );
    const sender = channel.sender();
    const sent = await sender.send(path);
    const digest = createHash('sha256').update(text).digest('hex');
    expect(sent.isDuplicate ? digest : sent.sha256).toBe(digest);
    await sender.end();
    expect(await reading).toEqual({ 'sender.log': text });
    await sender.received();
    await until('nothing to be left', async () => (await keysOf(channel)).join() === 'file-channel,files');
    return isAlive;
  });
  expect(steps).toBeGreaterThan(10);
});

test('a receiver that dies at any step is taken up by the next one, behind what it had acked', async () => {
  const text = lines(400);
  const steps = await atEveryStep(async (death, isDead) => {
    const channel = new Channel(redis);
    const sender = channel.sender({ receivers: ['r1', 'r2'] });
    const other = readAll(channel.receiver('r2'));
    const sending = sender.send(Readable.from([text]), { name: 'a' }).then(() => sender.end());
    // What was handled, by the offset behind it: what comes again overwrites what came before.
    const handled = new Map<number, string>();
    const read = async (receiver = channel.receiver(), signal?: AbortSignal): Promise<void> => {
      for await (const file of receiver.files(signal ? { signal } : {})) {
        for await (const line of file.lines()) handled.set(file.offset, line);
        await file.done();
      }
    };
    const isAlive = await survives(read(channel.receiver('r1', dying(death, isDead), 100), isDead.signal));
    await read();
    await sending;
    expect(await other).toEqual({ a: text });
    expect(
      [...handled]
        .toSorted(([a], [b]) => a - b)
        .map(([, line]) => `${line}\n`)
        .join(''),
    ).toBe(text);
    await until('nothing to be left', async () => (await keysOf(channel)).join() === 'file-channel,files');
    return isAlive;
  });
  expect(steps).toBeGreaterThan(10);
});

describe('leases', () => {
  test('a second sender of a file waits for the first, and neither overwrites the other', async () => {
    const channel = new Channel(redis);
    const path = join(directory, 'two.log');
    writeFileSync(path, lines(2_000));
    const sending = Promise.all(
      Array.from({ length: 3 }, () => channel.sender({ leaseMs: 5_000 }).send(path)),
    );
    const reading = readAll(channel.receiver());
    const sent = await sending;
    expect(sent.filter(({ isDuplicate }) => isDuplicate)).toHaveLength(2);
    await channel.sender().end();
    expect(await reading).toEqual({ 'two.log': lines(2_000) });
  });

  test('a sender that was silent for too long is refused, and stores nothing', async () => {
    const channel = new Channel(redis);
    const source = new Readable({ read: () => undefined });
    const stuck = new AbortController();
    let silent = false;
    // What it would renew its lease with doesn't get through.
    const paused = new Proxy(redis, {
      get: (target, name) => {
        const value = Reflect.get(target, name) as unknown;
        if (typeof value !== 'function') return value;
        const method = value.bind(target) as (...args: unknown[]) => Promise<unknown>;
        if (name !== 'call') return method;
        return async (...args: unknown[]) => {
          if (silent) await new Promise((resolve) => stuck.signal.addEventListener('abort', resolve));
          return method(...args);
        };
      },
    });
    const sending = channel.sender({ lingerMs: 0 }, paused).send(source, { name: 'a', id: 'a' });
    sending.catch(() => undefined);
    source.push('first\n');
    const [file, leave] = await first(channel.receiver());
    const reading = file.lines()[Symbol.asyncIterator]();
    expect(await reading.next()).toMatchObject({ value: 'first' });
    silent = true;
    source.push('late\n');
    const other = await channel.sender().send(Readable.from(['first\nsecond\n']), { name: 'a', id: 'a' });
    expect(other).toMatchObject({ resumedAt: 6, bytes: 13 });
    silent = false;
    stuck.abort();
    await expect(sending).rejects.toMatchObject({ code: 'ERR_FILE_LEASE_LOST' });
    expect(await reading.next()).toMatchObject({ value: 'second' });
    expect(await reading.next()).toMatchObject({ done: true });
    await file.done();
    await leave();
    await channel.sender().end();
    expect(await keysOf(channel)).toEqual(['file-channel', 'files']);
  });

  test('two processes of one receiver: the second waits, and what the first acks after a takeover is refused', async () => {
    const channel = new Channel(redis);
    const sender = channel.sender();
    await sender.send(Readable.from([lines(300)]), { name: 'a' });
    const [file, leave] = await first(channel.receiver());
    const blocks = file.blocks({ autoAck: false });
    await blocks.next();
    await redis.zadd(`${channel.prefix}:messaging:{${channel.name}}:file-receivers`, 1, 'r1');
    const head = `${channel.prefix}:messaging:{${channel.name}}:file-channel`;
    await redis.hset(head, 'tokens', 7, 'r:r1', '7:another');
    await expect(file.fail()).rejects.toMatchObject({ code: 'ERR_FILE_LEASE_LOST' });
    await leave();
    const [again, leaveAgain] = await first(channel.receiver());
    const others = again.blocks({ autoAck: false });
    await others.next();
    await expect(file.ack()).rejects.toMatchObject({ code: 'ERR_FILE_LEASE_LOST' });
    await again.ack();
    await others.return(undefined);
    await leaveAgain();
  });
});

describe('sources that change', () => {
  test('a file that is truncated while it is sent is aborted, and receivers are told', async () => {
    const channel = new Channel(redis);
    const path = join(directory, 'truncated.log');
    writeFileSync(path, 'x'.repeat(2_000_000));
    const sending = channel.sender().send(path, {
      onProgress: () => writeFileSync(path, 'x'),
    });
    sending.catch(() => undefined);
    const [file, leave] = await first(channel.receiver());
    await expect(textOf(file)).rejects.toMatchObject({ code: 'ERR_FILE_ABORTED' });
    await expect(sending).rejects.toMatchObject({ code: 'ERR_SOURCE_CHANGED' });
    await file.fail();
    await leave();
    await channel.sender().end();
    expect(await keysOf(channel)).toEqual(['file-channel', 'files']);
  });

  test('a source that is not what was sent before is aborted', async () => {
    const channel = new Channel(redis);
    const stop = new AbortController();
    const source = Readable.from([lines(400)]);
    const sending = channel.sender().send(source, {
      name: 'a',
      id: 'a',
      signal: stop.signal,
      onProgress: () => stop.abort(),
    });
    await expect(sending).rejects.toMatchObject({ name: 'AbortError' });
    const other = channel.sender().send(Readable.from([lines(400, 1)]), { name: 'a', id: 'a' });
    await expect(other).rejects.toMatchObject({ code: 'ERR_SOURCE_CHANGED' });
    const [file, leave] = await first(channel.receiver());
    await expect(textOf(file)).rejects.toMatchObject({ code: 'ERR_FILE_ABORTED' });
    await file.fail();
    await leave();
  });

  test('a source that throws aborts its file; abort() gives one up that was left', async () => {
    const channel = new Channel(redis);
    const broken = (async function* () {
      yield 'some';
      throw new Error('the disk is gone');
    })();
    const sending = channel.sender().send(Readable.from(broken), { name: 'a' });
    await expect(sending).rejects.toThrow('the disk is gone');
    const stop = new AbortController();
    const left = channel.sender().send(Readable.from([lines(400)]), {
      name: 'b',
      id: 'b',
      signal: stop.signal,
      onProgress: () => stop.abort(),
    });
    await expect(left).rejects.toMatchObject({ name: 'AbortError' });
    expect(await channel.sender().abort('b', 'not wanted')).toBe(true);
    expect(await channel.sender().abort('c')).toBe(false);
    const reasons: unknown[] = [];
    await channel.sender().end();
    for await (const file of channel.receiver().files()) {
      reasons.push(await textOf(file).catch((error: { reason: string }) => error.reason));
      await file.fail();
    }
    expect(reasons).toEqual(['the disk is gone', 'not wanted']);
    expect(await keysOf(channel)).toEqual(['file-channel', 'files']);
  });
});

describe('receivers that are gone', () => {
  test('drop: the others go on, and the one that comes back is told', async () => {
    const channel = new Channel(redis);
    const sender = channel.sender({ receivers: ['r1', 'gone'], deadReceivers: 'drop' });
    const text = lines(2_000);
    const reading = readAll(channel.receiver());
    await sender.send(Readable.from([text]), { name: 'a' });
    await sender.end();
    expect(await reading).toEqual({ a: text });
    await sender.received();
    expect(await keysOf(channel)).toEqual(['file-channel', 'files']);
    expect(await readAll(channel.receiver('gone'))).toEqual({});
  });

  test('fail: send rejects, naming them, and the file is aborted', async () => {
    const channel = new Channel(redis);
    const sender = channel.sender({ receivers: ['r1', 'gone'], deadReceivers: 'fail' });
    const reading = (async () => {
      for await (const file of channel.receiver().files()) {
        try {
          await textOf(file);
          return undefined;
        } catch (error) {
          await file.fail();
          return error;
        }
      }
      return undefined;
    })();
    const sending = sender.send(Readable.from([lines(2_000)]), { name: 'a' });
    await expect(sending).rejects.toMatchObject({ code: 'ERR_RECEIVER_DEAD', receivers: ['gone'] });
    expect(await reading).toMatchObject({ code: 'ERR_FILE_ABORTED' });
  });

  test('wait: the sender waits, and goes on when it comes', async () => {
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

test('a chunk that was damaged or lost in Redis is reported, not passed on', async () => {
  const channel = new Channel(redis);
  const sender = channel.sender();
  await sender.send(Readable.from([lines(400)]), { name: 'a' });
  const chunk = `${channel.prefix}:messaging:{${channel.name}%%1}:chunk:1.1`;
  await redis.setrange(chunk, 100, 'X');
  const [file, leave] = await first(channel.receiver());
  await expect(textOf(file)).rejects.toMatchObject({ code: 'ERR_FILE_CORRUPT' });
  await leave();
  await redis.del(chunk);
  const [again, leaveAgain] = await first(channel.receiver());
  await expect(textOf(again)).rejects.toMatchObject({ code: 'ERR_FILE_EXPIRED' });
  await leaveAgain();
});
