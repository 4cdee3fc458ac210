/** A process that posts, reads or follows, and records the results. Its argument has its work; tests kill it. */
import { setTimeout as pause } from 'node:timers/promises';
import { Chats, Mailboxes } from '@mortise/messaging';
import type { ChatMessage } from '@mortise/messaging';
import { connectTo } from '../connect.js';
import { nowUs } from '../locks/clock.js';
import type { ActorConfig, Numbered } from './config.js';
import { GOVERNED, idOf, roleOf } from './config.js';
import type { Accepted, Delivered, Governed } from './records.js';
import { mendRecords, readRecords, Recorder } from './records.js';
import { sabotage } from './sabotage.js';

/** Errors of Redis and of the network are what this is about: the same again, until it is done. */
const AFTER_ERROR_MS = 20;
const WAIT_MS = 1_000;
const LIMIT = 50;
/** A follower acks after this number of messages. */
const ACK_EVERY = 20;

const config = JSON.parse(process.argv[2]!) as ActorConfig;
const { role, member, chats: chatIds, file, prefix, pauseMs } = config;
if (config.sabotage !== undefined) sabotage(config.sabotage);

mendRecords(file);
const before = readRecords(file);
const recorder = new Recorder(file);
const redis = connectTo(config.redis);
const chats = new Chats<Numbered>(redis, { prefix, maxMessages: 1_000_000 });
const mailboxes = new Mailboxes<Numbered>(redis, { prefix, maxMessages: 1_000_000 });
const ending = new AbortController();

// A parent that is gone needs nothing.
process.on('disconnect', () => process.exit(1));
process.on('message', () => {
  ending.abort();
});

await redis.ping();
process.send!('ready');
await { post, revise, pull, follow, govern, send, receive }[role]();
process.exit(0);

async function post(): Promise<void> {
  await write((chat, n) => chats.post(chat, member, { n }, { id: idOf(n) }));
}

async function send(): Promise<void> {
  await write((recipient, n) => mailboxes.send(recipient, { n }, { from: member, id: idOf(n) }));
}

/** Edits every second time what it has posted before, if that is still stored. */
async function revise(): Promise<void> {
  const idsOf = new Map(chatIds.map((chat) => [chat, last(chat)?.id ?? 0]));
  await write(async (chat, n) => {
    const id = idOf(n);
    const message = (): Promise<{ id: number; isDuplicate: boolean }> =>
      chats.post(chat, member, { n }, { id });
    const edit = (): Promise<{ id: number; isDuplicate: boolean }> =>
      chats.edit(chat, member, idsOf.get(chat)!, { n: n - 1, edit: n }, { id }).catch((error: unknown) => {
        if ((error as { code?: string }).code !== 'ERR_UNKNOWN_MESSAGE') throw error;
        return message();
      });
    const result = await (n % 2 === 0 ? edit() : message());
    idsOf.set(chat, result.id);
    return result;
  });
}

/** To all chats, or recipients, side by side. */
async function write(
  act: (chat: string, n: number) => Promise<{ id: number; isDuplicate: boolean }>,
): Promise<void> {
  await Promise.all(
    chatIds.map(async (chat) => {
      for (let n = (last(chat)?.n ?? 0) + 1; !ending.signal.aborted; n += 1) {
        const { id, isDuplicate } = await repeated(() => act(chat, n));
        recorder.write({ type: 'accepted', at: nowUs(), chat, n, id, isDuplicate });
        await pause(pauseMs);
      }
    }),
  );
}

/** The last accepted message. */
function last(chat: string): Accepted | undefined {
  return before.findLast((record): record is Accepted => record.type === 'accepted' && record.chat === chat);
}

/** Gives the first of those who pull one role after the other, in all chats. */
async function govern(): Promise<void> {
  await Promise.all(
    chatIds.map(async (chat) => {
      const known = before.findLast(
        (record): record is Governed => record.type === 'governed' && record.chat === chat,
      );
      for (let n = (known?.n ?? 0) + 1; !ending.signal.aborted; n += 1) {
        await repeated(() => chats.setRole(chat, GOVERNED, roleOf(n)));
        recorder.write({ type: 'governed', at: nowUs(), chat, n });
        await pause(pauseMs);
      }
    }),
  );
}

/** As a device that each recipient has. */
async function receive(): Promise<void> {
  await Promise.all(
    chatIds.map(async (chat) => {
      const options = { device: member, limit: LIMIT, waitMs: WAIT_MS };
      for (;;) {
        const messages = await repeated(() => mailboxes.receive(chat, options));
        const at = nowUs();
        for (const { droppedBefore: gap } of messages) {
          if (gap) recorder.write({ type: 'noted', at, what: `gap ${gap.fromId} to ${gap.toId} in ${chat}` });
        }
        recorder.write(
          ...messages.map(({ id, from, body: { n } }): Delivered => {
            return { type: 'delivered', at, chat, epoch: 0, id, from, n };
          }),
        );
        // As long as something is done with them.
        await pause(pauseMs);
        const lastId = messages.at(-1)?.id;
        if (lastId === undefined) continue;
        await acked(chat, lastId, () => mailboxes.ack(chat, lastId, { device: member }));
      }
    }),
  );
}

async function pull(): Promise<void> {
  for (;;) {
    const found = await repeated(() => chats.pull(member, { limit: LIMIT, waitMs: WAIT_MS }));
    const at = nowUs();
    for (const { chatId: chat, epoch, messages, gap } of found) {
      if (gap) recorder.write({ type: 'noted', at, what: `gap ${gap.fromId} to ${gap.toId} in ${chat}` });
      recorder.write(
        ...messages.map((message): Delivered => {
          const { id, from } = message;
          return { type: 'delivered', at, chat, epoch, id, from, n: numberOf(message) };
        }),
      );
      const lastId = messages.at(-1)?.id ?? gap!.toId;
      // As long as something is done with them.
      await pause(pauseMs);
      await acked(chat, lastId, () => chats.ack(chat, member, lastId));
    }
  }
}

async function follow(): Promise<void> {
  let token = before.findLast((record) => record.type === 'delivered')?.token;
  let sinceAck = 0;
  for (;;) {
    try {
      for await (const event of chats.follow(member, token === undefined ? {} : { after: token })) {
        const { type, chatId: chat } = event;
        const at = nowUs();
        if (event.type === 'message' || event.type === 'edit') {
          const { id, from } = event.message;
          recorder.write({
            type: 'delivered',
            at,
            chat,
            epoch: 0,
            id,
            from,
            n: numberOf(event.message),
            token: event.token,
          });
          sinceAck += 1;
          if (sinceAck % ACK_EVERY === 0) await acked(chat, id, () => chats.ack(chat, member, id));
        } else if (type === 'gap' || type === 'reset' || type === 'ended') {
          recorder.write({ type: 'noted', at, what: `${type} in ${chat}` });
        }
        token = event.token;
      }
    } catch {
      await pause(AFTER_ERROR_MS);
    }
  }
}

/** Which message, or edit, of its sender it is. */
function numberOf({ kind, body }: ChatMessage<Numbered>): number {
  return kind === 'edit' ? body.edit! : body.n;
}

/** A failover may forget the messages that are acked. Asking again would wait until others have their ids. */
async function acked(chat: string, id: number, ack: () => Promise<unknown>): Promise<void> {
  const isKnown = await repeated(async () => {
    try {
      await ack();
      return true;
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_UNKNOWN_MESSAGE') throw error;
      return false;
    }
  });
  const at = nowUs();
  if (isKnown) recorder.write({ type: 'acked', at, chat, id });
  else recorder.write({ type: 'noted', at, what: `ack of ${id}, which ${chat} doesn't know` });
}

async function repeated<Result>(call: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const { code = '' } = error as { code?: string };
      const isOutage = code === 'ERR_READ_TIMEOUT';
      if (code.startsWith('ERR_') && !isOutage) recorder.write({ type: 'noted', at: nowUs(), what: code });
      await pause(AFTER_ERROR_MS);
    }
  }
}
