/** The metrics of the packages, in the form of Prometheus. */
import type { Metric, Telemetry, TelemetryAttributes } from '@mortise/redis';
import { Counter, Histogram } from 'prom-client';
import type { Registry } from 'prom-client';

/** The labels, and the attributes that they come from. Others are left out: every value is a series of its own. */
const LABELS: Readonly<Record<string, string>> = {
  'messaging.destination.name': 'queue',
  'mortise.task.name': 'task',
  'mortise.cache.name': 'cache',
  'mortise.cache.kind': 'kind',
  'mortise.cache.result': 'result',
  'mortise.cache.outcome': 'outcome',
  'mortise.locks.kind': 'kind',
  'mortise.locks.outcome': 'outcome',
  'mortise.locks.reason': 'reason',
  'mortise.messaging.kind': 'kind',
  'mortise.messaging.direction': 'direction',
  'mortise.messaging.event': 'event',
  'mortise.autocomplete.kind': 'kind',
};
const LABEL_NAMES = [...new Set(Object.values(LABELS))];

/** Labels whose values are names that users choose: the most values of each. Further ones are `other`. */
const NAMES: ReadonlySet<string> = new Set(['queue', 'task', 'cache']);
const MAX_NAMES = 100;

const SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 600, 3_600];
const COUNTS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];

type Labels = Partial<Record<string, string>>;

/**
 * Counts into the registry. Names are those of the packages with `_`: `mortise.queues.wait` is `mortise_queues_wait_seconds`, and counters
 * end in `_total`.
 */
export class PrometheusTelemetry implements Telemetry {
  readonly #registry: Registry;
  /** By the name of the metric. */
  readonly #counters = new Map<string, Counter>();
  readonly #histograms = new Map<string, Histogram>();
  readonly #names = new Map<string, Set<string>>();

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  count(metric: Metric, value: number, attributes: TelemetryAttributes): void {
    this.#counter(metric).inc(this.#labelsOf(attributes), value);
  }

  record(metric: Metric, value: number, attributes: TelemetryAttributes): void {
    this.#histogram(metric).observe(this.#labelsOf(attributes), value);
  }

  #counter(metric: Metric): Counter {
    const known = this.#counters.get(metric.name);
    if (known) return known;
    const counter = new Counter({
      name: `${nameOf(metric)}_total`,
      help: metric.description,
      labelNames: LABEL_NAMES,
      registers: [this.#registry],
    });
    this.#counters.set(metric.name, counter);
    return counter;
  }

  #histogram(metric: Metric): Histogram {
    const known = this.#histograms.get(metric.name);
    if (known) return known;
    const isTime = metric.unit === 's';
    const histogram = new Histogram({
      name: nameOf(metric) + (isTime ? '_seconds' : ''),
      help: metric.description,
      labelNames: LABEL_NAMES,
      buckets: isTime ? SECONDS : COUNTS,
      registers: [this.#registry],
    });
    this.#histograms.set(metric.name, histogram);
    return histogram;
  }

  #labelsOf(attributes: TelemetryAttributes): Labels {
    const labels: Labels = {};
    for (const [attribute, value] of Object.entries(attributes)) {
      const label = LABELS[attribute];
      if (label !== undefined) labels[label] = this.#bounded(label, String(value));
    }
    return labels;
  }

  #bounded(label: string, value: string): string {
    if (!NAMES.has(label)) return value;
    const known = this.#names.get(label) ?? new Set<string>();
    this.#names.set(label, known);
    if (known.has(value)) return value;
    if (known.size >= MAX_NAMES) return 'other';
    known.add(value);
    return value;
  }
}

function nameOf({ name }: Metric): string {
  return name.replaceAll(/[^a-zA-Z0-9]/g, '_');
}
