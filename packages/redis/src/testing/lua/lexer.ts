/** The words of a Lua 5.1 script. Its text has one character for each byte, so that a string of it does too. */

export interface Token {
  readonly type: 'name' | 'keyword' | 'string' | 'number' | 'symbol' | 'end';
  /** The text of a name, keyword or symbol; the value of a string. */
  readonly text: string;
  readonly line: number;
  readonly value: number;
}

/** A script that isn't Lua 5.1, or uses a part of it that isn't emulated. */
export class LuaSyntaxError extends Error {
  constructor(problem: string, line: number) {
    super(`line ${line}: ${problem}`);
    this.name = 'LuaSyntaxError';
  }
}

const KEYWORDS = new Set(
  'and break do else elseif end false for function if in local nil not or repeat return then true until while'.split(
    ' ',
  ),
);
const SPACE = /[ \t\r\n\v\f]+|--(?!\[=*\[)[^\n]*/y;
const LONG = /(?:--)?\[(=*)\[\n?([^]*?)\]\1\]/y;
const NAME = /[A-Za-z_]\w*/y;
const NUMBER = /0[xX][\da-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;
const SYMBOL = /\.\.\.|\.\.|==|~=|<=|>=|[-+*/%^#<>=(){}[\];:,.]/y;
const QUOTED = /"((?:[^"\\\n]|\\[^])*)"|'((?:[^'\\\n]|\\[^])*)'/y;
const ESCAPE = /\\(?:(\d{1,3})|([^]))/g;
const ESCAPES: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

function unescaped(text: string): string {
  return text.replaceAll(ESCAPE, (_, code: string | undefined, char: string) =>
    code === undefined ? (ESCAPES[char] ?? char) : String.fromCodePoint(Number(code)),
  );
}

/** The tokens of a script; the last one is `end`. Throws LuaSyntaxError. */
export function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  let line = 1;
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(source);
    if (found) at = pattern.lastIndex;
    return found;
  };
  const add = (type: Token['type'], text: string, value = 0): void => {
    tokens.push({ type, text, line, value });
  };
  while (at < source.length) {
    const from = at;
    let found: RegExpExecArray | null;
    if (match(SPACE)) {
      // Nothing but lines.
    } else if ((found = match(LONG))) {
      if (!found[0].startsWith('--')) add('string', found[2]!);
    } else if ((found = match(NAME))) add(KEYWORDS.has(found[0]) ? 'keyword' : 'name', found[0]);
    else if ((found = match(NUMBER))) add('number', found[0], Number(found[0]));
    else if ((found = match(QUOTED))) add('string', unescaped(found[1] ?? found[2]!));
    else if ((found = match(SYMBOL))) add('symbol', found[0]);
    else throw new LuaSyntaxError(`unexpected ${JSON.stringify(source[at])}`, line);
    for (
      let index = source.indexOf('\n', from);
      index >= 0 && index < at;
      index = source.indexOf('\n', index + 1)
    )
      line += 1;
  }
  add('end', '');
  return tokens;
}
