/**
 * Group commit: calls made in the same tick travel in one script call, and each caller gets its own result.
 *
 * A batch is sent after all promise callbacks of the current phase of the event loop. So a hundred callers that one reply
 * resumed share a batch, and a lone caller waits for microtasks only. Rejected: waiting for a batch to fill or for an earlier
 * batch to return. Both cost a lone caller latency.
 */
import { afterMicrotasks } from './after-microtasks.js';
import { BatchReplyError } from './coded-error.js';
import { requireFunction, requireInteger, requireOptions } from './require.js';

export interface CoalescerOptions<Request> {
  /**
   * Maximum of requests in one call; more are split in order. The limit bounds the time for which one script blocks the server.
   */
  readonly maxBatch: number;
  /** Maximum of bytes in one call, as `bytesOf` counts them. A larger request travels alone. Default: no limit. */
  readonly maxBytes?: number | undefined;
  /** Counts the bytes of a request, for `maxBytes`. Default: not counted. */
  readonly bytesOf?: ((request: Request) => number) | undefined;
}

const KNOWN: ReadonlySet<string> = new Set<keyof CoalescerOptions<never>>([
  'maxBatch',
  'maxBytes',
  'bytesOf',
]);

/** Sends one batch. Resolves to one result for each request, in order. An Error among them rejects only its caller. */
export type SendBatch<Group, Request, Result> = (
  group: Group,
  requests: readonly Request[],
) => Promise<readonly (Result | Error)[]>;

/** The outcomes of many requests, by index. */
export interface Outcomes<Result> {
  /** Undefined for a failed request. */
  readonly results: readonly (Result | undefined)[];
  /** The errors by index. All requests of a failed call have the same error. */
  readonly errors: ReadonlyMap<number, unknown>;
}

/** The caller of one request or of many. */
interface Caller<Result> {
  /** The number of its requests. */
  readonly size: number;
  /** @param index Of the request among those of this caller. */
  settle(result: Result | Error, index: number): void;
  reject(error: unknown, index: number): void;
}

interface Pending<Request, Result> {
  readonly request: Request;
  readonly bytes: number;
  readonly caller: Caller<Result>;
  readonly index: number;
}

/** Collects the calls of one kind. A class has one coalescer for each script that it batches. */
export class Coalescer<Group, Request, Result> {
  readonly #send: SendBatch<Group, Request, Result>;
  readonly #maxBatch: number;
  readonly #maxBytes: number;
  readonly #bytesOf: (request: Request) => number;
  #pending = new Map<Group, Pending<Request, Result>[]>();
  #isScheduled = false;

  /** Throws TypeError or RangeError for an unknown option and for a limit that is not a positive whole number. */
  constructor(send: SendBatch<Group, Request, Result>, options: CoalescerOptions<Request>) {
    const { maxBatch, maxBytes = Infinity, bytesOf = () => 0 } = requireOptions('Coalescer', options, KNOWN);
    this.#send = send;
    this.#maxBatch = requireInteger('maxBatch', maxBatch, { min: 1 });
    this.#maxBytes = maxBytes === Infinity ? maxBytes : requireInteger('maxBytes', maxBytes, { min: 1 });
    this.#bytesOf = requireFunction('bytesOf', bytesOf);
  }

  /**
   * Adds a request to the batch of its group, such as a queue's name. The keys of a group share a slot. Requests of a group are
   * sent in the order in which they were submitted. Rejects with the request's own error, or with the error of the whole call.
   */
  submit(group: Group, request: Request): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#add(group, request, new One(resolve, reject), 0);
    });
  }

  /**
   * Submits many requests with one promise. Resolves to the results in order, or rejects with the first error. Requests that
   * fit into one call are not spread over two.
   */
  submitAll(group: Group, requests: readonly Request[]): Promise<Result[]> {
    return new Promise((resolve, reject) => {
      this.#addAll(group, requests, new All(requests.length, resolve, reject));
    });
  }

  /** Submits many requests, and resolves to the outcome of each one when all calls have ended. It never rejects. */
  settleAll(group: Group, requests: readonly Request[]): Promise<Outcomes<Result>> {
    return new Promise((resolve) => {
      this.#addAll(group, requests, new Each(requests.length, resolve));
    });
  }

  #addAll(group: Group, requests: readonly Request[], caller: Caller<Result>): void {
    for (let index = 0; index < requests.length; index += 1) {
      this.#add(group, requests[index]!, caller, index);
    }
  }

  #add(group: Group, request: Request, caller: Caller<Result>, index: number): void {
    const pending = { request, bytes: this.#bytesOf(request), caller, index };
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

  /** The end of a full batch: before the requests that were submitted together with `next`, if those fit into one batch. */
  #cut(queue: readonly Pending<Request, Result>[], from: number, next: number): number {
    const { caller, index } = queue[next]!;
    const first = next - index;
    return first > from && caller.size <= this.#maxBatch ? first : next;
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
        pending.caller.settle(results[index] as Result | Error, pending.index);
      }
    } catch (error) {
      for (const { caller, index } of batch) caller.reject(error, index);
    }
  }
}

class One<Result> implements Caller<Result> {
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

class All<Result> implements Caller<Result> {
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

class Each<Result> implements Caller<Result> {
  readonly #results: (Result | undefined)[];
  readonly #errors = new Map<number, unknown>();
  #left: number;

  constructor(
    readonly size: number,
    readonly resolve: (settled: Outcomes<Result>) => void,
  ) {
    this.#results = Array.from({ length: size });
    this.#left = size;
    if (size === 0) this.#end();
  }

  settle(result: Result | Error, index: number): void {
    if (result instanceof Error) this.#errors.set(index, result);
    else this.#results[index] = result;
    this.#settleOne();
  }

  reject(error: unknown, index: number): void {
    this.#errors.set(index, error);
    this.#settleOne();
  }

  #settleOne(): void {
    this.#left -= 1;
    if (this.#left === 0) this.#end();
  }

  #end(): void {
    this.resolve({ results: this.#results, errors: this.#errors });
  }
}
