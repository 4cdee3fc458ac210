/** Stores and reads the steps of the attempts of one shard. Calls of one tick share a script call. */
import type { CommandArgument } from '@mortise/redis';
import { Coalescer } from '@mortise/redis';
import { stepsRead, stepsStore, stepsWait } from '../scripts.gen.js';
import type { Shard } from '../shard/shard.js';
import { NAME_AT } from '../task/task-step.js';
import type { AttemptToken } from './completer.js';

/** A step to be stored. */
export interface NewStep {
  /** From 1; 0: the cursor; -1: the script finds the number by the name. */
  readonly number: number;
  readonly name: string;
  /** The result or the cursor, as JSON or encoded by a codec. */
  readonly text: string;
}

/** A step that waits for an event. */
export interface NewWait {
  /** From 1; -1: the script finds the number by the name. */
  readonly number: number;
  readonly name: string;
  readonly event: string;
  readonly timeoutMs: number;
}

/** The answer of steps.wait.lua, and the payload of the event or the end of the wait. */
export interface WaitAnswer {
  readonly answer: string;
  readonly detail: string;
}

export interface StoredSteps {
  /** The server's time, ms, when it answered, and `performance.now()` when it was asked. */
  readonly nowMs: number;
  readonly askedAt: number;
  /** Empty: none. */
  readonly cursor: string;
  readonly count: number;
  /** The results by name. */
  readonly results: Map<string, string>;
}

type Entry = AttemptToken & NewStep;

const MAX_BATCH = 200;
const MAX_BATCH_BYTES = 1024 * 1024;

export class StepStore {
  readonly #shard: Shard;
  readonly #entries = new Coalescer<StepStore, Entry, string>((_, batch) => this.#store(batch), {
    maxBatch: MAX_BATCH,
    maxBytes: MAX_BATCH_BYTES,
    bytesOf: ({ text }) => text.length,
  });

  constructor(shard: Shard) {
    this.#shard = shard;
  }

  /** Resolves to the answer of steps.store.lua. Optional features must be enabled. */
  store({ storedId, token }: AttemptToken, { number, name, text }: NewStep): Promise<string> {
    return this.#entries.submit(this, { storedId, token, number, name, text });
  }

  /** Resolves to the answer of steps.wait.lua. Optional features must be enabled. */
  async wait({ storedId: id, token }: AttemptToken, wait: NewWait): Promise<WaitAnswer> {
    const { redis, keys } = this.#shard;
    const { attempts, steps } = keys.of;
    const reply = await stepsWait.runBuffer(redis, { attempts, steps }, { id, token, ...wait });
    const [answer, detail] = (reply as [Buffer, Buffer]).map((part) => part.toString()) as [string, string];
    return { answer, detail };
  }

  async read(storedId: Buffer): Promise<StoredSteps> {
    const { redis, keys } = this.#shard;
    const askedAt = performance.now();
    const [nowMs, cursor, ...steps] = (await stepsRead.runBuffer(
      redis,
      { steps: keys.of.steps },
      { id: storedId },
    )) as [number, Buffer, ...Buffer[]];
    const results = new Map(
      // A step whose call has failed leaves a gap.
      steps.flatMap((step) => {
        if (step.length === 0) return [];
        const end = NAME_AT + step.readUInt16BE(NAME_AT - 2);
        return [[step.toString('utf8', NAME_AT, end), step.toString('utf8', end)]];
      }),
    );
    return { nowMs, askedAt, cursor: cursor.toString(), count: steps.length, results };
  }

  async #store(batch: readonly Entry[]): Promise<string[]> {
    const { attempts, steps } = this.#shard.keys.of;
    const entries = batch.flatMap<CommandArgument>(({ storedId, token, number, name, text }) => [
      storedId,
      token,
      number,
      name,
      text,
    ]);
    const answers = await stepsStore.run(this.#shard.redis, { attempts, steps }, { entries });
    return (answers as string).split('');
  }
}
