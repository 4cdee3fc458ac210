import { Readable } from 'node:stream';
import { expect, test } from '@jest/globals';
import { Chats, Mailboxes } from '@mortise/messaging';
import { FileChannel, FileReceiver, FileSender } from '@mortise/messaging/files';
import {
  Files,
  getChatsToken,
  getFileChannelToken,
  getFileReceiverToken,
  getFileSenderToken,
  getFilesToken,
  getMailboxesToken,
  InjectChats,
  InjectFileChannel,
  InjectFileReceiver,
  InjectFiles,
  InjectFileSender,
  InjectMailboxes,
  MessagingModule,
} from '@mortise/messaging/nestjs';
import { connect, freshPrefix, Recording } from '@mortise/test-kit';
import { boot, describeModule } from '@mortise/test-kit/nestjs';

const redis = connect();

/** The hash tags of all keys of a prefix. */
async function entitiesOf(prefix: string): Promise<Set<string>> {
  return new Set((await redis.keys(`${prefix}:messaging:*`)).map((key) => /\{(.*)\}/.exec(key)![1]!));
}

describeModule({
  module: MessagingModule,
  provided: [
    [Mailboxes, getMailboxesToken, InjectMailboxes],
    [Chats, getChatsToken, InjectChats],
    [Files, getFilesToken, InjectFiles],
  ],
  refused: [
    [
      { mailboxes: { maxMessages: 0 } },
      RangeError,
      'maxMessages must be a whole number from 1 to 1000000, got 0',
    ],
    [{ chats: { maxMembers: '7' } }, TypeError, 'maxMembers must be a number'],
    [{ files: { windowBytes: 1 } }, RangeError, 'windowBytes must be a whole number'],
    [{ files: { holder: 5 } }, TypeError, 'holder must be a string'],
    [{ telemetry: 5 }, TypeError, 'telemetry must be'],
  ],
  feature: {
    given: {
      senders: { logs: { receivers: ['r1'] } },
      receivers: { logs: { receiver: 'r1' } },
      channels: { logs: {} },
    },
    provided: [
      [
        FileSender,
        (module) => getFileSenderToken('logs', module),
        (module) => InjectFileSender('logs', module),
      ],
      [
        FileReceiver,
        (module) => getFileReceiverToken('logs', module),
        (module) => InjectFileReceiver('logs', module),
      ],
      [
        FileChannel,
        (module) => getFileChannelToken('logs', module),
        (module) => InjectFileChannel('logs', module),
      ],
    ],
    refused: [
      [{ senders: { logs: {} } }, 'MessagingModule.forFeature: receivers must be an array'],
      [{ receivers: { logs: {} } }, 'MessagingModule.forFeature: receiver must be a string'],
      [{ channels: { logs: { leaseMs: 1 } } }, 'MessagingModule.forFeature: leaseMs must be from 100'],
    ],
  },
});

test('each provider has its options, the prefix and the telemetry of the module', async () => {
  const prefix = freshPrefix();
  const telemetry = new Recording();
  const app = await boot({
    imports: [
      MessagingModule.forRoot({
        redis,
        prefix,
        telemetry,
        mailboxes: { maxPayloadBytes: 10, keepMs: undefined as never },
        chats: { maxPayloadBytes: 20 },
        files: { leaseMs: 60_000, holder: 'http', keepMs: undefined as never },
      }),
    ],
  });
  const [mailboxes, chats, files] = [app.get(Mailboxes), app.get(Chats), app.get(Files)];
  await expect(mailboxes.send('jack', 'x'.repeat(9), { from: 'anna' })).rejects.toMatchObject({
    code: 'ERR_BODY_TOO_LARGE',
    maxBytes: 10,
  });
  await mailboxes.send('jack', 'hi', { from: 'anna' });
  const { chatId } = await chats.create({ sender: 'anna', members: ['jack'] });
  await expect(chats.post(chatId, 'anna', 'x'.repeat(19))).rejects.toMatchObject({ maxBytes: 20 });
  await chats.post(chatId, 'anna', 'hi');
  await files.sender('logs', { receivers: ['r1'] }).send(Readable.from(['one']), { name: 'a' });
  expect((await files.channel('logs').list('r1')).files).toMatchObject([{ name: 'a', bytes: 3 }]);
  // The channel has the lease for a minute, so another holder is refused.
  const refused = files.channel('logs', { holder: 'other' }).list('r1');
  await expect(refused).rejects.toMatchObject({ code: 'ERR_RECEIVER_BUSY' });
  expect(telemetry.totals).toMatchObject({ posted: 2, file_chunks: 1, file_bytes: 3 });
  expect(await entitiesOf(prefix)).toEqual(new Set(['jack', 'anna', chatId, 'logs', 'logs%%1']));
});

test('a file travels from the sender to the receiver of forFeature', async () => {
  const prefix = freshPrefix();
  const app = await boot({
    imports: [
      MessagingModule.forRoot({ redis, prefix }),
      MessagingModule.forFeature({
        senders: { logs: { receivers: ['r1'] } },
        receivers: { logs: { receiver: 'r1' } },
      }),
    ],
  });
  const sender = app.get<FileSender>(getFileSenderToken('logs'), { strict: false });
  const receiver = app.get<FileReceiver>(getFileReceiverToken('logs'), { strict: false });
  await sender.send(Readable.from(['one']), { name: 'a' });
  await sender.end();
  const names: string[] = [];
  for await (const file of receiver.files()) {
    names.push(file.name);
    await file.fail();
  }
  expect(names).toEqual(['a']);
});

test('named modules have their own clients, prefixes and options', async () => {
  const [first, second] = [freshPrefix(), freshPrefix()];
  const app = await boot({
    imports: [
      MessagingModule.forRoot({ redis, prefix: first }),
      MessagingModule.forRootAsync({
        name: 'audit',
        useFactory: () => ({ redis: connect(), prefix: second }),
      }),
    ],
  });
  const audit = app.get<Mailboxes>(getMailboxesToken('audit'));
  await app.get(Mailboxes).send('jack', 1, { from: 'anna' });
  expect([await app.get(Mailboxes).unread('jack'), await audit.unread('jack')]).toEqual([1, 0]);
  expect(await new Mailboxes(redis, { prefix: first }).unread('jack')).toBe(1);
});
