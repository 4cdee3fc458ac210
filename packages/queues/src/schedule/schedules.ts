/**
 * Defines, lists and removes the schedules of a queue. All lie in shard 0; their tasks go to any shard.
 *
 * Workers enqueue the task of an instant when it is due, and the next instant follows from the rule, not from a task. So no
 * run depends on the run before it, and a deleted task, a full queue or a restart breaks nothing. Rejected: a delayed task
 * that enqueues its successor.
 */
import type { Codecs, RedisClient } from '@mortise/redis';
import { callRedisBuffer, readJson, requireOptions, requireText, withoutLink } from '@mortise/redis';
import { InvalidScheduleError, MemoryFullError } from '../errors.js';
import { resolveHeaders } from '../options.js';
import type { Enqueuer } from '../enqueue/enqueuer.js';
import { scheduleRead, scheduleRemove, scheduleSet } from '../scripts.gen.js';
import { isGone } from '../shard/settings.js';
import type { Shards } from '../shard/shards.js';
import type { ScheduledTaskOptions, StoredSchedule } from './definition.js';
import { loadCron } from './cron.js';
import { decodeSchedule, encodeDefinition, HEAD_BYTES, taskOptionsOf } from './definition.js';
import type { Rule, ScheduleRule } from './rule.js';
import { isSameTiming, nextInstant, requireRule } from './rule.js';

/** The result of `schedule`. */
export interface Scheduled {
  readonly key: string;
  /** The next instant, ms since the epoch; absent when the schedule has ended. */
  readonly nextAt?: number;
  /** Whether the schedule is new, or differs from the stored one. */
  readonly isChanged: boolean;
}

/** A stored schedule. */
export interface Schedule {
  readonly key: string;
  /** The rule with its defaults; instants in ms since the epoch. */
  readonly rule: Rule;
  readonly name: string;
  readonly payload: unknown;
  readonly options: ScheduledTaskOptions;
  /** When the schedule is due next, ms since the epoch by the server's clock; absent when it has ended. */
  readonly nextAt?: number;
  /** The last instant for which tasks were enqueued. */
  readonly lastAt?: number;
  /** The number of instants for which a task was enqueued. */
  readonly runs: number;
  readonly definedAt: number;
  /**
   * Why this version cannot read the schedule: a newer version has stored it, or it is damaged. All other fields are then
   * empty.
   */
  readonly problem?: string;
}

const OPTIONS: ReadonlySet<string> = new Set<keyof ScheduledTaskOptions>([
  'priority',
  'attempts',
  'backoff',
  'timeoutMs',
  'expiresInMs',
  'headers',
  'group',
]);
const MAX_SCHEDULES = 10_000;
/** A key and an instant make the id of a task, which has up to 1,024 bytes. */
const MAX_KEY_BYTES = 900;
const MAX_TRIES = 20;
/** Retention of an ended schedule, so that a process that defines it at each start does not begin it anew. */
export const KEEP_ENDED_MS = 30 * 86_400_000;
/** Fields of the hash in one reply. */
const PAGE = 100;

export class Schedules {
  readonly #redis: RedisClient;
  readonly #queue: string;
  readonly #shards: Shards;
  readonly #enqueuer: Enqueuer;

  constructor(redis: RedisClient, queue: string, shards: Shards, enqueuer: Enqueuer) {
    this.#redis = redis;
    this.#queue = queue;
    this.#shards = shards;
    this.#enqueuer = enqueuer;
  }

  set(
    key: string,
    given: ScheduleRule,
    name: string,
    payload: unknown,
    options: ScheduledTaskOptions,
  ): Promise<Scheduled> {
    return MemoryFullError.wrap(this.#queue, this.#set(key, given, name, payload, options));
  }

  async #set(
    key: string,
    given: ScheduleRule,
    name: string,
    payload: unknown,
    options: ScheduledTaskOptions,
  ): Promise<Scheduled> {
    requireKey(key);
    await loadCron();
    const rule = requireRule(key, given);
    const stable = copyOptions(key, options);
    // Refuses now each option that every task would be refused for.
    const request = this.#enqueuer.prepare(name, payload, taskOptionsOf(key, 0, options));
    const encoded: unknown = JSON.parse(request.record.stored);
    const definition = encodeDefinition({ rule, name, payload: encoded, options: stable });
    await request.checking;
    await this.#enqueuer.open();
    this.#enqueuer.check(request);
    await request.checking;
    for (let tries = 1; ; tries += 1) {
      const { now, stored } = await this.#read(key);
      const before = stored && readable(key, stored);
      if (before && stored.toString('utf8', HEAD_BYTES) === definition) {
        return { key, ...nextOf(before.dueAt), isChanged: false };
      }
      const head = headOf(rule, before, now);
      const outcome = await this.#write(key, stored, head, definition).catch(async (error: unknown) => {
        if (!isGone(error)) throw error;
        await this.#enqueuer.reopen();
        return 0;
      });
      if (outcome === 1) return { key, ...nextOf(head.dueAt), isChanged: true };
      if (outcome < 0)
        throw new InvalidScheduleError(
          key,
          `queue ${JSON.stringify(this.#queue)} has ${MAX_SCHEDULES} schedules already`,
          'ERR_TOO_MANY_SCHEDULES',
        );
      // A worker has run it, or another process has changed it.
      if (tries === MAX_TRIES) throw new InvalidScheduleError(key, 'other processes keep changing it');
    }
  }

  async list(): Promise<Schedule[]> {
    await loadCron();
    const found = new Map<string, Schedule>();
    const { schedules } = this.#shards.first.keys.of;
    let cursor = '0';
    do {
      const [next, fields] = (await callRedisBuffer(this.#redis, 'hscan', [
        schedules,
        cursor,
        'COUNT',
        PAGE,
      ])) as [Buffer, Buffer[]];
      for (let index = 0; index < fields.length; index += 2) {
        const key = fields[index]!.toString();
        found.set(key, show(key, fields[index + 1]!, this.#shards.codecs));
      }
      cursor = next.toString();
    } while (cursor !== '0');
    return [...found.values()].toSorted(inOrder);
  }

  async remove(key: string): Promise<boolean> {
    requireKey(key);
    const { schedules, dueSchedules } = this.#shards.first.keys.of;
    return (await scheduleRemove.run(this.#redis, { schedules, dueSchedules }, { key })) === 1;
  }

  async #read(key: string): Promise<{ now: number; stored: Buffer | undefined }> {
    const { schedules } = this.#shards.first.keys.of;
    const reply = await scheduleRead.runBuffer(this.#redis, { schedules }, { key });
    const [now, stored] = reply as [number, Buffer | null];
    return { now, stored: stored ?? undefined };
  }

  async #write(key: string, stored: Buffer | undefined, head: Head, definition: string): Promise<number> {
    const shard = this.#shards.first;
    await shard.enableOptional();
    return (await shard.settings.run(() =>
      scheduleSet.run(this.#redis, shard.keys.of, {
        expectedSettings: shard.settings.text,
        publish: shard.publish,
        most: MAX_SCHEDULES,
        key,
        seen: stored?.subarray(0, HEAD_BYTES) ?? '',
        dueAt: head.dueAt,
        lastAt: head.lastAt,
        runs: head.runs,
        keepEndedMs: KEEP_ENDED_MS,
        definition,
      }),
    )) as number;
  }
}

type Head = Pick<StoredSchedule, 'dueAt' | 'lastAt' | 'runs'>;

/** A due or missed instant stays, unless the new rule has other instants. */
function headOf(rule: Rule, before: StoredSchedule | undefined, now: number): Head {
  const { until = Infinity, maxRuns = Infinity } = rule;
  const isSame = before !== undefined && isSameTiming(before.rule, rule);
  const runs = isSame ? before.runs : 0;
  const isPending = isSame && before.dueAt > 0 && before.dueAt <= until;
  const dueAt = isPending ? before.dueAt : nextInstant(rule, now);
  return { dueAt: (runs < maxRuns ? dueAt : undefined) ?? 0, lastAt: before?.lastAt ?? 0, runs };
}

function nextOf(dueAt: number): { nextAt?: number } {
  return dueAt > 0 ? { nextAt: dueAt } : {};
}

/** A schedule that this version cannot read is replaced. */
function readable(key: string, stored: Buffer): StoredSchedule | undefined {
  try {
    return decodeSchedule(key, stored);
  } catch {
    return undefined;
  }
}

function show(key: string, stored: Buffer, codecs: Codecs | undefined): Schedule {
  try {
    const { rule, name, payload, options, dueAt, lastAt, runs, definedAt } = decodeSchedule(key, stored);
    return {
      key,
      rule,
      name,
      payload: readJson(JSON.stringify(payload), codecs),
      options,
      ...nextOf(dueAt),
      ...(lastAt > 0 && { lastAt }),
      runs,
      definedAt: Math.floor(definedAt / 1_000),
    };
  } catch (error) {
    return {
      key,
      rule: { missed: 'once', overlap: 'allow' },
      name: '',
      payload: null,
      options: {},
      runs: 0,
      definedAt: 0,
      problem: withoutLink((error as Error).message),
    };
  }
}

/** By due time, ended ones last; then by key. */
function inOrder(a: Schedule, b: Schedule): number {
  const [first = Infinity, second = Infinity] = [a.nextAt, b.nextAt];
  if (first !== second) return first < second ? -1 : 1;
  return a.key < b.key ? -1 : 1;
}

function requireKey(key: string): void {
  requireText('key', key, { max: MAX_KEY_BYTES });
}

/** A copy as JSON stores it. */
function copyOptions(key: string, options: ScheduledTaskOptions): ScheduledTaskOptions {
  requireOptions('schedule', options, OPTIONS);
  resolveHeaders(options.headers);
  try {
    return JSON.parse(JSON.stringify(options)) as ScheduledTaskOptions;
  } catch {
    throw new InvalidScheduleError(key, 'options are not JSON');
  }
}
