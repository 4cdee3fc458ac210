/** As its documentation recommends for suggestions: each word a prefix, all of them needed, popularity as a boost. */
import MiniSearch from 'minisearch';
import { versionOf } from '../../../version-of.js';
import type { Named } from '../data.js';
import type { BookKind } from '../kind.js';
import { LIMIT } from '../kind.js';

/** One edit, between whole words: it knows no mistakes in a prefix. */
const FUZZY = { fuzzy: 1 };

export const MINISEARCH: BookKind = {
  name: 'MiniSearch',
  version: versionOf('minisearch'),
  verbs: ['complete', 'completeFuzzy'],
  order: 'score',
  isInProcess: true,
  connect: () => {
    let all: readonly Named[] = [];
    const index = new MiniSearch<{ id: number; name: string }>({
      fields: ['name'],
      searchOptions: {
        prefix: true,
        combineWith: 'AND',
        boostDocument: (id: number) => all[id]!.score,
      },
    });
    const complete = (text: string, options = {}): string[] =>
      index
        .search(text, options)
        .slice(0, LIMIT)
        .map(({ id }) => all[id as number]!.name);
    return {
      load: (names) => {
        all = names;
        for (const [id, { name }] of names.entries()) index.add({ id, name });
        return Promise.resolve();
      },
      callers: (count) =>
        Array.from({ length: count }, () => ({
          complete: (text) => complete(text),
          completeFuzzy: (text) => complete(text, FUZZY),
        })),
    };
  },
};
