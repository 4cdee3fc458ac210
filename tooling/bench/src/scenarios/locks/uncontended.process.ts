/** One process takes and releases free locks over one connection: for each key, one pair after the other. */
import { Redis } from 'ioredis';
import type { MakeSegment } from '../../crew-member.js';
import { percentile } from '../../percentile.js';
import { mutexKind } from './mutexes.js';

export interface UncontendedSettings {
  readonly url: string;
  readonly kind: string;
  readonly keys: number;
}

export interface UncontendedReport {
  readonly pairs: number;
  readonly p50: number;
  readonly p99: number;
}

const make: MakeSegment<UncontendedSettings, UncontendedReport> = async ({ url, kind, keys }) => {
  const redis = new Redis(url);
  const locks = await Promise.all(
    Array.from({ length: keys }, (_, key) => mutexKind(kind).prepare(redis, `lock:${key}`)),
  );
  let times: number[] = [];
  return {
    start: () => {
      for (const acquire of locks) {
        void (async () => {
          for (;;) {
            const startedAt = performance.now();
            const release = await acquire();
            await release();
            times.push(performance.now() - startedAt);
          }
        })();
      }
    },
    open: () => {
      times = [];
    },
    close: () => ({ pairs: times.length, p50: percentile(times, 0.5), p99: percentile(times, 0.99) }),
  };
};

export default make;
