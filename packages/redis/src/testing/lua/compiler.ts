/**
 * Lua 5.1 as JavaScript: one pass over the tokens, which writes a function of the same shape. The scripts of the packages use no
 * `goto`, metatables or coroutines, and Redis forbids globals, so there are none here: a name that is neither a local nor of a library
 * is refused when the script is compiled.
 *
 * Rejected: an npm package for the syntax. The one that is left unmaintained would be installed by every user of the packages,
 * for an entry that only tests load.
 */
import type { Expression } from './expression.js';
import { listed, single, truthOf } from './expression.js';
import { ExpressionCompiler } from './expression-compiler.js';
import type { KnownNames } from './parser.js';

class Compiler extends ExpressionCompiler {
  compile(): string {
    const body = this.scoped(() => {
      const declared = ['KEYS', 'ARGV'].map((name) => `const ${this.declare(name)} = ${name};`);
      return declared.join('') + this.block();
    });
    if (this.token.type !== 'end') this.fail(`unexpected ${this.token.text}`);
    return `'use strict'; return function (KEYS, ARGV) { const $rest = []; ${body} };`;
  }

  protected block(): string {
    let code = '';
    while (!this.isEndOfBlock) {
      const isLast = this.is('return') || this.is('break');
      code += `${this.statement()}\n`;
      this.accept(';');
      if (isLast) break;
    }
    return code;
  }

  /** A block up to `end`. */
  protected body(): string {
    const code = this.scoped(() => this.block());
    this.expect('end');
    return code;
  }

  protected statement(): string {
    if (this.token.type !== 'keyword') return this.callOrAssignment();
    const { text } = this.token;
    this.at += 1;
    switch (text) {
      case 'local':
        return this.accept('function') ? this.localFunction() : this.localStatement();
      case 'if':
        return this.ifStatement();
      case 'while':
        return this.whileStatement();
      case 'repeat':
        return this.repeatStatement();
      case 'for':
        return this.forStatement();
      case 'do':
        return `{ ${this.body()} }`;
      case 'return':
        return this.returnStatement();
      case 'break':
        return 'break;';
      case 'function':
        return this.namedFunction();
      default:
        return this.fail(`unexpected ${text}`);
    }
  }

  protected localFunction(): string {
    const own = this.declare(this.name());
    return `let ${own} = ${this.functionValue()};`;
  }

  /** A local that was declared before, or a member of one. */
  protected namedFunction(): string {
    const name = this.name();
    const local = this.find(name);
    if (local === undefined) this.fail(`the global function ${name} is not allowed`);
    let target: Expression = { code: local, kind: 'any' };
    while (this.accept('.')) target = this.memberOf(target.code, `'${this.name()}'`);
    return assignment(target, this.functionValue());
  }

  protected localStatement(): string {
    const names = this.names();
    const values = this.accept('=') ? this.list() : [];
    const sources = this.spread(values, names.length);
    const declared = names.map((name, index) => `${this.declare(name)} = ${sources.values[index]!}`);
    return `${sources.before}let ${declared.join(', ')};`;
  }

  /** One JavaScript expression for each of `count` targets. */
  protected spread(list: readonly Expression[], count: number): { before: string; values: string[] } {
    const last = list.at(-1);
    if (last?.kind === 'many' && list.length < count) {
      const rest = this.fresh('$');
      const firsts = list.slice(0, -1).map((each) => ({ own: this.fresh('$'), each }));
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

  protected ifStatement(): string {
    let code = `if (${truthOf(this.expression())}) {`;
    this.expect('then');
    code += this.scoped(() => this.block());
    if (this.accept('elseif')) return `${code} } else { ${this.ifStatement()} }`;
    if (this.accept('else')) code += `} else { ${this.scoped(() => this.block())}`;
    this.expect('end');
    return `${code} }`;
  }

  protected whileStatement(): string {
    const truth = truthOf(this.expression());
    this.expect('do');
    return `while (${truth}) { ${this.body()} }`;
  }

  /** The condition sees the locals of the body. */
  protected repeatStatement(): string {
    return this.scoped(() => {
      const body = this.block();
      this.expect('until');
      return `for (;;) { ${body} if (${truthOf(this.expression())}) break; }`;
    });
  }

  protected forStatement(): string {
    const names = this.names();
    if (names.length === 1 && this.accept('=')) return this.numericFor(names[0]!);
    this.expect('in');
    const list = this.list();
    this.expect('do');
    return this.scoped(() => {
      const entry = this.fresh('$');
      const declared = names.map((name, index) => `${this.declare(name)} = ${entry}[${index}]`);
      return `for (const ${entry} of R.iterate(${listed(list)})) { let ${declared.join(', ')}; ${this.body()} }`;
    });
  }

  protected numericFor(name: string): string {
    const range = this.list();
    this.expect('do');
    return this.scoped(() => {
      const [at, to, step] = [this.fresh('$'), this.fresh('$'), this.fresh('$')];
      const [first, last, by] = range.map((each) => `R.number(${single(each)})`);
      const own = this.declare(name);
      const head = `let ${at} = ${first!}, ${to} = ${last!}, ${step} = ${by ?? '1'}`;
      const test = by === undefined ? `${at} <= ${to}` : `(${step} > 0 ? ${at} <= ${to} : ${at} >= ${to})`;
      return `for (${head}; ${test}; ${at} += ${step}) { let ${own} = ${at}; ${this.body()} }`;
    });
  }

  protected returnStatement(): string {
    if (this.isEndOfBlock || this.is(';')) return 'return;';
    const list = this.list();
    return list.length === 1 ? `return ${list[0]!.code};` : `return [${listed(list)}];`;
  }

  protected callOrAssignment(): string {
    const target = this.suffixed();
    if (target.kind === 'many') return `${target.code};`;
    const targets = [target];
    while (this.accept(',')) targets.push(this.suffixed());
    this.expect('=');
    const list = this.list();
    if (targets.length === 1 && list.length === 1) return assignment(target, single(list[0]!));
    return this.assignments(targets, list);
  }

  /** Tables, keys and values are known before the first assignment. As in Redis, the last one comes first. */
  protected assignments(targets: readonly Expression[], list: readonly Expression[]): string {
    let kept = '';
    const keep = (code: string): string => {
      const own = this.fresh('$');
      kept += `const ${own} = ${code};`;
      return own;
    };
    const places = targets.map(({ code, kind, place }) => ({
      code,
      kind,
      place: place && ([keep(place[0]), keep(place[1])] as const),
    }));
    const { before, values } = this.spread(list, targets.length);
    kept += before;
    const owns = values.map(keep);
    const stored = places.map((each, index) => assignment(each, owns[index]!)).toReversed();
    return `{ ${kept}${stored.join('')} }`;
  }
}

function assignment({ code, place }: Expression, value: string): string {
  return place ? `R.set(${place[0]}, ${place[1]}, ${value});` : `${code} = ${value};`;
}

/** The JavaScript of a script: the body of a function of `R`, the operators, and `L`, the libraries. Throws LuaSyntaxError. */
export function compileLua(source: string, known: KnownNames): string {
  return new Compiler(source, known).compile();
}
