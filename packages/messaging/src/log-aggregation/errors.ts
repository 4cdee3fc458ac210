import { CodedError } from '@mortise/redis';

/**
 * A file is neither a MaxMind database nor a CSV of ranges.
 *
 * @remedy Give a MaxMind city database, or a CSV of ranges.
 */
export class RangeTableError extends CodedError {
  static override readonly className: string = 'RangeTableError';
  readonly code = 'ERR_RANGE_TABLE';

  constructor(problem: string, options?: ErrorOptions) {
    super(problem, options, 'ERR_RANGE_TABLE');
  }
}

/**
 * A file is counted up to an offset within the checkpoint: another worker counts the same file, or a failover has
 * lost counts.
 *
 * @remedy Let one worker count a file. Read it again from its last ack; lines that are counted by then are skipped.
 */
export class CheckpointConflictError extends CodedError {
  static override readonly className: string = 'CheckpointConflictError';
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
      undefined,
      'ERR_CHECKPOINT_CONFLICT',
    );
  }
}

/**
 * Reported to `onError`: the lease of a file ended as soon as it was renewed, so nothing was counted under it. The
 * call is repeated, since this may pass.
 *
 * @remedy Raise `leaseMs`.
 */
export class LeaseTooShortError extends CodedError {
  static override readonly className: string = 'LeaseTooShortError';
  readonly code = 'ERR_LEASE_TOO_SHORT';

  constructor() {
    super(
      'the lease of the file has ended as soon as it is renewed: Redis takes longer than that to answer, or the clocks of its servers differ by more',
      undefined,
      'ERR_LEASE_TOO_SHORT',
    );
  }
}
