/**
 * The versions of an entry: the n-th change of a key makes it the n-th version, which follows from key and number. Every field
 * shows its version, so fields of two versions are never taken for one entry.
 */

/** As it is added. */
export interface Version {
  readonly key: string;
  readonly display: string;
  readonly aliases: readonly string[];
  readonly score: number;
  readonly payload: { readonly version: number };
}

const FIRST = [
  'Ann',
  'Anna',
  'Ána',
  'Ben',
  'Bénédicte',
  'Jo',
  'Joan',
  'John',
  'Łukasz',
  'Ξένια',
  'Мария',
  '존',
  '王',
  'สมชาย',
];
const LAST = [
  'Smith',
  'Smythe',
  'Sanders',
  'Åkesson',
  'Jones',
  'Johnson',
  'de Souza',
  'Иванова',
  '경희',
  '😀',
];
/** Each n-th version is that it isn't there. */
const ABSENT_EVERY = 4;

export function keyOf(writer: number, index: number): string {
  return `${writer}/${index}`;
}

/** By which an entry is found whatever its version is. */
export function handleOf(key: string): string {
  return `k${key.replace('/', 'x')}v`;
}

/** Undefined: it isn't there. Nothing is at the beginning, which is version 0. */
export function versionOf(key: string, number: number): Version | undefined {
  if (number % ABSENT_EVERY === 0) return undefined;
  const [writer, index] = key.split('/').map(Number) as [number, number];
  const pick = (from: readonly string[], salt: number): string =>
    from[(writer * 7 + index * 13 + number * salt) % from.length]!;
  return {
    key,
    display: `${pick(FIRST, 3)} ${pick(LAST, 5)} ${number}`,
    aliases: [`${handleOf(key)}${number}`],
    score: (index * 31 + number * 17) % 500,
    payload: { version: number },
  };
}
