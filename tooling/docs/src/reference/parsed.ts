/** The trees of sources. Several references are made from the same files, so each is parsed once. */
import ts from 'typescript-5.9';

const trees = new Map<string, ts.SourceFile>();

export function parsed(text: string): ts.SourceFile {
  const known = trees.get(text);
  if (known) return known;
  const tree = ts.createSourceFile('source.ts', text, ts.ScriptTarget.Latest, true);
  trees.set(text, tree);
  return tree;
}
