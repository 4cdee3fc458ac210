/**
 * Random operations against a small model of the queue. The scripts are called as `Queue` and `Worker` call them; the
 * token that an exchange hands out is the server's time, so the model knows the instant and predicts each reply exactly.
 * fast-check prints the seed of a failure.
 */
import { expect, test } from '@jest/globals';
import { Queue } from '@mortise/queues';
import type { OnDuplicate, TaskState } from '@mortise/queues';
import { Script } from '@mortise/redis';
import fc from 'fast-check';
import { QueueKeys } from '../src/keys.js';
import {
  fetcherFetchAndAck,
  heartbeaterRenew,
  maintainerMaintain,
  operatorMove,
} from '../src/scripts.gen.js';
import { packAcks } from '../src/work/fetch-and-ack.js';
import { encodeAck } from '../src/work/completion.js';
import type { Completion } from '../src/work/completion.js';
import { decodeTaskId, encodeTaskId } from '../src/task/task-id.js';
import { connect, freshPrefix } from '@mortise/test-kit';
import { until } from './fixture/until.js';

const redis = connect();
/** A worker that receives hand-offs, and does nothing. */
const deaf = connect();
let handedOff = 0;
const RUNS = Number(process.env['MORTISE_MODEL_RUNS'] ?? 10);
const PRIORITIES = ['high', 'low'];
const KEEP_SUCCEEDED = 12;
const KEEP_DEAD = 6;
const KEEP_CANCELLED = 8;
/** How far the clock of the test and that of the server may be apart; both are of this machine. */
const CLOCKS_MS = 2;
/** The lease of a task that is handed off. */
const HAND_OFF_MS = 5_000;

// The lists of a model are short: every entry between the first and the last one becomes a tombstone.
const source = operatorMove.definition.source.replace('local REACH = 100', 'local REACH = 1');
Object.assign(operatorMove, new Script({ ...operatorMove.definition, source }));

type Verdict = Completion['verdict'];

interface NewTask {
  readonly id: number;
  readonly priority: number;
  readonly delayMs: number;
  readonly attempts: number;
  /** Another task under the same id is a conflict. */
  readonly payload: number;
}

interface KeyedTask {
  readonly dedupKey: string;
  readonly mode: OnDuplicate;
  readonly priority: number;
  /** From the call, ms; 0: now. */
  readonly afterMs: number;
  readonly elements: readonly number[];
}

type Operation =
  /** The first `upTo` in one call, the others each in one of its own, all in one tick. */
  | { readonly type: 'enqueue'; readonly tasks: readonly NewTask[]; readonly upTo: number }
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
    }
  /**
   * Enqueued one after the other while a worker is idle, which has fetched all tasks, and does nothing with messages.
   * Handed-off tasks stay under their lease, or, with `isOver`, their lease has ended.
   */
  | { readonly type: 'hand'; readonly tasks: readonly NewTask[]; readonly isOver: boolean }
  | { readonly type: 'maintain' }
  /** Renews claimed tasks, by position. */
  | { readonly type: 'renew'; readonly which: readonly number[]; readonly isStale: boolean }
  | { readonly type: 'limit'; readonly concurrency: number | null }
  | { readonly type: 'pause' | 'resume' }
  /** By position in the model, or else by an id, known or not; all in one tick. */
  | { readonly type: Single; readonly which: readonly number[] }
  /** Enqueues under keys, one after the other in one tick. */
  | { readonly type: 'merge'; readonly tasks: readonly KeyedTask[] }
  | { readonly type: 'retryAll'; readonly state: 'dead' | 'cancelled' }
  | { readonly type: 'drain'; readonly scheduled: boolean }
  | { readonly type: 'clean'; readonly state: 'succeeded' | 'dead' | 'cancelled'; readonly limit: number };

type Single = 'cancel' | 'remove' | 'retry' | 'promote' | 'reschedule' | 'setPriority' | 'setPayload';

const MOST_ELEMENTS = 4;

/** How far `reschedule` of the model puts a task off. */
const PUT_OFF_MS = 15;

interface ModelTask extends Omit<NewTask, 'priority' | 'payload'> {
  readonly key: string;
  priority: number;
  payload: unknown;
  place: Exclude<TaskState, 'waiting'>;
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
  /** In the order in which they came, which is the order of the ready ones of a priority. */
  tasks = new Map<string, ModelTask>();
  /** In the order in which they succeeded. */
  succeeded: string[] = [];
  /** The last task of each key. */
  readonly dedupKeys = new Map<string, string>();
  concurrency = Infinity;
  isPaused = false;

  /** Among tasks that are all stored or none. */
  hasConflict(tasks: readonly NewTask[]): boolean {
    const payloads = new Map<string, unknown>([...this.tasks].map(([key, { payload }]) => [key, payload]));
    return tasks.some(({ id, payload }) => {
      const key = `task ${id}`;
      if (payloads.has(key)) return payloads.get(key) !== payload;
      payloads.set(key, payload);
      return false;
    });
  }

  in(place: ModelTask['place']): ModelTask[] {
    return [...this.tasks.values()].filter((task) => task.place === place);
  }

  /** `backAt`: where it stands when it goes back at once. */
  settle(task: ModelTask, verdict: Verdict, delayMs: number, now: number, backAt: number): void {
    if (verdict === 'S') {
      task.place = 'succeeded';
      this.succeeded.push(task.key);
    } else if (verdict === 'D') {
      Object.assign(task, { place: 'dead', at: now });
    } else {
      const attempt = verdict === 'R' ? task.attempt : task.attempt - 1;
      const at = verdict === 'B' && delayMs === 0 ? backAt : now + delayMs;
      Object.assign(task, { place: 'retrying', at, attempt });
    }
  }

  /** Nothing goes before a task that comes now. */
  isFirst(priority: number, now: number): boolean {
    const isAhead = (task: ModelTask): boolean =>
      isWaiting(task) && task.priority <= priority && (task.place === 'ready' || task.at <= now);
    return ![...this.tasks.values()].some(isAhead);
  }

  take(want: number, now: number, token: number, isAbandoned: boolean): [string, number][] {
    const order = [0, 1].flatMap((priority) => {
      const due = [...this.in('scheduled'), ...this.in('retrying')]
        .filter((task) => task.priority === priority && task.at <= now)
        .toSorted(
          (a, b) =>
            byInstant(a, b) || (a.place === b.place ? byBytes(a, b) : a.place === 'scheduled' ? -1 : 1),
        );
      return [...due, ...this.in('ready').filter((task) => task.priority === priority)];
    });
    const places = this.isPaused ? 0 : Math.max(0, this.concurrency - this.in('active').length);
    return order.slice(0, Math.min(want, places)).map((task) => {
      Object.assign(task, { place: 'active', attempt: task.attempt + 1, token, isAbandoned });
      return [task.key, task.attempt];
    });
  }

  retain(finished: number, haveDied: boolean): void {
    const over = Math.min(2 * finished + 72, this.succeeded.length - KEEP_SUCCEEDED);
    if (finished > 0 && over > 0) for (const key of this.succeeded.splice(0, over)) this.tasks.delete(key);
    const dead = this.in('dead').toSorted((a, b) => byInstant(a, b) || byBytes(a, b));
    if (haveDied)
      for (const { key } of dead.slice(0, Math.max(0, dead.length - KEEP_DEAD))) this.tasks.delete(key);
  }
}

/** Fields of a task with a key. */
const NO_OTHERS = { id: 0, delayMs: 0, attempts: 5, attempt: 0, token: 0, isAbandoned: false };
/** `setPayload` of the model sets it. */
const PAYLOAD = [-1];

const isWaiting = ({ place }: ModelTask): boolean => ['ready', 'scheduled', 'retrying'].includes(place);

class Subject {
  readonly model = new Model();
  readonly #prefix = freshPrefix();
  readonly #keys = new QueueKeys('q', this.#prefix);
  readonly #queue = new Queue(redis, 'q', {
    prefix: this.#prefix,
    priorities: PRIORITIES,
    keepCancelled: KEEP_CANCELLED,
  });

  async hand({ tasks, isOver }: Operation & { type: 'hand' }): Promise<void> {
    const { active, attempts, idle } = this.#keys.of;
    const channel = this.#keys.wakeChannel('deaf');
    await deaf.subscribe(channel);
    for (const task of tasks) {
      // An idle worker has found no more tasks.
      await this.exchange({ type: 'exchange', settle: [], isStale: false, want: 100, leaseMs: 60_000 });
      const storedId = encodeTaskId(`task ${task.id}`);
      const isNew = !this.model.tasks.has(`task ${task.id}`);
      const usesOptional = await this.#usesOptional();
      const from = Date.now() - CLOCKS_MS;
      await redis.zadd(
        idle,
        Date.now() + 60_000,
        this.#keys.idleMember('deaf', { leaseMs: HAND_OFF_MS, settings: PRIORITIES.join(',') }),
      );
      await this.enqueue({ type: 'enqueue', tasks: [task], upTo: 0 });
      await redis.del(idle);
      const known = this.model.tasks.get(`task ${task.id}`)!;
      const last = isNew ? await redis.hgetBuffer(attempts, storedId) : null;
      if (!last) continue;
      handedOff += 1;
      expect([known.delayMs, usesOptional]).toEqual([0, false]);
      // It was not there before; tasks that fell due meanwhile may come after it.
      known.place = 'active';
      expect(this.model.isFirst(task.priority, from)).toBe(true);
      const member = Buffer.concat([last.subarray(1, 5), storedId]);
      const lease = Number(await redis.zscore(active, member)) - Date.now();
      expect(lease).toBeLessThanOrEqual(HAND_OFF_MS + CLOCKS_MS);
      expect(lease).toBeGreaterThan(HAND_OFF_MS - 1_000);
      expect(last.toString('latin1', 0, 1) + last.readUInt16BE(5)).toBe('A1');
      expect(known.attempts).toBeGreaterThan(1);
      Object.assign(known, { attempt: 1, token: last.readUInt32BE(1), isAbandoned: isOver });
      // However long this test takes.
      await redis.zadd(active, 'XX', isOver ? 0 : Date.now() + 60_000, member);
    }
    await deaf.unsubscribe(channel);
  }

  async renew({ which, isStale }: Operation & { type: 'renew' }): Promise<void> {
    const held = this.model.in('active');
    const chosen = which.filter((place) => place < held.length).map((place) => held[place]!);
    if (chosen.length === 0) return;
    const { attempts, active } = this.#keys.of;
    const leases = chosen.flatMap((task) => [encodeTaskId(task.key), isStale ? task.token - 1 : task.token]);
    const answers = await heartbeaterRenew.run(redis, { attempts, active }, { leaseMs: 60_000, leases });
    expect(answers).toBe((isStale ? '0' : '1').repeat(chosen.length));
    if (isStale) return;
    for (const task of chosen) Object.assign(task, { isAbandoned: false });
  }

  async configure(one: Operation & { type: 'limit' | 'pause' | 'resume' }): Promise<void> {
    if (one.type === 'limit') {
      await this.#queue.configure({ concurrency: one.concurrency });
      this.model.concurrency = one.concurrency ?? Infinity;
    } else {
      await this.#queue[one.type]();
      this.model.isPaused = one.type === 'pause';
    }
    if (this.model.isPaused || this.model.concurrency < Infinity) {
      expect(await this.#usesOptional()).toBe(true);
    }
  }

  async enqueue({ tasks, upTo }: Operation & { type: 'enqueue' }): Promise<void> {
    const given = tasks.map(({ id, priority, delayMs, attempts, payload }) => ({
      name: 't',
      payload,
      options: {
        id: `task ${id}`,
        priority: PRIORITIES[priority]!,
        attempts,
        ...(delayMs > 0 && { delayMs }),
      },
    }));
    const [many, ...single] = await Promise.allSettled([
      this.#queue.enqueueMany(given.slice(0, upTo)),
      ...given.slice(upTo).map(({ name, payload, options }) => this.#queue.enqueue(name, payload, options)),
    ]);
    const answers: unknown[] = [];
    const isLeftOut = this.model.hasConflict(tasks.slice(0, upTo));
    for (const [index, task] of tasks.entries()) {
      const key = `task ${task.id}`;
      const known = this.model.tasks.get(key);
      if ((index < upTo && isLeftOut) || (known && known.payload !== task.payload)) {
        answers.push({ status: 'rejected', reason: expect.objectContaining({ code: 'ERR_TASK_CONFLICT' }) });
        continue;
      }
      answers.push({ status: 'fulfilled', value: { id: key, isDuplicate: known !== undefined } });
      if (known) continue;
      const place = task.delayMs > 0 ? 'scheduled' : 'ready';
      const at = Number(
        await redis.zscore(this.#keys.priorityKeys(2)[3 * task.priority + 1]!, encodeTaskId(key)),
      );
      this.model.tasks.set(key, { ...task, key, place, at, attempt: 0, token: 0, isAbandoned: false });
    }
    expect(single).toEqual(answers.slice(upTo));
    const first = answers.slice(0, upTo) as PromiseSettledResult<unknown>[];
    const conflict = first.find(({ status }) => status === 'rejected');
    const value = first.map((answer) => (answer as PromiseFulfilledResult<unknown>).value);
    expect(many).toEqual(conflict ?? { status: 'fulfilled', value });
  }

  async exchange({ settle, isStale, want, leaseMs }: Operation & { type: 'exchange' }): Promise<void> {
    const { model } = this;
    const held = model.in('active');
    const chosen = new Map(
      settle.filter(({ which }) => which < held.length).map((one) => [held[one.which]!, one]),
    );
    const acks = Array.from(chosen, ([task, { verdict, delayMs }]) => ({
      storedId: encodeTaskId(task.key),
      encoded: encodeAck(
        { token: task.token - Number(isStale), attempt: task.attempt },
        {
          verdict,
          delayMs,
          // Every other success is one without a result, whose record is sealed when there is time for it.
          data: verdict === 'S' && task.token % 2 === 0 ? '' : '"because"',
        },
      ),
    }));
    // The completion of a task that was cancelled on its way.
    const late = model.in('cancelled').slice(0, 1);
    for (const { key, token } of late) {
      acks.push({
        storedId: encodeTaskId(key),
        encoded: encodeAck({ token }, { verdict: 'S', delayMs: 0, data: '' }),
      });
    }
    const [settled, , nowUs, , ...fields] = await this.#call(acks, want, leaseMs);
    const now = Math.floor(nowUs / 1_000);
    const token = nowUs % 2 ** 32;

    expect(settled).toBe((isStale ? '0' : '1').repeat(chosen.size) + 'C'.repeat(late.length));
    const before = new Set(model.in('dead'));
    const accepted = isStale ? [] : [...chosen];
    let back = 0;
    for (const [task, { verdict, delayMs }] of accepted) {
      if (verdict !== 'S') back += 1;
      // In their order, whatever their ids.
      const backAt = Number((now - 2 + ((nowUs % 1_000) + back) / 1_000).toFixed(3));
      model.settle(task, verdict, delayMs, now, backAt);
    }
    const expected = model.take(want, nowUs / 1_000, token, leaseMs === 0);
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

  /** Puts back what was abandoned. */
  async maintain(): Promise<void> {
    const { settings, tasks, attempts, active, succeeded, dead, idle } = this.#keys.of;
    const usesOptional = await this.#usesOptional();
    const lost = this.model.in('active').filter(({ isAbandoned }) => isAbandoned);
    const reply = await maintainerMaintain.run(
      redis,
      { settings, tasks, attempts, active, succeeded, dead, idle, priorityKeys: await this.#priorityKeys() },
      {
        expectedSettings: (await redis.get(settings)) ?? PRIORITIES.join(','),
        publish: 'PUBLISH',
        priorityCount: PRIORITIES.length,
        usesOptional: usesOptional ? 1 : 0,
        keepSucceeded: KEEP_SUCCEEDED,
        keepSucceededMs: 60_000,
        keepDead: KEEP_DEAD,
        compacts: 1,
      },
    );
    expect(reply).toEqual([lost.length, 0]);
    for (const task of lost) {
      const isDead = task.attempt >= task.attempts;
      const key = isDead ? dead : this.#keys.priorityKeys(2)[3 * task.priority + 2]!;
      const at = await redis.zscore(key, encodeTaskId(task.key));
      // The oldest dead tasks may be gone.
      Object.assign(task, { place: isDead ? 'dead' : 'retrying', at: Number(at ?? 0) });
    }
    this.model.retain(1_000, true);
  }

  async merge({ tasks }: Operation & { type: 'merge' }): Promise<void> {
    const asked = Date.now();
    const runAts = tasks.map(({ afterMs }) => (afterMs === 0 ? undefined : asked + afterMs));
    const answers = await Promise.all(
      tasks.map(({ dedupKey, mode, priority, elements }, index) =>
        this.#queue.enqueue('t', elements, {
          dedupKey,
          onDuplicate: mode,
          priority: PRIORITIES[priority]!,
          runAt: runAts[index],
          ...(mode === 'append' && { maxElements: MOST_ELEMENTS }),
        }),
      ),
    );
    const answered = Date.now();
    for (const [index, one] of tasks.entries()) this.#merged(one, runAts[index], answers[index]!);
    for (const [key, task] of this.model.tasks) {
      if (!answers.some(({ id }) => id === key) && !this.#madeDue.has(key)) continue;
      await this.#learnTime(task, asked - CLOCKS_MS, answered + CLOCKS_MS);
    }
    this.#madeDue.clear();
  }

  /** Tasks that a later call has made due because they are full. */
  readonly #madeDue = new Set<string>();

  /** One call; a time that depends on the instant of the call is a range. */
  #merged(one: KeyedTask, runAt: number | undefined, answer: { id: string; isDuplicate: boolean }): void {
    const { model } = this;
    const before = model.tasks.get(model.dedupKeys.get(one.dedupKey) ?? '');
    const has = before && (before.place === 'ready' || before.place === 'scheduled');
    const stored = (before?.payload ?? []) as readonly number[];
    const isFull = one.mode === 'append' && stored.length + one.elements.length > MOST_ELEMENTS;
    expect([one, answer.isDuplicate]).toEqual([one, Boolean(has && !isFull)]);
    if (has && isFull) this.#isMadeDue(before);
    if (!has || isFull) {
      const isWhole = one.mode === 'append' && one.elements.length >= MOST_ELEMENTS;
      const at = isWhole ? undefined : runAt;
      const { id } = answer;
      expect(model.tasks.has(id)).toBe(false);
      model.tasks.set(id, {
        ...NO_OTHERS,
        key: id,
        priority: one.priority,
        payload: one.elements,
        place: at === undefined ? 'ready' : 'scheduled',
        at: at ?? 0,
      });
      model.dedupKeys.set(one.dedupKey, id);
      return;
    }
    expect(answer.id).toBe(before.key);
    if (one.mode === 'append') {
      before.payload = [...stored, ...one.elements];
      if (stored.length + one.elements.length === MOST_ELEMENTS) this.#isMadeDue(before);
    } else if (one.mode !== 'keep') before.payload = one.elements;
    if (one.mode === 'earliest' && before.place === 'scheduled') {
      if (runAt === undefined) this.#isMadeDue(before);
      else before.at = Math.min(before.at, runAt);
    } else if (one.mode === 'latest' && runAt !== undefined) {
      if (before.place === 'ready' || this.#madeDue.has(before.key)) before.at = runAt;
      else before.at = Math.max(before.at, runAt);
      before.place = 'scheduled';
      this.#madeDue.delete(before.key);
    }
  }

  #isMadeDue(task: ModelTask): void {
    if (task.place === 'scheduled') this.#madeDue.add(task.key);
  }

  /** The time is the expected one; one that the call has passed meanwhile is that of the call. */
  async #learnTime(task: ModelTask, asked: number, answered: number): Promise<void> {
    if (task.place !== 'scheduled' && task.place !== 'ready') return;
    const [ready, scheduled] = this.#keys.priorityKeys(2).slice(3 * task.priority);
    const storedId = encodeTaskId(task.key);
    const score = await redis.zscore(scheduled!, storedId);
    const at = score === null ? null : Number(score);
    if (this.#madeDue.has(task.key)) {
      // At once, unless it was due before.
      expect(at === task.at ? task.at <= answered : at! >= asked && at! <= answered).toBe(true);
      task.at = at!;
    } else if (task.place === 'scheduled' && task.at <= answered) {
      // Due when Redis got it: then it is ready, or has that instant.
      if (at === null) task.place = 'ready';
      else expect(at === task.at || at >= asked).toBe(true);
      task.at = at ?? 0;
    } else expect([task.key, at]).toEqual([task.key, task.place === 'ready' ? null : task.at]);
    if (task.place === 'ready') expect(await redis.lpos(ready!, storedId)).not.toBeNull();
  }

  /** One operation on some tasks. The model does first what it expects of Redis, and learns the instants after that. */
  async single(type: Single, which: readonly number[]): Promise<void> {
    const present = [...this.model.tasks.keys()];
    const keys = which.map((place) => present[place] ?? `task ${place}`);
    const asked = Date.now();
    // The same for all tasks of a call.
    const priority = which.length % PRIORITIES.length;
    const answers = await Promise.allSettled(keys.map((key) => this.#moveOne(type, key, priority)));
    for (const [index, key] of keys.entries()) {
      const task = this.model.tasks.get(key);
      const answer = answers[index]!;
      if (type === 'remove' && task?.place === 'active') {
        expect(answer).toMatchObject({ reason: { code: 'ERR_TASK_ACTIVE' } });
        continue;
      }
      const { value } = answer as PromiseFulfilledResult<boolean>;
      expect(this.#mayAnswer(type, task, asked)).toContain(value);
      if (value && type === 'setPriority') this.#reprioritize(task!, priority);
      else if (value && type === 'setPayload') task!.payload = PAYLOAD;
      else if (value) await this.#apply(type, task!);
    }
    if (type === 'cancel') this.#trimCancelled();
  }

  #moveOne(type: Single, key: string, priority: number): Promise<boolean> {
    if (type === 'reschedule') return this.#queue.reschedule(key, { delayMs: PUT_OFF_MS });
    if (type === 'setPriority') return this.#queue.setPriority(key, PRIORITIES[priority]!);
    if (type === 'setPayload') return this.#queue.setPayload(key, PAYLOAD);
    return this.#queue[type](key);
  }

  /** It comes after all that have the priority. */
  #reprioritize(task: ModelTask, priority: number): void {
    if (task.priority === priority) return;
    task.priority = priority;
    if (task.place !== 'ready') return;
    this.model.tasks.delete(task.key);
    this.model.tasks.set(task.key, task);
  }

  /** Tasks that fall due meanwhile leave two answers open. */
  #mayAnswer(type: Single, task: ModelTask | undefined, asked: number): boolean[] {
    if (!task) return [false];
    if (type === 'remove') return [true];
    if (type === 'setPayload') return [task.place !== 'active' && task.place !== 'succeeded'];
    if (type === 'reschedule' || type === 'setPriority') return [isWaiting(task)];
    if (type === 'cancel') return [isWaiting(task) || task.place === 'active'];
    const isEnded = task.place === 'dead' || task.place === 'cancelled';
    if (type === 'retry' && isEnded) return [true];
    const isDelayed = task.place === 'retrying' || (type === 'promote' && task.place === 'scheduled');
    if (!isDelayed || task.at <= asked - CLOCKS_MS) return [false];
    return [true, false];
  }

  async #apply(type: Single, task: ModelTask): Promise<void> {
    if (type === 'remove') {
      this.model.tasks.delete(task.key);
      this.model.succeeded = this.model.succeeded.filter((key) => key !== task.key);
    } else if (type === 'cancel') {
      task.place = 'cancelled';
      // It may be among those that were too many.
      task.at = Number((await redis.zscore(this.#keys.of.cancelled, encodeTaskId(task.key))) ?? 0);
    } else {
      if (task.place === 'dead' || task.place === 'cancelled') {
        Object.assign(task, { place: 'retrying', attempt: 0 });
      }
      if (type === 'reschedule' && task.place === 'ready') task.place = 'scheduled';
      const place = task.place === 'scheduled' ? 1 : 2;
      task.at = Number(
        await redis.zscore(this.#keys.priorityKeys(2)[3 * task.priority + place]!, encodeTaskId(task.key)),
      );
    }
  }

  #trimCancelled(): void {
    const cancelled = this.model.in('cancelled').toSorted((a, b) => byInstant(a, b) || byBytes(a, b));
    for (const { key } of cancelled.slice(0, Math.max(0, cancelled.length - KEEP_CANCELLED))) {
      this.model.tasks.delete(key);
    }
  }

  async retryAll(state: 'dead' | 'cancelled'): Promise<void> {
    const tasks = this.model.in(state);
    expect(await this.#queue.retryAll({ state })).toBe(tasks.length);
    for (const task of tasks) await this.#apply('retry', task);
  }

  async drain(scheduled: boolean): Promise<void> {
    const drained = [...this.model.tasks.values()].filter(isWaiting);
    const delayed = Math.max(0, ...drained.filter(({ place }) => place !== 'ready').map(({ at }) => at));
    // Everything that waits for its time has fallen due: then all that waits goes either way.
    await until(() => Date.now() > delayed + CLOCKS_MS);
    expect(await this.#queue.drain({ scheduled })).toBe(drained.length);
    for (const { key } of drained) this.model.tasks.delete(key);
  }

  async clean(state: 'succeeded' | 'dead' | 'cancelled', limit: number): Promise<void> {
    const { model } = this;
    const oldest =
      state === 'succeeded'
        ? model.succeeded.splice(0, limit)
        : model
            .in(state)
            .toSorted((a, b) => byInstant(a, b) || byBytes(a, b))
            .slice(0, limit)
            .map(({ key }) => key);
    expect(await this.#queue.clean(state, { limit })).toBe(oldest.length);
    for (const key of oldest) model.tasks.delete(key);
  }

  /** Everything that the model holds is there, and nothing else. */
  async compare(): Promise<void> {
    const { scheduled, ready, retrying, ...rest } = await this.#queue.counts();
    const counts = Object.fromEntries(
      (['active', 'succeeded', 'dead', 'cancelled'] as const).map((place) => [
        place,
        this.model.in(place).length,
      ]),
    );
    expect(rest).toEqual({ ...counts, waiting: 0 });
    const waiting = [...this.model.tasks.values()].filter(isWaiting).length;
    expect(scheduled + ready + retrying).toBe(waiting);
    for (const place of ['succeeded', 'dead', 'cancelled'] as const) {
      const { tasks } = await this.#queue.list(place);
      const of = place === 'succeeded' ? this.model.succeeded : this.model.in(place).map(({ key }) => key);
      expect(new Set(tasks.map(({ id }) => id))).toEqual(new Set(of));
      expect(tasks).toHaveLength(of.length);
    }
    const { tasks: listed } = await this.#queue.list('ready', { limit: 1_000 });
    const firstCome = new Set(this.model.in('ready').map(({ key }) => key));
    expect(new Set(listed.map(({ id }) => id).filter((id) => firstCome.has(id)))).toEqual(firstCome);
    expect(await redis.hlen(this.#keys.of.tasks)).toBe(this.model.tasks.size);
    const known = [...this.model.tasks.values()];
    const shown = await Promise.all(known.map(({ key }) => this.#queue.get(key)));
    const present = [...this.model.dedupKeys.values()].filter((key) => this.model.tasks.has(key));
    expect(await redis.hlen(this.#keys.of.dedupKeys)).toBe(2 * present.length);
    for (const [index, { place, attempt, payload }] of known.entries()) {
      expect(shown[index]?.payload).toEqual(payload);
      const task = shown[index];
      const states = place === 'scheduled' || place === 'retrying' ? [place, 'ready'] : [place];
      expect(states).toContain(task?.state);
      expect(task?.attempt).toBe(attempt);
    }
  }

  /** Whether the queue uses more than the core: only then does it have more than the keys of that. */
  async #usesOptional(): Promise<boolean> {
    return (await redis.get(this.#keys.of.settings))?.includes(';') ?? false;
  }

  async #priorityKeys(): Promise<string[]> {
    const keys = this.#keys.priorityKeys(2);
    return (await this.#usesOptional())
      ? [...keys, ...this.#keys.optional]
      : [...keys, this.#keys.of.features];
  }

  async #call(
    acks: Parameters<typeof packAcks>[0],
    want: number,
    leaseMs: number,
  ): Promise<[string, number, number, number, ...unknown[]]> {
    const { settings, tasks, attempts, active, succeeded, dead, idle, timekeeper } = this.#keys.of;
    const [settled, ...rest] = (await fetcherFetchAndAck.runBuffer(
      redis,
      {
        settings,
        tasks,
        attempts,
        active,
        succeeded,
        dead,
        idle,
        timekeeper,
        priorityKeys: await this.#priorityKeys(),
      },
      {
        expectedSettings: (await redis.get(settings)) ?? PRIORITIES.join(','),
        publish: 'PUBLISH',
        priorityCount: PRIORITIES.length,
        usesOptional: (await this.#usesOptional()) ? 1 : 0,
        member: this.#keys.idleMember('w'),
        want,
        slots: want,
        leaseMs,
        idleMs: 1_000,
        recheckMs: 1_000,
        keepsTime: 1,
        keepSucceeded: KEEP_SUCCEEDED,
        keepDead: KEEP_DEAD,
        count: acks.length,
        acks: packAcks(acks),
      },
    )) as [Buffer, number, number, number, ...unknown[]];
    return [settled.toString(), ...rest];
  }
}

const newTask = fc.record({
  id: fc.integer({ min: 0, max: 40 }),
  priority: fc.integer({ min: 0, max: 1 }),
  delayMs: fc.constantFrom(0, 0, 0, 1, 2, 5),
  attempts: fc.integer({ min: 1, max: 3 }),
  payload: fc.constantFrom(0, 0, 0, 1),
});
const completion = fc.record({
  which: fc.integer({ min: 0, max: 15 }),
  verdict: fc.constantFrom<Verdict>('S', 'S', 'R', 'D', 'B', 'L'),
  delayMs: fc.constantFrom(0, 1, 3),
});
const places = fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 6 });
/** The actions of a queue without optional features. */
const core: fc.MaybeWeightedArbitrary<Operation>[] = [
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant('enqueue' as const),
      tasks: fc.array(newTask, { minLength: 1, maxLength: 12 }),
      upTo: fc.integer({ min: 0, max: 12 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant('exchange' as const),
      settle: fc.uniqueArray(completion, { selector: ({ which }) => which, maxLength: 8 }),
      isStale: fc.constantFrom(false, false, false, true),
      want: fc.integer({ min: 0, max: 10 }),
      leaseMs: fc.constantFrom<0 | 60_000>(0, 60_000, 60_000, 60_000),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('maintain' as const) }) },
  {
    weight: 3,
    // All at once and in one priority, as most calls are.
    arbitrary: fc.record({
      type: fc.constant('enqueue' as const),
      tasks: fc.array(
        newTask.map((task) => ({ ...task, priority: 1, delayMs: 0 })),
        { minLength: 1, maxLength: 12 },
      ),
      upTo: fc.integer({ min: 0, max: 12 }),
    }),
  },
];
const hand = fc.record({
  type: fc.constant('hand' as const),
  tasks: fc.array(newTask, { minLength: 2, maxLength: 4 }),
  isOver: fc.boolean(),
});
/** Actions on handed-off tasks; the queue uses no optional features yet. */
const handing: fc.MaybeWeightedArbitrary<Operation>[] = [
  ...core,
  { weight: 8, arbitrary: hand },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('renew' as const),
      which: fc.uniqueArray(fc.integer({ min: 0, max: 15 }), { minLength: 1, maxLength: 4 }),
      isStale: fc.constantFrom(false, false, true),
    }),
  },
];
const merging: fc.MaybeWeightedArbitrary<Operation>[] = [
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant('merge' as const),
      tasks: fc.array(
        fc.record({
          dedupKey: fc.constantFrom('a', 'b', 'c'),
          mode: fc.constantFrom<OnDuplicate>('keep', 'replace', 'earliest', 'latest', 'append', 'append'),
          priority: fc.constantFrom(0, 1),
          afterMs: fc.constantFrom(0, 30, 60),
          elements: fc.array(fc.integer({ min: 0, max: 99 }), { maxLength: 4 }),
        }),
        { minLength: 1, maxLength: 3 },
      ),
    }),
  },
];
const limiting: fc.MaybeWeightedArbitrary<Operation>[] = [
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('limit' as const),
      concurrency: fc.constantFrom(null, null, 1, 3),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constantFrom('pause', 'resume') }) },
];
const all: fc.MaybeWeightedArbitrary<Operation>[] = [
  ...core,
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constantFrom(
        'cancel',
        'remove',
        'remove',
        'retry',
        'promote',
        'reschedule',
        'setPriority',
        'setPayload',
      ),
      which: places,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.oneof(
      fc.record({ type: fc.constant('retryAll' as const), state: fc.constantFrom('dead', 'cancelled') }),
      fc.record({ type: fc.constant('drain' as const), scheduled: fc.boolean() }),
      fc.record({
        type: fc.constant('clean' as const),
        state: fc.constantFrom('succeeded', 'dead', 'cancelled'),
        limit: fc.integer({ min: 1, max: 5 }),
      }),
    ),
  },
];

async function play(steps: readonly Operation[]): Promise<void> {
  const subject = new Subject();
  for (const one of steps) {
    if (one.type === 'enqueue') await subject.enqueue(one);
    else if (one.type === 'exchange') await subject.exchange(one);
    else if (one.type === 'maintain') await subject.maintain();
    else if (one.type === 'hand') await subject.hand(one);
    else if (one.type === 'renew') await subject.renew(one);
    else if (one.type === 'limit' || one.type === 'pause' || one.type === 'resume')
      await subject.configure(one);
    else if (one.type === 'merge') await subject.merge(one);
    else if (one.type === 'retryAll') await subject.retryAll(one.state);
    else if (one.type === 'drain') await subject.drain(one.scheduled);
    else if (one.type === 'clean') await subject.clean(one.state, one.limit);
    else await subject.single(one.type, (one as Operation & { type: Single }).which);
  }
  await subject.compare();
}

const stepsOf = (
  operations: fc.MaybeWeightedArbitrary<Operation>[],
  minLength: number,
  maxLength: number,
): fc.Arbitrary<Operation[]> => fc.array(fc.oneof(...operations), { minLength, maxLength, size: 'max' });

test.each([
  ['the core', stepsOf(core, 10, 60), RUNS],
  ['all there is', stepsOf(all, 10, 60), 2 * RUNS],
  ['enqueues under keys', stepsOf([...all, ...merging], 10, 60), 2 * RUNS],
])('the scripts do what the model does: %s', async (_, steps, numRuns) => {
  const check = fc.assert(fc.asyncProperty(steps, play), { numRuns });
  await expect(check).resolves.toBeUndefined();
});

test('the scripts do what the model does: tasks that are handed off, and what happens to them then', async () => {
  const before = handedOff;
  const steps = fc
    .tuple(hand, stepsOf(handing, 5, 30), stepsOf([...handing, ...all, ...limiting], 0, 20))
    .map(([first, next, then]) => [first, ...next, ...then]);
  const check = fc.assert(fc.asyncProperty(steps, play), { numRuns: RUNS });
  await expect(check).resolves.toBeUndefined();
  expect(handedOff).toBeGreaterThan(before + Math.floor(RUNS / 2.5));
});
