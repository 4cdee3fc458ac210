import type { ChatKind } from '../kind.js';
import { BOOK } from './book.js';
import { MORTISE, MORTISE_AUTO_ACK } from './mortise.js';
import { STREAM_GROUPS, STREAMS } from './streams.js';

export { BOOK, MORTISE, MORTISE_AUTO_ACK, STREAM_GROUPS, STREAMS };

const ALL: readonly ChatKind[] = [MORTISE, MORTISE_AUTO_ACK, BOOK, STREAMS, STREAM_GROUPS];

export function chatKind(name: string): ChatKind {
  return ALL.find((kind) => kind.name === name)!;
}
