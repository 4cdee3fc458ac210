import { createHash } from 'node:crypto';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { crc32, gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from '@jest/globals';
import type { SentFile } from '@mortise/messaging';
import type { RedisClient } from '@mortise/redis';
import { connect } from '@mortise/test-kit';
import { fileAck } from '../src/scripts.gen.js';
import { Channel, first, freshDirectory, lines, readAll, textOf } from './files-fixture.js';
import { DeathError, dieEverywhere, stepwise } from './stepwise-client.js';

const redis = connect();

/** What a receiver makes of these bytes, sent in these pieces. */
async function received(pieces: readonly Buffer[], options: object = {}): Promise<string> {
  const channel = new Channel(redis);
  const sender = channel.sender({ ...options, lingerMs: 0 });
  const [file, leave] = await (async () => {
    const sending = sender.send(Readable.from(pieces), { name: 'a.gz' });
    const found = await first(channel.receiver());
    sending.catch(() => undefined);
    return found;
  })();
  try {
    return await textOf(file, { wholeLines: true });
  } finally {
    await file.fail();
    await leave();
  }
}

describe('D5: gzip', () => {
  const members = [lines(3), lines(4, 3), '', lines(1, 7)].map((text) => gzipSync(text));
  const whole = Buffer.concat(members);

  test('of several members is read whole, wherever it is split', async () => {
    for (let at = 0; at <= whole.length; at += 1) {
      const channel = new Channel(redis);
      const sender = channel.sender({ lingerMs: 0 });
      const source = new Readable({ read: () => undefined });
      const sending = sender.send(source, { name: 'a.gz' });
      if (at > 0) source.push(whole.subarray(0, at));
      const reading = readAll(channel.receiver());
      if (at < whole.length) source.push(whole.subarray(at));
      source.push(null);
      await sending;
      await sender.end();
      expect(await reading).toEqual({ 'a.gz': lines(8) });
    }
  });

  test('that is truncated anywhere in a member is corrupt', async () => {
    for (let at = 1; at < members[0]!.length; at += 5) {
      await expect(received([whole.subarray(0, at)])).rejects.toMatchObject({ code: 'ERR_FILE_CORRUPT' });
    }
    for (const at of [1, 2, 5, 12]) {
      const cut = whole.subarray(0, members[0]!.length + at);
      await expect(received([cut])).rejects.toMatchObject({ code: 'ERR_FILE_CORRUPT' });
    }
  });

  test('with a damaged byte anywhere is corrupt, or nothing else than what was compressed', async () => {
    for (let at = 0; at < whole.length; at += 1) {
      const damaged = Buffer.from(whole);
      damaged[at]! ^= 0xff;
      const text = await received([damaged]).catch((error: { code: string }) => error.code);
      expect(['ERR_FILE_CORRUPT', lines(8)]).toContain(text);
    }
  });

  test('that is followed by something else is corrupt', async () => {
    await expect(received([whole, Buffer.from('garbage')])).rejects.toMatchObject({
      code: 'ERR_FILE_CORRUPT',
    });
  });

  test('of a file of no bytes, and of one that inflates to none, is nothing', async () => {
    expect(await received([gzipSync('')])).toBe('');
    expect(await received([])).toBe('');
  });

  test('is left alone when that is asked for', async () => {
    const channel = new Channel(redis);
    const sender = channel.sender();
    await sender.send(Readable.from([whole]), { name: 'a.gz' });
    const [file, leave] = await first(channel.receiver());
    const parts: Buffer[] = [];
    for await (const part of file.blocks({ gunzip: false })) parts.push(part);
    expect(Buffer.concat(parts)).toEqual(whole);
    await leave();
  });
});

/** What differs is not shown: it would be long. */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Text that hardly compresses. */
function noise(bytes: number): string {
  let state = 1;
  const characters: string[] = [];
  for (let index = 0; index < bytes; index += 1) {
    state = (state * 48_271) % 2_147_483_647;
    characters.push(index % 80 === 79 ? '\n' : String.fromCharCode(33 + (state % 90)));
  }
  return characters.join('');
}

test('a receiver of gzip that was stopped goes on behind the last line that it had acked', async () => {
  const channel = new Channel(redis);
  const sender = channel.sender({ windowBytes: 1_048_576, budgetBytes: 4_194_304 });
  const text = noise(600_000);
  await sender.send(Readable.from([gzipSync(text)]), { name: 'a.gz' });
  await sender.end();
  const [file, leave] = await first(channel.receiver());
  const found: string[] = [];
  for await (const line of file.lines({ autoAck: false })) {
    found.push(line);
    if (found.length === 3_210) break;
  }
  await file.ack();
  await leave();
  const [again, leaveAgain] = await first(channel.receiver());
  for await (const line of again.lines()) found.push(line);
  await again.done();
  await leaveAgain();
  expect(`${found.join('\n')}\n`).toBe(text);
});

describe('gzip that is larger than the window', () => {
  /** Members of so many lines each, which hardly compress. */
  function membersOf(text: string, bytes: number): Buffer {
    const members: Buffer[] = [];
    for (let from = 0; from < text.length; from += bytes) {
      members.push(gzipSync(text.slice(from, from + bytes)));
    }
    return Buffer.concat(members);
  }

  /** Every process handles some lines and dies; what is handled, by its offset. */
  async function readByMortals(channel: Channel, lineCount: number, autoAck: boolean): Promise<string> {
    const handled = new Map<number, string>();
    for (let isDone = false; !isDone;) {
      const [file, leave] = await first(channel.receiver());
      let left = lineCount;
      for await (const line of file.lines({ autoAck })) {
        handled.set(file.offset, line);
        if (!autoAck && left % 100 === 0) await file.ack();
        left -= 1;
        if (left === 0) break;
      }
      if (left > 0) {
        await file.done();
        isDone = true;
      }
      await leave();
    }
    const sorted = [...handled].toSorted(([a], [b]) => a - b);
    return sorted.map(([, line]) => `${line}\n`).join('');
  }

  test.each([true, false])(
    'is gone on with at the end of a member, nothing lost or doubled, autoAck %p',
    async (autoAck) => {
      const channel = new Channel(redis);
      const text = noise(200_000);
      const sending = channel.sender().send(Readable.from([membersOf(text, 5_000)]), { name: 'a.gz' });
      expect(digest(await readByMortals(channel, 400, autoAck))).toBe(digest(text));
      await sending;
      await channel.sender().end();
      expect(await readAll(channel.receiver())).toEqual({});
    },
  );

  test('in one member is refused before any of it is freed, not waited for', async () => {
    const channel = new Channel(redis);
    const sending = channel.sender().send(Readable.from([gzipSync(noise(200_000))]), { name: 'a.gz' });
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const [file, leave] = await first(channel.receiver());
      const refusal = { code: 'ERR_GZIP_MEMBER_TOO_LARGE', maxBytes: 12_352 };
      await expect(textOf(file)).rejects.toMatchObject(refusal);
      await leave();
    }
    // Nothing was lost: as bytes, all of it is there.
    const [again, leaveAgain] = await first(channel.receiver());
    const parts: Buffer[] = [];
    for await (const part of again.blocks({ gunzip: false })) parts.push(part);
    expect(gunzipSync(Buffer.concat(parts)).toString()).toBe(noise(200_000));
    await again.done();
    await leaveAgain();
    await sending;
  });

  test('and was acked as bytes is not resumable as text, and says so', async () => {
    const channel = new Channel(redis);
    const sending = channel.sender().send(Readable.from([gzipSync(noise(50_000))]), { name: 'a.gz' });
    const [file, leave] = await first(channel.receiver());
    const blocks = file.blocks({ gunzip: false, autoAck: false });
    await blocks.next();
    await file.ack();
    await blocks.return(undefined);
    await leave();
    const [again, leaveAgain] = await first(channel.receiver());
    await expect(textOf(again)).rejects.toMatchObject({ code: 'ERR_FILE_NOT_RESUMABLE' });
    sending.catch(() => undefined);
    await again.fail();
    await leaveAgain();
    await expect(sending).rejects.toMatchObject({ code: 'ERR_FILE_ABORTED' });
  });

  test('an older ack that arrives late does not part the cursor from the text', async () => {
    const channel = new Channel(redis);
    const text = noise(12_000);
    const { fileId } = await channel
      .sender({ windowBytes: 65_536, budgetBytes: 65_536 })
      .send(Readable.from([membersOf(text, 1_000)]), { name: 'a.gz' });
    const [file, leave] = await first(channel.receiver());
    const found: string[] = [];
    const fileKey = `${channel.prefix}:messaging:{${channel.name}%%1}:file:${fileId}`;
    for await (const line of file.lines({ autoAck: false })) {
      found.push(line);
      if (found.length % 20 === 0) await file.ack();
      if (found.length === 100) break;
    }
    const acked = await redis.hget(fileKey, 'g:r1');
    const sha1 = fileAck.sha1;
    const cursors = fileKey.replace('}:file:', '}:file-cursors:');
    const token = await redis.hget(fileKey, 't:r1');
    await redis.evalsha(
      sha1,
      3,
      fileKey,
      cursors,
      `${cursors}:events`,
      'PUBLISH',
      'r1',
      token!,
      0,
      '80:0',
      0,
    );
    expect(await redis.hget(fileKey, 'g:r1')).toBe(acked);
    await leave();
    const [again, leaveAgain] = await first(channel.receiver());
    for await (const line of again.lines()) found.push(line);
    expect(`${found.join('\n')}\n`).toBe(text);
    await leaveAgain();
  });
});

describe('gzip: true', () => {
  // Six members and a bit; larger than the window, which holds two.
  const text = noise(1_700_000);
  const options = { chunkBytes: 65_536, windowBytes: 524_288, budgetBytes: 2_097_152 };

  test('makes members at which a receiver that dies, and a sender that does, can be gone on with', async () => {
    const channel = new Channel(redis);
    const handled = new Map<number, string>();
    const reading = (async () => {
      for (let isDone = false; !isDone;) {
        const [file, leave] = await first(channel.receiver());
        expect(file.name).toBe('a.log.gz');
        let left = 7_000;
        for await (const line of file.lines()) {
          handled.set(file.offset, line);
          left -= 1;
          if (left === 0) break;
        }
        if (left > 0) {
          await file.done();
          isDone = true;
        }
        await leave();
      }
    })();
    for (const stopAt of [100_000, 900_000]) {
      const stop = new AbortController();
      const sending = channel.sender(options).send(Readable.from([text]), {
        name: 'a.log',
        id: 'a',
        gzip: true,
        signal: stop.signal,
        onProgress: ({ bytes }) => bytes > stopAt && stop.abort(),
      });
      await expect(sending).rejects.toMatchObject({ name: 'AbortError' });
    }
    // Whatever pieces the source comes in.
    const pieces = text.match(/[^]{1,10007}/g)!;
    const sent = await channel
      .sender(options)
      .send(Readable.from(pieces), { name: 'a.log', id: 'a', gzip: true });
    expect(sent.resumedAt).toBeGreaterThan(900_000);
    expect(sent.name).toBe('a.log.gz');
    await reading;
    const sorted = [...handled].toSorted(([a], [b]) => a - b);
    expect(digest(sorted.map(([, line]) => `${line}\n`).join(''))).toBe(digest(text));
    await channel.sender(options).received();
  });

  test('of a source that is gzip already makes small members of it; one of no bytes stays one', async () => {
    const channel = new Channel(redis);
    const sending = channel
      .sender(options)
      .send(Readable.from([gzipSync(text)]), { name: 'a.gz', gzip: true });
    const [file, leave] = await first(channel.receiver());
    expect(digest(await textOf(file))).toBe(digest(text));
    await file.done();
    await leave();
    expect((await sending).name).toBe('a.gz');
    const empty = await channel.sender(options).send(Readable.from([]), { name: 'b', gzip: true });
    expect(empty).toMatchObject({ name: 'b.gz', bytes: 0 });
    const broken = channel.sender(options).send(Readable.from(['no gzip']), { name: 'c.gz', gzip: true });
    await expect(broken).rejects.toMatchObject({ code: 'ERR_FILE_CORRUPT' });
    await channel.sender(options).end();
    const found: unknown[] = [];
    for await (const next of channel.receiver().files()) {
      found.push(await textOf(next).catch((error: { code: string }) => error.code));
      await next.fail();
    }
    expect(found).toEqual(['', 'ERR_FILE_ABORTED']);
  });
});

describe('gzip: true of a path', () => {
  const [directory, removeDirectory] = freshDirectory();
  afterAll(removeDirectory);
  const quick = { leaseMs: 100, quietMs: 10 };

  interface Dying {
    readonly client: RedisClient;
    readonly signal: AbortSignal;
  }

  /** A client whose process dies around one of its steps; and the signal that ends what it was doing. */
  function dying(isDeath: (step: number, args: readonly unknown[]) => boolean, isExecuted = false): Dying {
    const death = new AbortController();
    const client = stepwise(redis, async (step, send, args) => {
      death.signal.throwIfAborted();
      if (!isDeath(step, args)) return send();
      if (isExecuted) await send();
      death.abort(new DeathError(`died at step ${step}`));
      throw death.signal.reason as Error;
    });
    return { client, signal: death.signal };
  }

  test.each([
    { name: 'plain.log', pack: (text: string): string | Buffer => text },
    { name: 'members.log.gz', pack: (text: string): string | Buffer => gzipSync(text) },
  ])('that has grown goes on behind what was sent: $name', async ({ name, pack }) => {
    const channel = new Channel(redis);
    const sender = channel.sender();
    const log = join(directory, name);
    for (const text of ['1\n', '2\n', '3\n']) {
      appendFileSync(log, pack(text));
      expect(await sender.send(log, { gzip: true })).toMatchObject({ isDuplicate: false });
      expect(await sender.send(log, { gzip: true })).toMatchObject({ isDuplicate: true });
    }
    await sender.end();
    expect(Object.values(await readAll(channel.receiver()))).toEqual(['1\n2\n3\n']);
  });

  test('whose sender dies at any of its steps, and that grows then: each line comes once', async () => {
    const steps = await dieEverywhere(async ({ step, isExecuted }) => {
      const channel = new Channel(redis);
      const log = join(directory, `${step}${isExecuted}.log`);
      // Two members and a bit, whose ends lie within chunks.
      const text = noise(11_500);
      writeFileSync(log, text);
      const { client, signal } = dying((at) => at === step, isExecuted);
      const sending = channel.sender(quick, client).send(log, { gzip: true, signal });
      const isAlive = await sending.then(
        () => true,
        () => false,
      );
      appendFileSync(log, lines(5, 500));
      const sender = channel.sender(quick);
      await sender.send(log, { gzip: true });
      await sender.send(log, { gzip: true });
      await sender.end();
      const [found] = Object.values(await readAll(channel.receiver()));
      expect(digest(found!)).toBe(digest(text + lines(5, 500)));
      return isAlive;
    });
    expect(steps).toBeGreaterThan(5);
  });

  test('that has grown while another sender waits, and the one that it waits for dies at the end', async () => {
    const channel = new Channel(redis);
    const log = join(directory, 'two.log');
    writeFileSync(log, lines(500));
    const key = `${channel.prefix}:messaging:{${channel.name}}:files-sent`;
    let hold!: () => void;
    let release!: () => void;
    const isHeld = new Promise<void>((resolve) => (hold = resolve));
    const isReleased = new Promise<void>((resolve) => (release = resolve));
    const death = new AbortController();
    const client = stepwise(redis, async (step, send, args) => {
      if (args.includes('closed')) death.abort(new DeathError(`died at step ${step}`));
      death.signal.throwIfAborted();
      // The note has the sent paths for its only key.
      if (args[2] === 1 && args[3] === key) {
        hold();
        await isReleased;
      }
      return send();
    });
    const dead = channel.sender({ leaseMs: 500 }, client).send(log, { gzip: true, signal: death.signal });
    dead.catch(() => undefined);
    await isHeld;
    appendFileSync(log, lines(5, 500));
    const sender = channel.sender(quick);
    let sending: Promise<SentFile> | undefined;
    await new Promise<unknown>((onListed) => {
      sending = sender.send(log, { gzip: true, onListed });
    });
    release();
    await expect(dead).rejects.toThrow(DeathError);
    await sending;
    await sender.end();
    expect(Object.values(await readAll(channel.receiver()))).toEqual([lines(505)]);
  });
});

describe('the parts of a header', () => {
  const body = gzipSync(lines(5)).subarray(10);
  const extra = Buffer.from([3, 0, 1, 2, 3]);
  const strings = Buffer.from('a name\0a comment\0', 'latin1');
  const head = Buffer.concat([
    Buffer.from([0x1f, 0x8b, 8, 2 | 4 | 8 | 16, 0, 0, 0, 0, 0, 3]),
    extra,
    strings,
  ]);
  const check = Buffer.alloc(2);
  check.writeUInt16LE(crc32(head) & 0xffff);
  const whole = Buffer.concat([head, check, body, head, check, body]);

  test('may all be there, split anywhere', async () => {
    for (let at = 1; at < head.length + 12; at += 1) {
      const [text, twice] = [lines(5), [whole.subarray(0, at), whole.subarray(at)]];
      expect(await received(twice)).toBe(text + text);
    }
  });

  test('are checked', async () => {
    for (const [at, value] of [
      [2, 9],
      [3, 0xff],
      [head.length, 0],
      [head.length - 3, 1],
    ] as const) {
      const damaged = Buffer.from(whole);
      damaged[at]! ^= value || 0x55;
      await expect(received([damaged])).rejects.toMatchObject({ code: 'ERR_FILE_CORRUPT' });
    }
  });
});
