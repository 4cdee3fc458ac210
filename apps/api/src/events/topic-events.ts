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
  readonly topic: string;
  /** The event as its source has it, without its token. */
  readonly event: { readonly type: string };
  readonly token: string;
}

/** The events of several topics in one stream. */
@Injectable()
export class TopicEvents {
  constructor(
    private readonly queues: OpenQueues,
    private readonly chats: TenantChats,
  ) {}

  /**
   * Resolves when it has subscribed to all topics: it yields all that happens from then on, or after the tokens. Throws the problems
   * `unknown-queue` and `invalid-token`.
   */
  async open(
    topics: readonly Topic[],
    given: Tokens,
    signal: AbortSignal,
  ): Promise<AsyncIterable<StreamEvent>> {
    const tokens: Tokens = { ...given };
    const sources = await Promise.all(
      topics.map((topic) =>
        topic.kind === 'queue'
          ? this.#openQueue(topic, tokens, signal)
          : this.#openMember(topic, tokens, signal),
      ),
    );
    return merge(topics, sources, tokens);
  }

  async #openQueue(
    { text, name }: Topic,
    tokens: Tokens,
    signal: AbortSignal,
  ): Promise<AsyncIterable<TopicEvent>> {
    return this.queues.use(name, async (queue) => {
      const after = (tokens[text] ??= await queue.eventsCursor());
      const events = (from: string): AsyncIterable<QueueEvent> => queue.events({ after: from, signal });
      // Checked now: the reading begins later.
      const first = orInvalidToken(() => events(after));
      return (async function* read(): AsyncGenerator<TopicEvent, void> {
        try {
          yield* named(text, first);
        } catch (error) {
          if (!(error instanceof RangeError)) throw error;
          // The cursor is of a queue of the same name that had other shards.
          const now = await queue.eventsCursor();
          yield { topic: text, event: { type: 'reset' }, token: now };
          yield* named(text, events(now));
        }
      })();
    });
  }

  async #openMember(
    { text, name }: Topic,
    tokens: Tokens,
    signal: AbortSignal,
  ): Promise<AsyncIterable<TopicEvent>> {
    const after = tokens[text];
    const events = await openEvents(this.chats.current, name, {
      signal,
      ...(after !== undefined && { after }),
    });
    return (async function* read(): AsyncGenerator<TopicEvent, void> {
      for await (const { token, ...event } of events) yield { topic: text, event, token };
    })();
  }
}

async function* named(topic: string, events: AsyncIterable<QueueEvent>): AsyncGenerator<TopicEvent, void> {
  for await (const { cursor, ...event } of events) yield { topic, event, token: cursor };
}

async function* merge(
  topics: readonly Topic[],
  sources: readonly AsyncIterable<TopicEvent>[],
  tokens: Tokens,
): AsyncGenerator<StreamEvent, void> {
  yield { type: 'open', topics: topics.map(({ text }) => text), token: encodeTokens(tokens) };
  const merged = new Merged<TopicEvent>();
  for (const source of sources) merged.add(source);
  for await (const { topic, event, token } of merged) {
    tokens[topic] = token;
    yield { ...event, topic, token: encodeTokens(tokens) };
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
