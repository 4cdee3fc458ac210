import type { FileKind } from '../kind.js';
import { BOOK, BOOK_SLEEPING } from './book.js';
import { MORTISE } from './mortise.js';

export { BOOK, BOOK_SLEEPING, MORTISE };

export const ALL: readonly FileKind[] = [MORTISE, BOOK, BOOK_SLEEPING];

export function fileKind(name: string): FileKind {
  return ALL.find((kind) => kind.name === name)!;
}
