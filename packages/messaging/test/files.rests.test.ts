/**
 * What a log has grown by after its sender had noted how far it sends it as gzip, and died. Who finishes that file sends the rest as one of its own, and may
 * find it under another name by then.
 */
import { appendFileSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { FileSender } from '@mortise/messaging';
import type { RedisClient } from '@mortise/redis';
import { connect, until } from '@mortise/test-kit';
import { filesOpen, filesPath, filesRemove } from '../src/scripts.gen.js';
import { Channel, freshDirectory, lines, readAll, textOf } from './files-fixture.js';
import { DeathError, dieEverywhere, stepwise } from './stepwise-client.js';

const redis = connect();
const waiting = connect();
const [root, removeRoot] = freshDirectory();
afterAll(removeRoot);

const QUICK = { leaseMs: 100, quietMs: 10, lingerMs: 0 };
let directory: string;
let log: string;
let channel: Channel;

// What is sent as a script that the server doesn't know yet is sent twice, and would count twice.
beforeAll(async () => {
  await new Channel(redis).sender().send(Buffer.from('known'), { name: 'known' });
});

beforeEach(() => {
  directory = join(root, String(performance.now()));
  mkdirSync(directory);
  log = join(directory, 'access.log');
  channel = new Channel(redis);
});

interface Dying {
  readonly client: RedisClient;
  readonly signal: AbortSignal;
}

/** A client whose process dies before it ends its n-th file; and the signal that ends what it was doing. */
function dyingAtEnd(of: number): Dying {
  const death = new AbortController();
  let ends = 0;
  const client = stepwise(redis, async (step, send, args) => {
    if (args.includes('closed')) ends += 1;
    if (ends === of) death.abort(new DeathError(`died at step ${step}`));
    death.signal.throwIfAborted();
    return send();
  });
  return { client, signal: death.signal };
}

/** Its sender has died when it had noted 500 lines; it has five more, or gets them later, and was rotated. The next one has one. */
async function leave(isGrown = true): Promise<void> {
  writeFileSync(log, lines(500));
  const { client, signal } = dyingAtEnd(1);
  const dead = channel.sender(QUICK, client).send(log, { gzip: true, signal });
  await expect(dead).rejects.toThrow(DeathError);
  if (isGrown) appendFileSync(log, lines(5, 500));
  renameSync(log, `${log}.1`);
  writeFileSync(log, lines(1, 505));
}

class Gate {
  open!: () => void;
  readonly isOpen = new Promise<void>((resolve) => (this.open = resolve));
}

test('is sent by the next sender', async () => {
  await leave();
  await channel.sender(QUICK).send(log, { gzip: true });
  await channel.sender(QUICK).end();
  expect(await readAll(channel.receiver())).toEqual({ 'access.log.gz': lines(506) });
});

test('is sent where a receiver has freed what is finished, and not yet taken it off the list', async () => {
  await leave();
  const [freed, released] = [new Gate(), new Gate()];
  const slow = stepwise(redis, async (_, send, args) => {
    if (args[1] === filesRemove.sha1) {
      freed.open();
      await released.isOpen;
    }
    return send();
  });
  let isClosed = false;
  const client = stepwise(redis, async (_, send, args) => {
    if (isClosed && args[1] === filesPath.sha1) await freed.isOpen;
    const reply = await send();
    isClosed ||= args.includes('closed');
    return reply;
  });
  const reading = readAll(channel.receiver('r1', slow));
  await channel.sender(QUICK, client).send(log, { gzip: true });
  released.open();
  await channel.sender(QUICK).end();
  expect(await reading).toEqual({ 'access.log.gz': lines(506) });
});

test.each(['access.log.1', 'access.log.2'])(
  'that was begun by a sender which has died as well is sent by the next one: the log is %s',
  async (name) => {
    await leave();
    const { client, signal } = dyingAtEnd(2);
    const dead = channel.sender(QUICK, client).send(log, { gzip: true, signal });
    await expect(dead).rejects.toThrow(DeathError);
    renameSync(`${log}.1`, join(directory, name));
    await channel.sender(QUICK).send(log, { gzip: true });
    await channel.sender(QUICK).end();
    expect(await readAll(channel.receiver())).toEqual({ 'access.log.gz': lines(506) });
  },
);

describe('that was listed by a sender which died before it ended what is in front, of a log that has its name back', () => {
  beforeEach(async () => {
    await leave();
    const { client, signal } = dyingAtEnd(1);
    const dead = channel.sender(QUICK, client).send(log, { gzip: true, signal });
    await expect(dead).rejects.toThrow(DeathError);
    renameSync(log, `${log}.new`);
    renameSync(`${log}.1`, log);
  });

  test('comes behind that', async () => {
    const reading = readAll(channel.receiver());
    await channel.sender(QUICK).send(log, { gzip: true });
    await channel.sender(QUICK).end();
    expect(await reading).toEqual({ 'access.log.gz': lines(505) });
  });

  test('does not come, nor what is in front, when the log is written anew', async () => {
    writeFileSync(log, lines(3, 900));
    await channel.sender(QUICK).send(log, { gzip: true });
    await channel.sender(QUICK).end();
    const got: string[] = [];
    for await (const file of channel.receiver().files()) {
      got.push(await textOf(file).catch((error: { code?: string }) => error.code ?? 'no code'));
      await file.fail();
    }
    expect(got).toEqual(['ERR_FILE_ABORTED', 'ERR_FILE_ABORTED', lines(3, 900)]);
  });
});

test.each(['is read at the end', 'is read as soon as it is there'])(
  'whose sender dies at any of its steps comes once, when it %s',
  async (how) => {
    const steps = await dieEverywhere(async ({ step, isExecuted }) => {
      log = join(directory, `${step}${isExecuted}`, 'access.log');
      mkdirSync(dirname(log));
      channel = new Channel(redis);
      await leave();
      const early = how.endsWith('there') ? readAll(channel.receiver()) : undefined;
      const death = new AbortController();
      const client = stepwise(redis, async (at, send) => {
        death.signal.throwIfAborted();
        if (at !== step) return send();
        if (isExecuted) await send();
        death.abort(new DeathError(`died at step ${step}`));
        throw death.signal.reason as Error;
      });
      const isAlive = await channel
        .sender(QUICK, client)
        .send(log, { gzip: true, signal: death.signal })
        .then(
          () => true,
          () => false,
        );
      await channel.sender(QUICK).send(log, { gzip: true });
      await channel.sender(QUICK).end();
      expect(await (early ?? readAll(channel.receiver()))).toEqual({ 'access.log.gz': lines(506) });
      return isAlive;
    });
    expect(steps).toBeGreaterThan(15);
  },
);

describe('that a sender finds in the background', () => {
  let sender: FileSender;
  /** It is about to list the rest; and may do so. */
  let held: Gate;
  let released: Gate;

  beforeEach(async () => {
    [held, released] = [new Gate(), new Gate()];
    let ends = 0;
    const client = stepwise(redis, async (_, send, args) => {
      if (ends === 2 && args[1] === filesOpen.sha1) {
        held.open();
        await released.isOpen;
      }
      if (args.includes('closed')) ends += 1;
      // Written by who is late, when the file is about to end.
      if (args.includes('closed') && ends === 2) appendFileSync(`${log}.1`, lines(5, 500));
      return send();
    });
    sender = channel.sender(QUICK, client);
    // It has looked for what was left, and found nothing.
    writeFileSync(join(directory, 'other.log'), 'other\n');
    await sender.send(join(directory, 'other.log'));
    await leave(false);
  });

  test('is listed before the channel ends', async () => {
    const stop = new AbortController();
    const looking = sender.received({ signal: stop.signal });
    looking.catch(() => undefined);
    const reading = readAll(channel.receiver());
    await held.isOpen;
    const ending = sender.end();
    // More round trips than it has, on the same connection.
    for (let count = 0; count < 20; count += 1) await redis.ping();
    released.open();
    await ending;
    expect(await reading).toEqual({ 'other.log': 'other\n', 'access.log.gz': lines(505) });
    stop.abort();
  });

  test('is waited for by who waits until all is received, and by nobody whose signal is aborted', async () => {
    const stop = new AbortController();
    const found: string[] = [];
    const received = sender.received().then(() => found.push('all'));
    const stopped = sender.received({ signal: stop.signal });
    const reading = readAll(channel.receiver());
    await held.isOpen;
    const listed = `${channel.prefix}:messaging:{${channel.name}}:files-listed`;
    await until('all that is listed', async () => (await redis.exists(listed)) === 0);
    await waiting.blpop(`${channel.prefix}:nothing`, 0.3);
    stop.abort();
    await expect(stopped).rejects.toMatchObject({ name: 'AbortError' });
    found.push('the rest');
    released.open();
    await received;
    expect(found).toEqual(['the rest', 'all']);
    await channel.sender(QUICK).end();
    expect(await reading).toEqual({ 'other.log': 'other\n', 'access.log.gz': lines(505) });
  });
});
