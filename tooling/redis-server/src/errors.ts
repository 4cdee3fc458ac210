/** No usable server was found, and none could be unpacked or installed. The message says what to do. */
export class RedisNotFoundError extends Error {
  override readonly name = 'RedisNotFoundError';
  readonly code = 'ERR_REDIS_NOT_FOUND';
}

/** An error reply of a Redis server, with its text as it came (`WRONGTYPE Operation against …`). */
export class ReplyError extends Error {
  override readonly name = 'ReplyError';
  readonly code = 'ERR_REPLY';
}
