/** No usable PostgreSQL was found, and none could be unpacked. The message says what to do. */
export class PostgresNotFoundError extends Error {
  override readonly name = 'PostgresNotFoundError';
  readonly code = 'ERR_POSTGRES_NOT_FOUND';
}
