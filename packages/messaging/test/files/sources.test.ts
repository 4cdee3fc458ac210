/** Sources that change, and files that don't come to their end: receivers get an error, and the files can be sent again. */
import {
  appendFileSync,
  createReadStream,
  mkdirSync,
  renameSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import { connect, interposed, until } from '@mortise/test-kit';
import { DeathError } from '../fixture/stepwise-client.js';
import {
  Channel,
  failNext,
  first,
  freshDirectory,
  lines,
  openLines,
  readAll,
  readNext,
  sendPart,
  textOf,
} from './fixture.js';

const redis = connect();
const { directory, pathOf } = freshDirectory();

async function* breaksOff(): AsyncGenerator<Buffer> {
  yield Buffer.from('one\n');
  throw new Error('EIO');
}

/** The files until the end of the channel: texts, and codes of errors. */
async function outcomes(channel: Channel): Promise<string[]> {
  await channel.sender().end();
  const texts: string[] = [];
  for await (const file of channel.receiver().files()) {
    texts.push(await textOf(file).catch(({ code }: { code: string }) => code));
    await file.fail();
  }
  return texts;
}

describe('sources that change', () => {
  test('a sender follows its opened log through a rename, until the caller ends it', async () => {
    const channel = new Channel(redis);
    const path = pathOf('rotated.log', 'one\n');
    const sender = channel.sender({ lingerMs: 5 });
    const follow = new AbortController();
    const sending = sender.send(path, { id: 'day 1', follow: follow.signal });
    const { nextLine, end } = await openLines(channel.receiver());
    expect(await nextLine()).toBe('one');
    // The writer of the log still has it open, and writes its last line after the rename.
    renameSync(path, `${path}.1`);
    writeFileSync(path, 'three\n');
    appendFileSync(`${path}.1`, 'two\n');
    expect(await nextLine()).toBe('two');
    follow.abort();
    expect(await nextLine()).toBeUndefined();
    expect(await sending).toMatchObject({ bytes: 8, isDuplicate: false });
    await end();
    expect(await sender.send(path, { id: 'day 2' })).toMatchObject({ number: 2, bytes: 6 });
    expect(await sender.send(`${path}.1`, { id: 'day 1' })).toMatchObject({ number: 1, isDuplicate: true });
    expect(await readNext(channel.receiver())).toBe('three\n');
  });

  test('a path without an id is a new file each time', async () => {
    const channel = new Channel(redis);
    const path = pathOf('twice.log', 'text');
    const sent = [await channel.sender().send(path), await channel.sender().send(path)];
    expect(sent.map(({ number, isDuplicate }) => [number, isDuplicate])).toEqual([
      [1, false],
      [2, false],
    ]);
  });

  test('a name that is not UTF-8 is replaced for receivers, and its file has an id of its own', async () => {
    const channel = new Channel(redis);
    const logs = join(directory, 'not UTF-8');
    mkdirSync(logs);
    for (const byte of [0xfe, 0xff]) {
      writeFileSync(Buffer.concat([Buffer.from(`${logs}/`), Buffer.from([byte])]), String(byte));
    }
    const sender = channel.sender();
    await sender.sendDirectory(logs);
    await sender.end();
    const found: string[] = [];
    for await (const file of channel.receiver().files()) {
      found.push(`${file.name} ${await textOf(file)}`);
      await file.done();
    }
    expect(found.toSorted()).toEqual(['\uFFFD 254', '\uFFFD 255']);
  });

  test('a log that is truncated while it is followed ends at its last sent byte', async () => {
    const channel = new Channel(redis);
    const path = pathOf('copytruncated.log', 'one\ntwo\n');
    const sender = channel.sender({ lingerMs: 5 });
    const follow = new AbortController();
    const sending = sender.send(path, { follow: follow.signal });
    const { nextLine, end } = await openLines(channel.receiver());
    expect(await nextLine()).toBe('one');
    expect(await nextLine()).toBe('two');
    truncateSync(path);
    expect(await sending).toMatchObject({ bytes: 8 });
    expect(await nextLine()).toBeUndefined();
    await end();
    appendFileSync(path, 'three\n');
    expect(await sender.send(path)).toMatchObject({ bytes: 6, isDuplicate: false });
    await sender.end();
    expect(await readAll(channel.receiver())).toEqual({ 'copytruncated.log': 'three\n' });
  });

  test('a file that is truncated while it is sent is aborted, and receivers get an error', async () => {
    const channel = new Channel(redis);
    const path = pathOf('truncated.log', 'x'.repeat(2_000_000));
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
    expect(await channel.keys()).toEqual(['file-channel']);
  });

  test('a source that throws aborts its file, and abort() gives up an abandoned file', async () => {
    const channel = new Channel(redis);
    const sending = channel.sender().send(Readable.from(breaksOff()), { name: 'a' });
    await expect(sending).rejects.toThrow('EIO');
    await sendPart(channel.sender(), Buffer.from(lines(400)), { name: 'b', id: 'b' });
    expect(await channel.sender().abort('b', 'not wanted')).toBe(true);
    expect(await channel.sender().abort('c')).toBe(false);
    const reasons: unknown[] = [];
    await channel.sender().end();
    for await (const file of channel.receiver().files()) {
      reasons.push(await textOf(file).catch((error: { reason: string }) => error.reason));
      await file.fail();
    }
    expect(reasons).toEqual(['EIO', 'not wanted']);
    expect(await channel.keys()).toEqual(['file-channel']);
  });
});

describe('an aborted file is sent again', () => {
  test('by its id, before and after its receivers get the error', async () => {
    const channel = new Channel(redis);
    const options = { name: 'a', id: 'a' };
    for (let time = 0; time < 2; time += 1) {
      await expect(channel.sender().send(breaksOff(), options)).rejects.toThrow('EIO');
    }
    await failNext(channel.receiver());
    const sent = await channel.sender().send(Readable.from(['one\ntwo\n']), options);
    expect(sent).toMatchObject({ bytes: 8, isDuplicate: false });
    expect(await outcomes(channel)).toEqual(['ERR_FILE_ABORTED', 'one\ntwo\n']);
  });

  test('as a path, when its receivers were away', async () => {
    const channel = new Channel(redis);
    const path = pathOf('away.log', lines(2_000));
    const sender = channel.sender({ deadReceivers: 'fail', graceMs: 0 });
    await expect(sender.send(path, { id: 'a' })).rejects.toMatchObject({ code: 'ERR_RECEIVER_DEAD' });
    const files = channel.receiver('r1', redis, 10_000).files();
    const { value: aborted } = await files.next();
    await expect(textOf(aborted!)).rejects.toMatchObject({ code: 'ERR_FILE_ABORTED' });
    await aborted!.fail();
    const sending = sender.send(path, { id: 'a' });
    const { value: file } = await files.next();
    expect(await textOf(file!)).toBe(lines(2_000));
    expect(await sending).toMatchObject({ isDuplicate: false, resumedAt: 0 });
    await file!.done();
    await files.return();
  });

  test('after its source had changed', async () => {
    const channel = new Channel(redis);
    const options = { name: 'a', id: 'a' };
    await sendPart(channel.sender(), Buffer.from(lines(400)), options);
    const other = Readable.from(['another']);
    await expect(channel.sender().send(other, options)).rejects.toMatchObject({ code: 'ERR_SOURCE_CHANGED' });
    expect(await channel.sender().send(Readable.from(['another']), options)).toMatchObject({ bytes: 7 });
    expect(await outcomes(channel)).toEqual(['ERR_FILE_ABORTED', 'another']);
  });
});

describe('a stream that fails before it is read', () => {
  test('rejects with its error', async () => {
    const channel = new Channel(redis);
    const source = createReadStream(join(directory, 'nowhere'));
    await expect(channel.sender().send(source, { name: 'a' })).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('also when it failed before send was called', async () => {
    const channel = new Channel(redis);
    const source = new PassThrough().on('error', () => undefined);
    source.destroy(new Error('broken pipe'));
    await expect(channel.sender().send(source, { name: 'a' })).rejects.toThrow('broken pipe');
  });

  test('also while it waits for the budget', async () => {
    const channel = new Channel(redis);
    const sender = channel.sender({ budgetBytes: 16_384 });
    await sender.send(Buffer.from(lines(600)), { name: 'full' });
    const source = new PassThrough();
    const sending = sender.send(source, { name: 'a' });
    source.destroy(new Error('broken pipe'));
    await expect(sending).rejects.toThrow('broken pipe');
  });

  test('also while it waits for the lease of another writer, whose file stays', async () => {
    const channel = new Channel(redis);
    const theirs = new PassThrough();
    const options = { name: 'a', id: 'a' };
    const writing = channel.sender({ leaseMs: 60_000, lingerMs: 0 }).send(theirs, options);
    theirs.write('one');
    await until('their lease', async () => (await redis.keys(`${channel.prefix}:*:chunk:*`)).length > 0);
    const source = new PassThrough();
    const sending = channel.sender().send(source, options);
    source.destroy(new Error('broken pipe'));
    await expect(sending).rejects.toThrow('broken pipe');
    theirs.end('two');
    expect(await writing).toMatchObject({ bytes: 6 });
    expect(await outcomes(channel)).toEqual(['onetwo']);
  });
});

describe('abort', () => {
  test('ends a running send of the same sender at once', async () => {
    const channel = new Channel(redis);
    const sender = channel.sender({ leaseMs: 600_000, lingerMs: 0 });
    const source = new PassThrough();
    const sending = sender.send(source, { name: 'a', id: 'a' });
    sending.catch(() => undefined);
    source.write('one');
    await until('a chunk', async () => (await redis.keys(`${channel.prefix}:*:chunk:*`)).length === 2);
    expect(await sender.abort('a', 'not wanted')).toBe(true);
    await expect(sending).rejects.toMatchObject({ code: 'ERR_FILE_ABORTED', reason: 'not wanted' });
    expect(await sender.abort('a')).toBe(false);
    expect(await outcomes(channel)).toEqual(['ERR_FILE_ABORTED']);
  });

  test('ends a send that waits for the budget', async () => {
    const channel = new Channel(redis);
    const sender = channel.sender({ budgetBytes: 16_384 });
    await sender.send(Buffer.from(lines(600)), { name: 'full' });
    const sending = sender.send(Readable.from(['x']), { name: 'a', id: 'a' });
    sending.catch(() => undefined);
    expect(await sender.abort('a')).toBe(true);
    await expect(sending).rejects.toMatchObject({ code: 'ERR_FILE_ABORTED' });
  });
});

describe('a file that all receivers give up before its end', () => {
  test('does not count as sent', async () => {
    const channel = new Channel(redis);
    const sending = channel.sender().send(Readable.from([lines(2_000)]), { name: 'a' });
    sending.catch(() => undefined);
    await failNext(channel.receiver());
    await expect(sending).rejects.toMatchObject({ code: 'ERR_FILE_ABORTED' });
    await channel.sender().received();
    expect(await redis.keys(`${channel.prefix}:*%%*`)).toEqual([]);
  });

  test('does not stop the other files of its directory', async () => {
    const channel = new Channel(redis);
    const logs = join(directory, 'given up');
    mkdirSync(logs);
    writeFileSync(join(logs, 'a'), lines(2_000));
    writeFileSync(join(logs, 'b'), 'text');
    const sending = channel.sender().sendDirectory(logs);
    sending.catch(() => undefined);
    await failNext(channel.receiver());
    await expect(sending).rejects.toMatchObject({ code: 'ERR_FILE_ABORTED', file: 'a' });
    expect(await outcomes(channel)).toEqual(['text']);
  });
});

test('a wait for a file ends with ERR_FILE_EXPIRED after keepMs', async () => {
  const channel = new Channel(redis);
  const sending = channel.sender({ keepMs: 1_000 }).send(Readable.from([lines(2_000)]), { name: 'a' });
  await expect(sending).rejects.toThrow(/is lost: it expired, or another holder took it over/);
});

test('a sender dies between aborting a file and freeing its id: the id can be sent again', async () => {
  const channel = new Channel(redis);
  const isDead = new AbortController();
  const client = interposed(redis, async (_, send, [command]) => {
    if (command === 'zremrangebyscore') isDead.abort(new DeathError('died'));
    isDead.signal.throwIfAborted();
    return send();
  });
  const options = { name: 'a', id: 'a' };
  const dead = channel.sender({}, client).send(breaksOff(), { ...options, signal: isDead.signal });
  await expect(dead).rejects.toThrow(/EIO|died/);
  const [file, leave] = await first(channel.receiver());
  await expect(textOf(file)).rejects.toMatchObject({ code: 'ERR_FILE_ABORTED' });
  await file.fail();
  await leave();
  const sent = await channel.sender().send(Buffer.from('one\ntwo\n'), options);
  expect(sent).toMatchObject({ bytes: 8, isDuplicate: false });
});
