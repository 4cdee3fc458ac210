/** The engine's executor for one processor: the worker learns of each reply, and of each ack that Redis has answered. */
import type { Attempt, Source } from '../work/attempt.js';
import type { Completer } from '../work/completer.js';
import type { Completion } from '../work/completion.js';
import type { ExecutorOptions, SlotRoom } from '../work/executor.js';
import { Executor } from '../work/executor.js';
import type { FetchedTask } from '../work/fetch-and-ack.js';
import type { FetchedBatch, Fetcher } from '../work/fetcher.js';
import type { ResolvedHandler } from '../work/handlers.js';

export interface WorkerHooks {
  /** Never rejects. */
  readonly run: (attempt: Attempt) => Promise<Completion>;
  readonly onFetched: (count: number, hasMore: boolean) => void;
  readonly onAdded: () => void;
  /** `answer`: 1 done, 0 the lease was lost; `isRemoved`: without a trace. */
  readonly onAnswer: (answer: string, context: unknown, isRemoved: boolean) => void;
}

const HANDLER: ResolvedHandler = {
  name: '*',
  handle: undefined,
  handleMany: undefined,
  timeoutMs: undefined,
  backoff: undefined,
  maxCalls: Infinity,
  maxSize: 1,
  waitMs: 0,
  queues: undefined,
};

/** For every name. */
class OneHandler extends Map<string, ResolvedHandler> {
  override get(): ResolvedHandler {
    return HANDLER;
  }
}

export class WorkerExecutor extends Executor {
  readonly #hooks: WorkerHooks;

  /** `hooks.run` takes the place of the call of a handler, so a job costs one promise and one JSON text of its result less. */
  constructor(options: Omit<ExecutorOptions, 'handlers'>, hooks: WorkerHooks) {
    super({ ...options, handlers: new OneHandler([[HANDLER.name, HANDLER]]) });
    this.call = hooks.run;
    this.#hooks = hooks;
  }

  override add(fetcher: Fetcher<SlotRoom>, source: Source): void {
    const { shard, heartbeater, names, completer } = source;
    const hooks = this.#hooks;
    const hooked = {
      add(task: FetchedTask, completion: Completion) {
        hooks.onAdded();
        completer.add(task, completion, hooks);
      },
    } as unknown as Completer;
    super.add(fetcher, { shard, heartbeater, names, completer: hooked });
  }

  override receive(fetcher: Fetcher<SlotRoom>, batch: FetchedBatch<SlotRoom>): void {
    super.receive(fetcher, batch);
    if (batch.room.want > 0) this.#hooks.onFetched(batch.tasks.length, batch.hasMore);
  }
}
