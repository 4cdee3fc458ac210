/** Moves one log from a process to others, however it is asked to. */
import { setTimeout as sleep } from 'node:timers/promises';
import { startRemote } from '../../remote.js';
import type { Spent } from '../../scenario.js';
import type { FileKind } from './kind.js';
import type { LogDirectory } from './log-directory.js';
import type { Reading, TransferActions } from './transfer.process.js';

const MODULE = new URL('transfer.process.js', import.meta.url);
/** Receivers are connected and wait. */
const SETTLING_MS = 500;

export interface Moved {
  /** Until the last receiver was done. */
  readonly seconds: number;
  /** Until nothing was left in Redis, too. */
  readonly secondsUntilFree: number;
  readonly sender: Spent;
  readonly receivers: Spent;
}

export interface MoveOptions {
  /** Called when the receivers wait. */
  readonly begin?: () => Promise<void>;
  /** How long one of them stands still at its first block. */
  readonly standstillMs?: number;
}

/** A process that sends and some that receive; they stay from one log to the next. */
export class Transport {
  readonly #sender = startRemote<TransferActions>(MODULE);
  readonly #receivers;
  readonly #url: string;
  readonly #kind: FileKind;

  constructor(url: string, kind: FileKind, receivers: number) {
    this.#url = url;
    this.#kind = kind;
    this.#receivers = Array.from({ length: receivers }, (_, index) => ({
      name: String(index),
      remote: startRemote<TransferActions>(MODULE),
    }));
  }

  /** Receivers wait already when the sender begins. Throws when one of them has not got what was sent. */
  async move(
    log: LogDirectory,
    reading: Reading,
    { begin, standstillMs = 0 }: MoveOptions = {},
  ): Promise<Moved> {
    const of = { url: this.#url, kind: this.#kind.name, reading };
    const receiving = Promise.all(
      this.#receivers.map(({ name: receiver, remote }, index) =>
        remote.do('receive', { ...of, receiver, standstillMs: index === 0 ? standstillMs : 0 }),
      ),
    );
    receiving.catch(() => undefined);
    await sleep(SETTLING_MS);
    await begin?.();
    const startedAt = performance.now();
    const secondsSince = (): number => (performance.now() - startedAt) / 1_000;
    const receivers = this.#receivers.map(({ name }) => name);
    const sending = this.#sender.do('send', {
      url: this.#url,
      kind: this.#kind.name,
      directory: log.path,
      receivers,
    });
    sending.catch(() => undefined);
    const received = await receiving;
    const seconds = secondsSince();
    const { spent: sender } = await sending;
    for (const { result } of received) {
      const isWhole =
        reading === 'SHA-256'
          ? result.sha256 === log.sha256
          : result.lines === log.lines && (reading === 'lines' || result.bytes === log.bytes);
      if (!isWhole) throw new Error(`${this.#kind.name} has delivered something else than was sent`);
    }
    return {
      seconds,
      secondsUntilFree: secondsSince(),
      sender,
      receivers: sum(received.map(({ spent }) => spent)),
    };
  }

  async close(): Promise<void> {
    await Promise.all(
      [this.#sender, ...this.#receivers.map(({ remote }) => remote)].map((one) => one.kill()),
    );
  }
}

function sum(all: readonly Spent[]): Spent {
  return {
    seconds: Math.max(...all.map(({ seconds }) => seconds)),
    sentCommands: all.reduce((so, { sentCommands }) => so + sentCommands, 0),
    cpuMicros: all.reduce((so, { cpuMicros }) => so + cpuMicros, 0),
  };
}
