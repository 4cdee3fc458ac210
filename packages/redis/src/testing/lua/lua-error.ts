/** An error that a script raised: a text, or the table that `redis.call` raises. */
export class LuaError extends Error {
  constructor(
    message: string,
    /** The value that `pcall` returns. */
    readonly value: unknown = message,
  ) {
    super(message);
    this.name = 'LuaError';
  }
}
