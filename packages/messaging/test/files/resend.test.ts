/**
 * ioredis sends a command again when the connection was cut before its reply. Here each command is executed twice, and the
 * caller gets the second reply. State and answers are those of one execution, except for answers that the documents name.
 */
import { expect, test } from '@jest/globals';
import type { FileReceiver, FileSender } from '@mortise/messaging/files';
import { FileChannel } from '@mortise/messaging/files';
import type { RedisClient } from '@mortise/redis';
import { connect, resending } from '@mortise/test-kit';
import { Channel, first, lines, textOf } from './fixture.js';

const redis = connect();
const TEXT = lines(500);

interface Clients {
  readonly sender: FileSender;
  readonly receiver: FileReceiver;
  readonly files: FileChannel;
}

function clientsOf(channel: Channel, client: RedisClient): Clients {
  const { prefix, name } = channel;
  return {
    sender: channel.sender({}, client),
    receiver: channel.receiver('r1', client),
    files: new FileChannel(client, name, { prefix, holder: 'http' }),
  };
}

async function sendOne({ sender }: Clients): Promise<void> {
  await sender.send(Buffer.from('one'), { id: 'a', name: 'a' });
}

/** Leaves an open file, whose writer has released its lease. */
async function leaveOpen({ sender }: Clients): Promise<void> {
  const stop = new AbortController();
  async function* pieces(): AsyncGenerator<Buffer> {
    yield Buffer.from('one');
    stop.abort();
    yield Buffer.from('two');
  }
  const sending = sender.send(pieces(), { id: 'a', name: 'a', signal: stop.signal });
  await expect(sending).rejects.toThrow('aborted');
}

async function read({ receiver }: Clients, end: 'done' | 'fail'): Promise<string> {
  const [file, stop] = await first(receiver);
  const text = end === 'done' ? await textOf(file) : '';
  await file[end]();
  await stop();
  return text;
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
  'FileReceiver.done': [sendOne, (clients) => read(clients, 'done')],
  'FileReceiver.fail': [sendOne, (clients) => read(clients, 'fail')],
  ack: [sendOne, ({ files }) => files.ack('r1', 1, 2)],
  done: [sendOne, ({ files }) => files.done('r1', 1)],
  remove: [sendOne, ({ files }) => files.remove(1)],
  complete: [sendOne, ({ files }) => files.complete(1)],
  discard: [leaveOpen, ({ files }) => files.discard(1, 'a test')],
  discardAbandoned: [leaveOpen, ({ files }) => files.discardAbandoned(0, 'a test')],
};

/** The files, their bytes and the ids of a channel. */
async function stateOf(channel: Channel): Promise<object> {
  const { prefix, name } = channel;
  const files = new FileChannel(redis, name, { prefix, holder: 'http' });
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
