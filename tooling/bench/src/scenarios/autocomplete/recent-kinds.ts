/** Ways to keep the contacts that a user dealt with last, a hundred of them. */
import { RecentContacts } from '@mortise/autocomplete';
import type { Redis } from 'ioredis';
import { versionOf } from '../../version-of.js';

export interface RecentKind {
  readonly name: string;
  readonly version: string;
  connect(redis: Redis): RecentClient;
}

export interface RecentClient {
  touch(user: string, contact: string): Promise<unknown>;
  /** Touches all in the quickest way, with the same result as one after the other. */
  touchMany(user: string, contacts: readonly string[]): Promise<unknown>;
  /** The last touched first. */
  complete(user: string, text: string): Promise<readonly string[]>;
}

export const CAPACITY = 100;
export const RECENT_LIMIT = 10;

const NAME = '@mortise/autocomplete';

export const RECENT: RecentKind = {
  name: NAME,
  version: versionOf(NAME),
  connect: (redis) => {
    const recent = new RecentContacts(redis, { capacity: CAPACITY });
    return {
      touch: (user, contact) => recent.touch(user, contact),
      touchMany: (user, contacts) => Promise.all(contacts.map((contact) => recent.touch(user, contact))),
      complete: (user, text) => recent.complete(user, text, { limit: RECENT_LIMIT }),
    };
  },
};

function keyOf(user: string): string {
  return `recent:${user}`;
}

/** `add_update_contact` and `fetch_autocomplete_list` of python/ch06_listing_source.py (commit e31da83), command for command. */
export const RECENT_BOOK: RecentKind = {
  name: 'Redis in Action, 6.1.1',
  version: '',
  connect: (redis) => {
    return {
      touch: (user, contact) =>
        redis
          .multi()
          .lrem(keyOf(user), 1, contact)
          .lpush(keyOf(user), contact)
          .ltrim(keyOf(user), 0, CAPACITY - 1)
          .exec(),
      touchMany: (user, contacts) => redis.lpush(keyOf(user), ...contacts),
      complete: async (user, text) => {
        const candidates = await redis.lrange(keyOf(user), 0, -1);
        return candidates.filter((candidate) => candidate.toLowerCase().startsWith(text.toLowerCase()));
      },
    };
  },
};

/** A sorted set by time, which the book recommends for longer lists. */
export const RECENT_ZSET: RecentKind = {
  name: 'ZSET by time, MULTI',
  version: '',
  connect: (redis) => {
    return {
      touch: (user, contact) =>
        redis
          .multi()
          .zadd(keyOf(user), Date.now(), contact)
          .zremrangebyrank(keyOf(user), 0, -1 - CAPACITY)
          .exec(),
      touchMany: (user, contacts) =>
        redis.zadd(keyOf(user), ...contacts.flatMap((contact, index) => [Date.now() + index, contact])),
      complete: async (user, text) => {
        const candidates = await redis.zrevrange(keyOf(user), 0, -1);
        return candidates.filter((candidate) => candidate.toLowerCase().startsWith(text.toLowerCase()));
      },
    };
  },
};

/** Names, last touched first, in one text with a line end around each. */
const PACKED_TOUCH = `#!lua
local text, line = redis.call('GET', KEYS[1]) or '\\n', '\\n' .. ARGV[1]
local at, to = string.find(text, line .. '\\n', 1, true)
local rest = at and string.sub(text, 1, at - 1) .. string.sub(text, to) or text
local _, count = string.gsub(rest, '\\n', '')
if count > tonumber(ARGV[2]) then
  rest = string.match(rest, '^(.*\\n)[^\\n]+\\n$')
end
redis.call('SET', KEYS[1], line .. rest)`;

const PACKED_COMPLETE = `#!lua flags=no-writes
local text, found = redis.call('GET', KEYS[1]) or '', {}
local at = string.find(text, '\\n' .. ARGV[1], 1, true)
while at and #found < tonumber(ARGV[2]) do
  local to = string.find(text, '\\n', at + 1, true)
  found[#found + 1] = string.sub(text, at + 1, to - 1)
  at = string.find(text, '\\n' .. ARGV[1], to, true)
end
return found`;

/** One text for each user, which scripts look through: the quickest completion, and touches that write all of it. */
export const RECENT_PACKED: RecentKind = {
  name: 'packed string in Lua',
  version: '',
  connect: (redis) => {
    redis.defineCommand('packedTouch', { numberOfKeys: 1, lua: PACKED_TOUCH });
    redis.defineCommand('packedComplete', { numberOfKeys: 1, lua: PACKED_COMPLETE, readOnly: true });
    const scripts = redis as unknown as Record<
      'packedTouch' | 'packedComplete',
      (key: string, text: string, most: number) => Promise<string[]>
    >;
    return {
      touch: (user, contact) => scripts.packedTouch(keyOf(user), contact, CAPACITY),
      touchMany: (user, contacts) => redis.set(keyOf(user), `\n${contacts.toReversed().join('\n')}\n`),
      complete: (user, text) => scripts.packedComplete(keyOf(user), text, RECENT_LIMIT),
    };
  },
};

const ALL: readonly RecentKind[] = [RECENT, RECENT_BOOK, RECENT_ZSET, RECENT_PACKED];

export function recentKind(name: string): RecentKind {
  return ALL.find((kind) => kind.name === name)!;
}
