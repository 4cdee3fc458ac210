import type { Redis } from 'ioredis';
import { apart, startRemote } from '../../remote.js';
import type { Competitor, Scenario } from '../../scenario.js';
import type { ChatKind } from './kind.js';
import { BOOK, MORTISE, STREAM_GROUPS, STREAMS } from './kinds/index.js';
import type { MemoryActions } from './memory.process.js';
import { JSON_BYTES } from './message.js';
import { dataBytes } from '../../used-bytes.js';

const MODULE = new URL('memory.process.js', import.meta.url);
const LONG = 100_000;
const CHATS = 2_000;
const SHORT = 20;
/** Redis' table of keys is full at a power of two. */
const KEYS = 65_536;
const MEMBER_CHATS = 10;

const OF_LONG = 'bytes a message, 100 K in a chat';
const OF_SHORT = 'with its share of the chat, 20 in a chat';
const OF_CHAT = 'bytes of a new chat';
const OF_CHAT_LATER = 'without the ids of senders';
const KEPT_IDS = "senders' ids, bytes a message";
const KEYS_OF_CHAT = 'keys of a new chat';

function competitor(kind: ChatKind): Competitor {
  return {
    name: kind.name,
    version: kind.version,
    prepare: (redis, { url }) => {
      const of = { url, kind: kind.name };
      /** The memory that `work` adds, the share of keys that stay only for a while, and the number of keys. */
      const added = async (work: () => Promise<unknown>): Promise<Added> => {
        await redis.flushall('SYNC');
        const empty = await dataBytes(redis);
        await work();
        const full = await dataBytes(redis);
        const keys = await redis.dbsize();
        await removePassing(redis, kind);
        const bytes = (await dataBytes(redis)) - empty;
        return { bytes, passing: full - empty - bytes, keys };
      };
      return Promise.resolve({
        warmUp: () =>
          apart(startRemote<MemoryActions>(MODULE), (remote) =>
            remote.do('post', { ...of, chats: 10, messages: SHORT }),
          ),
        run: async () => {
          const long = await added(() =>
            apart(startRemote<MemoryActions>(MODULE), (remote) =>
              remote.do('post', { ...of, chats: 1, messages: LONG }),
            ),
          );
          const short = await added(() =>
            apart(startRemote<MemoryActions>(MODULE), (remote) =>
              remote.do('post', { ...of, chats: CHATS, messages: SHORT }),
            ),
          );
          let chats = 0;
          const fresh = await added(async () => {
            chats = await apart(startRemote<MemoryActions>(MODULE), (remote) =>
              remote.do('create', { ...of, memberChats: MEMBER_CHATS, keys: KEYS }),
            );
          });
          return {
            operations: LONG,
            figures: {
              [OF_LONG]: long.bytes / LONG,
              [KEPT_IDS]: long.passing / LONG,
              [OF_SHORT]: short.bytes / (CHATS * SHORT),
              [OF_CHAT]: (fresh.bytes + fresh.passing) / chats,
              [OF_CHAT_LATER]: fresh.bytes / chats,
              [KEYS_OF_CHAT]: fresh.keys / chats,
            },
          };
        },
        close: () => Promise.resolve(),
      });
    },
  };
}

interface Added {
  readonly bytes: number;
  readonly passing: number;
  readonly keys: number;
}

async function removePassing(redis: Redis, { passing }: ChatKind): Promise<void> {
  if (passing === undefined) return;
  for await (const keys of redis.scanStream({ match: passing, count: 1_000 })) {
    if ((keys as string[]).length > 0) await redis.del(keys as string[]);
  }
}

export const memory: readonly Scenario[] = [
  {
    name: 'messaging.memory',
    title: 'Messaging: memory',
    operation: `one message of ${JSON_BYTES} bytes as JSON posted`,
    method:
      `used_memory without that of clients. ${LONG} messages in one chat; or ${SHORT} in each of ${CHATS}, with all that belongs to the chats. ` +
      `Keys that stay only for minutes (the ids of senders) are removed before the look, and have a column of their own. A new chat has two members, who have ${MEMBER_CHATS} chats each, ` +
      `and one message: everything that is there at once, with so many chats that the table of keys is full (${KEYS} keys).`,
    competitors: [MORTISE, BOOK, STREAMS, STREAM_GROUPS].map(competitor),
    columns: [OF_LONG, OF_SHORT, KEPT_IDS, OF_CHAT, OF_CHAT_LATER, KEYS_OF_CHAT],
    drawn: OF_LONG,
    mostRepeats: 1,
    isAtOnce: true,
    bars: [
      { competitor: MORTISE.name, figure: OF_LONG, atMost: 140 },
      { competitor: MORTISE.name, figure: OF_CHAT, atMost: 650 },
    ],
  },
];
