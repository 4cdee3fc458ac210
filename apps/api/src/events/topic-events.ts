import { Injectable } from '@nestjs/common';
import type { MailboxPosition } from '@mortise/messaging';
import type { LiveEvent } from '@mortise/queues/admin';
import { liveEvents } from '@mortise/queues/admin';
import { Merged, onAbort } from '@mortise/redis';

import type { Principal } from '../callers/principal.js';
import { CacheChanges } from '../caches/cache-changes.js';
import { OverviewReader } from '../console/overview.js';
import { RedisFigures } from '../console/redis-figures.js';
import type { Kind } from '../console/stored-names.js';
import { StoredNames } from '../console/stored-names.js';
import { WatchedChannels } from '../files/watched-channels.js';
import type { ListTopic, LockTopic } from '../locks/watched-locks.js';
import { WatchedLocks } from '../locks/watched-locks.js';
import { Market } from '../market/index.js';
import type { StreamEvent } from '../messaging/live/forward-events.js';
import { openEvents } from '../messaging/live/open-events.js';
import { TenantChats, TenantMailboxes } from '../messaging/tenant-messaging.js';
import { Problem } from '../problems/problem.js';
import { OpenQueues } from '../queues/open-queues.js';
import { Operations } from '../queues/operations.js';
import type { TableStats } from '../row-cache/row-caches.js';
import { RowCaches } from '../row-cache/row-caches.js';
import type { Tokens, Topic } from './topics.js';
import { encodeTokens } from './topics.js';

/** In place of a token, where Redis stores no events. */
const NO_POSITION = '-';

interface TopicEvent {
  readonly topic: Topic;
  /** The event as its source has it, without its token. */
  readonly event: { readonly type: string };
  readonly token: string;
}

/** Subscribes to a topic. Adds its token, if none is given. */
type Opener = (
  topic: Topic,
  tokens: Tokens,
  signal: AbortSignal,
  follower: Principal,
) => Promise<AsyncIterable<TopicEvent>>;

/** Topics to which a stream has subscribed. */
export interface OpenTopics {
  /** Continues at their beginning. */
  readonly token: string;
  readonly events: AsyncIterable<StreamEvent>;
}

/** The events of several topics in one stream. */
@Injectable()
export class TopicEvents {
  readonly #openers: Readonly<Record<Topic['kind'], Opener>> = {
    queue: (...given) => this.#openQueue(...given),
    member: (topic, tokens, signal) => this.#openMember(topic, tokens, signal),
    mailbox: (topic, tokens, signal) => this.#openMailbox(topic, tokens, signal),
    cache: (topic, tokens, signal) => this.#openCache(topic, tokens, signal),
    market: (topic, tokens, signal) => this.#openMarket(topic, tokens, signal),
    overview: async (topic, tokens, signal) => openSampled(topic, tokens, this.overviews.follow(signal)),
    redis: async (topic, tokens, signal) => openSampled(topic, tokens, this.redis.follow(signal)),
    lock: (...given) => this.#openLock('lock', given),
    semaphore: (...given) => this.#openLock('semaphore', given),
    'read-write-lock': (...given) => this.#openLock('read-write-lock', given),
    'rate-limiter': (...given) => this.#openLock('rate-limiter', given),
    locks: (...given) => this.#openLocks('locks', given),
    semaphores: (...given) => this.#openLocks('semaphores', given),
    'rate-limiters': (...given) => this.#openLocks('rate-limiters', given),
    names: async (topic, tokens, signal) =>
      openSampled(topic, tokens, this.names.follow(topic.name as Kind, signal)),
    operation: (topic, tokens, signal) => this.#openOperation(topic, tokens, signal),
    rows: async (topic, tokens, signal) => openSampled(topic, tokens, tablesOf(this.rows.follow(signal))),
    'file-channel': async (topic, tokens, signal) =>
      openSampled(topic, tokens, this.channels.follow(topic.name, signal)),
  };

  constructor(
    private readonly queues: OpenQueues,
    private readonly chats: TenantChats,
    private readonly mailboxes: TenantMailboxes,
    private readonly caches: CacheChanges,
    private readonly market: Market,
    private readonly overviews: OverviewReader,
    private readonly redis: RedisFigures,
    private readonly locks: WatchedLocks,
    private readonly operations: Operations,
    private readonly rows: RowCaches,
    private readonly names: StoredNames,
    private readonly channels: WatchedChannels,
  ) {}

  /**
   * Resolves when it has subscribed to all topics: they yield all that happens from then on, or after the tokens. Throws the problems
   * `unknown-queue`, `unknown-operation` and `invalid-token`.
   */
  async open(
    topics: readonly Topic[],
    given: Tokens,
    signal: AbortSignal,
    follower: Principal,
  ): Promise<OpenTopics> {
    const tokens: Tokens = { ...given };
    const sources = await Promise.all(
      topics.map((topic) => this.#openers[topic.kind](topic, tokens, signal, follower)),
    );
    return { token: encodeTokens(tokens), events: merge(sources, tokens) };
  }

  async #openQueue(
    topic: Topic,
    tokens: Tokens,
    signal: AbortSignal,
    follower: Principal,
  ): Promise<AsyncIterable<TopicEvent>> {
    return this.queues.use(topic.name, async (queue) => {
      const { cursor, events } = await orInvalidToken(() =>
        liveEvents(queue, { after: tokens[topic.id], isReadOnly: follower.isReadOnly, signal }),
      );
      tokens[topic.id] = cursor;
      return named(topic, events);
    });
  }

  async #openLock(
    kind: LockTopic,
    [topic, tokens, signal]: Parameters<Opener>,
  ): Promise<AsyncIterable<TopicEvent>> {
    return openSampled(topic, tokens, this.locks.follow(kind, topic.name, signal));
  }

  async #openLocks(
    kind: ListTopic,
    [topic, tokens, signal]: Parameters<Opener>,
  ): Promise<AsyncIterable<TopicEvent>> {
    return openSampled(topic, tokens, this.locks.followList(kind, signal));
  }

  async #openMember(topic: Topic, tokens: Tokens, signal: AbortSignal): Promise<AsyncIterable<TopicEvent>> {
    const after = tokens[topic.id];
    const events = await openEvents(this.chats.current, topic.name, {
      signal,
      ...(after !== undefined && { after }),
    });
    return (async function* read(): AsyncGenerator<TopicEvent, void> {
      for await (const { token, ...event } of events) yield { topic, event, token };
    })();
  }

  async #openMailbox(topic: Topic, tokens: Tokens, signal: AbortSignal): Promise<AsyncIterable<TopicEvent>> {
    const mailboxes = this.mailboxes.current;
    const token = (tokens[topic.id] ??= positionToken(await mailboxes.status(topic.name)));
    const events = mailboxes.follow(topic.name, { after: positionOf(token), signal });
    return (async function* read(): AsyncGenerator<TopicEvent, void> {
      for await (const event of events) yield { topic, event, token: positionToken(event) };
    })();
  }

  /** Redis stores no changes of caches, so a token only tells that there was a stream before this one. */
  async #openCache(topic: Topic, tokens: Tokens, signal: AbortSignal): Promise<AsyncIterable<TopicEvent>> {
    const isContinued = tokens[topic.id] !== undefined;
    const token = (tokens[topic.id] = NO_POSITION);
    const events = await this.caches.follow(topic.name, signal);
    return (async function* read(): AsyncGenerator<TopicEvent, void> {
      if (isContinued) yield { topic, event: { type: 'reset' }, token };
      for await (const event of events) yield { topic, event, token };
    })();
  }

  async #openOperation(
    topic: Topic,
    tokens: Tokens,
    signal: AbortSignal,
  ): Promise<AsyncIterable<TopicEvent>> {
    const { name: id } = topic;
    if (!(await this.operations.find(id))) throw new Problem('unknown-operation', undefined, { id });
    return openSampled(topic, tokens, lasting(this.operations.follow(id, signal), signal));
  }

  async #openMarket(topic: Topic, tokens: Tokens, signal: AbortSignal): Promise<AsyncIterable<TopicEvent>> {
    const { events: its } = this.market;
    const after = (tokens[topic.id] ??= await its.cursor());
    const events = await orInvalidToken(() => its.follow({ after, signal }));
    return (async function* read(): AsyncGenerator<TopicEvent, void> {
      for await (const { cursor: token, ...event } of events) yield { topic, event, token };
    })();
  }
}

/** The values of an operation end with it, and its topic is quiet then: the other topics of the stream go on. */
async function* lasting<Value>(
  values: AsyncIterable<Value>,
  signal: AbortSignal,
): AsyncGenerator<Value, void> {
  yield* values;
  await aborted(signal);
}

/** Values of now: the first one is where a continued topic goes on. */
function openSampled(
  topic: Topic,
  tokens: Tokens,
  values: AsyncIterable<object | null>,
): AsyncIterable<TopicEvent> {
  const token = (tokens[topic.id] = NO_POSITION);
  return (async function* read(): AsyncGenerator<TopicEvent, void> {
    for await (const value of values) yield { topic, event: { type: topic.kind, ...value }, token };
  })();
}

async function* tablesOf(values: AsyncIterable<readonly TableStats[]>): AsyncGenerator<object, void> {
  for await (const items of values) yield { items };
}

function positionToken({ epoch, lastId }: MailboxPosition): string {
  return `${epoch ?? ''}-${lastId}`;
}

/** Throws the problem `invalid-token`. */
function positionOf(token: string): MailboxPosition {
  const [, epoch, lastId] = /^(\d{0,15})-(\d{1,15})$/.exec(token) ?? [];
  if (lastId === undefined || (Number(epoch) === 0) !== (epoch === '')) throw new Problem('invalid-token');
  return { epoch: epoch ? Number(epoch) : null, lastId: Number(lastId) };
}

async function* named(topic: Topic, events: AsyncIterable<LiveEvent>): AsyncGenerator<TopicEvent, void> {
  for await (const { cursor, ...event } of events) yield { topic, event, token: cursor };
}

async function* merge(
  sources: readonly AsyncIterable<TopicEvent>[],
  tokens: Tokens,
): AsyncGenerator<StreamEvent, void> {
  const merged = new Merged<TopicEvent>();
  for (const source of sources) merged.add(source);
  for await (const { topic, event, token } of merged) {
    tokens[topic.id] = token;
    yield { ...event, topic: topic.text, token: encodeTokens(tokens) };
  }
}

async function orInvalidToken<T>(open: () => T | Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Problem('invalid-token', undefined, {}, { cause: error });
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else onAbort(signal, resolve);
  });
}
