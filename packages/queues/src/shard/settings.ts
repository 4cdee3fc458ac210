/**
 * The settings of one shard of a queue, as this process knows them. They are stored with the queue, since producers and
 * workers must agree on them; a worker is told only the name of a queue and takes them from there. Every script is given
 * the text that its caller knows and refuses when another is stored.
 */
import type { RedisClient } from '@mortise/redis';
import { requireOneOf } from '@mortise/redis';
import { SettingsMismatchError } from '../errors.js';
import type { QueueKeys } from '../keys.js';
import { DEFAULTS, resolvePriorities } from '../options.js';
import { shardConfigure } from '../scripts.gen.js';
import type { SettingsValues } from './settings-text.js';
import { formatSettings, parseSettings, PLAIN } from './settings-text.js';

const MISMATCH = 'SETTINGS ';
/** Settings that change more often than this within one call are no settings. */
const MAX_TRIES = 5;

/** What the caller insists on; undefined takes what is stored, or the default. */
export interface NamedSettings {
  readonly priorities?: readonly string[] | undefined;
  readonly shards?: number | undefined;
}

export class Settings {
  readonly #queue: string;
  readonly #keys: QueueKeys;
  readonly #named: NamedSettings;
  #text: string;
  #values: SettingsValues;
  #priorityKeys!: readonly string[];
  #allKeys!: readonly string[];
  #optionalKeys!: readonly string[];
  #isKnown = false;
  #learning: Promise<void> | undefined;

  constructor(queue: string, keys: QueueKeys, named: NamedSettings = {}) {
    this.#queue = queue;
    this.#keys = keys;
    this.#named = named;
    this.#values = {
      ...PLAIN,
      priorities: resolvePriorities(named.priorities ?? DEFAULTS.priorities),
      shards: named.shards ?? 1,
    };
    this.#text = formatSettings(this.#values);
    this.#setKeys();
  }

  get values(): SettingsValues {
    return this.#values;
  }

  /** As the scripts compare it. */
  get text(): string {
    return this.#text;
  }

  /** The queue uses more than the core, so the scripts are given the keys for that. */
  get usesOptional(): boolean {
    const { shards, priorities } = this.#values;
    return this.#text !== formatSettings({ ...PLAIN, priorities, shards });
  }

  /** Ready, scheduled and retrying keys of each priority in turn. */
  get priorityKeys(): readonly string[] {
    return this.#priorityKeys;
  }

  /** The keys of what lies beyond the core, if it is used. */
  get optionalKeys(): readonly string[] {
    return this.#optionalKeys;
  }

  /** `priorityKeys`, and behind them the keys of what lies beyond the core if it is used. */
  get keys(): readonly string[] {
    return this.#allKeys;
  }

  /** The stored settings have been seen, or that there are none; otherwise `learn` first. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** Looks the stored settings up. One round trip, shared by all who ask at the same time. */
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
   * Makes a call of a script that compares the settings. When it says that others are stored, they are taken over and
   * the call is made again, unless they contradict what the user has named. It must be built from `text` and `keys` anew.
   */
  async run<Reply>(call: () => Promise<Reply>, maxTries = MAX_TRIES): Promise<Reply> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await call();
      } catch (error) {
        const stored = storedSettings(error);
        if (stored === undefined || tries >= maxTries) throw error;
        this.#adopt(stored);
      }
    }
  }

  /**
   * Changes the stored settings: `change` is given those that are stored and returns what they shall be. Compare and
   * set, so nobody's change is lost. Wakes parked workers. One round trip, one more for each change that came between.
   */
  async change(
    redis: RedisClient,
    publish: string,
    change: (values: SettingsValues) => SettingsValues,
  ): Promise<void> {
    if (!this.#isKnown) await this.learn(redis);
    let wanted = this.#text;
    await this.run(async () => {
      wanted = formatSettings(change(this.#values));
      const { settings, idle, events } = this.#keys.of;
      await shardConfigure.run(
        redis,
        { settings, idle, events },
        { expectedSettings: this.#text, wanted, publish },
      );
      // A call that fails is somebody else's that succeeded, so this comes to an end.
    }, Infinity);
    this.#adopt(wanted);
  }

  /**
   * Sees to it that scripts are given the keys of what lies beyond the core, from now on: a limit or a pause, which do so as
   * well, may be lifted. No round trip when it is so already.
   */
  async enableOptional(redis: RedisClient, publish: string): Promise<void> {
    if (!this.#isKnown) await this.learn(redis);
    if (this.#values.hasOptional) return;
    await this.change(redis, publish, (values) => ({ ...values, hasOptional: true }));
  }

  async #look(redis: RedisClient): Promise<void> {
    const stored = await redis.call('get', [this.#keys.of.settings]);
    if (typeof stored === 'string') this.#adopt(stored);
    this.#isKnown = true;
  }

  #adopt(text: string): void {
    if (text === this.#text) return;
    const values = parseSettings(text);
    const { priorities, shards } = this.#named;
    if (priorities && priorities.join(',') !== values.priorities.join(',')) {
      throw new SettingsMismatchError(this.#queue, 'priorities', priorities, values.priorities);
    }
    if (shards !== undefined && shards !== values.shards) {
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
    this.#optionalKeys = this.usesOptional ? this.#keys.optional : [];
    this.#allKeys = [...priorityKeys, ...this.#optionalKeys];
  }
}

/** The settings that a script has refused a call for; undefined for any other error. */
function storedSettings(error: unknown): string | undefined {
  if (!(error instanceof Error) || !error.message.startsWith(MISMATCH)) return undefined;
  return error.message.slice(MISMATCH.length);
}
