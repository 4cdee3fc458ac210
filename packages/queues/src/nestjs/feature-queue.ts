import type { QueueOptions } from '../options.js';

/** A queue that `forFeature` names. Workers find it among the providers. */
export class FeatureQueue {
  constructor(
    readonly name: string,
    /** The name of the module. */
    readonly module: string,
    readonly tasks: readonly string[] | undefined,
    readonly schemas: QueueOptions['schemas'],
  ) {}
}
