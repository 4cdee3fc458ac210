/**
 * Each process posts to a chat, or sends to a mailbox, and reads everything as a member, or as a device. The accountant is that of
 * the fault tests.
 */
import type { Testimony } from '@mortise/faults/messaging/accountant.js';
import { account } from '@mortise/faults/messaging/accountant.js';
import type { ActorRecord } from '@mortise/faults/messaging/records.js';
import type * as Messaging from '@mortise/messaging';
import type { Plan } from '../plan.js';
import { FAULTS, LOSSES, SERVER_CLOCK } from '../plan.js';
import { Random } from '../random.js';
import type { Programs, Workload } from '../workload.js';
import type { VirtualProcess } from '../world/process.js';
import type { World } from '../world/world.js';
import type { Ack, Got, Post } from './lossy-account.js';
import { accountForLosses, postId } from './lossy-account.js';
import { Operations } from './queue-of-operations.js';

type Kind = 'chat' | 'mailbox';
interface Body {
  readonly n: number;
}

const NAME = 'news';
const CREATOR = 'creator';
const WAIT_MS = 1_000;
const END_STEPS = 20_000;
const END_MS = 300_000;
const LOOK_MS = 200;
const US_OF_MS = 1_000;
const PAUSE_MS = 20;
/** Refusals for a chat or device that the server never knew, or forgot. */
const UNKNOWN = new Set(['ERR_UNKNOWN_CHAT', 'ERR_NOT_A_MEMBER', 'ERR_UNKNOWN_DEVICE']);

export const messaging: Workload = {
  name: 'messaging',
  shape: {
    processes: [1, 3],
    operations: [3, 14],
    faults: [...FAULTS, ...SERVER_CLOCK, ...LOSSES],
    mostFaults: 5,
    steps: 400,
    longestMs: 3_000,
  },
  begin: (plan) => new MessagingPrograms(plan),
};

/** A member, or a device, through all lives of its process. */
interface Reader {
  readonly name: string;
  readonly isFollower: boolean;
  readonly records: ActorRecord[];
  readonly limit: number;
  /** The last event of a follower. */
  token: string | undefined;
  lastId: number;
  ackedId: number;
  /** The number of the message with `lastId`. */
  lastNumber: number;
  readonly got: Got[];
  readonly acks: Ack[];
  readonly notes: { readonly at: number; readonly what: string }[];
}

interface Program {
  readonly process: VirtualProcess;
  readonly chats: Messaging.Chats<Body>;
  readonly mailboxes: Messaging.Mailboxes<Body>;
}

class MessagingPrograms implements Programs {
  readonly #operations: Operations;
  readonly #kind: Kind;
  readonly #readers = new Map<number, Reader>();
  readonly #sent = new Map<string, ActorRecord[]>();
  readonly #posting = new Set<VirtualProcess>();
  readonly #violations: string[] = [];
  readonly #posts: Post[] = [];
  readonly #hasLosses: boolean;
  /** When some process had last created the chat, or the devices. */
  #preparedAt = 0;
  #numbers = 0;
  #maxId = 0;

  constructor(plan: Plan) {
    this.#operations = new Operations(plan);
    const random = new Random(plan.seed, 12);
    this.#hasLosses = plan.faults.some(({ kind }) => LOSSES.includes(kind));
    this.#kind = random.pick(['chat', 'chat', 'mailbox'] as const);
    for (const number of plan.processes) {
      const isFollower = this.#kind === 'chat' && random.isTrue(0.5);
      const limit = random.pick([2, 100]);
      const reader = {
        name: `r${number}`,
        isFollower,
        limit,
        records: [],
        token: undefined,
        lastId: 0,
        ackedId: 0,
        lastNumber: 0,
        got: [],
        acks: [],
        notes: [],
      };
      this.#readers.set(number, reader);
      this.#sent.set(`w${number}`, []);
    }
  }

  start(process: VirtualProcess, number: number): void {
    const { Chats, Mailboxes } = process.load<typeof Messaging>('@mortise/messaging');
    const redis = process.connect();
    const program = { process, chats: new Chats<Body>(redis), mailboxes: new Mailboxes<Body>(redis) };
    void this.#run(program, number);
  }

  isDone(): boolean {
    for (const process of this.#posting) if (!process.isDead) return false;
    return this.#operations.isEmpty;
  }

  async check(world: World): Promise<readonly string[]> {
    const readers = [...this.#readers.values()];
    // The last id of all may be that of a message which the server forgot.
    const isRead = (): boolean => this.#hasLosses || readers.every(({ lastId }) => lastId >= this.#maxId);
    if (!(await world.runUntil(isRead, END_STEPS, END_MS)))
      return [...this.#violations, 'lost: a reader never gets the last message'];
    await this.#checkUnread(world);
    if (this.#hasLosses) return [...this.#violations, ...this.#accountForLosses(readers, world)];
    const testimonies = readers.map(({ name, isFollower, records }): Testimony => {
      return { member: name, isFollower, records };
    });
    const senders = [...this.#sent].map(([member, records]) => ({ member, records, isFollower: false }));
    const { violations } = account(senders, testimonies);
    return [...this.#violations, ...violations.map(({ rule, details }) => `${rule}: ${details}`)];
  }

  #accountForLosses(readers: readonly Reader[], { server }: World): string[] {
    const hasFlush = server.losses.some(({ isAll }) => isAll);
    // Devices are added one by one.
    const isExcused = ({ calledAt }: Post): boolean =>
      hasFlush && this.#kind === 'mailbox' && calledAt <= this.#preparedAt;
    return accountForLosses(this.#posts, readers, server, isExcused);
  }

  async #checkUnread(world: World): Promise<void> {
    const process = world.spawn('counter');
    const { Chats, Mailboxes } = process.load<typeof Messaging>('@mortise/messaging');
    const redis = process.connect();
    const chats = new Chats(redis);
    const mailboxes = new Mailboxes(redis);
    let left = this.#readers.size;
    const count = async (reader: Reader): Promise<void> => {
      const { name } = reader;
      const unreadOf = (): Promise<number> =>
        (this.#kind === 'chat' ? chats.unread(name, NAME) : mailboxes.unread(NAME, { device: name })).catch(
          (error: unknown) => {
            if (this.#hasLosses && isUnknown(error)) return 0;
            throw error;
          },
        );
      // A post of a crashed process may be stored late.
      for (let unread = await unreadOf(); unread > 0; unread = await unreadOf()) await process.pause(LOOK_MS);
      left -= 1;
    };
    for (const reader of this.#readers.values()) void count(reader);
    if (!(await world.runUntil(() => left === 0, END_STEPS, END_MS)))
      this.#violations.push(`unread: ${left} readers have unread messages after their last ack`);
  }

  async #run(program: Program, number: number): Promise<void> {
    const { process } = program;
    this.#posting.add(process);
    await this.#prepare(program);
    const reader = this.#readers.get(number)!;
    if (this.#kind === 'mailbox') void this.#receive(program, reader);
    else if (reader.isFollower) void this.#follow(program, reader);
    else void this.#pull(program, reader);
    for (let one = this.#operations.next(number); one; one = this.#operations.next(number))
      await this.#post(program, `w${number}`, new Random(one.seed));
    this.#posting.delete(process);
  }

  /** Each process makes all that is needed, and the second one changes nothing. */
  async #prepare(program: Program): Promise<void> {
    const { chats, mailboxes } = program;
    const readers = [...this.#readers.values()].map(({ name }) => name);
    if (this.#kind === 'chat') {
      const members = [...readers, ...this.#sent.keys()];
      await this.#persist(program, () => chats.create({ chatId: NAME, sender: CREATOR, members }));
      return;
    }
    for (const device of readers) await this.#persist(program, () => mailboxes.addDevice(NAME, device));
    this.#preparedAt = program.process.now();
  }

  /** Repeats a call without a reply. After the server forgot everything, begins anew. */
  async #persist<Result>(program: Program, call: () => Promise<Result>): Promise<Result> {
    const { process } = program;
    for (;;) {
      try {
        return await call();
      } catch (error) {
        process.note(`repeats a call after ${String(error)}`);
        await process.pause(PAUSE_MS);
        if (this.#hasLosses && isUnknown(error)) await this.#prepare(program);
      }
    }
  }

  async #post(program: Program, sender: string, random: Random): Promise<void> {
    const { process, chats, mailboxes } = program;
    await process.pause(random.below(60));
    // A loss may have taken the entry of the chat in the index of a member only.
    if (this.#hasLosses && this.#kind === 'chat') await this.#prepare(program);
    this.#numbers += 1;
    const n = this.#numbers;
    const id = postId(sender, n);
    const calledAt = process.now();
    const result = await this.#persist(program, () =>
      this.#kind === 'chat'
        ? chats.post(NAME, sender, { n }, { id })
        : mailboxes.send(NAME, { n }, { from: sender, id }),
    );
    process.note(`has posted ${id} as ${result.id}`);
    this.#maxId = Math.max(this.#maxId, result.id);
    this.#posts.push({ sender, n, id: result.id, calledAt, returnedAt: process.now() });
    this.#sent.get(sender)!.push({
      type: 'accepted',
      at: at(process),
      chat: NAME,
      n,
      id: result.id,
      isDuplicate: result.isDuplicate,
    });
  }

  async #pull(program: Program, reader: Reader): Promise<void> {
    const { process, chats } = program;
    const { name, limit } = reader;
    for (;;) {
      const pulled = await this.#persist(program, () => chats.pull(name, { limit, waitMs: WAIT_MS }));
      for (const { messages, unread, lastId, ackedId, gap } of pulled) {
        if (gap) this.#note(process, reader, `gap ${gap.fromId} to ${gap.toId}`);
        if (unread !== lastId - ackedId)
          this.#violations.push(`unread: ${name} got ${unread}, and ${ackedId} of ${lastId} are acked`);
        this.#deliver(process, reader, messages);
        await process.pause(1);
        const last = messages.at(-1)!.id;
        await this.#ack(program, reader, last);
      }
    }
  }

  async #receive(program: Program, reader: Reader): Promise<void> {
    const { process, mailboxes } = program;
    const { name: device, limit } = reader;
    for (;;) {
      const messages = await this.#persist(program, () =>
        mailboxes.receive(NAME, { device, limit, waitMs: WAIT_MS }),
      );
      if (messages.some(({ droppedBefore }) => droppedBefore)) this.#note(process, reader, 'gap');
      this.#deliver(process, reader, messages);
      await process.pause(1);
      const last = messages.at(-1)?.id;
      if (last === undefined) continue;
      await this.#confirm(program, reader, last, () => mailboxes.ack(NAME, last, { device }));
    }
  }

  async #follow(program: Program, reader: Reader): Promise<void> {
    const { process, chats } = program;
    const { name, limit } = reader;
    for (;;) {
      try {
        // The ack of an earlier life may be lost, and no further message need come.
        if (reader.lastId > reader.ackedId) await this.#ack(program, reader, reader.lastId);
        const after = reader.token === undefined ? {} : { after: reader.token };
        for await (const event of chats.follow(name, after)) {
          if (event.type === 'message') this.#deliver(process, reader, [event.message]);
          else if (event.type !== 'joined') this.#note(process, reader, event.type);
          reader.token = event.token;
          if (event.type !== 'message') continue;
          const { id } = event.message;
          // After a loss the greatest id may be one that no message has any more.
          if (id % limit === 0 || id >= this.#maxId || this.#hasLosses) await this.#ack(program, reader, id);
        }
      } catch (error) {
        process.note(`follows again after ${String(error)}`);
        await process.pause(1);
      }
    }
  }

  #deliver(
    process: VirtualProcess,
    reader: Reader,
    messages: readonly { readonly id: number; readonly from: string; readonly body: Body }[],
  ): void {
    for (const { id, from, body } of messages) {
      process.note(`${reader.name} gets ${id}`);
      reader.records.push({ type: 'delivered', at: at(process), chat: NAME, epoch: 0, id, from, n: body.n });
      reader.got.push({ at: process.now(), id, from, n: body.n });
      reader.lastId = this.#hasLosses ? id : Math.max(reader.lastId, id);
      if (reader.lastId === id) reader.lastNumber = body.n;
      // A post without a reply may be stored all the same.
      this.#maxId = Math.max(this.#maxId, id);
    }
  }

  async #ack(program: Program, reader: Reader, id: number): Promise<void> {
    await this.#confirm(program, reader, id, () => program.chats.ack(NAME, reader.name, id));
  }

  async #confirm(program: Program, reader: Reader, id: number, call: () => Promise<unknown>): Promise<void> {
    const { process } = program;
    const n = reader.lastNumber;
    for (;;) {
      const calledAt = process.now();
      try {
        await call();
        reader.records.push({ type: 'acked', at: at(process), chat: NAME, id });
        reader.acks.push({ id, n, calledAt, returnedAt: process.now() });
        break;
      } catch (error) {
        process.note(`repeats an ack after ${String(error)}`);
        const { code } = error as { code?: string };
        // The server forgot the message, or the chat.
        if (this.#hasLosses && (code === 'ERR_UNKNOWN_MESSAGE' || isUnknown(error))) break;
        await process.pause(PAUSE_MS);
      }
    }
    reader.ackedId = this.#hasLosses ? id : Math.max(reader.ackedId, id);
  }

  #note(process: VirtualProcess, { records, notes }: Reader, what: string): void {
    notes.push({ at: process.now(), what });
    records.push({ type: 'noted', at: at(process), what });
  }
}

function isUnknown(error: unknown): boolean {
  return UNKNOWN.has((error as { code?: string }).code ?? '');
}

function at(process: VirtualProcess): number {
  return Math.floor(process.now() * US_OF_MS);
}
