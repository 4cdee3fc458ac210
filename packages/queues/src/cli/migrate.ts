/** The command `migrate`. */
import type { RedisClient } from '@mortise/redis';
import { callRedis } from '@mortise/redis';
import { BeeQueueSource } from '../migrate/bee-queue-source.js';
import { BullmqSource } from '../migrate/bullmq-source.js';
import type { Moved } from '../migrate/migration.js';
import { Migration } from '../migrate/migration.js';
import type { Source } from '../migrate/source.js';
import { Queue } from '../queue.js';
import { Shards } from '../shard/shards.js';
import type { Context } from './context.js';
import { plain } from './text.js';
import { numberOf, singleName, UsageError, USAGES } from './usage.js';

const DEFAULT_PREFIXES = { bullmq: 'bull', 'bee-queue': 'bq' } as const;

export async function migrate(context: Context): Promise<0 | 1> {
  const { redis, prefix, names, values, print } = context;
  const queue = new Queue(redis, singleName('migrate', names), prefix);
  const source = await sourceOf(context, queue, await sourceClient(context));
  if (values['dry-run']) {
    const counts = await Migration.count(source);
    print(counts, linesOf('found', counts));
    return 0;
  }
  const perSecond = values['per-second'];
  const shards = new Shards(redis, queue.name, prefix.prefix);
  const options = perSecond === undefined ? {} : { perSecond: numberOf('--per-second', perSecond) };
  const done: Moved = await new Migration(source, queue, shards, options).run();
  print(done, linesOf('moved', done.moved) + linesOf('left', done.left));
  return Object.keys(done.left).length === 0 ? 0 : 1;
}

/** `--cluster` is that of the new queue: the old server says itself what it is. */
async function sourceClient({ redis, values, connect }: Context): Promise<RedisClient> {
  const url = values['from-redis'];
  if (url === undefined) return redis;
  const server = connect(url, false);
  const info = String(await callRedis(server, 'info', ['cluster']));
  return info.includes('cluster_enabled:1') ? connect(url, true) : server;
}

async function sourceOf({ values }: Context, queue: Queue, redis: RedisClient): Promise<Source> {
  const {
    'from-bullmq': bullmq,
    'from-bee-queue': beeQueue,
    'from-prefix': prefix,
    name,
    completed,
  } = values;
  if (
    (bullmq === undefined) === (beeQueue === undefined) ||
    (beeQueue === undefined) !== (name === undefined)
  )
    throw new UsageError(`usage: mortise-queues migrate ${USAGES.migrate.syntax}`);
  if (bullmq !== undefined) {
    const { priorities } = await queue.settings();
    return new BullmqSource(redis, prefix ?? DEFAULT_PREFIXES.bullmq, bullmq, completed ?? false, priorities);
  }
  if (completed) throw new UsageError('--completed goes with --from-bullmq');
  return new BeeQueueSource(redis, prefix ?? DEFAULT_PREFIXES['bee-queue'], beeQueue!, name!);
}

function linesOf(verb: string, counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([what, count]) => `${verb} ${count} ${plain(what)}\n`)
    .join('');
}
