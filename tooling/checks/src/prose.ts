/** The text of Markdown files, as a reader counts it. */
import { read } from './repository.js';

/** Without code, comments, front matter and the targets of links. */
export function proseOf(file: string): string {
  return read(file)
    .replace(/^---\n[\s\S]*?\n---\n/, '')
    .replace(/^(```|~~~)[\s\S]*?^\1/gm, '')
    .replace(/^\[[^\]]+\]: .*$/gm, '')
    .replace(/^<!--[\s\S]*?-->/gm, '');
}

/** The sentences of paragraphs, items and cells. */
export function sentencesOf(file: string): string[] {
  const blocks = withCodeAsWords(proseOf(file))
    .replace(/\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])?/g, '$1')
    .split(/\n\s*\n|\n(?=\s*(?:[-*|]|\d+\.|#))/)
    .flatMap((block) => (block.trim().startsWith('|') ? block.split('|') : [block]));
  return blocks
    .flatMap((block) => block.replace(/\s+/g, ' ').split(/(?<=[.!?])\s/))
    .map((sentence) => sentence.replace(/^[\s#*-]+/, '').trim())
    .filter((sentence) => wordsOf(sentence) > 2);
}

/** Code in a line counts as one word. */
function withCodeAsWords(text: string): string {
  return text.replace(/(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)/gs, (_, __, code: string) =>
    code.replace(/[.!?|]/g, '').replace(/\s+/g, '_'),
  );
}

export function wordsOf(text: string): number {
  return withCodeAsWords(text)
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}
