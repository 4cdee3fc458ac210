/** One process with callers who touch the recent contacts of many users, or complete them. */
import { Redis } from 'ioredis';
import type { MakeSegment } from '../../crew-member.js';
import { percentile } from '../../percentile.js';
import { randomNumbers } from '../aggregation/random.js';
import { aofBytesOf } from './aof-bytes.js';
import { dataOf } from './data.js';
import { sharedConnection } from './kinds/connection.js';
import type { RecentClient } from './recent-kinds.js';
import { CAPACITY, RECENT_LIMIT, recentKind } from './recent-kinds.js';
import { storedBytes } from './stored-bytes.js';

export interface RecentSettings {
  readonly url: string;
  readonly kind: string;
  readonly verb: 'touch' | 'complete';
  readonly users: number;
  readonly callers: number;
}

export interface RecentReport {
  readonly operations: number;
  readonly p50Micros: number;
  readonly p99Micros: number;
  readonly bytesOfUser: number;
  readonly aofBytes: number;
  /** The share of right completions. */
  readonly right: number;
}

/** Users to which a user writes: so some touches are of contacts that were forgotten. */
const ACQUAINTED = 120;
const AOF_CALLS = 1_000;
const CHECKED = 300;

const make: MakeSegment<RecentSettings, RecentReport> = async ({ url, kind, verb, users, callers }) => {
  const redis = sharedConnection(url);
  const client = recentKind(kind).connect(redis);
  const handles = dataOf('handles', 10 * users).map(({ name }) => name);
  const next = randomNumbers(29);
  const contactsOf = (user: number): string[] =>
    Array.from({ length: ACQUAINTED }, (_, index) => handles[(7 * user + 31 * index) % handles.length]!);
  const someone = (): [user: number, contact: string] => {
    const user = next() % users;
    return [user, handles[(7 * user + 31 * (next() % ACQUAINTED)) % handles.length]!];
  };
  const call = async (): Promise<unknown> => {
    const [user, contact] = someone();
    return verb === 'touch'
      ? client.touch(nameOf(user), contact)
      : client.complete(nameOf(user), contact.slice(0, 1 + (next() % 3)));
  };

  for (let user = 0; user < users; user += 1) {
    await client.touchMany(nameOf(user), contactsOf(user).slice(0, CAPACITY));
  }
  const observer = new Redis(url);
  const bytesOfUser = (await storedBytes(observer, 'recent')) / users;
  observer.disconnect();
  const right = verb === 'complete' ? await shareOfRight(client, contactsOf, someone) : Number.NaN;
  const aofBytes = await aofBytesOf(redis, async () => {
    for (let count = 0; count < AOF_CALLS; count += 1) await call();
    return AOF_CALLS;
  });

  let took: number[] = [];
  const goOn = async (): Promise<never> => {
    for (;;) {
      const startedAt = performance.now();
      await call();
      took.push(performance.now() - startedAt);
    }
  };
  return {
    start: () => {
      for (let caller = 0; caller < callers; caller += 1) void goOn();
    },
    open: () => {
      took = [];
    },
    close: () => ({
      operations: took.length,
      p50Micros: 1000 * percentile(took, 0.5),
      p99Micros: 1000 * percentile(took, 0.99),
      bytesOfUser,
      aofBytes,
      right,
    }),
  };
};

function nameOf(user: number): string {
  return `user:${user}`;
}

/** Before anything else is touched: the contacts were touched in their order. */
async function shareOfRight(
  client: RecentClient,
  contactsOf: (user: number) => readonly string[],
  someone: () => [user: number, contact: string],
): Promise<number> {
  let right = 0;
  for (let count = 0; count < CHECKED; count += 1) {
    const [user, contact] = someone();
    const text = contact.slice(0, 1 + (count % 3));
    const all = contactsOf(user).slice(0, CAPACITY).toReversed();
    const wanted = all.filter((one) => one.startsWith(text)).slice(0, RECENT_LIMIT);
    const answer = await client.complete(nameOf(user), text);
    right += Number(answer.slice(0, RECENT_LIMIT).join(' ') === wanted.join(' '));
  }
  return right / CHECKED;
}

export default make;
