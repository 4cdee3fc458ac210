import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { monitor } from './monitor.js';

export interface TranscriptScope {
  readonly prefix: string;
  /** The scripts of the package, to show them by their names. */
  readonly scripts?: Readonly<
    Record<string, { readonly sha1: string; readonly definition: { readonly name: string } }>
  >;
}

/**
 * The commands that the server executed while `action` ran: those of `redis`, and those of others that name the prefix.
 * One line each: the command, the script, and the keys without the prefix; below it, indented, the calls of the script.
 */
export async function transcript(
  redis: Redis,
  { prefix, scripts = {} }: TranscriptScope,
  action: () => Promise<unknown>,
): Promise<string[]> {
  const names = new Map(Object.values(scripts).map(({ sha1, definition }) => [sha1, definition.name]));
  const lines: string[] = [];
  const mark = `transcript ${randomUUID()}`;
  let ownSource: string | undefined;
  let isOurs = false;
  let end!: () => void;
  const isOver = new Promise<void>((resolve) => {
    end = resolve;
  });
  const close = await monitor(redis, ({ command, args, source }) => {
    if (args[0] === mark) {
      if (ownSource !== undefined) end();
      ownSource = source;
      return;
    }
    if (ownSource === undefined) return;
    const keys = args
      .filter((arg) => arg.startsWith(`${prefix}:`))
      .map((key) => key.slice(prefix.length + 1));
    const isInner = source === 'lua';
    // A script runs alone: what is called in it follows it.
    if (!isInner) isOurs = source === ownSource || keys.length > 0;
    if (!isOurs) return;
    const script = command.startsWith('evalsha') ? names.get(args[0]!) : undefined;
    const words = script === undefined ? [command, ...keys] : [command, script, ...keys];
    lines.push(`${isInner ? '  ' : ''}${words.join(' ')}`);
  });
  try {
    await redis.echo(mark);
    await action();
    await redis.echo(mark);
    await isOver;
  } finally {
    close();
  }
  return lines;
}
