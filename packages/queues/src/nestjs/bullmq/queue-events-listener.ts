import { SetMetadata } from '@nestjs/common';
import type { QueueEventsListener as Listeners } from '../../bullmq/queue-events-listener.js';
import type { QueueEventsOptions } from '../../bullmq/queue-events.js';

/** The mark of a class. */
export interface ListenerMark {
  readonly queueName: string;
  readonly options: Partial<QueueEventsOptions> | undefined;
}

/** The mark of a method. */
export interface EventMark {
  readonly eventName: keyof Listeners;
}

const LISTENER = '@mortise/queues:queue-events-listener';
const EVENT = '@mortise/queues:on-queue-event';

/**
 * Marks a class that extends `QueueEventsHost`. Its methods with `@OnQueueEvent` get the events of the queue.
 *
 * @param options Of its `QueueEvents`. Default: the connection and the prefix of the queue, or of `BullModule.forRoot`.
 */
export function QueueEventsListener(
  queueName: string,
  options?: Partial<QueueEventsOptions>,
): ClassDecorator {
  return SetMetadata(LISTENER, {
    queueName,
    options,
  } satisfies ListenerMark);
}

/** Calls the method for each event of this name. */
export function OnQueueEvent(eventName: keyof Listeners): MethodDecorator {
  return SetMetadata(EVENT, { eventName } satisfies EventMark);
}

export function listenerMark(target: object): ListenerMark | undefined {
  return Reflect.getMetadata(LISTENER, target) as ListenerMark | undefined;
}

export function eventMark(method: object): EventMark | undefined {
  return Reflect.getMetadata(EVENT, method) as EventMark | undefined;
}
