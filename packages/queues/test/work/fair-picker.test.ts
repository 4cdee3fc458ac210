import { describe, expect, test } from '@jest/globals';
import { QueueKeys } from '../../src/keys.js';
import { Queue, Worker } from '@mortise/queues';
import { freshPrefix } from '@mortise/test-kit';
import { watched } from '../fixture/commands-of.js';
import { launch } from '../fixture/launch.js';
import { newQueue, redis } from '../fixture/new-queue.js';
import type { Tasks } from '../fixture/launch.js';
import { until } from '../fixture/until.js';
import fc from 'fast-check';
import type { Fairness } from '../../src/options.js';
import type { Contender } from '../../src/work/fair-picker.js';
import { FairPicker, resolveFairness } from '../../src/work/fair-picker.js';

/** A shard of a queue that holds so many tasks. */
class Member implements Contender {
  given = 0;

  constructor(
    readonly queue: string,
    public left: number,
  ) {}

  get hasWork(): boolean {
    return this.left > 0;
  }
}

function newShares(
  members: readonly Member[],
  fairness: Fairness,
): { give: (asker: Member, free: number) => number } {
  const queues = [...new Set(members.map(({ queue }) => queue))];
  const shares = new FairPicker<Member>(queues, resolveFairness(fairness, queues));
  for (const member of members) shares.add(member);
  return {
    /** A worker's use of a reply: the slots are taken, and those without a task come back. */
    give(asker, free) {
      const share = shares.share(asker, free);
      shares.charge(asker, share);
      const taken = Math.min(share, asker.left);
      shares.charge(asker, taken - share);
      asker.left -= taken;
      asker.given += taken;
      return share;
    },
  };
}

function givenOf(members: readonly Member[]): Record<string, number> {
  const given: Record<string, number> = {};
  for (const member of members) given[member.queue] = (given[member.queue] ?? 0) + member.given;
  return given;
}

describe('strict', () => {
  test('a later queue gets slots only when the earlier ones have nothing', () => {
    const [a, b, c] = [new Member('a', 5), new Member('b', 5), new Member('c', 5)] as const;
    const { give } = newShares([a, b, c], 'strict');
    expect([give(c, 4), give(b, 4), give(a, 4)]).toEqual([0, 0, 4]);
    expect([give(b, 4), give(a, 4)]).toEqual([0, 4]);
    expect(a.left).toBe(0);
    expect([give(c, 9), give(b, 9), give(c, 4)]).toEqual([0, 9, 4]);
    expect(givenOf([a, b, c])).toEqual({ a: 5, b: 5, c: 4 });
  });

  test('the shards of a queue take turns', () => {
    const shards = [
      new Member('a', 1_000),
      new Member('a', 1_000),
      new Member('a', 1_000),
      new Member('b', 9),
    ];
    const { give } = newShares(shards, 'strict');
    // The first one always asks first.
    for (let round = 0; round < 300; round += 1) {
      let free = 1;
      for (const shard of shards) free -= give(shard, free);
    }
    expect(shards.map(({ given }) => given)).toEqual([100, 100, 100, 0]);
  });
});

describe('by turns and by weights', () => {
  test('equal queues divide the slots, whoever asks first', () => {
    const [a, b] = [new Member('a', 1_000), new Member('b', 1_000)] as const;
    const { give } = newShares([a, b], 'rotate');
    expect(give(a, 50)).toBe(25);
    expect(give(b, 25)).toBe(25);
    for (let round = 0; round < 100; round += 1) if (give(a, 1) === 0) give(b, 1);
    expect(givenOf([a, b])).toEqual({ a: 75, b: 75 });
  });

  test('a queue alone gets everything, and owes nothing for it later', () => {
    const [a, b] = [new Member('a', 10_000), new Member('b', 0)] as const;
    const { give } = newShares([a, b], 'rotate');
    for (let round = 0; round < 100; round += 1) expect(give(a, 10)).toBe(10);
    b.left = 10_000;
    expect(give(b, 100)).toBeLessThan(70);
    let free = 0;
    for (let round = 0; round < 200; round += 1) {
      free += 1;
      free -= give(b, free);
      free -= give(a, free);
    }
    expect(a.given).toBeGreaterThan(1_000 + 80);
  });

  test('slots without a task of the queue are not counted', () => {
    const [a, b] = [new Member('a', 1), new Member('b', 10_000)] as const;
    const { give } = newShares([a, b], { a: 100, b: 1 });
    give(a, 100);
    expect(a.given).toBe(1);
    expect(give(b, 99)).toBe(99);
    a.left = 10_000;
    for (let round = 0; round < 101; round += 1) if (give(a, 1) === 0) give(b, 1);
    expect(a.given).toBeGreaterThanOrEqual(99);
  });

  test('while all have tasks, they get them by their weights, and nobody waits for long', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({ weight: fc.integer({ min: 1, max: 20 }), shards: fc.integer({ min: 1, max: 4 }) }),
          {
            minLength: 2,
            maxLength: 5,
          },
        ),
        fc.array(fc.record({ asker: fc.nat(), free: fc.integer({ min: 1, max: 40 }) }), {
          minLength: 50,
          maxLength: 200,
        }),
        (queues, rounds) => {
          const weights = Object.fromEntries(queues.map(({ weight }, index) => [`q${index}`, weight]));
          const members = queues.flatMap(({ shards }, index) =>
            Array.from({ length: shards }, () => new Member(`q${index}`, 1e9)),
          );
          const { give } = newShares(members, weights);
          let total = 0;
          let unused = 0;
          let largest = 0;
          for (const { asker, free } of rounds) {
            let left = free;
            largest = Math.max(largest, free);
            // All ask when slots are free, in any order; not one slot stays unused.
            for (let n = 0; n < members.length; n += 1) {
              left -= give(members[(asker + n) % members.length]!, left);
            }
            unused += left;
            total += free;
          }
          expect(unused).toBe(0);
          const sum = queues.reduce((all, { weight }) => all + weight, 0);
          for (const [queue, given] of Object.entries(givenOf(members))) {
            const due = (total * weights[queue]!) / sum;
            // Each share is rounded up, which those who ask last have to wait for.
            expect(Math.abs(given - due)).toBeLessThanOrEqual(members.length + weights[queue]!);
          }
          for (const { queue, given } of members) {
            const own = members.filter((member) => member.queue === queue);
            const equal = own.reduce((all, member) => all + member.given, 0) / own.length;
            expect(Math.abs(given - equal)).toBeLessThanOrEqual(members.length + 1);
          }
        },
      ),
    );
  });

  test('queues that come and go: one that has work is never passed over for long', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 2, maxLength: 4 }),
        fc.array(fc.record({ queue: fc.nat({ max: 3 }), tasks: fc.integer({ min: 1, max: 60 }) }), {
          minLength: 1,
          maxLength: 60,
        }),
        (weights, arrivals) => {
          const members = weights.map((_, index) => new Member(`q${index}`, 0));
          const named = Object.fromEntries(weights.map((weight, index) => [`q${index}`, weight]));
          const { give } = newShares(members, named);
          const passedOver = members.map(() => 0);
          const sum = weights.reduce((all, weight) => all + weight, 0);
          let longest = 0;
          for (const { queue, tasks } of arrivals) {
            members[queue % members.length]!.left += tasks;
            for (let slot = 0; slot < 30; slot += 1) {
              const hasWork = members.map(({ left }) => left > 0);
              const before = members.map(({ given }) => given);
              for (const member of members) if (member.left > 0 && give(member, 1) > 0) break;
              for (const [index, { given }] of members.entries()) {
                if (given > before[index]! || !hasWork[index]) passedOver[index] = 0;
                else passedOver[index]! += 1;
              }
              longest = Math.max(longest, ...passedOver);
            }
          }
          expect(longest).toBeLessThanOrEqual(2 * sum + members.length);
        },
      ),
    );
  });
});

describe('the option', () => {
  test('is strict by default', () => {
    expect(resolveFairness(undefined, ['a'])).toBeUndefined();
    expect(resolveFairness('strict', ['a'])).toBeUndefined();
  });

  test('a queue that is not named has the weight 1', () => {
    const queues = ['a', '__proto__', 'toString'];
    expect(resolveFairness({ a: 3 }, queues)).toEqual(
      new Map([
        ['a', 3],
        ['__proto__', 1],
        ['toString', 1],
      ]),
    );
  });

  test.each([
    'fair',
    null,
    [],
    3,
    { b: 1 },
    { a: 0 },
    { a: 1.5 },
    { a: Number.NaN },
    { a: 1_001 },
    { a: Infinity },
    { a: '3' },
  ])('%p is refused', (fairness) => {
    expect(() => resolveFairness(fairness as unknown as Fairness, ['a'])).toThrow(/fairness/);
  });

  test('a queue that is not served cannot have a weight', () => {
    expect(() => new Worker(redis, ['a'], { t: () => 1 }, { fairness: { b: 1 } })).toThrow(RangeError);
  });
});

/** In which order a worker runs what several queues hold. */
async function order(
  queues: readonly string[],
  tasks: number,
  fairness: Fairness,
  concurrency: number,
): Promise<string[]> {
  const prefix = freshPrefix();
  for (const name of queues) {
    const queue = new Queue<Tasks>(redis, name, { prefix });
    await queue.enqueueMany(Array.from({ length: tasks }, () => ({ name: 't', payload: name })));
  }
  const { client, quiet } = await watched();
  const run: string[] = [];
  const ends: (() => void)[] = [];
  const t = (payload: string): Promise<void> => {
    run.push(payload);
    return new Promise((resolve) => ends.push(resolve));
  };
  await launch(client, [...queues], { t }, { prefix, fairness, concurrency });
  while (run.length < queues.length * tasks) {
    // All replies have come, so that all queues are known to have tasks.
    await quiet();
    for (const end of ends.splice(0)) end();
  }
  for (const end of ends.splice(0)) end();
  return run;
}

function shareOf(run: readonly string[], queue: string): number {
  return run.filter((name) => name === queue).length / run.length;
}

describe('several queues', () => {
  test('by turns, each gets its part of the slots', async () => {
    const run = await order(['a', 'b', 'c'], 100, 'rotate', 4);
    // The first replies come before the others have been asked.
    for (const queue of ['a', 'b', 'c'])
      expect(Math.abs(shareOf(run.slice(0, 240), queue) - 1 / 3)).toBeLessThan(0.1);
  });

  test('by weights, as many as these say', async () => {
    const run = await order(['a', 'b'], 150, { a: 3 }, 4);
    expect(Math.abs(shareOf(run.slice(0, 180), 'a') - 3 / 4)).toBeLessThan(0.12);
  });

  test('one slot is enough', async () => {
    const run = await order(['a', 'b'], 30, 'rotate', 1);
    expect(Math.abs(shareOf(run.slice(0, 40), 'a') - 1 / 2)).toBeLessThan(0.15);
  });

  test('strictly, a later one has to wait', async () => {
    const run = await order(['a', 'b'], 40, 'strict', 3);
    expect(run).toEqual([...Array<string>(40).fill('a'), ...Array<string>(40).fill('b')]);
  });

  test('an empty queue costs the others nothing', async () => {
    const prefix = freshPrefix();
    const queue = new Queue<Tasks>(redis, 'a', { prefix });
    await queue.enqueueMany(Array.from({ length: 20 }, () => ({ name: 't', payload: 1 })));
    let active = 0;
    const t = async (): Promise<never> => {
      active += 1;
      return new Promise<never>(() => undefined);
    };
    await launch(redis, ['empty', 'a', 'none'], { t }, { prefix, fairness: { empty: 9 }, concurrency: 20 });
    await until(() => active === 20);
    expect(await queue.counts()).toMatchObject({ active: 20 });
  });
});

describe('a queue with shards', () => {
  test('one worker serves all of them', async () => {
    const { prefix, work } = newQueue();
    const run: number[] = [];
    const worker = await work({ t: (payload: number) => void run.push(payload) });
    const queue = new Queue<Tasks>(redis, 'q', { prefix, shards: 4 });
    // The worker was there first and learns of them.
    for (let payload = 0; payload < 40; payload += 1) await queue.enqueue('t', payload);
    await until(() => run.length === 40);
    expect(run.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, index) => index));
    worker.pause();
    await worker.stop();
    expect(await queue.counts()).toMatchObject({ succeeded: 40, active: 0 });
  });

  test('which take turns', async () => {
    const { prefix, queue } = newQueue({ shards: 3 });
    for (let index = 0; index < 120; index += 1) await queue.enqueue('t', index);
    const { client, quiet } = await watched();
    const run: unknown[] = [];
    const ends: (() => void)[] = [];
    const t = (payload: unknown): Promise<void> => {
      run.push(payload);
      return new Promise((resolve) => ends.push(resolve));
    };
    const worker = await launch(client, 'q', { t }, { prefix, concurrency: 2 });
    while (run.length < 60) {
      await quiet();
      for (const end of ends.splice(0)) end();
    }
    await worker.stop({ graceMs: 0 });
    const left = await Promise.all(
      [0, 1, 2].map((shard) => redis.llen(new QueueKeys('q', prefix, shard).priorityKeys(3)[3]!)),
    );
    expect(Math.max(...left) - Math.min(...left)).toBeLessThan(15);
  });
});
