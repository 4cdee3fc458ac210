/**
 * Random operations against a small model of the queue. The scripts are called as `Queue` and `Worker` call them; the
 * token that an exchange hands out is the server's time, so the model knows the instant and predicts each reply exactly.
 * fast-check prints the seed of a failure.
 */
import { expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import fc from 'fast-check';
import { QueueKeys } from '../src/keys.js';
import { workerExchange } from '../src/scripts.gen.js';
import { encodeSettlement } from '../src/settlement.js';
import type { Settlement } from '../src/settlement.js';
import { decodeTaskId, encodeTaskId } from '../src/task-id.js';
import { connect, freshPrefix } from '@mortise/test-kit';

const redis = connect();
const PRIORITIES = ['high', 'low'];
const KEEP_SUCCEEDED = 12;
const KEEP_DEAD = 6;

type Verdict = Settlement['verdict'];

interface NewTask {
  readonly id: number;
  readonly lane: number;
  readonly delayMs: number;
  readonly attempts: number;
}

type Operation =
  | { readonly type: 'enqueue'; readonly tasks: readonly NewTask[] }
  /** Settles some of what is held, by position, and takes; what is taken with a lease of 0 ms is abandoned. */
  | {
      readonly type: 'exchange';
      readonly settle: readonly {
        readonly which: number;
        readonly verdict: Verdict;
        readonly delayMs: number;
      }[];
      readonly isStale: boolean;
      readonly want: number;
      readonly leaseMs: 0 | 60_000;
    };

interface ModelTask extends NewTask {
  readonly key: string;
  place: 'ready' | 'scheduled' | 'retrying' | 'active' | 'succeeded' | 'dead';
  /** When it falls due, or when it finished. */
  at: number;
  attempt: number;
  token: number;
  isAbandoned: boolean;
}

const byInstant = (a: ModelTask, b: ModelTask): number => a.at - b.at;
const byBytes = (a: ModelTask, b: ModelTask): number =>
  Buffer.compare(encodeTaskId(a.key), encodeTaskId(b.key));

class Model {
  /** In the order in which they came, which is the order of the ready ones of a lane. */
  tasks = new Map<string, ModelTask>();
  /** In the order in which they succeeded. */
  succeeded: string[] = [];

  in(place: ModelTask['place']): ModelTask[] {
    return [...this.tasks.values()].filter((task) => task.place === place);
  }

  settle(task: ModelTask, verdict: Verdict, delayMs: number, now: number): void {
    if (verdict === 'S') {
      task.place = 'succeeded';
      this.succeeded.push(task.key);
    } else if (verdict === 'D') {
      Object.assign(task, { place: 'dead', at: now });
    } else {
      const attempt = verdict === 'R' ? task.attempt : task.attempt - 1;
      Object.assign(task, { place: 'retrying', at: now + delayMs, attempt });
    }
  }

  recover(now: number): void {
    for (const task of this.in('active').filter(({ isAbandoned }) => isAbandoned)) {
      Object.assign(task, { place: task.attempt >= task.attempts ? 'dead' : 'retrying', at: now });
    }
  }

  take(want: number, now: number, token: number, isAbandoned: boolean): [string, number][] {
    const order = [0, 1].flatMap((lane) => {
      const due = [...this.in('scheduled'), ...this.in('retrying')]
        .filter((task) => task.lane === lane && task.at <= now)
        .toSorted(
          (a, b) =>
            byInstant(a, b) || (a.place === b.place ? byBytes(a, b) : a.place === 'scheduled' ? -1 : 1),
        );
      return [...due, ...this.in('ready').filter((task) => task.lane === lane)];
    });
    return order.slice(0, want).map((task) => {
      Object.assign(task, { place: 'active', attempt: task.attempt + 1, token, isAbandoned });
      return [task.key, task.attempt];
    });
  }

  retain(finished: number, haveDied: boolean): void {
    const over = Math.min(2 * finished + 8, this.succeeded.length - KEEP_SUCCEEDED);
    if (finished > 0 && over > 0) for (const key of this.succeeded.splice(0, over)) this.tasks.delete(key);
    const dead = this.in('dead').toSorted((a, b) => byInstant(a, b) || byBytes(a, b));
    if (haveDied)
      for (const { key } of dead.slice(0, Math.max(0, dead.length - KEEP_DEAD))) this.tasks.delete(key);
  }
}

class Subject {
  readonly model = new Model();
  readonly #prefix = freshPrefix();
  readonly #keys = new QueueKeys('q', this.#prefix);
  readonly #queue = new Queue(redis, 'q', { prefix: this.#prefix, priorities: PRIORITIES });

  async enqueue(tasks: readonly NewTask[]): Promise<void> {
    const enqueued = await this.#queue.enqueueMany(
      tasks.map(({ id, lane, delayMs, attempts }) => ({
        name: 't',
        payload: id,
        options: { id: `task ${id}`, priority: PRIORITIES[lane]!, attempts, ...(delayMs > 0 && { delayMs }) },
      })),
    );
    for (const [index, task] of tasks.entries()) {
      const key = `task ${task.id}`;
      expect(enqueued[index]).toEqual({ id: key, isDuplicate: this.model.tasks.has(key) });
      if (this.model.tasks.has(key)) continue;
      const place = task.delayMs > 0 ? 'scheduled' : 'ready';
      const at = Number(await redis.zscore(this.#keys.lanes(2)[3 * task.lane + 1]!, encodeTaskId(key)));
      this.model.tasks.set(key, { ...task, key, place, at, attempt: 0, token: 0, isAbandoned: false });
    }
  }

  async exchange({ settle, isStale, want, leaseMs }: Operation & { type: 'exchange' }): Promise<void> {
    const { model } = this;
    const held = model.in('active');
    const chosen = new Map(
      settle.filter(({ which }) => which < held.length).map((one) => [held[one.which]!, one]),
    );
    const settlements = [...chosen].flatMap(([task, { verdict, delayMs }]) => [
      encodeTaskId(task.key),
      encodeSettlement(isStale ? task.token - 1 : task.token, { verdict, delayMs, data: '"because"' }),
    ]);
    const [settled, , token, ...fields] = await this.#call(settlements, want, leaseMs);
    const now = instantOf(token);

    expect(settled).toBe((isStale ? '0' : '1').repeat(chosen.size));
    const before = new Set(model.in('dead'));
    const accepted = isStale ? [] : [...chosen];
    for (const [task, { verdict, delayMs }] of accepted) model.settle(task, verdict, delayMs, now);
    model.recover(now);
    const expected = model.take(want, now, token, leaseMs === 0);
    const taken = Array.from({ length: fields.length / 3 }, (_, index) => [
      decodeTaskId(fields[3 * index] as Buffer),
      fields[3 * index + 1],
    ]);
    expect(taken).toEqual(expected);
    model.retain(
      accepted.filter(([, { verdict }]) => verdict === 'S').length,
      model.in('dead').some((task) => !before.has(task)),
    );
  }

  /** Everything that the model holds is there, and nothing else. */
  async compare(): Promise<void> {
    const { scheduled, ready, retrying, ...rest } = await this.#queue.counts();
    const counts = Object.fromEntries(
      (['active', 'succeeded', 'dead'] as const).map((place) => [place, this.model.in(place).length]),
    );
    expect(rest).toEqual(counts);
    const waiting = this.model.tasks.size - rest.active - rest.succeeded - rest.dead;
    expect(scheduled + ready + retrying).toBe(waiting);
    expect(await redis.hlen(this.#keys.tasks)).toBe(this.model.tasks.size);
    for (const { key, place, attempt } of this.model.tasks.values()) {
      const task = await this.#queue.get(key);
      const states = place === 'scheduled' || place === 'retrying' ? [place, 'ready'] : [place];
      expect(states).toContain(task?.state);
      expect(task?.attempt).toBe(attempt);
    }
  }

  async #call(
    settlements: Buffer[],
    want: number,
    leaseMs: number,
  ): Promise<[string, number, number, ...unknown[]]> {
    const { priorities, tasks, attempts, active, succeeded, dead, idle, timekeeper } = this.#keys;
    const [settled, ...rest] = (await workerExchange.runBuffer(
      redis,
      {
        priorities,
        tasks,
        attempts,
        active,
        succeeded,
        dead,
        idle,
        timekeeper,
        lanes: this.#keys.lanes(2),
      },
      {
        names: PRIORITIES.join(','),
        publish: 'PUBLISH',
        channel: this.#keys.wakeChannel('w'),
        want,
        leaseMs,
        parkMs: 1_000,
        keepSucceeded: KEEP_SUCCEEDED,
        keepSucceededMs: 60_000,
        keepDead: KEEP_DEAD,
        settlements,
      },
    )) as [Buffer, number, number, ...unknown[]];
    return [settled.toString(), ...rest];
  }
}

/** The ms of a token, which is µs cut to 32 bits. */
function instantOf(token: number): number {
  const nearby = Date.now() * 1_000;
  const cycles = Math.round((nearby - token) / 2 ** 32);
  return Math.floor((cycles * 2 ** 32 + token) / 1_000);
}

const newTask = fc.record({
  id: fc.integer({ min: 0, max: 60 }),
  lane: fc.integer({ min: 0, max: 1 }),
  delayMs: fc.constantFrom(0, 0, 0, 1, 2, 5),
  attempts: fc.integer({ min: 1, max: 3 }),
});
const settlement = fc.record({
  which: fc.integer({ min: 0, max: 15 }),
  verdict: fc.constantFrom<Verdict>('S', 'S', 'R', 'D', 'B', 'L'),
  delayMs: fc.constantFrom(0, 1, 3),
});
const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({
    type: fc.constant('enqueue' as const),
    tasks: fc.array(newTask, { minLength: 1, maxLength: 12 }),
  }),
  fc.record({
    type: fc.constant('exchange' as const),
    settle: fc.uniqueArray(settlement, { selector: ({ which }) => which, maxLength: 8 }),
    isStale: fc.constantFrom(false, false, false, true),
    want: fc.integer({ min: 0, max: 10 }),
    leaseMs: fc.constantFrom<0 | 60_000>(0, 60_000, 60_000, 60_000),
  }),
);

test('the scripts do what the model does', async () => {
  const check = fc.assert(
    fc.asyncProperty(fc.array(operation, { minLength: 10, maxLength: 60 }), async (operations) => {
      const subject = new Subject();
      for (const one of operations) {
        if (one.type === 'enqueue') await subject.enqueue(one.tasks);
        else await subject.exchange(one);
      }
      await subject.compare();
    }),
    { numRuns: 80 },
  );
  await expect(check).resolves.toBeUndefined();
});
