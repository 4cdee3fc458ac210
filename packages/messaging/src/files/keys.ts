/**
 * Two entities: a channel, and each of its files, which has a slot of its own.
 *
 * ## Files
 *
 * | Key | Type | Written by | Goes away |
 * |---|---|---|---|
 * | `<prefix>:messaging:{<channel>}:file-channel` | HASH: epoch (of this creation of the channel), last number, bytes reserved, whether it has ended, `keepMs`, leases of receivers, and who has left while files were listed | `send`, `end`, `files`, `join`, `leave` | a minute after the last file of a channel that has ended, or `keepMs` after its last use by a sender or receiver |
 * | `<prefix>:messaging:{<channel>}:files` | ZSET id → number: files that are listed, and the last 10,000 before them | `send` | as `file-channel` |
 * | `<prefix>:messaging:{<channel>}:files-listed` | HASH number → `<bytes reserved>:<instant>:<keepMs>:<epoch>:<fileId>:<name>` | `send`, `done`, `fail` | a file when all receivers are done with it; all as `file-channel` |
 * | `<prefix>:messaging:{<channel>}:files-done` | SET of `<number>:<receiver>` | `done`, `fail` | with their files |
 * | `<prefix>:messaging:{<channel>}:file-receivers` | ZSET receiver → end of its lease, ms | `send`, `files`, `join`, `leave` | with the last file of a channel that has ended, or as `file-channel` |
 * | `<prefix>:messaging:{<channel>}:files-sent` | HASH id → SHA-256 and name of what was sent under it | `send` with an `id` | as `files`; a field with the id in there |
 * | `<prefix>:messaging:{<channel>}:files-events` | channel: something has changed | `send`, `done`, `fail`, `end` | holds nothing |
 * | `<prefix>:messaging:{<channel>%%<number>}:file:<fileId>` | HASH: the head of a file, see `src/files/file-head.ts` | `send`, `ack`, `done`, `fail` | when it has ended and all receivers are done, or `keepMs` after the last chunk |
 * | `<prefix>:messaging:{<channel>%%<number>}:file-cursors:<fileId>` | ZSET receiver → chunk · 2^23 + bytes of it | `send`, `ack`, `done`, `fail` | with its last receiver, or as `file` |
 * | `<prefix>:messaging:{<channel>%%<number>}:chunk:<fileId>.<token>.<n>` | STRING, see `src/files/chunk.ts`; empty until it is written | `send` | when all receivers have passed it, or after `keepMs` |
 * | `<prefix>:messaging:{<channel>%%<number>}:file-events:<fileId>` | channel: how far the file is written and freed | `send`, `ack`, `done`, `fail` | holds nothing |
 */
import { KeySpace } from '@mortise/redis';

/** The keys of a channel, in one slot. */
export type FileChannelKeys = ReturnType<FilesKeys['channel']>;

/** The keys of a file, in one slot. */
export type FileKeys = ReturnType<FilesKeys['file']>;

export class FilesKeys {
  readonly #space: KeySpace;

  constructor(prefix: string | undefined) {
    this.#space = new KeySpace('messaging', prefix);
  }

  channel(channel: string) {
    const entity = this.#space.entity(channel, 'channel');
    return {
      head: entity.key('file-channel'),
      files: entity.key('files'),
      listed: entity.key('files-listed'),
      done: entity.key('files-done'),
      receivers: entity.key('file-receivers'),
      sent: entity.key('files-sent'),
      events: entity.key('files-events'),
    };
  }

  /**
   * Two files never share keys, since the `fileId` is random. A number may be reused: after the channel was forgotten, or a
   * failover has lost a file's entry.
   */
  file(channel: string, number: number, fileId: string) {
    const entity = this.#space.entity(channel, 'channel', number);
    return {
      file: entity.key('file', fileId),
      cursors: entity.key('file-cursors', fileId),
      events: entity.key('file-events', fileId),
      /** The key of the chunk `index` of the writer with that token. */
      chunk: (token: number, index: number): string => entity.key('chunk', `${fileId}.${token}.${index}`),
    };
  }
}
