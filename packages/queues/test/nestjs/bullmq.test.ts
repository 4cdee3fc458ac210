/** The names of `@nestjs/bullmq` on the layer, in applications of NestJS. */
import { expect, jest, test } from '@jest/globals';
import type { Job } from '@mortise/queues/bullmq';
import { FlowProducer, Queue, QueueEvents, Worker } from '@mortise/queues/bullmq';
import * as layer from '@mortise/queues/nestjs/bullmq';
import { connect, freshPrefix, until } from '@mortise/test-kit';
import { boot } from '@mortise/test-kit/nestjs';
import * as nest from '@nestjs/bullmq';
import { Injectable, Logger, Scope } from '@nestjs/common';

const {
  BullModule,
  BullRegistrar,
  InjectFlowProducer,
  InjectQueue,
  OnQueueEvent,
  OnWorkerEvent,
  Processor,
  QueueEventsHost,
  QueueEventsListener,
  WorkerHost,
} = layer;

const connection = connect();

@Processor('audio', { concurrency: 3 })
class Audio extends WorkerHost {
  readonly ended: string[] = [];

  async process(job: Job): Promise<string> {
    return `${job.data.file} at attempt ${job.attemptsMade + 1}`;
  }

  @OnWorkerEvent('completed')
  onCompleted(job: Job): void {
    this.ended.push(job.returnvalue);
  }
}

@QueueEventsListener('audio')
class AudioEvents extends QueueEventsHost {
  readonly seen: string[] = [];

  @OnQueueEvent('completed')
  onCompleted({ returnvalue }: { readonly returnvalue: string }): void {
    this.seen.push(returnvalue);
  }

  @OnQueueEvent('added')
  onAdded({ name }: { readonly name: string }): void {
    this.seen.push(`added ${name}`);
  }

  notMarked(): void {
    this.seen.push('never');
  }
}

@Injectable()
class Albums {
  constructor(
    @InjectQueue('audio') readonly queue: Queue,
    @InjectFlowProducer('albums') readonly flows: FlowProducer,
  ) {}
}

test('each value of @nestjs/bullmq has its counterpart', () => {
  expect(Object.keys(layer).toSorted((a, b) => a.localeCompare(b))).toEqual(
    Object.keys(nest).toSorted((a, b) => a.localeCompare(b)),
  );
});

test('queues, workers, flows and listeners of an application are those of the layer', async () => {
  const prefix = freshPrefix();
  const app = await boot({
    imports: [
      BullModule.forRoot({ connection, prefix }),
      BullModule.registerQueue({ name: 'audio' }),
      BullModule.registerFlowProducer({ name: 'albums' }),
    ],
    providers: [Audio, AudioEvents, Albums],
  });
  const { queue, flows } = app.get(Albums);
  const { ended, worker } = app.get(Audio);
  const { seen, queueEvents } = app.get(AudioEvents);
  expect([queue, flows, worker, queueEvents]).toEqual(
    [Queue, FlowProducer, Worker, QueueEvents].map((type) => expect.any(type)),
  );
  await queueEvents.waitUntilReady();
  const children = [{ name: 'song', queueName: 'audio', data: { file: 'a.mp3' } }];
  await flows.add({ name: 'album', queueName: 'audio', data: { file: 'album' }, children });
  const results = ['a.mp3 at attempt 1', 'album at attempt 1'];
  await until('both ends', () => ended.length === results.length);
  expect(ended).toEqual(results);
  await until('all events', () => seen.length === results.length * 2);
  expect(seen.toSorted((a, b) => a.localeCompare(b))).toEqual(
    ['added album', 'added song', ...results].toSorted((a, b) => a.localeCompare(b)),
  );

  const closed = jest.spyOn(queueEvents, 'close');
  await app.close();
  expect(closed).toHaveBeenCalledTimes(1);
});

test('a listener takes the options of its queue, and its own before them', async () => {
  const [ofQueue, own] = [freshPrefix(), freshPrefix()];
  @QueueEventsListener('mail')
  class OfQueue extends QueueEventsHost {}
  @QueueEventsListener('mail', { prefix: own, autorun: false })
  class Own extends QueueEventsHost {}
  const app = await boot({
    imports: [
      BullModule.registerQueueAsync({ name: 'mail', useFactory: () => ({ connection, prefix: ofQueue }) }),
    ],
    providers: [OfQueue, { provide: 'own', useFactory: () => new Own() }],
  });
  expect(app.get(OfQueue).queueEvents.opts).toMatchObject({ connection, prefix: ofQueue });
  expect(app.get<Own>('own').queueEvents.opts).toMatchObject({ connection, prefix: own });
});

test('a queue that the application doesn’t register has the options of forRoot', async () => {
  const prefix = freshPrefix();
  const app = await boot({
    imports: [
      BullModule.forRootAsync({ useFactory: () => ({ connection, prefix }) }),
      BullModule.registerQueue({ name: 'other' }),
    ],
    providers: [AudioEvents, { provide: 'alias', useExisting: AudioEvents }],
  });
  const { queueEvents, seen } = app.get(AudioEvents);
  expect(queueEvents.opts.prefix).toBe(prefix);
  await queueEvents.waitUntilReady();
  const queue = new Queue('audio', { connection, prefix });
  await queue.add('song', {});
  await until('the event', () => seen.length > 0);
  // Not twice, for the second token of the class.
  expect(queueEvents.listenerCount('added')).toBe(1);
  await queue.close();
});

test('with manualRegistration, listeners start by BullRegistrar', async () => {
  const app = await boot({
    imports: [
      BullModule.forRoot({ connection, prefix: freshPrefix(), extraOptions: { manualRegistration: true } }),
      BullModule.registerQueue({ name: 'audio' }),
    ],
    providers: [Audio, AudioEvents],
  });
  const events = app.get(AudioEvents);
  expect(() => events.queueEvents).toThrow('"QueueEvents" class has not yet been initialized');
  app.get(BullRegistrar).register();
  expect(events.queueEvents).toBeInstanceOf(QueueEvents);
  expect(app.get(Audio).worker).toBeInstanceOf(Worker);
});

test('without a queue nothing listens, as in @nestjs/bullmq', async () => {
  const app = await boot({ imports: [BullModule.forRoot({ connection })], providers: [AudioEvents] });
  expect(() => app.get(AudioEvents).queueEvents).toThrow('onApplicationBootstrap');
});

test('a request-scoped listener gets no events, and the log names it', async () => {
  @QueueEventsListener('audio')
  @Injectable({ scope: Scope.REQUEST })
  class Scoped extends QueueEventsHost {}
  const warned = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
  await boot({
    imports: [BullModule.forRoot({ connection }), BullModule.registerQueue({ name: 'audio' })],
    providers: [Scoped],
  });
  expect(warned).toHaveBeenCalledWith('Scoped is request-scoped: it gets no queue events');
  warned.mockRestore();
});

@QueueEventsListener('audio')
class WithoutHost {}

@nest.QueueEventsListener('audio')
class OfNest extends nest.QueueEventsHost {}

test.each([
  [WithoutHost, 'WithoutHost has @QueueEventsListener and must extend QueueEventsHost'],
  [OfNest, 'OfNest has QueueEventsHost of @nestjs/bullmq, which reads the keys of BullMQ: import it from'],
])('the boot fails for %p', async (listener, message) => {
  const imports = [BullModule.registerQueue({ name: 'audio', connection, prefix: freshPrefix() })];
  await expect(boot({ imports, providers: [listener] })).rejects.toThrow(message);
});
