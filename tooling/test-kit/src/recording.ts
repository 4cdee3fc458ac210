import { AsyncLocalStorage } from 'node:async_hooks';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The types of `Telemetry` of @mortise/redis, which this package can't import: the tests of that one import this one. */
type Attributes = Readonly<Record<string, string | number | boolean>>;

interface Metric {
  readonly name: string;
  readonly unit: string;
}

interface SpanStart {
  readonly name: string;
  readonly kind: 'producer' | 'consumer';
  readonly attributes: Attributes;
  readonly parent?: { readonly traceparent: string } | undefined;
  readonly links?: readonly { readonly traceparent: string }[] | undefined;
}

interface SpanEnd {
  readonly attributes?: Attributes | undefined;
  readonly error?: unknown;
}

export interface Recorded {
  readonly name: string;
  readonly value: number;
  readonly attributes: Attributes;
}

export interface RecordedSpan extends SpanStart {
  readonly traceparent: string;
  ended?: SpanEnd;
}

/** A `Telemetry` that keeps its calls. */
export class Recording {
  readonly counted: Recorded[] = [];
  readonly recorded: Recorded[] = [];
  readonly spans: RecordedSpan[] = [];
  readonly present = new AsyncLocalStorage<RecordedSpan>();

  constructor(readonly firstAttempt?: 'link' | 'parent') {}

  count({ name }: Metric, value: number, attributes: Attributes): void {
    this.counted.push({ name, value, attributes });
  }

  record({ name }: Metric, value: number, attributes: Attributes): void {
    if (!(value >= 0)) throw new RangeError(`${name} is ${value}`);
    this.recorded.push({ name, value, attributes });
  }

  span(start: SpanStart) {
    const id = String(this.spans.length + 1).padStart(16, '0');
    const span: RecordedSpan = { ...start, traceparent: `00-${'a'.repeat(32)}-${id}-01` };
    this.spans.push(span);
    return {
      traceContext: { traceparent: span.traceparent, tracestate: 'vendor=1' },
      run: <Result>(act: () => Result): Result => this.present.run(span, act),
      end: (how: SpanEnd): void => {
        if (span.ended) throw new Error('a span has ended twice');
        span.ended = how;
      },
    };
  }

  /** The sum of each counter, and how often each histogram was given a value: `{ enqueued: 3 }`. */
  get totals(): Record<string, number> {
    return this.#sums(() => []);
  }

  /** The same by the values of the attributes: `{ 'reads entries pages hit': 3 }`, without `messaging.system`. */
  get counts(): Record<string, number> {
    return this.#sums((attributes) =>
      Object.entries(attributes).flatMap(([name, value]) => (name === 'messaging.system' ? [] : [value])),
    );
  }

  #sums(keyOf: (attributes: Attributes) => readonly unknown[]): Record<string, number> {
    const sums: Record<string, number> = {};
    const add = ({ name, attributes }: Recorded, value: number): void => {
      const key = [name.replace(/^mortise\.\w+\./, ''), ...keyOf(attributes)].join(' ');
      sums[key] = (sums[key] ?? 0) + value;
    };
    for (const each of this.counted) add(each, each.value);
    for (const each of this.recorded) add(each, 1);
    return sums;
  }
}

/** The metrics in the tables of a package's document: `expect(listedMetrics(root)).toEqual(namesAndUnits(METRICS))`. */
export function listedMetrics(root: string, document = 'README.md'): Metric[] {
  const text = readFileSync(join(root, document), 'utf8');
  return Array.from(
    text.matchAll(/^\| `(mortise\.\w+\.[\w.]+)` +\| `([^`]+)`/gm),
    ([, name = '', unit = '']) => ({ name, unit }),
  );
}

export function namesAndUnits(metrics: readonly Metric[]): Metric[] {
  return metrics.map(({ name, unit }) => ({ name, unit }));
}
