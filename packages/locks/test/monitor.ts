import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import type { Redis } from 'ioredis';

export interface Seen {
  /** In lower case. */
  readonly command: string;
  readonly args: readonly string[];
  /** Whether a script called it. */
  readonly isInner: boolean;
}

/**
 * Shows every command that the server executes from now on; returns the end of it. Not `redis.monitor()`: ioredis takes
 * a command that is seen in the same packet as the reply to MONITOR for the reply to an unknown command.
 */
export async function monitor(redis: Redis, onCommand: (seen: Seen) => void): Promise<() => void> {
  const socket = connect({ host: redis.options.host ?? '127.0.0.1', port: redis.options.port! });
  socket.write('MONITOR\r\n');
  const lines = createInterface({ input: socket });
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject);
    lines.on('line', (line) => {
      if (line === '+OK') resolve();
      const [, source, quoted] = /^\+[\d.]+ \[\d+ (\S+)\] (.*)$/.exec(line) ?? [];
      if (quoted === undefined) return;
      const [command = '', ...args] = Array.from(
        quoted.matchAll(/"((?:[^"\\]|\\.)*)"/g),
        ([, text]) => text!,
      );
      onCommand({ command: command.toLowerCase(), args, isInner: source === 'lua' });
    });
  });
  return () => socket.destroy();
}
