/** A task as the page shows it: cut, and without secrets. */
import type { QueueEvent, Task } from '@mortise/queues';
import type { FlowChild } from '@mortise/queues/admin';
import { cutJson, Redactor } from '@mortise/queues/admin';

import { present } from './given.js';

type AnyTask = Task<Record<string, unknown>>;

export class TaskViews {
  readonly #redactor: Redactor;

  /** @param redact Names of members whose values are hidden. */
  constructor(redact: readonly string[]) {
    this.#redactor = new Redactor(redact);
  }

  /** Whether a search for the value of a path of members would reveal a hidden one. */
  hides(field: string, equals: unknown): boolean {
    return this.#redactor.hides(field, typeof equals === 'string' ? equals : undefined);
  }

  /** @param maxBytes A longer payload or result is cut. */
  task(queue: string, task: AnyTask, maxBytes: number | undefined): object {
    const { payload, result, progress, headers, logs, ...others } = task;
    const [sent, returned] = [
      cutJson(this.#shown(payload), maxBytes),
      cutJson(this.#shown(result), maxBytes),
    ];
    return present({
      ...others,
      queue,
      headers: this.#shown(headers),
      logs: logs?.map(({ text, ...line }) => ({ ...line, text: this.#redactor.redactLine(text) })),
      progress: this.#shown(progress),
      payload: sent.value,
      payloadText: sent.text,
      payloadBytes: sent.bytes,
      result: returned.value,
      resultText: returned.text,
      resultBytes: returned.bytes,
    });
  }

  summary(
    queue: string,
    { progress, headers, ...task }: Omit<AnyTask, 'payload' | 'result' | 'logs'>,
  ): object {
    return present({ ...task, queue, headers: this.#shown(headers), progress: this.#shown(progress) });
  }

  child({ result, ...child }: FlowChild): object {
    return present({ ...child, result: this.#shown(result) });
  }

  event({ progress, ...event }: QueueEvent): QueueEvent {
    return progress === undefined ? event : { ...event, progress: this.#shown(progress) };
  }

  #shown(value: unknown): unknown {
    return this.#redactor.redact(value);
  }
}
