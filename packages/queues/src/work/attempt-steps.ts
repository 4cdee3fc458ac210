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
  requireText,
} from '@mortise/redis';
import { RetryLater, StepError } from '../worker-errors.js';
import { MAX_DELAY_MS } from '../limits.js';
import { jsonText } from '../task/json-text.js';
import type { NewStep, StoredSteps } from './step-store.js';

/** The attempt, for its steps. */
export interface StepOwner {
  readonly id: string;
  readonly queue: string;
  /** Throws when the attempt is over. */
  requireLease(): void;
  /** Rejects when the attempt is over or loses its lease; else resolves to the answer. */
  storeStep(step: NewStep): Promise<string>;
  readSteps(): Promise<StoredSteps>;
}

const MAX_RESULT_BYTES = 262_144;
const TOO_MANY = 'N';
const TOO_LARGE = 'B';

export class AttemptSteps {
  readonly #owner: StepOwner;
  readonly #codecs: Codecs | undefined;
  readonly #used = new Set<string>();
  #stored: Promise<StoredSteps> | undefined;
  #count = 0;
  #sleeps = 0;
  /** Set by `sleep`: the attempt ends so, even if the handler catches the error. */
  suspension: RetryLater | undefined;
  #cursor: string | undefined;

  constructor(owner: StepOwner, codecs: Codecs | undefined) {
    this.#owner = owner;
    this.#codecs = codecs;
  }

  async step<Result>(name: string, run: () => Result | PromiseLike<Result>): Promise<Result> {
    requireText('name of the step', name);
    requireFunction('the step', run);
    if (this.#used.has(name))
      throw new ArgumentTypeError(`the step ${JSON.stringify(name)} occurs twice in an attempt`);
    this.#used.add(name);
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
    this.#sleeps += 1;
    const { nowMs, askedAt } = await this.#read();
    // The time of the server: workers with other clocks go on with the task. It was asked a moment before it answered.
    const serverNow = (): number => nowMs + performance.now() - askedAt;
    const until = await this.step(`sleep ${this.#sleeps}`, () => Math.ceil(serverNow() + ms));
    const delayMs = until - serverNow();
    if (delayMs <= 0) return;
    this.suspension = new RetryLater({ delayMs: Math.min(delayMs, MAX_DELAY_MS), reason: 'the task sleeps' });
    throw this.suspension;
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
    const answer = await this.#owner.storeStep(step);
    const { queue, id } = this.#owner;
    if (answer === TOO_MANY) throw new StepError('ERR_TOO_MANY_STEPS', queue, id, step.name);
    if (answer === TOO_LARGE) throw new StepError('ERR_STEPS_TOO_LARGE', queue, id, step.name);
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
