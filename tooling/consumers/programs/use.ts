/** A program of another team. It compiles to either form: no `import.meta`, no `await` at its top. */
import { AddressBook, RecentContacts } from '@mortise/autocomplete';
import { Cache } from '@mortise/cache';
import { otelTelemetry } from '@mortise/cache/otel';
import { RowCache } from '@mortise/cache/rows';
import { SqliteSource } from '@mortise/cache/sqlite';
import { consoleHandler } from '@mortise/console';
import type { ConsoleHandler, ConsoleRight } from '@mortise/console';
import { LockTimeoutError, Mutex } from '@mortise/locks';
import { QuorumMutex } from '@mortise/locks/quorum';
import { Chats } from '@mortise/messaging';
import { FileSender } from '@mortise/messaging/files';
import { Queue, Worker } from '@mortise/queues';
import type { TaskContext } from '@mortise/queues';
import { BulkOperations, findTasks } from '@mortise/queues/admin';
import { sandbox } from '@mortise/queues/sandbox';
import { CodedError } from '@mortise/redis';
import { Redis } from 'ioredis';

type Mail = { 'mail.sold': { itemId: string; price: number } };

const redis = new Redis({ lazyConnect: true });
const redises = [redis, new Redis({ port: 1, lazyConnect: true }), new Redis({ port: 2, lazyConnect: true })];
const queue = new Queue<Mail>(redis, 'mail');
const worker = new Worker<Mail>(redis, ['mail'], {
  'mail.sold': async ({ price }, context: TaskContext): Promise<number> => price + context.attempt,
});

export function enqueue(): Promise<{ readonly id: string }> {
  return queue.enqueue('mail.sold', { itemId: 'ring', price: 12 }, { delayMs: 10 });
}

export function isTimeout(error: unknown): error is LockTimeoutError {
  return error instanceof LockTimeoutError && error instanceof CodedError && error.waitMs > 0;
}

export async function held(): Promise<number> {
  const lease = await new Mutex(redis, 'invoice:42', { leaseMs: 10_000 }).acquire({ waitMs: 5_000 });
  return lease.fencingToken;
}

const mountConsole = (): ConsoleHandler =>
  consoleHandler(redis, { authorize: ({ headers }): ConsoleRight => (headers.cookie ? 'change' : 'read') });

export async function removeAll(): Promise<string> {
  const { tasks } = await findTasks(queue, 'ready', { field: 'itemId', equals: 'ring' });
  const names: 'mail.sold'[] = tasks.map(({ name }) => name);
  const { id } = await new BulkOperations(redis).start(queue, { action: 'remove', state: 'ready' });
  return id + names.join();
}

const made = [
  worker,
  new AddressBook(redis, 'guild:7'),
  new RecentContacts(redis),
  new Cache<string>(redis, 'pages', { ttlMs: 1_000 }),
  new Chats(redis),
  new QuorumMutex(redises, 'invoice:42', { leaseMs: 10_000 }),
];
const types = [RowCache, SqliteSource, FileSender, findTasks, sandbox, otelTelemetry, mountConsole].map(
  (one) => typeof one,
);
console.log(made.length, new Set(types).size, isTimeout(new LockTimeoutError('a', 5)));
for (const each of redises) each.disconnect();
