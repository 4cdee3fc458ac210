import { ArgumentTypeError } from '@mortise/redis';
import type { BullRegistrar } from '@nestjs/bullmq';
import { getQueueToken, getSharedConfigToken, QueueEventsHost as NestQueueEventsHost } from '@nestjs/bullmq';
import { Logger } from '@nestjs/common';
import type { DiscoveryService, MetadataScanner, ModuleRef } from '@nestjs/core';
import { QueueEvents } from '../../bullmq/queue-events.js';
import type { QueueBaseOptions } from '../../bullmq/types.js';
import { QueueEventsHost } from './hosts.js';
import type { ListenerMark } from './queue-events-listener.js';
import { eventMark, listenerMark } from './queue-events-listener.js';

type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];
type Instance = Readonly<Record<string, (...args: unknown[]) => void>>;

/** Starts the listeners of the application together with its workers. */
export class QueueEventsExplorer {
  readonly #discovery: DiscoveryService;
  readonly #scanner: MetadataScanner;
  readonly #moduleRef: ModuleRef;

  constructor(
    registrar: BullRegistrar | undefined,
    discovery: DiscoveryService,
    scanner: MetadataScanner,
    moduleRef: ModuleRef,
  ) {
    this.#discovery = discovery;
    this.#scanner = scanner;
    this.#moduleRef = moduleRef;
    if (!registrar) return;
    // The application may call it itself, with `manualRegistration`.
    const register = registrar.register.bind(registrar);
    registrar.register = () => {
      this.#refuseOthers();
      register();
      this.#register();
    };
  }

  #refuseOthers(): void {
    for (const { instance } of this.#discovery.getProviders() as { readonly instance: unknown }[]) {
      if (!(instance instanceof NestQueueEventsHost)) continue;
      throw new ArgumentTypeError(
        `${instance.constructor.name} has QueueEventsHost of @nestjs/bullmq, which reads the keys of BullMQ: import it from @mortise/queues/nestjs/bullmq`,
      );
    }
  }

  #register(): void {
    for (const wrapper of this.#discovery.getProviders()) {
      const target = classOf(wrapper);
      const mark = target && listenerMark(target);
      if (mark) this.#listen(wrapper, mark);
    }
  }

  #listen(wrapper: Wrapper, { queueName, options }: ListenerMark): void {
    if (!wrapper.isDependencyTreeStatic()) {
      new Logger('BullModule').warn(`${String(wrapper.name)} is request-scoped: it gets no queue events`);
      return;
    }
    const instance: unknown = wrapper.instance;
    if (!(instance instanceof QueueEventsHost)) {
      throw new ArgumentTypeError(
        `${String(wrapper.name)} has @QueueEventsListener and must extend QueueEventsHost`,
      );
    }
    const isNew = QueueEventsHost.attach(
      instance,
      () => new QueueEvents(queueName, { ...this.#optionsOf(queueName), ...options }),
    );
    if (isNew) this.#subscribe(instance);
  }

  #subscribe(host: QueueEventsHost): void {
    const methods = host as unknown as Instance;
    for (const key of this.#scanner.getAllMethodNames(Object.getPrototypeOf(host) as object)) {
      const mark = eventMark(methods[key]!);
      if (mark) host.queueEvents.on(mark.eventName as string, (...args) => methods[key]!(...args));
    }
  }

  /** Those of the queue if the application registers it, otherwise those of `forRoot`. */
  #optionsOf(queueName: string): QueueBaseOptions {
    const queue = this.#provided<{ readonly opts: QueueBaseOptions }>(getQueueToken(queueName));
    const { connection, prefix } =
      queue?.opts ?? this.#provided<QueueBaseOptions>(getSharedConfigToken()) ?? {};
    return { connection, prefix };
  }

  #provided<Value>(token: string): Value | undefined {
    try {
      return this.#moduleRef.get<Value>(token, { strict: false });
    } catch {
      // NestJS has no other way to ask.
      return undefined;
    }
  }
}

/** The result of a factory and a value have the class of the instance. */
function classOf({ metatype, inject, instance }: Wrapper): object | undefined {
  if (metatype && !inject) return metatype;
  return (instance as object | null | undefined)?.constructor;
}
