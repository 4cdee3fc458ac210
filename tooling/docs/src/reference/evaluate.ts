/** The values of expressions that need no program to run. */
import ts from 'typescript-5.9';

export type Value = number | string | boolean;
export type Constants = ReadonlyMap<string, ts.Expression>;

export function constantsIn(source: ts.SourceFile): Constants {
  const constants = new Map<string, ts.Expression>();
  const visit = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && node.initializer)
      constants.set(node.name.getText(), node.initializer);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return constants;
}

/** Literals, names of constants, their products and quotients, and lists of them. */
export function evaluated(expression: ts.Expression, constants: Constants): Value | undefined {
  if (ts.isNumericLiteral(expression)) return Number(expression.text);
  if (ts.isStringLiteral(expression)) return expression.text;
  if (expression.kind === ts.SyntaxKind.TrueKeyword) return true;
  if (expression.kind === ts.SyntaxKind.FalseKeyword) return false;
  if (ts.isAsExpression(expression) || ts.isSatisfiesExpression(expression))
    return evaluated(expression.expression, constants);
  if (ts.isIdentifier(expression)) {
    const constant = constants.get(expression.text);
    return constant && evaluated(constant, constants);
  }
  if (ts.isArrayLiteralExpression(expression))
    return expression.elements.map((element) => evaluated(element, constants)).join(',');
  return ts.isBinaryExpression(expression) ? computed(expression, constants) : undefined;
}

function computed(
  { left, right, operatorToken }: ts.BinaryExpression,
  constants: Constants,
): number | undefined {
  const [first, second] = [left, right].map((side) => evaluated(side, constants));
  if (typeof first !== 'number' || typeof second !== 'number') return undefined;
  if (operatorToken.kind === ts.SyntaxKind.AsteriskToken) return first * second;
  return operatorToken.kind === ts.SyntaxKind.SlashToken ? first / second : undefined;
}
