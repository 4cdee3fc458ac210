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
export { Queues } from './queues.js';
export {
  getClaimsToken,
  getQueuesToken,
  getQueueToken,
  InjectClaims,
  InjectQueue,
  InjectQueues,
} from './tokens.js';
