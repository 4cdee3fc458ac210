/** The topics that a WebSocket follows, each by itself: a frame begins one, and another frame ends it. */
import type { Principal } from '../callers/principal.js';
import type { StreamEvent } from '../messaging/live/forward-events.js';
import { Problem } from '../problems/problem.js';
import { inTenant } from '../tenants/tenancy.js';
import type { TopicEvents } from './topic-events.js';
import type { Topic } from './topics.js';
import { decodeTokens, MAX_TOPICS, requireTopic } from './topics.js';

export interface FollowedTopic {
  /** Continues at its beginning. */
  readonly token: string;
  readonly events: AsyncIterable<StreamEvent>;
  /** Aborted when it is not followed any more. */
  readonly signal: AbortSignal;
}

export class FollowedTopics {
  readonly #topics: TopicEvents;
  readonly #principal: Principal;
  readonly #followed = new Map<string, AbortController>();

  constructor(topics: TopicEvents, principal: Principal) {
    this.#topics = topics;
    this.#principal = principal;
  }

  get size(): number {
    return this.#followed.size;
  }

  /**
   * Resolves when it has subscribed. Throws what `requireTopic` and `TopicEvents.open` throw, and the problem `invalid-frame`.
   *
   * @param after The token of an event of the topic.
   */
  async follow(topic: Topic, after: string | undefined): Promise<FollowedTopic> {
    requireTopic(this.#principal, topic);
    if (this.#followed.has(topic.id)) throw new Problem('invalid-frame', 'it is followed already');
    if (this.#followed.size >= MAX_TOPICS)
      throw new Problem('invalid-frame', `a WebSocket follows up to ${MAX_TOPICS} topics`);
    const controller = new AbortController();
    const { signal } = controller;
    // At once: a frame right after this one may end it.
    this.#followed.set(topic.id, controller);
    try {
      const tokens = after === undefined ? {} : decodeTokens(after, [topic]);
      const opened = await inTenant(this.#principal.tenant, () =>
        this.#topics.open([topic], tokens, signal, this.#principal),
      );
      return { ...opened, signal };
    } catch (error) {
      if (this.#followed.get(topic.id) === controller) this.#followed.delete(topic.id);
      controller.abort();
      throw error;
    }
  }

  /** Throws the problem `invalid-frame` for a topic that is not followed. */
  unfollow({ id }: Topic): void {
    const controller = this.#followed.get(id);
    if (!controller) throw new Problem('invalid-frame', 'it is not followed');
    this.#followed.delete(id);
    controller.abort();
  }

  end(): void {
    for (const controller of this.#followed.values()) controller.abort();
    this.#followed.clear();
  }
}
