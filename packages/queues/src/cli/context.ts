/** Everything that a command works with. */
import type { RedisClient } from '@mortise/redis';
import type { Arguments, Command } from './usage.js';

export interface Context extends Arguments {
  readonly command: Command;
  readonly redis: RedisClient;
  /** A client for another server, closed at the end. */
  readonly connect: (url: string, isCluster: boolean) => RedisClient;
  /** Options for `Queue`. */
  readonly prefix: { readonly prefix?: string };
  /** Prints the text, or the value as JSON with `--json`. */
  readonly print: (value: unknown, text: string) => void;
  readonly complain: (text: string) => void;
}
