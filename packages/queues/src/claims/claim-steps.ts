/** Steps of claimed tasks. A program has no step numbers, so scripts find its steps by their names. */
import { readJson, requireDuration, requireOptions, requireText } from '@mortise/redis';
import { EventTimeoutError, StepError } from '../errors.js';
import { MAX_DELAY_MS, MAX_EVENT_NAME_BYTES } from '../limits.js';
import type { Shard } from '../shard/shard.js';
import { jsonText } from '../task/json-text.js';
import { decodeTaskId } from '../task/task-id.js';
import { TIMED_OUT } from '../task/task-step.js';
import type { AttemptToken } from '../work/completer.js';
import type { Suspension } from '../work/completion.js';
import { MAX_RESULT_BYTES } from '../work/attempt-steps.js';
import { StepStore } from '../work/step-store.js';
import { requireHeld } from './claim-heartbeats.js';

/** A stored step of a claimed task. */
export interface ClaimedStep {
  readonly name: string;
  /** Absent if the step returned nothing. */
  readonly result?: unknown;
}

export interface ClaimedSteps {
  /** The stored steps, in the order in which they ended. A `waitFor` that timed out is left out. */
  readonly steps: readonly ClaimedStep[];
  readonly cursor?: unknown;
}

export interface ClaimWaitOptions {
  /** The name of the step that remembers the event. */
  readonly step: string;
  /** The name of the event. */
  readonly event: string;
  /**
   * How long to wait, ms, from the first call with this step. 0 to 10 years. With 0 only an event that has already come counts.
   */
  readonly timeoutMs: number;
}

const WAIT_OPTIONS = new Set(['step', 'event', 'timeoutMs']);
const BY_NAME = -1;
const CURSOR = 0;
/** Answers of the scripts. */
const STORED = '1';
const THERE_BEFORE = 'E';
const WAITS = 'W';
const TOO_LATE = 'T';
const REFUSALS = { N: 'ERR_TOO_MANY_STEPS', B: 'ERR_STEPS_TOO_LARGE' } as const;

export class ClaimSteps {
  readonly #shard: Shard;
  readonly #store: StepStore;

  constructor(shard: Shard) {
    this.#shard = shard;
    this.#store = new StepStore(shard);
  }

  async read(task: AttemptToken): Promise<ClaimedSteps> {
    const { results, cursor } = await this.#store.read(task.storedId);
    const steps = [...results]
      .filter(([, text]) => text !== TIMED_OUT)
      .map(([name, text]) => ({ name, ...(text !== '' && { result: this.#valueOf(text) }) }));
    return { steps, ...(cursor !== '' && { cursor: this.#valueOf(cursor) }) };
  }

  /** Resolves to the stored result: that of an earlier call, if there was one. */
  async store(task: AttemptToken, name: string, result: unknown): Promise<unknown> {
    requireText('name of the step', name);
    const text = this.#textOf('result', result);
    const answer = await this.#store.store(task, { number: BY_NAME, name, text });
    if (answer !== THERE_BEFORE) {
      this.#require(task, answer, name);
      return this.#valueOf(text);
    }
    const { results } = await this.#store.read(task.storedId);
    return this.#valueOf(results.get(name) ?? text);
  }

  async setCursor(task: AttemptToken, value: unknown): Promise<void> {
    const text = this.#textOf('cursor', value);
    this.#require(task, await this.#store.store(task, { number: CURSOR, name: '', text }), '');
  }

  /** The event, or how the attempt has to end. */
  async take(
    task: AttemptToken,
    { step, event, timeoutMs }: ClaimWaitOptions,
  ): Promise<{ readonly payload: unknown } | Suspension> {
    const { answer, detail } = await this.#store.wait(task, {
      number: BY_NAME,
      name: step,
      event,
      timeoutMs,
    });
    if (answer === WAITS) return { event, until: Number(detail) };
    if (answer === TOO_LATE)
      throw new EventTimeoutError(this.#shard.queue, decodeTaskId(task.storedId), event);
    this.#require(task, answer, step);
    return { payload: this.#valueOf(detail) };
  }

  #require(task: AttemptToken, answer: string, name: string): void {
    if (answer === STORED) return;
    const code = REFUSALS[answer as keyof typeof REFUSALS];
    if (code) throw new StepError(code, this.#shard.queue, decodeTaskId(task.storedId), name);
    requireHeld(this.#shard, task, answer);
  }

  #textOf(option: string, value: unknown): string {
    if (value === undefined) return '';
    const json = jsonText(option, value, MAX_RESULT_BYTES);
    return this.#shard.codecs?.encode(json) ?? json;
  }

  #valueOf(text: string): unknown {
    return text === '' ? undefined : readJson(text, this.#shard.codecs);
  }
}

/** Throws TypeError or RangeError. */
export function resolveClaimWait(options: ClaimWaitOptions): ClaimWaitOptions {
  const { step, event, timeoutMs } = requireOptions('waitFor', options, WAIT_OPTIONS);
  return {
    step: requireText('step', step),
    event: requireText('event', event, { max: MAX_EVENT_NAME_BYTES }),
    timeoutMs: requireDuration('timeoutMs', timeoutMs, { min: 0, max: MAX_DELAY_MS }),
  };
}
