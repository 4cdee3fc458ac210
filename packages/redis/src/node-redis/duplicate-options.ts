/** The options of a duplicate that have a counterpart in node-redis, in the names of ioredis. */
export interface DuplicateOptions {
  readonly connectionName?: string | undefined;
  /** Null: never reconnect. */
  readonly retryStrategy?: ((times: number) => number) | null | undefined;
  readonly autoResubscribe?: boolean | undefined;
  readonly autoResendUnfulfilledCommands?: boolean | undefined;
  readonly protocol?: number | undefined;
  readonly db?: number | undefined;
}

interface OptionsOfClient {
  readonly socket?: object;
  readonly database?: number | undefined;
}

/** The overrides for `duplicate` of node-redis. */
export function duplicateOverrides(
  client: OptionsOfClient,
  { connectionName, retryStrategy, protocol = 3, db = client.database }: DuplicateOptions,
): object {
  const reconnectStrategy =
    retryStrategy === null ? false : retryStrategy && ((retries: number) => retryStrategy(retries + 1));
  return {
    // A URL would replace the options of the socket and the database.
    url: undefined,
    socket: {
      ...client.socket,
      socketTimeout: undefined,
      ...(reconnectStrategy !== undefined && { reconnectStrategy }),
    },
    name: connectionName,
    RESP: protocol,
    database: db,
    readonly: false,
    disableOfflineQueue: false,
    commandsQueueMaxLength: undefined,
    commandOptions: undefined,
    pingInterval: undefined,
    clientSideCache: undefined,
    emitInvalidate: undefined,
    // Only with RESP3.
    maintNotifications: 'disabled',
  };
}
