/** One slot's part of a queue: its keys, its settings, and how scripts are called there. A queue has 1 to 64. */
import type { RedisClient } from '@mortise/redis';
import { WaiterHub } from '@mortise/redis';
import { QueueKeys } from '../keys.js';
import type { NamedSettings } from './settings.js';
import { Settings } from './settings.js';
import type { SettingsValues } from './settings-text.js';

/** What scripts can be given. */
export type ShardKeys = QueueKeys['of'] & { readonly lanes: readonly string[] };

export class Shard {
  readonly keys: QueueKeys;
  readonly settings: Settings;

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

  /** To be awaited before the first use of what lies beyond the core; see `Settings.extend`. */
  extend(): Promise<void> {
    return this.settings.extend(this.redis, this.publish);
  }

  /** Makes a call of a script that takes some keys by their names, and the lanes behind them; see `Settings.run`. */
  call<Reply>(
    make: (
      keys: ShardKeys,
      common: { readonly believed: string; readonly publish: string },
    ) => Promise<Reply>,
  ): Promise<Reply> {
    const { keys, settings, publish } = this;
    return settings.run(() =>
      make({ ...keys.of, lanes: settings.laneKeys }, { believed: settings.text, publish }),
    );
  }
}
