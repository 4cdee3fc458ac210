import { ArgumentRangeError, ArgumentTypeError, describeError } from '@mortise/redis';

/** The JSON of a value. Throws TypeError for a value that is not JSON, RangeError for one of more than `maxBytes`. */
export function jsonText(option: string, value: unknown, maxBytes: number): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch (error) {
    const reason = describeError(error).split('\n', 1)[0];
    throw new ArgumentTypeError(`${option} is not JSON: ${reason}`, { cause: error });
  }
  if (json === undefined) throw new ArgumentTypeError(`${option} must be JSON, got ${typeof value}`);
  const bytes = Buffer.byteLength(json);
  if (bytes <= maxBytes) return json;
  throw new ArgumentRangeError(`${option} must have at most ${maxBytes} bytes as JSON, got ${bytes}`);
}
