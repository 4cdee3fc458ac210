/** Numbers as C writes and reads them. */

/** How many more digits decide whether the next digit is exactly a half. */
const MORE_DIGITS = 30;
const MOST_DIGITS = 100;
/** `toFixed` doesn't write larger numbers in full. */
const LARGE = 1e21;

function special(value: number): string | undefined {
  if (Number.isNaN(value)) return Object.is(value, -NaN) ? '-nan' : 'nan';
  if (Math.abs(value) === Infinity) return value > 0 ? 'inf' : '-inf';
  return undefined;
}

/** As `%.<digits>f`: an exact half rounds to the even digit, where JavaScript rounds away from zero. */
export function fixed(value: number, digits: number): string {
  const named = special(value);
  if (named !== undefined) return named;
  if (Math.abs(value) >= LARGE) return `${BigInt(value)}${digits > 0 ? `.${'0'.repeat(digits)}` : ''}`;
  const text = value.toFixed(digits);
  const longer = value.toFixed(Math.min(MOST_DIGITS, digits + MORE_DIGITS));
  const dot = longer.indexOf('.');
  const rest = longer.slice(dot + 1 + digits);
  const isHalf = /^50*$/.test(rest);
  const shorter = digits === 0 ? longer.slice(0, dot) : longer.slice(0, dot + 1 + digits);
  const result = isHalf && Number(shorter.at(-1)) % 2 === 0 ? shorter : text;
  return Object.is(value, -0) || (value < 0 && !result.startsWith('-'))
    ? `-${result.replace('-', '')}`
    : result;
}

/** As `%.<digits>e`. */
function exponential(value: number, digits: number): string {
  const [longer, power] = value.toExponential(Math.min(MOST_DIGITS, digits + MORE_DIGITS)).split('e') as [
    string,
    string,
  ];
  const end = longer.indexOf('.') + 1 + digits;
  const shorter = longer.slice(0, digits === 0 ? end - 1 : end);
  const isHalf = /^50*$/.test(longer.slice(end));
  const isKept = isHalf && Number(shorter.at(-1)) % 2 === 0;
  const text = isKept ? `${shorter}e${power}` : value.toExponential(digits);
  return text.replace(/e([+-])(\d)$/, 'e$10$2');
}

/** Without zeros at the end. */
function short(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/** As `%.<precision>g`. */
export function general(value: number, precision: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e14 && !Object.is(value, -0)) return String(value);
  const named = special(value);
  if (named !== undefined) return named;
  if (value === 0) return '-0';
  const digits = Math.max(1, precision);
  const scientific = exponential(value, digits - 1);
  const [mantissa, power] = scientific.split('e') as [string, string];
  const exponent = Number(power);
  if (exponent < -4 || exponent >= digits) return `${short(mantissa)}e${power}`;
  return short(fixed(value, Math.min(MOST_DIGITS, Math.max(0, digits - 1 - exponent))));
}

const NUMBER =
  /^[ \t\n\v\f\r]*([+-]?)(?:(0x[\da-f]+)|((?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)|(inf(?:inity)?)|(nan))[ \t\n\v\f\r]*$/i;

/** As `tonumber`: undefined for a text that is no number. */
export function toNumber(text: string): number | undefined {
  const match = NUMBER.exec(text);
  if (!match) return undefined;
  const [, sign, hex, decimal, infinity] = match;
  const size = infinity === undefined ? Number(hex ?? decimal ?? Number.NaN) : Infinity;
  return sign === '-' ? -size : size;
}
