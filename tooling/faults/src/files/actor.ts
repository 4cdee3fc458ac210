import type { TcpProxy } from '@mortise/redis-server';
import { Child } from '../child.js';
import type { ActorConfig, ActorMessage, Order } from './config.js';

/** A process with a proxy of its own, and its successors when it is killed or frozen. */
export class Actor {
  kills = 0;
  freezes = 0;
  isDone = false;
  #child: Child;
  #isReady: Promise<void>;
  /** Frozen processes of the same name, which have a successor. */
  #before: Child[] = [];

  constructor(
    readonly config: ActorConfig,
    /** Undefined where the process asks a group of servers for its master. */
    readonly proxy: TcpProxy | undefined,
  ) {
    [this.#child, this.#isReady] = this.#start();
  }

  get isReady(): Promise<void> {
    return this.#isReady;
  }

  get output(): string {
    return this.#child.output;
  }

  /** The process has ended with an error. */
  get hasFailed(): boolean {
    return !this.#child.isRunning && this.#child.exitCode !== 0;
  }

  /** SIGKILL. Starts a successor, and does not wait for it. */
  async replace(): Promise<void> {
    this.kills += 1;
    await this.#child.kill();
    [this.#child, this.#isReady] = this.#start();
  }

  /** SIGSTOP. Starts a successor. The returned function resumes the process beside it. */
  async freeze(): Promise<() => void> {
    this.freezes += 1;
    const frozen = this.#child;
    await frozen.pause();
    this.#before.push(frozen);
    [this.#child, this.#isReady] = this.#start();
    return () => frozen.resume();
  }

  order(order: Order): void {
    this.#child.send(order);
  }

  /** Asks the process and its frozen predecessors to end, and waits for that. */
  async stop(): Promise<void> {
    for (const child of this.#all) child.send('stop' satisfies Order);
    await Promise.all(this.#all.map(({ hasEnded }) => hasEnded));
  }

  async dispose(): Promise<void> {
    await Promise.all(this.#all.map((child) => child.kill()));
    await this.proxy?.stop();
  }

  get #all(): Child[] {
    return [...this.#before, this.#child];
  }

  #start(): [Child, Promise<void>] {
    const resolvers = { ready: () => {} };
    const child = new Child('files/program.js', this.config, this.config.notes, (message) => {
      if ((message as ActorMessage) === 'done') this.isDone = true;
      else resolvers.ready();
    });
    const isReady = new Promise<void>((resolve, reject) => {
      resolvers.ready = resolve;
      void child.hasEnded.then(() => reject(new Error(`${this.config.name} ended:\n${child.output}`)));
    });
    isReady.catch(() => undefined);
    return [child, isReady];
  }
}
