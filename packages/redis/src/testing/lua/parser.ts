/** The words of a script one after the other, and the names that each of them may use. */
import type { Token } from './lexer.js';
import { LuaSyntaxError, tokensOf } from './lexer.js';

const ENDS_OF_BLOCK = new Set(['end', 'else', 'elseif', 'until']);

/** Names that the script finds in JavaScript, as `functions`, or `library.functions`. */
export interface KnownNames {
  readonly functions: ReadonlySet<string>;
  readonly libraries: Readonly<Record<string, ReadonlySet<string>>>;
}

export class Parser {
  protected readonly tokens: Token[];
  protected readonly known: KnownNames;
  protected at = 0;
  protected ids = 0;
  protected scopes: Map<string, string>[] = [];
  protected hasVarargs: boolean[] = [true];

  constructor(source: string, known: KnownNames) {
    this.tokens = tokensOf(source);
    this.known = known;
  }

  protected get token(): Token {
    return this.tokens[this.at]!;
  }

  protected fail(problem: string): never {
    throw new LuaSyntaxError(problem, this.token.line);
  }

  protected is(text: string): boolean {
    const { type } = this.token;
    return this.token.text === text && (type === 'keyword' || type === 'symbol');
  }

  protected get isEndOfBlock(): boolean {
    const { type, text } = this.token;
    return type === 'end' || (type === 'keyword' && ENDS_OF_BLOCK.has(text));
  }

  protected accept(text: string): boolean {
    if (!this.is(text)) return false;
    this.at += 1;
    return true;
  }

  protected expect(text: string): void {
    if (!this.accept(text)) this.fail(`'${text}' expected near '${this.token.text}'`);
  }

  protected name(): string {
    const { type, text } = this.token;
    if (type !== 'name') this.fail(`a name expected near '${text}'`);
    this.at += 1;
    return text;
  }

  protected names(): string[] {
    const names = [this.name()];
    while (this.accept(',')) names.push(this.name());
    return names;
  }

  protected fresh(name: string): string {
    this.ids += 1;
    return `${name}$${this.ids}`;
  }

  protected declare(name: string): string {
    const own = this.fresh(name);
    this.scopes.at(-1)!.set(name, own);
    return own;
  }

  protected find(name: string): string | undefined {
    return this.scopes.findLast((scope) => scope.has(name))?.get(name);
  }

  protected scoped<Result>(write: () => Result): Result {
    this.scopes.push(new Map());
    const result = write();
    this.scopes.pop();
    return result;
  }
}
