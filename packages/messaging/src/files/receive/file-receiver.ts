import { randomUUID } from 'node:crypto';
import type { RedisClient } from '@mortise/redis';
import { ArgumentTypeError, disposable, LeaseLostError, requireName } from '@mortise/redis';
import { ChannelRefusedError } from '../errors.js';
import { persisted } from '../../persist.js';
import { FileUpdates } from '../file-updates.js';
import type { FilesContext } from '../context.js';
import { filesContext, RECHECK_MS } from '../context.js';
import { IncomingFile } from './incoming-file.js';
import { leaseReceiver, leaseRenewal } from './lease-receiver.js';
import type { FileReceiverOptions, FilesOptions } from '../options.js';
import { checkSignalOption, resolveFileReceiverOptions } from '../options.js';
import { Completion } from '../completion.js';

/** A receiver of a channel. One process at a time may use its name; each receiver gets every file. */
export class FileReceiver {
  readonly #context: FilesContext;
  readonly #receiver: string;
  readonly #leaseMs: number;
  readonly #holder = randomUUID();
  #isRunning = false;

  /** Sends nothing. Throws TypeError or RangeError for options out of range. */
  constructor(redis: RedisClient, channel: string, receiver: string, options: FileReceiverOptions = {}) {
    this.#context = filesContext(redis, channel, options);
    this.#receiver = requireName('receiver', receiver);
    this.#leaseMs = resolveFileReceiverOptions(options).leaseMs;
  }

  /**
   * Yields the files that this receiver is not done with, in the order of sending, each as soon as it is listed. The iteration
   * waits for the channel, for the lease of another process of the same name, and for files. It ends when the channel has ended
   * and this receiver is done with all its files. Call `done` or `fail` for each file before the next one (TypeError
   * otherwise). A file without either, because the process died or left the iteration, comes again from the last ack on. An
   * aborted signal ends the iteration without an error. Reading a file throws the signal's reason, so that the break is not
   * taken for the end of the file. One script for each file, and one each third of the lease. Throws ERR_LEASE_LOST,
   * ERR_UNKNOWN_RECEIVER.
   */
  files(options: FilesOptions = {}): AsyncGenerator<IncomingFile, void, void> {
    checkSignalOption('files', options);
    return disposable(this.#files(options.signal));
  }

  async *#files(signal: AbortSignal | undefined): AsyncGenerator<IncomingFile, void, void> {
    if (this.#isRunning) throw new ArgumentTypeError(`receiver "${this.#receiver}" is running`);
    this.#isRunning = true;
    const lost = new AbortController();
    const ending = signal ? AbortSignal.any([signal, lost.signal]) : lost.signal;
    let token = 0;
    let isOver = false;
    const renew = async (): Promise<boolean> => {
      const look = await this.#look(token, this.#leaseMs);
      if (look.answer === 'held') lease.until = look.until;
      if (look.answer === 'lost') lost.abort(this.#lostError());
      return look.answer === 'held';
    };
    const lease = {
      until: 0,
      leaseMs: this.#leaseMs,
      renew: async (): Promise<void> => {
        if (isOver || !(await renew())) throw this.#lostError();
      },
    };
    const renewal = leaseRenewal('mortise file receiver', this.#leaseMs, renew);
    let updates: FileUpdates | undefined;
    try {
      if (signal?.aborted) return;
      updates = await FileUpdates.open(this.#context.hub, this.#context.channelKeys.events);
      for (;;) {
        const look = await persisted(this.#context.redis, ending, () => this.#look(token, this.#leaseMs));
        if (look.answer === 'ended') return;
        if (look.answer === 'lost') throw this.#lostError();
        if (look.answer === 'unknown') {
          throw new ChannelRefusedError('ERR_UNKNOWN_RECEIVER', this.#context.channel, {
            receiver: this.#receiver,
          });
        }
        if (look.answer !== 'held') {
          await updates.wait(look.answer === 'busy' ? Math.min(look.ms + 1, RECHECK_MS) : RECHECK_MS, ending);
          continue;
        }
        if (token === 0) await this.#finishPassed(look.passed, look.epoch);
        token = look.token;
        lease.until = look.until;
        renewal.start();
        const [entry] = look.files;
        if (entry) {
          const reading = { ...entry, receiver: this.#receiver, token, signal: ending };
          const file = new IncomingFile(this.#context, reading, lease);
          yield file;
          if (!file.isFinished && signal?.aborted) return;
          if (!file.isFinished) {
            throw new ArgumentTypeError(
              `file "${file.name}" was neither done() nor failed: it will come again`,
            );
          }
        } else if (look.isEnded) return;
        else await updates.wait(RECHECK_MS, ending);
      }
    } catch (error) {
      if (!signal?.aborted || error !== signal.reason) throw error;
    } finally {
      updates?.close();
      isOver = true;
      await renewal.stop();
      if (token > 0 && !lost.signal.aborted) await this.#look(token, 0).catch(() => undefined);
      this.#isRunning = false;
    }
  }

  #lostError(): LeaseLostError {
    return new LeaseLostError(`receiver "${this.#receiver}" of channel "${this.#context.channel}"`);
  }

  /** Completes files that an earlier process of this name was done with, and had not freed when it died. */
  async #finishPassed(numbers: readonly number[], epoch: string): Promise<void> {
    const completion = new Completion(this.#context);
    for (const number of numbers) await completion.finish({ number, epoch }, [], '');
  }

  #look(token: number, leaseMs: number): ReturnType<typeof leaseReceiver> {
    return leaseReceiver(this.#context, this.#receiver, { holder: this.#holder, token, leaseMs, limit: 1 });
  }
}
