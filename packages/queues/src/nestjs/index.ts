export { QueuesModule } from './queues.module.js';
export type {
  QueueFeatureOptions,
  QueuesFeature,
  QueuesModuleOptions,
  QueuesOptionsFactory,
  QueuesWorkerOptions,
} from './options.js';
export type { BatchTaskHandlerOptions, TaskHandlerOptions } from './task-handler.js';
export { TaskHandler } from './task-handler.js';
export { getClaimsToken, getQueueToken, InjectClaims, InjectQueue } from './tokens.js';
