/** Counts stored and cancelled tasks. Each enqueuing call has a span, whose context travels with the tasks. */
import type { SpanEnd, Telemetry, TelemetryAttributes, TraceContext } from '@mortise/redis';
import type { EnqueueOptions } from '../options.js';
import { MAX_HEADERS_BYTES } from '../options.js';
import { metricAttributes, queueAttributes, spanAttributes } from '../telemetry.js';
import { CANCELLED, ENQUEUED } from '../telemetry.js';
import { SafeTelemetry } from '@mortise/redis';

/** A task to be stored, or a tree of them. */
interface Given {
  readonly name: string;
  readonly options?: EnqueueOptions | undefined;
  readonly queue?: string | undefined;
  readonly children?: readonly Given[] | undefined;
}

/** The labels under which a task is counted. */
interface Place {
  readonly queue: string;
  readonly name: string;
}

interface Stored {
  readonly id: string;
  readonly isDuplicate: boolean;
}

export class ProducerTelemetry {
  readonly #telemetry: SafeTelemetry;
  readonly #queue: string;

  /** Undefined without the option. Throws TypeError if the value is not a `Telemetry`. */
  static of(telemetry: Telemetry | undefined, queue: string): ProducerTelemetry | undefined {
    return telemetry === undefined ? undefined : new ProducerTelemetry(telemetry, queue);
  }

  private constructor(telemetry: Telemetry, queue: string) {
    this.#telemetry = new SafeTelemetry(telemetry);
    this.#queue = queue;
  }

  /** Calls `store` at once, with the trace context in the headers of the task and of its children. */
  async send<Task extends Given, Result extends Stored>(
    task: Task,
    store: (traced: Task) => Promise<Result>,
  ): Promise<Result> {
    // Read now: the caller may change the task later.
    const places = this.#placesOf(task);
    const size = sizeOf(task);
    const stored = await this.#inSpan(
      () => (size === 1 ? { 'mortise.task.name': task.name } : { 'messaging.batch.message_count': size }),
      (context) => store(context ? withTrace(task, context) : task),
      ({ id }) => ({ attributes: { 'messaging.message.id': id } }),
    );
    if (!stored.isDuplicate) this.#count(places);
    return stored;
  }

  /** As `send`, for many. */
  async sendMany<Task extends Given, Result extends Stored>(
    tasks: readonly Task[],
    store: (traced: readonly Task[]) => Promise<Result[]>,
  ): Promise<Result[]> {
    const places = Array.isArray(tasks) ? tasks.map((task: Given) => this.#placesOf(task)) : [];
    const stored = await this.#inSpan(
      () => ({ 'messaging.batch.message_count': places.length }),
      (context) => store(context ? tasks.map((task) => withTrace(task, context)) : tasks),
      () => ({}),
    );
    this.#count(places.filter((_, index) => !stored[index]!.isDuplicate).flat());
    return stored;
  }

  cancelled(tasks: number): void {
    this.#telemetry.count(CANCELLED, tasks, queueAttributes(this.#queue));
  }

  async #inSpan<Result>(
    attributes: () => TelemetryAttributes,
    act: (context: TraceContext | undefined) => Promise<Result>,
    ended: (result: Result) => SpanEnd,
  ): Promise<Result> {
    const span = this.#telemetry.span(() => ({
      name: `send ${this.#queue}`,
      kind: 'producer',
      attributes: { ...spanAttributes('send', this.#queue), ...attributes() },
    }));
    if (!span) return act(undefined);
    try {
      const result = await span.run(() => act(span.traceContext));
      span.end(ended(result));
      return result;
    } catch (error) {
      span.end({ error });
      throw error;
    }
  }

  /** A task and its children. Invalid values are skipped here and refused later. */
  #placesOf(task: Given): Place[] {
    if (typeof task !== 'object' || task === null) return [];
    const { queue = this.#queue, name, children } = task;
    const below = Array.isArray(children) ? children.flatMap((child: Given) => this.#placesOf(child)) : [];
    return [{ queue, name }, ...below];
  }

  #count(places: readonly Place[]): void {
    const counts = new Map<string, Map<string, number>>();
    for (const { queue, name } of places) {
      const names = counts.get(queue) ?? new Map<string, number>();
      counts.set(queue, names.set(name, (names.get(name) ?? 0) + 1));
    }
    for (const [queue, names] of counts) {
      for (const [name, count] of names) {
        this.#telemetry.count(ENQUEUED, count, metricAttributes(queue, name));
      }
    }
  }
}

/** An invalid tree counts as one task here and is refused later. */
function sizeOf({ children }: Given): number {
  if (!Array.isArray(children)) return 1;
  return children.reduce((size: number, child: Given) => size + sizeOf(child), 1);
}

/**
 * Keeps a trace context that the caller has set, and headers that leave no room for one. Invalid options or headers stay unchanged
 * here and are refused later.
 */
function withTrace<Task extends Given>(task: Task, context: TraceContext): Task {
  const { options = {}, children } = task;
  const traced = Array.isArray(children)
    ? { ...task, children: children.map((child: Given) => withTrace(child, context)) }
    : task;
  if (!isPlain(options)) return traced;
  const { headers = {} } = options;
  if (!isPlain(headers) || 'traceparent' in headers) return traced;
  const { traceparent, tracestate } = context;
  const trace = { traceparent, ...(tracestate !== undefined && { tracestate }) };
  const all: Readonly<Record<string, unknown>> = { ...headers, ...trace };
  if (!hasRoom(all)) return traced;
  return { ...traced, options: { ...options, headers: all as Record<string, string> } };
}

/** Whether these can be stored, as `resolveHeaders` decides. */
function hasRoom(headers: Readonly<Record<string, unknown>>): boolean {
  if (!Object.values(headers).every((value) => typeof value === 'string')) return false;
  return Buffer.byteLength(JSON.stringify(headers)) <= MAX_HEADERS_BYTES;
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
