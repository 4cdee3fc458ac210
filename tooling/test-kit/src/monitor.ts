import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import type { Redis } from 'ioredis';

export interface SeenCommand {
  /** In lower case. */
  readonly command: string;
  /** As MONITOR prints them: with `\"`, `\n` and `\x00` where a byte is no plain character. */
  readonly args: readonly string[];
  /** The address of the connection that sent it, or `lua` when a script called it. */
  readonly source: string;
  /** When it was executed, on the server's clock, ms. */
  readonly at: number;
}

function request(...args: readonly string[]): string {
  const bulks = args.map((arg) => `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`);
  return `*${args.length}\r\n${bulks.join('')}`;
}

/**
 * Shows every command that the server of `redis` executes from now on; returns what ends it. Not `redis.monitor()`:
 * ioredis takes a command that is seen in the same packet as the reply to MONITOR for the reply to an unknown command.
 */
export async function monitor(redis: Redis, onCommand: (seen: SeenCommand) => void): Promise<() => void> {
  const { host = '127.0.0.1', port = 6379, username, password } = redis.options;
  const socket = connect({ host, port });
  const requests = [request('MONITOR')];
  if (password) requests.unshift(request('AUTH', username ?? 'default', password));
  socket.write(requests.join(''));
  const lines = createInterface({ input: socket });
  let replies = 0;
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject);
    lines.on('line', (line) => {
      if (line.startsWith('-')) socket.destroy(new Error(line));
      if (line === '+OK' && (replies += 1) === requests.length) resolve();
      const [, seconds, source, quoted] = /^\+([\d.]+) \[\d+ (\S+)\] (.*)$/.exec(line) ?? [];
      if (source === undefined || quoted === undefined) return;
      const [command = '', ...args] = Array.from(
        quoted.matchAll(/"((?:[^"\\]|\\.)*)"/g),
        ([, text]) => text!,
      );
      onCommand({ command: command.toLowerCase(), args, source, at: Number(seconds) * 1_000 });
    });
  });
  return () => socket.destroy();
}
