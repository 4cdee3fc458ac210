/** The engine's executor for one processor: the worker learns of each reply, and of each ack that Redis has answered. */
import type { Source } from '../work/attempt.js';
import type { Completer } from '../work/completer.js';
import type { Completion } from '../work/completion.js';
import type { ExecutorOptions, SlotRoom } from '../work/executor.js';
import { Executor } from '../work/executor.js';
import type { FetchedTask } from '../work/fetch-and-ack.js';
import type { FetchedBatch, Fetcher } from '../work/fetcher.js';
import type { ResolvedHandler } from '../work/handlers.js';

export interface WorkerHooks {
  readonly onFetched: (count: number, hasMore: boolean) => void;
  readonly onAdded: () => void;
  /** `answer`: 1 done, 0 the lease was lost. */
  readonly onAnswer: (answer: string, context: unknown) => void;
}

/** A handler for every name. */
class OneHandler extends Map<string, ResolvedHandler> {
  readonly #handler: ResolvedHandler;

  constructor(handler: ResolvedHandler) {
    super([[handler.name, handler]]);
    this.#handler = handler;
  }

  override get(): ResolvedHandler {
    return this.#handler;
  }
}

export class WorkerExecutor extends Executor {
  readonly #hooks: WorkerHooks;

  constructor(
    options: Omit<ExecutorOptions, 'handlers'>,
    handle: ResolvedHandler['handle'],
    hooks: WorkerHooks,
  ) {
    const handler: ResolvedHandler = {
      name: '*',
      handle,
      handleMany: undefined,
      timeoutMs: undefined,
      backoff: undefined,
      maxCalls: Infinity,
      maxSize: 1,
      waitMs: 0,
      queues: undefined,
    };
    super({ ...options, handlers: new OneHandler(handler) });
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
