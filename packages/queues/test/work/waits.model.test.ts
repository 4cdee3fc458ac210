/**
 * Random deliveries of two events to tasks that wait for them, while workers stop, leases end, and operators promote. The model: each wait
 * gets the next event of its name, in the order of the deliveries.
 */
import { expect, test } from '@jest/globals';
import type { TaskContext, Worker } from '@mortise/queues';
import fc from 'fast-check';
import { Bench } from '../fixture/bench.js';
import type { Tasks } from '../fixture/launch.js';
import { redis } from '../fixture/new-queue.js';

const HOUR = { timeoutMs: 3_600_000 };
const NAMES = ['a', 'b'] as const;
type Name = (typeof NAMES)[number];

const action = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('deliver a', 'deliver b') },
  {
    weight: 2,
    arbitrary: fc.constantFrom('promote', 'end the lease', 'restart a worker', 'let others go first'),
  },
);

class World {
  readonly bench = new Bench();
  readonly workers: Worker<Tasks>[] = [];
  readonly delivered: Record<Name, number[]> = { a: [], b: [] };
  id = '';

  constructor(readonly waits: readonly Name[]) {}

  async start(): Promise<void> {
    await this.launch();
    await this.launch();
    const backoff = { type: 'fixed', delayMs: 0, jitter: 0 } as const;
    ({ id: this.id } = await this.bench.queue.enqueue('t', 1, { attempts: 1_000, backoff }));
  }

  async launch(): Promise<void> {
    const t = async (_: unknown, ctx: TaskContext): Promise<number[]> => {
      const got: number[] = [];
      for (const [n, name] of this.waits.entries()) {
        got.push(await ctx.waitFor<number>(name, HOUR));
        await ctx.step(`between ${n}`, () => n);
      }
      return got;
    };
    // A lease that a test ends is reported.
    this.workers.push(await this.bench.launch({ t }, { onError: () => undefined, concurrency: 2 }));
  }

  async act(step: string): Promise<void> {
    const { queue, keys } = this.bench;
    if (step === 'deliver a' || step === 'deliver b') await this.deliver(step.at(-1) as Name);
    if (step === 'promote') await queue.promote(this.id);
    if (step === 'let others go first') await queue.counts();
    if (step === 'end the lease') {
      for (const member of await redis.zrangeBuffer(keys.of.active, '0', '-1'))
        await redis.zadd(keys.of.active, 'XX', 0, member);
    }
    if (step === 'restart a worker') {
      await this.workers.shift()!.stop({ graceMs: 0 });
      await this.launch();
    }
  }

  /** Twice, as after a lost reply. */
  async deliver(name: Name): Promise<void> {
    const all = this.delivered[name];
    const value = all.length;
    all.push(value);
    const once = (): Promise<boolean> =>
      this.bench.queue.deliver(this.id, name, value, { id: `${name}${value}` });
    await Promise.all([once(), once()]);
  }

  /** As the model has it. */
  get expected(): number[] {
    const next = { a: 0, b: 0 };
    return this.waits.map((name) => next[name]++);
  }
}

test('each wait gets the next event of its name', async () => {
  const property = fc.asyncProperty(
    fc.array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 6 }),
    fc.array(action, { maxLength: 25 }),
    async (waits, actions) => {
      const world = new World(waits);
      await world.start();
      for (const step of actions) await world.act(step);
      for (const name of NAMES) {
        const wanted = waits.filter((wait) => wait === name).length;
        while (world.delivered[name].length < wanted) await world.deliver(name);
      }
      const result = await world.bench.queue.result(world.id, { waitMs: 30_000 });
      await Promise.all(world.workers.map((worker) => worker.stop()));
      expect(result).toEqual(world.expected);
    },
  );
  await fc.assert(property, { numRuns: 100, endOnFailure: true });
}, 240_000);
