/**
 * The settings of one shard of a queue, as this process knows them. They are stored with the queue, since producers and workers
 * must agree on them. Each script call sends the expected text; the script refuses the call when another text is stored.
 */
import type { RedisClient } from '@mortise/redis';
import { callRedis, requireOneOf } from '@mortise/redis';
import { SettingsMismatchError } from '../errors.js';
import type { QueueKeys } from '../keys.js';
import { DEFAULTS, resolvePriorities } from '../options.js';
import { shardConfigure } from '../scripts.gen.js';
import type { SettingsValues } from './settings-text.js';
import { formatSettings, layoutOf, parseSettings, PLAIN } from './settings-text.js';

const MISMATCH = 'SETTINGS ';
/** In place of settings: none are stored. Before settings: the script may store them. Settings never begin with it. */
const NONE = ';';
/** The answer of shard.configure.lua when no settings were stored. */
const CREATED = 2;
/** Tries of one call while the settings change. */
const MAX_TRIES = 5;

/** Settings that the caller names; undefined: the stored one, or the default. */
export interface NamedSettings {
  readonly priorities?: readonly string[] | undefined;
  readonly shards?: number | undefined;
  /** For a new queue: see `SettingsValues`. */
  readonly isRanked?: boolean | undefined;
}

export class Settings {
  readonly #queue: string;
  readonly #keys: QueueKeys;
  readonly #named: NamedSettings;
  #text!: string;
  #values!: SettingsValues;
  #priorityKeys!: readonly string[];
  #allKeys!: readonly string[];
  #usesOptional!: boolean;
  #isKnown = false;
  #isStored = false;
  #learning: Promise<void> | undefined;

  constructor(queue: string, keys: QueueKeys, named: NamedSettings = {}) {
    this.#queue = queue;
    this.#keys = keys;
    this.#named = named;
    this.forget();
  }

  get values(): SettingsValues {
    return this.#values;
  }

  /** The text that scripts compare. */
  get text(): string {
    return this.#text;
  }

  /**
   * As `text`, for a script that stores the settings of a new queue. Where they were stored before, it refuses the call instead:
   * the queue was removed, see `isGone`.
   */
  get textOfNew(): string {
    return this.#isStored ? this.#text : NONE + this.#text;
  }

  /** Whether settings were seen in Redis. */
  get isStored(): boolean {
    return this.#isStored;
  }

  /** Whether scripts get the keys of optional features. */
  get usesOptional(): boolean {
    return this.#usesOptional;
  }

  /** Ready, scheduled and retrying keys of each priority in turn. */
  get priorityKeys(): readonly string[] {
    return this.#priorityKeys;
  }

  /** `priorityKeys`, then `features`, then the other keys of optional features if one is used. */
  get keys(): readonly string[] {
    return this.#allKeys;
  }

  /** Whether the stored settings were read; otherwise call `learn` first. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** Reads the stored settings. One round trip, shared by concurrent calls. */
  learn(redis: RedisClient): Promise<void> {
    this.#learning ??= this.#look(redis).finally(() => {
      this.#learning = undefined;
    });
    return this.#learning;
  }

  /** The index of a priority. Default: the middle one. Throws RangeError for an unknown name. */
  priorityIndex(priority: string | undefined): number {
    const { priorities } = this.#values;
    if (priority === undefined) return Math.floor(priorities.length / 2);
    return priorities.indexOf(requireOneOf('priority', priority, priorities));
  }

  /**
   * Calls a script that compares the settings. When others are stored, they are adopted and the call is made again, unless they
   * contradict the named ones. `call` must read `text` and `keys` each time.
   */
  async run<Reply>(call: () => Promise<Reply>, maxTries = MAX_TRIES): Promise<Reply> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await call();
      } catch (error) {
        const stored = storedSettings(error);
        if (stored === undefined || stored === NONE || tries >= maxTries) throw error;
        this.#adopt(stored);
      }
    }
  }

  /**
   * Changes the stored settings: `change` gets the stored ones and returns the new ones. Compare and set, so no concurrent
   * change is lost. Wakes idle workers. One round trip, and one more for each concurrent change. Resolves to whether the queue
   * was removed before, so that this call has created it anew.
   */
  async change(
    redis: RedisClient,
    publish: string,
    change: (values: SettingsValues) => SettingsValues,
  ): Promise<boolean> {
    if (!this.#isKnown) await this.learn(redis);
    const wasStored = this.#isStored;
    let wanted = this.#text;
    const reply = await this.run(() => {
      const values = change(this.#values);
      wanted = formatSettings(values);
      const usesOptional = isPlain(wanted, values) ? 0 : 1;
      const { of } = this.#keys;
      return shardConfigure.run(redis, of, { expectedSettings: this.#text, wanted, publish, usesOptional });
      // Each failed try means that another change succeeded, so the loop ends.
    }, Infinity);
    this.#adopt(wanted);
    return wasStored && reply === CREATED;
  }

  /**
   * Makes all scripts get the keys of optional features from now on. A limit or a pause does so too, but may be removed
   * again. No round trip if it is already done. Resolves as `change` does.
   */
  async enableOptional(redis: RedisClient, publish: string): Promise<boolean> {
    if (!this.#isKnown) await this.learn(redis);
    if (this.#values.hasOptional) return false;
    return this.change(redis, publish, (values) => ({ ...values, hasOptional: true }));
  }

  async #look(redis: RedisClient): Promise<void> {
    const stored = await callRedis(redis, 'get', [this.#keys.of.settings]);
    if (typeof stored === 'string') this.#adopt(stored);
    this.#isKnown = true;
  }

  /** A call that stores the settings of a new queue has succeeded. */
  stored(): void {
    this.#isStored = true;
  }

  /** Begins anew with the named settings. */
  forget(): void {
    const { priorities, shards, isRanked = false } = this.#named;
    this.#values = {
      ...PLAIN,
      priorities: resolvePriorities(priorities ?? DEFAULTS.priorities),
      shards: shards ?? 1,
      servedShards: shards ?? 1,
      isRanked,
    };
    this.#text = formatSettings(this.#values);
    this.#isKnown = false;
    this.#isStored = false;
    this.#setKeys();
  }

  #adopt(text: string): void {
    this.#isStored = true;
    if (text === this.#text) return;
    const values = parseSettings(text);
    const { priorities, shards } = this.#named;
    if (priorities && priorities.join(',') !== values.priorities.join(',')) {
      throw new SettingsMismatchError(this.#queue, 'priorities', priorities, values.priorities);
    }
    // After `reshard`, the number that a process names is only for a queue that it creates.
    if (shards !== undefined && shards !== values.shards && values.reshardings === 0) {
      throw new SettingsMismatchError(this.#queue, 'shards', shards, values.shards);
    }
    this.#text = text;
    this.#values = values;
    this.#isKnown = true;
    this.#setKeys();
  }

  #setKeys(): void {
    const priorityKeys = this.#keys.priorityKeys(this.#values.priorities.length);
    this.#priorityKeys = priorityKeys;
    this.#usesOptional = !isPlain(this.#text, this.#values);
    const { optional, of } = this.#keys;
    this.#allKeys = [...priorityKeys, ...(this.#usesOptional ? optional : [of.features])];
  }
}

/** Whether a queue with these settings uses no limit, pause or optional feature. */
function isPlain(text: string, values: SettingsValues): boolean {
  const { priorities, isRanked } = values;
  return text === formatSettings({ ...PLAIN, ...layoutOf(values), priorities, isRanked });
}

/** Whether a script found no settings where its caller had seen some: the queue was removed. Open it again. */
export function isGone(error: unknown): boolean {
  return storedSettings(error) === NONE;
}

/** The stored settings in the refusal of a script; undefined for any other error. */
function storedSettings(error: unknown): string | undefined {
  if (!(error instanceof Error) || !error.message.startsWith(MISMATCH)) return undefined;
  return error.message.slice(MISMATCH.length);
}
