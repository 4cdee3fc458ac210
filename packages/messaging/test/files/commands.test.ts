import { Readable } from 'node:stream';
import { expect, test } from '@jest/globals';
import { connect, transcript, until } from '@mortise/test-kit';
import * as scripts from '../../src/scripts.gen.js';
import { Channel, first, lines, openLines, pushed, readAll } from './fixture.js';

const redis = connect();

/** Their ids, in keys of files. */
const fileIds = /(?<=}:(?:file|file-cursors|file-events)):[\w-]{12}(?= |$)|(?<=}:chunk:)[\w-]{12}\./g;

/** Without the channel's own name, and without what renews leases. */
async function sentBy(channel: Channel, action: () => Promise<unknown>): Promise<string[]> {
  const seen = await transcript(redis, { prefix: channel.prefix, scripts }, action);
  return seen
    .map((line) =>
      line.replaceAll(`messaging:{${channel.name}`, '{c').replaceAll('* ', '').replaceAll(fileIds, ''),
    )
    .filter((line) => !line.startsWith('  '));
}

/** The scripts are known to the server, and the subscriptions there. */
async function warm(): Promise<Channel> {
  const known = new Channel(redis);
  await known.sender().send(Readable.from([lines(300)]), { name: 'a' });
  await known.sender().end();
  await readAll(known.receiver());
  return new Channel(redis);
}

test('send: four for a file, two for each chunk, two for its end', async () => {
  const channel = await warm();
  const seen = await sentBy(channel, () =>
    channel.sender({ leaseMs: 60_000 }).send(Readable.from([lines(300)]), { name: 'a' }),
  );
  expect(seen).toMatchInlineSnapshot(`
[
  "evalsha channel.list {c}:file-channel {c}:files {c}:files-listed {c}:files-done {c}:file-receivers {c}:files-sent {c}:files-events",
  "subscribe {c%%1}:file-events",
  "hmget {c%%1}:file",
  "evalsha file.open {c%%1}:file {c%%1}:file-cursors {c%%1}:chunk:1.0 {c%%1}:chunk:0.0",
  "evalsha channel.finish {c}:file-channel {c}:files {c}:files-listed {c}:files-done {c}:file-receivers {c}:files-sent",
  "set {c%%1}:chunk:1.0",
  "evalsha file.commit {c%%1}:file {c%%1}:file-cursors {c%%1}:chunk:1.0 {c%%1}:chunk:1.1 {c%%1}:file-events",
  "set {c%%1}:chunk:1.1",
  "evalsha file.commit {c%%1}:file {c%%1}:file-cursors {c%%1}:chunk:1.1 {c%%1}:chunk:1.2 {c%%1}:file-events",
  "hget {c}:files-listed",
  "evalsha file.close {c%%1}:file {c%%1}:file-cursors {c%%1}:file-events {c%%1}:chunk:1.2",
  "evalsha channel.shrink {c}:file-channel {c}:files {c}:files-listed {c}:files-sent {c}:files-events",
]
`);
});

test('D3: waiting for a chunk or a file sends nothing, and a chunk that another receiver frees is not acked again', async () => {
  const channel = await warm();
  const other = connect();
  const sender = channel.sender({ receivers: ['r1', 'r2'], leaseMs: 60_000, lingerMs: 0 });
  const source = pushed('one\n');
  const sending = sender.send(source, { name: 'a' });
  const { nextLine, end } = await openLines(channel.receiver('r1', redis, 60_000));
  expect(await nextLine()).toBe('one');
  const next = nextLine();
  // If the test fails before it awaits them, their errors must not reach the next test file.
  void Promise.allSettled([sending, next]);
  // It has acked what it has, as it does before it waits.
  const [cursors] = await redis.keys(`${channel.prefix}:messaging:{${channel.name}%%1}:file-cursors:*`);
  await until('the ack', async () => Number(await redis.zscore(cursors!, 'r1')) > 0);
  const files = channel.receiver('r2', redis, 60_000).files();
  const { value: skipped } = await files.next();
  const freeing = await sentBy(channel, async () => {
    await skipped!.fail();
    // The chunk is freed, which wakes both; then half a second on the server's clock.
    await other.blpop('test:nothing', 0.5);
  });
  expect(freeing.filter((line) => line.includes('file.complete'))).toHaveLength(1);
  expect(freeing.filter((line) => line.includes('file.ack'))).toEqual([]);
  const nextFile = files.next();
  // A round trip after the commands of these two, then half a second.
  await redis.ping();
  await redis.ping();
  expect(await sentBy(channel, () => other.blpop('test:nothing', 0.5))).toEqual([]);
  source.push('two\n');
  expect(await next).toBe('two');
  source.push(null);
  await sending;
  expect(await nextLine()).toBeUndefined();
  await end();
  await sender.end();
  expect(await nextFile).toMatchObject({ done: true });
});

test('read: two for a file, a GET for each chunk and a script for each second one, four for done', async () => {
  const channel = await warm();
  await channel.sender().send(Readable.from([lines(300)]), { name: 'a' });
  const receiver = channel.receiver('r1', redis, 60_000);
  const seen = await sentBy(channel, async () => {
    const [file, leave] = await first(receiver);
    for await (const line of file.lines()) expect(line).toMatch(/^line/);
    await file.done();
    await leave();
  });
  expect(seen).toMatchInlineSnapshot(`
[
  "subscribe {c}:files-events",
  "evalsha channel.receive {c}:file-channel {c}:files {c}:files-listed {c}:files-done {c}:file-receivers {c}:files-sent",
  "evalsha file.join {c%%1}:file {c%%1}:file-cursors",
  "get {c%%1}:chunk:1.0",
  "get {c%%1}:chunk:1.1",
  "evalsha file.ack {c%%1}:file {c%%1}:file-cursors {c%%1}:file-events {c%%1}:chunk:1.0 {c%%1}:chunk:1.1",
  "evalsha channel.finish {c}:file-channel {c}:files {c}:files-listed {c}:files-done {c}:file-receivers {c}:files-sent",
  "hmget {c%%1}:file",
  "evalsha file.complete {c%%1}:file {c%%1}:file-cursors {c%%1}:file-events",
  "evalsha channel.remove {c}:file-channel {c}:files {c}:files-listed {c}:files-done {c}:file-receivers {c}:files-sent {c}:files-events",
  "evalsha channel.receive {c}:file-channel {c}:files {c}:files-listed {c}:files-done {c}:file-receivers {c}:files-sent",
]
`);
});
