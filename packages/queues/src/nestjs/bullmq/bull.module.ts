/**
 * `@nestjs/bullmq` has settings for the classes of queues, workers and flow producers, but none for `QueueEvents`. So classes that listen to
 * queue events have decorators of their own here, and a provider that finds them. All settings are those of the process: `@nestjs/bullmq` itself
 * keeps the class of workers in one place.
 */
import { BullModule as NestBullModule, BullRegistrar } from '@nestjs/bullmq';
import { Module } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, MetadataScanner, ModuleRef } from '@nestjs/core';
import { FlowProducer } from '../../bullmq/flow-producer.js';
import { Queue } from '../../bullmq/queue.js';
import { Worker } from '../../bullmq/worker.js';
import { QueueEventsExplorer } from './queue-events-explorer.js';

@Module({
  imports: [DiscoveryModule],
  providers: [
    {
      provide: QueueEventsExplorer,
      useFactory: (...parts: ConstructorParameters<typeof QueueEventsExplorer>) =>
        new QueueEventsExplorer(...parts),
      // Without a queue or a flow producer there is none, and no listener in `@nestjs/bullmq` either.
      inject: [{ token: BullRegistrar, optional: true }, DiscoveryService, MetadataScanner, ModuleRef],
    },
  ],
})
class QueueEventsModule {}

/**
 * `BullModule` of `@nestjs/bullmq`, with the same calls and options: its queues, workers, flow producers and listeners are those of
 * `@mortise/queues/bullmq`. The import of this class sets this for the whole process. Sends nothing by itself.
 */
export class BullModule extends NestBullModule {
  static {
    NestBullModule.queueClass = Queue;
    NestBullModule.workerClass = Worker;
    NestBullModule.flowProducerClass = FlowProducer;
    Module({ imports: [QueueEventsModule] })(NestBullModule);
  }
}
