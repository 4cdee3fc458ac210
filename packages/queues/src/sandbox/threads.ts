/** The pool of threads of one sandbox: started on demand, up to a maximum, and ended after an idle time. */
import { waitFor } from '@mortise/redis';
import type { TaskContext } from '../work/attempt.js';
import type { ResolvedSandboxOptions } from './options.js';
import { SandboxThread } from './sandbox-thread.js';

interface Idle {
  readonly thread: SandboxThread;
  readonly timer: NodeJS.Timeout;
}

export class Threads {
  readonly #module: string;
  readonly #options: ResolvedSandboxOptions;
  readonly #all = new Set<SandboxThread>();
  /** The most recently used thread is taken first, so that the others reach their idle time. */
  #idle: Idle[] = [];
  /** Callers that wait for a thread, first in, first out. */
  #waiting: (() => void)[] = [];
  #busy = 0;

  constructor(module: string, options: ResolvedSandboxOptions) {
    this.#module = module;
    this.#options = options;
  }

  async run(payload: unknown, context: TaskContext): Promise<unknown> {
    context.signal.throwIfAborted();
    if (this.#busy < this.#options.threads) this.#busy += 1;
    else await this.#acquireSlot(context.signal);
    try {
      const thread = this.#takeThread();
      try {
        return await thread.run(payload, context);
      } finally {
        this.#putBack(thread);
      }
    } finally {
      this.#releaseSlot();
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#all].map((thread) => this.#end(thread)));
  }

  async #acquireSlot(signal: AbortSignal): Promise<void> {
    let enter!: () => void;
    const slot = new Promise<void>((resolve) => {
      enter = resolve;
    });
    this.#waiting.push(enter);
    try {
      await waitFor(slot, { signal });
    } catch (error) {
      const isWaiting = this.#waiting.includes(enter);
      this.#waiting = this.#waiting.filter((other) => other !== enter);
      // The slot was given to this caller just before it gave up.
      if (!isWaiting) this.#releaseSlot();
      throw error;
    }
  }

  /** Gives the slot to the next waiter directly, so nobody overtakes. */
  #releaseSlot(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#busy -= 1;
  }

  #takeThread(): SandboxThread {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
      clearTimeout(idle.timer);
      if (!idle.thread.isOver) return idle.thread;
      this.#all.delete(idle.thread);
    }
    const thread = new SandboxThread(this.#module, this.#options);
    this.#all.add(thread);
    return thread;
  }

  #putBack(thread: SandboxThread): void {
    if (thread.isOver) {
      this.#all.delete(thread);
      return;
    }
    const timer = setTimeout(() => void this.#end(thread), this.#options.idleMs).unref();
    this.#idle.push({ thread, timer });
  }

  async #end(thread: SandboxThread): Promise<void> {
    this.#idle = this.#idle.filter((idle) => {
      if (idle.thread === thread) clearTimeout(idle.timer);
      return idle.thread !== thread;
    });
    this.#all.delete(thread);
    await thread.end();
  }
}
