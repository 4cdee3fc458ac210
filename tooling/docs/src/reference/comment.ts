/** The documentation comment of a declaration. The parser would take the name of a decorator, such as `@Locked`, for a tag. */
import ts from 'typescript-5.9';

export interface Tag {
  /** Without the `@`. */
  readonly name: string;
  readonly text: string;
}

/** The text before the tags. */
export function commentOf(node: ts.Node): string {
  return blocksOf(node)[0]!;
}

export function tagsOf(node: ts.Node): Tag[] {
  return blocksOf(node)
    .slice(1)
    .map((block) => {
      const [, name = '', text = ''] = /^@(\w+) ?(.*)$/.exec(block)!;
      return { name, text };
    });
}

/** The text, then each tag; each on one line. */
function blocksOf(node: ts.Node): string[] {
  const comment = ts.getJSDocCommentsAndTags(node).findLast(ts.isJSDoc);
  const lines = (comment?.getText() ?? '')
    .replace(/^\/\*\*|\*\/$/g, '')
    .split('\n')
    .map((line) => line.replace(/^\s*\*? ?/, ''));
  const blocks: string[][] = [[]];
  for (const line of lines) {
    if (line.startsWith('@')) blocks.push([line]);
    else blocks.at(-1)!.push(line);
  }
  return blocks.map((block) => block.join(' ').replaceAll(/\s+/g, ' ').trim());
}
