/**
 * Some people and chats, and several processes that act for them at once, whose connections are cut at random. After each
 * round, when nothing is under way, the stored state has to follow from the results of the actions.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { Chats } from '@mortise/messaging';
import type { ChatMessage, Pulled, Role } from '@mortise/messaging';
import type { RedisClient } from '@mortise/redis';
import { freshPrefix } from '@mortise/test-kit';
import { CHATS, MEMBERS } from './chats-actions.js';
import type { Action, Round } from './chats-actions.js';

/** Further than any post of a round can get. */
const FAR = 1_000;
const ALL = { limit: 1_000 };

interface Event {
  readonly kind: ChatMessage['kind'];
  readonly from: string;
  readonly body: unknown;
  readonly revises: number | undefined;
}

const GONE = ['ERR_NOT_A_MEMBER', 'ERR_UNKNOWN_CHAT'];
/** Of two at once, nobody could say which was the last. */
const EXCLUSIVE = new Set(['join', 'leave', 'role', 'mute', 'unmute']);

/** The knowledge of a chat that lives. */
class Known {
  readonly members: Set<string>;
  readonly roles: Map<string, Role>;
  readonly events = new Map<number, Event>();
  readonly cursors = new Map<string, number>();
  /** The highest id that was asked to be acked, or was posted, by each member. */
  readonly reach = new Map<string, number>();
  /**
   * Posts by their bodies, and deletions by their messages, that may have been executed without a reply. When ioredis sends
   * one again, the message or the member may be gone.
   */
  readonly maybe = new Set<unknown>();

  constructor(
    creators: readonly string[],
    readonly epoch: number,
  ) {
    this.members = new Set(creators);
    this.roles = new Map(creators.map((name, index) => [name, index === 0 ? 'owner' : 'member']));
  }

  get lastId(): number {
    return Math.max(0, ...this.events.keys());
  }

  reached(name: string, id: number): void {
    this.reach.set(name, Math.max(id, this.reach.get(name) ?? 0));
  }

  isDeleted(id: number): boolean {
    return [...this.events.values()].some(({ kind, revises }) => kind === 'delete' && revises === id);
  }

  /** The message that a member gets for an entry. */
  shown(id: number): object {
    const event = this.events.get(id)!;
    let { body } = event;
    for (const other of [...this.events.keys()].toSorted((a, b) => a - b)) {
      const { kind, revises, body: better } = this.events.get(other)!;
      if (kind === 'edit' && revises === id) body = better;
    }
    return { ...event, id, body };
  }
}

type Outcome =
  | { readonly value: unknown; readonly body?: unknown }
  | { readonly code: string; readonly body?: unknown };

/** The members of a chat before a round, and their roles. */
type Before = ReadonlyMap<string, ReadonlyMap<string, Role>>;

/** A process for each client. */
export class World {
  readonly prefix = freshPrefix();
  readonly #processes: Chats[];
  readonly #cut: () => Promise<unknown>;
  readonly #logLength: (key: string) => Promise<number>;
  readonly #known = new Map<string, Known>();
  /** `chat member`: until they leave. */
  readonly #muted = new Set<string>();
  #count = 0;
  /** Actions that were taken. */
  actions = 0;

  constructor(
    clients: readonly (RedisClient & { llen(key: string): Promise<number> })[],
    cut: () => Promise<unknown>,
  ) {
    this.#processes = clients.map((client) => new Chats(client, { prefix: this.prefix }));
    this.#logLength = (key) => clients[0]!.llen(key);
    this.#cut = cut;
  }

  async live({ creators, actions, isCut }: Round): Promise<void> {
    const cuts = isCut ? this.#cutSometimes() : undefined;
    const dead = CHATS.filter((chatId) => !this.#known.has(chatId));
    await Promise.all(dead.map((chatId) => this.#create(chatId, creators)));
    const seen = new Set<string>();
    const chosen = actions.filter((next) => {
      if (next.type === 'pull' || !EXCLUSIVE.has(next.type)) return true;
      const who = `${next.chat} ${next.member}`;
      return !seen.has(who) && seen.add(who);
    });
    const before = new Map([...this.#known].map(([chatId, { roles }]) => [chatId, new Map(roles)]));
    const targets = chosen.map((next) => this.#targetOf(next));
    const outcomes = await Promise.all(chosen.map((next, index) => this.#take(next, targets[index]!)));
    await cuts;
    for (const [index, next] of chosen.entries())
      this.#settle(next, targets[index]!, outcomes[index]!, isCut, before);
    for (const [chatId, { members }] of this.#known) if (members.size === 0) this.#known.delete(chatId);
    for (const [index, next] of chosen.entries()) this.#explain(next, outcomes[index]!, before);
    this.actions += chosen.length;
    await this.#compare(isCut);
  }

  async #cutSometimes(): Promise<void> {
    for (let times = 0; times < 3; times += 1) {
      await pause(Math.random() * 8);
      await this.#cut();
    }
  }

  async #create(chatId: string, creators: readonly string[]): Promise<void> {
    const [sender = '', ...members] = creators;
    this.#count += 1;
    const id = `creation ${this.#count}`;
    const body = this.#count;
    const outcome = await this.#persist((chats) => chats.create({ sender, members, chatId, body, id }));
    expect(outcome).toMatchObject({ value: { chatId, id: 1 } });
    const listed = await this.#persist((chats) => chats.chatsOf(sender));
    const overview = (listed as { value: { chatId: string; epoch: number }[] }).value;
    const known = new Known(creators, overview.find((each) => each.chatId === chatId)!.epoch);
    known.events.set(1, { kind: 'message', from: sender, body, revises: undefined });
    known.reached(sender, 1);
    this.#known.set(chatId, known);
  }

  /** The id that an action means. */
  #targetOf(next: Action): number {
    if (!('back' in next)) return 0;
    const lastId = this.#known.get(next.chat)?.lastId ?? 0;
    if (next.type === 'ack') return next.back < 0 ? lastId + FAR : Math.max(0, lastId - next.back);
    return Math.max(1, lastId - next.back);
  }

  async #take(next: Action, target: number): Promise<Outcome> {
    this.#count += 1;
    const body = this.#count;
    const id = `action ${this.#count}`;
    const outcome = await this.#persist(async (chats) => {
      if (next.type === 'pull') return chats.pull(next.member, { limit: next.limit, autoAck: next.autoAck });
      if (next.type === 'post') return chats.post(next.chat, next.member, body, { id });
      if (next.type === 'ack') return chats.ack(next.chat, next.member, target);
      if (next.type === 'join') return chats.join(next.chat, next.member);
      if (next.type === 'leave') return chats.leave(next.chat, next.member);
      if (next.type === 'role') return chats.setRole(next.chat, next.member, next.role);
      if (next.type === 'mute') return chats.mute(next.chat, next.member);
      if (next.type === 'unmute') return chats.unmute(next.chat, next.member);
      if (next.type === 'delete') return chats.delete(next.chat, next.member, target);
      return chats.edit(next.chat, next.member, target, body, { id });
    });
    return { ...outcome, body: next.type === 'delete' ? undefined : body };
  }

  /** By another process each time, until there is an answer. */
  async #persist(act: (chats: Chats) => Promise<unknown>): Promise<Outcome> {
    for (let tries = 1; ; tries += 1) {
      this.#count += 1;
      try {
        return { value: await act(this.#processes[this.#count % this.#processes.length]!) };
      } catch (error) {
        const { code } = error as { code?: string };
        if (code?.startsWith('ERR_') && code !== 'ERR_CLIENT_CLOSED') return { code };
        if (tries === 50) throw error;
        await pause(10);
      }
    }
  }

  #settle(next: Action, target: number, outcome: Outcome, isCut: boolean, before: Before): void {
    if (next.type === 'pull') return;
    const known = this.#known.get(next.chat)!;
    const was = before.get(next.chat)!.has(next.member);
    if ('code' in outcome) {
      const isAllowed = {
        post: [...GONE, 'ERR_READ_ONLY_MEMBER'],
        edit: [...GONE, 'ERR_READ_ONLY_MEMBER', 'ERR_UNKNOWN_MESSAGE', 'ERR_NOT_ALLOWED'],
        delete: [...GONE, 'ERR_READ_ONLY_MEMBER', 'ERR_UNKNOWN_MESSAGE', 'ERR_NOT_ALLOWED'],
        role: GONE,
        mute: ['ERR_NOT_A_MEMBER'],
        unmute: [],
        ack: [...GONE, 'ERR_UNKNOWN_MESSAGE'],
        join: ['ERR_UNKNOWN_CHAT'],
        leave: [],
      }[next.type];
      expect(isAllowed).toContain(outcome.code);
      if (next.type === 'ack' && outcome.code === 'ERR_UNKNOWN_MESSAGE') expect(target).toBeGreaterThan(FAR);
      if (isCut && next.type === 'delete') known.maybe.add(target);
      if (isCut && (next.type === 'post' || next.type === 'edit'))
        known.maybe.add(`body ${String(outcome.body)}`);
      return;
    }
    if (next.type === 'join') {
      if (!isCut) expect(outcome.value).toMatchObject({ isNew: !was });
      if (!was) {
        known.cursors.delete(next.member);
        known.reach.delete(next.member);
        known.roles.set(next.member, 'member');
      }
      known.members.add(next.member);
      known.reached(next.member, (outcome.value as { ackedId: number }).ackedId);
    } else if (next.type === 'leave') {
      if (!isCut || outcome.value === true) expect(outcome.value).toBe(was);
      known.members.delete(next.member);
      known.roles.delete(next.member);
      known.cursors.delete(next.member);
      known.reach.delete(next.member);
      this.#muted.delete(`${next.chat} ${next.member}`);
    } else if (next.type === 'role') {
      expect(was).toBe(true);
      known.roles.set(next.member, next.role);
    } else if (next.type === 'mute') {
      this.#muted.add(`${next.chat} ${next.member}`);
    } else if (next.type === 'unmute') {
      this.#muted.delete(`${next.chat} ${next.member}`);
    } else if (next.type === 'ack') {
      expect(target).toBeLessThan(FAR);
      expect(outcome.value).toBeGreaterThanOrEqual(target);
      known.reached(next.member, target);
    } else {
      const { id, isDuplicate } = outcome.value as { id: number; isDuplicate: boolean };
      const kind = next.type === 'post' ? 'message' : next.type;
      const revises = kind === 'message' ? undefined : target;
      const event: Event = { kind, from: next.member, body: outcome.body, revises };
      if (kind === 'delete' && isDuplicate) {
        // Of two who delete the same, the second gets the event of the first.
        if (isCut) known.maybe.add(target);
        return;
      }
      if (!isCut) expect(isDuplicate).toBe(false);
      expect(known.events.get(id)).toBeUndefined();
      known.events.set(id, event);
      known.reached(next.member, id);
    }
  }

  /** Every refusal of a non-member had a reason, and every pull was in order and whole. */
  #explain(next: Action, outcome: Outcome, before: Before): void {
    if ('code' in outcome) {
      if (next.type === 'pull') throw new Error(`a pull was refused: ${outcome.code}`);
      const known = this.#known.get(next.chat);
      const isIn = before.get(next.chat)!.has(next.member) && known?.members.has(next.member) === true;
      if (isIn) expect(outcome.code).not.toBe('ERR_NOT_A_MEMBER');
      if (known) expect(outcome.code).not.toBe('ERR_UNKNOWN_CHAT');
      if (outcome.code === 'ERR_READ_ONLY_MEMBER') {
        const roles = [before.get(next.chat)!.get(next.member), known?.roles.get(next.member)];
        expect(roles).toContain('reader');
      }
      return;
    }
    if (next.type === 'post' || next.type === 'edit' || next.type === 'delete') {
      // A member who only read wrote nothing.
      const after = this.#known.get(next.chat)?.roles.get(next.member) ?? 'reader';
      if (after === 'reader') expect(before.get(next.chat)!.get(next.member)).not.toBe('reader');
    }
    if (next.type !== 'pull') return;
    for (const pulled of outcome.value as Pulled[]) {
      const known = this.#known.get(pulled.chatId);
      const ids = pulled.messages.map(({ id }) => id);
      expect(ids).toEqual(ids.toSorted((a, b) => a - b));
      expect(ids[0]).toBeGreaterThan(pulled.ackedId);
      expect(pulled).not.toHaveProperty('gap');
      if (known?.epoch !== pulled.epoch) continue;
      if (next.autoAck) known.reached(next.member, ids.at(-1)!);
      for (let id = pulled.ackedId + 1; id <= ids.at(-1)!; id += 1) {
        if (!ids.includes(id)) expect(known.isDeleted(id) || known.maybe.has(id)).toBe(true);
      }
    }
  }

  async #compare(isCut: boolean): Promise<void> {
    const chats = this.#processes[0]!;
    for (const chatId of CHATS) await this.#compareChat(chats, chatId, isCut);
    for (const name of MEMBERS) await this.#compareMember(chats, name);
  }

  async #compareChat(chats: Chats, chatId: string, isCut: boolean): Promise<void> {
    const log = `${this.prefix}:messaging:{${chatId.replace('{', '%7B').replace('}', '%7D')}}:log`;
    const known = this.#known.get(chatId);
    if (!known) {
      await expect(chats.members(chatId)).rejects.toMatchObject({ code: 'ERR_UNKNOWN_CHAT' });
      expect(await this.#logLength(log)).toBe(0);
      return;
    }
    const { members } = await chats.members(chatId);
    // No ghost, and nobody missing.
    expect(members.map((each) => each.member).toSorted()).toEqual([...known.members].toSorted());
    let lastId = 0;
    for (const { id, kind, from, body, revises } of await chats.history(chatId, ALL)) {
      lastId = Math.max(lastId, id);
      if (known.maybe.has(kind === 'delete' ? revises : `body ${String(body)}`) && !known.events.has(id)) {
        known.events.set(id, { kind, from, body, revises });
      }
      expect([...known.events.keys()]).toContain(id);
    }
    expect(new Map(members.map((each) => [each.member, each.role]))).toEqual(known.roles);
    for (const { member: name, ackedId } of members) {
      // Cursors never move back, and never further than somebody asked for; a pull whose reply was lost asked, too.
      expect(ackedId).toBeGreaterThanOrEqual(known.cursors.get(name) ?? 0);
      if (!isCut)
        expect(ackedId).toBeLessThanOrEqual(
          Math.max(known.reach.get(name) ?? 0, known.cursors.get(name) ?? 0),
        );
      known.cursors.set(name, ackedId);
    }
    // Trimmed up to the slowest member, exactly.
    const floor = Math.min(...known.cursors.values());
    const overviews = await chats.chatsOf(members[0]!.member);
    const overview = overviews.find((each) => each.chatId === chatId);
    expect(overview?.lastId).toBeGreaterThanOrEqual(lastId);
    expect(await this.#logLength(log)).toBe(overview!.lastId - floor);
    expect(overview!.lastId).toBeGreaterThanOrEqual(known.lastId);
    if (known.maybe.size === 0) {
      expect([...known.events.keys()].toSorted((a, b) => a - b)).toEqual(
        Array.from({ length: overview!.lastId }, (_, index) => index + 1),
      );
    }
  }

  async #compareMember(chats: Chats, name: string): Promise<void> {
    const [pulled, audible] = [
      await chats.pull(name, { ...ALL, includeMuted: true }),
      await chats.pull(name, ALL),
    ];
    const overviews = await chats.chatsOf(name);
    const own = [...this.#known].filter(([, { members }]) => members.has(name));
    expect(overviews.map(({ chatId }) => chatId).toSorted()).toEqual(
      own.map(([chatId]) => chatId).toSorted(),
    );
    const wanted = own.map(([chatId, known]) => {
      const ackedId = known.cursors.get(name)!;
      const { lastId, unread } = overviews.find((each) => each.chatId === chatId)!;
      const messages: object[] = [];
      for (let id = ackedId + 1; id <= lastId; id += 1)
        if (!known.isDeleted(id)) messages.push(known.shown(id));
      expect(unread).toBe(messages.filter((each) => (each as Event).kind === 'message').length);
      return {
        chatId,
        epoch: known.epoch,
        ackedId,
        lastId,
        unread,
        messages,
        isMuted: this.#muted.has(`${chatId} ${name}`),
      };
    });
    expect(audible).toEqual(pulled.filter(({ isMuted }) => !isMuted));
    expect(overviews.filter(({ isMuted }) => isMuted).map(({ chatId }) => chatId)).toEqual(
      overviews.map(({ chatId }) => chatId).filter((chatId) => this.#muted.has(`${chatId} ${name}`)),
    );
    const got = pulled.map((each) => ({
      ...each,
      messages: each.messages.map(({ id, kind, from, body, revises }) => ({ id, kind, from, body, revises })),
    }));
    const byName = (a: { chatId: string }, b: { chatId: string }): number => (a.chatId < b.chatId ? -1 : 1);
    expect(got.toSorted(byName)).toEqual(
      wanted.filter(({ messages }) => messages.length > 0).toSorted(byName),
    );
  }
}
