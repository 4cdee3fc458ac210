/** The server as the world has it: it executes what it is given at once, and its replies and messages go into the hands of the world. */
import type { CommandArgument } from '@mortise/redis';

/** The reply of the server to a command, or its error. */
export interface Outcome {
  readonly error?: unknown;
  readonly reply?: unknown;
}

export type OnPush = (event: string, channel: Buffer, message: Buffer) => void;

/** A connection as the server has it. */
export interface Link {
  execute(
    kind: 'call' | 'callBuffer',
    command: string,
    args: CommandArgument[],
    onReply: (outcome: Outcome) => void,
  ): void;
  /** Ends it for the server, with its subscriptions. */
  close(): void;
}

export interface Engine {
  connect(onPush: OnPush): Link;
  /** Forgets all scripts. */
  flushScripts(): void;
  /** Deletes all keys. */
  flushAll(): void;
  /** Resolves when the server has done all that it was given; undefined if it has. */
  settled(): Promise<void> | undefined;
}

/** Makes a server for each run; one run at a time. */
export interface Engines {
  /** An empty server. @param now ms since the epoch, with fractions. */
  make(now: () => number): Engine;
}
