import type { Socket } from 'node:net';
import { connect as connectPlain } from 'node:net';
import { createInterface } from 'node:readline';
import { connect as connectTls } from 'node:tls';
import type { Redis } from 'ioredis';
import { isProtected, protectedServers } from './protected/servers.js';

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
  const closings = await Promise.all(serversOf(redis).map((server) => monitorServer(server, onCommand)));
  return () => {
    for (const close of closings) close();
  };
}

interface Monitored {
  readonly host?: string;
  readonly port?: number;
  readonly isTls?: boolean;
  readonly username?: string;
  readonly password?: string;
}

/** Every master, in a run with protected servers. */
function serversOf(redis: Redis): readonly Monitored[] {
  if (!protectedServers || !isProtected(redis)) return [redis.options as Monitored];
  const { masters, isTls, adminPassword } = protectedServers;
  return masters.map((master) => ({ ...master, isTls, password: adminPassword }));
}

async function monitorServer(
  { host = '127.0.0.1', port = 6379, isTls = false, username, password }: Monitored,
  onCommand: (seen: SeenCommand) => void,
): Promise<() => void> {
  const socket: Socket = isTls ? connectTls({ host, port }) : connectPlain({ host, port });
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
