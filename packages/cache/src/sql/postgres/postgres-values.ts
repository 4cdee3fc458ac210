/**
 * Converts PostgreSQL values to JSON. The driver converts some types to a `Date` in the local time zone, or to a number with
 * fewer digits. These are parsed from the server's text; all others as `pg` does.
 */
import pg from 'pg';
import { toJsonValue, toSafeNumber } from '../json-value.js';
import type { JsonValue } from '../json-value.js';

type Parse = (text: string) => JsonValue;

const asText: Parse = (text) => text;

const SCALARS: Readonly<Record<number, Parse>> = {
  20: (text) => toSafeNumber(BigInt(text)), // int8
  1082: asText, // date
  1114: (text) => text.replace(' ', 'T'), // timestamp
  1184: toUtc, // timestamptz
  1186: asText, // interval
  1700: asText, // numeric
};

/** The array types of these. */
const ARRAYS: Readonly<Record<number, Parse>> = {
  1016: SCALARS[20]!,
  1182: SCALARS[1082]!,
  1115: SCALARS[1114]!,
  1185: SCALARS[1184]!,
  1187: SCALARS[1186]!,
  1231: SCALARS[1700]!,
};

const TEXT_ARRAY = 1009;

const parserOf = pg.types.getTypeParser as (oid: number, format?: string) => (value: string) => unknown;

/** The option `types` of a query. */
export const jsonTypes = {
  getTypeParser(oid: number, format?: 'text' | 'binary'): (value: string) => JsonValue {
    const scalar = SCALARS[oid];
    if (scalar) return scalar;
    const element = ARRAYS[oid];
    if (element) {
      const parse = parserOf(TEXT_ARRAY, 'text');
      return (text) => eachText(parse(text), element);
    }
    const parse = parserOf(oid, format);
    return (value) => toJsonValue(parse(value));
  },
};

function eachText(value: unknown, element: Parse): JsonValue {
  if (Array.isArray(value)) return value.map((inner) => eachText(inner, element));
  return typeof value === 'string' ? element(value) : null;
}

/** `2026-11-22 21:22:03.123456+02` as `2026-11-22T19:22:03.123456Z`: equal instants give equal texts in every session time zone. */
function toUtc(text: string): string {
  const [, day, time, fraction = '', sign, hours, minutes = '00'] =
    /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(\.\d+)?([+-])(\d\d)(?::(\d\d))?$/.exec(text) ?? [];
  // Infinity, and years without exactly four digits.
  if (day === undefined) return text;
  const instant = new Date(`${day}T${time}${sign}${hours}:${minutes}`);
  return instant.toISOString().replace('.000Z', `${fraction}Z`);
}
