/** package.json finds each entry in both forms, for Node, bundlers and TypeScript of any age. */
import { expect, test } from '@jest/globals';
import { entriesOf, exportsOf, typesVersionsOf } from '../../package-build/entries.mjs';
import { PACKAGES, read } from '../src/repository.js';

interface Manifest {
  readonly exports: Readonly<Record<string, unknown>>;
  readonly publishConfig: { readonly exports: unknown };
  readonly typesVersions: unknown;
}

test.each(PACKAGES)('@mortise/%s: each entry has an ES module and a CommonJS module, with types', (name) => {
  const manifest = JSON.parse(read(`packages/${name}/package.json`)) as Manifest;
  const entries = entriesOf(manifest);
  expect(entries.get('.')).toBe('index');
  // Conditions are tried in the order of the file.
  expect(JSON.stringify(manifest.exports)).toBe(JSON.stringify(exportsOf(entries, { withSources: true })));
  expect(JSON.stringify(manifest.publishConfig.exports)).toBe(
    JSON.stringify(exportsOf(entries, { withSources: false })),
  );
  expect(manifest).toMatchObject({
    main: './dist/cjs/index.js',
    module: './dist/esm/index.js',
    types: './dist/cjs/index.d.ts',
    typesVersions: typesVersionsOf(entries),
  });
});

const WITH_TELEMETRY = [
  'locks',
  'locks/quorum',
  'queues',
  'messaging',
  'messaging/files',
  'messaging/log-aggregation',
  'autocomplete',
  'cache',
  'cache/rows',
];

test.each(WITH_TELEMETRY)('@mortise/%s exports the type of its option telemetry', (entry) => {
  const [name, folder = ''] = entry.split('/');
  expect(read(`packages/${name}/src/${folder && `${folder}/`}index.ts`)).toMatch(
    /^export type \{[^}]*\bTelemetry\b[^}]*\} from '@mortise\/redis';$/m,
  );
});
