/** How each block of code in a document is proven. */
import { blocksOf } from './blocks.js';
import { commandBlocks, shownAnswers } from './commands/blocks.js';
import { NOT_RUN } from './commands/not-run.js';
import type { Document } from './documents.js';

export interface Proof {
  /** Such as `docs/queues/retries.md:81`. */
  readonly place: string;
  readonly language: string;
  /** `quoted`, `run` or `answer`, or the reason for which it isn't run. Undefined: nothing proves it. */
  readonly how: string | undefined;
}

interface Reason {
  readonly file: RegExp;
  readonly language: string;
  readonly reason: string;
}

const PICTURE = 'a picture, which a reader compares';

export const UNRUN: readonly Reason[] = [
  { file: /^docs\/ARCHITECTURE\.md$/, language: 'text', reason: PICTURE },
  { file: /^docs\/recipes\/outbox\.md$/, language: 'text', reason: PICTURE },
  {
    file: /^docs\/service\/reference\/http\//,
    language: 'json',
    reason: 'made from the OpenAPI document; a test of the API sends each of these bodies to its route',
  },
  {
    file: /^docs\/start\/nestjs\.md$/,
    language: 'json',
    reason: 'tooling/consumers compiles the programs of the page with it',
  },
  {
    file: /^docs\/coming-from\/bullmq\.md$/,
    language: 'diff',
    reason: 'the test of the pages of docs/coming-from applies it, and runs the program',
  },
];

const OPENING = /^ *(`{3,}|~{3,})(\w+)/;

export function proofsOf({ file, text }: Document): Proof[] {
  const { quotes, fragments } = blocksOf(text);
  const known = new Map<number, string>();
  for (const { line } of quotes) known.set(line, 'quoted');
  for (const { line } of fragments) known.set(line, 'run');
  for (const { line } of shownAnswers(text)) known.set(line, 'answer');
  for (const { line, commands } of commandBlocks(text)) {
    const excuse = NOT_RUN.find(({ begins }) => commands.join('\n').startsWith(begins));
    if (!known.has(line)) known.set(line, excuse?.reason ?? 'run');
  }
  return openingsIn(text).map(({ line, language }) => {
    const listed = UNRUN.find((each) => each.file.test(file) && each.language === language);
    return { place: `${file}:${line}`, language, how: known.get(line) ?? listed?.reason };
  });
}

/** A document within a document is proven by its own blocks. */
function openingsIn(text: string): { line: number; language: string }[] {
  const found: { line: number; language: string }[] = [];
  let fence: string | undefined;
  for (const [index, line] of text.split('\n').entries()) {
    const [, opened, language] = OPENING.exec(line) ?? [];
    if (fence !== undefined && line.trim() === fence) fence = undefined;
    else if (fence === undefined && opened !== undefined && language !== 'md') {
      fence = opened;
      found.push({ line: index + 1, language: language! });
    }
  }
  return found;
}
