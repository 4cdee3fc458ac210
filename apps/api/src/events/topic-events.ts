import { Injectable } from '@nestjs/common';
import type { QueueEvent } from '@mortise/queues';

import type { StreamEvent } from '../messaging/live/forward-events.js';
import { openEvents } from '../messaging/live/open-events.js';
import { TenantChats } from '../messaging/tenant-messaging.js';
import { Problem } from '../problems/problem.js';
import { OpenQueues } from '../queues/open-queues.js';
import { Merged } from './merged.js';
import type { Tokens, Topic } from './topics.js';
import { encodeTokens } from './topics.js';

interface TopicEvent {
  readonly topic: Topic;
  /** The event as its source has it, without its token. */
  readonly event: { readonly type: string };
  readonly token: string;
}

/** Topics to which a stream has subscribed. */
export interface OpenTopics {
  /** Continues at their beginning. */
  readonly token: string;
  readonly events: AsyncIterable<StreamEvent>;
}

/** The events of several topics in one stream. */
@Injectable()
export class TopicEvents {
  constructor(
    private readonly queues: OpenQueues,
    private readonly chats: TenantChats,
  ) {}

  /**
   * Resolves when it has subscribed to all topics: they yield all that happens from then on, or after the tokens. Throws the problems
   * `unknown-queue` and `invalid-token`.
   */
  async open(topics: readonly Topic[], given: Tokens, signal: AbortSignal): Promise<OpenTopics> {
    const tokens: Tokens = { ...given };
    const sources = await Promise.all(
      topics.map((topic) =>
        topic.kind === 'queue'
          ? this.#openQueue(topic, tokens, signal)
          : this.#openMember(topic, tokens, signal),
      ),
    );
    return { token: encodeTokens(tokens), events: merge(sources, tokens) };
  }

  async #openQueue(topic: Topic, tokens: Tokens, signal: AbortSignal): Promise<AsyncIterable<TopicEvent>> {
    return this.queues.use(topic.name, async (queue) => {
      const after = (tokens[topic.id] ??= await queue.eventsCursor());
      const events = (from: string): AsyncIterable<QueueEvent> => queue.events({ after: from, signal });
      // Checked now: the reading begins later.
      const first = orInvalidToken(() => events(after));
      return (async function* read(): AsyncGenerator<TopicEvent, void> {
        try {
          yield* named(topic, first);
        } catch (error) {
          if (!(error instanceof RangeError)) throw error;
          // The cursor is of a queue of the same name that had other shards.
          const now = await queue.eventsCursor();
          yield { topic, event: { type: 'reset' }, token: now };
          yield* named(topic, events(now));
        }
      })();
    });
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
}

async function* named(topic: Topic, events: AsyncIterable<QueueEvent>): AsyncGenerator<TopicEvent, void> {
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

function orInvalidToken<T>(open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Problem('invalid-token', undefined, {}, { cause: error });
  }
}
