import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { wordsOf } from '../src/prose.js';
import { ADDRESS, files, PACKAGES, read, root } from '../src/repository.js';

/** Without the written words of reference pages, whose links lead from the page that they are part of. */
const documents = files('*.md').filter((file) => !file.startsWith('tooling/docs/reference/'));

const MAX_DECISION_WORDS = 270;

/** The anchors that a Markdown file offers: its headings, as the usual renderers name them. */
function anchors(file: string): string[] {
  return [...withoutFences(read(file)).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function withoutFences(text: string): string {
  return text.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, '');
}

/** `[text](target)`, and `[label]: target` on a line of its own. */
function linksOf(file: string): string[] {
  return [...withoutFences(read(file)).matchAll(/\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)$/gm)].map(
    ([, target, defined]) => (target ?? defined)!,
  );
}

test('there are documents to check', () => {
  expect(documents).toEqual(expect.arrayContaining(['README.md', 'docs/ARCHITECTURE.md', 'CONTRIBUTING.md']));
});

describe.each(documents)('%s', (file) => {
  const links = linksOf(file);
  const labels = [...withoutFences(read(file)).matchAll(/^\[([^\]]+)\]: /gm)].map(([, label]) => label!);
  /** A link to this repository is one to the file beside it. */
  const local = links.map((target) =>
    target.startsWith(`${ADDRESS}/`) ? relative(dirname(file), target.slice(ADDRESS.length + 1)) : target,
  );

  test('has no broken link inside the repository', () => {
    const broken = local
      .filter((target) => !/^[a-z]+:/.test(target))
      .filter((target) => {
        const [path, anchor] = target.split('#') as [string, string | undefined];
        const linked = path === '' ? file : join(dirname(file), path);
        if (!existsSync(join(root, linked))) return true;
        return anchor !== undefined && linked.endsWith('.md') && !anchors(linked).includes(anchor);
      });
    expect(broken).toEqual([]);
  });

  test('has a definition for each reference, and a reference for each definition', () => {
    const text = withoutFences(read(file)).replace(/^\[[^\]]+\]: .*$/gm, '');
    const used = new Set(
      [...text.matchAll(/\](?:\[([^\]]+)\])|\[([^\]\n]+)\](?![([:])/g)].map(([, full, short]) =>
        (full ?? short)!.toLowerCase(),
      ),
    );
    const full = [...text.matchAll(/\]\[([^\]]+)\]/g)].map(([, label]) => label!.toLowerCase());
    expect(full.filter((label) => !labels.includes(label))).toEqual([]);
    expect(labels.filter((label) => !used.has(label))).toEqual([]);
  });

  // On npm there is only what was packed.
  const [, folder] = /^packages\/(\w+)\/(?:README|CHANGELOG|docs\/.*)\.md$/.exec(file) ?? [];
  if (folder) {
    test('has no relative link to what is not in the package', () => {
      const { files: packed } = JSON.parse(read(`packages/${folder}/package.json`)) as { files: string[] };
      const known = new Set([...packed, 'README.md', 'LICENSE']);
      const outside = links
        .filter((target) => !/^[a-z]+:|^#/.test(target))
        .filter((target) => {
          const [first] = relative(`packages/${folder}`, join(dirname(file), target.split('#')[0]!)).split(
            '/',
          );
          return !known.has(first!);
        });
      expect(outside).toEqual([]);
    });
  }

  test('names only scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const named = [...read(file).matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name!);
    const own = file.startsWith('packages/') || file.startsWith('apps/') || file.startsWith('tooling/');
    const ofPackage = own
      ? (JSON.parse(read(`${file.split('/').slice(0, 2).join('/')}/package.json`)) as { scripts?: object })
          .scripts
      : {};
    expect(named.filter((name) => !(name in scripts) && !(name in (ofPackage ?? {})))).toEqual([]);
  });

  test('says which language each code block is in', () => {
    let isOpen = false;
    const bare = read(file)
      .split('\n')
      .filter((line) => line.startsWith('```'))
      .filter((line) => {
        isOpen = !isOpen;
        return isOpen && line.trim() === '```';
      });
    expect(bare).toEqual([]);
  });
});

/** Hosts that documents lead to. No test asks them: a new one is read by a person once, and a typo in one is found here. */
const HOSTS = [
  'antirez.com',
  'croner.56k.guru',
  'docs.npmjs.com',
  'github.com',
  'keepachangelog.com',
  'martin.kleppmann.com',
  'mortise.dev',
  'publint.dev',
  'redis.io',
  'standardschema.dev',
  'verdaccio.org',
  'www.standardwebhooks.com',
];

/** Whether a browser sends the address as it is written: no http, user, port, empty step, or full stop of a sentence. */
function isWellFormed(address: string): boolean {
  const { protocol, username, port, pathname, href } = new URL(address);
  const isPlain = protocol === 'https:' && username === '' && port === '';
  const isAsWritten = href === address || href === `${address}/`;
  return isPlain && isAsWritten && !pathname.includes('//') && !/[.,;:!?)]$/.test(address);
}

test('links to other hosts are well formed, and lead to known hosts', () => {
  const addresses = documents.flatMap((file) => linksOf(file).filter((target) => /^[a-z]+:/.test(target)));
  expect(addresses.length).toBeGreaterThan(50);
  expect(addresses.filter((address) => !isWellFormed(address))).toEqual([]);
  expect([...new Set(addresses.map((address) => new URL(address).hostname))].toSorted()).toEqual(HOSTS);
});

test.each([
  'http://redis.io/docs',
  'https://redis.io//docs',
  'https://redis.io/docs.',
  'https://redis.io:443/docs',
  'https://redis.io/a b',
])('%s is not well formed', (address) => {
  expect(isWellFormed(address)).toBe(false);
});

test('docs/ARCHITECTURE.md stays readable in one go', () => {
  expect(read('docs/ARCHITECTURE.md').split('\n').length).toBeLessThanOrEqual(200);
});

test('a decision is half a page', () => {
  const decisions = documents.filter((file) => file.startsWith('docs/decisions/'));
  expect(decisions.length).toBeGreaterThan(20);
  expect(decisions.filter((file) => wordsOf(read(file)) > MAX_DECISION_WORDS)).toEqual([]);
});

test.each(['lock', 'task', 'message', 'row'])(
  'docs/ARCHITECTURE.md has one picture of the life of a %s',
  (entity) => {
    const sections = read('docs/ARCHITECTURE.md').split(/^## /m);
    const ofLife = sections.filter((section) => section.startsWith(`The life of a ${entity}\n`));
    const pictures = ofLife.flatMap((section) => [
      ...section.matchAll(/^```text\n[\s\S]*?──►[\s\S]*?^```$/gm),
    ]);
    expect([ofLife.length, pictures.length]).toEqual([1, 1]);
  },
);

test('the figures of README.md are those of docs/BENCHMARKS.md', () => {
  const figures = [...read('README.md').matchAll(/^\| \w+: .*( \| [\d. ]+ \| [\d. ]+ .* \|)$/gm)].map(
    ([, pair]) => pair!,
  );
  expect(figures.length).toBeGreaterThan(5);
  const benchmarks = read('docs/BENCHMARKS.md');
  expect(figures.filter((pair) => !benchmarks.includes(pair))).toEqual([]);
});

test('every package has a README, a changelog and an example', () => {
  const present = files('packages');
  const missing = PACKAGES.flatMap((name) =>
    ['README.md', 'CHANGELOG.md', 'examples/'].map((file) => `packages/${name}/${file}`),
  ).filter((file) => !present.some((other) => other.startsWith(file)));
  expect(missing).toEqual([]);
});
