/**
 * Group commit: calls made in the same tick travel in one script call, and each caller gets its own result.
 *
 * The flush runs when all promise callbacks of the current phase of the event loop have run, so a hundred callers
 * that were woken by one reply find each other, and a single caller waits for nothing but microtasks. Rejected:
 * waiting for a batch to fill or for an earlier batch to return; both cost a lone caller latency.
 */
import { afterMicrotasks } from './after-microtasks.js';
import { BatchReplyError } from './coded-error.js';
import { requireInteger } from './require.js';

export interface CoalescerOptions<Request> {
  /** The most requests in one call; more are split in order. Bounds the time one script holds the server. */
  readonly maxBatch: number;
  /** The most bytes in one call, by `bytesOf`; a larger request travels alone. Default: no limit. */
  readonly maxBytes?: number;
  readonly bytesOf?: (request: Request) => number;
}

/** Sends one batch and answers with one result for each request, in order; an Error rejects only its own caller. */
export type SendBatch<Group, Request, Result> = (
  group: Group,
  requests: readonly Request[],
) => Promise<readonly (Result | Error)[]>;

interface Pending<Request, Result> {
  readonly request: Request;
  readonly bytes: number;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** Collects the calls of one kind; a class has one for each script that it batches. */
export class Coalescer<Group, Request, Result> {
  readonly #send: SendBatch<Group, Request, Result>;
  readonly #maxBatch: number;
  readonly #maxBytes: number;
  readonly #bytesOf: (request: Request) => number;
  #pending = new Map<Group, Pending<Request, Result>[]>();
  #isScheduled = false;

  /** Throws TypeError or RangeError for limits that are no whole numbers from 1. */
  constructor(send: SendBatch<Group, Request, Result>, options: CoalescerOptions<Request>) {
    const { maxBatch, maxBytes = Infinity, bytesOf = () => 0 } = options;
    this.#send = send;
    this.#maxBatch = requireInteger('maxBatch', maxBatch, { min: 1 });
    this.#maxBytes = maxBytes === Infinity ? maxBytes : requireInteger('maxBytes', maxBytes, { min: 1 });
    this.#bytesOf = bytesOf;
  }

  /**
   * Adds a request to the batch of its group (a string, say; one group, one slot). Requests of a group are sent in
   * the order in which they were submitted. Rejects with the request's own error, or with the error of the whole
   * call, which then went to every request in it.
   */
  submit(group: Group, request: Request): Promise<Result> {
    return new Promise((resolve, reject) => {
      const queue = this.#pending.get(group);
      const pending = { request, bytes: this.#bytesOf(request), resolve, reject };
      if (queue) queue.push(pending);
      else this.#pending.set(group, [pending]);
      if (!this.#isScheduled) {
        this.#isScheduled = true;
        afterMicrotasks(() => this.#flush());
      }
    });
  }

  #flush(): void {
    const groups = this.#pending;
    this.#pending = new Map();
    this.#isScheduled = false;
    for (const [group, queue] of groups) {
      for (const batch of this.#split(queue)) void this.#sendBatch(group, batch);
    }
  }

  *#split(queue: Pending<Request, Result>[]): Generator<Pending<Request, Result>[]> {
    let batch: Pending<Request, Result>[] = [];
    let bytes = 0;
    for (const pending of queue) {
      if (batch.length > 0 && (batch.length === this.#maxBatch || bytes + pending.bytes > this.#maxBytes)) {
        yield batch;
        batch = [];
        bytes = 0;
      }
      batch.push(pending);
      bytes += pending.bytes;
    }
    yield batch;
  }

  async #sendBatch(group: Group, batch: Pending<Request, Result>[]): Promise<void> {
    try {
      const results = await this.#send(
        group,
        batch.map(({ request }) => request),
      );
      if (results.length !== batch.length) throw new BatchReplyError(batch.length, results.length);
      batch.forEach(({ resolve, reject }, index) => {
        const result = results[index] as Result | Error;
        if (result instanceof Error) reject(result);
        else resolve(result);
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
