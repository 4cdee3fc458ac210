/**
 * The lengths of the queues, read at each scrape. They are written as text here: prom-client takes 7 ms for the 900 series of 100 queues,
 * and a scrape would take twice as long.
 */
import { Overviews, Queue } from '@mortise/queues';
import type { QueueOverview } from '@mortise/queues';
import type { RedisClient } from '@mortise/redis';
import { waitFor } from '@mortise/redis';

/** Queues in a scrape, in the order of their names; further ones are counted only. */
const MAX_QUEUES = 100;

/** A scrape doesn't wait longer for Redis. */
const READ_MS = 1_000;

interface GaugeText {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
}

const QUEUES: GaugeText = { name: 'mortise_queues', help: 'Queues that exist', labelNames: [] };
const TASKS: GaugeText = {
  name: 'mortise_queue_tasks',
  help: 'Tasks of a queue by state',
  labelNames: ['queue', 'state'],
};
const WAITING: GaugeText = {
  name: 'mortise_queue_next_task_waiting_seconds',
  help: 'How long the task that workers take next has been in the queue; 0 when none waits',
  labelNames: ['queue'],
};

interface Reading {
  readonly queues: number;
  /** In the order of their names. */
  readonly overviews: readonly (readonly [name: string, overview: QueueOverview])[];
}

/** The gauges of the queues under a prefix. */
export class QueueMetrics {
  readonly #redis: RedisClient;
  readonly #prefix: string;
  readonly #app: string;
  readonly #overviews: Overviews;

  constructor(redis: RedisClient, prefix: string, app: string) {
    this.#redis = redis;
    this.#prefix = prefix;
    this.#app = escaped(app);
    this.#overviews = new Overviews(redis, { prefix });
  }

  /** Without samples while Redis is away: `mortise_redis_up` tells. Two round trips; on Cluster as many calls as shards. */
  async text(): Promise<string> {
    const reading =
      this.#redis.status === 'ready'
        ? await waitFor(this.#read(), { waitMs: READ_MS }).catch(() => undefined)
        : undefined;
    const { queues, overviews } =
      typeof reading === 'object' ? reading : { queues: undefined, overviews: [] };
    const [own, tasks, waiting] = [[] as string[], [] as string[], [] as string[]];
    if (queues !== undefined) own.push(`${QUEUES.name}{app="${this.#app}"} ${queues}`);
    for (const [name, { counts, nextEnqueuedAt }] of overviews) {
      const labels = `app="${this.#app}",queue="${escaped(name)}"`;
      for (const [state, count] of Object.entries(counts))
        tasks.push(`${TASKS.name}{${labels},state="${state}"} ${count}`);
      const seconds = nextEnqueuedAt === null ? 0 : Math.max(0, Date.now() - nextEnqueuedAt) / 1_000;
      waiting.push(`${WAITING.name}{${labels}} ${seconds}`);
    }
    return [...family(QUEUES, own), ...family(TASKS, tasks), ...family(WAITING, waiting), ''].join('\n');
  }

  async #read(): Promise<Reading> {
    const names = await Queue.names(this.#redis, { prefix: this.#prefix });
    const shown = names.toSorted().slice(0, MAX_QUEUES);
    const overviews = await this.#overviews.read(shown);
    return { queues: names.length, overviews: shown.map((name, index) => [name, overviews[index]!]) };
  }
}

function family({ name, help }: GaugeText, samples: readonly string[]): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} gauge`, ...samples];
}

/** As the text format of Prometheus has values of labels. */
function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
