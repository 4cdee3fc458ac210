/** One process whose readers ask for what is cached, each for one value after the other. */
import type { MakeSegment } from '../../crew-member.js';
import { percentile } from '../../percentile.js';
import { cached } from './kind.js';
import { cacheKind } from './kinds/index.js';

export interface GetSettings {
  readonly url: string;
  readonly kind: string;
  readonly keys: number;
  readonly readers: number;
  /** `near`: all is in the process before, and reads don't wait for anything else than the cache's own promises. */
  readonly how: 'shared' | 'near' | 'peek';
}

export interface GetReport {
  readonly reads: number;
  readonly p50Micros: number;
  readonly p99Micros: number;
}

const LIFE = { ttlMs: 600_000, staleMs: 0 };
/** Values stored at once. */
const AT_ONCE = 500;
/** Reads without a look at what else this process has to do. */
const UNTIL_A_LOOK = 1_000;
/** Times that all keys are read before, so that they are in the process where they can be. */
const FILLS = 2;
/** One of so many waits is noted. */
const NOTED = 16;

const make: MakeSegment<GetSettings, GetReport> = async ({ url, kind, keys, readers, how }) => {
  const client = await cacheKind(kind).connect(url, LIFE);
  const names = Array.from({ length: keys }, (_, key) => `item:${key}`);
  await inParts(names, (name, index) => client.set(name, cached(name, index)));
  for (let fill = 0; fill < FILLS; fill += 1) {
    await inParts(names, async (name) => {
      const found = await client.get(name);
      if (!found) throw new Error(`${kind}: ${name} is not cached`);
    });
  }
  let reads = 0;
  let waits: number[] = [];
  const read = { shared: readShared, near: readNear, peek: readAtOnce }[how];
  return {
    start: () => {
      for (let reader = 0; reader < readers; reader += 1) {
        read(reader).catch((error: unknown) => {
          console.error(error);
          process.exit(1);
        });
      }
    },
    open: () => {
      reads = 0;
      waits = [];
    },
    close: () => ({ reads, p50Micros: percentile(waits, 0.5), p99Micros: percentile(waits, 0.99) }),
  };

  async function readShared(reader: number): Promise<never> {
    for (let index = reader; ; index += readers) {
      const startedAt = performance.now();
      if (!(await client.get(names[index % keys]!))) throw new Error('it is not cached any more');
      reads += 1;
      if (index % NOTED === 0) waits.push((performance.now() - startedAt) * 1000);
    }
  }

  async function readNear(): Promise<never> {
    for (let index = 0; ; index += UNTIL_A_LOOK) {
      for (let offset = 0; offset < UNTIL_A_LOOK; offset += 1) {
        if (!(await client.get(names[(index + offset) % keys]!)))
          throw new Error('it is not cached any more');
      }
      reads += UNTIL_A_LOOK;
      await look();
    }
  }

  async function readAtOnce(): Promise<never> {
    for (let index = 0; ; index += UNTIL_A_LOOK) {
      for (let offset = 0; offset < UNTIL_A_LOOK; offset += 1) {
        if (!client.peek!(names[(index + offset) % keys]!))
          throw new Error('it is not in the process any more');
      }
      reads += UNTIL_A_LOOK;
      await look();
    }
  }
};

async function inParts(
  names: readonly string[],
  act: (name: string, index: number) => Promise<unknown>,
): Promise<void> {
  for (let first = 0; first < names.length; first += AT_ONCE) {
    const part = names.slice(first, first + AT_ONCE);
    await Promise.all(part.map((name, index) => act(name, first + index)));
  }
}

function look(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

export default make;
