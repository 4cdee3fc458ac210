/** A process that posts, reads or follows, and writes down what happens: told what to do in its argument, killed by tests. */
import { setTimeout as pause } from 'node:timers/promises';
import { Chats } from '@mortise/messaging';
import { connectTo } from '../connect.js';
import { nowUs } from '../locks/clock.js';
import type { ActorConfig, Numbered } from './config.js';
import { idOf } from './config.js';
import type { Delivered } from './records.js';
import { mendRecords, readRecords, Recorder } from './records.js';
import { sabotage } from './sabotage.js';

/** Errors of Redis and of the network are what this is about: the same again, until it is done. */
const AFTER_ERROR_MS = 20;
const WAIT_MS = 1_000;
const LIMIT = 50;
/** Who follows acks what is behind so many messages, now and then. */
const ACK_EVERY = 20;

const config = JSON.parse(process.argv[2]!) as ActorConfig;
const { role, member, chats: chatIds, file, prefix, pauseMs } = config;
if (config.sabotage !== undefined) sabotage(config.sabotage);

mendRecords(file);
const before = readRecords(file);
const recorder = new Recorder(file);
const redis = connectTo(config.redis);
const chats = new Chats<Numbered>(redis, { prefix, maxMessages: 1_000_000 });
const ending = new AbortController();

// A parent that is gone needs nothing.
process.on('disconnect', () => process.exit(1));
process.on('message', () => {
  ending.abort();
});

await redis.ping();
process.send!('ready');
await { post, pull, follow }[role]();
process.exit(0);

async function post(): Promise<void> {
  await Promise.all(chatIds.map(postTo));
}

async function postTo(chat: string): Promise<void> {
  const last = before.findLast((record) => record.type === 'accepted' && record.chat === chat);
  for (let n = last?.type === 'accepted' ? last.n + 1 : 1; !ending.signal.aborted; n += 1) {
    const { id, isDuplicate } = await repeated(() => chats.post(chat, member, { n }, { id: idOf(n) }));
    recorder.write({ type: 'accepted', at: nowUs(), chat, n, id, isDuplicate });
    await pause(pauseMs);
  }
}

async function pull(): Promise<void> {
  for (;;) {
    const found = await repeated(() => chats.pull(member, { limit: LIMIT, waitMs: WAIT_MS }));
    const at = nowUs();
    for (const { chatId: chat, epoch, messages, gap } of found) {
      if (gap) recorder.write({ type: 'noted', at, what: `gap ${gap.fromId} to ${gap.toId} in ${chat}` });
      recorder.write(
        ...messages.map(({ id, from, body }): Delivered => ({
          type: 'delivered',
          at,
          chat,
          epoch,
          id,
          from,
          n: body.n,
        })),
      );
      const last = messages.at(-1)?.id ?? gap!.toId;
      // As long as something is done with them.
      await pause(pauseMs);
      await repeated(() => ackOf(chat, last));
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
        if (event.type === 'message') {
          const { id, from, body } = event.message;
          recorder.write({
            type: 'delivered',
            at,
            chat,
            epoch: 0,
            id,
            from,
            n: body.n,
            token: event.token,
          });
          sinceAck += 1;
          if (sinceAck % ACK_EVERY === 0) await repeated(() => ackOf(chat, id));
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

/** A failover may forget the messages that are acked. */
async function ackOf(chat: string, id: number): Promise<void> {
  try {
    await chats.ack(member, chat, id);
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_UNKNOWN_MESSAGE') throw error;
    recorder.write({ type: 'noted', at: nowUs(), what: `ack of ${id}, which ${chat} doesn't know` });
  }
}

async function repeated<Result>(call: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const { code = '' } = error as { code?: string };
      if (code.startsWith('ERR_')) recorder.write({ type: 'noted', at: nowUs(), what: code });
      await pause(AFTER_ERROR_MS);
    }
  }
}
