import type { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { startRemote } from '../../remote.js';
import type { Bar, Competitor, Scenario } from '../../scenario.js';
import { MORTISE } from './kinds/index.js';
import { usedBytes } from '../../used-bytes.js';
import type { WaitingActions, WaitKind } from './waiting.process.js';

const MODULE = new URL('waiting.process.js', import.meta.url);
const WAITERS = 1_000;
const WARM_UP_WAITERS = 10;
const BYTES = 'bytes of Redis a waiter';
const CONNECTIONS = 'connections';
const PER_SECOND = 'commands/s';
const MAX_BYTES = 500;
const MAX_PER_SECOND = 20;
/** Long enough for several rechecks of a wait that is alone. */
const SECONDS = 20;
/** After this time without a change, all members wait. */
const SETTLED_MS = 1_000;
const LOOK_EVERY_MS = 100;

/** Connections, and what is waited for over them. */
async function presence(
  redis: Redis,
): Promise<
  Record<'connected_clients' | 'blocked_clients' | 'pubsub_channels' | 'pubsubshard_channels', number>
> {
  const info = await redis.info('everything');
  const field = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  return {
    connected_clients: field('connected_clients'),
    blocked_clients: field('blocked_clients'),
    pubsub_channels: field('pubsub_channels'),
    pubsubshard_channels: field('pubsubshard_channels'),
  };
}

/** Until so many wait, and nothing changes any more. */
async function settled(redis: Redis, waiters: number): Promise<void> {
  let before = '';
  let changedAt = performance.now();
  while (performance.now() - changedAt < SETTLED_MS) {
    const now = await presence(redis);
    const waiting = now.blocked_clients + now.pubsub_channels + now.pubsubshard_channels;
    const seen = JSON.stringify(now);
    if (seen !== before || waiting < waiters) changedAt = performance.now();
    before = seen;
    await sleep(LOOK_EVERY_MS);
  }
}

function competitor(kind: WaitKind, version: string): Competitor {
  return {
    name: kind,
    version,
    prepare: (redis, { url, seconds = SECONDS }) => {
      const first = startRemote<WaitingActions>(MODULE);
      const remote = startRemote<WaitingActions>(MODULE);
      return Promise.resolve({
        // The chats, the scripts and the connections of this process exist before.
        warmUp: async () => {
          await first.do('found', { url, kind, waiters: WAITERS });
          await first.do('wait', { url, kind, waiters: WARM_UP_WAITERS });
          await settled(redis, WARM_UP_WAITERS);
          await first.kill();
          await settled(redis, 0);
        },
        run: async () => {
          const bytesBefore = await usedBytes(redis);
          const connectionsBefore = (await presence(redis)).connected_clients;
          await remote.do('wait', { url, kind, waiters: WAITERS });
          await settled(redis, WAITERS);
          const bytes = await usedBytes(redis);
          const connected = (await presence(redis)).connected_clients;
          const before = (await remote.do('sent', undefined)).result;
          await sleep(seconds * 1000);
          const sent = (await remote.do('sent', undefined)).result - before;
          return {
            operations: WAITERS,
            figures: {
              [BYTES]: (bytes - bytesBefore) / WAITERS,
              [CONNECTIONS]: connected - connectionsBefore,
              [PER_SECOND]: sent / seconds,
            },
          };
        },
        close: async () => {
          await Promise.all([first.kill(), remote.kill()]);
        },
      });
    },
  };
}

const OURS = ['pull with waitMs', 'follow', 'receive of a mailbox'] as const;
const OTHERS = ['XREAD BLOCK', 'BLPOP'] as const;

export const waiting: readonly Scenario[] = [
  {
    name: 'messaging.waiting',
    title: `Messaging: ${WAITERS} waiters`,
    operation: 'one waiting member',
    method:
      `${WAITERS} members in one process, each in one chat of ten members, or with a mailbox or a stream of their own. No message comes. The figure is the growth of used_memory of Redis ` +
      `when they begin to wait, with the buffers of connections; then the commands that all send in ${SECONDS} s.`,
    competitors: [
      ...OURS.map((kind) => competitor(kind, MORTISE.version)),
      ...OTHERS.map((kind) => competitor(kind, '')),
    ],
    columns: [BYTES, CONNECTIONS, PER_SECOND],
    drawn: BYTES,
    mostRepeats: 1,
    isAtOnce: true,
    bars: OURS.flatMap((kind): Bar[] => [
      { competitor: kind, figure: BYTES, atMost: MAX_BYTES },
      { competitor: kind, figure: PER_SECOND, atMost: MAX_PER_SECOND },
    ]),
  },
];
