import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import * as messaging from '@mortise/messaging';
import { compression, encryption } from '@mortise/messaging/codecs';
import * as files from '@mortise/messaging/files';
import * as logs from '@mortise/messaging/log-aggregation';
import { MemoryRedis, messageMatchers } from '@mortise/messaging/testing';
import { aggregation } from './log-aggregation.mjs';
import { Verbs } from './verbs.mjs';

const { Chats, Mailboxes } = messaging;
const { FileChannel, FileReceiver, Files, FileSender } = files;

export async function smoke({ connect, prefix, until }) {
  const verbs = new Verbs(messaging, files, logs);
  const redis = await connect();
  await mailboxes(redis, prefix);
  await chats(redis, prefix);
  await encoded(redis, prefix);
  await following(redis, prefix);
  await sent(redis, prefix);
  await channels(redis, prefix, until);
  await givenUp(redis, prefix);
  await aggregation(redis, prefix, until);
  await inMemory();
  return verbs;
}

async function encoded(redis, prefix) {
  const codecs = [
    compression({ aboveBytes: 0 }),
    encryption({ keys: { k: Buffer.alloc(32, 1) }, current: 'k' }),
  ];
  await new Mailboxes(redis, { prefix, codecs }).send('joan', 'long '.repeat(100), { from: 'jill' });
  const [plain] = await new Mailboxes(redis, { prefix, codecs }).receive('joan');
  const [stored] = await new Mailboxes(redis, { prefix }).receive('joan');
  assert.deepEqual([plain.body.length, messaging.isEncoded(stored.body)], [500, true]);
}

async function mailboxes(redis, prefix) {
  const boxes = new Mailboxes(redis, { prefix });
  const waiting = boxes.receive('jack', { waitMs: 20_000 });
  const first = await boxes.send('jack', 'Hello', { from: 'jill', id: 'm1' });
  assert.equal((await boxes.send('jack', 'Hello', { from: 'jill', id: 'm1' })).isDuplicate, true);
  assert.deepEqual(
    (await waiting).map(({ body }) => body),
    ['Hello'],
  );
  for await (const { type, lastId } of boxes.follow('jack', { after: { epoch: null, lastId: 0 } })) {
    assert.deepEqual([type, lastId], ['arrived', first.id]);
    break;
  }
  const outgoing = ['joe', 'jack'].map((recipient) => ({ recipient, body: { n: 1 }, from: 'jill' }));
  assert.equal((await boxes.sendMany(outgoing)).length, 2);
  assert.equal(await boxes.ack('jack', first.id), 1);
  assert.equal(await boxes.unread('jack'), 1);
  assert.equal((await boxes.status('jack')).unread, 1);
  assert.equal((await boxes.addDevice('jack', 'phone')).isNew, true);
  assert.equal(
    (await boxes.devices('jack')).some(({ device }) => device === 'phone'),
    true,
  );
  assert.equal(await boxes.removeDevice('jack', 'phone'), true);
  assert.equal(await boxes.block('jack', 'joe'), true);
  assert.deepEqual(await boxes.blocked('jack'), ['joe']);
  await assert.rejects(boxes.send('jack', 'Buy!', { from: 'joe' }), { code: 'ERR_SENDER_BLOCKED' });
  assert.equal(await boxes.unblock('jack', 'joe'), true);
  await boxes.clear('joe');
  assert.equal(await boxes.unread('joe'), 0);
}

async function chats(redis, prefix) {
  const lunch = new Chats(redis, { prefix });
  const { chatId } = await lunch.create({ sender: 'jill', members: ['jack', 'joe'], body: 'Lunch?' });
  assert.equal((await lunch.post(chatId, 'jack', 'At noon?')).id, 2);
  const pulled = await lunch.pull('joe');
  assert.deepEqual(
    pulled[0].messages.map(({ body }) => body),
    ['Lunch?', 'At noon?'],
  );
  assert.equal(await lunch.ack(chatId, 'joe', 1), 1);
  assert.equal(await lunch.unread('joe', chatId), 1);
  await lunch.ackAll('joe', pulled);
  assert.equal(await lunch.unread('joe'), 0);
  assert.equal((await lunch.join(chatId, 'ann')).isNew, true);
  await lunch.setRole(chatId, 'ann', 'reader', { by: 'jill' });
  assert.equal((await lunch.members(chatId)).members.length, 4);
  await lunch.edit(chatId, 'jack', 2, 'At one?');
  await lunch.delete(chatId, 'jill', 1);
  assert.deepEqual((await lunch.history(chatId)).map(({ kind }) => kind).at(-1), 'delete');
  await lunch.mute(chatId, 'joe');
  assert.equal((await lunch.chatsOf('joe', { includeMuted: false })).length, 0);
  await lunch.unmute(chatId, 'joe');
  assert.equal((await lunch.chatsOf('joe', { includeMuted: false })).length, 1);
  const waiting = lunch.pull('ann', { waitMs: 20_000, autoAck: true });
  await lunch.post(chatId, 'jill', 'Now?');
  assert.ok((await waiting)[0].messages.length > 0);
  assert.equal((await lunch.trim(chatId, 2)).toId, 2);
  assert.equal(await lunch.leave(chatId, 'ann'), true);
}

async function following(redis, prefix) {
  const tea = new Chats(redis, { prefix });
  const { chatId } = await tea.create({ sender: 'kim', members: ['lea'] });
  const seen = [];
  const events = tea.follow('lea');
  await events.open();
  await tea.post(chatId, 'kim', 'Tea?');
  for await (const { type } of events) {
    seen.push(type);
    if (type === 'message') await tea.typing(chatId, 'kim');
    if (type === 'typing') await tea.presence('kim', 'away');
    if (type === 'presence') break;
  }
  assert.deepEqual(seen, ['message', 'typing', 'presence']);
}

/** Files by sender and receiver. */
async function sent(redis, prefix) {
  const factory = new Files(redis, prefix);
  const channel = factory.channel('logs');
  await channel.join('r1');
  const sender = factory.sender('logs', { receivers: ['r1'] });
  const directory = mkdtempSync(join(tmpdir(), 'matrix-'));
  mkdirSync(join(directory, 'in'));
  writeFileSync(join(directory, 'in/one.log'), 'a\nb\n');
  assert.deepEqual(
    (await sender.sendDirectory(join(directory, 'in'))).map(({ name }) => name),
    ['one.log'],
  );
  for (const name of ['two', 'three']) await sender.send(Readable.from([`${name}\n`]), { name });
  const stop = new AbortController();
  const cut = sender.send(Readable.from(['x'.repeat(200_000)]), {
    name: 'cut',
    id: 'cut',
    signal: stop.signal,
    onProgress: () => stop.abort(),
  });
  await assert.rejects(cut, { name: 'AbortError' });
  assert.equal(await sender.abort('cut', 'not wanted'), true);
  await sender.end();

  const found = {};
  for await (const file of factory.receiver('logs', 'r1').files()) {
    // Receivers learn that a file was aborted, also those that hadn't begun to read it.
    if (file.name === 'cut') {
      await assert.rejects(textOf(file), { code: 'ERR_FILE_ABORTED' });
      await file.fail();
      continue;
    }
    found[file.name] = await textOf(file);
    await file.done();
    assert.equal(file.isFinished, true);
  }
  assert.deepEqual(found, { 'one.log': 'a|b', two: 'two\n', three: 'three\n' });
  await sender.received();
  rmSync(directory, { recursive: true });
}

/** By lines, as a stream, or by blocks. */
async function textOf(file) {
  const pieces = [];
  if (file.name === 'one.log') {
    for await (const line of file.lines()) pieces.push(line);
    assert.match(file.sha256, /^[0-9a-f]{64}$/);
    return pieces.join('|');
  }
  for await (const block of file.name === 'two' ? file.stream() : file.blocks()) pieces.push(block);
  await file.ack();
  return Buffer.concat(pieces).toString();
}

/** Files as a service hands them on. */
async function channels(redis, prefix, until) {
  const channel = new FileChannel(redis, 'copies', { prefix });
  assert.equal(await channel.join('r1'), true);
  assert.deepEqual(
    (await channel.receivers()).map(({ receiver }) => receiver),
    ['r1'],
  );
  const sender = new FileSender(redis, 'copies', { prefix, receivers: ['r1'], lingerMs: 0 });
  const { bytes, sha256 } = await sender.send(Readable.from(['text']), { name: 'a', id: 'a' });
  assert.deepEqual(
    (await channel.list('r1')).files.map(({ name }) => name),
    ['a'],
  );
  assert.equal((await channel.status()).listed, 1);
  assert.equal((await channel.file(1)).sha256, sha256);
  assert.equal((await channel.numberOf('a')).number, 1);

  const segment = await channel.open('r1', 1, 0, new AbortController().signal);
  let read = 0;
  for await (const block of segment.blocks()) read += block.length;
  assert.deepEqual([segment.startOffset, segment.sha256, read], [0, sha256, bytes]);
  segment.isAckDue(read);
  await segment.ack(read);
  await segment.close();
  await segment[Symbol.asyncDispose]();
  assert.equal(await channel.ack('r1', 1, read), read);
  assert.equal(await channel.ackedBytes('r1', 1), read);
  await channel.done('r1', 1);

  await discards(channel, sender, until);
  await channel.end();
  assert.equal(await channel.leave('r1'), true);
}

/** A receiver that gives a file up, on a channel of its own: on the other one a service has the lease of the receiver. */
async function givenUp(redis, prefix) {
  const sender = new FileSender(redis, 'given up', { prefix, receivers: ['r1'] });
  await sender.send(Readable.from(['other']), { name: 'b' });
  for await (const file of new FileReceiver(redis, 'given up', 'r1', { prefix }).files()) {
    await file.fail();
    break;
  }
  await sender.received();
}

async function discards(channel, sender, until) {
  const write = async (name) => {
    const source = new PassThrough();
    source.write('one');
    const stop = new AbortController();
    const sending = sender.send(source, {
      name,
      id: name,
      signal: stop.signal,
      onProgress: () => stop.abort(),
    });
    await assert.rejects(sending, { name: 'AbortError' });
    return (await channel.numberOf(name)).number;
  };
  assert.equal(await channel.discard(await write('c'), 'lost'), true);
  await write('d');
  await until(async () => (await channel.discardAbandoned(0, 'lost')) === 1, 'the abandoned file');
  const number = await write('e');
  await channel.complete(number);
  await channel.remove(number);
}

const equals = (left, right) => left === right;

/** The entry for tests. */
async function inMemory() {
  const redis = new MemoryRedis();
  const own = new messaging.Mailboxes(redis);
  await own.send('ann', 'hi', { from: 'bob' });
  assert.equal((await messageMatchers.toHaveSent.call({ equals }, own, 'ann', 'hi')).pass, true);
  await redis.close();
}
