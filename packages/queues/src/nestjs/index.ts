export { QueuesModule } from './queues.module.js';
export type {
  QueuesModuleOptions,
  QueuesOptionsFactory,
  QueuesWorkerOptions,
  RegisterQueueOptions,
} from './options.js';
export type { BatchTaskHandlerOptions, TaskHandlerOptions } from './task-handler.js';
export { TaskHandler } from './task-handler.js';
export { InjectQueue, queueToken } from './tokens.js';
