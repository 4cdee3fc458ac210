/**
 * Each process sends files of lines, and is a receiver that copies all files or counts their lines. Its results lie outside of the process,
 * with the offset that it has reached. At the end each copy is whole, and each count exact.
 */
import type * as Files from '@mortise/messaging/files';
import type { Plan } from '../plan.js';
import { FAULTS, SERVER_CLOCK } from '../plan.js';
import { Random } from '../random.js';
import type { Programs, Workload } from '../workload.js';
import type { VirtualProcess } from '../world/process.js';
import type { World } from '../world/world.js';
import { Operations } from './queue-of-operations.js';

const CHANNEL = 'logs';
const LIMITS = { chunkBytes: 4_096, windowBytes: 16_384, lingerMs: 20, leaseMs: 1_000 };
const MOST_LINES = 300;
const LONGEST_LINE = 120;
const PAUSE_MS = 20;
const END_STEPS = 30_000;
const END_MS = 600_000;

export const files: Workload = {
  name: 'files',
  shape: {
    processes: [1, 3],
    operations: [1, 5],
    faults: [...FAULTS, ...SERVER_CLOCK],
    mostFaults: 5,
    steps: 250,
    longestMs: 3_000,
  },
  begin: (plan) => new FilePrograms(plan),
};

interface Sent {
  readonly id: string;
  readonly content: string;
  isAccepted: boolean;
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

class FilePrograms implements Programs {
  readonly #operations: Operations;
  readonly #receivers: readonly string[];
  readonly #sent = new Map<string, Sent>();
  /** By the number of their process: files that a crashed process has not sent to their end. */
  readonly #open = new Map<number, Sent[]>();
  /** By receiver and file. */
  readonly #stored = new Map<string, Stored>();
  readonly #sending = new Set<VirtualProcess>();
  readonly #violations: string[] = [];

  constructor(plan: Plan) {
    this.#operations = new Operations(plan);
    this.#receivers = plan.processes.map((number) => `r${number}`);
  }

  start(process: VirtualProcess, number: number): void {
    const { FileReceiver, FileSender } = process.load<typeof Files>('@mortise/messaging/files');
    const redis = process.connect();
    const sender = new FileSender(redis, CHANNEL, { ...LIMITS, receivers: this.#receivers });
    const name = `r${number}`;
    const receiver = new FileReceiver(redis, CHANNEL, name, { leaseMs: LIMITS.leaseMs });
    void this.#send(process, number, sender);
    void this.#receive(process, name, receiver, number % 2 === 0);
  }

  isDone(): boolean {
    for (const process of this.#sending) if (!process.isDead) return false;
    return this.#operations.isEmpty && [...this.#open.values()].every(({ length }) => length === 0);
  }

  async check(world: World): Promise<readonly string[]> {
    const keys = this.#receivers.flatMap((receiver) =>
      [...this.#sent.keys()].map((id) => `${receiver} ${id}`),
    );
    const isReceived = (): boolean => keys.every((key) => this.#stored.get(key)?.isFinished);
    if (!(await world.runUntil(isReceived, END_STEPS, END_MS)))
      this.#violations.push(
        `lost: not read are ${keys.filter((key) => !this.#stored.get(key)?.isFinished).join()}`,
      );
    for (const key of keys) this.#compare(key, this.#sent.get(key.split(' ')[1]!)!, this.#stored.get(key));
    return this.#violations;
  }

  #compare(key: string, { content }: Sent, stored: Stored | undefined): void {
    if (!stored?.isFinished) return;
    const [receiver = ''] = key.split(' ');
    if (copies(receiver) && stored.text !== content)
      this.#violations.push(`copy: ${key} has ${stored.text.length} of ${content.length} bytes, or others`);
    const lines = content.split('\n').length - 1;
    if (!copies(receiver) && stored.lines !== lines)
      this.#violations.push(`count: ${key} has ${stored.lines} of ${lines} lines`);
  }

  async #send(process: VirtualProcess, number: number, sender: Files.FileSender): Promise<void> {
    this.#sending.add(process);
    const open = this.#open.get(number) ?? [];
    this.#open.set(number, open);
    for (let file = open[0]; file; file = open[0]) await this.#sendOne(process, sender, file, open);
    for (let one = this.#operations.next(number); one; one = this.#operations.next(number)) {
      const random = new Random(one.seed);
      const file = { id: `f${one.seed}`, content: contentOf(random), isAccepted: false };
      this.#sent.set(file.id, file);
      open.push(file);
      await process.pause(random.below(60));
      await this.#sendOne(process, sender, file, open);
    }
    this.#sending.delete(process);
  }

  async #sendOne(process: VirtualProcess, sender: Files.FileSender, file: Sent, open: Sent[]): Promise<void> {
    const { id, content } = file;
    await this.#repeated(process, async () => {
      await sender.send(Buffer.from(content), { id, name: id });
    });
    process.note(`has sent ${id}`);
    file.isAccepted = true;
    open.shift();
  }

  async #receive(
    process: VirtualProcess,
    name: string,
    receiver: Files.FileReceiver,
    isCopy: boolean,
  ): Promise<void> {
    for (;;) {
      await this.#repeated(process, async () => {
        for await (const file of receiver.files()) {
          const key = `${name} ${file.name}`;
          const stored = this.#stored.get(key) ?? {
            offset: 0,
            text: '',
            lines: 0,
            isFinished: false,
            isDone: false,
          };
          this.#stored.set(key, stored);
          if (stored.isDone) this.#violations.push(`again: ${key} comes after it was done`);
          try {
            await (isCopy ? this.#copy(process, file, stored) : this.#count(process, file, stored));
          } catch (error) {
            if ((error as { code?: string }).code !== 'ERR_FILE_ABORTED') throw error;
            // Its sender sends it anew, as another file.
            await file.fail();
            this.#stored.delete(key);
            continue;
          }
          stored.isFinished = true;
          await file.done();
          stored.isDone = true;
          process.note(`${name} is done with ${file.name}`);
        }
      });
    }
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

  async #repeated(process: VirtualProcess, call: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        await call();
        return;
      } catch (error) {
        process.note(`repeats after ${String(error)}`);
        await process.pause(PAUSE_MS);
      }
    }
  }
}

/** Every second receiver copies, and the others count. */
function copies(receiver: string): boolean {
  return Number(receiver.slice(1)) % 2 === 0;
}

function contentOf(random: Random): string {
  const lines = Array.from(
    { length: random.below(MOST_LINES) },
    (_, index) => `${index} ${'x'.repeat(random.below(LONGEST_LINE))}`,
  );
  return lines.map((line) => `${line}\n`).join('');
}
