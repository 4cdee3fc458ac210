import { expect } from '@jest/globals';
import type { IdRange, SendResult } from '@mortise/messaging';

interface Place {
  readonly id: number;
  readonly body: number;
  readonly from: string;
  isExpired: boolean;
}

export interface Sent {
  readonly body: number;
  readonly from: string;
  readonly id: string | undefined;
  readonly expires: boolean;
}

/** A mailbox in memory: what the scripts do, with arrays. */
export class MailboxModel {
  readonly devices = new Map<string, number>();
  readonly blocked = new Set<string>();
  lastId = 0;
  #places: Place[] = [];
  readonly #ids = new Map<string, number>();
  readonly #expiring = new Set<number>();
  #due: number[] = [];
  #exists = false;

  constructor(readonly maxMessages: number) {}

  get baseId(): number {
    return this.lastId - this.#places.length;
  }

  /** Ids whose time may be over. */
  get expiring(): number[] {
    return [...this.#expiring];
  }

  expire(ids: readonly number[]): void {
    this.#due.push(...ids);
  }

  /** Messages of one call: refused, known or appended; then the oldest are dropped. */
  send(messages: readonly Sent[]): (SendResult | string)[] {
    if (messages.length === 0) return [];
    this.#sweep();
    const { lastId } = this;
    const results = messages.map((message) => this.#append(message));
    const dropped = { fromId: this.baseId + 1, toId: this.baseId };
    // Known messages drop nothing.
    while (this.lastId > lastId && this.#isOver()) {
      dropped.toId = this.#places.shift()!.id;
      this.#expiring.delete(dropped.toId);
    }
    return results.map((result) =>
      typeof result === 'object' && dropped.toId >= dropped.fromId ? { ...result, dropped } : result,
    );
  }

  receive(device: string, limit: number, order: 'oldest' | 'latest'): object[] | string {
    this.#sweep();
    const cursor = this.#cursor(device);
    if (cursor === undefined) return 'ERR_UNKNOWN_DEVICE';
    const dropped = this.dropped(cursor);
    const all = this.#unread(cursor).map(({ id, body, from }, index) => ({
      id,
      body,
      from,
      sentAt: expect.any(Number),
      ...(index === 0 && dropped && { droppedBefore: dropped }),
    }));
    return order === 'oldest' ? all.slice(0, limit) : all.slice(-limit).toReversed();
  }

  unread(device: string): number | string {
    this.#sweep();
    const cursor = this.#cursor(device);
    return cursor === undefined ? 'ERR_UNKNOWN_DEVICE' : this.#unread(cursor).length;
  }

  ack(device: string, upToId: number | 'all'): number | string {
    this.#sweep();
    const cursor = this.#cursor(device);
    const upTo = upToId === 'all' ? this.lastId : upToId;
    if (cursor === undefined) return 'ERR_UNKNOWN_DEVICE';
    if (upTo > this.lastId) return 'ERR_UNKNOWN_MESSAGE';
    if (upTo <= cursor) return 0;
    const count = this.#unread(cursor).filter(({ id }) => id <= upTo).length;
    this.devices.set(device, upTo);
    this.#free();
    return count;
  }

  addDevice(device: string, at: 'newest' | 'oldest'): object {
    this.#exists = true;
    const cursor = this.devices.get(device);
    if (cursor !== undefined) return { isNew: false, ackedId: cursor };
    const ackedId = at === 'newest' ? this.lastId : this.baseId;
    this.devices.set(device, ackedId);
    return { isNew: true, ackedId };
  }

  removeDevice(device: string): boolean {
    if (!this.devices.delete(device)) return false;
    this.#free();
    return true;
  }

  status(): object {
    this.#sweep();
    const devices = [...this.devices].map(([device, ackedId]) => ({
      device,
      ackedId,
      unread: this.#unread(ackedId).length,
      dropped: this.dropped(ackedId),
    }));
    const ackedId = Math.min(...this.devices.values(), this.devices.size === 0 ? this.baseId : Infinity);
    const unread = this.#unread(this.baseId).length;
    return {
      unread,
      size: unread,
      lastId: this.lastId,
      ackedId,
      dropped: this.dropped(ackedId),
      devices: devices
        .toSorted((a, b) => a.ackedId - b.ackedId || (a.device < b.device ? -1 : 1))
        .map((device) => expect.objectContaining(device)),
    };
  }

  dropped(cursor: number): IdRange | null {
    return this.baseId > cursor ? { fromId: cursor + 1, toId: this.baseId } : null;
  }

  #cursor(device: string): number | undefined {
    return this.devices.get(device) ?? (this.#exists || device !== 'main' ? undefined : 0);
  }

  /** More messages than may be, or more marks than messages may be. */
  #isOver(): boolean {
    const messages = this.#places.filter(({ isExpired }) => !isExpired).length;
    return messages > this.maxMessages || this.#places.length > 2 * this.maxMessages;
  }

  #unread(cursor: number): Place[] {
    return this.#places.filter(({ id, isExpired }) => id > cursor && !isExpired);
  }

  #append({ body, from, id: senderId, expires }: Sent): SendResult | string {
    const known = senderId === undefined ? undefined : this.#ids.get(`${from} ${senderId}`);
    if (known !== undefined) return { id: known, isDuplicate: true };
    if (this.blocked.has(from)) return 'ERR_SENDER_BLOCKED';
    if (!this.#exists) {
      this.#exists = true;
      this.devices.set('main', 0);
    }
    this.lastId += 1;
    const { lastId: id } = this;
    if (senderId !== undefined) this.#ids.set(`${from} ${senderId}`, id);
    this.#places.push({ id, body, from, isExpired: false });
    if (expires) this.#expiring.add(id);
    return { id, isDuplicate: false };
  }

  #sweep(): void {
    let hasExpired = false;
    for (const id of this.#due) {
      const place = this.#expiring.delete(id) && this.#places.find((candidate) => candidate.id === id);
      if (!place) continue;
      place.isExpired = true;
      hasExpired = true;
    }
    this.#due = [];
    if (hasExpired) this.#free();
  }

  /** The slowest devices step over what has expired right behind them; what all have passed goes. */
  #free(): void {
    if (this.devices.size === 0) return;
    const floor = Math.min(...this.devices.values());
    let to = floor;
    while (floor >= this.baseId && this.#places.find(({ id }) => id === to + 1)?.isExpired) to += 1;
    for (const [device, cursor] of this.devices) if (cursor < to) this.devices.set(device, to);
    const lowest = Math.min(...this.devices.values());
    while (this.#places[0] && this.#places[0].id <= lowest) {
      this.#expiring.delete(this.#places.shift()!.id);
    }
  }
}
