/** A chat in memory, the steps that it and a real one may take, and what these have to give. */
import { expect } from '@jest/globals';
import type { Chats, Role } from '@mortise/messaging';
import * as fc from 'fast-check';
import type { Cluster, Redis } from 'ioredis';
import { describeChat } from './chat-state.js';

export const MAX_MESSAGES = 6;
export const CHAT = 'guild';

interface StoredEntry {
  id: number;
  kind: string;
  from: string;
  body: unknown;
  revises?: number;
}

interface MemberState {
  cursor: number;
  role: Role;
}

/** A chat in memory: what the scripts do, with arrays. A refusal is its code. */
export class ChatModel {
  states: Map<string, MemberState> | undefined;
  entries: StoredEntry[] = [];
  readonly uncounted = new Set<number>();
  readonly ids = new Map<string, number>();
  lastId = 0;

  constructor(readonly keepAcked: number) {}

  create(sender: string, members: readonly string[], body: unknown): unknown {
    if (this.states) return { chatId: CHAT, isNew: false };
    this.states = new Map([sender, ...members].map((name) => [name, { cursor: 0, role: 'member' }]));
    this.states.get(sender)!.role = 'owner';
    this.entries = [];
    this.uncounted.clear();
    this.ids.clear();
    this.lastId = 0;
    if (body === undefined) return { chatId: CHAT, isNew: true };
    this.#append('message', sender, body);
    return { chatId: CHAT, isNew: true, id: 1 };
  }

  post(sender: string, body: unknown, id: string | undefined): unknown {
    const known = id === undefined ? undefined : this.ids.get(`${sender} ${id}`);
    if (this.states && known !== undefined) return { id: known, isDuplicate: true };
    const refusal = this.#refusal(sender);
    if (refusal) return refusal;
    return this.#append('message', sender, body, undefined, id);
  }

  revise(kind: 'edit' | 'delete', sender: string, messageId: number, body: unknown): unknown {
    if (!this.states) return 'ERR_UNKNOWN_CHAT';
    const known = kind === 'delete' ? this.ids.get(`${sender} delete ${messageId}`) : undefined;
    if (known !== undefined) return { id: known, isDuplicate: true };
    const refusal = this.#refusal(sender);
    if (refusal) return refusal;
    const isOwner = this.states.get(sender)!.role === 'owner';
    const entry = this.entries.find(({ id }) => id === messageId);
    if (entry) {
      if (entry.kind === 'deleted' && kind === 'delete') return { id: entry.revises, isDuplicate: true };
      if (entry.kind !== 'message') return 'ERR_UNKNOWN_MESSAGE';
      if (entry.from !== sender && !(kind === 'delete' && isOwner)) return 'ERR_NOT_ALLOWED';
      if (kind === 'edit') {
        entry.body = body;
      } else {
        Object.assign(entry, { kind: 'deleted', from: '', body: undefined, revises: this.lastId + 1 });
        this.uncounted.add(messageId);
      }
    } else if (kind === 'edit' || !isOwner || messageId > this.lastId) {
      return 'ERR_UNKNOWN_MESSAGE';
    }
    this.uncounted.add(this.lastId + 1);
    return this.#append(kind, sender, body, messageId, kind === 'delete' ? `delete ${messageId}` : undefined);
  }

  ack(member: string, upToId: number): unknown {
    if (!this.states) return 'ERR_UNKNOWN_CHAT';
    const state = this.states.get(member);
    if (!state) return 'ERR_NOT_A_MEMBER';
    if (upToId > this.lastId) return 'ERR_UNKNOWN_MESSAGE';
    state.cursor = Math.max(state.cursor, upToId);
    this.#trim();
    return state.cursor;
  }

  join(member: string, role: Role): unknown {
    if (!this.states) return 'ERR_UNKNOWN_CHAT';
    const state = this.states.get(member);
    if (state) return { isNew: false, ackedId: state.cursor };
    this.states.set(member, { cursor: this.lastId, role });
    return { isNew: true, ackedId: this.lastId };
  }

  leave(member: string): unknown {
    if (!this.states?.delete(member)) return false;
    if (this.states.size > 0) {
      this.#trim();
      return true;
    }
    this.states = undefined;
    this.entries = [];
    this.lastId = 0;
    return true;
  }

  setRole(member: string, role: Role, by: string): unknown {
    if (!this.states) return 'ERR_UNKNOWN_CHAT';
    if (!this.states.has(by)) return 'ERR_NOT_A_MEMBER';
    if (by === member && this.states.get(by)!.role === role) return undefined;
    if (this.states.get(by)!.role !== 'owner') return 'ERR_NOT_ALLOWED';
    const state = this.states.get(member);
    if (!state) return 'ERR_NOT_A_MEMBER';
    state.role = role;
    return undefined;
  }

  get state(): {
    readonly cursors: Readonly<Record<string, number>>;
    readonly [part: string]: unknown;
  } {
    const stored = new Set(this.entries.map(({ id }) => id));
    const states = [...(this.states ?? new Map<string, MemberState>())];
    return {
      exists: this.states !== undefined,
      lastId: this.lastId,
      entries: this.entries,
      cursors: Object.fromEntries(states.map(([name, { cursor }]) => [name, cursor])),
      roles: Object.fromEntries(states.map(([name, { role }]) => [name, role])),
      uncounted: [...this.uncounted].filter((id) => stored.has(id)).toSorted((a, b) => a - b),
    };
  }

  #refusal(sender: string): string | undefined {
    if (!this.states) return 'ERR_UNKNOWN_CHAT';
    const state = this.states.get(sender);
    if (!state) return 'ERR_NOT_A_MEMBER';
    return state.role === 'reader' ? 'ERR_READ_ONLY_MEMBER' : undefined;
  }

  #append(kind: string, from: string, body: unknown, revises?: number, senderId?: string): unknown {
    const state = this.states!.get(from)!;
    if (state.cursor === this.lastId) state.cursor += 1;
    this.lastId += 1;
    const id = this.lastId;
    if (senderId !== undefined) this.ids.set(`${from} ${senderId}`, id);
    this.entries.push({ id, kind, from, body, ...(revises !== undefined && { revises }) });
    const droppedId = this.entries.length > MAX_MESSAGES ? this.entries.shift()!.id : undefined;
    this.#trim();
    return {
      id,
      isDuplicate: false,
      ...(droppedId !== undefined && { dropped: { fromId: droppedId, toId: droppedId } }),
    };
  }

  #trim(): void {
    const floor = Math.min(...[...this.states!.values()].map(({ cursor }) => cursor));
    const freedTo = Math.min(floor, this.lastId - this.keepAcked);
    this.entries = this.entries.filter(({ id }) => id > freedTo);
  }
}

const who = fc.constantFrom('anna', 'bob', '}x', '\0l');
const role = fc.constantFrom<Role>('owner', 'member', 'reader');
const ahead = fc.integer({ min: -7, max: 1 });

export const operation = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      type: fc.constant('post' as const),
      who,
      id: fc.option(fc.constantFrom('x', 'y')),
    }),
  },
  { weight: 5, arbitrary: fc.record({ type: fc.constant('ack' as const), who, ahead }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constantFrom('edit' as const, 'delete' as const), who, ahead }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('join' as const), who, role }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('leave' as const), who }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('role' as const), who, role, by: who }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('create' as const),
      who,
      members: fc.array(who, { maxLength: 3 }),
      hasBody: fc.boolean(),
    }),
  },
);

export type ChatStep = typeof operation extends fc.Arbitrary<infer Value> ? Value : never;

/** The result of a step, or the code of the refusal. */
export async function take(
  step: ChatStep,
  chats: Chats<number>,
  lastId: number,
  body: number,
): Promise<unknown> {
  try {
    switch (step.type) {
      case 'create':
        return await chats.create({
          chatId: CHAT,
          sender: step.who,
          members: step.members,
          ...(step.hasBody && { body }),
        });
      case 'post':
        return await chats.post(CHAT, step.who, body, step.id === null ? {} : { id: step.id });
      case 'ack':
        return await chats.ack(CHAT, step.who, Math.max(0, lastId + step.ahead));
      case 'edit':
        return await chats.edit(CHAT, step.who, Math.max(1, lastId + step.ahead), body);
      case 'delete':
        return await chats.delete(CHAT, step.who, Math.max(1, lastId + step.ahead));
      case 'join':
        return await chats.join(CHAT, step.who, { role: step.role });
      case 'leave':
        return await chats.leave(CHAT, step.who);
      case 'role':
        await chats.setRole(CHAT, step.who, step.role, { by: step.by });
    }
    return undefined;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

/** The expected result; the model takes the step. */
export function expectation(step: ChatStep, model: ChatModel, body: number): unknown {
  const id = Math.max(1, model.lastId + ('ahead' in step ? step.ahead : 0));
  switch (step.type) {
    case 'create':
      return model.create(step.who, step.members, step.hasBody ? body : undefined);
    case 'post':
      return model.post(step.who, body, step.id ?? undefined);
    case 'ack':
      return model.ack(step.who, Math.max(0, model.lastId + step.ahead));
    case 'edit':
      return model.revise('edit', step.who, id, body);
    case 'delete':
      return model.revise('delete', step.who, id, undefined);
    case 'join':
      return model.join(step.who, step.role);
    case 'leave':
      return model.leave(step.who);
    case 'role':
      break;
  }
  return model.setRole(step.who, step.role, step.by);
}

/** All that is stored of the chat is what the model has. */
export async function compareChat(redis: Redis | Cluster, prefix: string, model: ChatModel): Promise<void> {
  const { bytes, storedBytes, uncounted, entries, ...state } = await describeChat(redis, prefix, CHAT);
  const stored = new Set(entries.map(({ id }) => id));
  // Ids up to the base may be there still; they count nowhere.
  const counted = { ...state, entries, uncounted: uncounted.filter((id) => stored.has(id)) };
  expect(counted).toMatchObject(model.state);
  expect(Object.keys(state.cursors)).toHaveLength(Object.keys(model.state.cursors).length);
  expect(bytes).toBe(storedBytes);
  expect(entries.map(({ id }) => id)).toEqual(
    Array.from({ length: entries.length }, (_, n) => state.lastId - entries.length + n + 1),
  );
}
