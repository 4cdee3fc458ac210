import { afterAll } from '@jest/globals';
import { connect, monitor } from '@mortise/test-kit';
import type { Redis } from 'ioredis';
import * as scripts from '../src/scripts.gen.js';

export interface Sent {
  /** The name of a script, or the command. */
  readonly what: string;
  /** On the clock of `performance.now()`. */
  readonly at: number;
}

const names = new Map(
  Object.values(scripts).map(({ sha1, definition }) => [sha1, definition.name as string]),
);
const closing = new Set<() => void>();

afterAll(() => {
  for (const close of closing) close();
});

/** A client of its own, and the list of what it sends, as MONITOR sees it. Both end with the file's tests. */
export async function watched(): Promise<{ client: Redis; sent: Sent[] }> {
  const client = connect();
  await client.ping();
  const { localPort } = (client as unknown as { stream: { localPort: number } }).stream;
  const sent: Sent[] = [];
  const close = await monitor(client, ({ command, args, source }) => {
    if (!source.endsWith(`:${localPort}`)) return;
    sent.push({ what: names.get(args[0] ?? '') ?? command, at: performance.now() });
  });
  closing.add(close);
  return { client, sent };
}
