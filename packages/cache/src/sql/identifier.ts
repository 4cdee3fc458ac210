/**
 * Names of tables and columns come from configuration and become part of SQL text, where parameters are impossible. Each
 * name is quoted, so it cannot end its quotes, and is looked up in the catalogue of the database before it is used.
 */
import { ArgumentTypeError } from '@mortise/redis';
import { SqlSourceError } from '../errors.js';

/** Both databases refuse NUL; the other characters make log lines unreadable. */
// oxlint-disable-next-line no-control-regex -- the pattern looks for these
const UNUSABLE = /[\u0000-\u001F\u007F\u2028\u2029]|\p{Cs}/u;

/** A name of 1 to `maxBytes` bytes of UTF-8 without control characters. Throws SqlSourceError; TypeError for a non-string. */
export function requireIdentifier(option: string, value: unknown, maxBytes: number): string {
  if (typeof value !== 'string')
    throw new ArgumentTypeError(`${option} must be a string, got ${typeof value}`);
  if (value === '') throw refusal(option, value, 'it is empty');
  if (UNUSABLE.test(value)) throw refusal(option, value, 'it has a control character');
  const bytes = Buffer.byteLength(value);
  // PostgreSQL would truncate it and use another table.
  if (bytes > maxBytes) throw refusal(option, value, `it has ${bytes} bytes, the limit is ${maxBytes}`);
  return value;
}

function refusal(option: string, name: string, problem: string): SqlSourceError {
  return new SqlSourceError('ERR_SQL_IDENTIFIER', name, `as ${option}, ${problem}`);
}

/** The name as an SQL identifier. */
export function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A text as an SQL literal, for PostgreSQL with standard_conforming_strings and for SQLite. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
