/* oxlint-disable typescript/no-explicit-any -- the defaults of BullMQ: code that moves has jobs of any data */
import type { Job } from './job.js';

export type Processor<Data = any, Result = any, Name extends string = string> = (
  job: Job<Data, Result, Name>,
  token?: string,
  signal?: AbortSignal,
) => Promise<Result>;
