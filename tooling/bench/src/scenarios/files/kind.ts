/** A way to hand files to receivers in other processes through Redis: a library, or commands. */
export interface FileKind {
  readonly name: string;
  readonly version: string;
  /** Sends the files of a directory, and resolves when all receivers are done with them and nothing of them is left in Redis. */
  send(url: string, directory: string, receivers: readonly string[]): Promise<unknown>;
  /** Reads what is sent to a receiver until the sender has ended. */
  receive(url: string, receiver: string, reader: Reader): Promise<void>;
}

/** A receiver's way of reading: blocks of any size, or lines one by one. */
interface Reader {
  readonly block?: (block: Buffer) => void;
  readonly line?: (line: string | Buffer) => void;
}

/** The name of every channel here. */
export const CHANNEL = 'logs';

/** The most bytes of one file in Redis. */
export const WINDOW_BYTES = 32 * 2 ** 20;
