import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import type { FileChannel, FileRef } from '@mortise/messaging/files';
import { connect, gate, interposed, until } from '@mortise/test-kit';
import { Channel, first, lines, readNext, sendPart } from './fixture.js';

const redis = connect();
const never = new AbortController().signal;

/** A new channel, and its view for services. */
function newChannel(): { channel: Channel; files: FileChannel } {
  const channel = new Channel(redis);
  return { channel, files: channel.files() };
}

async function readFrom(files: FileChannel, number: number, from: number): Promise<string> {
  await using part = await files.open('r1', number, from, never);
  const blocks: Buffer[] = [];
  for await (const block of part.blocks()) blocks.push(block);
  return Buffer.concat(blocks).toString();
}

/** Chunks of many sizes: a silence after each piece. */
async function sendInPieces(channel: Channel, pieces: string[], receivers = ['r1']): Promise<number> {
  const source = new PassThrough();
  const sender = channel.sender({ lingerMs: 0, receivers, windowBytes: 512 * 1_024, budgetBytes: 2 ** 21 });
  let sent = 0;
  const sending = sender.send(source, {
    name: 'a',
    onProgress: ({ bytes }) => {
      if (bytes === sent) source.emit('taken');
    },
  });
  for (const piece of pieces) {
    sent += piece.length;
    const taken = once(source, 'taken');
    source.write(piece);
    await taken;
  }
  source.end();
  return (await sending).number;
}

describe('join', () => {
  test('adds a receiver once, for files that are listed from then on', async () => {
    const { channel, files } = newChannel();
    expect([await files.join('r1'), await files.join('r1')]).toEqual([true, false]);
    await channel.sender().send(Readable.from(['one']), { name: 'one' });
    expect(await files.join('r2')).toBe(true);
    await channel.sender({ receivers: ['r1', 'r2'] }).send(Readable.from(['two']), { name: 'two' });
    const named = async (receiver: string): Promise<string[]> =>
      (await files.list(receiver)).files.map(({ name }) => name);
    expect([await named('r1'), await named('r2')]).toEqual([['one', 'two'], ['two']]);
    await files.done('r1', 1);
    expect(await files.file(2)).toMatchObject({ number: 2 });
    await expect(files.file(1)).rejects.toMatchObject({ code: 'ERR_UNKNOWN_FILE', number: 1 });
  });

  test('is refused by a channel that has ended', async () => {
    const { files } = newChannel();
    await files.join('r1');
    await files.end();
    await expect(files.join('r2')).rejects.toMatchObject({ code: 'ERR_CHANNEL_ENDED' });
    expect(await files.list('r1')).toEqual({ files: [], isEnded: true });
  });

  test('is refused beyond 1,000 receivers, counting those that left while a file was listed', async () => {
    const { channel, files } = newChannel();
    const receivers = Array.from({ length: 1_000 }, (_, index) => `r${index}`);
    await Promise.all(receivers.map((receiver) => files.join(receiver)));
    await channel.sender({ receivers }).send(Readable.from(['one']), { name: 'one' });
    await files.leave('r0');
    await expect(files.join('more')).rejects.toMatchObject({
      code: 'ERR_TOO_MANY_RECEIVERS',
      maxReceivers: 1_000,
    });
    expect(await files.join('r0')).toBe(true);
  });
});

describe('leave', () => {
  test('frees the chunks that only that receiver had not read, and the sender continues', async () => {
    const { channel, files } = newChannel();
    for (const name of ['r1', 'r2']) await files.join(name);
    const sending = channel
      .sender({ receivers: ['r1', 'r2'] })
      .send(Readable.from([lines(3_000)]), { name: 'a' });
    const reading = readNext(channel.receiver('r1'));
    expect(await files.leave('r2')).toBe(true);
    expect(await files.leave('r2')).toBe(false);
    expect((await reading).length).toBe((await sending).bytes);
    expect(await files.receivers()).toMatchObject([{ receiver: 'r1' }]);
    expect(await channel.keys()).toEqual(['file-channel', 'file-receivers', 'files']);
    await expect(files.list('r2')).rejects.toMatchObject({ code: 'ERR_UNKNOWN_RECEIVER' });
  });

  test('of the last receiver leaves no file', async () => {
    const { channel, files } = newChannel();
    await channel.sender().send(Readable.from(['one']), { name: 'one' });
    await files.leave('r1');
    expect(await channel.keys()).toEqual(['file-channel', 'files']);
    expect(await redis.hget(channel.key('file-channel'), 'reserved')).toBe('0');
  });

  test('applies to a file that a sender opens just afterwards with the old receivers', async () => {
    const { channel, files } = newChannel();
    for (const name of ['r1', 'r2']) await files.join(name);
    // The sender asks who is to get the file, then r2 leaves, then it opens the file.
    const [asked, held] = [gate(), gate()];
    const slow = interposed(redis, async (_, send, [command]) => {
      if (command === 'hmget') {
        asked.open();
        await held.passed;
      }
      return send();
    });
    const sender = channel.sender({ receivers: ['r1', 'r2'] }, slow);
    const sending = sender.send(Readable.from([lines(3_000)]), { name: 'a' });
    await asked.passed;
    await files.leave('r2');
    held.open();
    expect(await readNext(channel.receiver('r1'))).toBe(lines(3_000));
    expect(await sending).toMatchObject({ isDuplicate: false });
    expect(await channel.keys()).toEqual(['file-channel', 'file-receivers', 'files']);
  });
});

describe('list', () => {
  test('waits for a file after the known one, and returns the state of each', async () => {
    const { channel, files } = newChannel();
    await files.join('r1');
    const waiting = files.list('r1', { waitMs: 60_000 });
    const { sha256 } = await channel.sender().send(Readable.from(['one']), { name: 'one' });
    expect((await waiting).files).toMatchObject([{ number: 1, name: 'one' }]);
    expect((await files.list('r1')).files).toEqual([
      {
        number: 1,
        epoch: expect.stringMatching(/^[\w-]{12}$/),
        name: 'one',
        listedAt: expect.any(Number),
        state: 'closed',
        bytes: 3,
        sha256,
      },
    ]);
    expect((await files.list('r1', { after: 1 })).files).toEqual([]);
    const stop = new AbortController();
    const stopped = files.list('r1', { after: 1, waitMs: 60_000, signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(stopped).rejects.toThrow('enough');
  });

  test('is refused to unknown receivers, and while another process holds the lease', async () => {
    const { channel, files } = newChannel();
    await expect(files.list('r1')).rejects.toMatchObject({ code: 'ERR_UNKNOWN_RECEIVER' });
    await channel.sender().send(Readable.from(['one']), { name: 'one' });
    const [, end] = await first(channel.receiver('r1', redis, 60_000));
    await expect(files.list('r1')).rejects.toMatchObject({ code: 'ERR_RECEIVER_BUSY', receiver: 'r1' });
    await end();
    // Processes of one holder are one receiver.
    expect((await files.list('r1')).files).toHaveLength(1);
    expect((await channel.files().list('r1')).files).toHaveLength(1);
    await expect(channel.files('other').list('r1')).rejects.toMatchObject({ code: 'ERR_RECEIVER_BUSY' });
    expect(await files.receivers()).toEqual([{ receiver: 'r1', isActive: true }]);
  });
});

describe('open', () => {
  const pieces = Array.from({ length: 90 }, (_, index) => lines((index % 7) + 1, index * 10));
  const text = pieces.join('');

  test('reads from any byte of a file, whatever its chunks are', async () => {
    const { channel, files } = newChannel();
    const number = await sendInPieces(channel, pieces);
    const edges = [0, 1, text.length - 1, text.length];
    let edge = 0;
    for (const piece of pieces) edges.push((edge += piece.length) - 1, edge, edge + 1);
    for (const from of edges.filter((at) => at < text.length)) {
      await using part = await files.open('r1', number, from, never);
      const { value } = await part.blocks().next();
      expect(value!.toString()).toBe(text.slice(from, from + value!.length));
      expect(part.startOffset).toBe(from);
    }
    for (const from of [0, 1, text.length - 1, text.length, ...edges.slice(100, 110)]) {
      expect(await readFrom(files, number, from)).toBe(text.slice(from));
    }
    expect(await files.ackedBytes('r1', number)).toBe(0);
    await expect(readFrom(files, number, text.length + 1)).rejects.toMatchObject({
      code: 'ERR_FILE_EXPIRED',
    });
  });

  test('continues after the acked bytes, which are no longer stored', async () => {
    const { channel, files } = newChannel();
    const number = await sendInPieces(channel, pieces);
    for (const upTo of [0, 17, 900, 899, pieces.slice(0, 50).join('').length]) {
      expect(await files.ack('r1', number, upTo)).toBe(upTo);
    }
    const upTo = pieces.slice(0, 50).join('').length;
    expect(await files.ackedBytes('r1', number)).toBe(upTo);
    expect((await redis.keys(`${channel.prefix}:*:chunk:*`)).length).toBe(40);
    expect(await readFrom(files, number, upTo)).toBe(text.slice(upTo));
    for (const from of [0, upTo - 1]) {
      await expect(readFrom(files, number, from)).rejects.toMatchObject({ code: 'ERR_FILE_EXPIRED' });
    }
    await expect(files.ack('r1', number, text.length + 1)).rejects.toThrow('upTo must be');
    expect(await files.ack('r1', number, text.length)).toBe(text.length);
    expect(await files.ackedBytes('r1', number)).toBe(text.length);
    await files.done('r1', number);
    await files.done('r1', number);
    expect(await channel.keys()).toEqual(['file-channel', 'file-receivers', 'files']);
  });

  test('follows a file that is being written, and makes room for it by acks', async () => {
    const { channel, files } = newChannel();
    await files.join('r1');
    const content = lines(4_000);
    const sending = channel.sender().send(Readable.from([content]), { name: 'a' });
    await files.list('r1', { waitMs: 60_000 });
    const part = await files.open('r1', 1, 0, never);
    let read = '';
    for await (const block of part.blocks()) {
      read += block.toString();
      if (part.isAckDue(read.length)) await part.ack(read.length);
    }
    await part.close();
    const { sha256 } = await sending;
    expect([read === content, part.sha256, part.startOffset]).toEqual([true, sha256, 0]);
  });
});

test('remove takes a file from all receivers, and ends its writer', async () => {
  const { channel, files } = newChannel();
  for (const name of ['r1', 'r2']) await files.join(name);
  const source = new PassThrough();
  const sending = channel.sender({ receivers: ['r1', 'r2'], lingerMs: 0 }).send(source, { name: 'a' });
  sending.catch(() => undefined);
  source.write('one');
  await until('the first bytes', async () => {
    const { files: found } = await files.list('r1');
    return found[0]?.bytes === 3;
  });
  await files.remove(1);
  source.end('two');
  await expect(sending).rejects.toMatchObject({ code: 'ERR_FILE_ABORTED' });
  expect(await channel.keys()).toEqual(['file-channel', 'file-receivers']);
  await expect(files.remove(1)).rejects.toMatchObject({ code: 'ERR_UNKNOWN_FILE' });
});

test('numberOf finds the file of an id, also when all receivers are done with it', async () => {
  const { channel, files } = newChannel();
  await files.join('r1');
  const sent = await channel.sender().send(Readable.from(['text']), { name: 'a b', id: '{id} 1' });
  const whole = { number: 1, name: 'a b', sha256: sent.sha256 };
  expect(await files.numberOf('{id} 1')).toEqual({ ...whole, isListed: true });
  await files.remove(1);
  expect(await files.numberOf('{id} 1')).toEqual({ ...whole, isListed: false });
  expect(await files.numberOf('another')).toBeUndefined();
});

describe('discard', () => {
  const unfinished = (channel: Channel): Promise<void> =>
    sendPart(channel.sender(), Buffer.from(lines(200)), { name: 'a', id: 'a' });

  test('deletes a file that no receiver has begun to read, and frees its id', async () => {
    const { channel, files } = newChannel();
    await unfinished(channel);
    expect(await files.numberOf('a')).toEqual({ number: 1, isListed: true, name: 'a' });
    expect(await files.discard(1, 'lost')).toBe(true);
    expect(await files.numberOf('a')).toBeUndefined();
    expect(await channel.keys()).toEqual(['file-channel', 'file-receivers']);
    const again = await channel.sender().send(Readable.from(['x']), { name: 'a', id: 'a' });
    expect(again).toMatchObject({ number: 2, isDuplicate: false });
    expect(await files.discard(2, 'lost')).toBe(false);
  });

  test('gives receivers that have begun to read an error until they are done', async () => {
    const { channel, files } = newChannel();
    await unfinished(channel);
    const part = await files.open('r1', 1, 0, never);
    await part.close();
    await files.discard(1, 'lost');
    expect((await files.list('r1')).files).toMatchObject([{ number: 1, state: 'aborted', reason: 'lost' }]);
    await expect(readFrom(files, 1, 0)).rejects.toMatchObject({ code: 'ERR_FILE_ABORTED', reason: 'lost' });
    await files.done('r1', 1);
    expect(await channel.keys()).toEqual(['file-channel', 'file-receivers']);
  });

  test('discardAbandoned discards all files with silent writers, and no others', async () => {
    const { channel, files } = newChannel();
    const source = new PassThrough();
    const sending = channel.sender({ leaseMs: 60_000, lingerMs: 0 }).send(source, { name: 'alive' });
    source.write('one');
    await until(
      'the first bytes',
      async () => (await redis.keys(`${channel.prefix}:*:chunk:*.1.1`)).length > 0,
    );
    await unfinished(channel);
    expect(await files.discard(1, 'lost')).toBe(false);
    expect(await files.discardAbandoned(3_600_000, 'lost')).toBe(0);
    await until('the file to be given up', async () => (await files.discardAbandoned(0, 'lost')) === 1);
    source.end();
    expect(await sending).toMatchObject({ bytes: 3 });
    expect((await files.list('r1')).files).toMatchObject([{ name: 'alive', state: 'closed' }]);
  });
});

test('a file of a lost channel differs from the file that has its number now', async () => {
  const { channel, files } = newChannel();
  await channel.sender().send(Readable.from(['one']), { name: 'one' });
  const [old] = (await files.list('r1')).files;
  for (const key of await redis.keys(`${channel.prefix}:*`)) await redis.unlink(key);
  await channel.sender().send(Readable.from(['two']), { name: 'two' });
  const [present] = (await files.list('r1')).files;
  expect([old!.number, present!.number]).toEqual([1, 1]);
  const acts = [
    () => files.file(old!),
    () => files.ackedBytes('r1', old!),
    () => files.open('r1', old!, 0, never),
    () => files.ack('r1', old!, 3),
    () => files.done('r1', old!),
    () => files.remove(old!),
    () => files.discard(old!, 'lost'),
  ];
  for (const act of acts) await expect(act()).rejects.toMatchObject({ code: 'ERR_UNKNOWN_FILE', number: 1 });
  expect(await files.file(present!)).toEqual(present);
});

test.each([{}, { number: '1', epoch: 'e' }, { number: 1 }, { number: 1, epoch: 7 }, null, '1'])(
  'the reference %j of a file is refused',
  async (ref) => {
    const { files } = newChannel();
    const file = ref as FileRef;
    const acts = [
      () => files.file(file),
      () => files.ackedBytes('r1', file),
      () => files.open('r1', file, 0, new AbortController().signal),
      () => files.ack('r1', file, 1),
      () => files.done('r1', file),
      () => files.remove(file),
      () => files.complete(file),
      () => files.discard(file, 'reason'),
    ];
    for (const act of acts) await expect(act()).rejects.toMatchObject({ code: 'ERR_INVALID_ARG' });
  },
);

test('a file whose receivers are done before its end leaves the list, and its keys go', async () => {
  const { channel, files } = newChannel();
  await files.join('r1');
  let number = 0;
  async function* nothingYet(): AsyncGenerator<Buffer> {
    await files.done('r1', number);
    yield* [];
  }
  await channel.sender().send(nothingYet(), {
    name: 'a',
    onListed: (listed) => {
      number = listed.number;
    },
  });
  await expect(files.file(number)).rejects.toMatchObject({ code: 'ERR_UNKNOWN_FILE' });
  expect((await channel.keys()).filter((key) => /^(file:|chunk:|file-cursors:)/.test(key))).toEqual([]);
});
