import { decodeName, KeySpace } from '@mortise/redis';
import type { Cluster, Redis } from 'ioredis';
import { decodeEntry } from '../src/log/entry.js';
import type { EntryKind } from '../src/log/entry.js';
import { ackedIdOf, roleOf } from '../src/log/score.js';
import type { Role } from '@mortise/messaging';

/** Names that break keys, scripts or entries where they are not encoded. */
export const HOSTILE = [
  '}x',
  '{}',
  '{',
  '%',
  '%7D',
  '\n',
  '\0',
  '\0l',
  'a\0b',
  '😀',
  '\ud83d',
  '\ude00',
  ' ',
  ':',
  '1:2:3:',
  '__proto__',
  '-inf',
  '(1',
];

/** A chat as it lies in Redis. */
export interface ChatState {
  readonly exists: boolean;
  readonly epoch: number;
  readonly lastId: number;
  readonly bytes: number;
  /** The content of the entries. */
  readonly storedBytes: number;
  readonly entries: { id: number; kind: EntryKind; from: string; body: unknown; revises?: number }[];
  /** Ms since the epoch. */
  readonly instants: number[];
  readonly cursors: Record<string, number>;
  readonly roles: Record<string, Role>;
  readonly uncounted: number[];
}

export async function describeChat(
  redis: Redis | Cluster,
  prefix: string,
  chatId: string,
): Promise<ChatState> {
  const keys = new KeySpace('messaging', prefix).entity(chatId);
  const [scores, entries, uncounted] = await Promise.all([
    redis.zrange(keys.key('chat'), '0', '-1', 'WITHSCORES'),
    redis.lrange(keys.key('log'), 0, -1),
    redis.zrange(keys.key('uncounted'), '0', '-1'),
  ]);
  const head = new Map<string, number>();
  const standings: [string, number][] = [];
  for (let at = 0; at < scores.length; at += 2) {
    const [name, score] = [scores[at]!, Number(scores[at + 1])];
    if (name.startsWith('\0')) head.set(name.slice(1), 0 - score);
    else standings.push([decodeName(name), score]);
  }
  const epoch = head.get('e') ?? 0;
  const decoded = entries.map((entry) => decodeEntry(entry, epoch));
  return {
    exists: head.size > 0,
    epoch,
    lastId: head.get('l') ?? 0,
    bytes: entries.length === 0 ? 0 : head.get('b')!,
    storedBytes: entries.reduce((sum, entry) => sum + Buffer.byteLength(entry), 0),
    entries: decoded.map(({ id, kind, from, body, revises }) => ({
      id,
      kind,
      from,
      body,
      ...(revises !== undefined && { revises }),
    })),
    instants: decoded.map(({ sentAt }) => sentAt - epoch),
    cursors: Object.fromEntries(standings.map(([name, score]) => [name, ackedIdOf(score)])),
    roles: Object.fromEntries(standings.map(([name, score]) => [name, roleOf(score)])),
    uncounted: uncounted.map(Number),
  };
}
