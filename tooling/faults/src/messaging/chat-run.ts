/** One run: chats, processes that post, pull and follow, what is done to them, and the account of every message at the end. */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Chats, Mailboxes } from '@mortise/messaging';
import { until } from '../until.js';
import type { Cluster, Redis } from 'ioredis';
import { Child } from '../child.js';
import { connectTo } from '../connect.js';
import { nowUs } from '../locks/clock.js';
import type { RedisAddress } from '../locks/config.js';
import type { Account, Fault, Testimony } from './accountant.js';
import { account } from './accountant.js';
import type { ActorConfig, Order, Role, Sabotage } from './config.js';
import { GOVERNED, READING, roleOf, SENDING } from './config.js';
import { readRecords } from './records.js';

export interface ChatRunOptions {
  readonly prefix: string;
  /** Default: three. */
  readonly chats?: readonly string[];
  /**
   * How many of each; all are members of all chats, and who receives is a device of all recipients. Default: two of `post`,
   * `pull` and `follow`.
   */
  readonly actors?: Partial<Record<Role, number>>;
  /** Between two posts of a sender to a chat. Default: 2. */
  readonly pauseMs?: number;
  readonly sabotage?: Sabotage;
}

const CHATS = ['a', 'b', 'c'];
const COUNTS: Readonly<Record<Role, number>> = {
  post: 2,
  revise: 0,
  pull: 2,
  follow: 2,
  govern: 0,
  send: 0,
  receive: 0,
};
const ROLES = Object.keys(COUNTS) as Role[];
const TIMEOUT_MS = 60_000;
const LOOK_EVERY_MS = 20;
const REPLICATION_LAG_US = 500_000;

/** A process, and those that take its place when it is killed. */
class Actor {
  kills = 0;
  #child: Child;
  #isReady: Promise<void>;

  constructor(readonly config: ActorConfig) {
    [this.#child, this.#isReady] = this.#start();
  }

  get isReady(): Promise<void> {
    return this.#isReady;
  }

  get output(): string {
    return this.#child.output;
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** SIGSTOP, and SIGCONT after this time. */
  async freeze(ms: number): Promise<void> {
    await this.#child.pause();
    await pause(ms);
    this.#child.resume();
  }

  /** SIGKILL; another one goes on where this one was. */
  async replace(): Promise<void> {
    this.kills += 1;
    await this.#child.kill();
    [this.#child, this.#isReady] = this.#start();
    await this.#isReady;
  }

  /** Asks it to end, and waits until it has. */
  async stop(): Promise<void> {
    this.#child.send('stop' satisfies Order);
    await this.#child.hasEnded;
  }

  async kill(): Promise<void> {
    await this.#child.kill();
  }

  #start(): [Child, Promise<void>] {
    const resolvers = { ready: () => {} };
    const child = new Child('messaging/actor.js', this.config, this.config.file, () => resolvers.ready());
    const isReady = new Promise<void>((resolve, reject) => {
      resolvers.ready = resolve;
      void child.hasEnded.then(() => reject(new Error(`${this.config.member} ended:\n${child.output}`)));
    });
    isReady.catch(() => undefined);
    return [child, isReady];
  }
}

export class ChatRun {
  readonly redis: Redis | Cluster;
  readonly chats: Chats;
  readonly mailboxes: Mailboxes;
  readonly chatIds: readonly string[];
  readonly actors: readonly Actor[];
  readonly #directory = mkdtempSync(join(tmpdir(), 'mortise-faults-'));
  readonly #faults: Fault[] = [];
  /** When the chats were created again, and when everybody took part in them, µs. */
  readonly #flushes: { readonly createdAt: number; readonly to: number }[] = [];
  readonly #options: ChatRunOptions;
  private constructor(address: RedisAddress, options: ChatRunOptions) {
    const { prefix, chats = CHATS, actors = {}, pauseMs = 2, sabotage } = options;
    this.redis = connectTo(address);
    this.chats = new Chats(this.redis, { prefix });
    this.mailboxes = new Mailboxes(this.redis, { prefix });
    this.chatIds = chats;
    this.#options = options;
    this.actors = ROLES.flatMap((role) =>
      Array.from({ length: actors[role] ?? COUNTS[role] }, (_, index) => {
        const member = `${role} ${index}`;
        const file = join(this.#directory, `${role}-${index}.jsonl`);
        const config = { role, member, chats, file, redis: address, prefix, pauseMs };
        return new Actor({ ...config, ...(sabotage && { sabotage }) });
      }),
    );
  }

  /** Creates the chats, and resolves when all processes run. */
  static async start(address: RedisAddress, options: ChatRunOptions): Promise<ChatRun> {
    const creator = connectTo(address);
    try {
      await create(creator, options);
    } finally {
      creator.disconnect();
    }
    const run = new ChatRun(address, options);
    try {
      await Promise.all(run.actors.map(({ isReady }) => isReady));
      return run;
    } catch (error) {
      await run.dispose();
      throw error;
    }
  }

  of(role: Role): Actor[] {
    return this.actors.filter(({ config }) => config.role === role);
  }

  get kills(): number {
    return this.actors.reduce((sum, { kills }) => sum + kills, 0);
  }

  /** How many posts their senders know to be accepted. */
  get accepted(): number {
    const records = this.#senders().flatMap(({ config }) => readRecords(config.file));
    return records.filter(({ type }) => type === 'accepted').length;
  }

  /** How much all processes have written down. */
  get recordBytes(): number {
    return this.actors.reduce((sum, { config }) => sum + sizeOf(config.file), 0);
  }

  /** Waits until every reader has got so many messages more. */
  async movesOn(messages = 100): Promise<void> {
    const counts = (): number[] => this.#readers().map(({ records }) => records.length);
    const before = counts();
    await until(
      `${messages} messages more for every reader`,
      () => counts().every((count, reader) => count >= before[reader]! + messages),
      TIMEOUT_MS,
    );
  }

  /** Notes that something is done to Redis or the network while `action` runs, and for a moment before it. */
  async during<Result>(action: () => Promise<Result>, { mayForget = false } = {}): Promise<Result> {
    const from = nowUs() - (mayForget ? REPLICATION_LAG_US : 0);
    try {
      return await action();
    } finally {
      this.#faults.push({ from, to: nowUs(), mayForget });
    }
  }

  /** Notes a fault that is known only afterwards. */
  noted(fault: Fault): void {
    this.#faults.push(fault);
  }

  /**
   * After FLUSHALL: creates the chats or mailboxes again, and waits until everybody takes part in the new ones. From then on they
   * are others, which are accounted for by themselves. Of those before, only lost messages are excused.
   */
  async recreate(from: number): Promise<void> {
    // Only what comes from now on: the records of an hour are long.
    const known = new Map(this.actors.map(({ config }) => [config.file, sizeOf(config.file)]));
    await create(this.redis, this.#options);
    const createdAt = nowUs();
    const takesPart = ({ config }: Actor): boolean =>
      readRecords(config.file, known.get(config.file)).some(
        (record) => (record.type === 'accepted' || record.type === 'delivered') && record.at > createdAt,
      );
    const all = this.actors.filter(({ config }) => [...SENDING, ...READING].includes(config.role));
    await until('all to take part in the new chats', () => all.every(takesPart), TIMEOUT_MS);
    const to = nowUs();
    this.#faults.push({ from, to, mayForget: true });
    this.#flushes.push({ createdAt, to });
  }

  /**
   * No more posts; then waits until everybody has everything, or for `withinMs`: what is missing then is accounted for as lost.
   * At last nobody runs any more.
   */
  async verdict({ withinMs = TIMEOUT_MS } = {}): Promise<Account> {
    await Promise.all([...this.#senders(), ...this.of('govern')].map((actor) => actor.stop()));
    const deadline = performance.now() + withinMs;
    let found = this.#account();
    while (found.violations.some(({ rule }) => rule === 'lost') && performance.now() < deadline) {
      await pause(10 * LOOK_EVERY_MS);
      found = this.#account();
    }
    return found;
  }

  /** Everybody acks everything; returns how many messages are still there. */
  async leftWhenAllAcked(): Promise<number> {
    const { member } = this.actors[0]!.config;
    for (const { chatId, lastId } of await this.chats.chatsOf(member)) {
      const { members } = await this.chats.members(chatId, { limit: 100 });
      await Promise.all(members.map((one) => this.chats.ack(chatId, one.member, lastId)));
    }
    const left = await Promise.all(this.chatIds.map((chatId) => this.chats.history(chatId, { limit: 1 })));
    return left.flat().length;
  }

  /** Everybody runs until all devices have acked everything; then nothing is stored any more. Returns how much is. */
  async leftWhenAllReceived(): Promise<number> {
    const sizes = async (): Promise<number[]> =>
      Promise.all(this.chatIds.map(async (recipient) => (await this.mailboxes.status(recipient)).size));
    await until(
      'all devices to have acked',
      async () => (await sizes()).every((size) => size === 0),
      TIMEOUT_MS,
    );
    const { prefix } = this.actors[0]!.config;
    const logs = this.chatIds.map((recipient) =>
      this.redis.llen(`${prefix}:messaging:{${recipient}}:mailbox-log`),
    );
    return (await Promise.all(logs)).reduce((sum, length) => sum + length, 0);
  }

  /** The role that who is governed should have in each chat at the end, and the one that they have. */
  async roles(): Promise<{ readonly wanted: string; readonly found: string | undefined }[]> {
    const records = this.of('govern').flatMap(({ config }) => readRecords(config.file));
    return Promise.all(
      this.chatIds.map(async (chatId) => {
        const given = records.filter((record) => record.type === 'governed' && record.chat === chatId);
        const { members } = await this.chats.members(chatId, { limit: 100 });
        const found = members.find(({ member }) => member === GOVERNED)?.role;
        return { wanted: roleOf(given.length), found };
      }),
    );
  }

  async dispose(): Promise<void> {
    await Promise.all(this.actors.map((actor) => actor.kill()));
    this.redis.disconnect();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #account(): Account {
    const senders = this.#senders().map(({ config }) => testimony(config));
    const readers = this.#readers();
    const { createdAt = 0, to = 0 } = this.#flushes.at(-1) ?? {};
    // A reader may have a message before its sender has the answer.
    const found = account(within(senders, to, Infinity), within(readers, createdAt, Infinity), this.#faults);
    const before = this.#flushes.map((flush, index) =>
      account([], within(readers, this.#flushes[index - 1]?.createdAt ?? 0, flush.createdAt), this.#faults),
    );
    return {
      ...found,
      violations: [...before.flatMap(({ violations }) => violations), ...found.violations],
      delivered: before.reduce((sum, { delivered }) => sum + delivered, found.delivered),
    };
  }

  #readers(): Testimony[] {
    const readers = this.actors.filter(({ config }) => READING.includes(config.role));
    return readers.map(({ config }) => testimony(config));
  }

  #senders(): Actor[] {
    return this.actors.filter(({ config }) => SENDING.includes(config.role));
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** The records between these instants, µs. */
function within(testimonies: readonly Testimony[], from: number, to: number): Testimony[] {
  return testimonies.map((one) => ({
    ...one,
    records: one.records.filter(({ at }) => from <= at && at < to),
  }));
}

async function create(redis: Redis | Cluster, options: ChatRunOptions): Promise<void> {
  const { chats = CHATS, actors = {}, prefix } = options;
  const namesOf = (role: Role): string[] =>
    Array.from({ length: actors[role] ?? COUNTS[role] }, (_, index) => `${role} ${index}`);
  const [devices, governors] = [namesOf('receive'), namesOf('govern')];
  const members = ROLES.flatMap(namesOf).filter(
    (name) => !devices.includes(name) && !governors.includes(name) && !name.startsWith('send'),
  );
  for (const chatId of chats) {
    for (const device of devices) await new Mailboxes(redis, { prefix }).addDevice(chatId, device);
    if (members.length === 0) continue;
    await new Chats(redis, { prefix }).create({ chatId, sender: members[0]!, members });
  }
}

function testimony({ member, role, file }: ActorConfig): Testimony {
  return { member, isFollower: role === 'follow', records: readRecords(file) };
}

/** For the output of a test. */
export function describeAccount(run: ChatRun, found: Account): string {
  const { accepted, delivered, repeatedPosts, pulledAgain, forgotten } = found;
  return `accepted ${accepted}, delivered ${delivered}, posts repeated ${repeatedPosts}, pulled again ${pulledAgain}, forgotten ${forgotten}, processes killed ${run.kills}\n`;
}
