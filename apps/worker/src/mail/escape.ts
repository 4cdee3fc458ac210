/**
 * Template literals that make each value harmless for where it goes: `line` for subjects and plain text, `markup` for
 * HTML. Names and items are chosen by players; only the literal text of a template is trusted.
 */

/** HTML that only `markup` makes, so a plain string never counts as HTML. */
export class Markup {
  constructor(readonly html: string) {}
}

/** The most UTF-16 units of a value in a template. */
const MAX_VALUE_LENGTH = 128;

/** Control characters, line and paragraph separators, and marks that change the direction of text. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu;
const LONE_SURROGATE = /\p{Cs}/gu;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text with one-line values: characters that break or reverse a line become spaces, and long values are cut. */
export function line(strings: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  return String.raw({ raw: strings }, ...values.map((value) => oneLine(String(value))));
}

/** HTML with one-line, escaped values, for element content and quoted attributes. */
export function markup(
  strings: TemplateStringsArray,
  ...values: readonly (string | number | Markup)[]
): Markup {
  const escaped = values.map((value) =>
    value instanceof Markup ? value.html : escape(oneLine(String(value))),
  );
  return new Markup(String.raw({ raw: strings }, ...escaped));
}

function oneLine(value: string): string {
  const text = value.length > MAX_VALUE_LENGTH ? `${value.slice(0, MAX_VALUE_LENGTH - 1)}…` : value;
  return text.replace(UNPRINTABLE, ' ').replace(LONE_SURROGATE, '\ufffd');
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character]!);
}
