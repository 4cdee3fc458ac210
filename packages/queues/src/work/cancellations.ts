/**
 * Hears that running tasks were cancelled. The cancellation itself is what Redis says of the task: a message only makes the
 * worker ask for it, by renewing that lease at once. So a message that is lost costs time (the next renewal tells), and one
 * that comes late, when the task already runs again, does no harm.
 *
 * Rejected: to listen once the queue uses more than the core. A worker that is full does not hear of that, so the first
 * cancellation of a queue, which is the one that people try, took a third of a lease.
 */
import type { Wake } from '@mortise/redis';
import { Loop, WaiterHub } from '@mortise/redis';
import type { Shard } from '../shard/shard.js';
import { decodeTaskId } from '../task/task-id.js';
import type { Leases } from './leases.js';
import type { Reporter } from './reporter.js';
import { untilAborted } from './until-aborted.js';

const CANCEL = /^cancel ((?:[0-9a-f]{2})+)$/;

export class Cancellations {
  readonly #shard: Shard;
  readonly #workerId: string;
  readonly #leases: Leases;
  readonly #reporter: Reporter;
  readonly #listening: Loop;

  constructor(shard: Shard, workerId: string, leases: Leases, reporter: Reporter) {
    this.#shard = shard;
    this.#workerId = workerId;
    this.#leases = leases;
    this.#reporter = reporter;
    this.#listening = new Loop(
      `mortise cancellations of queue ${shard.queue}`,
      (signal) => this.#listen(signal),
      { onError: (error) => reporter.tellFailure(error) },
    );
  }

  /** Begins to listen. */
  start(): void {
    this.#listening.start();
  }

  stop(): Promise<void> {
    return this.#listening.stop();
  }

  async #listen(signal: AbortSignal): Promise<number> {
    const { redis, keys } = this.#shard;
    const opening = WaiterHub.of(redis).waiter(keys.of.active, this.#workerId);
    try {
      const waiter = await untilAborted(opening, signal);
      // Some may have been cancelled before anybody listened.
      this.#leases.check();
      for (;;) this.#hear(await waiter.next({ signal }));
    } finally {
      // While Redis is away it may open long after the worker has stopped.
      void opening.then((waiter) => waiter.close()).catch(() => undefined);
    }
  }

  #hear(wake: Wake): void {
    if (wake.type !== 'message') {
      this.#leases.check();
      return;
    }
    const [, hex] = CANCEL.exec(wake.body.toString('latin1')) ?? [];
    const attempt = hex === undefined ? undefined : this.#leases.find(decodeTaskId(Buffer.from(hex, 'hex')));
    if (!attempt) return;
    this.#leases.renew(attempt).catch((error) => this.#reporter.tellFailure(error));
  }
}
