import { callRedis, TIMED_OUT, waitFor } from '@mortise/redis';
import type { RedisClient, Telemetry } from '@mortise/redis';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';

import type { Tracing } from '../tracing/index.js';
import { PrometheusTelemetry } from './prometheus-telemetry.js';
import { QueueMetrics } from './queue-metrics.js';

/** A scrape doesn't wait longer for Redis. */
const PING_MS = 1_000;

/** The metrics of an app: those of its process, of the packages, of the queues, and of Redis. */
export class Metrics {
  readonly registry = new Registry();
  /** For the `telemetry` of the packages: counts and times for Prometheus, and spans if traces are recorded. */
  readonly telemetry: Telemetry;
  /** The same without the metrics, for names that would each be a series of their own. */
  readonly spans: Telemetry | undefined;

  readonly #app: string;
  #queues: QueueMetrics | undefined;

  constructor(app: string, tracing?: Tracing) {
    this.#app = app;
    const prometheus = new PrometheusTelemetry(this.registry);
    this.spans = tracing?.telemetry;
    this.telemetry = {
      count: (metric, value, attributes) => prometheus.count(metric, value, attributes),
      record: (metric, value, attributes) => prometheus.record(metric, value, attributes),
      ...this.spans,
    };
    this.registry.setDefaultLabels({ app });
    collectDefaultMetrics({ register: this.registry });
  }

  /** A scrape, in the text format of Prometheus. */
  async text(): Promise<string> {
    const [others, queues = ''] = await Promise.all([this.registry.metrics(), this.#queues?.text()]);
    return others + queues;
  }

  /** Adds those that are read from Redis at each scrape. */
  watch(redis: RedisClient, prefix: string): void {
    const up = new Gauge({
      name: 'mortise_redis_up',
      help: '1 when Redis answered during the scrape, else 0',
      registers: [this.registry],
      collect: async () => {
        const startedAt = performance.now();
        if (redis.status !== 'ready') {
          up.set(0);
          return;
        }
        const isUp = await waitFor(callRedis(redis, 'ping', []), { waitMs: PING_MS }).then(
          (reply) => reply !== TIMED_OUT,
          () => false,
        );
        up.set(isUp ? 1 : 0);
        if (isUp) rtt.set((performance.now() - startedAt) / 1_000);
      },
    });
    const rtt = new Gauge({
      name: 'mortise_redis_ping_seconds',
      help: 'How long Redis took to answer PING during the scrape',
      registers: [this.registry],
    });
    this.#queues = new QueueMetrics(redis, prefix, this.#app);
  }
}
