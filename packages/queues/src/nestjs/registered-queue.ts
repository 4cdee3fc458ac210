import type { QueueOptions } from '../options.js';

/** That a queue is registered, for the workers to find. */
export class RegisteredQueue {
  constructor(
    readonly name: string,
    readonly connection: string,
    readonly tasks: readonly string[] | undefined,
    readonly schemas: QueueOptions['schemas'],
  ) {}
}
