/**
 * Redis in Action, 6.6.2 to 6.6.4: `copy_logs_to_redis`, `_clean`, `process_logs_from_redis`, `readlines` and `readblocks` of
 * python/ch06_listing_source.py (commit e31da83), command for command, with its defaults; GETRANGE is what SUBSTR is called by now.
 */
import { Redis } from 'ioredis';
import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createChat, fetchPendingMessages, sendMessage } from '../../messaging/kinds/book.js';
import type { FileKind } from '../kind.js';
import { CHANNEL } from '../kind.js';

const BLOCK_BYTES = 2 ** 17;
const LIMIT_BYTES = 2 ** 30;
const CLEAN_POLL_MS = 250;
const FETCH_POLL_MS = 100;
const NEWLINE = 10;

async function copyLogsToRedis(
  conn: Redis,
  path: string,
  channel: string,
  members: readonly string[],
): Promise<void> {
  let bytesInRedis = 0;
  const waiting: [file: string, bytes: number][] = [];
  const clean = async (): Promise<void> => {
    const cleaned = await cleanFirst(conn, channel, waiting, members.length);
    bytesInRedis -= cleaned;
    if (cleaned === 0) await sleep(CLEAN_POLL_MS);
  };
  const isTooMuch = (more: number): boolean => bytesInRedis + more > LIMIT_BYTES;
  await createChat(conn, 'source', members, '', channel);
  const block = Buffer.allocUnsafe(BLOCK_BYTES);
  for (const logFile of (await readdir(path)).toSorted()) {
    const { size } = await stat(join(path, logFile));
    while (isTooMuch(size)) await clean();
    const input = await open(join(path, logFile));
    try {
      for (let read = BLOCK_BYTES; read > 0;) {
        read = (await input.read(block, 0, BLOCK_BYTES)).bytesRead;
        await conn.append(channel + logFile, block.subarray(0, read));
      }
    } finally {
      await input.close();
    }
    await sendMessage(conn, channel, 'source', logFile);
    bytesInRedis += size;
    waiting.push([logFile, size]);
  }
  await sendMessage(conn, channel, 'source', ':done');
  while (waiting.length > 0) await clean();
}

async function cleanFirst(
  conn: Redis,
  channel: string,
  waiting: [file: string, bytes: number][],
  count: number,
): Promise<number> {
  const [first] = waiting;
  if (!first) return 0;
  const [logFile, bytes] = first;
  // As strings, which the book compares too: right up to nine receivers.
  if (((await conn.get(`${channel}${logFile}:done`)) ?? '0') < String(count)) return 0;
  await conn.del(channel + logFile, `${channel}${logFile}:done`);
  waiting.shift();
  return bytes;
}

/** @param isSleeping Waits where the book means to wait. */
async function processLogsFromRedis(
  conn: Redis,
  id: string,
  read: (key: string) => Promise<void>,
  isSleeping: boolean,
): Promise<void> {
  for (;;) {
    const fetched = await fetchPendingMessages(conn, id);
    for (const [channel, messages] of fetched) {
      for (const { message: logFile } of messages) {
        if (logFile === ':done') return;
        if (logFile === '') continue;
        await read(channel + logFile);
        await conn.incr(`${channel}${logFile}:done`);
      }
    }
    const isIdle = isSleeping ? fetched.every(([, messages]) => messages.length === 0) : fetched.length === 0;
    if (isIdle) await sleep(FETCH_POLL_MS);
  }
}

async function* readLines(conn: Redis, key: string): AsyncGenerator<Buffer> {
  let out = Buffer.alloc(0);
  for await (const block of readBlocks(conn, key)) {
    out = Buffer.concat([out, block]);
    const end = out.lastIndexOf(NEWLINE) + 1;
    for (let from = 0; from < end;) {
      const next = out.indexOf(NEWLINE, from) + 1;
      yield out.subarray(from, next);
      from = next;
    }
    out = out.subarray(end);
    if (block.length === 0) yield out;
  }
}

async function* readBlocks(conn: Redis, key: string): AsyncGenerator<Buffer> {
  let position = 0;
  for (let length = BLOCK_BYTES; length === BLOCK_BYTES;) {
    const block = await conn.getrangeBuffer(key, position, position + BLOCK_BYTES - 1);
    yield block;
    length = block.length;
    position += length;
  }
  yield Buffer.alloc(0);
}

function kind(name: string, isSleeping: boolean): FileKind {
  return {
    name,
    version: '',
    send: async (url, directory, receivers) => {
      const conn = new Redis(url);
      await copyLogsToRedis(conn, directory, CHANNEL, receivers);
      conn.disconnect();
    },
    receive: async (url, receiver, { block: take, line: takeLine }) => {
      const conn = new Redis(url);
      const read = async (key: string): Promise<void> => {
        if (take) for await (const block of readBlocks(conn, key)) take(block);
        else for await (const line of readLines(conn, key)) takeLine!(line);
      };
      await processLogsFromRedis(conn, receiver, read, isSleeping);
      conn.disconnect();
    },
  };
}

export const BOOK = kind('Redis in Action, 6.6', false);

/**
 * `fetch_pending_messages` names the chat also when there is nothing in it, so `if not fdata: time.sleep(.1)` never sleeps, and receivers
 * ask without a pause while the sender uploads. This one sleeps.
 */
export const BOOK_SLEEPING = kind('Redis in Action, 6.6, that sleeps', true);
