/** The threads of one sandbox: at most so many, started when they are needed, ended when they are idle for long. */
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
  /** The one that was used last is used first, so that the others come to be idle for long. */
  #idle: Idle[] = [];
  /** Those who wait for a thread, first in, first out. */
  #waiting: (() => void)[] = [];
  #busy = 0;

  constructor(module: string, options: ResolvedSandboxOptions) {
    this.#module = module;
    this.#options = options;
  }

  async run(payload: unknown, context: TaskContext): Promise<unknown> {
    context.signal.throwIfAborted();
    if (this.#busy < this.#options.threads) this.#busy += 1;
    else await this.#turn(context.signal);
    try {
      const thread = this.#take();
      try {
        return await thread.run(payload, context);
      } finally {
        this.#put(thread);
      }
    } finally {
      this.#leave();
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#all].map((thread) => this.#end(thread)));
  }

  async #turn(signal: AbortSignal): Promise<void> {
    let enter!: () => void;
    const turn = new Promise<void>((resolve) => {
      enter = resolve;
    });
    this.#waiting.push(enter);
    try {
      await waitFor(turn, { signal });
    } catch (error) {
      const isWaiting = this.#waiting.includes(enter);
      this.#waiting = this.#waiting.filter((other) => other !== enter);
      // Its turn had just come.
      if (!isWaiting) this.#leave();
      throw error;
    }
  }

  /** The place goes to the next in line at once, so nobody overtakes. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#busy -= 1;
  }

  #take(): SandboxThread {
    for (let idle = this.#idle.pop(); idle; idle = this.#idle.pop()) {
      clearTimeout(idle.timer);
      if (!idle.thread.isOver) return idle.thread;
      this.#all.delete(idle.thread);
    }
    const thread = new SandboxThread(this.#module, this.#options);
    this.#all.add(thread);
    return thread;
  }

  #put(thread: SandboxThread): void {
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
