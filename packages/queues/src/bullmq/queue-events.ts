/* oxlint-disable typescript/no-explicit-any -- the signature of EventEmitter */
/** The events of a queue with the names and fields of BullMQ 6, from the engine's stream of events. */
import { randomUUID } from 'node:crypto';
import type { QueueEvent } from '../events/event.js';
import { newestCursor, readEvents } from '../events/events.js';
import { AnnouncedValues, VALUE_EVENT } from './announced-values.js';
import { QueueBase } from './base.js';
import { Presence } from './presence.js';
import type { QueueEventsListener } from './queue-events-listener.js';
import type { QueueBaseOptions } from './types.js';

export interface QueueEventsOptions extends QueueBaseOptions {
  autorun?: boolean | undefined;
  /** The cursor of an event; `$` for the newest, `0` for the oldest. */
  lastEventId?: string | undefined;
  blockingTimeout?: number | undefined;
}

/** An event of the layer, see layer.event.lua. */
interface LayerEvent {
  readonly event: string;
  readonly [field: string]: unknown;
}

const OLDEST = /^0(-0)?$/;

export class QueueEvents extends QueueBase {
  declare opts: QueueEventsOptions;
  readonly #presence: Presence;
  readonly #stop = new AbortController();
  /** The place of a job whose event `enqueued` comes next. */
  #placed: LayerEvent | undefined;
  readonly #values = new AnnouncedValues();
  #cursor: Promise<string> | undefined;
  #isRunning = false;
  #reading: Promise<void> | undefined;

  constructor(name: string, { autorun = true, ...opts }: QueueEventsOptions = {}) {
    super(name, opts);
    this.#presence = new Presence(this.store, 'qe', randomUUID(), '');
    if (autorun) this.run().catch((error: unknown) => this.report(error as Error));
  }

  /** `on<MyListener>(…)` has events of your own; an event of one job is `completed:<id>`. */
  override on<Events extends object = QueueEventsListener, Event extends keyof Events = keyof Events>(
    event: Event,
    listener: Events[Event],
  ): this;
  override on(event: string | symbol, listener: (...args: any[]) => void): this;
  override on(event: string | symbol, listener: (...args: any[]) => void): this {
    return super.on(event, listener);
  }

  override once<Events extends object = QueueEventsListener, Event extends keyof Events = keyof Events>(
    event: Event,
    listener: Events[Event],
  ): this;
  override once(event: string | symbol, listener: (...args: any[]) => void): this;
  override once(event: string | symbol, listener: (...args: any[]) => void): this {
    return super.once(event, listener);
  }

  override off<Events extends object = QueueEventsListener, Event extends keyof Events = keyof Events>(
    event: Event,
    listener: Events[Event],
  ): this;
  override off(event: string | symbol, listener: (...args: any[]) => void): this;
  override off(event: string | symbol, listener: (...args: any[]) => void): this {
    return super.off(event, listener);
  }

  /** Reads events until `close`. */
  run(): Promise<void> {
    if (this.#isRunning) return Promise.reject(new Error('Queue Events is already running.'));
    this.#isRunning = true;
    this.#reading = this.#read();
    return this.#reading;
  }

  override async waitUntilReady(): Promise<void> {
    await super.waitUntilReady();
    await this.#begin();
    await this.#presence.begin();
  }

  #begin(): Promise<string> {
    const { lastEventId } = this.opts;
    this.#cursor ??= this.store.ready().then(async () => {
      const newest = await newestCursor(this.store.shards);
      if (lastEventId === undefined || lastEventId === '$') return newest;
      return OLDEST.test(lastEventId) ? 'oldest' : lastEventId;
    });
    return this.#cursor;
  }

  async #read(): Promise<void> {
    const after = await this.#begin();
    void this.#presence.begin();
    const { signal } = this.#stop;
    for await (const event of readEvents(this.store.shards, { after, signal })) await this.#handle(event);
  }

  async #handle(event: QueueEvent & { layer?: string }): Promise<void> {
    const { type, id, cursor } = event;
    if (event.layer !== undefined) {
      const given = JSON.parse(event.layer) as LayerEvent;
      if (given.event === VALUE_EVENT) return this.#values.set(id!, given['value']);
      if (given.event === 'waiting' || given.event === 'delayed' || given.event === 'waiting-children') {
        if (given['prev'] === undefined && this.#placedBefore(given)) return;
      }
      return this.#publish(given, id, cursor);
    }
    // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- the layer has events of its own for the others
    switch (type) {
      case 'enqueued':
        this.#publish({ event: 'added', name: event.name }, id, cursor);
        this.#publish(this.#placed ?? { event: 'waiting' }, id, cursor);
        this.#placed = undefined;
        break;
      case 'started':
        // An earlier attempt may have lost its lease just before its end.
        this.#values.take(id!);
        this.#publish({ event: 'active', prev: 'waiting' }, id, cursor);
        break;
      case 'succeeded': {
        const value = this.#values.take(id!) ?? (await this.#storedValue(id!));
        this.#publish({ event: 'completed', returnvalue: value, prev: 'active' }, id, cursor);
        break;
      }
      case 'dead':
        this.#publish(
          { event: 'failed', failedReason: event.error?.message ?? '', prev: 'active' },
          id,
          cursor,
        );
        break;
      case 'ready':
        this.#publish({ event: 'waiting', prev: 'delayed' }, id, cursor);
        break;
      case 'paused':
      case 'resumed':
        this.#publish({ event: type }, undefined, cursor);
        break;
      default:
    }
  }

  async #storedValue(id: string): Promise<unknown> {
    const { returnvalue } = (await this.store.get(id)) ?? {};
    return returnvalue ? (JSON.parse(returnvalue) as unknown) : null;
  }

  /** The place of a job that is added comes before the job. */
  #placedBefore(given: LayerEvent): boolean {
    if (!given['isNew']) return false;
    const { isNew: _, ...placed } = given;
    this.#placed = placed;
    return true;
  }

  #publish({ event, ...fields }: LayerEvent, jobId: string | undefined, cursor: string): void {
    const args = { ...(jobId !== undefined && { jobId }), ...fields };
    if (event === 'drained') {
      this.emit(event, cursor);
      return;
    }
    this.emit(event, args, cursor);
    if (jobId !== undefined) this.emit(`${event}:${jobId}`, args, cursor);
  }

  override async close(): Promise<void> {
    this.#stop.abort();
    await this.#reading?.catch(() => undefined);
    await this.#presence.end();
    await super.close();
  }
}

export class QueueEventsProducer extends QueueBase {
  /** Publishes an event of your own; `maxEvents` is that of the queue. */
  async publishEvent<Event extends { eventName: string } = { eventName: string; [field: string]: any }>({
    eventName,
    ...fields
  }: Event): Promise<void> {
    await this.store.publish('', { event: eventName, ...fields });
  }
}
