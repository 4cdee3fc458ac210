import { Child } from '../child.js';
import type { Deferred } from '../deferred.js';
import { deferred } from '../deferred.js';
import type { ConductorConfig, ConductorMessage, NumberedOrder, Order, Results } from './protocol.js';
import type { WorkloadName } from './workload.js';

/** The conductor of a workload: the process that starts the workload's processes and checks their records. This side sends it orders. */
export class Conductor {
  readonly name: WorkloadName;
  progress = 0;
  /** When the workload made progress last, ms of `performance.now()`. */
  movedAt = performance.now();
  readonly #child: Child;
  readonly #asked = new Map<number, Deferred<unknown>>();
  #orders = 0;
  #isReady = false;

  constructor(config: ConductorConfig) {
    this.name = config.workload;
    this.#child = new Child('hour/program.js', config, config.place.prefix, (message) =>
      this.#receive(message as ConductorMessage),
    );
    void this.#lookForEnd();
  }

  /** Whether the processes of the workload run. Throws if the conductor has ended. */
  hasStarted(): boolean {
    if (!this.isRunning) throw this.#ended();
    return this.#isReady;
  }

  get isRunning(): boolean {
    return this.#child.isRunning;
  }

  ask<Name extends keyof Results>(order: Extract<Order, { do: Name }> | Order): Promise<Results[Name]> {
    if (!this.isRunning) return Promise.reject(this.#ended());
    this.#orders += 1;
    const asked = deferred<unknown>();
    this.#asked.set(this.#orders, asked);
    this.#child.send({ ...order, id: this.#orders } satisfies NumberedOrder);
    return asked.promise as Promise<Results[Name]>;
  }

  async kill(): Promise<void> {
    await this.#child.kill();
  }

  async #lookForEnd(): Promise<void> {
    await this.#child.hasEnded;
    for (const { reject } of this.#asked.values()) reject(this.#ended());
  }

  #ended(): Error {
    return new Error(`the process of ${this.name} has ended:\n${this.#child.output}`);
  }

  #receive(message: ConductorMessage): void {
    if (message.type === 'ready') this.#isReady = true;
    else if (message.type === 'progress') {
      if (message.progress > this.progress) this.movedAt = performance.now();
      this.progress = Math.max(this.progress, message.progress);
    } else {
      const asked = this.#asked.get(message.id)!;
      this.#asked.delete(message.id);
      if (message.type === 'answer') asked.resolve(message.result);
      else asked.reject(new Error(`${this.name}: ${message.error}`));
    }
  }
}
