/**
 * The steps of one attempt. The handler runs from its start in each attempt, and a step that an earlier attempt has stored returns
 * its result in place of running again. So only the steps are remembered; nothing of the code between them is recorded or
 * compared, as a workflow that is replayed would be.
 *
 * The first use in an attempt reads all stored steps. Then each new step is one command, refused when the lease is lost.
 */
import type { Codecs } from '@mortise/redis';
import {
  ArgumentTypeError,
  decodedJson,
  requireDuration,
  requireFunction,
  requireOptions,
  requireText,
} from '@mortise/redis';
import { EventTimeoutError, RetryLater, StepError } from '../worker-errors.js';
import { MAX_DELAY_MS, MAX_EVENT_NAME_BYTES } from '../limits.js';
import { jsonText } from '../task/json-text.js';
import { TIMED_OUT } from '../task/task-step.js';
import type { Suspension } from './completion.js';
import type { NewStep, NewWait, StoredSteps, WaitAnswer } from './step-store.js';

export interface WaitForOptions {
  /**
   * How long the task waits, ms, from the first attempt that reaches this wait. 0 to 10 years. With 0 only an event that has
   * already come counts.
   */
  readonly timeoutMs: number;
}

/** The attempt, for its steps. */
export interface StepOwner {
  readonly id: string;
  readonly queue: string;
  /** Throws when the attempt is over. */
  requireLease(): void;
  /** Rejects when the attempt is over or loses its lease; else resolves to the answer. */
  storeStep(step: NewStep): Promise<string>;
  /** As `storeStep`. */
  registerWait(wait: NewWait): Promise<WaitAnswer>;
  readSteps(): Promise<StoredSteps>;
}

const WAIT_OPTIONS = new Set(['timeoutMs']);
export const MAX_RESULT_BYTES = 262_144;
const TAKEN = '1';
const TOO_LATE = 'T';
const TOO_MANY = 'N';
const TOO_LARGE = 'B';

export class AttemptSteps {
  readonly #owner: StepOwner;
  readonly #codecs: Codecs | undefined;
  readonly #used = new Set<string>();
  #stored: Promise<StoredSteps> | undefined;
  #count = 0;
  #sleeps = 0;
  /** The waits of each event. */
  readonly #waits = new Map<string, number>();
  /** The wait before the next one, of whatever event. */
  #wait: Promise<unknown> = Promise.resolve();
  /** Set by `sleep` and `waitFor`: the attempt ends so, even if the handler catches the error. */
  suspension: Suspension | undefined;
  #cursor: string | undefined;

  constructor(owner: StepOwner, codecs: Codecs | undefined) {
    this.#owner = owner;
    this.#codecs = codecs;
  }

  async step<Result>(name: string, run: () => Result | PromiseLike<Result>): Promise<Result> {
    requireText('name of the step', name);
    requireFunction('the step', run);
    this.#use(name);
    const { results } = await this.#read();
    const text = results.get(name);
    if (text !== undefined) return this.#valueOf(text) as Result;
    this.#owner.requireLease();
    const result = await run();
    const stored = this.#textOf(`the result of step ${JSON.stringify(name)}`, result);
    // Numbered when it is sent: a step that has ended later comes later.
    this.#count += 1;
    await this.#store({ number: this.#count, name, text: stored });
    // As a later attempt gets it.
    return this.#valueOf(stored) as Result;
  }

  /** Returns when the time is over, in some later attempt; in this one it rejects. */
  async sleep(ms: number): Promise<void> {
    requireDuration('ms', ms, { min: 0, max: MAX_DELAY_MS });
    this.#requireRunning();
    this.#sleeps += 1;
    const { nowMs, askedAt } = await this.#read();
    // The time of the server: workers with other clocks go on with the task. It was asked a moment before it answered.
    const serverNow = (): number => nowMs + performance.now() - askedAt;
    const until = await this.step(`sleep ${this.#sleeps}`, () => Math.ceil(serverNow() + ms));
    if (until <= serverNow()) return;
    this.#suspend({ event: undefined, until });
  }

  /** Resolves to the payload, in this attempt or in a later one; in this one it may reject. */
  waitFor(event: string, options: WaitForOptions): Promise<unknown> {
    // A task has one wait, so the next one begins when this one has its event.
    const outcome = this.#wait.then(() => this.#waitFor(event, options));
    this.#wait = outcome.catch(() => undefined);
    return outcome;
  }

  async cursor(): Promise<unknown> {
    const { cursor } = await this.#read();
    return this.#valueOf(this.#cursor ?? cursor);
  }

  async setCursor(value: unknown): Promise<void> {
    const text = this.#textOf('the cursor', value);
    await this.#store({ number: 0, name: '', text });
    this.#cursor = text;
  }

  async #waitFor(event: string, options: WaitForOptions): Promise<unknown> {
    requireText('event', event, { max: MAX_EVENT_NAME_BYTES });
    const given = requireOptions('waitFor', options, WAIT_OPTIONS);
    const timeoutMs = requireDuration('timeoutMs', given.timeoutMs, { min: 0, max: MAX_DELAY_MS });
    this.#requireRunning();
    const nth = (this.#waits.get(event) ?? 0) + 1;
    this.#waits.set(event, nth);
    const name = `wait ${nth} ${event}`;
    this.#use(name);
    const { results } = await this.#read();
    const payload = results.get(name) ?? (await this.#take({ name, event, timeoutMs }));
    if (payload !== TIMED_OUT) return this.#valueOf(payload);
    throw new EventTimeoutError(this.#owner.queue, this.#owner.id, event);
  }

  /** The payload of the event as it is stored, or TIMED_OUT. */
  async #take(wait: Omit<NewWait, 'number'>): Promise<string> {
    this.#count += 1;
    const { answer, detail } = await this.#owner.registerWait({ ...wait, number: this.#count });
    if (answer === TAKEN) return detail;
    if (answer === TOO_LATE) return TIMED_OUT;
    this.#refuse(answer, wait.name);
    return this.#suspend({ event: wait.event, until: Number(detail) });
  }

  #suspend(suspension: Suspension): never {
    this.suspension = suspension;
    return this.#requireRunning() as never;
  }

  /** Throws when the attempt is suspended. */
  #requireRunning(): void {
    if (!this.suspension) return;
    const reason = this.suspension.event === undefined ? 'the task sleeps' : 'the task waits for an event';
    throw new RetryLater({ delayMs: 0, reason });
  }

  #use(name: string): void {
    if (this.#used.has(name))
      throw new ArgumentTypeError(`the step ${JSON.stringify(name)} occurs twice in an attempt`);
    this.#used.add(name);
  }

  #read(): Promise<StoredSteps> {
    this.#stored ??= this.#owner.readSteps().then(
      (stored) => {
        this.#count = stored.count;
        return stored;
      },
      (error: unknown) => {
        this.#stored = undefined;
        throw error;
      },
    );
    return this.#stored;
  }

  async #store(step: NewStep): Promise<void> {
    this.#refuse(await this.#owner.storeStep(step), step.name);
  }

  /** Throws for an answer that is a refusal. */
  #refuse(answer: string, name: string): void {
    const { queue, id } = this.#owner;
    if (answer === TOO_MANY) throw new StepError('ERR_TOO_MANY_STEPS', queue, id, name);
    if (answer === TOO_LARGE) throw new StepError('ERR_STEPS_TOO_LARGE', queue, id, name);
  }

  #textOf(name: string, value: unknown): string {
    if (value === undefined) return '';
    const json = jsonText(name, value, MAX_RESULT_BYTES);
    return this.#codecs?.encode(json) ?? json;
  }

  #valueOf(text: string): unknown {
    return text === '' ? undefined : (JSON.parse(decodedJson(text, this.#codecs)) as unknown);
  }
}
