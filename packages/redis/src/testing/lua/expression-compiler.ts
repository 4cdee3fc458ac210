/** The expressions of Lua. */
import type { Expression } from './expression.js';
import { listed, operation, single, truthOf, unary } from './expression.js';
import { Parser } from './parser.js';

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

export abstract class ExpressionCompiler extends Parser {
  /** A block up to `end`. */
  protected abstract body(): string;

  protected list(): Expression[] {
    const list = [this.expression()];
    while (this.accept(',')) list.push(this.expression());
    return list;
  }

  protected expression(limit = 0): Expression {
    let left = this.operand();
    for (;;) {
      const { type, text } = this.token;
      const priority = type === 'keyword' || type === 'symbol' ? PRIORITIES[text] : undefined;
      if (!priority || priority[0] <= limit) return left;
      this.at += 1;
      const right = this.expression(priority[1]);
      left = text === 'and' || text === 'or' ? choice(text, left, right) : operation(text, left, right);
    }
  }

  protected operand(): Expression {
    const { type, text } = this.token;
    if ((type === 'keyword' || type === 'symbol') && UNARY.has(text)) {
      this.at += 1;
      return unary(text, this.expression(UNARY_PRIORITY));
    }
    return this.simple();
  }

  protected simple(): Expression {
    const { type, text, value } = this.token;
    const isPlain = type === 'keyword' || type === 'symbol';
    if (type === 'string' || type === 'number') {
      this.at += 1;
      return type === 'string'
        ? { code: JSON.stringify(text), kind: 'string' }
        : { code: String(value), kind: 'number' };
    }
    if (isPlain && text === '{') return this.tableValue();
    if (isPlain && ['nil', 'true', 'false', '...', 'function'].includes(text)) {
      this.at += 1;
      if (text === 'nil') return { code: 'undefined', kind: 'nil' };
      if (text === 'function') return { code: this.functionValue(), kind: 'other' };
      if (text !== '...') return { code: text, kind: 'boolean' };
      if (!this.hasVarargs.at(-1)!) this.fail("cannot use '...' outside a vararg function");
      return { code: '$rest', kind: 'many' };
    }
    return this.suffixed();
  }

  protected functionValue(): string {
    this.expect('(');
    return this.scoped(() => {
      const parameters: string[] = [];
      let hasRest = false;
      while (!this.is(')')) {
        if (this.accept('...')) hasRest = true;
        else parameters.push(this.declare(this.name()));
        if (!this.accept(',')) break;
      }
      this.expect(')');
      this.hasVarargs.push(hasRest);
      if (hasRest) parameters.push('...$rest');
      const code = `function (${parameters.join(', ')}) { ${this.body()} }`;
      this.hasVarargs.pop();
      return code;
    });
  }

  protected tableValue(): Expression {
    this.expect('{');
    const items: Expression[] = [];
    const entries: string[] = [];
    while (!this.is('}')) {
      if (this.accept('[')) {
        const key = single(this.expression());
        this.expect(']');
        this.expect('=');
        entries.push(`[${key}, ${single(this.expression())}]`);
      } else if (this.token.type === 'name' && this.tokens[this.at + 1]?.text === '=') {
        const key = JSON.stringify(this.name());
        this.expect('=');
        entries.push(`[${key}, ${single(this.expression())}]`);
      } else items.push(this.expression());
      if (!this.accept(',') && !this.accept(';')) break;
    }
    this.expect('}');
    const more = entries.length > 0 ? `, [${entries.join(', ')}]` : '';
    return { code: `R.table([${listed(items)}]${more})`, kind: 'other' };
  }

  /** A name or an expression in brackets, with its members and calls. */
  protected suffixed(): Expression {
    let base = this.prefix();
    for (;;) {
      const { type, text } = this.token;
      if (type === 'string' || (type === 'symbol' && (text === '(' || text === '{'))) {
        base = { code: `R.callee(${single(base)})(${this.callArguments()})`, kind: 'many' };
      } else if (type !== 'symbol') return base;
      else if (text === '.' || text === '[') base = this.member(single(base));
      else if (text === ':') {
        this.at += 1;
        const method = this.name();
        const more = this.callArguments();
        base = { code: `R.method(${single(base)}, '${method}'${more && `, ${more}`})`, kind: 'many' };
      } else return base;
    }
  }

  protected member(base: string): Expression {
    if (this.accept('.')) return this.memberOf(base, `'${this.name()}'`);
    this.expect('[');
    const key = single(this.expression());
    this.expect(']');
    return this.memberOf(base, key);
  }

  protected memberOf(base: string, key: string): Expression {
    return { code: `R.get(${base}, ${key})`, kind: 'any', place: [base, key] };
  }

  protected prefix(): Expression {
    if (this.accept('(')) {
      const inside = this.expression();
      this.expect(')');
      return { code: `(${single(inside)})`, kind: inside.kind === 'many' ? 'any' : inside.kind };
    }
    const name = this.name();
    const local = this.find(name);
    if (local !== undefined) return { code: local, kind: 'any' };
    const library = this.known.libraries[name];
    if (library) {
      if (!this.accept('.')) this.fail(`the library ${name} as a value is not emulated`);
      const member = this.name();
      if (!library.has(member)) this.fail(`${name}.${member} is not emulated`);
      return { code: `L.${name}.${member}`, kind: 'any' };
    }
    if (!this.known.functions.has(name))
      this.fail(`Script attempted to access nonexistent global variable '${name}'`);
    return { code: `L.${name}`, kind: 'any' };
  }

  protected callArguments(): string {
    const { type, text } = this.token;
    if (type === 'string') {
      this.at += 1;
      return JSON.stringify(text);
    }
    if (this.is('{')) return this.tableValue().code;
    this.expect('(');
    const list = this.is(')') ? [] : this.list();
    this.expect(')');
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
