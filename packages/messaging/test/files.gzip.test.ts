import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { connect } from '@mortise/test-kit';
import { Channel, first, lines, readAll, textOf } from './files-fixture.js';

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

test('gzip that is larger than the window flows through; stopped in its midst it is not resumable, and says so', async () => {
  const channel = new Channel(redis);
  const sender = channel.sender();
  const text = noise(200_000);
  const sending = sender.send(Readable.from([gzipSync(text)]), { name: 'a.gz' });
  const [file, leave] = await first(channel.receiver());
  expect(await textOf(file)).toBe(text);
  await leave();
  await sending;
  const [again, leaveAgain] = await first(channel.receiver());
  await expect(textOf(again)).rejects.toMatchObject({ code: 'ERR_FILE_NOT_RESUMABLE' });
  await again.fail();
  await leaveAgain();
});
