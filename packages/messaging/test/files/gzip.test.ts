import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { crc32, gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import type { IncomingFile } from '@mortise/messaging/files';
import { connect } from '@mortise/test-kit';
import { fileAck } from '../../src/scripts.gen.js';
import { gunzip } from '../../src/files/receive/gunzip.js';
import { Channel, first, lines, readAll, textOf } from './fixture.js';

const redis = connect();

/** The text that a receiver reads from these pieces. */
async function received(pieces: readonly Buffer[]): Promise<string> {
  const channel = new Channel(redis);
  const sending = channel.sender({ lingerMs: 0 }).send(Readable.from(pieces), { name: 'a.gz' });
  sending.catch(() => undefined);
  const [file, leave] = await first(channel.receiver());
  try {
    return await textOf(file, { wholeLines: true });
  } finally {
    await file.fail();
    await leave();
  }
}

/** The compressed bytes of a file. */
async function bytesOf(file: IncomingFile): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of file.blocks({ gunzip: false })) parts.push(part);
  return Buffer.concat(parts);
}

/** The text of these chunks. */
async function inflated(...chunks: Buffer[]): Promise<string> {
  const blocks: Buffer[] = [];
  for await (const block of gunzip(chunksOf(chunks), 'a.gz')) blocks.push(block);
  return Buffer.concat(blocks).toString();
}

async function* chunksOf(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}

const CORRUPT = { code: 'ERR_FILE_CORRUPT' };

describe('D5: gzip', () => {
  const members = [lines(3), lines(4, 3), '', lines(1, 7)].map((text) => gzipSync(text));
  const whole = Buffer.concat(members);

  test('of several members is read whole, wherever it is split', async () => {
    for (let at = 0; at <= whole.length; at += 1) {
      expect(await inflated(whole.subarray(0, at), whole.subarray(at))).toBe(lines(8));
    }
    for (const at of [1, 12, members[0]!.length, whole.length - 4]) {
      expect(await received([whole.subarray(0, at), whole.subarray(at)])).toBe(lines(8));
    }
  });

  test('that is truncated anywhere in a member is corrupt', async () => {
    for (let before = 0; before < members.length; before += 1) {
      const start = Buffer.concat(members.slice(0, before));
      for (let at = 1; at < members[before]!.length; at += 1) {
        const cut = Buffer.concat([start, members[before]!.subarray(0, at)]);
        await expect(inflated(cut)).rejects.toMatchObject(CORRUPT);
      }
    }
    await expect(received([whole.subarray(0, -1)])).rejects.toMatchObject(CORRUPT);
  });

  test('with a damaged byte anywhere is corrupt, or nothing else than what was compressed', async () => {
    for (let at = 0; at < whole.length; at += 1) {
      const damaged = Buffer.from(whole);
      damaged[at]! ^= 0xff;
      const text = await inflated(damaged).catch((error: { code: string }) => error.code);
      expect(['ERR_FILE_CORRUPT', lines(8)]).toContain(text);
    }
  });

  test('with other bytes after its last member is corrupt', async () => {
    await expect(received([whole, Buffer.from('garbage')])).rejects.toMatchObject(CORRUPT);
  });

  test('of an empty file, and of an empty text, is empty', async () => {
    expect(await received([gzipSync('')])).toBe('');
    expect(await received([])).toBe('');
  });

  test('stays compressed with gunzip: false', async () => {
    const channel = new Channel(redis);
    await channel.sender().send(Readable.from([whole]), { name: 'a.gz' });
    const [file, leave] = await first(channel.receiver());
    expect(await bytesOf(file)).toEqual(whole);
    await leave();
  });
});

/** Short, since a failed comparison shows both texts. */
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

test('a restarted receiver of gzip continues after its last acked line', async () => {
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
  /** Members of so many bytes of text each, which hardly compress. */
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

  test('in one member is refused before any of it is freed', async () => {
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
    expect(gunzipSync(await bytesOf(again)).toString()).toBe(noise(200_000));
    await again.done();
    await leaveAgain();
    await sending;
  });

  test('and was acked as bytes fails with ERR_FILE_NOT_RESUMABLE as text', async () => {
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

  test('a late older ack moves neither the cursor nor the acked text', async () => {
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
    const cursors = fileKey.replace('}:file:', '}:file-cursors:');
    const token = (await redis.hget(fileKey, 't:r1'))!;
    await fileAck.run(
      redis,
      { file: fileKey, cursors, events: `${cursors}:events`, chunks: [] },
      { publish: 'PUBLISH', receiver: 'r1', token, position: 0, textBytes: '80:0', first: 0 },
    );
    expect(await redis.hget(fileKey, 'g:r1')).toBe(acked);
    await leave();
    const [again, leaveAgain] = await first(channel.receiver());
    for await (const line of again.lines()) found.push(line);
    expect(`${found.join('\n')}\n`).toBe(text);
    await leaveAgain();
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

  test('may all be present, split anywhere', async () => {
    for (let at = 1; at < head.length + 12; at += 1) {
      expect(await inflated(whole.subarray(0, at), whole.subarray(at))).toBe(lines(5).repeat(2));
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
      await expect(inflated(damaged)).rejects.toMatchObject(CORRUPT);
    }
  });
});
