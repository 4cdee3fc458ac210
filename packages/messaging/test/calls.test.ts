/** Every public call: on a closed client, and with wrong arguments. */
import { Readable } from 'node:stream';
import { Chats, Mailboxes } from '@mortise/messaging';
import { FileChannel, FileReceiver, FileSender } from '@mortise/messaging/files';
import { DailyAggregates } from '@mortise/messaging/log-aggregation';
import type { CallTable } from '@mortise/test-kit';
import { describeCalls, freshPrefix } from '@mortise/test-kit';
import type { Redis } from 'ioredis';

function tableOf(redis: Redis): CallTable {
  const prefix = freshPrefix();
  const mailboxes = new Mailboxes(redis, { prefix });
  const chats = new Chats(redis, { prefix });
  const channel = new FileChannel(redis, 'logs', { prefix });
  const sender = new FileSender(redis, 'logs', { prefix, receivers: ['r'] });
  const receiver = new FileReceiver(redis, 'logs', 'r', { prefix });
  const aggregates = new DailyAggregates(redis, { prefix });
  return {
    'aggregates.top': [aggregates.top.bind(aggregates), 'country', '2026-11-27', {}],
    'mailboxes.send': [mailboxes.send.bind(mailboxes), 'a', {}, { from: 'b' }],
    'mailboxes.sendMany': [mailboxes.sendMany.bind(mailboxes), [{ recipient: 'a', body: 1, from: 'b' }]],
    'mailboxes.receive': [mailboxes.receive.bind(mailboxes), 'a', { waitMs: 10 }],
    'mailboxes.follow': [mailboxes.follow.bind(mailboxes), 'a', { signal: AbortSignal.timeout(200) }],
    'mailboxes.ack': [mailboxes.ack.bind(mailboxes), 'a', 1, {}],
    'mailboxes.clear': [mailboxes.clear.bind(mailboxes), 'a', {}],
    'mailboxes.unread': [mailboxes.unread.bind(mailboxes), 'a'],
    'mailboxes.status': [mailboxes.status.bind(mailboxes), 'a'],
    'mailboxes.addDevice': [mailboxes.addDevice.bind(mailboxes), 'a', 'd', {}],
    'mailboxes.removeDevice': [mailboxes.removeDevice.bind(mailboxes), 'a', 'd'],
    'mailboxes.devices': [mailboxes.devices.bind(mailboxes), 'a'],
    'mailboxes.block': [mailboxes.block.bind(mailboxes), 'a', 'b'],
    'mailboxes.unblock': [mailboxes.unblock.bind(mailboxes), 'a', 'b'],
    'mailboxes.blocked': [mailboxes.blocked.bind(mailboxes), 'a'],
    'chats.create': [chats.create.bind(chats), { sender: 'a', members: ['b'], chatId: 'c' }],
    'chats.post': [chats.post.bind(chats), 'c', 'a', {}, {}],
    'chats.pull': [chats.pull.bind(chats), 'a', { waitMs: 10 }],
    'chats.ack': [chats.ack.bind(chats), 'c', 'a', 1, {}],
    'chats.ackAll': [chats.ackAll.bind(chats), 'a', [{ chatId: 'c', messages: [{ id: 1 }] }]],
    'chats.trim': [chats.trim.bind(chats), 'c', 1, {}],
    'chats.unread': [chats.unread.bind(chats), 'a', 'c'],
    'chats.join': [chats.join.bind(chats), 'c', 'b', {}],
    'chats.leave': [chats.leave.bind(chats), 'c', 'd'],
    'chats.setRole': [chats.setRole.bind(chats), 'c', 'b', 'owner', {}],
    'chats.members': [chats.members.bind(chats), 'c', {}],
    'chats.chatsOf': [chats.chatsOf.bind(chats), 'a', {}],
    'chats.history': [chats.history.bind(chats), 'c', {}],
    'chats.edit': [chats.edit.bind(chats), 'c', 'a', 1, {}, {}],
    'chats.delete': [chats.delete.bind(chats), 'c', 'a', 1],
    'chats.mute': [chats.mute.bind(chats), 'c', 'a', {}],
    'chats.unmute': [chats.unmute.bind(chats), 'c', 'a'],
    'chats.follow': [chats.follow.bind(chats), 'a', { signal: AbortSignal.timeout(200) }],
    'chats.typing': [chats.typing.bind(chats), 'c', 'a'],
    'chats.presence': [chats.presence.bind(chats), 'a', 'here'],
    'channel.join': [channel.join.bind(channel), 'r'],
    'channel.leave': [channel.leave.bind(channel), 'r'],
    'channel.receivers': [channel.receivers.bind(channel)],
    'channel.status': [channel.status.bind(channel), {}],
    'channel.list': [channel.list.bind(channel), 'r', {}],
    'channel.file': [channel.file.bind(channel), 1],
    'channel.ackedBytes': [channel.ackedBytes.bind(channel), 'r', 1],
    'channel.open': [channel.open.bind(channel), 'r', 1, 0, new AbortController().signal],
    'channel.ack': [channel.ack.bind(channel), 'r', 1, 0],
    'channel.done': [channel.done.bind(channel), 'r', 1],
    'channel.remove': [channel.remove.bind(channel), 1],
    'channel.complete': [channel.complete.bind(channel), 1],
    'channel.end': [channel.end.bind(channel)],
    'channel.numberOf': [channel.numberOf.bind(channel), 'a'],
    'channel.discard': [channel.discard.bind(channel), 1],
    'channel.discardAbandoned': [channel.discardAbandoned.bind(channel), 60_000],
    'sender.send': [sender.send.bind(sender), Readable.from(['x']), { name: 'x' }],
    'sender.end': [sender.end.bind(sender)],
    'sender.received': [sender.received.bind(sender), { signal: AbortSignal.timeout(500) }],
    'sender.abort': [sender.abort.bind(sender), 'x'],
    'receiver.files': [receiver.files.bind(receiver), { signal: AbortSignal.timeout(200) }],
  };
}

function constructors(redis: Redis): CallTable {
  return {
    Mailboxes: [(...args: ConstructorParameters<typeof Mailboxes>) => void new Mailboxes(...args), redis, {}],
    Chats: [(...args: ConstructorParameters<typeof Chats>) => void new Chats(...args), redis, {}],
    FileChannel: [
      (...args: ConstructorParameters<typeof FileChannel>) => void new FileChannel(...args),
      redis,
      'logs',
      {},
    ],
    FileSender: [
      (...args: ConstructorParameters<typeof FileSender>) => void new FileSender(...args),
      redis,
      'logs',
      { receivers: ['r'] },
    ],
    FileReceiver: [
      (...args: ConstructorParameters<typeof FileReceiver>) => void new FileReceiver(...args),
      redis,
      'logs',
      'r',
      {},
    ],
  };
}

/** A telemetry may have no method; a body is any JSON. */
function takes(option: string, value: unknown): boolean {
  if (option.endsWith(' telemetry')) return typeof value === 'object' && !Array.isArray(value);
  return (
    option === 'chats.create body' && (value === -1 || (typeof value === 'object' && !Array.isArray(value)))
  );
}

describeCalls({
  tableOf,
  constructors,
  classes: {
    mailboxes: Mailboxes,
    chats: Chats,
    channel: FileChannel,
    sender: FileSender,
    receiver: FileReceiver,
    aggregates: DailyAggregates,
  },
  silent: ['sender.sendDirectory'],
  takes,
  coalesced: 'mailboxes.send',
});
