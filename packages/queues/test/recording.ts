/** A `Telemetry` that records its calls. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { SpanEnd, SpanStart, Telemetry, TelemetryAttributes, TelemetrySpan } from '@mortise/redis';

export interface RecordedSpan extends SpanStart {
  readonly traceparent: string;
  ended?: SpanEnd;
}

export class Recording implements Telemetry {
  readonly counted: {
    readonly name: string;
    readonly value: number;
    readonly attributes: TelemetryAttributes;
  }[] = [];
  readonly recorded: typeof this.counted = [];
  readonly spans: RecordedSpan[] = [];
  readonly present = new AsyncLocalStorage<RecordedSpan>();

  constructor(readonly firstAttempt?: 'link' | 'parent') {}

  count({ name }: { readonly name: string }, value: number, attributes: TelemetryAttributes): void {
    this.counted.push({ name, value, attributes });
  }

  record({ name }: { readonly name: string }, value: number, attributes: TelemetryAttributes): void {
    this.recorded.push({ name, value, attributes });
  }

  span(start: SpanStart): TelemetrySpan {
    const id = String(this.spans.length + 1).padStart(16, '0');
    const span: RecordedSpan = { ...start, traceparent: `00-${'a'.repeat(32)}-${id}-01` };
    this.spans.push(span);
    return {
      traceContext: { traceparent: span.traceparent, tracestate: 'vendor=1' },
      run: (act) => this.present.run(span, act),
      end: (how) => {
        if (span.ended) throw new Error('a span has ended twice');
        span.ended = how;
      },
    };
  }

  /** How much of each counter there is, without what it is part of. */
  get totals(): Readonly<Record<string, number>> {
    const totals: Record<string, number> = {};
    for (const { name, value } of this.counted) {
      const short = name.replace('mortise.queues.', '');
      totals[short] = (totals[short] ?? 0) + value;
    }
    return totals;
  }
}
