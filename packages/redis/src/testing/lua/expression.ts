/** The JavaScript of an expression of Lua. */

export interface Expression {
  readonly code: string;
  /** The type of its value, if it is certain. `many`: a call or `...`, whose value may be an array of several. */
  readonly kind: 'any' | 'boolean' | 'many' | 'nil' | 'number' | 'other' | 'string';
  /** The JavaScript of its truth, if that is not the truth of its value. */
  readonly truth?: string;
  /** The table and the key, if it can be assigned to. */
  readonly place?: readonly [table: string, key: string] | undefined;
}

/** Its first value. */
export function single({ code, kind }: Expression): string {
  return kind === 'many' ? `R.first(${code})` : code;
}

/** Whether it is neither nil nor false. */
export function truthOf(expression: Expression): string {
  const { code, kind, truth } = expression;
  if (truth !== undefined) return truth;
  if (kind === 'boolean') return code;
  if (kind === 'nil') return 'false';
  return kind === 'any' || kind === 'many' ? `R.isTrue(${single(expression)})` : `(${code}, true)`;
}

/** The values of a list as the elements of an array or arguments. */
export function listed(list: readonly Expression[]): string {
  return list
    .map((each, index) =>
      each.kind === 'many' && index === list.length - 1 ? `...R.all(${each.code})` : single(each),
    )
    .join(', ');
}

function arithmetic(operator: string, left: Expression, right: Expression): Expression {
  const [a, b] = [single(left), single(right)];
  const areNumbers = left.kind === 'number' && right.kind === 'number';
  if (operator === '%') return { code: `R.modulo(${a}, ${b})`, kind: 'number' };
  const symbol = operator === '^' ? '**' : operator;
  if (areNumbers) return { code: `(${a} ${symbol} ${b})`, kind: 'number' };
  return { code: `(R.number(${a}) ${symbol} R.number(${b}))`, kind: 'number' };
}

/** A binary operator but `and` and `or`. */
export function operation(operator: string, left: Expression, right: Expression): Expression {
  const [a, b] = [single(left), single(right)];
  switch (operator) {
    case '==':
      return { code: `(${a} === ${b})`, kind: 'boolean' };
    case '~=':
      return { code: `(${a} !== ${b})`, kind: 'boolean' };
    case '<':
      return { code: `R.isLess(${a}, ${b})`, kind: 'boolean' };
    case '>':
      return { code: `R.isGreater(${a}, ${b})`, kind: 'boolean' };
    case '<=':
      return { code: `R.isAtMost(${a}, ${b})`, kind: 'boolean' };
    case '>=':
      return { code: `R.isAtLeast(${a}, ${b})`, kind: 'boolean' };
    case '..':
      return { code: `R.concat(${a}, ${b})`, kind: 'string' };
    default:
      return arithmetic(operator, left, right);
  }
}

export function unary(operator: string, operand: Expression): Expression {
  if (operator === 'not') return { code: `!${truthOf(operand)}`, kind: 'boolean' };
  if (operator === '#') return { code: `R.length(${single(operand)})`, kind: 'number' };
  return { code: `(-R.number(${single(operand)}))`, kind: 'number' };
}
