/** Reads a follower in the background, as an application would, and keeps what it got. */
import type { ChatEvent, Chats, FollowOptions } from '@mortise/messaging';
import { until } from '@mortise/test-kit';

export class Reader {
  readonly events: ChatEvent[] = [];
  readonly isOver: Promise<void>;
  error: unknown;
  readonly #controller = new AbortController();
  #hold: Promise<void> | undefined;
  #release: (() => void) | undefined;

  constructor(
    chats: Chats,
    member: string,
    options: Omit<FollowOptions, 'signal'> = {},
    onEvent: (event: ChatEvent) => Promise<unknown> | void = () => undefined,
  ) {
    const reading = async (): Promise<void> => {
      for await (const event of chats.follow(member, { ...options, signal: this.#controller.signal })) {
        this.events.push(event);
        await onEvent(event);
        await this.#hold;
      }
    };
    this.isOver = reading().catch((error: unknown) => {
      if (!this.#controller.signal.aborted) this.error = error;
    });
  }

  /** Of the last event; undefined when there was none. */
  get token(): string | undefined {
    return this.events.at(-1)?.token;
  }

  /** Each event as a short text: `guild:1` a message, else `guild gap 1-2`, `guild joined bob`. */
  get texts(): string[] {
    return this.events.map(textOf);
  }

  /** The ids of messages, edits and deletions of one chat, in the order in which they came. */
  ids(chatId: string): number[] {
    return this.events.flatMap((event) =>
      event.chatId === chatId && 'message' in event ? [event.message.id] : [],
    );
  }

  /** Reads no further, once it has the event that it waits for. */
  hold(): void {
    this.#hold ??= new Promise((resolve) => {
      this.#release = resolve;
    });
  }

  release(): void {
    this.#release?.();
    this.#hold = undefined;
  }

  async has(count: number): Promise<void> {
    await until(
      `${count} events, of which there are ${this.events.length}`,
      () => this.events.length >= count,
    );
  }

  async hasText(text: string): Promise<void> {
    await until(text, () => {
      if (this.error) throw this.error;
      return this.texts.includes(text);
    });
  }

  async stop(): Promise<void> {
    this.#controller.abort();
    this.release();
    await this.isOver;
  }
}

export function textOf(event: ChatEvent): string {
  const { chatId, type } = event;
  if ('message' in event) {
    const { id, revises } = event.message;
    return revises === undefined ? `${chatId}:${id}` : `${chatId}:${id} ${type} ${revises}`;
  }
  if (event.type === 'gap') return `${chatId} gap ${event.fromId}-${event.toId}`;
  if (event.type === 'presence') return `${chatId} presence ${event.member} ${event.status}`;
  return 'member' in event ? `${chatId} ${type} ${event.member}` : `${chatId} ${type}`;
}
