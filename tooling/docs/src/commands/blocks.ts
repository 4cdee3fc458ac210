/**
 * The blocks of `sh` and `sql` in documents, as commands. A comment `<!-- answers` after a block has a line for each command:
 * its status, and JSON that the answer contains, or a text.
 */
export interface CommandBlock {
  readonly line: number;
  readonly language: 'sh' | 'sql';
  readonly commands: readonly string[];
  /** Commands before the first one, which the page hides. */
  readonly setup: readonly string[];
  readonly answers: readonly string[] | undefined;
}

const BLOCK =
  /(?:^<!-- setup\n([\s\S]*?)^-->\n+)?^```(sh|sql)\n([\s\S]*?)^```$(?:\n+<!-- answers\n([\s\S]*?)^-->)?/gm;

export function commandBlocks(text: string): CommandBlock[] {
  return [...text.matchAll(BLOCK)].map((match) => {
    const [whole, setup = '', language, code, answers] = match as unknown as string[];
    const before = text.slice(0, match.index + whole!.indexOf('```'));
    return {
      line: before.split('\n').length,
      language: language as 'sh' | 'sql',
      commands: language === 'sh' ? linesOf(code!) : statementsOf(code!),
      setup: language === 'sh' ? linesOf(setup) : statementsOf(setup),
      answers: answers?.trimEnd().split('\n'),
    };
  });
}

/** A line that ends with a backslash goes on. */
function linesOf(code: string): string[] {
  return code
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => line.trim() !== '');
}

function statementsOf(code: string): string[] {
  return code
    .split(/;\n/)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}
