import { onAbort, waitFor } from '@mortise/redis';
import type { ChatEvent, ChatEvents } from './chat-event.js';
import type { UnreadCounts } from './unread-counts.js';

const DONE = { done: true, value: undefined } as const;

/** The events of a follower with the number of unread messages, counted when each is handed out. */
export class CountedEvents<Body> implements ChatEvents<Body> {
  readonly #events: ChatEvents<Body>;
  readonly #counts: UnreadCounts;
  readonly #member: string;
  readonly #signal: AbortSignal | undefined;
  readonly #ending = new AbortController();
  #unlisten: (() => void) | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    events: ChatEvents<Body>,
    counts: UnreadCounts,
    member: string,
    signal: AbortSignal | undefined,
  ) {
    this.#events = events;
    this.#counts = counts;
    this.#member = member;
    this.#signal = signal;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  open(): Promise<void> {
    return this.#events.open();
  }

  /** The next event. Calls are answered in order. */
  next(): Promise<IteratorResult<ChatEvent<Body>, undefined>> {
    const next = this.#last.then(() => this.#next());
    this.#last = next.catch(() => undefined);
    return next;
  }

  /** Ends the iteration, also a `next` that waits. Idempotent. */
  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#end();
    await this.#events.return?.();
    return DONE;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  async #next(): Promise<IteratorResult<ChatEvent<Body>, undefined>> {
    const result = await this.#events.next().catch((error: unknown) => {
      this.#end();
      throw error;
    });
    if (result.done) this.#end();
    if (result.done || !('epoch' in result.value) || result.value.type === 'reset') return result;
    const event = result.value;
    const { signal } = this.#ending;
    if (this.#signal?.aborted) return DONE;
    if (this.#signal) this.#unlisten ??= onAbort(this.#signal, () => this.#end());
    try {
      const unread = await waitFor(this.#counts.of(event.chatId, this.#member, signal), { signal });
      return { done: false, value: { ...event, unread } };
    } catch {
      // The event stands without the number. The next call rejects if the client is closed.
      return signal.aborted ? DONE : { done: false, value: event };
    }
  }

  #end(): void {
    this.#unlisten?.();
    this.#ending.abort();
  }
}
