/**
 * The steps of a page: a reader writes the lines of the programs of a section, and types the commands that it names. Those that
 * stand before the first section belong to each step.
 */
import { commandBlocks } from './commands/blocks.js';

export interface Step {
  readonly title: string;
  /** Lines of programs and of configuration, without empty ones, comments and the output. */
  readonly lines: readonly string[];
  readonly commands: readonly string[];
}

const PROGRAM = /^```(?:ts|js|json)\n([\s\S]*?)^```$/gm;
/** A command in a sentence. */
const INLINE = /\b[Rr]un `([^`]+)`/g;
/** Advice for some readers. */
const ADVICE = /^If .*$/gm;

export function stepsOf(page: string): Step[] {
  const [head = '', ...sections] = page.split(/^## /m);
  return sections.map((section) => {
    const [title = '', ...rest] = section.split('\n');
    const text = `${head}\n${rest.join('\n')}`;
    return { title, lines: linesOf(text), commands: commandsOf(text) };
  });
}

function linesOf(text: string): string[] {
  return [...text.matchAll(PROGRAM)]
    .flatMap(([, code]) => code!.split('// Output:\n')[0]!.split('\n'))
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('//'));
}

function commandsOf(text: string): string[] {
  const inBlocks = commandBlocks(text).flatMap(({ commands }) => commands);
  const inline = [...text.replaceAll(ADVICE, '').matchAll(INLINE)].map(([, command]) => command!);
  return [...inBlocks, ...inline].flatMap((command) => command.split(/ && | & /));
}
