/** As its documentation recommends for prefixes; what was inserted first comes first, so the most popular ones go in first. */
import { Index } from 'flexsearch';
import { versionOf } from '../../../version-of.js';
import type { Named } from '../data.js';
import type { BookKind } from '../kind.js';
import { LIMIT } from '../kind.js';

export const FLEXSEARCH: BookKind = {
  name: 'FlexSearch',
  version: versionOf('flexsearch'),
  verbs: ['complete'],
  order: 'score',
  isInProcess: true,
  connect: () => {
    let all: readonly Named[] = [];
    const index = new Index({ tokenize: 'forward' });
    const complete = (text: string): string[] =>
      index.search(text, { limit: LIMIT }).map((id) => all[id as number]!.name);
    return {
      load: (names) => {
        all = names;
        for (const [id, { name }] of names.entries()) index.add(id, name);
        return Promise.resolve();
      },
      callers: (count) => Array.from({ length: count }, () => ({ complete })),
    };
  },
};
