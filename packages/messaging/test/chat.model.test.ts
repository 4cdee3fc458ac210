import { expect, test } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import type { Role } from '@mortise/messaging';
import { connect, freshPrefix } from '@mortise/test-kit';
import * as fc from 'fast-check';
import { describeChat } from './chat-state.js';

const redis = connect();
const other = connect();
const MAX_MESSAGES = 6;
const CHAT = 'guild';

interface StoredEntry {
  id: number;
  kind: string;
  from: string;
  body: unknown;
  revises?: number;
}

interface Standing {
  cursor: number;
  role: Role;
}

/** A chat in memory: what the scripts do, with arrays. What is refused is the code of the refusal. */
class Model {
  standings: Map<string, Standing> | undefined;
  entries: StoredEntry[] = [];
  readonly uncounted = new Set<number>();
  readonly ids = new Map<string, number>();
  lastId = 0;

  constructor(readonly keepAcked: number) {}

  create(sender: string, members: readonly string[], body: unknown): unknown {
    if (this.standings) return { chatId: CHAT, isNew: false };
    this.standings = new Map([sender, ...members].map((name) => [name, { cursor: 0, role: 'member' }]));
    this.standings.get(sender)!.role = 'owner';
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
    if (this.standings && known !== undefined) return { id: known, isDuplicate: true };
    const refusal = this.#refusal(sender);
    if (refusal) return refusal;
    return this.#append('message', sender, body, undefined, id);
  }

  revise(kind: 'edit' | 'delete', sender: string, messageId: number, body: unknown): unknown {
    if (!this.standings) return 'ERR_UNKNOWN_CHAT';
    const known = kind === 'delete' ? this.ids.get(`${sender} delete ${messageId}`) : undefined;
    if (known !== undefined) return { id: known, isDuplicate: true };
    const refusal = this.#refusal(sender);
    if (refusal) return refusal;
    const isOwner = this.standings.get(sender)!.role === 'owner';
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
    if (!this.standings) return 'ERR_UNKNOWN_CHAT';
    const standing = this.standings.get(member);
    if (!standing) return 'ERR_NOT_A_MEMBER';
    if (upToId > this.lastId) return 'ERR_UNKNOWN_MESSAGE';
    standing.cursor = Math.max(standing.cursor, upToId);
    this.#trim();
    return standing.cursor;
  }

  join(member: string, role: Role): unknown {
    if (!this.standings) return 'ERR_UNKNOWN_CHAT';
    const standing = this.standings.get(member);
    if (standing) return { isNew: false, ackedId: standing.cursor };
    this.standings.set(member, { cursor: this.lastId, role });
    return { isNew: true, ackedId: this.lastId };
  }

  leave(member: string): unknown {
    if (!this.standings?.delete(member)) return false;
    if (this.standings.size > 0) {
      this.#trim();
      return true;
    }
    this.standings = undefined;
    this.entries = [];
    this.lastId = 0;
    return true;
  }

  setRole(member: string, role: Role, by: string): unknown {
    if (!this.standings) return 'ERR_UNKNOWN_CHAT';
    if (!this.standings.has(by)) return 'ERR_NOT_A_MEMBER';
    if (this.standings.get(by)!.role !== 'owner') return 'ERR_NOT_ALLOWED';
    const standing = this.standings.get(member);
    if (!standing) return 'ERR_NOT_A_MEMBER';
    standing.role = role;
    return undefined;
  }

  get state(): {
    readonly cursors: Readonly<Record<string, number>>;
    readonly [part: string]: unknown;
  } {
    const stored = new Set(this.entries.map(({ id }) => id));
    const standings = [...(this.standings ?? new Map<string, Standing>())];
    return {
      exists: this.standings !== undefined,
      lastId: this.lastId,
      entries: this.entries,
      cursors: Object.fromEntries(standings.map(([name, { cursor }]) => [name, cursor])),
      roles: Object.fromEntries(standings.map(([name, { role }]) => [name, role])),
      uncounted: [...this.uncounted].filter((id) => stored.has(id)).toSorted((a, b) => a - b),
    };
  }

  #refusal(sender: string): string | undefined {
    if (!this.standings) return 'ERR_UNKNOWN_CHAT';
    const standing = this.standings.get(sender);
    if (!standing) return 'ERR_NOT_A_MEMBER';
    return standing.role === 'reader' ? 'ERR_READ_ONLY_MEMBER' : undefined;
  }

  #append(kind: string, from: string, body: unknown, revises?: number, senderId?: string): unknown {
    const standing = this.standings!.get(from)!;
    if (standing.cursor === this.lastId) standing.cursor += 1;
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
    const floor = Math.min(...[...this.standings!.values()].map(({ cursor }) => cursor));
    const freedTo = Math.min(floor, this.lastId - this.keepAcked);
    this.entries = this.entries.filter(({ id }) => id > freedTo);
  }
}

const who = fc.constantFrom('anna', 'bob', '}x', '\0l');
const role = fc.constantFrom<Role>('owner', 'member', 'reader');
const ahead = fc.integer({ min: -7, max: 1 });

const operation = fc.oneof(
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

type Step = typeof operation extends fc.Arbitrary<infer Value> ? Value : never;

/** What a step gives, or the code of the refusal. */
async function take(step: Step, chats: Chats<number>, lastId: number, body: number): Promise<unknown> {
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
        return await chats.ack(step.who, CHAT, Math.max(0, lastId + step.ahead));
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

function expectation(step: Step, model: Model, body: number): unknown {
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

test('any sequence of calls leaves what a chat in memory has', async () => {
  const first: Step = { type: 'create', who: 'anna', members: ['bob'], hasBody: false };
  await fc.assert(
    fc.asyncProperty(
      fc.array(operation, { minLength: 10, maxLength: 40 }),
      fc.constantFrom(0, 2),
      async (steps, keepAcked) => {
        const prefix = freshPrefix();
        const chats = new Chats<number>(redis, { prefix, maxMessages: MAX_MESSAGES, keepAcked });
        const model = new Model(keepAcked);
        let body = 0;
        for (const step of [first, ...steps]) {
          body += 1;
          const { lastId } = model;
          const expected = expectation(step, model, body);
          expect([step, await take(step, chats, lastId, body)]).toEqual([step, expected]);
          const { bytes, storedBytes, uncounted, entries, ...state } = await describeChat(
            redis,
            prefix,
            CHAT,
          );
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
      },
    ),
    { numRuns: 25 },
  );
}, 60_000);

test('calls of many clients in one tick come out as some order of them: ids dense, nothing twice', async () => {
  const call = fc.record({
    who: fc.nat(3),
    type: fc.constantFrom('post', 'ack', 'leave', 'join'),
    client: fc.nat(1),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(call, { minLength: 5, maxLength: 80 }), async (steps) => {
      const prefix = freshPrefix();
      const clients = [redis, other].map((client) => new Chats<number>(client, { prefix }));
      await clients[0]!.create({ chatId: CHAT, sender: 'keeper', members: ['m0', 'm1'] });
      const refusals = new Set<string>();
      const posted = await Promise.all(
        steps.map(async ({ who: n, type, client }, index) => {
          const chats = clients[client]!;
          try {
            if (type === 'post') return (await chats.post(CHAT, `m${n}`, index)).id;
            if (type === 'ack') await chats.ack(`m${n}`, CHAT, 1);
            if (type === 'leave') await chats.leave(CHAT, `m${n}`);
            if (type === 'join') await chats.join(CHAT, `m${n}`);
          } catch (error) {
            refusals.add((error as { code: string }).code);
          }
          return undefined;
        }),
      );
      expect(['ERR_NOT_A_MEMBER', 'ERR_UNKNOWN_MESSAGE']).toEqual(expect.arrayContaining([...refusals]));
      const ids = posted.filter((id) => id !== undefined).toSorted((a, b) => a - b);
      const { lastId, entries, bytes, storedBytes } = await describeChat(redis, prefix, CHAT);
      expect(ids).toEqual(ids.map((_, n) => n + 1));
      // The keeper acks nothing, so everything is there.
      expect(entries.map(({ id }) => id)).toEqual(ids);
      expect(entries.map(({ id, body }) => posted[body as number] === id)).toEqual(ids.map(() => true));
      expect({ lastId, bytes }).toEqual({ lastId: ids.length, bytes: storedBytes });
    }),
    { numRuns: 15 },
  );
}, 60_000);
