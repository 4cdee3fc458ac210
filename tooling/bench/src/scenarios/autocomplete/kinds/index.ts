import type { BookKind } from '../kind.js';
import { BOOK } from './book.js';
import { BYLEX } from './bylex.js';
import { FLEXSEARCH } from './flexsearch.js';
import { MINISEARCH } from './minisearch.js';
import { MORTISE } from './mortise.js';
import { PREFIXY, PREFIXY_6 } from './prefixy.js';
import { SOULMATE } from './soulmate.js';

export { BOOK, BYLEX, FLEXSEARCH, MINISEARCH, MORTISE, PREFIXY, PREFIXY_6, SOULMATE };

const ALL: readonly BookKind[] = [MORTISE, BOOK, BYLEX, SOULMATE, PREFIXY, PREFIXY_6, MINISEARCH, FLEXSEARCH];

export function bookKind(name: string): BookKind {
  return ALL.find((kind) => kind.name === name)!;
}
