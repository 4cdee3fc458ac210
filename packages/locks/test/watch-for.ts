import { monitor } from '@mortise/test-kit';
import type { Redis } from 'ioredis';

/** Watches for a command with all of these arguments; `seen` resolves when the server has executed one. */
export async function watchFor(redis: Redis, ...wanted: readonly string[]): Promise<{ seen: Promise<void> }> {
  let see!: () => void;
  const seen = new Promise<void>((resolve) => {
    see = resolve;
  });
  const close = await monitor(redis, ({ args }) => {
    if (!wanted.every((arg) => args.includes(arg))) return;
    see();
    close();
  });
  return { seen };
}
