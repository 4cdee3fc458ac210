/** A README of a package fits on a screen or two: it says what the package is for, shows it once, and promises six things. */
import { describe, expect, test } from '@jest/globals';
import { wordsOf } from '../src/prose.js';
import { PACKAGES, read } from '../src/repository.js';

const MAX_LINES = 150;
const MAX_BYTES = 10_000;
const MAX_EXAMPLE_LINES = 15;
const GUARANTEES = 6;
const MAX_GUARANTEE_WORDS = 15;
const MAX_OPTIONS = 8;
/** In this order, beside those of the package alone. */
const SECTIONS = ['When to use it', 'Guarantees', 'Options', 'More'];

/** The text below a heading of the second level. */
function sectionOf(text: string, heading: string): string {
  const [, section] = new RegExp(`^## ${heading}\n([\\s\\S]*?)(?=^## |$(?![\\s\\S]))`, 'm').exec(text) ?? [];
  return section ?? '';
}

/** The rows of the first table, without its head. */
function rowsOf(section: string): string[][] {
  const [table = ''] = /(?:^\|.*\n)+/m.exec(section) ?? [];
  return table
    .trimEnd()
    .split('\n')
    .slice(2)
    .map((row) =>
      row
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

/** The lines that a reader has to type: without empty ones, comments and the output. */
function exampleOf(text: string): string[] {
  const [, code = ''] = /^```[jt]s\n([\s\S]*?)^```$/m.exec(text) ?? [];
  return code
    .split('// Output:\n')[0]!
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.trim().startsWith('//'));
}

describe.each(['README.md', ...PACKAGES.map((name) => `packages/${name}/README.md`)])('%s', (file) => {
  const text = read(file);

  test(`has at most ${MAX_LINES} lines and ${MAX_BYTES} bytes`, () => {
    expect(text.split('\n').length - 1).toBeLessThanOrEqual(MAX_LINES);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_BYTES);
  });
});

describe.each(PACKAGES)('the README of %s', (name) => {
  const text = read(`packages/${name}/README.md`);

  test('begins with its purpose in one sentence, then says how to install it', () => {
    const [heading, purpose = '', install] = text.split('\n\n');
    expect(heading).toBe(`# @mortise/${name}`);
    expect(purpose.split(/[.!?](?:\s|$)/).filter((rest) => rest !== '')).toHaveLength(1);
    expect(install).toMatch(new RegExp(`^\`\`\`sh\nnpm install @mortise/${name}\\b.*\n\`\`\`$`));
  });

  test(`has an example of at most ${MAX_EXAMPLE_LINES} lines`, () => {
    const lines = exampleOf(text);
    expect(lines.length).toBeGreaterThan(1);
    expect(lines.length).toBeLessThanOrEqual(MAX_EXAMPLE_LINES);
  });

  test('says when to use it and when not, what it promises, what can be set, and where more is', () => {
    const found = [...text.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading!);
    expect(found.filter((heading) => SECTIONS.includes(heading))).toEqual(SECTIONS);
    const choice = sectionOf(text, 'When to use it');
    expect(choice).toMatch(/^Use (?:it|`)/m);
    expect(choice).toMatch(/Use something else|is enough/);
    expect(sectionOf(text, 'More')).toMatch(/\]\[|\]\(/);
  });

  test(`promises ${GUARANTEES} things in at most ${MAX_GUARANTEE_WORDS} words each`, () => {
    const promises = rowsOf(sectionOf(text, 'Guarantees')).map((row) => row.at(-1)!);
    expect(promises).toHaveLength(GUARANTEES);
    expect(promises.filter((promise) => wordsOf(promise) > MAX_GUARANTEE_WORDS)).toEqual([]);
  });

  test(`shows at most ${MAX_OPTIONS} options`, () => {
    const options = rowsOf(sectionOf(text, 'Options'));
    expect(options.length).toBeGreaterThan(1);
    expect(options.length).toBeLessThanOrEqual(MAX_OPTIONS);
  });
});
