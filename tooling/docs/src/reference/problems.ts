/** The problems of the console, from the table of the package: a comment is the remedy. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript-5.9';
import { root } from '../pages.js';
import { parsed } from './parsed.js';
import { commentOf } from './comment.js';
import { escaped, tableOf } from './text.js';

export function problemsOf(folder: string): string {
  const path = join(root, 'packages', folder, 'src/http/problem.ts');
  const source = parsed(readFileSync(path, 'utf8'));
  const rows: string[][] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isPropertyAssignment(node) && ts.isArrayLiteralExpression(node.initializer)) {
      const [status, title] = node.initializer.elements;
      const slug = (node.name as ts.StringLiteral).text;
      const [meaning, remedy] = [(title as ts.StringLiteral).text, commentOf(node)];
      rows.push([`\`${slug}\``, status!.getText(), escaped(meaning), escaped(remedy)]);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return tableOf(['Type', 'Status', 'Meaning', 'Cause or remedy'], rows);
}
