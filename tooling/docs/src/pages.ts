/** The pages of `docs/`, and the order in which the site lists them: a new page needs its file only. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../..', import.meta.url));
export const docs = join(root, 'docs');

export interface Page {
  /** Such as `queues/retries.md`. */
  readonly file: string;
  readonly title: string;
  /** One sentence, from the front matter; empty for pages without one. */
  readonly description: string;
  /** Pages with a smaller number come first; pages without a number come last, by title. */
  readonly order: number;
}

export interface Section {
  readonly title: string;
  readonly pages: readonly Page[];
  /** The pages of the folder `reference`. */
  readonly reference: readonly Page[];
  readonly isInternal: boolean;
}

/** The titles of folders, in the order of the site. Other folders follow under their own names. */
const TITLES = new Map([
  ['start', 'Get started'],
  ['locks', 'Locks'],
  ['queues', 'Queues'],
  ['messaging', 'Messaging'],
  ['autocomplete', 'Autocomplete'],
  ['cache', 'Cache'],
  ['redis', 'Redis'],
  ['console', 'Console'],
  ['service', 'The service'],
  ['operations', 'Operations'],
  ['recipes', 'Recipes'],
  ['coming-from', 'Coming from'],
  ['', 'More'],
]);
const INTERNAL_FOLDERS = new Set(['decisions', 'benchmarks']);
const INTERNAL_PAGES = new Set([
  'ARCHITECTURE.md',
  'BENCHMARKS.md',
  'TESTING.md',
  'RELEASING.md',
  'SCALING.md',
]);

export function readPages(folder: string = docs): Page[] {
  return (
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map((file) => file.replaceAll('\\', '/'))
      // A name in brackets is a pattern: its pages are made.
      .filter((file) => file.endsWith('.md') && file !== 'index.md' && !file.includes('['))
      .map((file) => pageOf(file, readFileSync(join(folder, file), 'utf8')))
      .toSorted((a, b) => (a.order === b.order ? a.title.localeCompare(b.title, 'en') : a.order - b.order))
  );
}

export function pageOf(file: string, text: string): Page {
  const front = new Map(
    [...(/^---\n([\s\S]*?)\n---\n/.exec(text)?.[1] ?? '').matchAll(/^(\w+): *(.*)$/gm)].map(
      ([, name, value]) => [name!, value!.replace(/^(['"])(.*)\1$/, '$2')],
    ),
  );
  const heading = /^# (.*)$/m.exec(text)?.[1]?.replaceAll('`', '');
  return {
    file,
    title: front.get('title') ?? heading ?? basename(file, '.md'),
    description: front.get('description') ?? '',
    order: Number(front.get('order') ?? Infinity),
  };
}

export function sectionsOf(pages: readonly Page[]): Section[] {
  const folders = new Map<string, Page[]>();
  for (const page of pages.filter((each) => !isInternal(each))) {
    const folder = page.file.includes('/') ? page.file.split('/')[0]! : '';
    folders.set(folder, [...(folders.get(folder) ?? []), page]);
  }
  const names = [...TITLES.keys()].filter((name) => folders.has(name));
  const others = [...folders.keys()].filter((name) => !TITLES.has(name)).toSorted(compare);
  const sections = [...names, ...others].map((name) => {
    const isReference = ({ file }: Page): boolean => file.startsWith(`${name}/reference/`);
    const ofFolder = folders.get(name)!;
    return {
      title: TITLES.get(name) ?? name,
      pages: ofFolder.filter((page) => !isReference(page)),
      reference: ofFolder.filter(isReference),
      isInternal: false,
    };
  });
  const internal = pages.filter(isInternal);
  const decisions = internal.filter(({ file }) => file.startsWith('decisions/'));
  return [
    ...sections,
    {
      title: 'Contributing',
      pages: internal.filter((page) => !decisions.includes(page)),
      reference: [],
      isInternal: true,
    },
    {
      title: 'Decisions',
      pages: decisions.toSorted((a, b) => compare(a.file, b.file)),
      reference: [],
      isInternal: true,
    },
  ];
}

function isInternal({ file }: Page): boolean {
  return INTERNAL_PAGES.has(file) || INTERNAL_FOLDERS.has(file.split('/')[0]!);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : 1;
}
