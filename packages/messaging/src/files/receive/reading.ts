import { LeaseLostError } from '@mortise/redis';
import { FileForgottenError, FileUnreadableError } from '../errors.js';
import type { Position } from '../chunk.js';
import type { FileId, FilesContext } from '../context.js';
import { statusOf } from '../file-status.js';

/**
 * The lease of a receiver. Check the lease where you store results of a file elsewhere: after its end another process may read
 * the file.
 */
export interface ReceiverLease {
  /**
   * No other process is the receiver before this instant: ms since 1970, by the server's clock. Each renewal, every third of
   * the lease, moves the instant.
   */
  readonly until: number;
  /** Duration of the lease after a renewal, ms. */
  readonly leaseMs: number;
  /** Renews the lease now, for example after a pause of the process. One script. Throws ERR_LEASE_LOST. */
  readonly renew: () => Promise<void>;
}

/** The file being read, and its receiver. */
export interface Reading extends FileId {
  readonly name: string;
  /** When the file was listed, by the server's clock, and its lifetime. */
  readonly listedAt: number;
  readonly keepMs: number;
  readonly receiver: string;
  readonly token: number;
  /** The start position. Default: the receiver's cursor. */
  readonly from?: Position | undefined;
  /** Aborted when the receiver ends or has lost its lease. */
  readonly signal: AbortSignal;
}

/**
 * Resolves if a file, or its missing chunks, may still come. Throws ERR_LEASE_LOST, ERR_FILE_FORGOTTEN, ERR_FILE_EXPIRED.
 * One round trip.
 */
export async function requireExpected(
  context: FilesContext,
  reading: Reading,
  offset: number,
): Promise<void> {
  const { receiver, name } = reading;
  const status = await statusOf(context, reading);
  if (status === 'lost') throw new LeaseLostError(`receiver "${receiver}" of channel "${context.channel}"`);
  if (status === 'forgotten') throw new FileForgottenError(name);
  if (status === 'over') throw new FileUnreadableError('ERR_FILE_EXPIRED', name, { offset });
}
