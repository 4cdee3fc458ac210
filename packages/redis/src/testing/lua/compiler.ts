/**
 * Lua 5.1 as JavaScript: one pass over the tokens, which writes a function of the same shape. The scripts of the packages use no
 * `goto`, metatables or coroutines, and Redis forbids globals, so there are none here: a name that is neither a local nor of a library
 * is refused when the script is compiled.
 *
 * Rejected: an npm package for the syntax. The one that is left unmaintained would be installed by every user of the packages,
 * for an entry that only tests load.
 */
import type { Expression } from './expression.js';
import { listed, operation, single, truthOf, unary } from './expression.js';
import type { Token } from './lexer.js';
import { LuaSyntaxError, tokensOf } from './lexer.js';

/** Left and right priority of each binary operator, of the manual. */
const PRIORITIES: Readonly<Record<string, readonly [left: number, right: number]>> = {
  or: [1, 1],
  and: [2, 2],
  '<': [3, 3],
  '>': [3, 3],
  '<=': [3, 3],
  '>=': [3, 3],
  '~=': [3, 3],
  '==': [3, 3],
  '..': [5, 4],
  '+': [6, 6],
  '-': [6, 6],
  '*': [7, 7],
  '/': [7, 7],
  '%': [7, 7],
  '^': [10, 9],
};
const UNARY_PRIORITY = 8;
const UNARY = new Set(['not', '#', '-']);
const ENDS_OF_BLOCK = new Set(['end', 'else', 'elseif', 'until']);

/** Names that the script finds in JavaScript, as `functions`, or `library.functions`. */
export interface KnownNames {
  readonly functions: ReadonlySet<string>;
  readonly libraries: Readonly<Record<string, ReadonlySet<string>>>;
}

class Compiler {
  readonly #tokens: Token[];
  readonly #known: KnownNames;
  #at = 0;
  #ids = 0;
  #scopes: Map<string, string>[] = [];
  #hasVarargs: boolean[] = [true];

  constructor(source: string, known: KnownNames) {
    this.#tokens = tokensOf(source);
    this.#known = known;
  }

  compile(): string {
    const body = this.#scoped(() => {
      const declared = ['KEYS', 'ARGV'].map((name) => `const ${this.#declare(name)} = ${name};`);
      return declared.join('') + this.#block();
    });
    if (this.#token.type !== 'end') this.#fail(`unexpected ${this.#token.text}`);
    return `'use strict'; return function (KEYS, ARGV) { const $rest = []; ${body} };`;
  }

  get #token(): Token {
    return this.#tokens[this.#at]!;
  }

  #fail(problem: string): never {
    throw new LuaSyntaxError(problem, this.#token.line);
  }

  #is(text: string): boolean {
    const { type } = this.#token;
    return this.#token.text === text && (type === 'keyword' || type === 'symbol');
  }

  get #isEndOfBlock(): boolean {
    const { type, text } = this.#token;
    return type === 'end' || (type === 'keyword' && ENDS_OF_BLOCK.has(text));
  }

  #accept(text: string): boolean {
    if (!this.#is(text)) return false;
    this.#at += 1;
    return true;
  }

  #expect(text: string): void {
    if (!this.#accept(text)) this.#fail(`'${text}' expected near '${this.#token.text}'`);
  }

  #name(): string {
    const { type, text } = this.#token;
    if (type !== 'name') this.#fail(`a name expected near '${text}'`);
    this.#at += 1;
    return text;
  }

  #names(): string[] {
    const names = [this.#name()];
    while (this.#accept(',')) names.push(this.#name());
    return names;
  }

  #fresh(name: string): string {
    this.#ids += 1;
    return `${name}$${this.#ids}`;
  }

  #declare(name: string): string {
    const own = this.#fresh(name);
    this.#scopes.at(-1)!.set(name, own);
    return own;
  }

  #find(name: string): string | undefined {
    return this.#scopes.findLast((scope) => scope.has(name))?.get(name);
  }

  #scoped<Result>(write: () => Result): Result {
    this.#scopes.push(new Map());
    const result = write();
    this.#scopes.pop();
    return result;
  }

  #block(): string {
    let code = '';
    while (!this.#isEndOfBlock) {
      const isLast = this.#is('return') || this.#is('break');
      code += `${this.#statement()}\n`;
      this.#accept(';');
      if (isLast) break;
    }
    return code;
  }

  /** A block up to `end`. */
  #body(): string {
    const code = this.#scoped(() => this.#block());
    this.#expect('end');
    return code;
  }

  #statement(): string {
    if (this.#token.type !== 'keyword') return this.#callOrAssignment();
    const { text } = this.#token;
    this.#at += 1;
    switch (text) {
      case 'local':
        return this.#accept('function') ? this.#localFunction() : this.#local();
      case 'if':
        return this.#if();
      case 'while':
        return this.#while();
      case 'repeat':
        return this.#repeat();
      case 'for':
        return this.#for();
      case 'do':
        return `{ ${this.#body()} }`;
      case 'return':
        return this.#return();
      case 'break':
        return 'break;';
      case 'function':
        return this.#namedFunction();
      default:
        return this.#fail(`unexpected ${text}`);
    }
  }

  #localFunction(): string {
    const own = this.#declare(this.#name());
    return `let ${own} = ${this.#function()};`;
  }

  /** A local that was declared before, or a member of one. */
  #namedFunction(): string {
    const name = this.#name();
    const local = this.#find(name);
    if (local === undefined) this.#fail(`the global function ${name} is not allowed`);
    let target: Expression = { code: local, kind: 'any' };
    while (this.#accept('.')) target = this.#memberOf(target.code, `'${this.#name()}'`);
    return assignment(target, this.#function());
  }

  #local(): string {
    const names = this.#names();
    const values = this.#accept('=') ? this.#list() : [];
    const sources = this.#spread(values, names.length);
    const declared = names.map((name, index) => `${this.#declare(name)} = ${sources.values[index]!}`);
    return `${sources.before}let ${declared.join(', ')};`;
  }

  /** One JavaScript expression for each of `count` targets. */
  #spread(list: readonly Expression[], count: number): { before: string; values: string[] } {
    const last = list.at(-1);
    if (last?.kind === 'many' && list.length < count) {
      const rest = this.#fresh('$');
      const firsts = list.slice(0, -1).map((each) => ({ own: this.#fresh('$'), each }));
      const before = firsts.map(({ own, each }) => `const ${own} = ${single(each)};`).join('');
      return {
        before: `${before}const ${rest} = R.all(${last.code});`,
        values: Array.from(
          { length: count },
          (_, index) => firsts[index]?.own ?? `${rest}[${index - firsts.length}]`,
        ),
      };
    }
    const values = Array.from({ length: count }, (_, index) =>
      list[index] ? single(list[index]) : 'undefined',
    );
    const more = list.slice(count).map((each) => `${each.code};`);
    return { before: more.join(''), values };
  }

  #if(): string {
    let code = `if (${truthOf(this.#expression())}) {`;
    this.#expect('then');
    code += this.#scoped(() => this.#block());
    if (this.#accept('elseif')) return `${code} } else { ${this.#if()} }`;
    if (this.#accept('else')) code += `} else { ${this.#scoped(() => this.#block())}`;
    this.#expect('end');
    return `${code} }`;
  }

  #while(): string {
    const truth = truthOf(this.#expression());
    this.#expect('do');
    return `while (${truth}) { ${this.#body()} }`;
  }

  /** The condition sees the locals of the body. */
  #repeat(): string {
    return this.#scoped(() => {
      const body = this.#block();
      this.#expect('until');
      return `for (;;) { ${body} if (${truthOf(this.#expression())}) break; }`;
    });
  }

  #for(): string {
    const names = this.#names();
    if (names.length === 1 && this.#accept('=')) return this.#numericFor(names[0]!);
    this.#expect('in');
    const list = this.#list();
    this.#expect('do');
    return this.#scoped(() => {
      const entry = this.#fresh('$');
      const declared = names.map((name, index) => `${this.#declare(name)} = ${entry}[${index}]`);
      return `for (const ${entry} of R.iterate(${listed(list)})) { let ${declared.join(', ')}; ${this.#body()} }`;
    });
  }

  #numericFor(name: string): string {
    const range = this.#list();
    this.#expect('do');
    return this.#scoped(() => {
      const [at, to, step] = [this.#fresh('$'), this.#fresh('$'), this.#fresh('$')];
      const [first, last, by] = range.map((each) => `R.number(${single(each)})`);
      const own = this.#declare(name);
      const head = `let ${at} = ${first!}, ${to} = ${last!}, ${step} = ${by ?? '1'}`;
      const test = by === undefined ? `${at} <= ${to}` : `(${step} > 0 ? ${at} <= ${to} : ${at} >= ${to})`;
      return `for (${head}; ${test}; ${at} += ${step}) { let ${own} = ${at}; ${this.#body()} }`;
    });
  }

  #return(): string {
    if (this.#isEndOfBlock || this.#is(';')) return 'return;';
    const list = this.#list();
    return list.length === 1 ? `return ${list[0]!.code};` : `return [${listed(list)}];`;
  }

  #callOrAssignment(): string {
    const target = this.#suffixed();
    if (target.kind === 'many') return `${target.code};`;
    const targets = [target];
    while (this.#accept(',')) targets.push(this.#suffixed());
    this.#expect('=');
    const list = this.#list();
    if (targets.length === 1 && list.length === 1) return assignment(target, single(list[0]!));
    return this.#assignments(targets, list);
  }

  /** Tables, keys and values are known before the first assignment. As in Redis, the last one comes first. */
  #assignments(targets: readonly Expression[], list: readonly Expression[]): string {
    let kept = '';
    const keep = (code: string): string => {
      const own = this.#fresh('$');
      kept += `const ${own} = ${code};`;
      return own;
    };
    const places = targets.map(({ code, kind, place }) => ({
      code,
      kind,
      place: place && ([keep(place[0]), keep(place[1])] as const),
    }));
    const { before, values } = this.#spread(list, targets.length);
    kept += before;
    const owns = values.map(keep);
    const stored = places.map((each, index) => assignment(each, owns[index]!)).toReversed();
    return `{ ${kept}${stored.join('')} }`;
  }

  #list(): Expression[] {
    const list = [this.#expression()];
    while (this.#accept(',')) list.push(this.#expression());
    return list;
  }

  #expression(limit = 0): Expression {
    let left = this.#operand();
    for (;;) {
      const { type, text } = this.#token;
      const priority = type === 'keyword' || type === 'symbol' ? PRIORITIES[text] : undefined;
      if (!priority || priority[0] <= limit) return left;
      this.#at += 1;
      const right = this.#expression(priority[1]);
      left = text === 'and' || text === 'or' ? choice(text, left, right) : operation(text, left, right);
    }
  }

  #operand(): Expression {
    const { type, text } = this.#token;
    if ((type === 'keyword' || type === 'symbol') && UNARY.has(text)) {
      this.#at += 1;
      return unary(text, this.#expression(UNARY_PRIORITY));
    }
    return this.#simple();
  }

  #simple(): Expression {
    const { type, text, value } = this.#token;
    const isPlain = type === 'keyword' || type === 'symbol';
    if (type === 'string' || type === 'number') {
      this.#at += 1;
      return type === 'string'
        ? { code: JSON.stringify(text), kind: 'string' }
        : { code: String(value), kind: 'number' };
    }
    if (isPlain && text === '{') return this.#table();
    if (isPlain && ['nil', 'true', 'false', '...', 'function'].includes(text)) {
      this.#at += 1;
      if (text === 'nil') return { code: 'undefined', kind: 'nil' };
      if (text === 'function') return { code: this.#function(), kind: 'other' };
      if (text !== '...') return { code: text, kind: 'boolean' };
      if (!this.#hasVarargs.at(-1)!) this.#fail("cannot use '...' outside a vararg function");
      return { code: '$rest', kind: 'many' };
    }
    return this.#suffixed();
  }

  #function(): string {
    this.#expect('(');
    return this.#scoped(() => {
      const parameters: string[] = [];
      let hasRest = false;
      while (!this.#is(')')) {
        if (this.#accept('...')) hasRest = true;
        else parameters.push(this.#declare(this.#name()));
        if (!this.#accept(',')) break;
      }
      this.#expect(')');
      this.#hasVarargs.push(hasRest);
      if (hasRest) parameters.push('...$rest');
      const code = `function (${parameters.join(', ')}) { ${this.#body()} }`;
      this.#hasVarargs.pop();
      return code;
    });
  }

  #table(): Expression {
    this.#expect('{');
    const items: Expression[] = [];
    const entries: string[] = [];
    while (!this.#is('}')) {
      if (this.#accept('[')) {
        const key = single(this.#expression());
        this.#expect(']');
        this.#expect('=');
        entries.push(`[${key}, ${single(this.#expression())}]`);
      } else if (this.#token.type === 'name' && this.#tokens[this.#at + 1]?.text === '=') {
        const key = JSON.stringify(this.#name());
        this.#expect('=');
        entries.push(`[${key}, ${single(this.#expression())}]`);
      } else items.push(this.#expression());
      if (!this.#accept(',') && !this.#accept(';')) break;
    }
    this.#expect('}');
    const more = entries.length > 0 ? `, [${entries.join(', ')}]` : '';
    return { code: `R.table([${listed(items)}]${more})`, kind: 'other' };
  }

  /** A name or an expression in brackets, with its members and calls. */
  #suffixed(): Expression {
    let base = this.#prefix();
    for (;;) {
      const { type, text } = this.#token;
      if (type === 'string' || (type === 'symbol' && (text === '(' || text === '{'))) {
        base = { code: `R.callee(${single(base)})(${this.#arguments()})`, kind: 'many' };
      } else if (type !== 'symbol') return base;
      else if (text === '.' || text === '[') base = this.#member(single(base));
      else if (text === ':') {
        this.#at += 1;
        const method = this.#name();
        const more = this.#arguments();
        base = { code: `R.method(${single(base)}, '${method}'${more && `, ${more}`})`, kind: 'many' };
      } else return base;
    }
  }

  #member(base: string): Expression {
    if (this.#accept('.')) return this.#memberOf(base, `'${this.#name()}'`);
    this.#expect('[');
    const key = single(this.#expression());
    this.#expect(']');
    return this.#memberOf(base, key);
  }

  #memberOf(base: string, key: string): Expression {
    return { code: `R.get(${base}, ${key})`, kind: 'any', place: [base, key] };
  }

  #prefix(): Expression {
    if (this.#accept('(')) {
      const inside = this.#expression();
      this.#expect(')');
      return { code: `(${single(inside)})`, kind: inside.kind === 'many' ? 'any' : inside.kind };
    }
    const name = this.#name();
    const local = this.#find(name);
    if (local !== undefined) return { code: local, kind: 'any' };
    const library = this.#known.libraries[name];
    if (library) {
      if (!this.#accept('.')) this.#fail(`the library ${name} as a value is not emulated`);
      const member = this.#name();
      if (!library.has(member)) this.#fail(`${name}.${member} is not emulated`);
      return { code: `L.${name}.${member}`, kind: 'any' };
    }
    if (!this.#known.functions.has(name))
      this.#fail(`Script attempted to access nonexistent global variable '${name}'`);
    return { code: `L.${name}`, kind: 'any' };
  }

  #arguments(): string {
    const { type, text } = this.#token;
    if (type === 'string') {
      this.#at += 1;
      return JSON.stringify(text);
    }
    if (this.#is('{')) return this.#table().code;
    this.#expect('(');
    const list = this.#is(')') ? [] : this.#list();
    this.#expect(')');
    return listed(list);
  }
}

function choice(operator: 'and' | 'or', left: Expression, right: Expression): Expression {
  const [a, b] = [truthOf(left), truthOf(right)];
  const truth = `(${a} ${operator === 'and' ? '&&' : '||'} ${b})`;
  if (left.kind === 'boolean' && right.kind === 'boolean') return { code: truth, kind: 'boolean' };
  const code = `R.${operator}(${single(left)}, () => ${single(right)})`;
  return { code, truth, kind: 'any' };
}

function assignment({ code, place }: Expression, value: string): string {
  return place ? `R.set(${place[0]}, ${place[1]}, ${value});` : `${code} = ${value};`;
}

/** The JavaScript of a script: the body of a function of `R`, the operators, and `L`, the libraries. Throws LuaSyntaxError. */
export function compileLua(source: string, known: KnownNames): string {
  return new Compiler(source, known).compile();
}
