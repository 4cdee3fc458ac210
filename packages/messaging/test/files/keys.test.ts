import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { expect, test } from '@jest/globals';
import { FileReceiver, FileSender } from '@mortise/messaging/files';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { Channel, first, lines, SMALL } from './fixture.js';

const redis = connect();

test('every key of files is in the table of keys.ts, and expires', async () => {
  const prefix = freshPrefix();
  const options = { ...SMALL, prefix, receivers: ['}x', 'y'], keepMs: 50_000 };
  const sender = new FileSender(redis, '}{%\n', options);
  const sent = await sender.send(Readable.from([lines(100)]), { name: '}:\0', id: '{}' });
  expect(sent).toMatchObject({ name: '}:\0', id: '{}', number: 1 });
  const stop = new AbortController();
  const open = sender.send(Readable.from([lines(400)]), {
    name: 'open',
    signal: stop.signal,
    onProgress: () => stop.abort(),
  });
  await expect(open).rejects.toMatchObject({ name: 'AbortError' });
  const names: string[] = [];
  for await (const file of new FileReceiver(redis, '}{%\n', '}x', { prefix }).files()) {
    names.push(file.name);
    for await (const line of file.lines()) expect(line).toMatch(/^line/);
    await file.done();
    break;
  }
  expect(names).toEqual(['}:\0']);
  const keys = await redis.keys(`${prefix}:*`);
  const table = readFileSync(new URL('../../src/files/keys.ts', import.meta.url), 'utf8');
  const parts = new Set<string>();
  for (const key of keys) {
    const part = key
      .slice(key.indexOf('}:') + 2)
      .replace(/^chunk:.*/, 'chunk:<fileId>.<token>.<n>')
      .replace(/^(file|file-cursors):.*/, '$1:<fileId>');
    parts.add(part);
    expect(table).toContain(`}:${part}\` |`);
    const left = await redis.pttl(key);
    expect(left).toBeGreaterThan(20_000);
    expect(left).toBeLessThanOrEqual(50_000);
  }
  expect([...parts].toSorted()).toEqual([
    'chunk:<fileId>.<token>.<n>',
    'file-channel',
    'file-cursors:<fileId>',
    'file-receivers',
    'file:<fileId>',
    'files',
    'files-done',
    'files-listed',
    'files-sent',
  ]);
});

test('an abandoned upload expires, and its receivers get an error', async () => {
  const channel = new Channel(redis);
  const stop = new AbortController();
  const left = channel.sender({ keepMs: 1_000 }).send(Readable.from([lines(400)]), {
    name: 'a',
    signal: stop.signal,
    onProgress: () => stop.abort(),
  });
  await expect(left).rejects.toMatchObject({ name: 'AbortError' });
  const [file, leave] = await first(channel.receiver());
  await until('the file to expire', async () => (await redis.keys(`${channel.prefix}:*chunk*`)).length === 0);
  await expect(file.lines()[Symbol.asyncIterator]().next()).rejects.toMatchObject({
    code: 'ERR_FILE_EXPIRED',
  });
  await leave();
  await until('all to expire', async () => (await redis.keys(`${channel.prefix}:*`)).length === 0);
});
