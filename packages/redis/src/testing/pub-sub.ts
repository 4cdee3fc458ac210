/** The subscriptions of all connections. Shard channels are a space of their own, as in Redis. */
import { globOf } from './commands/command.js';

export type ChannelKind = 'plain' | 'shard';

/** A connection that gets messages. */
export interface Listening {
  onMessage(kind: ChannelKind, channel: string, message: string): void;
}

export class PubSub {
  readonly #channels = { plain: new Map<string, Set<Listening>>(), shard: new Map<string, Set<Listening>>() };

  subscribe(who: Listening, kind: ChannelKind, channel: string): void {
    const channels = this.#channels[kind];
    const known = channels.get(channel);
    if (known) known.add(who);
    else channels.set(channel, new Set([who]));
  }

  unsubscribe(who: Listening, kind: ChannelKind, channel: string): void {
    const known = this.#channels[kind].get(channel);
    known?.delete(who);
    if (known?.size === 0) this.#channels[kind].delete(channel);
  }

  /** The channels of a connection. */
  channelsOf(who: Listening, kind: ChannelKind): string[] {
    return [...this.#channels[kind]]
      .filter(([, listening]) => listening.has(who))
      .map(([channel]) => channel);
  }

  forget(who: Listening): void {
    for (const kind of ['plain', 'shard'] as const)
      for (const channel of this.channelsOf(who, kind)) this.unsubscribe(who, kind, channel);
  }

  /** Returns how many connections got it. */
  publish(kind: ChannelKind, channel: string, message: string): number {
    const listening = [...(this.#channels[kind].get(channel) ?? [])];
    for (const each of listening) each.onMessage(kind, channel, message);
    return listening.length;
  }

  count(kind: ChannelKind, channel: string): number {
    return this.#channels[kind].get(channel)?.size ?? 0;
  }

  /** The channels with a subscription. */
  active(kind: ChannelKind, pattern = '*'): string[] {
    const glob = globOf(pattern);
    return Array.from(this.#channels[kind].keys()).filter((channel) => glob.test(channel));
  }
}
