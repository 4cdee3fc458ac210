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

/** What became of each of many requests, by its place among them. */
export interface Settled<Result> {
  /** Undefined where there is an error. */
  readonly results: readonly (Result | undefined)[];
  /** Of a call that failed it is the same for each request in it. */
  readonly errors: ReadonlyMap<number, unknown>;
}

/** Who waits for the result of a request. */
interface Waiting<Result> {
  /** How many requests it waits for. */
  readonly size: number;
  /** `index`: which of its requests. */
  settle(result: Result | Error, index: number): void;
  reject(error: unknown, index: number): void;
}

interface Pending<Request, Result> {
  readonly request: Request;
  readonly bytes: number;
  readonly waiting: Waiting<Result>;
  readonly index: number;
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
      this.#add(group, request, new One(resolve, reject), 0);
    });
  }

  /**
   * As `submit` for each of many requests, at the price of one promise: resolves to the results in order, rejects with the
   * first error. What fits into one call is not spread over two.
   */
  submitAll(group: Group, requests: readonly Request[]): Promise<Result[]> {
    return new Promise((resolve, reject) => {
      this.#addAll(group, requests, new All(requests.length, resolve, reject));
    });
  }

  /** As `submitAll`, but resolves when all calls have ended, also where some have failed: to what became of each request. */
  settleAll(group: Group, requests: readonly Request[]): Promise<Settled<Result>> {
    return new Promise((resolve) => {
      this.#addAll(group, requests, new Each(requests.length, resolve));
    });
  }

  #addAll(group: Group, requests: readonly Request[], waiting: Waiting<Result>): void {
    for (let index = 0; index < requests.length; index += 1) {
      this.#add(group, requests[index]!, waiting, index);
    }
  }

  #add(group: Group, request: Request, waiting: Waiting<Result>, index: number): void {
    const pending = { request, bytes: this.#bytesOf(request), waiting, index };
    const queue = this.#pending.get(group);
    if (queue) queue.push(pending);
    else this.#pending.set(group, [pending]);
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      afterMicrotasks(() => this.#flush());
    }
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
    let from = 0;
    let bytes = 0;
    for (let index = 0; index < queue.length; index += 1) {
      const more = queue[index]!.bytes;
      while (index > from && (index - from === this.#maxBatch || bytes + more > this.#maxBytes)) {
        const end = this.#cut(queue, from, index);
        yield queue.slice(from, end);
        from = end;
        bytes = 0;
        for (let kept = end; kept < index; kept += 1) bytes += queue[kept]!.bytes;
      }
      bytes += more;
    }
    yield from === 0 ? queue : queue.slice(from);
  }

  /** Where a batch ends for which `next` is too much: before what was submitted together with that, if it may fit into a batch. */
  #cut(queue: readonly Pending<Request, Result>[], from: number, next: number): number {
    const { waiting, index } = queue[next]!;
    const first = next - index;
    return first > from && waiting.size <= this.#maxBatch ? first : next;
  }

  async #sendBatch(group: Group, batch: Pending<Request, Result>[]): Promise<void> {
    try {
      const results = await this.#send(
        group,
        batch.map(({ request }) => request),
      );
      if (results.length !== batch.length) throw new BatchReplyError(batch.length, results.length);
      for (let index = 0; index < batch.length; index += 1) {
        const pending = batch[index]!;
        pending.waiting.settle(results[index] as Result | Error, pending.index);
      }
    } catch (error) {
      for (const { waiting, index } of batch) waiting.reject(error, index);
    }
  }
}

class One<Result> implements Waiting<Result> {
  readonly size = 1;

  constructor(
    readonly resolve: (result: Result) => void,
    readonly reject: (error: unknown) => void,
  ) {}

  settle(result: Result | Error): void {
    if (result instanceof Error) this.reject(result);
    else this.resolve(result);
  }
}

class All<Result> implements Waiting<Result> {
  readonly #results: Result[];
  #left: number;

  constructor(
    readonly size: number,
    readonly resolve: (results: Result[]) => void,
    readonly reject: (error: unknown) => void,
  ) {
    this.#results = Array.from({ length: size });
    this.#left = size;
    if (size === 0) resolve([]);
  }

  settle(result: Result | Error, index: number): void {
    if (result instanceof Error) {
      this.reject(result);
      return;
    }
    this.#results[index] = result;
    this.#left -= 1;
    if (this.#left === 0) this.resolve(this.#results);
  }
}

class Each<Result> implements Waiting<Result> {
  readonly #results: (Result | undefined)[];
  readonly #errors = new Map<number, unknown>();
  #left: number;

  constructor(
    readonly size: number,
    readonly resolve: (settled: Settled<Result>) => void,
  ) {
    this.#results = Array.from({ length: size });
    this.#left = size;
    if (size === 0) this.#end();
  }

  settle(result: Result | Error, index: number): void {
    if (result instanceof Error) this.#errors.set(index, result);
    else this.#results[index] = result;
    this.#answered();
  }

  reject(error: unknown, index: number): void {
    this.#errors.set(index, error);
    this.#answered();
  }

  #answered(): void {
    this.#left -= 1;
    if (this.#left === 0) this.#end();
  }

  #end(): void {
    this.resolve({ results: this.#results, errors: this.#errors });
  }
}
