/** The part of a queue in one slot: its keys, its settings, and calls of scripts. A queue has 1 to 64 shards. */
import type { Codecs, RedisClient } from '@mortise/redis';
import { WaiterHub } from '@mortise/redis';
import { QueueKeys } from '../keys.js';
import { shardRegroup } from '../scripts.gen.js';
import { forgetName, registerName } from './queue-names.js';
import type { NamedSettings } from './settings.js';
import { Settings } from './settings.js';
import type { Layout, SettingsValues } from './settings-text.js';

/** Keys for scripts, by name. */
export type ShardKeys = QueueKeys['of'] & { readonly priorityKeys: readonly string[] };

export class Shard {
  readonly keys: QueueKeys;
  readonly settings: Settings;
  /** The number of shards by which callers chose this one; see `Shards`. */
  opened: Layout | undefined;
  /** Whether this process uses an optional feature. */
  #usesOptional = false;

  constructor(
    readonly redis: RedisClient,
    readonly queue: string,
    readonly prefix: string | undefined,
    readonly index = 0,
    named: NamedSettings = {},
    /** Of payloads and results. */
    readonly codecs?: Codecs,
  ) {
    this.keys = new QueueKeys(queue, prefix, index);
    this.settings = new Settings(queue, this.keys, named);
  }

  /** The command with which scripts publish. */
  get publish(): 'PUBLISH' | 'SPUBLISH' {
    return WaiterHub.of(this.redis).publishCommand;
  }

  /** See `Settings.change`. */
  async configure(change: (values: SettingsValues) => SettingsValues): Promise<void> {
    if (await this.settings.change(this.redis, this.publish, change)) await this.#addName();
  }

  /** Applies new limits of groups to all groups. A round trip for each 200 groups. */
  async regroup(): Promise<void> {
    let cursor = '0';
    do {
      const next = await this.call((keys, common) =>
        shardRegroup.run(this.redis, keys, { ...common, cursor }),
      );
      cursor = String(next);
    } while (cursor !== '0');
  }

  /** Await it before the first use of an optional feature; see `Settings.enableOptional`. */
  async enableOptional(): Promise<void> {
    this.#usesOptional = true;
    if (await this.settings.enableOptional(this.redis, this.publish)) await this.#addName();
  }

  /** `obliterate` of another process has removed it. */
  async #addName(): Promise<void> {
    forgetName(this.redis, this.prefix, this.queue);
    await registerName(this.redis, this.prefix, this.queue);
  }

  /** Calls a script that takes keys by name; see `Settings.run`. */
  call<Reply>(
    make: (
      keys: ShardKeys,
      common: { readonly expectedSettings: string; readonly publish: string; readonly priorityCount: number },
    ) => Promise<Reply>,
  ): Promise<Reply> {
    const { keys, settings, publish } = this;
    return settings.run(async () => {
      // A failover may have lost the settings, and a process without optional features may have stored them again.
      if (this.#usesOptional && !settings.values.hasOptional) await this.enableOptional();
      return make(
        { ...keys.of, priorityKeys: settings.priorityKeys },
        { expectedSettings: settings.text, publish, priorityCount: settings.values.priorities.length },
      );
    });
  }
}
