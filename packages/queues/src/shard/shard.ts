/** One slot's part of a queue: its keys, its settings, and how scripts are called there. A queue has 1 to 64. */
import type { RedisClient } from '@mortise/redis';
import { WaiterHub } from '@mortise/redis';
import { QueueKeys } from '../keys.js';
import { shardRegroup } from '../scripts.gen.js';
import type { NamedSettings } from './settings.js';
import { Settings } from './settings.js';
import type { SettingsValues } from './settings-text.js';

/** What scripts can be given. */
export type ShardKeys = QueueKeys['of'] & { readonly priorityKeys: readonly string[] };

export class Shard {
  readonly keys: QueueKeys;
  readonly settings: Settings;
  /** This process uses what lies beyond the core. */
  #usesOptional = false;

  constructor(
    readonly redis: RedisClient,
    readonly queue: string,
    readonly prefix: string | undefined,
    readonly index = 0,
    named: NamedSettings = {},
  ) {
    this.keys = new QueueKeys(queue, prefix, index);
    this.settings = new Settings(queue, this.keys, named);
  }

  /** The command that scripts have to publish with. */
  get publish(): 'PUBLISH' | 'SPUBLISH' {
    return WaiterHub.of(this.redis).publishCommand;
  }

  /** See `Settings.change`. */
  configure(change: (values: SettingsValues) => SettingsValues): Promise<void> {
    return this.settings.change(this.redis, this.publish, change);
  }

  /** Lets groups run that may do so under the limits that are stored now. A round trip for each 200 groups. */
  async regroup(): Promise<void> {
    let cursor = '0';
    do {
      const next = await this.call((keys, common) =>
        shardRegroup.run(this.redis, keys, { ...common, cursor }),
      );
      cursor = String(next);
    } while (cursor !== '0');
  }

  /** To be awaited before the first use of what lies beyond the core; see `Settings.extend`. */
  enableOptional(): Promise<void> {
    this.#usesOptional = true;
    return this.settings.enableOptional(this.redis, this.publish);
  }

  /** Makes a call of a script that takes some keys by their names, and the priorities behind them; see `Settings.run`. */
  call<Reply>(
    make: (
      keys: ShardKeys,
      common: { readonly expectedSettings: string; readonly publish: string },
    ) => Promise<Reply>,
  ): Promise<Reply> {
    const { keys, settings, publish } = this;
    return settings.run(async () => {
      // What is stored may have been lost, by a failover say, and stored anew by somebody who uses less.
      if (this.#usesOptional && !settings.values.hasOptional) await this.enableOptional();
      return make(
        { ...keys.of, priorityKeys: settings.priorityKeys },
        { expectedSettings: settings.text, publish },
      );
    });
  }
}
