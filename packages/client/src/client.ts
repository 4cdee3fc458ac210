/**
 * One stream of server-sent events for a page, whatever follows topics: browsers open six connections to a host, and the API
 * limits its streams. A change of the topics opens the stream again after the last event that was handled.
 *
 * Rejected: EventSource, which sends no credential, hides why it was refused, and does not notice a connection that is silently
 * dead. Also rejected: a WebSocket, which sends no credential either, and cannot be compressed or proxied everywhere.
 */
import { eventReader } from './event-lines.js';
import { pause, retryMsOf } from './pause.js';
import { ProblemError } from './problem-error.js';
import type { TopicEvent } from './topics.js';

/** The credential that requests send: a key of the API or a token of your identity provider. */
export type Credential = string | (() => string | Promise<string>);

/** Options of a MortiseClient. */
export interface ClientOptions {
  /** The address of the API, such as `https://api.example.com`. Default: that of the page. */
  readonly url?: string | undefined;
  /** The credential of each request; a function is called for each request. Default: none, so the cookie of a session counts. */
  readonly credential?: Credential | undefined;
  /** The `token` of an earlier client: topics continue after its last event. */
  readonly after?: string | undefined;
  /**
   * The time without a byte after which a stream is opened again, in ms. It must be longer than the pause between heartbeats of
   * the API. Default 40 s.
   */
  readonly silenceMs?: number | undefined;
  /** Receives each refusal or failure of the stream. The stream is opened again after a pause. Default: none. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/**
 * `idle`: no topic is followed. `opening`: the stream opens for the first time, or with other topics. `open`: events come.
 * `cut`: the API does not answer or has refused, and the client tries again. `closed`: `close` was called.
 */
export type ClientState = 'idle' | 'opening' | 'open' | 'cut' | 'closed';

/**
 * Why events may be missing. `start`: the topic begins now. `gap` and `reset`: an event of this type follows. `token`: the API
 * refused the position of the stream.
 */
export type GapReason = 'start' | 'gap' | 'reset' | 'token';

/** A part of the page that follows a topic. */
export interface Follower<Topic extends string> {
  readonly event: (event: TopicEvent<Topic>) => void;
  /** Called when events may be missing, before the events that follow: read the present state now. */
  readonly gap?: ((reason: GapReason) => void) | undefined;
}

/** Options of a request. */
export interface RequestOptions {
  /** A value that is sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The most topics of a stream. */
const MAX_TOPICS = 10;
const SILENCE_MS = 40_000;

type AnyFollower = Follower<string>;

/** A connection of a page to the API. */
export class MortiseClient {
  readonly #url: string;
  readonly #credential: Credential | undefined;
  readonly #silenceMs: number;
  readonly #onError: (error: unknown) => void;
  readonly #followers = new Map<string, Set<AnyFollower>>();
  readonly #watchers = new Set<() => void>();
  /** Topics that `#id` continues. */
  #known = new Set<string>();
  /** Of the last event that was handled. */
  #id = '';
  #state: ClientState = 'idle';
  #running: AbortController | undefined;
  #isScheduled = false;

  /** Sends nothing. */
  constructor({ url = '', credential, after = '', silenceMs = SILENCE_MS, onError }: ClientOptions = {}) {
    this.#url = url.replace(/\/$/, '');
    this.#credential = credential;
    this.#silenceMs = silenceMs;
    this.#onError = onError ?? (() => {});
    const [id = '', topics] = after.split('.', 2);
    this.#id = id;
    if (topics) this.#known = new Set(topics.split(','));
  }

  /** The state of the stream. */
  get state(): ClientState {
    return this.#state;
  }

  /** The position after the last event that was handled, for the option `after` of a later client. '' before the first event. */
  get token(): string {
    return this.#id && `${this.#id}.${[...this.#known].join(',')}`;
  }

  /** Calls the listener after each change of `state`. Returns a function that removes the listener. */
  onState(listener: () => void): () => void {
    this.#watchers.add(listener);
    return () => void this.#watchers.delete(listener);
  }

  /**
   * Follows a topic, such as `topicOf('queue', 'mails')`, until the returned function is called. Followers of one topic share
   * it. The stream opens in the next turn, and again after each failure. Throws RangeError for an 11th topic. An error that a
   * follower throws is reported to the page; the other followers go on.
   */
  follow<const Topic extends string>(topic: Topic, follower: Follower<Topic>): () => void {
    const followers = this.#followers.get(topic) ?? new Set();
    if (followers.size === 0 && this.#followers.size === MAX_TOPICS)
      throw new RangeError(`a client follows up to ${MAX_TOPICS} topics`);
    // A copy: the same object may follow twice.
    const own = { ...follower } as unknown as AnyFollower;
    this.#followers.set(topic, followers.add(own));
    if (followers.size === 1) this.#schedule();
    // Of a topic that isn't open yet, all followers learn together.
    else if (this.#known.has(topic)) queueMicrotask(() => this.#call(own, 'start'));
    return () => {
      if (!followers.delete(own) || followers.size > 0) return;
      this.#followers.delete(topic);
      // Another follower, even one of the same turn, begins anew.
      this.#known.delete(topic);
      this.#schedule();
    };
  }

  /**
   * Sends a request to a path below `/v1/`, and returns the JSON of the answer; undefined if it has none. Rejects with ProblemError
   * for a refusal, and with the TypeError of `fetch` without an answer.
   */
  async request(
    method: string,
    path: string,
    { body, headers, signal }: RequestOptions = {},
  ): Promise<unknown> {
    const response = await fetch(`${this.#url}/v1/${path}`, {
      method,
      headers: {
        ...(await this.#authorization()),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
    });
    if (!response.ok) throw await ProblemError.of(response);
    const text = await response.text();
    return text === '' ? undefined : JSON.parse(text);
  }

  /** Ends the stream and all followers. */
  close(): void {
    this.#followers.clear();
    this.#running?.abort();
    this.#setState('closed');
  }

  async #authorization(): Promise<Record<string, string>> {
    const given = this.#credential;
    const credential = typeof given === 'function' ? await given() : given;
    return credential === undefined ? {} : { authorization: `Bearer ${credential}` };
  }

  #setState(state: ClientState): void {
    if (state === this.#state) return;
    this.#state = state;
    for (const watcher of this.#watchers) watcher();
  }

  /** Parts of a page come and go together: the stream opens once. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setTimeout(() => {
      this.#isScheduled = false;
      this.#restart();
    });
  }

  #restart(): void {
    this.#running?.abort();
    if (this.#state === 'closed') return;
    const topics = [...this.#followers.keys()];
    if (topics.length === 0) return this.#setState('idle');
    // A token of no topic of the stream would be refused.
    if (!topics.some((topic) => this.#known.has(topic))) {
      this.#id = '';
      this.#known.clear();
    }
    this.#running = new AbortController();
    this.#setState('opening');
    void this.#run(topics, this.#running.signal);
  }

  async #run(topics: readonly string[], signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; failures += 1) {
      let waitMs = 0;
      try {
        await this.#read(topics, signal, () => (failures = 0));
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof ProblemError) {
          waitMs = error.retryAfterMs ?? 0;
          if (error.slug === 'invalid-token') this.#id = '';
        }
        this.#onError(error);
      }
      if (signal.aborted) return;
      this.#setState('cut');
      await pause(retryMsOf(failures, waitMs), signal);
    }
  }

  /** Reads until the stream ends. */
  async #read(topics: readonly string[], signal: AbortSignal, opened: () => void): Promise<void> {
    const controller = new AbortController();
    const abort = (): void => controller.abort(signal.reason);
    signal.addEventListener('abort', abort);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const listen = (): void => {
      clearTimeout(timer);
      const silence = (): void => controller.abort(new Error(`no byte for ${this.#silenceMs} ms`));
      timer = setTimeout(silence, this.#silenceMs);
    };
    try {
      listen();
      const query = new URLSearchParams({ topics: topics.join(','), ...(this.#id && { after: this.#id }) });
      const response = await fetch(`${this.#url}/v1/events?${query}`, {
        headers: { accept: 'text/event-stream', ...(await this.#authorization()) },
        signal: controller.signal,
      });
      if (!response.ok || !response.body) throw await ProblemError.of(response);
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      const eventsOf = eventReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done || signal.aborted) return;
        listen();
        for (const { id, data } of eventsOf(value)) {
          if (data !== '') this.#handle(JSON.parse(data) as ReceivedEvent, topics, opened);
          // Before the check: an event during which the client was closed is handled too.
          if (id !== '') this.#id = id;
          if (signal.aborted) return;
        }
      }
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      controller.abort();
    }
  }

  #handle({ topic, ...event }: ReceivedEvent, topics: readonly string[], opened: () => void): void {
    const { type } = event;
    if (type === 'open') {
      opened();
      const isContinued = this.#id !== '';
      const reason = this.#known.size > 0 && !isContinued ? 'token' : 'start';
      const unknown = topics.filter((text) => !isContinued || !this.#known.has(text));
      this.#known = new Set(topics);
      this.#setState('open');
      for (const text of unknown)
        for (const follower of this.#followersOf(text)) this.#call(follower, reason);
    }
    if (topic === undefined) return;
    for (const follower of this.#followersOf(topic)) {
      if (type === 'gap' || type === 'reset') this.#call(follower, type);
      this.#call(follower, event);
    }
  }

  /** A copy: a follower may end itself or others. */
  #followersOf(topic: string): AnyFollower[] {
    return [...(this.#followers.get(topic) ?? [])];
  }

  #call(follower: AnyFollower, what: GapReason | { readonly type: string }): void {
    try {
      if (typeof what === 'string') follower.gap?.(what);
      else follower.event(what);
    } catch (error) {
      // Node has no such function.
      (globalThis.reportError ?? console.error)(error);
    }
  }
}

interface ReceivedEvent {
  readonly type: string;
  readonly topic?: string;
}
