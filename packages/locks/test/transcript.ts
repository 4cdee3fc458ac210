import type { Redis } from 'ioredis';
import * as scripts from '../src/scripts.gen.js';
import { monitor } from './monitor.js';

const names = new Map(Object.values(scripts).map(({ sha1, definition }) => [sha1, definition.name]));

/**
 * The commands that the server executed while `action` ran: scripts by name, and behind them the commands that they
 * called. Run it when nobody else talks to the server.
 */
export async function transcript(redis: Redis, action: () => Promise<unknown>): Promise<string[]> {
  const lines: string[] = [];
  const end = `end of transcript ${Math.random()}`;
  let stop!: () => void;
  const isOver = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const close = await monitor(redis, ({ command, args, isInner }) => {
    if (args.includes(end)) stop();
    else if (isInner) lines.push(`${lines.pop()} ${command}`);
    else lines.push(command.startsWith('evalsha') ? `${names.get(args[0]!)}:` : command);
  });
  try {
    await action();
    await redis.echo(end);
    await isOver;
  } finally {
    close();
  }
  return lines;
}
