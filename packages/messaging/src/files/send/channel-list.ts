/** A sender's view of a channel's list of files: adds files, and waits for room or for the end of the list. */
import { callRedis, decodeName, encodeName } from '@mortise/redis';
import { ChannelRefusedError, ReceiversDifferError } from '../errors.js';
import { channelList, channelShrink } from '../../scripts.gen.js';
import { FILE_WAITS } from '../metrics.js';
import { DeadReceivers } from './dead-receivers.js';
import { FileUpdates } from '../file-updates.js';
import type { FileId, FilesContext } from '../context.js';
import { randomId, RECHECK_MS } from '../context.js';
import type { FileSenderLimits } from '../options.js';
import { MAX_LISTED } from '../options.js';
import type { WantedFile } from './sent-file.js';
import type { SentFiles } from './sent-files.js';
import { REMEMBERED } from './sent-files.js';
import type { Completion } from '../completion.js';

const FOR_BUDGET = { 'mortise.messaging.room': 'budget' };

export interface Listed extends FileId {
  /** The name for receivers, with which the file was listed. */
  readonly name: string;
  /** The receivers that are not done with it. */
  readonly receivers: readonly string[];
  /** Reserved bytes of the budget. */
  readonly reserved: number;
  /** Whether all receivers are done, so it is no longer listed. */
  readonly isFinished: boolean;
}

export class ChannelList {
  readonly #context: FilesContext;
  readonly #limits: FileSenderLimits;
  readonly #completion: Completion;
  readonly #sent: SentFiles;

  constructor(context: FilesContext, limits: FileSenderLimits, completion: Completion, sent: SentFiles) {
    this.#context = context;
    this.#limits = limits;
    this.#completion = completion;
    this.#sent = sent;
  }

  /**
   * Lists a file as soon as there is room. Undefined if an aborted file had its id. One script. Throws as
   * `FileSender.send`.
   */
  async add(
    { id, name, fileId, reserve }: WantedFile,
    signal: AbortSignal | undefined,
  ): Promise<Listed | undefined> {
    const { redis, channel, channelKeys, hub } = this.#context;
    const { receivers, budgetBytes, keepMs } = this.#limits;
    const all = receivers.map(encodeName);
    let fullAt: number | undefined;
    const listed = await this.whileBlocked(async () => {
      const [answer, epoch = '', number = 0, reserved = 0, listedId = '', listedName, ...undone] =
        (await channelList.run(redis, channelKeys, {
          publish: hub.publishCommand,
          id: encodeName(id),
          name: encodeName(name),
          reserve,
          budget: budgetBytes,
          maxListed: MAX_LISTED,
          remembered: REMEMBERED,
          keepMs,
          newEpoch: randomId(),
          newFileId: fileId,
          names: all,
        })) as [string, string?, number?, number?, string?, string?, ...string[]];
      if (answer === 'ended') throw new ChannelRefusedError('ERR_CHANNEL_ENDED', channel);
      if (answer === 'differ') throw new ReceiversDifferError(channel);
      if (answer === 'full') {
        fullAt ??= performance.now();
        return undefined;
      }
      if (fullAt !== undefined) {
        this.#context.telemetry?.record(FILE_WAITS, (performance.now() - fullAt) / 1_000, FOR_BUDGET);
      }
      const seen = listedName === undefined ? name : decodeName(listedName);
      const file = { number, epoch, fileId: listedId, name: seen };
      if (answer === 'finished') return { ...file, receivers: [], reserved, isFinished: true };
      const left = receivers.filter((_, index) => undone.includes(all[index]!));
      if (left.length > 0) return { ...file, receivers: left, reserved, isFinished: false };
      // All receivers are done, but a process died before it removed the file from the list, or its writer died and left it
      // open or aborted.
      await this.#completion.finish(file, [], '');
      const [isListed, known] = (await Promise.all([
        callRedis(redis, 'hexists', [channelKeys.listed, number]),
        callRedis(redis, 'zscore', [channelKeys.files, encodeName(id)]),
      ])) as [number, string | number | null];
      if (known === null || Number(known) !== number) return 'aborted';
      return { ...file, receivers: [], reserved, isFinished: isListed === 0 };
    }, signal);
    return listed === 'aborted' ? undefined : listed;
  }

  /**
   * Returns the unused part of an ended file's reservation, if it is at least a chunk. With `sha256` and an id of the
   * caller, also records the sent file. One script.
   */
  async shrink(
    { number, fileId, name, reserved }: Listed,
    storedBytes: number,
    { id, isNamed }: Pick<WantedFile, 'id' | 'isNamed'>,
    sha256?: string,
  ): Promise<void> {
    const isKept = isNamed && sha256 !== undefined;
    const surplus = reserved - storedBytes;
    if (surplus < (storedBytes === 0 ? 1 : this.#limits.chunkBytes) && !isKept) return;
    const { redis, channelKeys, hub } = this.#context;
    await channelShrink.run(redis, channelKeys, {
      publish: hub.publishCommand,
      number,
      fileId,
      stored: storedBytes,
      id: isKept ? encodeName(id) : '',
      what: `${sha256 ?? ''} ${name}`,
    });
  }

  /** Calls `ask` again whenever the channel changes, and after a bounded time, until there is an answer. */
  async whileBlocked<Answer>(
    ask: () => Promise<Answer | undefined>,
    signal: AbortSignal | undefined,
  ): Promise<Answer> {
    signal?.throwIfAborted();
    const first = await ask();
    if (first !== undefined) return first;
    const { channelKeys, hub } = this.#context;
    const check = this.checks(signal);
    const updates = await FileUpdates.open(hub, channelKeys.events);
    try {
      for (;;) {
        await check();
        const answer = await ask();
        if (answer !== undefined) return answer;
        await updates.wait(this.recheckMs, signal);
      }
    } finally {
      updates.close();
    }
  }

  /** A function that looks from time to time for the reasons of a wait: dead receivers, and files lost by a failover. */
  checks(signal: AbortSignal | undefined): () => Promise<void> {
    const dead = new DeadReceivers(this.#context, this.#limits, this.#completion);
    let dueAt = 0;
    return async () => {
      if (performance.now() < dueAt) return;
      await dead.check();
      await this.#sent.check(signal);
      dueAt = performance.now() + this.recheckMs;
    };
  }

  get recheckMs(): number {
    return Math.min(RECHECK_MS, Math.max(100, this.#limits.graceMs / 2));
  }
}
