import { CodedError } from '@mortise/redis';

/** A file of ranges, or a MaxMind database, cannot be used as a table. */
export class RangeTableError extends CodedError {
  readonly code = 'ERR_RANGE_TABLE';
}

/**
 * A file is counted up to an offset within the checkpoint: another worker counts the same file, or the counts were set back by a failover.
 * The file has to be read again from the offset that is acked; lines that are counted by then are passed over.
 */
export class CheckpointConflictError extends CodedError {
  readonly code = 'ERR_CHECKPOINT_CONFLICT';

  constructor(
    readonly file: string,
    readonly day: string,
    readonly fromOffset: number,
    readonly toOffset: number,
    readonly countedTo: number,
  ) {
    super(
      `file "${file}" is counted up to ${countedTo} for ${day}, which is not where the checkpoint ${fromOffset} to ${toOffset} begins`,
    );
  }
}
