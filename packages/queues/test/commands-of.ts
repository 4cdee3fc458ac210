import { randomUUID } from 'node:crypto';
import { afterAll } from '@jest/globals';
import { connect, monitor } from '@mortise/test-kit';
import type { Redis } from 'ioredis';
import * as scripts from '../src/scripts.gen.js';

export interface Sent {
  /** The name of a script, or the command. */
  readonly what: string;
  /** When it was executed, on the server's clock, ms. */
  readonly at: number;
}

const names = new Map(
  Object.values(scripts).map(({ sha1, definition }) => [sha1, definition.name as string]),
);
const closing = new Set<() => void>();

afterAll(() => {
  for (const close of closing) close();
});

export interface Watched {
  readonly client: Redis;
  /** The commands of the client, as MONITOR sees them. */
  readonly sent: Sent[];
  /** Resolves when nothing is under way any more, nor follows from an answer, and `sent` has all of it. */
  readonly quiet: () => Promise<void>;
}

/** A client of its own, which ends with the file's tests. */
export async function watched(): Promise<Watched> {
  const client = connect();
  await client.ping();
  const { localPort } = (client as unknown as { stream: { localPort: number } }).stream;
  const sent: Sent[] = [];
  const marks = new Map<string, () => void>();
  const close = await monitor(client, ({ command, args, source, at }) => {
    if (!source.endsWith(`:${localPort}`)) return;
    const isSeen = marks.get(args[0] ?? '');
    if (isSeen) isSeen();
    else sent.push({ what: names.get(args[0] ?? '') ?? command, at });
  });
  closing.add(close);
  const mark = async (): Promise<void> => {
    const text = randomUUID();
    await Promise.all([client.echo(text), new Promise<void>((resolve) => marks.set(text, resolve))]);
    marks.delete(text);
  };
  const quiet = async (): Promise<void> => {
    for (let before = -1; before !== sent.length;) {
      before = sent.length;
      // With the first one all that was under way is answered, and what follows from that comes before the second one.
      await mark();
      await mark();
    }
  };
  return { client, sent, quiet };
}
