/**
 * Numbers that JSON has and JavaScript has not: a number of JavaScript holds whole numbers up to 2^53, and none above 1.8e308. `JSON.parse`
 * silently makes others of them, so a service that stores what it was sent looks for them in the text before.
 */

/** Sixteen digits, or an exponent of three. */
const MAY_BE_INEXACT = /\d(?:\.?\d){15}|[eE]\+?\d{3}/;
/** The texts and the numbers of valid JSON. */
const TEXT_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/**
 * Returns the predicate of a sentence about the first number that JavaScript can't hold. That is a whole number that it would
 * round, or a number that is too large. Fractions may be rounded. Undefined without such a number. O(characters).
 *
 * @param json Valid JSON.
 */
export function inexactNumber(json: string): string | undefined {
  if (!MAY_BE_INEXACT.test(json)) return undefined;
  for (const [token] of json.matchAll(TEXT_OR_NUMBER)) {
    if (token.startsWith('"')) continue;
    const value = Number(token);
    if (!Number.isFinite(value)) return 'has a number larger than 1.8e308: send it as a text';
    const { digits, exponent } = decimalOf(token);
    const stored = decimalOf(String(value));
    if (exponent >= 0 && (digits !== stored.digits || exponent !== stored.exponent))
      return 'has a whole number beyond 2^53 that would be rounded: send it as a text';
  }
  return undefined;
}

/** A number as its digits, without zeros at the ends, times a power of ten. */
function decimalOf(token: string): { readonly digits: string; readonly exponent: number } {
  const [, whole = '', fraction = '', power = '0'] = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(token)!;
  const digits = (whole + fraction).replace(/^0+/, '');
  const short = digits.replace(/0+$/, '');
  if (short === '') return { digits: '', exponent: 0 };
  return { digits: short, exponent: Number(power) - fraction.length + digits.length - short.length };
}
