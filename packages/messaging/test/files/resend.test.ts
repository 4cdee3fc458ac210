/**
 * ioredis sends a command again when the connection was cut before its reply. Here each command is executed twice, and the
 * caller gets the second reply. State and answers are those of one execution, except for answers that the documents name.
 */
import { describe, expect, test } from '@jest/globals';
import type { FileChannel, FileReceiver, FileSender } from '@mortise/messaging/files';
import type { RedisClient } from '@mortise/redis';
import { connect, interposed, resending } from '@mortise/test-kit';
import { channelRemove } from '../../src/scripts.gen.js';
import { Channel, failNext, lines, readNext, sendPart } from './fixture.js';

const redis = connect();
const TEXT = lines(500);

interface Clients {
  readonly sender: FileSender;
  readonly receiver: FileReceiver;
  readonly files: FileChannel;
}

function clientsOf(channel: Channel, client: RedisClient): Clients {
  return {
    sender: channel.sender({}, client),
    receiver: channel.receiver('r1', client),
    files: channel.files('http', client),
  };
}

async function sendOne({ sender }: Clients): Promise<void> {
  await sender.send(Buffer.from('one'), { id: 'a', name: 'a' });
}

/** Leaves an open file, whose writer has released its lease. */
async function leaveOpen({ sender }: Clients): Promise<void> {
  await sendPart(sender, Buffer.from('one'), { id: 'a', name: 'a' });
}

const nothing = async (): Promise<void> => undefined;
const joined = async ({ files }: Clients): Promise<void> => void (await files.join('r1'));

/** Each write: the state before it, the call, and its answer if that differs from an answer of one execution. */
const WRITES: Record<
  string,
  [before: (clients: Clients) => Promise<void>, act: (clients: Clients) => Promise<unknown>, resent?: unknown]
> = {
  join: [nothing, ({ files }) => files.join('r1'), false],
  leave: [sendOne, ({ files }) => files.leave('r1'), false],
  end: [sendOne, ({ files }) => files.end()],
  'FileSender.end': [sendOne, ({ sender }) => sender.end()],
  send: [
    joined,
    async ({ sender }) => {
      const { fileId, epoch, ...sent } = await sender.send(Buffer.from(TEXT), { id: 'a', name: 'a' });
      return { ...sent, ids: [typeof fileId, typeof epoch] };
    },
  ],
  'send of a file whose receivers are done before its end': [
    joined,
    async ({ sender, files }) => {
      let number = 0;
      async function* nothingYet(): AsyncGenerator<Buffer> {
        await files.done('r1', number);
        yield* [];
      }
      const onListed = (listed: { number: number }): void => {
        number = listed.number;
      };
      const { bytes } = await sender.send(nothingYet(), { id: 'a', name: 'a', onListed });
      return bytes;
    },
  ],
  abort: [leaveOpen, ({ sender }) => sender.abort('a', 'a test')],
  'FileReceiver.done': [sendOne, ({ receiver }) => readNext(receiver)],
  'FileReceiver.fail': [sendOne, ({ receiver }) => failNext(receiver)],
  ack: [sendOne, ({ files }) => files.ack('r1', 1, 2)],
  done: [sendOne, ({ files }) => files.done('r1', 1)],
  remove: [sendOne, ({ files }) => files.remove(1)],
  complete: [sendOne, ({ files }) => files.complete(1)],
  discard: [leaveOpen, ({ files }) => files.discard(1, 'a test')],
  discardAbandoned: [leaveOpen, ({ files }) => files.discardAbandoned(0, 'a test')],
};

/** The files, their bytes and the ids of a channel. */
async function stateOf(channel: Channel): Promise<object> {
  const files = channel.files();
  const keys = (await channel.keys()).map((key) => key.replace(/:[\w-]{12}(\.\d+)?/, ''));
  const receivers = (await files.receivers()).map(({ receiver }) => receiver);
  const listed = receivers.length === 0 ? [] : (await files.list('r1')).files;
  return {
    keys,
    receivers,
    listed: listed.map(({ number, name: file, state, bytes }) => ({ number, file, state, bytes })),
    acked: listed.length === 0 ? undefined : await files.ackedBytes('r1', 1),
    sent: await files.numberOf('a'),
  };
}

test.each(Object.keys(WRITES))('%s answers the same and leaves the same state', async (name) => {
  const [before, act, resent] = WRITES[name]!;
  const run = async (client: RedisClient): Promise<[answer: unknown, state: object]> => {
    const channel = new Channel(redis);
    await before(clientsOf(channel, redis));
    const answer = await act(clientsOf(channel, client));
    return [answer, await stateOf(channel)];
  };
  const [answer, state] = await run(redis);
  expect(await run(resending(redis))).toEqual([resent ?? answer, state]);
});

test('a file that its sender has just left is abandoned after 0 ms', async () => {
  const channel = new Channel(redis);
  await leaveOpen(clientsOf(channel, redis));
  expect(await channel.files().discardAbandoned(0, 'a test')).toBe(1);
});

/** Executes the end of a file twice, and an act in between. */
function between(act: () => Promise<unknown>): RedisClient {
  return interposed(redis, async (_, send, args) => {
    if (!args.includes('closed') && !args.includes('aborted')) return send();
    await send();
    await act();
    return send();
  });
}

describe('a receiver is done between two executions of the end of a file', () => {
  /** A receiver that dies when the head of the file is deleted, before the file leaves the list. */
  const dying = interposed(redis, async (_, send, args) => {
    if (args.includes(channelRemove.sha1)) throw new Error('died');
    return send();
  });

  test.each([
    ['and the file leaves the list', redis],
    ['and dies before the file leaves the list', dying],
  ])('%s: send resolves', async (_, client) => {
    const channel = new Channel(redis);
    const { files } = clientsOf(channel, redis);
    await files.join('r1');
    const act = () =>
      clientsOf(channel, client)
        .files.done('r1', 1)
        .catch(() => undefined);
    const { sender } = clientsOf(channel, between(act));
    const { sha256, ...sent } = await sender.send(Buffer.from(TEXT), { id: 'a', name: 'a' });
    expect(sent).toMatchObject({ bytes: TEXT.length, isDuplicate: false });
    expect(await files.numberOf('a')).toEqual({ number: 1, isListed: false, name: 'a', sha256 });
    expect(await channel.keys()).toEqual(['file-channel', 'file-receivers', 'files', 'files-sent']);
  });

  test('abort and discard resolve, and the id is free', async () => {
    for (const end of ['abort', 'discard']) {
      const channel = new Channel(redis);
      const plain = clientsOf(channel, redis);
      await leaveOpen(plain);
      const { sender, files } = clientsOf(
        channel,
        between(() => plain.files.done('r1', 1)),
      );
      expect(await (end === 'abort' ? sender.abort('a') : files.discard(1, 'a test'))).toBe(true);
      expect(await plain.files.numberOf('a')).toBeUndefined();
      expect(await channel.keys()).toEqual(['file-channel', 'file-receivers']);
    }
  });

  test('after another sender has taken the file over: the first one is refused', async () => {
    const channel = new Channel(redis);
    const { files, sender } = clientsOf(channel, redis);
    await files.join('r1');
    let isTaken = false;
    const slow = interposed(redis, async (_, send, args) => {
      if (args.includes('closed') && !isTaken) {
        isTaken = true;
        await expireLease(channel);
        await sender.send(Buffer.from(`${TEXT}more`), { id: 'a', name: 'a' });
        await files.done('r1', 1);
      }
      return send();
    });
    const refused = clientsOf(channel, slow).sender.send(Buffer.from(TEXT), { id: 'a', name: 'a' });
    await expect(refused).rejects.toMatchObject({ code: 'ERR_LEASE_LOST' });
  });
});

async function expireLease(channel: Channel): Promise<void> {
  const [head] = await redis.keys(`${channel.prefix}:*:file:*`);
  await redis.hset(head!, 'lease', 1);
}
