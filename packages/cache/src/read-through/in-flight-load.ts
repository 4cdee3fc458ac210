import { onAbort } from '@mortise/redis';
import type { EntryStore, LoadWakeups } from './entry-store.js';
import type { LoadedEntry, LoadOptions } from './options.js';

/** A request to load a value. */
export interface LoadRequest<Value> {
  readonly key: string;
  readonly shard: EntryStore;
  readonly wakeups: LoadWakeups;
  readonly load: (
    signal: AbortSignal,
    entry: LoadedEntry,
  ) => Promise<Value | null | undefined> | Value | null | undefined;
  /** Whether `load` has a time limit of its own. */
  readonly isLimited: boolean;
  readonly options: LoadOptions<Value>;
  /** The tags of the namespace. */
  readonly ownTags: readonly string[];
  /** The tags known before the load: those of the namespace and of the options. */
  readonly expectedTags: readonly string[];
}

export type Outcome<Value> =
  /** `validAt`: the value includes every change before this moment: the start of its load, or when it was sent to Redis. */
  | { readonly value: Value | null; readonly validAt: number }
  /** Another process loads the value. */
  | 'elsewhere';

/** A load of this process, and its callers. */
export class InFlightLoad<Value> {
  outcome!: Promise<Outcome<Value>>;
  /** The token of the lease that it has or waits for; undefined before the reply to its lease request, and while it stores. */
  holder: string | undefined;
  /** While it waits: requests the lease again. */
  retry: (() => void) | undefined;
  /** Number of callers that still wait. Without any, no loader is started, and the next caller requests a new load. */
  readers = 0;
  readonly startedAt = performance.now();

  /** @param stale Whether its callers have a stale value. A load that is `awaited` waits for that of another process. */
  constructor(
    readonly request: LoadRequest<Value>,
    readonly stale: 'none' | 'served' | 'awaited',
  ) {}

  /** Resolves to the outcome for one caller, whose signal only ends its own interest. */
  async outcomeFor(signal: AbortSignal | undefined): Promise<Outcome<Value>> {
    this.readers += 1;
    const forget = signal && onAbort(signal, () => this.#leave());
    try {
      return await this.outcome;
    } finally {
      forget?.();
    }
  }

  #leave(): void {
    this.readers -= 1;
    // Others with a stale value learn from it how long the load takes.
    if (this.readers === 0 && this.stale === 'none') this.retry?.();
  }
}
