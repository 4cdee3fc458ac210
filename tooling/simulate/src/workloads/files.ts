/**
 * Each process sends files of lines, and is a receiver. One copies all files, another one counts their lines; their results lie outside
 * of the process, with the offset that it has reached. A third one adds them to the counts of days. At the end each copy is whole, and
 * each count exact.
 */
import type * as Files from '@mortise/messaging/files';
import type * as Logs from '@mortise/messaging/log-aggregation';
import type { Plan } from '../plan.js';
import { FAULTS, LOSSES, SERVER_CLOCK } from '../plan.js';
import { Random } from '../random.js';
import type { Programs, Workload } from '../workload.js';
import type { VirtualProcess } from '../world/process.js';
import type { World } from '../world/world.js';
import type { Counts } from './log-lines.js';
import { contentOf, countsOf, DAYS, PLACES, tableOf } from './log-lines.js';
import { persist } from './persist.js';
import { Operations } from './queue-of-operations.js';

const CHANNEL = 'logs';
const LIMITS = { chunkBytes: 4_096, windowBytes: 16_384, lingerMs: 20, leaseMs: 1_000 };
const MOST_LINES = 80;
/** Their members take more than one segment of a checkpoint. */
const WIDE_LINES = 400;
const WIDE_BYTES = 12_000;
const PLACES_OF_FILE = 6;
const PAUSE_MS = 20;
const LOOK_MS = 200;
const SILENT_MS = 5_000;
const END_STEPS = 60_000;
const END_MS = 600_000;
/** All processes that count days share one receiver: one works, and the others wait. */
const DAYS_RECEIVER = 'days';
const BROKEN = new Set(['ERR_FILE_CORRUPT', 'ERR_FILE_EXPIRED']);

export const files: Workload = {
  name: 'files',
  shape: {
    processes: [1, 3],
    operations: [1, 5],
    // Not yet the losses: after some, a receiver waits for a file for ever.
    faults: [...FAULTS, ...SERVER_CLOCK],
    mostFaults: 5,
    steps: 400,
    longestMs: 3_000,
  },
  begin: (plan) => new FilePrograms(plan),
};

type Role = 'copy' | 'count' | 'days';

interface Sent {
  readonly id: string;
  readonly content: string;
  readonly calledAt: number;
  acceptedAt: number | undefined;
  /** When its lines were in the counts of days. */
  aggregatedAt: number | undefined;
}

/** The state that a receiver has stored for a file. */
interface Stored {
  offset: number;
  text: string;
  lines: number;
  /** `done` was called; without a reply, the file may come again. */
  isFinished: boolean;
  isDone: boolean;
}

/** Settings of the receiver that counts days. */
interface DaySetting {
  readonly checkpointBytes: number;
  readonly checkpointMs: number;
  readonly maxKeys: number;
  readonly maxDays: number;
  readonly forgetMs: number;
}

class FilePrograms implements Programs {
  readonly #operations: Operations;
  readonly #roles = new Map<number, Role>();
  readonly #receivers: readonly string[];
  readonly #days: DaySetting;
  readonly #isWide: boolean;
  readonly #hasLosses: boolean;
  readonly #sent = new Map<string, Sent>();
  /** By the number of their process: files that it has to send to their end. */
  readonly #open = new Map<number, Sent[]>();
  /** By receiver and file. */
  readonly #stored = new Map<string, Stored>();
  /** By receiver and file: given up after a loss. If that is lost too, such a file comes again from the last ack on. */
  readonly #broken = new Set<string>();
  readonly #sending = new Set<VirtualProcess>();
  readonly #violations: string[] = [];
  /** Files that came again: judged at the end, when all losses are known. */
  readonly #again: { readonly key: string; readonly calledAt: number }[] = [];

  constructor(plan: Plan) {
    this.#operations = new Operations(plan);
    const random = new Random(plan.seed, 15);
    this.#hasLosses = plan.faults.some(({ kind }) => LOSSES.includes(kind));
    const roles = plan.processes.map(() => random.pick(['copy', 'count', 'days', 'days'] as const));
    for (const [index, number] of plan.processes.entries()) this.#roles.set(number, roles[index]!);
    this.#receivers = [...new Set(plan.processes.map((number) => this.#receiverOf(number)))];
    const isWide = random.isTrue(0.1);
    this.#isWide = isWide && !this.#hasLosses;
    this.#days = {
      checkpointBytes: this.#isWide ? WIDE_BYTES : random.pick([200, 200, 1_000, WIDE_BYTES]),
      checkpointMs: this.#isWide ? 60_000 : random.pick([20, 500]),
      maxKeys: this.#isWide ? 10 * WIDE_LINES : random.pick([2, 10_000]),
      maxDays: random.pick([1, 16]),
      // A failover that forgets more than this has a file counted twice.
      forgetMs: this.#hasLosses ? 60_000 : random.pick([0, 60_000]),
    };
  }

  start(process: VirtualProcess, number: number): void {
    const { FileReceiver, FileSender } = process.load<typeof Files>('@mortise/messaging/files');
    const redis = process.connect();
    const sender = new FileSender(redis, CHANNEL, { ...LIMITS, receivers: this.#receivers });
    const role = this.#roles.get(number)!;
    const name = this.#receiverOf(number);
    void this.#send(process, number, sender);
    if (this.#hasLosses) void this.#discard(process, redis);
    if (role === 'days') this.#countDays(process, redis, name);
    else {
      const receiver = new FileReceiver(redis, CHANNEL, name, { leaseMs: LIMITS.leaseMs });
      void this.#receive(process, name, receiver, role);
    }
  }

  /** The sender of an earlier life doesn't learn of what a server forgot. */
  async #discard(process: VirtualProcess, redis: ReturnType<VirtualProcess['connect']>): Promise<void> {
    const { FileChannel } = process.load<typeof Files>('@mortise/messaging/files');
    const channel = new FileChannel(redis, CHANNEL);
    for (;;) {
      await process.pause(SILENT_MS);
      await persist(process, () => channel.discardAbandoned(SILENT_MS, 'its sender is gone'));
    }
  }

  isDone(): boolean {
    for (const process of this.#sending) if (!process.isDead) return false;
    return this.#operations.isEmpty && [...this.#open.values()].every(({ length }) => length === 0);
  }

  async check(world: World): Promise<readonly string[]> {
    const reader = world.spawn('reader');
    let counts: Counts | undefined;
    void this.#read(reader).then((found) => (counts = found));
    if (!(await world.runUntil(() => counts !== undefined, END_STEPS, END_MS)))
      this.#violations.push('progress: some receiver is never done with all files');
    for (const receiver of this.#receivers) {
      if (receiver === DAYS_RECEIVER) continue;
      for (const file of this.#sent.values()) this.#compare(receiver, file, world);
    }
    // A sender that learns of a loss sends its last files again.
    for (const { key, calledAt } of this.#again)
      if (!world.server.mayHaveForgotten(calledAt, Infinity))
        this.#violations.push(`again: ${key} comes after it was done`);
    if (counts && this.#receivers.includes(DAYS_RECEIVER)) this.#compareDays(counts, world);
    return this.#violations;
  }

  #receiverOf(number: number): string {
    return this.#roles.get(number) === 'days' ? DAYS_RECEIVER : `r${number}`;
  }

  /** The counts of days, when all receivers are done with all files. */
  async #read(reader: VirtualProcess): Promise<Counts> {
    const { FileChannel } = reader.load<typeof Files>('@mortise/messaging/files');
    const { dayKeys, DIMENSIONS } = reader.load<typeof Logs>('@mortise/messaging/log-aggregation');
    const redis = reader.connect();
    const channel = new FileChannel(redis, CHANNEL);
    while ((await channel.status()).listed > 0) await reader.pause(LOOK_MS);
    const counts: Counts = new Map();
    for (const day of DAYS) {
      const keys = dayKeys(undefined, day);
      for (const dimension of DIMENSIONS) {
        const flat = (await redis.call('zrange', [keys[dimension], 0, -1, 'withscores'])) as string[];
        for (let at = 0; at < flat.length; at += 2) counts.set(`${day} ${flat[at]!}`, Number(flat[at + 1]));
      }
      counts.set(day, Number(await redis.call('get', [keys.total])));
    }
    return counts;
  }

  #compare(receiver: string, file: Sent, { server }: World): void {
    const { id, content, calledAt, acceptedAt = Infinity } = file;
    const stored = this.#stored.get(`${receiver} ${id}`);
    if (!stored?.isFinished) {
      if (!server.mayHaveForgotten(calledAt, acceptedAt))
        this.#violations.push(`lost: ${receiver} has never read ${id} to its end`);
      return;
    }
    if (this.#broken.has(`${receiver} ${id}`)) return;
    const isCopy = this.#roles.get(Number(receiver.slice(1))) === 'copy';
    if (isCopy && stored.text !== content)
      this.#violations.push(
        `copy: ${receiver} has ${stored.text.length} of ${content.length} bytes of ${id}, or others`,
      );
    const lines = content.split('\n').length - 1;
    if (!isCopy && stored.lines !== lines)
      this.#violations.push(`count: ${receiver} has ${stored.lines} of ${lines} lines of ${id}`);
  }

  /** Each file has places of its own, but for wide ones. The counts of one that a server forgot on its way may be any. */
  #compareDays(counts: Counts, { server }: World): void {
    const expected: Counts = new Map();
    const excused = new Set<string>();
    for (const { content, calledAt, aggregatedAt = Infinity } of this.#sent.values()) {
      const isExcused = server.mayHaveForgotten(calledAt, aggregatedAt);
      for (const [key, count] of countsOf(content)) {
        expected.set(key, (expected.get(key) ?? 0) + count);
        if (isExcused) excused.add(key);
      }
    }
    for (const [key, count] of expected)
      if (counts.get(key) !== count && !excused.has(key))
        this.#violations.push(`days: ${key} has ${counts.get(key) ?? 0} of ${count} lines`);
    for (const day of DAYS) {
      const sum = [...counts].reduce((all, [key, count]) => {
        return key.startsWith(`${day} `) && !key.includes('/') ? all + count : all;
      }, 0);
      // After a loss, a file that is sent again may come between the two reads.
      if (sum !== counts.get(day) && server.losses.length === 0)
        this.#violations.push(`days: ${day} has ${counts.get(day)} lines, and its countries have ${sum}`);
    }
  }

  async #send(process: VirtualProcess, number: number, sender: Files.FileSender): Promise<void> {
    this.#sending.add(process);
    const open = this.#open.get(number) ?? [];
    this.#open.set(number, open);
    await this.#sendOpen(process, sender, open);
    for (let one = this.#operations.next(number); one; one = this.#operations.next(number)) {
      const random = new Random(one.seed);
      const file = this.#makeFile(one.seed, random, process.now());
      this.#sent.set(file.id, file);
      open.push(file);
      await process.pause(random.below(60));
      await this.#sendOpen(process, sender, open);
    }
    this.#sending.delete(process);
    if (this.#hasLosses) await this.#guard(process, sender, open);
  }

  #makeFile(seed: number, random: Random, calledAt: number): Sent {
    const content = contentOf(random, {
      count: this.#isWide ? WIDE_LINES : random.below(MOST_LINES),
      firstPlace: this.#isWide ? 0 : (this.#sent.size * PLACES_OF_FILE) % (PLACES - PLACES_OF_FILE),
      places: this.#isWide ? PLACES : PLACES_OF_FILE,
      isWide: this.#isWide,
    });
    return { id: `f${seed}`, content, calledAt, acceptedAt: undefined, aggregatedAt: undefined };
  }

  async #sendOpen(process: VirtualProcess, sender: Files.FileSender, open: Sent[]): Promise<void> {
    for (let file = open[0]; file; file = open[0]) {
      const { id, content } = file;
      try {
        await sender.send(Buffer.from(content), { id, name: id });
        process.note(`has sent ${id}`);
        file.acceptedAt = process.now();
        open.splice(open.indexOf(file), 1);
      } catch (error) {
        this.#sendAgain(error, open);
        process.note(`repeats after ${String(error)}`);
        await process.pause(PAUSE_MS);
      }
    }
  }

  /** Until all receivers have its files, a sender learns of those that a server forgot. */
  async #guard(process: VirtualProcess, sender: Files.FileSender, open: Sent[]): Promise<void> {
    for (;;) {
      try {
        await sender.received();
        return;
      } catch (error) {
        this.#sendAgain(error, open);
        await process.pause(PAUSE_MS);
        await this.#sendOpen(process, sender, open);
      }
    }
  }

  #sendAgain(error: unknown, open: Sent[]): void {
    const { code, file: name = '' } = error as { code?: string; file?: string };
    const file = code === 'ERR_FILE_FORGOTTEN' ? this.#sent.get(name) : undefined;
    if (file && !open.includes(file)) open.push(file);
  }

  #countDays(process: VirtualProcess, redis: ReturnType<VirtualProcess['connect']>, name: string): void {
    const logs = process.load<typeof Logs>('@mortise/messaging/log-aggregation');
    const collector = new logs.LogCollector(redis, CHANNEL, name, tableOf(logs), {
      ...this.#days,
      leaseMs: LIMITS.leaseMs,
      onError: (error) => process.note(`counts again after ${String(error)}`),
      onReport: ({ id }) => {
        const file = this.#sent.get(id.split(':')[1]!)!;
        file.aggregatedAt = process.now();
      },
    });
    collector.start();
  }

  async #receive(
    process: VirtualProcess,
    name: string,
    receiver: Files.FileReceiver,
    role: Role,
  ): Promise<void> {
    for (;;) {
      await persist(process, async () => {
        for await (const file of receiver.files()) await this.#receiveOne(process, name, file, role);
      });
    }
  }

  async #receiveOne(
    process: VirtualProcess,
    name: string,
    file: Files.IncomingFile,
    role: Role,
  ): Promise<void> {
    const key = `${name} ${file.name}`;
    const fresh: Stored = { offset: 0, text: '', lines: 0, isFinished: false, isDone: false };
    const stored = this.#stored.get(key) ?? fresh;
    this.#stored.set(key, stored);
    if (stored.isDone) this.#again.push({ key, calledAt: this.#sent.get(file.name)!.calledAt });
    try {
      await (role === 'copy' ? this.#copy(process, file, stored) : this.#count(process, file, stored));
    } catch (error) {
      const { code = '' } = error as { code?: string };
      // A file that its sender sends anew, or one of which the server forgot a part.
      if (code !== 'ERR_FILE_ABORTED' && !(this.#hasLosses && BROKEN.has(code))) throw error;
      await file.fail();
      this.#stored.delete(key);
      if (this.#hasLosses) this.#broken.add(key);
      return;
    }
    stored.isFinished = true;
    await file.done();
    stored.isDone = true;
    process.note(`${name} is done with ${file.name}`);
  }

  async #copy(process: VirtualProcess, file: Files.IncomingFile, stored: Stored): Promise<void> {
    for await (const block of file.blocks()) {
      const from = file.offset - block.length;
      if (from > stored.text.length)
        this.#violations.push(`gap: ${file.name} from ${stored.text.length} to ${from}`);
      stored.text = stored.text.slice(0, from) + block.toString('latin1');
      await process.pause(1);
    }
  }

  async #count(process: VirtualProcess, file: Files.IncomingFile, stored: Stored): Promise<void> {
    for await (const line of file.lines()) {
      // Lines that were counted before a crash come again, up to the last ack.
      if (file.offset <= stored.offset) continue;
      stored.lines += 1;
      stored.offset = file.offset;
      if (line.length % 10 === 0) await process.pause(1);
    }
  }
}
