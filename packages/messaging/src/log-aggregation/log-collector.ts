import type { RedisClient } from '@mortise/redis';
import { Loop, requireFunction, requireInteger, requireObject, requireOptions } from '@mortise/redis';

import { FileReceiver } from '../files/index.js';
import type { FileReceiverOptions } from '../files/index.js';
import { LogAggregator } from './log-aggregator.js';
import type { FileReport } from './log-file.js';
import { AGGREGATOR_OPTIONS } from './options.js';
import type { LogAggregatorOptions } from './options.js';
import type { RangeTable } from './range-table.js';
import { ReceivedFile } from './received-file.js';

export interface LogCollectorOptions extends Omit<LogAggregatorOptions, 'concurrency'> {
  /**
   * Divides the files between several receivers, each of which gets every file. Receiver `index` (from 0) of `of` counts
   * its part. Default: all files.
   */
  readonly share?: { readonly index: number; readonly of: number } | undefined;
  /** Another process may be the receiver when this one was silent for this time, ms: from 100 to 600,000. Default 10 s. */
  readonly leaseMs?: number | undefined;
  /** Gets the report of each file when it is counted. Default: none. */
  readonly onReport?: ((report: FileReport) => void) | undefined;
}

const MAX_SHARES = 1_000;
const OPTIONS: ReadonlySet<string> = new Set<keyof LogCollectorOptions>([
  ...Array.from(AGGREGATOR_OPTIONS).filter((option) => option !== 'concurrency'),
  'share',
  'leaseMs',
  'onReport',
]);

/** The pause between two looks at a channel that has ended, which may begin again. */
const ENDED_PAUSE_MS = 1_000;

/** Counts the files of a channel, one after the other, from `start` to `stop`. An interrupted file continues at its last ack. */
export class LogCollector {
  readonly #redis: RedisClient;
  readonly #channel: string;
  readonly #receiver: string;
  readonly #options: LogCollectorOptions;
  readonly #receiverOptions: FileReceiverOptions;
  readonly #aggregator: LogAggregator;
  readonly #loop: Loop;

  /** Throws TypeError or RangeError for options that cannot be used. */
  constructor(
    redis: RedisClient,
    channel: string,
    receiver: string,
    table: RangeTable,
    options: LogCollectorOptions = {},
  ) {
    this.#redis = redis;
    this.#channel = channel;
    this.#receiver = receiver;
    this.#options = requireOptions('LogCollector', options, OPTIONS);
    const { share, leaseMs, onReport, ...ofAggregator } = options;
    if (onReport !== undefined) requireFunction('onReport', onReport);
    if (share !== undefined) {
      const { index, of } = requireObject('share', share);
      requireInteger('share.of', of, { min: 1, max: MAX_SHARES });
      requireInteger('share.index', index, { min: 0, max: of - 1 });
    }
    // Throws for a wrong name, prefix or lease.
    this.#receiverOptions = {
      ...(options.prefix !== undefined && { prefix: options.prefix }),
      ...(leaseMs !== undefined && { leaseMs }),
    };
    void new FileReceiver(redis, channel, receiver, this.#receiverOptions);
    this.#aggregator = new LogAggregator(redis, table, { ...ofAggregator, concurrency: 1 });
    const { onError } = options;
    this.#loop = new Loop('mortise log collector', (signal) => this.#step(signal), {
      ...(onError && { onError }),
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** Stops at the last ack of the current file, and resolves then. Idempotent, legal before `start`. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#aggregator.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #step(signal: AbortSignal): Promise<number> {
    try {
      await this.collect({ signal });
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    return ENDED_PAUSE_MS;
  }

  /** Counts the files of the channel until it has ended, or the signal is aborted. Rejects with the error of a file, and may be called again. */
  async collect({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const { onReport } = this.#options;
    await this.#aggregator.run(this.#files(signal), {
      ...(signal && { signal }),
      ...(onReport && { onReport }),
    });
  }

  async *#files(signal: AbortSignal | undefined): AsyncGenerator<ReceivedFile> {
    const { share = { index: 0, of: 1 } } = this.#options;
    const receiver = new FileReceiver(this.#redis, this.#channel, this.#receiver, this.#receiverOptions);
    for await (const file of receiver.files({ ...(signal && { signal }) })) {
      if (file.number % share.of === share.index) {
        yield new ReceivedFile(file);
      } else {
        await file.fail();
      }
    }
  }
}
