/**
 * Why Redis can't be used: no connection, no rights, a replica, too old a version. `cause` is the error of ioredis or the reply
 * of the server. All other replies of the server pass through as they are.
 */
import { addressOf } from './address-of.js';
import type { RedisConnection } from './client.js';
import { isClosed } from './closure.js';
import { CodedError } from './coded-error.js';

export interface RedisUnreachableOptions extends ErrorOptions {
  readonly address?: string | undefined;
}

/**
 * The client has no connection. A call rejects with this error after 10 s without a connection, or earlier if ioredis gives up.
 * Redis may have executed the call, or may execute it later. A wait that ended may have this error as its `cause`. Background
 * work reports it 5 s after its start, and goes on when the connection is back.
 *
 * @remedy Check the address and the server. Repeat the call with its id.
 */
export class RedisUnreachableError extends CodedError {
  static override readonly className: string = 'RedisUnreachableError';
  readonly code = 'ERR_REDIS_UNREACHABLE';
  /** The address of the server, or of its sentinels or nodes. Undefined if the client has no address. */
  declare readonly address?: string;

  constructor(
    /** Of the ioredis client. */
    readonly status: string,
    { address, ...options }: RedisUnreachableOptions = {},
  ) {
    const at = address === undefined ? '' : ` at ${address}`;
    super(
      `Redis cannot be reached${at}: the client is "${status}". Check the address, and that the server runs`,
      options,
      'ERR_REDIS_UNREACHABLE',
    );
    if (address !== undefined) this.address = address;
  }

  /** The error of a client without a connection; undefined if it has one, or was closed. */
  static of(client: RedisConnection, options?: ErrorOptions): RedisUnreachableError | undefined {
    if (client.status === 'ready' || isClosed(client)) return undefined;
    return new this(client.status, { ...options, address: addressOf(client) });
  }
}

/**
 * The server requires a password, or refused that of the client. `cause` is the reply, NOAUTH or WRONGPASS.
 *
 * @remedy Set `username` and `password` of the client.
 */
export class RedisAuthError extends CodedError {
  static override readonly className: string = 'RedisAuthError';
  readonly code = 'ERR_REDIS_AUTH';

  constructor(override readonly cause: Error) {
    super(
      `Redis refused the login: set username and password of the client. ${cause.message}`,
      undefined,
      'ERR_REDIS_AUTH',
    );
  }
}

/**
 * A write reached a replica. `cause` is the reply, READONLY. The error ends when the client follows a failover.
 *
 * @remedy Connect to the master, by Sentinel or Cluster, or set `reconnectOnError` to follow a failover.
 */
export class RedisReadOnlyError extends CodedError {
  static override readonly className: string = 'RedisReadOnlyError';
  readonly code = 'ERR_REDIS_READONLY';

  constructor(override readonly cause: Error) {
    super(
      'this Redis is a read-only replica: connect to the master, through Sentinel or Cluster, or set ' +
        `reconnectOnError to reconnect after a failover. ${cause.message}`,
      undefined,
      'ERR_REDIS_READONLY',
    );
  }
}

/**
 * The server is older than Redis 7.0, which the scripts need. `cause` is its reply to a script.
 *
 * @remedy Use Redis 7.0 or later, or Valkey.
 */
export class RedisVersionError extends CodedError {
  static override readonly className: string = 'RedisVersionError';
  readonly code = 'ERR_REDIS_VERSION';

  constructor(
    readonly version: string,
    override readonly cause: Error,
  ) {
    super(
      `Mortise needs Redis 7.0 or Valkey, this is ${version}: use a newer server`,
      undefined,
      'ERR_REDIS_VERSION',
    );
  }
}
