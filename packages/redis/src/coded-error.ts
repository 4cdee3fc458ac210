import { isInstanceOf } from './instance-of.js';
import { withoutLink } from './without-link.js';

/**
 * A refusal with a stable code. Callers branch on `code`, never on the message. docs/<package>/reference/errors.md lists the
 * codes. Other replies of Redis pass through unwrapped.
 *
 * The message of an error of Mortise ends with a link to the page of its code. A class of yours has no such page: pass no code
 * to the constructor, and the message stays as it is.
 *
 * `instanceof` also holds for the error of another copy of the package, such as another version.
 */
export abstract class CodedError extends Error {
  /** The name of the class, also in a bundle that renames classes. */
  static readonly className: string = 'CodedError';

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isInstanceOf(this, value);
  }

  abstract readonly code: `ERR_${string}`;

  /** @param code For the link. The field `code` is set later than V8 writes the message into the stack. */
  constructor(message?: string, options?: ErrorOptions, code?: `ERR_${string}`) {
    super(
      // A message that quotes another error has one link, its own.
      code ? `${withoutLink(message ?? '')} (see https://mortise.dev/errors/${code})` : message,
      options,
    );
  }

  override get name(): string {
    const type = this.constructor as typeof CodedError;
    return Object.hasOwn(type, 'className') ? type.className : type.name;
  }
}

/**
 * The client was closed (`quit`, `disconnect`) before a call, or while the call waited.
 *
 * @remedy Await calls, and stop what runs in the background, before you close the client.
 */
export class ClientClosedError extends CodedError {
  static override readonly className: string = 'ClientClosedError';
  readonly code = 'ERR_CLIENT_CLOSED';

  constructor(options?: ErrorOptions) {
    super('the Redis client was closed', options, 'ERR_CLIENT_CLOSED');
  }
}

/** Why a lease is over. `lost`: the lease expired or was taken over, and Redis doesn't say which. */
export type LeaseEnd = 'expired' | 'taken' | 'released' | 'lost';

const LEASE_ENDS: Record<LeaseEnd, string> = {
  expired: 'expired before a renewal succeeded',
  taken: 'was taken over: Redis no longer knows this holder',
  released: 'has been released',
  lost: 'is lost: it expired, or another holder took it over',
};

export interface LeaseLostOptions extends ErrorOptions {
  /** The fencing token of the lost grant, if it had one. */
  readonly fencingToken?: number | undefined;
}

/**
 * The lease is over: another holder may have the lock or task. Packages with leases throw this error, and abort signals with
 * it. `cause` is the error of the last renewal, if that failed.
 *
 * @remedy Stop the work: it is no longer yours. If leases are lost often, don't block the event loop, or raise `leaseMs`.
 */
export class LeaseLostError extends CodedError {
  static override readonly className: string = 'LeaseLostError';
  readonly code = 'ERR_LEASE_LOST';
  readonly fencingToken: number | undefined;

  constructor(
    /** The held object, as in the message: `lock "invoice:42"`, `task "7f" of queue "mail"`. */
    readonly held: string,
    readonly reason: LeaseEnd = 'lost',
    { fencingToken, ...options }: LeaseLostOptions = {},
  ) {
    const lease = fencingToken === undefined ? 'the lease' : `lease ${fencingToken}`;
    super(`${lease} of ${held} ${LEASE_ENDS[reason]}`, options, 'ERR_LEASE_LOST');
    this.fencingToken = fencingToken;
  }
}

/**
 * A script returned too few or too many replies: a defect of the script, not of the caller.
 *
 * @remedy Report the defect.
 */
export class BatchReplyError extends CodedError {
  static override readonly className: string = 'BatchReplyError';
  readonly code = 'ERR_BATCH_REPLY';

  constructor(
    readonly requests: number,
    readonly replies: number,
  ) {
    super(`a batch of ${requests} requests got ${replies} replies`, undefined, 'ERR_BATCH_REPLY');
  }
}
