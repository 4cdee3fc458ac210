import { describe, expect, test } from '@jest/globals';
import { MultiLock, Mutex } from '@mortise/locks';
import { connect, freshPrefix, runServer, until } from '@mortise/test-kit';
import * as fc from 'fast-check';
import type { Redis } from 'ioredis';
import { MODEL_RUNS } from '../fixture/model-runs.js';

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];
const CLIENTS = 3;

const { server } = await runServer();

/** A caller that acquires some names once: it waits without a limit, gives up soon, is aborted, or only tries. */
interface Actor {
  readonly client: number;
  readonly names: readonly string[];
  readonly waits: 'endless' | 'short' | 'aborted' | 'none';
  readonly turns: number;
}

const actor: fc.Arbitrary<Actor> = fc.record({
  client: fc.nat(CLIENTS - 1),
  names: fc.shuffledSubarray(NAMES, { minLength: 1 }),
  waits: fc.constantFrom('endless', 'endless', 'endless', 'short', 'aborted', 'none'),
  turns: fc.integer({ min: 1, max: 3 }),
});

interface Taken {
  readonly names: ReadonlyMap<string, number>;
  readonly isValid: boolean;
  release(): Promise<boolean>;
}

class Scene {
  readonly violations: string[] = [];
  sections = 0;
  readonly #clients: readonly Redis[];
  readonly #prefix: string;
  readonly #inside = new Map<string, string>();
  readonly #tokens = new Map<string, number>();

  constructor(clients: readonly Redis[], prefix: string) {
    this.#clients = clients;
    this.#prefix = prefix;
  }

  async play(id: string, { client, names, waits, turns }: Actor): Promise<void> {
    for (let turn = 0; turn < turns; turn += 1) {
      const held = await this.#take(this.#clients[client]!, names, waits);
      if (!held) continue;
      this.sections += 1;
      if (held.names.size !== names.length) this.violations.push(`${id} has ${held.names.size} names`);
      for (const [name, token] of held.names) {
        const other = this.#inside.get(name);
        if (other) this.violations.push(`${id} and ${other} are in ${name}`);
        if (token <= (this.#tokens.get(name) ?? 0)) this.violations.push(`the token of ${name} fell`);
        this.#inside.set(name, id);
        this.#tokens.set(name, token);
      }
      await new Promise((resolve) => setImmediate(resolve));
      if (!held.isValid) this.violations.push(`${id} lost its lease`);
      for (const name of names) this.#inside.delete(name);
      if (!(await held.release())) this.violations.push(`${id} did not hold all`);
    }
  }

  async #take(redis: Redis, names: readonly string[], waits: Actor['waits']): Promise<Taken | null> {
    const options = { prefix: this.#prefix };
    const terms = {
      waitMs: waits === 'short' ? 3 : 30_000,
      ...(waits === 'aborted' && { signal: AbortSignal.timeout(2) }),
    };
    try {
      // One name of one actor in three is taken by a mutex.
      if (names.length === 1) {
        const mutex = new Mutex(redis, names[0]!, options);
        const lease = waits === 'none' ? await mutex.tryAcquire() : await mutex.acquire(terms);
        return lease && heldBy(lease, new Map([[names[0]!, lease.fencingToken]]));
      }
      const lock = new MultiLock(redis, names, options);
      const lease = waits === 'none' ? await lock.tryAcquire() : await lock.acquire(terms);
      return lease && heldBy(lease, lease.fencingTokens);
    } catch (error) {
      if (waits === 'short' || waits === 'aborted') return null;
      throw error;
    }
  }
}

function heldBy(
  lease: { readonly isValid: boolean; release(): Promise<boolean> },
  names: ReadonlyMap<string, number>,
): Taken {
  return {
    names,
    get isValid() {
      return lease.isValid;
    },
    release: () => lease.release(),
  };
}

describe.each([
  ['a node that takes all in one call', server.url],
  ['a node that enforces its slots', process.env['MORTISE_TEST_REDIS']],
])('on %s', (_, url) => {
  test('everybody gets all names alone, nobody waits in a circle, and nothing is left behind', async () => {
    const clients = Array.from({ length: CLIENTS }, () => connect(url));
    let sections = 0;
    const property = fc.asyncProperty(
      fc.array(actor, { minLength: 2, maxLength: 12, size: 'max' }),
      async (actors) => {
        const prefix = freshPrefix();
        const scene = new Scene(clients, prefix);
        await Promise.all(actors.map((each, index) => scene.play(`actor ${index}`, each)));
        expect(scene.violations).toEqual([]);
        sections += scene.sections;
        const owed = actors
          .filter(({ waits }) => waits === 'endless')
          .reduce((sum, { turns }) => sum + turns, 0);
        expect(scene.sections).toBeGreaterThanOrEqual(owed);
        await until('nothing to be left', async () => {
          const keys = await clients[0]!.keys(`${prefix}:*`);
          return keys.every((key) => key.endsWith(':token'));
        });
      },
    );
    await fc.assert(property, { numRuns: MODEL_RUNS });
    expect(sections).toBeGreaterThan(60);
  });
});
