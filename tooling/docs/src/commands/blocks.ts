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

/** A block that shows the answer of a hidden command. */
export interface ShownAnswer {
  readonly line: number;
  /** `text` is an answer of HTTP with its head. */
  readonly language: 'json' | 'text';
  /** The last one gives the answer. */
  readonly commands: readonly string[];
  readonly shown: string;
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

const SHOWN = /^<!-- answer of\n([\s\S]*?)^-->\n+```(json|text)\n([\s\S]*?)^```$/gm;

export function shownAnswers(text: string): ShownAnswer[] {
  return [...text.matchAll(SHOWN)].map((match) => {
    const [whole, commands, language, shown] = match as unknown as [string, string, 'json' | 'text', string];
    const before = text.slice(0, match.index + whole.indexOf('```'));
    return { line: before.split('\n').length, language, commands: linesOf(commands), shown };
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
