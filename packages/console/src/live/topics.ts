/** The topics of a stream, and the token that continues all of them. */
import type { BulkOperations, LiveEvent, LiveOverview } from '@mortise/queues/admin';
import { liveEvents } from '@mortise/queues/admin';
import { Merged, onAbort } from '@mortise/redis';

import { Problem } from '../http/problem.js';
import type { ConsoleRight } from '../http/http-call.js';
import { queryOf } from '../queues/given.js';
import type { OpenQueues } from '../queues/open-queues.js';
import { shownOperation } from '../queues/operation-routes.js';
import type { TaskViews } from '../queues/task-views.js';

/** The most topics of a stream. */
const MAX_TOPICS = 10;
const MAX_TOKEN_LENGTH = 16_384;
/** In place of a token, where Redis stores no events. */
const NO_POSITION = '-';

/** Of the topics of a stream, by their texts. */
type Tokens = Record<string, string>;

export interface SentEvent {
  readonly type: string;
  /** Continues after the event. */
  readonly token: string;
}

interface TopicEvent {
  readonly topic: string;
  readonly event: { readonly type: string };
  readonly token: string;
}

export class Topics {
  readonly #queues: OpenQueues;
  readonly #overview: LiveOverview;
  readonly #views: TaskViews;
  readonly #operations: BulkOperations;

  constructor(queues: OpenQueues, overview: LiveOverview, views: TaskViews, operations: BulkOperations) {
    this.#queues = queues;
    this.#overview = overview;
    this.#views = views;
    this.#operations = operations;
  }

  /**
   * Resolves when it has subscribed to the topics of the query: they yield all that happens from then on, or after the token. Throws the
   * problems `invalid-query`, `invalid-token`, `unknown-queue` and `unknown-operation`.
   */
  async open(
    query: URLSearchParams,
    lastEventId: string | undefined,
    signal: AbortSignal,
    right: ConsoleRight,
  ): Promise<AsyncIterable<SentEvent>> {
    const { topics: text = '', after } = queryOf(query, ['topics', 'after']);
    const topics = text.split(',');
    if (topics.length > MAX_TOPICS || new Set(topics).size < topics.length)
      throw new Problem('invalid-query', `topics must be 1 to ${MAX_TOPICS} different ones`);
    const given = lastEventId || after;
    const tokens = given === undefined ? {} : decodeTokens(given, topics);
    const sources = await Promise.all(topics.map((topic) => this.#source(topic, tokens, signal, right)));
    return sent(topics, sources, tokens);
  }

  async #source(
    topic: string,
    tokens: Tokens,
    signal: AbortSignal,
    right: ConsoleRight,
  ): Promise<AsyncIterable<TopicEvent>> {
    if (topic === 'overview') {
      tokens[topic] = NO_POSITION;
      return valueEvents(topic, topic, this.#overview.follow(signal));
    }
    const operationId = nameOf(topic, 'operation');
    if (operationId !== undefined) {
      await shownOperation(this.#operations, this.#queues, operationId);
      tokens[topic] = NO_POSITION;
      const values = this.#operations.follow(operationId, { signal });
      return valueEvents(topic, 'operation', lasting(values, signal));
    }
    const name = queueOf(topic);
    return this.#queues.use(name, async (queue) => {
      const options = { after: tokens[topic], isReadOnly: right === 'read', signal };
      const { cursor, events } = await orInvalidToken(() => liveEvents(queue, options));
      tokens[topic] = cursor;
      return this.#named(topic, events);
    });
  }

  async *#named(topic: string, events: AsyncIterable<LiveEvent>): AsyncGenerator<TopicEvent, void> {
    for await (const found of events) {
      const { cursor: token, ...event } = 'at' in found ? this.#views.event(found) : found;
      yield { topic, event, token };
    }
  }
}

/** Throws the problem `invalid-query`. */
function queueOf(topic: string): string {
  const name = nameOf(topic, 'queue');
  if (name !== undefined) return name;
  throw new Problem(
    'invalid-query',
    'topics must be overview, queue:<name> and operation:<id>, with a percent-encoded name',
  );
}

/** The name in a topic of the kind; undefined: it has none. */
function nameOf(topic: string, kind: string): string | undefined {
  const [, word, coded = ''] = /^([a-z]+):(.+)$/su.exec(topic) ?? [];
  if (word !== kind) return undefined;
  try {
    return decodeURIComponent(coded);
  } catch {
    return undefined;
  }
}

async function* valueEvents(
  topic: string,
  type: string,
  values: AsyncIterable<object>,
): AsyncGenerator<TopicEvent, void> {
  for await (const value of values) yield { topic, event: { type, ...value }, token: NO_POSITION };
}

/** The values of an operation end with it, and its topic is quiet then: the other topics of the stream go on. */
async function* lasting<Value>(
  values: AsyncIterable<Value>,
  signal: AbortSignal,
): AsyncGenerator<Value, void> {
  yield* values;
  await aborted(signal);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else onAbort(signal, resolve);
  });
}

async function* sent(
  topics: readonly string[],
  sources: readonly AsyncIterable<TopicEvent>[],
  tokens: Tokens,
): AsyncGenerator<SentEvent, void> {
  const open = { type: 'open', topics, token: encodeTokens(tokens) };
  yield open;
  const merged = new Merged<TopicEvent>();
  for (const source of sources) merged.add(source);
  for await (const { topic, event, token } of merged) {
    tokens[topic] = token;
    yield { ...event, topic, token: encodeTokens(tokens) } as SentEvent;
  }
}

function encodeTokens(tokens: Tokens): string {
  return Buffer.from(JSON.stringify(tokens)).toString('base64url');
}

/** Throws the problem `invalid-token`. */
function decodeTokens(text: string, topics: readonly string[]): Tokens {
  try {
    if (text.length > MAX_TOKEN_LENGTH) throw new RangeError('too long');
    const tokens = Object.entries(JSON.parse(Buffer.from(text, 'base64url').toString()) as Tokens);
    const its = tokens.filter(([topic]) => topics.includes(topic));
    if (its.length === 0 || its.some(([, token]) => typeof token !== 'string'))
      throw new RangeError('of other topics');
    return Object.fromEntries<string>(its);
  } catch (error) {
    throw new Problem('invalid-token', 'is not the id of an event of this stream', {}, { cause: error });
  }
}

async function orInvalidToken<T>(open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Problem('invalid-token', '', {}, { cause: error });
  }
}
