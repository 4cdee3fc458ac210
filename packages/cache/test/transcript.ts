import type { Redis } from 'ioredis';

/**
 * The commands that the server executed while `action` ran and that name `prefix`, as MONITOR saw them: one line each,
 * those of a script indented, keys without the prefix, and other arguments as `…`.
 */
export async function transcript(
  redis: Redis,
  prefix: string,
  action: () => Promise<unknown>,
): Promise<string[]> {
  const monitor = await redis.monitor();
  const lines: string[] = [];
  const end = `${prefix}:end`;
  const isOver = new Promise<void>((resolve) => {
    monitor.on('monitor', (_at: string, args: string[], source: string) => {
      if (args.includes(end)) return resolve();
      const keys = args
        .filter((arg) => arg.startsWith(`${prefix}:`))
        .map((key) => key.slice(prefix.length + 1));
      if (keys.length > 0)
        lines.push(`${source === 'lua' ? '  ' : ''}${args[0]!.toLowerCase()} ${keys.join(' ')}`);
    });
  });
  try {
    await action();
    await redis.echo(end);
    await isOver;
  } finally {
    monitor.disconnect();
  }
  return lines;
}
