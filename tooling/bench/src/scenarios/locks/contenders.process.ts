/** Some of the contenders for one lock or semaphore: each has a connection, asks, holds, gives back, asks again. */
import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MakeSegment } from '../../crew-member.js';
import { persistent } from './contend.js';
import type { Acquire } from './contend.js';
import { hostNow } from './holds.js';
import type { ContendersReport, Hold } from './holds.js';
import { mutexKind } from './mutexes.js';
import { semaphoreKind } from './semaphores.js';

export interface ContendersSettings {
  readonly url: string;
  readonly type: 'mutex' | 'semaphore';
  readonly kind: string;
  readonly contenders: readonly number[];
  readonly holdMs: number;
}

const NAME = 'contended';

const make: MakeSegment<ContendersSettings, ContendersReport> = async (settings) => {
  const { url, type, kind, contenders, holdMs } = settings;
  const peer = type === 'mutex' ? mutexKind(kind) : semaphoreKind(kind);
  const locks = new Map<number, Acquire>();
  for (const contender of contenders) {
    locks.set(contender, persistent(await peer.prepare(new Redis(url), NAME)));
  }
  let openedAt = Infinity;
  const holds: Hold[] = [];
  const asking = new Map<number, number>();

  const contend = async (contender: number, acquire: Acquire): Promise<never> => {
    for (;;) {
      const askedAt = hostNow();
      asking.set(contender, askedAt);
      const release = await acquire();
      const acquiredAt = hostNow();
      asking.delete(contender);
      await sleep(holdMs);
      const releasedAt = hostNow();
      if (acquiredAt >= openedAt) holds.push({ contender, askedAt, acquiredAt, releasedAt });
      await release();
    }
  };

  return {
    start: () => {
      for (const [contender, acquire] of locks) void contend(contender, acquire);
    },
    open: () => {
      openedAt = hostNow();
    },
    close: () => {
      const closedAt = hostNow();
      const waits = Array.from(asking, ([contender, askedAt]) => ({
        contender,
        waitedMs: closedAt - askedAt,
      }));
      return { holds, waits };
    },
  };
};

export default make;
