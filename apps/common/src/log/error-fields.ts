/** Deeper causes are left out. */
const MAX_CAUSES = 5;

/**
 * The fields of an error in a line of the log: type, message, code, stack and cause. Pino would add all that an error has: the command of
 * an error of ioredis, whose arguments are payloads or the password of a refused login, or the row of an error of PostgreSQL.
 */
export function errorFields(error: unknown, causes = MAX_CAUSES): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack, cause } = error;
  const { code } = error as { code?: unknown };
  return {
    type: name,
    message,
    ...(typeof code === 'string' && { code }),
    stack,
    ...(cause instanceof Error && causes > 0 && { cause: errorFields(cause, causes - 1) }),
  };
}
