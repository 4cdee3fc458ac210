/** `@nestjs/bullmq` on the engine of Mortise: `@mortise/queues/nestjs/bullmq`. */
export {
  BULL_CONFIG_DEFAULT_TOKEN,
  BullRegistrar,
  getFlowProducerOptionsToken,
  getFlowProducerToken,
  getQueueOptionsToken,
  getQueueToken,
  getSharedConfigToken,
  InjectFlowProducer,
  InjectQueue,
  JOB_REF,
  OnWorkerEvent,
  Processor,
  ProcessorDecoratorService,
} from '@nestjs/bullmq';
export type {
  BullModuleExtraOptions,
  BullRootModuleOptions,
  OnWorkerEventMetadata,
  ProcessorOptions,
  RegisterFlowProducerAsyncOptions,
  RegisterFlowProducerOptions,
  RegisterFlowProducerOptionsFactory,
  RegisterQueueAsyncOptions,
  RegisterQueueOptions,
  RegisterQueueOptionsFactory,
  SharedBullAsyncConfiguration,
  SharedBullConfigurationFactory,
} from '@nestjs/bullmq';
export { BullModule } from './bull.module.js';
export { QueueEventsHost, WorkerHost } from './hosts.js';
export { OnQueueEvent, QueueEventsListener } from './queue-events-listener.js';
